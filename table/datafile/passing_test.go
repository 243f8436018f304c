package datafile

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestCopiesRowGroups merges files of which some row groups overlap with nothing: what comes out is what a merge that reads all rows
// makes, to the last word of the new file's entry, and some of it was copied.
func TestCopiesRowGroups(t *testing.T) {
	r := newRand(t)
	for _, two := range []bool{false, true} {
		for _, stats := range []string{"none", "counts", "truncate(16)", "full"} {
			t.Run(fmt.Sprintf("two=%t,stats=%s", two, stats), func(t *testing.T) {
				copied := 0
				for range 2 {
					copied += newPassingWorld(t, r, two, stats).compare()
				}
				require.Positive(t, copied, "row groups that were copied")
			})
		}
	}
}

// passingWorld is a table, and its files.
type passingWorld struct {
	t     *testing.T
	r     *rand.Rand
	store object.Store
	s     *table.Schema
	f     *Format
	keys  []int
	files []table.File
}

func newPassingWorld(t *testing.T, r *rand.Rand, two bool, stats string) *passingWorld {
	w := &passingWorld{t: t, r: r, store: object.NewMem()}
	fields := slices.DeleteFunc(allTypes(), func(f table.Field) bool {
		return stats != "none" && stats != "counts" && f.Type.Precision > 6 && (f.Type.Root == table.Timestamp || f.Type.Root == table.LocalTimestamp)
	})
	key := []string{"id"}
	if two {
		i := slices.IndexFunc(fields, func(f table.Field) bool { return f.Type.Root == table.Int && f.Type.NotNull })
		key = []string{fields[i].Name, "id"}
	}
	w.s = table.NewSchema(fields, key, nil, map[string]string{"bucket": "1", "metadata.stats-mode": stats})
	w.keys = w.s.Indexes(key)
	cfg, err := NewConfig(w.s, w.store, "d.db/t", Data)
	require.NoError(t, err)
	w.f, err = NewFormat(cfg)
	require.NoError(t, err)
	w.f.limits = limits{pageRows: 1 + r.IntN(60), pageBytes: 1 << 20, groupRows: 40 + r.IntN(200), groupBytes: 64 << 20}
	const most = 1500
	all := make([]int64, most)
	for i := range all {
		all[i] = int64(i)
	}
	w.add(all, false)
	changed := []int64{0, most / 2}[r.IntN(2)] // one half of the keys
	for range 1 + r.IntN(3) {
		some := map[int64]struct{}{}
		for range 1 + r.IntN(3) {
			at := changed + r.Int64N(most/2-100)
			for range r.IntN(60) {
				some[at+r.Int64N(100)] = struct{}{}
			}
		}
		if len(some) > 0 {
			w.add(slices.Sorted(maps.Keys(some)), true)
		}
	}
	return w
}

// add writes a file of rows with these keys.
func (w *passingWorld) add(keys []int64, deletes bool) {
	rows := randomRows(w.r, w.s.Fields, len(keys), 500)
	for i, ref := range rows.Refs {
		b := rows.Batches[ref.Batch()]
		if len(w.keys) == 2 {
			b.Columns[w.keys[0]].Words[ref.Row()], b.Columns[w.keys[1]].Words[ref.Row()] = keys[i]/37, keys[i]%37
		} else {
			b.Columns[w.keys[0]].Words[ref.Row()] = keys[i]
		}
		if !deletes {
			b.Kinds[ref.Row()] = []table.Kind{table.Insert, table.UpdateAfter}[w.r.IntN(2)]
		}
	}
	files := writeRows(w.t, w.f, rows, 1000)
	require.Len(w.t, files, 1)
	w.files = append(w.files, files[0])
}

// merge merges all files into one, and returns it and how many row groups were copied.
func (w *passingWorld) merge(copies bool) (table.File, int) {
	var sources []Source
	for i := range w.files {
		run := Run{&w.files[i]}
		sources = append(sources, run.Open(func(f *table.File) (Source, error) {
			return Open(w.t.Context(), w.store, "d.db/t", f, w.s, w.s, allColumns(w.s))
		}))
	}
	out := w.f.NewWriter(unpartitioned, 1, 0, table.SourceCompact, newNamer(w.s))
	cfg := MergeConfig{Fields: w.s.Fields, Key: w.keys}
	if copies {
		cfg.Copies = out.Copies
	}
	m, err := NewMerger(cfg, sources)
	require.NoError(w.t, err)
	copied, most := 0, 1+w.r.IntN(500)
	for {
		rows, err := m.NextRows(most)
		if err == io.EOF {
			break
		}
		require.NoError(w.t, err)
		if g := m.Group(); g != nil {
			require.Zero(w.t, rows.Len())
			require.NoError(w.t, out.CopyGroup(w.t.Context(), g))
			copied++
			continue
		}
		require.NoError(w.t, out.Append(w.t.Context(), rows))
	}
	require.NoError(w.t, m.Close())
	files, err := out.Close(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, files, 1)
	return files[0], copied
}

// compare compares a merge that may copy with one that may not.
func (w *passingWorld) compare() int {
	want, none := w.merge(false)
	require.Zero(w.t, none)
	got, copied := w.merge(true)
	read := func(f table.File) []string { return readRows(w.t, w.store, w.s, []table.File{f}, 1000) }
	require.Equal(w.t, read(want), read(got))
	w.checkCodecs(&got)
	got.Name, got.SizeBytes, got.CreatedMillis = want.Name, want.SizeBytes, want.CreatedMillis
	require.Equal(w.t, want, got)
	return copied
}

// checkCodecs wants one codec for all chunks of a column.
func (w *passingWorld) checkCodecs(f *table.File) {
	r, err := Open(w.t.Context(), w.store, "d.db/t", f, w.s, w.s, nil)
	require.NoError(w.t, err)
	groups := r.file.meta.RowGroups
	for i := range groups {
		for c := range groups[i].Columns {
			require.Equal(w.t, groups[0].Columns[c].MetaData.Codec, groups[i].Columns[c].MetaData.Codec, "column %d of row group %d", c, i)
		}
	}
	require.NoError(w.t, r.Close())
}

// TestCopiesNothingElse: row groups of another schema, of a file with retractions or of another program's are read, and one that was
// given out and not copied is told of.
func TestCopiesNothingElse(t *testing.T) {
	r := newRand(t)
	w := newPassingWorld(t, r, false, "truncate(16)")
	open := func(f *table.File) *Reader {
		reader, err := Open(t.Context(), w.store, "d.db/t", f, w.s, w.s, allColumns(w.s))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, reader.Close()) })
		return reader
	}
	copies := func(change func(*Reader)) bool {
		reader := open(&w.files[0])
		change(reader)
		g, err := reader.nextGroup()
		require.NoError(t, err)
		return w.f.copyable(g)
	}
	require.True(t, copies(func(*Reader) {}))
	require.False(t, copies(func(r *Reader) { r.schema++ }), "another schema")
	require.False(t, copies(func(r *Reader) { r.deletes = 1 }), "retractions")
	require.False(t, copies(func(r *Reader) { r.file.meta.CreatedBy = "parquet-mr version 1.15.2 (build x)" }), "another program")
	require.False(t, copies(func(r *Reader) {
		r.file.meta.RowGroups[0].Columns[slices.IndexFunc(w.f.layout.leaves, func(l leaf) bool { return l.typ.NotNull && l.typ.Root == table.Int })].MetaData.Statistics.MinValue = nil
	}), "bounds that are not known")

	m, err := NewMerger(MergeConfig{Fields: w.s.Fields, Key: w.keys, Copies: func(*RowGroup) bool { return true }}, []Source{open(&w.files[0])})
	require.NoError(t, err)
	_, err = m.NextRows(10)
	require.NoError(t, err)
	require.NotNil(t, m.Group())
	_, err = m.NextRows(10)
	require.ErrorContains(t, err, "neither read nor copied")
}

// TestBoundsOfCutText: the footer's bounds of long texts are cut; they do where fewer characters are kept of them.
func TestBoundsOfCutText(t *testing.T) {
	text := func(n int) []byte { return bytes.Repeat([]byte("é"), n) }
	truncate := func(n int) table.StatsMode { return table.StatsMode{Level: table.StatsTruncate, Length: n} }
	l := &leaf{typ: str(), physical: physicalOf(str())}
	for _, c := range []struct {
		min, max []byte
		mode     table.StatsMode
		want     bool
	}{
		{text(1), text(30), table.StatsMode{Level: table.StatsFull}, true},
		{text(1), text(31), table.StatsMode{Level: table.StatsFull}, false},
		{text(32), text(32), truncate(31), true},
		{text(32), text(32), truncate(32), false},
		{text(1), text(32), truncate(128), false},
		{nil, nil, truncate(16), false},
		{nil, nil, table.StatsMode{Level: table.StatsCounts}, true},
	} {
		s := &format.Statistics{MinValue: c.min, MaxValue: c.max}
		require.Equal(t, c.want, enough(l, s, c.mode), "%d and %d bytes, %s", len(c.min), len(c.max), c.mode)
	}
}
