package manifest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

func plainSchema() *table.Schema {
	return table.NewSchema([]table.Field{{Name: "id", Type: table.Type{Root: table.BigInt}}}, []string{"id"}, nil, nil)
}

func mustWriter(t testing.TB, store object.Store, schema *table.Schema) *Writer {
	w, err := NewWriter(store, "d.db/t", schema, table.NewManifestNamer("u"))
	require.NoError(t, err)
	return w
}

func TestPlanMerge(t *testing.T) {
	o := MergeOptions{TargetSizeBytes: 100, MinCount: 3, FullSizeBytes: 1000}
	for _, c := range []struct {
		sizes string // of manifests; with a trailing d: it has deletes
		want  string
	}{
		{"", ""},
		{"10", "10"},
		{"10 20", "10 | 20"},
		{"10 20 30", "10 20 30"},         // enough of them
		{"60 60 10", "60 60 | 10"},       // the target is reached
		{"100 100 10", "100 | 100 | 10"}, // large ones stay
		{"10 100 10 10 10", "10 100 | 10 10 10"},
		{"100d 100 99", "100d | 100 | 99"},
		{"500d 500d", "full 500d 500d"},
		{"1000d", "1000d"}, // nothing to merge with
		{"1000 999 50d 50", "1000 | 999 | 50d 50"},
		{"1000 900d 50d 50", "full 1000 900d 50d 50"},
	} {
		var list []ListEntry
		for _, word := range strings.Fields(c.sizes) {
			e := ListEntry{Name: word}
			if strings.HasSuffix(word, "d") {
				e.Deleted = 1
			}
			_, err := fmt.Sscan(strings.TrimSuffix(word, "d"), &e.SizeBytes)
			require.NoError(t, err)
			list = append(list, e)
		}
		plan := PlanMerge(list, o)
		var groups []string
		for _, g := range plan.Groups {
			var words []string
			for _, e := range g {
				words = append(words, e.Name)
			}
			groups = append(groups, strings.Join(words, " "))
		}
		got := strings.Join(groups, " | ")
		if plan.Full {
			got = "full " + got
		}
		require.Equal(t, c.want, got, c.sizes)
	}
}

// TestMergeKeepsUnmatchedDelete merges two groups; a DELETE in the second undoes an ADD of the first.
func TestMergeKeepsUnmatchedDelete(t *testing.T) {
	store := object.NewMem()
	w := mustWriter(t, store, plainSchema())
	write := func(entries ...Entry) ListEntry {
		list, err := w.Manifests(t.Context(), entries)
		require.NoError(t, err)
		return list[0]
	}
	list := []ListEntry{
		write(entryOf(Add, "a", 0, 0), entryOf(Add, "b", 0, 0)),
		write(entryOf(Add, "c", 0, 0)),
		write(entryOf(Delete, "a", 0, 0), entryOf(Add, "a", 0, 5)),
		write(entryOf(Add, "d", 0, 0)),
		write(entryOf(Delete, "d", 0, 0)),
	}
	o := MergeOptions{}
	merged, written, err := w.Merge(t.Context(), MergePlan{Groups: [][]ListEntry{list[:2], list[2:]}}, o)
	require.NoError(t, err)
	require.Equal(t, written, merged)
	require.Len(t, merged, 2)
	require.Equal(t, []int64{3, 0, 1, 1}, []int64{merged[0].Added, merged[0].Deleted, merged[1].Added, merged[1].Deleted})
	require.Equal(t, Range{0, 5, true}, merged[1].Levels)
	second, err := ReadManifest(t.Context(), store, "d.db/t", merged[1].Name)
	require.NoError(t, err)
	require.Equal(t, Delete, second[0].Kind)

	// All in one: nothing but live files is left.
	merged, _, err = w.Merge(t.Context(), MergePlan{Full: true, Groups: [][]ListEntry{list}}, MergeOptions{TargetSizeBytes: 1 << 20})
	require.NoError(t, err)
	require.Len(t, merged, 1)
	require.Equal(t, []int64{3, 0}, []int64{merged[0].Added, merged[0].Deleted})

	// A group whose entries all cancel leaves no manifest.
	merged, written, err = w.Merge(t.Context(), MergePlan{Groups: [][]ListEntry{list[3:]}}, o)
	require.NoError(t, err)
	require.Empty(t, merged)
	require.Empty(t, written)

	// Broken groups are refused by name.
	_, _, err = w.Merge(t.Context(), MergePlan{Groups: [][]ListEntry{{list[1], list[1]}}}, o)
	require.ErrorContains(t, err, "file is added twice: c in bucket 0 at level 0")
	_, _, err = w.Merge(t.Context(), MergePlan{Groups: [][]ListEntry{{list[4], list[3]}}}, o)
	require.ErrorContains(t, err, "file is added again after it was deleted: d")
	_, _, err = w.Merge(t.Context(), MergePlan{Groups: [][]ListEntry{{list[4], list[4]}}}, o)
	require.ErrorContains(t, err, "file is deleted twice: d")
}

// TestMergeRandom runs a random history of commits with merges between them: the live files are those of a fold of
// the whole history.
func TestMergeRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	schema := table.NewSchema([]table.Field{
		{Name: "p", Type: table.Type{Root: table.Int, NotNull: true}}, {Name: "id", Type: table.Type{Root: table.BigInt}},
	}, []string{"p", "id"}, []string{"p"}, nil)
	store := object.NewMem()
	w := mustWriter(t, store, schema)
	var whole Files
	var list []ListEntry
	counts := map[string]int{}
	for commit := range 150 {
		o := MergeOptions{TargetSizeBytes: int64(1500 + rnd.IntN(3000)), MinCount: 2 + rnd.IntN(6), FullSizeBytes: int64(6000 + rnd.IntN(30000))}
		w.targetSize = o.TargetSizeBytes
		plan := PlanMerge(list, o)
		if plan.Full {
			counts["full"]++
		} else if !plan.Nothing() {
			counts["minor"]++
		}
		merged, _, err := w.Merge(t.Context(), plan, o)
		require.NoError(t, err)
		list = merged

		var entries []Entry
		for i := range 1 + rnd.IntN(4) {
			e := entryOf(Add, fmt.Sprintf("f-%d-%d", commit, i), int32(rnd.IntN(3)), 0)
			e.File.Bucket.Partition = intRow(int32(rnd.IntN(4)))
			entries = append(entries, e)
		}
		if live := whole.All(); len(live) > 20 {
			for _, i := range rnd.Perm(len(live))[:rnd.IntN(4)] {
				entries = append(entries, Entry{Kind: Delete, File: live[i]})
			}
		}
		for i := range entries {
			require.NoError(t, whole.Apply(&entries[i]))
		}
		delta, err := w.Manifests(t.Context(), entries)
		require.NoError(t, err)
		list = append(list, delta...)

		var files Files
		require.NoError(t, EachEntry(t.Context(), store, "d.db/t", list, nil, files.Apply))
		require.ElementsMatch(t, names(whole.All()), names(files.All()), "after commit %d", commit)

		f, err := NewFilter(schema, []string{intRow(2)}, []int32{1})
		require.NoError(t, err)
		var some, want Files
		require.NoError(t, EachEntry(t.Context(), store, "d.db/t", list, f, some.Apply))
		for _, file := range whole.All() {
			if file.Bucket == (table.Bucket{Partition: intRow(2), Number: 1}) {
				require.NoError(t, want.Apply(&Entry{File: file}))
			}
		}
		require.ElementsMatch(t, names(want.All()), names(some.All()))
	}
	require.Positive(t, counts["full"])
	require.Positive(t, counts["minor"])
}

// intRow is a serialised BinaryRow of one INT.
func intRow(v int32) string {
	b := &table.Vector{Layout: table.Words}
	b.AppendWord(int64(v))
	return string(table.EncodeRow(nil, []table.Type{{Root: table.Int}}, []*table.Vector{b}, 0))
}

func TestFilterManifests(t *testing.T) {
	schema := table.NewSchema([]table.Field{
		{Name: "p", Type: table.Type{Root: table.Int}}, {Name: "id", Type: table.Type{Root: table.BigInt}},
	}, []string{"id"}, []string{"p"}, nil)
	schema.Fields[0].Type.NotNull = false
	null := string(table.EncodeRow(nil, []table.Type{{Root: table.Int}}, []*table.Vector{{Layout: table.Words, Words: []int64{0}, Nulls: []bool{true}}}, 0))
	m := func(lo, hi string, nulls ...int64) *ListEntry {
		return &ListEntry{Partitions: table.Stats{Min: []byte(lo), Max: []byte(hi), Nulls: nulls}, Buckets: Range{1, 2, true}}
	}
	for i, c := range []struct {
		partition string
		bucket    int32
		m         *ListEntry
		want      bool
	}{
		{intRow(5), 1, m(intRow(1), intRow(9), 0), true},
		{intRow(-5), 1, m(intRow(1), intRow(9), 0), false},
		{intRow(10), 1, m(intRow(1), intRow(9), 0), false},
		{intRow(5), 0, m(intRow(1), intRow(9), 0), false},
		{intRow(5), 3, &ListEntry{Partitions: m(intRow(1), intRow(9), 0).Partitions}, true}, // bucket bounds unknown
		{null, 1, m(intRow(1), intRow(9), 0), false},
		{null, 1, m(intRow(1), intRow(9), 2), true},
		{null, 1, m(intRow(1), intRow(9), -1), true},
		{null, 1, m(intRow(1), intRow(9)), true},
		{intRow(50), 1, m(null, null, -1), true},                 // bounds unknown
		{intRow(50), 1, m(table.EmptyRow, table.EmptyRow), true}, // bounds that cannot be read
	} {
		f, err := NewFilter(schema, []string{c.partition}, []int32{c.bucket})
		require.NoError(t, err)
		require.Equal(t, c.want, f.keepsManifest(c.m), i)
	}
	f, err := NewFilter(schema, nil, nil)
	require.NoError(t, err)
	require.True(t, f.keepsManifest(m(intRow(1), intRow(1), 0)))
	_, err = NewFilter(schema, []string{"x"}, nil)
	require.ErrorContains(t, err, "partition 78: ")
}

func TestRoll(t *testing.T) {
	store := object.NewMem()
	w := mustWriter(t, store, plainSchema())
	w.targetSize = 20 << 10
	var entries []Entry
	for i := range 20000 {
		entries = append(entries, entryOf(Add, fmt.Sprintf("data-%d-%d.parquet", i, rand.Uint64()), 0, 0))
	}
	list, err := w.Manifests(t.Context(), entries)
	require.NoError(t, err)
	require.Greater(t, len(list), 4)
	var added int64
	for i, m := range list {
		added += m.Added
		b, err := store.Get(t.Context(), "d.db/t/manifest/"+m.Name)
		require.NoError(t, err)
		require.Len(t, b, int(m.SizeBytes))
		if i < len(list)-1 {
			require.Greater(t, m.SizeBytes, w.targetSize)
		}
	}
	require.EqualValues(t, len(entries), added)
	list, err = w.Manifests(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, list)
}

// benchEntries are n entries of a table of 12 columns as a flush makes them.
func benchEntries(n int) []Entry {
	key := []byte(intRow(7))
	columns := make([]string, 12)
	nulls := make([]int64, 12)
	for i := range columns {
		columns[i] = fmt.Sprint("column", i)
	}
	stats := make([]byte, 4+8+8*12+40)
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Kind: Add, File: table.File{
			Bucket: table.Bucket{Partition: table.EmptyRow, Number: int32(i % 16)}, TotalBuckets: 16,
			Name: fmt.Sprintf("data-%032x-%d.parquet", i*7919, i), SizeBytes: int64(i) << 10, Rows: 1000, MinKey: key, MaxKey: key,
			KeyStats:   table.Stats{Min: key, Max: key, Nulls: []int64{0}},
			ValueStats: table.Stats{Min: stats, Max: stats, Nulls: nulls}, ValueStatCols: columns,
			MinSeq: int64(i), MaxSeq: int64(i + 1000), CreatedMillis: 1700000000000 + int64(i),
		}}
	}
	return entries
}

func BenchmarkDecodeEntries(b *testing.B) {
	file := encodeEntries(benchEntries(10000), zstdCodec(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeEntries(file); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(10000*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkDecodeEntriesByGoavro(b *testing.B) {
	file := encodeEntries(benchEntries(10000), zstdCodec(1))
	b.ReportAllocs()
	for b.Loop() {
		eachByGoavro(b, file, func(map[string]any) {})
	}
	b.ReportMetric(10000*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkEncodeEntries(b *testing.B) {
	entries := benchEntries(10000)
	b.ReportAllocs()
	for b.Loop() {
		encodeEntries(entries, zstdCodec(1))
	}
	b.ReportMetric(10000*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
