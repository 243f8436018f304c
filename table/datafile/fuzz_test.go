package datafile

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// FuzzReader reads damaged files: it must end in an error or in rows, without a panic, and without taking more memory
// than the file gives reason for. Files without compression let mutations reach the pages.
func FuzzReader(f *testing.F) {
	schemas := []*table.Schema{
		table.NewSchema(allTypes(), []string{"id"}, nil, map[string]string{"bucket": "1", "file.compression": "none"}),
		readGolden(f, "comp_uncompressed").last(),
		readGolden(f, "alltypes").last(),
		readGolden(f, "nested").last(),
	}
	for which, name := range map[byte]string{1: "comp_uncompressed", 2: "alltypes", 3: "nested"} {
		g := readGolden(f, name)
		b, err := g.store.Get(context.Background(), g.objectName(f, g.files[0]))
		require.NoError(f, err)
		f.Add(which, b)
	}
	for seed := range uint64(4) {
		store := object.NewMem()
		form := newTestFormat(f, schemas[0], store, Data)
		form.limits.pageRows = 10
		rows := randomRows(rand.New(rand.NewPCG(seed, 0)), schemas[0].Fields, 30, 30)
		files := writeRows(f, form, rows, 30)
		b, err := store.Get(context.Background(), table.Path("d.db/t").DataFile("", 0, files[0].Name))
		require.NoError(f, err)
		f.Add(byte(0), b)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		readDamaged(t, schemas[int(which)%len(schemas)], b)
	})
}

func readDamaged(t *testing.T, s *table.Schema, b []byte) {
	r := &Reader{name: "fuzz"}
	file := &table.File{Name: "fuzz.parquet", Bucket: unpartitioned, SizeBytes: int64(len(b))}
	if err := r.open(bytesReader{bytes.NewReader(b)}, file, s, s, allColumns(s)); err != nil {
		return
	}
	if r.file.meta.NumRows > 10_000 { // a few bytes can stand for many rows: right, but slow
		return
	}
	for range 20 {
		out := table.NewBatch(s.Fields)
		var seqs []int64
		n, err := r.Next(out, &seqs, 1000)
		if err == io.EOF {
			require.Zero(t, n)
			return
		}
		if err != nil {
			return
		}
		require.Positive(t, n)
		require.Len(t, seqs, n)
		require.Equal(t, n, out.Len())
		for i, f := range s.Fields {
			require.Equal(t, n, out.Columns[i].Len())
			if f.Type.Nested() {
				for row := range n {
					cell := table.ReadNested(out.Columns[i].Bytes(row))
					_ = cell.Value(&f.Type)
				}
			}
		}
	}
}

// TestDamaged flips and cuts bytes of files all over, in a fixed number of seeded ways.
func TestDamaged(t *testing.T) {
	r := newRand(t)
	s := table.NewSchema(allTypes(), []string{"id"}, nil, map[string]string{"bucket": "1"})
	for _, codec := range []string{"zstd", "snappy", "gzip", "lz4", "none"} {
		s.Options["file.compression"] = codec
		store := object.NewMem()
		f := newTestFormat(t, s, store, Data)
		f.limits.pageRows = 50
		files := writeRows(t, f, randomRows(r, s.Fields, 150, 150), 150)
		whole, err := store.Get(context.Background(), table.Path("d.db/t").DataFile("", 0, files[0].Name))
		require.NoError(t, err)
		for range 60 {
			b := bytes.Clone(whole)
			switch r.IntN(5) {
			case 0:
				b = b[:r.IntN(len(b))]
			case 1:
				at := r.IntN(len(b))
				b = append(b[:at], b[min(len(b), at+1+r.IntN(20)):]...)
			default:
				for range 1 + r.IntN(4) {
					b[r.IntN(len(b))] = byte(r.Uint32())
				}
			}
			readDamaged(t, s, b)
		}
	}
}
