package compact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/datafile"
	"sink/table/object"
)

var (
	bigint = table.Type{Root: table.BigInt}
	text   = table.Type{Root: table.VarChar, Length: table.MaxLength}
)

// row is a row as a file holds it.
type row struct {
	id   int64
	name string
	kind table.Kind
	seq  int64
}

func (r row) String() string { return fmt.Sprintf("%s(%d,%s)@%d", r.kind, r.id, r.name, r.seq) }

// world is one bucket of a table.
type world struct {
	t       testing.TB
	store   object.Store
	schemas []*table.Schema
	files   []table.File
	seq     int64
	ids     int
}

func newWorld(t testing.TB, options map[string]string) *world {
	all := map[string]string{"bucket": "1", "changelog-producer": "input", "file.compression": "none"}
	for k, v := range options {
		all[k] = v
	}
	s := table.NewSchema([]table.Field{{Name: "id", Type: bigint}, {Name: "name", Type: text}}, []string{"id"}, nil, all)
	return &world{t: t, store: object.NewMem(), schemas: []*table.Schema{s}}
}

func (w *world) newest() *table.Schema { return w.schemas[len(w.schemas)-1] }

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("id%d", w.ids)
}

func (w *world) compactor(store object.Store, maxRuns int) *Compactor {
	c, err := New(Config{
		Schema: w.newest(), Store: store, Path: "db.db/t", MaxRuns: maxRuns, NewID: w.newID,
		Schemas: func(_ context.Context, id int64) (*table.Schema, error) { return w.schemas[id], nil },
	})
	require.NoError(w.t, err)
	return c
}

// addFile writes rows, which are in key order, as new input does.
func (w *world) addFile(rows ...row) table.File {
	f := w.write(rows, 0)
	w.files = append(w.files, f)
	return f
}

func (w *world) write(rows []row, level int32) table.File {
	s := w.newest()
	cfg, err := datafile.NewConfig(s, w.store, "db.db/t", datafile.Data)
	require.NoError(w.t, err)
	cfg.TargetFileSize = 1 << 30
	format, err := datafile.NewFormat(cfg)
	require.NoError(w.t, err)
	b := table.NewBatch(s.Fields)
	var seqs []int64
	for _, r := range rows {
		b.Columns[0].AppendWord(r.id)
		b.Columns[1].AppendBytes([]byte(r.name))
		for i := 2; i < len(b.Columns); i++ {
			b.Columns[i].AppendNull()
		}
		b.Kinds = append(b.Kinds, r.kind)
		seqs = append(seqs, r.seq)
	}
	empty := string(table.EncodeRow(nil, nil, nil, 0))
	out := format.NewWriter(table.Bucket{Partition: empty}, 1, level, table.SourceAppend, table.NewNamer(s, w.newID()))
	require.NoError(w.t, out.Append(w.t.Context(), table.AllOf(b, seqs)))
	files, err := out.Close(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, files, 1)
	return files[0]
}

// rows reads a file.
func (w *world) rows(f *table.File) []row {
	r, err := datafile.Open(w.t.Context(), w.store, "db.db/t", f, w.schemas[f.SchemaID], w.schemas[0], []int{0, 1})
	require.NoError(w.t, err)
	defer r.Close()
	var out []row
	for {
		b := table.NewBatch(w.schemas[0].Fields)
		var seqs []int64
		_, err := r.Next(b, &seqs, 1000)
		if err == io.EOF {
			return out
		}
		require.NoError(w.t, err)
		for i := range b.Len() {
			out = append(out, row{b.Columns[0].Words[i], string(b.Columns[1].Bytes(i)), b.Kinds[i], seqs[i]})
		}
	}
}

// newestRows returns the newest row of each key that is not a retraction, as a reader sees the bucket, by key.
func (w *world) newestRows() map[int64]row {
	out := map[int64]row{}
	for i := range w.files {
		for _, r := range w.rows(&w.files[i]) {
			if old, ok := out[r.id]; !ok || old.seq < r.seq {
				out[r.id] = r
			}
		}
	}
	for id, r := range out {
		if r.kind.Retracts() {
			delete(out, id)
		}
	}
	return out
}

// apply puts the result of a job in place.
func (w *world) apply(r Result) {
	for _, f := range r.Removed {
		at := slices.IndexFunc(w.files, func(g table.File) bool { return g.Name == f.Name && g.Level == f.Level })
		require.GreaterOrEqual(w.t, at, 0)
		w.files = slices.Delete(w.files, at, at+1)
	}
	w.files = append(w.files, r.Added...)
}

// check compares the entries of the files with their rows, and makes sure that levels from 1 on are disjoint.
func (w *world) check() {
	keys := datafile.NewKeyRanges(w.newest())
	for i := range w.files {
		f := &w.files[i]
		rows := w.rows(f)
		lo, hi, deletes := rows[0].seq, rows[0].seq, int64(0)
		for j, r := range rows {
			require.True(w.t, j == 0 || rows[j-1].id < r.id, "file %s is not sorted", f.Name)
			lo, hi = min(lo, r.seq), max(hi, r.seq)
			if r.kind.Retracts() {
				deletes++
			}
		}
		require.Equal(w.t, []int64{int64(len(rows)), deletes, lo, hi}, []int64{f.Rows, f.DeleteRows, f.MinSeq, f.MaxSeq}, f.Name)
		a, err := keys.Of(f)
		require.NoError(w.t, err)
		for j := range w.files[:i] {
			g := &w.files[j]
			b, err := keys.Of(g)
			require.NoError(w.t, err)
			overlap := bytes.Compare(a.Min, b.Max) <= 0 && bytes.Compare(b.Min, a.Max) <= 0
			require.False(w.t, f.Level > 0 && f.Level == g.Level && overlap, "%s and %s overlap in level %d", f.Name, g.Name, f.Level)
		}
	}
}

// checkObjects makes sure that the store holds exactly the files of the bucket, and those given.
func (w *world) checkObjects(others ...table.File) {
	want := map[string]bool{}
	for _, f := range append(slices.Clone(w.files), others...) {
		want["db.db/t/bucket-0/"+f.Name] = true
	}
	for info, err := range w.store.List(w.t.Context(), "") {
		require.NoError(w.t, err)
		require.True(w.t, want[info.Name], "%s was left behind", info.Name)
		delete(want, info.Name)
	}
	require.Empty(w.t, want)
}

func (w *world) random(r *rand.Rand, keys int64) []row {
	var rows []row
	lo := r.Int64N(keys)
	hi := lo + 1 + r.Int64N(keys-lo)
	for id := lo; id < hi; id++ {
		if r.IntN(3) == 0 {
			continue
		}
		w.seq++
		rows = append(rows, row{id, fmt.Sprintf("v%d", w.seq), []table.Kind{table.Insert, table.UpdateAfter, table.Delete}[r.IntN(3)], w.seq})
	}
	if len(rows) == 0 {
		w.seq++
		rows = append(rows, row{lo, "one", table.Insert, w.seq})
	}
	return rows
}

// TestRandom adds files and does jobs, as picked and at random, and checks that readers see no difference.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(12) {
		t.Run(fmt.Sprintf("seed=%d", seed+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+i, 3))
			w := newWorld(t, map[string]string{
				"num-sorted-run.compaction-trigger": fmt.Sprint(2 + r.IntN(4)), "target-file-size": []string{"1 kb", "4 kb", "128 mb"}[r.IntN(3)],
			})
			for range 40 {
				if r.IntN(15) == 0 { // another column
					s := w.newest().Clone()
					s.ID++
					s.HighestFieldID++
					s.Fields = append(s.Fields, table.Field{ID: s.HighestFieldID, Name: fmt.Sprintf("c%d", s.ID), Type: bigint})
					w.schemas = append(w.schemas, s)
				}
				w.addFile(w.random(r, 1+r.Int64N(400))...)
				c := w.compactor(w.store, 2+r.IntN(6))
				runs := Runs(w.files)
				j, ok := c.Options().Pick(runs)
				if r.IntN(8) == 0 {
					j, ok = c.Options().PickFull(runs)
				} else if !ok && r.IntN(3) == 0 {
					j, ok = c.Options().job(runs, 1+r.IntN(len(runs))), true
				}
				if !ok {
					continue
				}
				before := w.newestRows()
				result, err := c.Run(t.Context(), j)
				require.NoError(t, err)
				if r.IntN(10) == 0 { // the commit was refused
					c.Discard(t.Context(), result)
				} else {
					w.apply(result)
				}
				require.Equal(t, before, w.newestRows())
				w.check()
				w.purge(result)
				w.checkObjects()
			}
			c := w.compactor(w.store, 4)
			if j, ok := c.Options().PickFull(Runs(w.files)); ok {
				result, err := c.Run(t.Context(), j)
				require.NoError(t, err)
				w.apply(result)
			}
			for i := range w.files {
				require.Zero(t, w.files[i].DeleteRows, "a full compaction drops retractions")
				require.Equal(t, c.Options().top(nil), w.files[i].Level)
			}
			_, ok := c.Options().PickFull(Runs(w.files))
			require.False(t, ok)
		})
	}
}

// purge deletes the files that a result made superfluous, as expiry does.
func (w *world) purge(r Result) {
	for _, f := range r.Removed {
		if !slices.ContainsFunc(w.files, func(g table.File) bool { return g.Name == f.Name }) {
			require.NoError(w.t, w.store.Delete(w.t.Context(), "db.db/t/bucket-0/"+f.Name))
		}
	}
}

// TestUpgrade shows which files are rewritten and which only change their level.
func TestUpgrade(t *testing.T) {
	w := newWorld(t, map[string]string{"target-file-size": "2 kb", "metadata.stats-mode": "none"})
	long := func(from, to int64, kind table.Kind) []row {
		var rows []row
		for id := from; id < to; id++ {
			w.seq++
			rows = append(rows, row{id, fmt.Sprintf("%x", sha256.Sum256([]byte{byte(id)})), kind, w.seq})
		}
		return rows
	}
	big := w.addFile(long(0, 100, table.Insert)...)
	small1 := w.addFile(long(200, 202, table.Insert)...)
	small2 := w.addFile(long(300, 303, table.Insert)...)
	deletes := w.addFile(long(400, 500, table.Delete)...)
	c := w.compactor(w.store, 0)
	j, ok := c.Options().PickFull(Runs(w.files))
	require.True(t, ok)
	result, err := c.Run(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, 1, result.Upgraded)
	require.Len(t, result.Removed, 4)
	w.apply(result)
	require.Len(t, w.files, 2, "the deletes are gone, the small ones are one")
	require.Equal(t, big.Name, w.files[0].Name)
	require.EqualValues(t, 5, w.files[0].Level)
	require.EqualValues(t, 5, w.files[1].Rows)
	require.Equal(t, table.SourceCompact, w.files[1].Source)
	require.Equal(t, table.SourceAppend, w.files[0].Source)
	w.checkObjects(small1, small2, deletes)

	// A lone small file is not worth rewriting either.
	w = newWorld(t, nil)
	lone := w.addFile(long(1, 3, table.Insert)...)
	result, err = w.compactor(w.store, 0).Run(t.Context(), Job{Files: w.files, OutputLevel: 5, Top: true, DropDeletes: true})
	require.NoError(t, err)
	w.apply(result)
	require.Equal(t, lone.Name, w.files[0].Name)

	// Below the top its deletes have to stay.
	w = newWorld(t, nil)
	lone = w.addFile(long(1, 3, table.Delete)...)
	result, err = w.compactor(w.store, 0).Run(t.Context(), Job{Files: w.files, OutputLevel: 4})
	require.NoError(t, err)
	require.Equal(t, lone.Name, result.Added[0].Name)
}

// TestKeepsRetractions: a job above other levels keeps retractions, or older rows below would show again.
func TestKeepsRetractions(t *testing.T) {
	w := newWorld(t, nil)
	w.files = append(w.files, w.write([]row{{1, "old", table.Insert, 1}}, 5))
	w.addFile(row{1, "old", table.Delete, 2})
	w.addFile(row{2, "new", table.Insert, 3})
	c := w.compactor(w.store, 0)
	result, err := c.Run(t.Context(), Job{Files: w.files[1:], OutputLevel: 4})
	require.NoError(t, err)
	w.apply(result)
	require.Equal(t, map[int64]row{2: {2, "new", table.Insert, 3}}, w.newestRows())
	require.EqualValues(t, 1, w.files[1].DeleteRows)
}

// TestFaults lets each call fail in turn: nothing is left behind, and the job can be done again.
func TestFaults(t *testing.T) {
	for _, effect := range []object.Effect{object.FailBefore, object.FailAfter, object.Tear} {
		for n := 1; ; n++ {
			w := newWorld(t, map[string]string{"target-file-size": "1 kb"})
			r := rand.New(rand.NewPCG(1, 1))
			for range 6 {
				w.addFile(w.random(r, 200)...)
			}
			fault := object.NewFault(w.store, object.Rule{
				Nth: n, Effect: effect, Ops: []object.Op{object.OpOpen, object.OpRead, object.OpWriter, object.OpWrite, object.OpClose},
			})
			before := w.newestRows()
			c := w.compactor(fault, 3)
			j, _ := c.Options().PickFull(Runs(w.files))
			result, err := c.Run(t.Context(), j)
			if fault.Fired() == 0 {
				require.NoError(t, err)
				w.apply(result)
				require.Equal(t, before, w.newestRows())
				break
			}
			if err == nil { // an error beside all the bytes that a read asked for means nothing
				require.Equal(t, object.FailAfter, effect)
				continue
			}
			require.ErrorIs(t, err, object.ErrInjected)
			if effect == object.FailBefore || effect == object.Tear { // a file whose close was not answered is an orphan
				w.checkObjects()
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, map[string]string{"deletion-vectors.enabled": "true"})
	_, err := New(Config{Schema: w.newest(), Store: w.store, Path: "db.db/t"})
	require.ErrorContains(t, err, "deletion-vectors.enabled")
	w = newWorld(t, nil)
	c := w.compactor(w.store, 0)
	_, err = c.Run(t.Context(), Job{})
	require.ErrorContains(t, err, "without files")
	a := w.addFile(row{1, "a", table.Insert, 1})
	b := a
	b.TotalBuckets = 2
	_, err = c.Run(t.Context(), Job{Files: []table.File{a, b}, OutputLevel: 5})
	require.ErrorContains(t, err, "of another bucket")
	a.ExternalPath = "oss://elsewhere"
	_, err = c.Run(t.Context(), Job{Files: []table.File{a}, OutputLevel: 5})
	require.ErrorContains(t, err, "outside of the table")
	a.ExternalPath, a.SchemaID = "", 1
	_, err = c.Run(t.Context(), Job{Files: []table.File{a, w.addFile(row{1, "c", table.Insert, 2})}, OutputLevel: 5, DropDeletes: true})
	require.ErrorContains(t, err, "has schema 1: rewritten with schema 0")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	w.addFile(row{1, "b", table.Insert, 2})
	_, err = c.Run(ctx, Job{Files: w.files, OutputLevel: 5, DropDeletes: true})
	require.ErrorIs(t, err, context.Canceled)
}
