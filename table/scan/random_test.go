package scan

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/datafile"
	"sink/table/manifest"
	"sink/table/object"
)

// world writes a table as a sink would, one commit after the other, and remembers what has to be read.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	store   object.Store
	path    table.Path
	schema  *table.Schema
	format  *datafile.Format
	names   *table.ManifestNamer
	list    []manifest.ListEntry // all manifests so far
	seq     int64
	id      int64
	total   int64
	rows    map[string]string   // by key: the row as canonical JSON
	history []map[string]string // rows after each snapshot
	changes [][]string          // by snapshot: kind and row, sorted
}

// newWorld makes a table with the columns p (the partition), id, ver and v.
func newWorld(t *testing.T, rnd *rand.Rand, options map[string]string) *world {
	schema := table.NewSchema([]table.Field{
		{Name: "p", Type: table.Type{Root: table.VarChar, Length: 10}},
		{Name: "id", Type: table.Type{Root: table.BigInt}},
		{Name: "ver", Type: table.Type{Root: table.Int}},
		{Name: "v", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
	}, []string{"id", "p"}, []string{"p"}, options)
	w := &world{
		t: t, rnd: rnd, store: object.NewMem(), path: "d.db/t", names: table.NewManifestNamer("m"), rows: map[string]string{},
	}
	w.setSchema(schema)
	return w
}

// setSchema writes a schema and lets files be written with it.
func (w *world) setSchema(s *table.Schema) {
	require.NoError(w.t, manifest.CreateSchema(w.t.Context(), w.store, w.path, s))
	cfg, err := datafile.NewConfig(s, w.store, w.path, datafile.Data)
	require.NoError(w.t, err)
	w.schema = s
	w.format, err = datafile.NewFormat(cfg)
	require.NoError(w.t, err)
}

// row is a row of the test table.
type row struct {
	kind table.Kind
	p    string
	id   int64
	ver  int64 // below 0: null
	v    string
	seq  int64
}

func (r row) key() string { return fmt.Sprintf("%s/%d", r.p, r.id) }

// json is the row with the columns of the latest schema.
func (w *world) json(r row) string {
	ver := fmt.Sprint(r.ver)
	if r.ver < 0 {
		ver = "null"
	}
	text := fmt.Sprintf(`{"p":%q,"id":%d,"ver":%s,"v":%q`, r.p, r.id, ver, r.v)
	if w.schema.FieldIndex("extra") >= 0 {
		text += `,"extra":null`
	}
	return text + "}"
}

// commit writes rows as one snapshot: one data file and one changelog file a partition.
func (w *world) commit(rows []row) {
	var data, changelog []manifest.Entry
	byPartition := map[string][]row{}
	for _, r := range rows {
		byPartition[r.p] = append(byPartition[r.p], r)
	}
	for _, p := range slices.Sorted(maps.Keys(byPartition)) {
		all := byPartition[p]
		slices.SortStableFunc(all, func(a, b row) int {
			if a.id != b.id {
				return int(a.id - b.id)
			}
			return int(a.seq - b.seq)
		})
		var last []row
		for i, r := range all {
			if i+1 == len(all) || all[i+1].id != r.id {
				last = append(last, r)
			}
		}
		data = append(data, w.write(p, last)...)
		changelog = append(changelog, w.write(p, all)...)
	}
	w.snapshot(data, changelog)
	var changes []string
	for _, r := range rows {
		changes = append(changes, r.kind.String()+w.json(r))
	}
	slices.Sort(changes)
	w.changes = append(w.changes, changes)
	w.history = append(w.history, maps.Clone(w.rows))
}

func (w *world) write(p string, rows []row) []manifest.Entry {
	b := table.NewBatch(w.schema.Fields)
	var seqs []int64
	for _, r := range rows {
		for i, f := range w.schema.Fields {
			switch v := &b.Columns[i]; f.Name {
			case "p":
				v.AppendBytes([]byte(r.p))
			case "id":
				v.AppendWord(r.id)
			case "ver":
				if r.ver < 0 {
					v.AppendNull()
				} else {
					v.AppendWord(r.ver)
				}
			case "v":
				v.AppendBytes([]byte(r.v))
			default:
				v.AppendNull()
			}
		}
		b.Kinds = append(b.Kinds, r.kind)
		seqs = append(seqs, r.seq)
	}
	bucket := table.Bucket{Partition: string(table.NewRowEncoder(w.schema.TypesOf([]int{0}), []int{0}).Append(nil, b, 0))}
	writer := w.format.NewWriter(bucket, 1, 0, table.SourceAppend, table.NewNamer(w.schema, fmt.Sprint(w.rnd.Uint64())))
	require.NoError(w.t, writer.Append(w.t.Context(), table.AllOf(b, seqs)))
	files, err := writer.Close(w.t.Context())
	require.NoError(w.t, err)
	var entries []manifest.Entry
	for _, f := range files {
		entries = append(entries, manifest.Entry{File: f})
	}
	return entries
}

func (w *world) snapshot(data, changelog []manifest.Entry) {
	writer, err := manifest.NewWriter(w.store, w.path, w.schema, w.names)
	require.NoError(w.t, err)
	list := func(list []manifest.ListEntry, err error) string {
		require.NoError(w.t, err)
		name, _, err := writer.List(w.t.Context(), list)
		require.NoError(w.t, err)
		return name
	}
	delta, err := writer.Manifests(w.t.Context(), data)
	require.NoError(w.t, err)
	w.id++
	s := &manifest.Snapshot{
		ID: w.id, SchemaID: w.schema.ID, BaseList: list(w.list, nil), DeltaList: list(delta, nil), CommitUser: "u", CommitKind: manifest.Append,
	}
	for i := range data {
		s.DeltaRecords += data[i].File.Rows
	}
	for i := range changelog {
		s.ChangelogRecords += changelog[i].File.Rows
	}
	w.total += s.DeltaRecords
	s.TotalRecords, s.CommitIdentifier, s.TimeMillis = w.total, w.id, time.Now().UnixMilli()
	if changelog != nil {
		s.ChangelogList = list(writer.Manifests(w.t.Context(), changelog))
	}
	b, err := s.Encode()
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.Create(w.t.Context(), w.path.Snapshot(w.id), b))
	w.list = append(w.list, delta...)
}

// step makes random changes, with true before images.
func (w *world) step(n int, live map[string]row) []row {
	var rows []row
	emit := func(kind table.Kind, r row) {
		r.kind, r.seq = kind, w.seq
		w.seq++
		rows = append(rows, r)
	}
	for range n {
		r := row{
			p: string(rune('a' + w.rnd.IntN(3))), id: w.rnd.Int64N(20000), ver: w.rnd.Int64N(1000) - 50,
			v: strings.Repeat(fmt.Sprint(w.rnd.IntN(100)), w.rnd.IntN(8)),
		}
		old, there := live[r.key()]
		switch {
		case !there:
			emit(table.Insert, r)
			live[r.key()] = r
		case w.rnd.IntN(3) == 0:
			emit(table.Delete, old)
			delete(live, r.key())
		default:
			emit(table.UpdateBefore, old)
			emit(table.UpdateAfter, r)
			live[r.key()] = r
		}
	}
	clear(w.rows)
	for k, r := range live {
		w.rows[k] = w.json(r)
	}
	return rows
}

// TestRandomHistory writes a random history, evolves the schema on the way, and reads every snapshot and every change.
func TestRandomHistory(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, rnd, map[string]string{"bucket": "1", "changelog-producer": "input"})
	live := map[string]row{}
	for i := range 6 {
		if i == 3 {
			fields := append(slices.Clone(w.schema.Fields), table.Field{Name: "extra", Type: table.Type{Root: table.Double}})
			next, changes, err := table.Evolve(w.schema, fields)
			require.NoError(t, err)
			require.Len(t, changes, 1)
			w.setSchema(next)
		}
		w.commit(w.step(1+rnd.IntN(6000), live))
	}
	tab, err := Open(t.Context(), w.store, w.path)
	require.NoError(t, err)
	for id := int64(1); id <= w.id; id++ {
		plan, err := tab.Plan(t.Context(), At{Snapshot: id}, nil)
		require.NoError(t, err)
		got, err := printRows(t, plan, Options{})
		require.NoError(t, err)
		want := slices.Collect(maps.Values(w.history[id-1]))
		for i := range want {
			want[i] += "\n"
		}
		sorted := slices.Sorted(slices.Values(got))
		slices.Sort(want)
		require.True(t, slices.Equal(want, sorted), "snapshot %d", id)

		if id < w.id-1 {
			continue
		}
		ordered, err := printRows(t, plan, Options{Ordered: true})
		require.NoError(t, err)
		require.Len(t, ordered, len(got))
		require.True(t, slices.IsSortedFunc(ordered, func(a, b string) int { return bytes.Compare(orderKey(t, a), orderKey(t, b)) }))
		slices.Sort(ordered)
		require.True(t, slices.Equal(want, ordered), "snapshot %d, ordered", id)
	}
	got := map[int64][]string{}
	for c, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{}) {
		require.NoError(t, err)
		for i := range c.Batch.Len() {
			text := string(table.AppendCanonicalRow(nil, tab.Schema().Fields, c.Batch, i))
			got[c.Snapshot] = append(got[c.Snapshot], c.Batch.Kinds[i].String()+text)
		}
	}
	for id := int64(1); id <= w.id; id++ {
		want := w.changes[id-1]
		if id <= 3 { // written before the column came, read with it
			for i := range want {
				want[i] = strings.TrimSuffix(want[i], "}") + `,"extra":null}`
			}
			slices.Sort(want)
		}
		slices.Sort(got[id])
		require.True(t, slices.Equal(want, got[id]), "changes of snapshot %d", id)
	}
}

// orderKey makes bytes that order as the primary key (id, p) of a printed row.
func orderKey(t *testing.T, line string) []byte {
	var id int64
	_, err := fmt.Sscanf(line[len(`{"p":"a",`):], `"id":%d,`, &id)
	require.NoError(t, err)
	return fmt.Appendf(nil, "%08d%c", id, line[6])
}

// TestSequenceField lets a column decide which row is newest, in both orders; a null loses to all.
func TestSequenceField(t *testing.T) {
	for _, order := range []string{"ascending", "descending"} {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, rnd, map[string]string{
			"bucket": "1", "changelog-producer": "input", "sequence.field": "ver", "sequence.field.sort-order": order,
		})
		best := map[string]row{}
		for range 6 {
			var rows []row
			taken := map[string]bool{}
			for range 500 {
				r := row{kind: table.UpdateAfter, p: "a", id: rnd.Int64N(300), ver: rnd.Int64N(20) - 5, v: fmt.Sprint(w.seq), seq: w.seq}
				if taken[r.key()] {
					continue
				}
				taken[r.key()] = true
				w.seq++
				rows = append(rows, r)
				old, there := best[r.key()]
				ver, oldVer := r.ver, old.ver
				if order == "descending" {
					ver, oldVer = -ver, -oldVer
				}
				if !there || old.ver < 0 || r.ver >= 0 && ver >= oldVer {
					best[r.key()] = r
				}
			}
			w.commit(rows)
		}
		tab, err := Open(t.Context(), w.store, w.path)
		require.NoError(t, err)
		plan, err := tab.Plan(t.Context(), At{}, nil)
		require.NoError(t, err)
		got, err := printRows(t, plan, Options{})
		require.NoError(t, err)
		var want []string
		for _, r := range best {
			want = append(want, w.json(r)+"\n")
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got)
	}
}

// TestIgnoreDelete reads a table whose deletes are ignored.
func TestIgnoreDelete(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), map[string]string{"bucket": "1", "ignore-delete": "true"})
	w.commit([]row{{kind: table.Insert, p: "a", id: 1, v: "x", seq: 0}, {kind: table.Insert, p: "a", id: 2, v: "y", seq: 1}})
	w.commit([]row{{kind: table.Delete, p: "a", id: 1, v: "x", seq: 2}, {kind: table.Delete, p: "a", id: 3, v: "z", seq: 3}})
	tab, err := Open(t.Context(), w.store, w.path)
	require.NoError(t, err)
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	got, err := printRows(t, plan, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{`{"p":"a","id":1,"ver":0,"v":"x"}` + "\n", `{"p":"a","id":2,"ver":0,"v":"y"}` + "\n"}, got)
}

func BenchmarkRows(b *testing.B) {
	tab := golden(b, "multifile")
	plan, err := tab.Plan(b.Context(), At{}, nil)
	require.NoError(b, err)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for batch, err := range plan.Rows(b.Context(), Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n += batch.Len()
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
