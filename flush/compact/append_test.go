package compact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestPickAppend: small files that follow each other become one, never around a large one.
func TestPickAppend(t *testing.T) {
	for _, c := range []struct{ files, picked, full string }{ // sizes, the oldest first; 70 is large, 100 the target
		{"1 1 1 1", "", "1 1 1 1"},
		{"1 2 3 4 5", "1 2 3 4 5", "1 2 3 4 5"},
		{"60 50", "60 50", "60 50"},
		{"60 30", "", "60 30"},
		{"60 50 1 1 1 1 1", "60 50", "60 50 1 1 1 1 1"},
		{"99 1 1 1 1", "", "1 1 1 1"},
		{"99 1 99 1 99", "", "1 99 1"},
		{"1 99 1 1 1 1 1", "1 1 1 1 1", "1 99 1 1 1 1 1"},
		{"1", "", ""},
		{"99 99", "", ""},
		{"", "", ""},
	} {
		o := Options{Append: true, MinFiles: 5, TargetFileSize: 100}
		var files []table.File
		for i, size := range strings.Fields(c.files) {
			f := table.File{Name: fmt.Sprint(i), MinSeq: int64(i), MaxSeq: int64(i)}
			_, err := fmt.Sscan(size, &f.SizeBytes)
			require.NoError(t, err)
			files = append(files, f)
		}
		rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		sizes := func(j Job, ok bool) string {
			var out []string
			for i := range j.Files {
				out = append(out, fmt.Sprint(j.Files[i].SizeBytes))
			}
			if !ok {
				return ""
			}
			return strings.Join(out, " ")
		}
		require.Equal(t, c.picked, sizes(o.Pick(Runs(files))), c.files)
		require.Equal(t, c.full, sizes(o.PickFull(Runs(files))), c.files)
	}
}

// TestConcatenate: the rows of an append table's files come one after the other, equal ones apart, over a change of the schema.
func TestConcatenate(t *testing.T) {
	s := table.NewSchema([]table.Field{{Name: "id", Type: bigint}, {Name: "name", Type: text}}, nil, nil, map[string]string{"file.compression": "none"})
	w := newWorld(t, nil)
	w.schemas = []*table.Schema{s}
	add := func(ids ...int64) {
		var rows []row
		for _, id := range ids {
			rows = append(rows, row{id, "same", table.Insert, w.seq})
			w.seq++
		}
		w.addFile(rows...)
	}
	add(3, 1, 1)
	add(2)
	wider := s.Clone()
	wider.ID, wider.HighestFieldID = 1, 2
	wider.Fields = append(wider.Fields, table.Field{ID: 2, Name: "extra", Type: bigint})
	w.schemas = append(w.schemas, wider)
	add(1, 9)

	c := w.compactor(w.store, 0)
	_, ok := c.Options().Pick(Runs(w.files))
	require.False(t, ok, "three files are not worth it")
	j, ok := c.Options().PickFull(Runs(w.files))
	require.True(t, ok)
	result, err := c.Run(t.Context(), j)
	require.NoError(t, err)
	w.apply(result)
	require.Len(t, w.files, 1)
	f := &w.files[0]
	var ids []int64
	for i, r := range w.rows(f) {
		require.EqualValues(t, i, r.seq)
		ids = append(ids, r.id)
	}
	require.Equal(t, []int64{3, 1, 1, 2, 1, 9}, ids)
	empty := []byte(table.EmptyRow)
	require.Equal(t, table.Stats{Min: empty, Max: empty, Nulls: []int64{}}, f.KeyStats)
	require.Equal(t, empty, f.MinKey)
	require.Equal(t, empty, f.MaxKey)
	require.Equal(t, []any{int64(0), int64(5), int64(6), int32(0), table.SourceCompact, int64(1)},
		[]any{f.MinSeq, f.MaxSeq, f.Rows, f.Level, f.Source, f.SchemaID})
	_, ok = c.Options().PickFull(Runs(w.files))
	require.False(t, ok, "one file is one file")
}
