package datafile

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// discard is a store that keeps nothing.
type discard struct{ object.Store }

type discardWriter struct{ n int64 }

func (discard) Writer(context.Context, string) (object.Writer, error) { return &discardWriter{}, nil }

func (w *discardWriter) Write(b []byte) (int, error) { w.n += int64(len(b)); return len(b), nil }
func (w *discardWriter) Close() error                { return nil }
func (w *discardWriter) Abort()                      {}

func newTestFormat(t testing.TB, s *table.Schema, store object.Store, kind Kind) *Format {
	cfg, err := NewConfig(s, store, "d.db/t", kind)
	require.NoError(t, err)
	f, err := NewFormat(cfg)
	require.NoError(t, err)
	return f
}

// cpuNanos is the CPU time that the process has taken: what to compare on a machine that does other things, too.
func cpuNanos() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// reportRows reports what n rows a round have cost since start.
func reportRows(b *testing.B, start int64, n int) {
	cpu := float64(cpuNanos()-start) / float64(b.N) / float64(n)
	b.ReportMetric(cpu, "cpu-ns/row")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEncodeOrders writes the 12-column rows of the performance notes: a changelog of one bucket.
func BenchmarkEncodeOrders(b *testing.B) {
	rows := orderRows(orderChanges(100_000, 50_000, 1))
	for _, codec := range []string{"zstd", "snappy", "lz4", "none"} {
		b.Run(codec, func(b *testing.B) {
			f := newTestFormat(b, orderSchema(map[string]string{"file.compression": codec}), discard{}, Changelog)
			benchmarkEncode(b, f, rows)
		})
	}
}

// BenchmarkEncodeNulls writes rows of 12 columns of which all but the key are null.
func BenchmarkEncodeNulls(b *testing.B) {
	batch := table.NewBatch(orderFields())
	var seqs []int64
	for i := range int64(40_000) {
		batch.Columns[0].AppendWord(i)
		for c := 1; c < len(batch.Columns); c++ {
			batch.Columns[c].AppendNull()
		}
		batch.Kinds = append(batch.Kinds, table.Insert)
		seqs = append(seqs, i)
	}
	benchmarkEncode(b, newTestFormat(b, orderSchema(nil), discard{}, Changelog), table.AllOf(batch, seqs))
}

// wideFields are a key and 199 columns of four types, which are null now and then.
func wideFields() []table.Field {
	fields := []table.Field{{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}}}
	types := []table.Type{{Root: table.Int}, {Root: table.Double}, str(), {Root: table.Timestamp, Precision: 6}}
	for i := range 199 {
		fields = append(fields, table.Field{Name: fmt.Sprint("c", i), Type: types[i%len(types)]})
	}
	return fields
}

func BenchmarkEncodeWide(b *testing.B) {
	s := table.NewSchema(wideFields(), []string{"id"}, nil, map[string]string{"bucket": "1"})
	rows := randomRows(rand.New(rand.NewPCG(1, 0)), s.Fields, 10_000, 2_000)
	benchmarkEncode(b, newTestFormat(b, s, discard{}, Changelog), rows)
}

// BenchmarkEncodeSmall writes files of 100 rows: many buckets that got few changes.
func BenchmarkEncodeSmall(b *testing.B) {
	rows := orderRows(orderChanges(1000, 500, 1))
	benchmarkEncode(b, newTestFormat(b, orderSchema(nil), discard{}, Changelog), rows.Slice(0, 100))
}

func benchmarkEncode(b *testing.B, f *Format, rows table.Rows) {
	ctx := context.Background()
	var size int64
	b.ReportAllocs()
	start := cpuNanos()
	for b.Loop() {
		w := f.NewWriter(unpartitioned, 4, 0, table.SourceAppend, newNamer(f.cfg.Schema))
		if err := w.Append(ctx, rows); err != nil {
			b.Fatal(err)
		}
		files, err := w.Close(ctx)
		if err != nil {
			b.Fatal(err)
		}
		size = 0
		for _, f := range files {
			size += f.SizeBytes
		}
	}
	reportRows(b, start, rows.Len())
	b.ReportMetric(float64(size)/float64(rows.Len()), "B/row")
}

// BenchmarkRead reads the rows of BenchmarkEncodeOrders.
func BenchmarkRead(b *testing.B) {
	rows := orderRows(orderChanges(100_000, 50_000, 1))
	store := object.NewMem()
	s := orderSchema(nil)
	files := writeRows(b, newTestFormat(b, s, store, Changelog), rows, rows.Len())
	out := table.NewBatch(s.Fields)
	var seqs []int64
	b.ReportAllocs()
	start := cpuNanos()
	for b.Loop() {
		r, err := Open(context.Background(), store, "d.db/t", &files[0], s, s, allColumns(s))
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			out.Reset()
			seqs = seqs[:0]
			_, err = r.Next(out, &seqs, 4096)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		_ = r.Close()
	}
	reportRows(b, start, rows.Len())
}

// BenchmarkMerge merges rows in memory that are spread over several sources; what it costs to make their batches again
// is part of it.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows := orderRows(orderChanges(100_000, 50_000, 1))
			parts := make([]table.Rows, n)
			for i, ref := range rows.Refs {
				p := &parts[i%n]
				p.Batches, p.Refs, p.Seqs = rows.Batches, append(p.Refs, ref), append(p.Seqs, rows.Seqs[i])
			}
			b.ReportAllocs()
			start := cpuNanos()
			for b.Loop() {
				var sources []Source
				for _, p := range parts {
					sources = append(sources, &memorySource{rows: p})
				}
				m, err := NewMerger(MergeConfig{Fields: orderFields(), Key: []int{0}}, sources)
				for err == nil {
					_, err = m.NextRows(8192)
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			reportRows(b, start, rows.Len())
		})
	}
}
