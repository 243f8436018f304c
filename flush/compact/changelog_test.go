package compact

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// told is what a reader of a changelog knows.
type told map[int64]string

// apply applies the changelog of a result. A change takes away what is there, and says so.
func (s told) apply(w *world, r Result) {
	for i := range r.Changelog {
		f := &r.Changelog[i]
		require.Equal(w.t, []any{table.SourceAppend, true}, []any{f.Source, strings.HasPrefix(f.Name, "changelog-")})
		var before *row
		for _, c := range w.rows(f) {
			old, there := s[c.id]
			switch c.kind {
			case table.Insert:
				require.False(w.t, there, "%s of a key that is there", c)
				s[c.id] = c.name
			case table.UpdateBefore, table.Delete:
				require.Equal(w.t, old, c.name, "%s takes away what is not there", c)
				delete(s, c.id)
			case table.UpdateAfter:
				require.True(w.t, before != nil && before.id == c.id && before.kind == table.UpdateBefore, "%s without its -U", c)
				s[c.id] = c.name
			}
			before = &c
		}
	}
}

// rowsOf are the rows that a reader sees.
func (w *world) rowsOf() told {
	out := told{}
	for id, r := range w.newestRows() {
		out[id] = r.name
	}
	return out
}

// TestRandomChangelog adds files and does jobs, as picked and at random, and checks that the changelog files give the rows: with
// lookup after each job, with full-compaction after each that reaches the top.
func TestRandomChangelog(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(16) {
		producer := []string{table.ProducerLookup, table.ProducerFull}[i%2]
		t.Run(fmt.Sprintf("%s/seed=%d", producer, seed+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+i, 9))
			w := newWorld(t, map[string]string{
				"changelog-producer": producer, "num-sorted-run.compaction-trigger": fmt.Sprint(2 + r.IntN(4)),
				"target-file-size": []string{"1 kb", "4 kb", "128 mb"}[r.IntN(3)],
			})
			seen := told{}
			var logs []table.File
			for range 40 {
				for range 1 + r.IntN(4) {
					w.addFile(w.random(r, 1+r.Int64N(400))...)
				}
				c := w.compactor(w.store, 2+r.IntN(6))
				runs := Runs(w.files)
				j, ok := c.Options().Pick(runs)
				if r.IntN(4) == 0 {
					j, ok = c.Options().PickFull(runs)
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
					logs = append(logs, result.Changelog...)
					seen.apply(w, result)
					if producer == table.ProducerLookup || j.Top {
						require.Equal(t, w.rowsOf(), seen)
					}
				}
				require.Equal(t, before, w.newestRows())
				w.check()
				w.purge(result)
				w.checkObjects(logs...)
			}
		})
	}
}

// TestRaiseAlone: a file that overlaps nothing is not rewritten, but its rows are told once.
func TestRaiseAlone(t *testing.T) {
	for _, producer := range []string{table.ProducerLookup, table.ProducerFull} {
		w := newWorld(t, map[string]string{"changelog-producer": producer})
		lone := w.addFile(row{1, "a", table.UpdateAfter, 1}, row{2, "b", table.Insert, 2})
		c := w.compactor(w.store, 0)
		j, ok := c.Options().PickFull(Runs(w.files))
		require.True(t, ok)
		result, err := c.Run(t.Context(), j)
		require.NoError(t, err)
		require.Equal(t, 1, result.Upgraded)
		require.Equal(t, lone.Name, result.Added[0].Name)
		require.Equal(t, []row{{1, "a", table.Insert, 1}, {2, "b", table.Insert, 2}}, w.rows(&result.Changelog[0]), producer)
		w.apply(result)
		_, ok = c.Options().PickFull(Runs(w.files))
		require.False(t, ok)
	}
}

// TestRowDeduplicate: a row that has not changed in the columns that count is not told.
func TestRowDeduplicate(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{"", "-U(1,a)@1 +U(1,a)@3 -U(2,b)@2 +U(2,c)@4"},
		{"changelog-producer.row-deduplicate", "-U(2,b)@2 +U(2,c)@4"},
		{"changelog-producer.row-deduplicate changelog-producer.row-deduplicate-ignore-fields=name", ""},
	} {
		options := map[string]string{"changelog-producer": "lookup"}
		for _, word := range strings.Fields(c.options) {
			key, value, set := strings.Cut(word, "=")
			if !set {
				value = "true"
			}
			options[key] = value
		}
		w := newWorld(t, options)
		w.files = append(w.files, w.write([]row{{1, "a", table.Insert, 1}, {2, "b", table.Insert, 2}}, 5))
		w.addFile(row{1, "a", table.UpdateAfter, 3}, row{2, "c", table.UpdateAfter, 4})
		result, err := w.compactor(w.store, 0).Run(t.Context(), Job{Files: w.files[1:], Below: w.files[:1], OutputLevel: 4})
		require.NoError(t, err)
		var said []string
		for i := range result.Changelog {
			for _, r := range w.rows(&result.Changelog[i]) {
				said = append(said, r.String())
			}
		}
		require.Equal(t, c.want, strings.Join(said, " "))
	}
}

// TestLookupReads: a look-up reads the row groups that may hold one of the keys, and no file of other keys.
func TestLookupReads(t *testing.T) {
	w := newWorld(t, map[string]string{"changelog-producer": "lookup"})
	var old []row
	for id := range int64(40_000) {
		old = append(old, row{id, strings.Repeat(fmt.Sprintf("%016x", id*0x9E3779B97F4A7C1), 96), table.Insert, id})
	}
	large := w.write(old, 5) // some row groups
	others := w.write([]row{{50_000, "x", table.Insert, 50_000}, {60_000, "y", table.Insert, 50_001}}, 5)
	w.files = []table.File{large, others}
	w.addFile(row{39_999, "new", table.UpdateAfter, 60_000})
	counting := &countingStore{Store: w.store}
	result, err := w.compactor(counting, 0).Run(t.Context(), Job{Files: w.files[2:], Below: w.files[:2], OutputLevel: 4})
	require.NoError(t, err)
	log := w.rows(&result.Changelog[0])
	require.Equal(t, []table.Kind{table.UpdateBefore, table.UpdateAfter}, []table.Kind{log[0].kind, log[1].kind})
	require.Equal(t, old[39_999].name, log[0].name)
	require.Less(t, counting.bytes, large.SizeBytes/2)
	require.NotContains(t, counting.opened, "db.db/t/bucket-0/"+others.Name)
}

// countingStore counts the bytes that are read.
type countingStore struct {
	object.Store
	bytes  int64
	opened []string
}

func (s *countingStore) Open(ctx context.Context, name string) (object.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	s.opened = append(s.opened, name)
	return &countingReader{r, s}, err
}

type countingReader struct {
	object.Reader
	store *countingStore
}

func (r *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(p, at)
	r.store.bytes += int64(n)
	return n, err
}

// TestRaiseGroups: of partial-update, a row without its sequence is another one once it is merged: its column of a sequence group stays empty. A
// lone file with such a row is rewritten, so that what is told of it, then and later, is what stays of it.
func TestRaiseGroups(t *testing.T) {
	w := newWorld(t, map[string]string{"merge-engine": "partial-update", "changelog-producer": "lookup", "fields.g.sequence-group": "name"})
	s := w.newest()
	fields := append(slices.Clone(s.Fields), table.Field{ID: 2, Name: "g", Type: table.Type{Root: table.Int}}) // which addFile leaves empty
	w.schemas[0] = table.NewSchema(fields, s.PrimaryKeys, nil, s.Options)
	require.NoError(t, w.newest().Validate())
	w.addFile(row{1, "a", table.Insert, 1})
	c := w.compactor(w.store, 0)
	j, ok := c.Options().PickFull(Runs(w.files))
	require.True(t, ok)
	result, err := c.Run(t.Context(), j)
	require.NoError(t, err)
	require.Len(t, result.Changelog, 1)
	told := w.rows(&result.Changelog[0])
	require.Equal(t, []row{{1, "", table.Insert, 1}}, told)
	require.Len(t, result.Added, 1)
	require.Equal(t, told, w.rows(&result.Added[0]), "what is told is what stays")
}
