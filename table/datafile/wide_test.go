package datafile

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// Rows as wide as Kafka lets them be by default, which do not compress.
const (
	wideRows  = 48
	wideBytes = 1 << 20
)

func wideSchema() *table.Schema {
	return table.NewSchema([]table.Field{
		{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}}, {Name: "text", Type: str()},
	}, []string{"id"}, nil, map[string]string{"bucket": "1", "target-file-size": "1 gb"})
}

// wideBatch are the rows from an id on, every step-th.
func wideBatch(r *rand.Rand, s *table.Schema, first, step int64, n int) table.Rows {
	b := table.NewBatch(s.Fields)
	seqs := make([]int64, n)
	cell := make([]byte, wideBytes)
	for i := range n {
		for at := 0; at < len(cell); at += 8 {
			binary.LittleEndian.PutUint64(cell[at:], r.Uint64())
		}
		b.Columns[0].AppendWord(first + step*int64(i))
		b.Columns[1].AppendBytes(cell)
		b.Kinds = append(b.Kinds, table.Insert)
		seqs[i] = int64(i)
	}
	return table.AllOf(b, seqs)
}

// TestWideRowsToWrite: a row group grows beyond its bounds by no more than a slice, also when all rows come at once.
func TestWideRowsToWrite(t *testing.T) {
	r, s, store := newRand(t), wideSchema(), object.NewMem()
	files := writeRows(t, newTestFormat(t, s, store, Data), wideBatch(r, s, 0, 1, wideRows), wideRows)
	require.Len(t, files, 1)
	reader, err := Open(t.Context(), store, "d.db/t", &files[0], s, s, allColumns(s))
	require.NoError(t, err)
	defer reader.Close()
	for _, g := range reader.file.meta.RowGroups {
		require.LessOrEqual(t, g.TotalCompressedSize, int64(defaultLimits.groupBytes+sliceBytes+2*wideBytes))
	}
}

// TestWideRowsToRead: what is read at once is bounded by bytes, in a reader and in a merge of several.
func TestWideRowsToRead(t *testing.T) {
	r, s, store := newRand(t), wideSchema(), object.NewMem()
	f := newTestFormat(t, s, store, Data)
	const runs = 3
	var sources []Source
	for i := range int64(runs) {
		files := writeRows(t, f, wideBatch(r, s, i, runs, wideRows/runs), wideRows)
		reader, err := Open(t.Context(), store, "d.db/t", &files[0], s, s, allColumns(s))
		require.NoError(t, err)
		sources = append(sources, reader)
	}
	var seqs []int64
	first := table.NewBatch(s.Fields)
	n, err := sources[0].Next(first, &seqs, wideRows)
	require.NoError(t, err)
	require.LessOrEqual(t, n*wideBytes, nextBytes+wideBytes)

	m, err := NewMerger(MergeConfig{Fields: s.Fields, Key: []int{0}}, sources)
	require.NoError(t, err)
	defer m.Close()
	rows := n
	for {
		out, err := m.NextRows(wideRows)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		rows += out.Len()
		var held int64
		for _, b := range out.Batches {
			held += b.SizeBytes()
		}
		require.LessOrEqual(t, held, int64(2*maxSpentBytes+2*runs*(nextBytes+wideBytes)), "a merge holds much of its sources")
	}
	require.Equal(t, wideRows, rows)
}
