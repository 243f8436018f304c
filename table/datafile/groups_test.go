package datafile

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestKeep: the ranges of a row group hold all its values, whatever the type, and only groups that are kept are read.
func TestKeep(t *testing.T) {
	r := newRand(t)
	fields := allTypes()
	s := table.NewSchema(fields, []string{fields[0].Name}, nil, map[string]string{"bucket": "1"})
	store := object.NewMem()
	cfg, err := NewConfig(s, store, "d.db/t", Data)
	require.NoError(t, err)
	f, err := NewFormat(cfg)
	require.NoError(t, err)
	const group = 40
	f.limits.groupRows = group
	rows := randomRows(r, s.Fields, 10*group, 100)
	files := writeRows(t, f, rows, 1000)
	require.Len(t, files, 1)
	all := canonicalRows(s.Fields, rows)

	known, at := 0, 0
	reader, err := Open(t.Context(), store, "d.db/t", &files[0], s, s, allColumns(s))
	require.NoError(t, err)
	reader.Keep(func(column func(int) table.Range) bool {
		for i, field := range s.Fields {
			known += checkRange(t, column(i), field, rows.Slice(at*group, (at+1)*group), i)
		}
		at++
		return at%2 == 1
	})
	got := drain(t, reader, s.Fields, 1000)
	require.NoError(t, reader.Close())
	var want []string
	for i := range 10 {
		if i%2 == 0 {
			want = append(want, all[i*group:(i+1)*group]...)
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, 10, at)
	require.Greater(t, known, 50, "most columns have bounds")
}

// checkRange wants all values of a column within its range, and returns 1 if there are bounds.
func checkRange(t *testing.T, r table.Range, f table.Field, rows table.Rows, column int) int {
	nulls := int64(0)
	for _, ref := range rows.Refs {
		if rows.Batches[ref.Batch()].Columns[column].IsNull(ref.Row()) {
			nulls++
		}
	}
	if r.Rows > 0 {
		require.Equal(t, nulls, r.Nulls, f.Name)
		require.EqualValues(t, rows.Len(), r.Rows, f.Name)
	}
	if r.Bounds == nil {
		return 0
	}
	encoder := table.NewKeyEncoder([]table.Type{f.Type}, []int{column})
	bounds := make([][]byte, 2)
	for i := range bounds {
		b := &table.Batch{Columns: make([]table.Vector, column+1)}
		b.Columns[column] = *r.Bounds
		bounds[i] = encoder.Append(nil, b, i)
	}
	for _, ref := range rows.Refs {
		b := rows.Batches[ref.Batch()]
		if b.Columns[column].IsNull(ref.Row()) {
			continue
		}
		cell := encoder.Append(nil, b, ref.Row())
		require.LessOrEqual(t, bytes.Compare(bounds[0], cell), 0, "%s %s", f.Name, f.Type)
		require.GreaterOrEqual(t, bytes.Compare(bounds[1], cell), 0, "%s %s", f.Name, f.Type)
	}
	return 1
}
