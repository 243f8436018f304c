package datafile

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

var unpartitioned = table.Bucket{Partition: table.EmptyRow}

// allColumns are the positions of a schema's columns.
func allColumns(s *table.Schema) []int {
	out := make([]int, len(s.Fields))
	for i := range out {
		out[i] = i
	}
	return out
}

var namers atomic.Int64

// newNamer returns a namer of names that no other has given.
func newNamer(s *table.Schema) *table.Namer { return table.NewNamer(s, fmt.Sprint("u", namers.Add(1))) }

// writeRows writes rows in pieces of up to the given number and returns the files.
func writeRows(t testing.TB, f *Format, rows table.Rows, piece int) []table.File {
	t.Helper()
	ctx := context.Background()
	w := f.NewWriter(unpartitioned, 1, 0, table.SourceAppend, newNamer(f.cfg.Schema))
	for at := 0; at < rows.Len(); at += piece {
		require.NoError(t, w.Append(ctx, rows.Slice(at, min(at+piece, rows.Len()))))
	}
	files, err := w.Close(ctx)
	require.NoError(t, err)
	return files
}

// canonicalRows are the rows as text, with sequence number and kind.
func canonicalRows(fields []table.Field, rows table.Rows) []string {
	var out []string
	for i, ref := range rows.Refs {
		text := table.AppendCanonicalRow(nil, fields, rows.Batches[ref.Batch()], ref.Row())
		out = append(out, fmt.Sprintf("%d %s %s", rows.Seqs[i], rows.Kind(i), text))
	}
	return out
}

// readRows reads files to their end in steps of up to max rows.
func readRows(t testing.TB, store object.Store, s *table.Schema, files []table.File, max int) []string {
	t.Helper()
	var out []string
	for i := range files {
		r, err := Open(context.Background(), store, "d.db/t", &files[i], s, s, allColumns(s))
		require.NoError(t, err)
		out = append(out, drain(t, r, s.Fields, max)...)
		require.NoError(t, r.Close())
	}
	return out
}

// drain reads a source to its end.
func drain(t testing.TB, src Source, fields []table.Field, max int) []string {
	t.Helper()
	var out []string
	for {
		b := table.NewBatch(fields)
		var seqs []int64
		n, err := src.Next(b, &seqs, max)
		if err == io.EOF {
			require.Zero(t, n)
			return out
		}
		require.NoError(t, err)
		require.Positive(t, n)
		require.Equal(t, n, b.Len())
		out = append(out, canonicalRows(fields, table.AllOf(b, seqs))...)
	}
}

func TestRoundTrip(t *testing.T) {
	r := newRand(t)
	for _, codec := range []string{"zstd", "snappy", "gzip", "lz4", "none"} {
		t.Run(codec, func(t *testing.T) {
			store := object.NewMem()
			s := table.NewSchema(allTypes(), []string{"id"}, nil, map[string]string{"file.compression": codec, "bucket": "1"})
			f := newTestFormat(t, s, store, Data)
			n := 1200
			if codec == "zstd" {
				n = 4100 // above the 4096 rows of some readers' batches
			}
			rows := randomRows(r, s.Fields, n+r.IntN(500), 2500)
			checkRandom(t, rows, s.Fields)
			files := writeRows(t, f, rows, 1+r.IntN(rows.Len()))
			require.Len(t, files, 1)
			want := canonicalRows(s.Fields, rows)
			require.Equal(t, want, readRows(t, store, s, files, 1+r.IntN(5000)))
			if codec == "zstd" {
				require.Equal(t, want, readRows(t, store, s, writeRows(t, f, rows, rows.Len()), 65536), "a second file of the same encoder")
			}
		})
	}
}
