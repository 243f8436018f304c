package datafile

import (
	"context"
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

func BenchmarkEncodeOrders(b *testing.B) {
	for _, codec := range []string{"zstd", "snappy", "lz4", "none"} {
		b.Run(codec, func(b *testing.B) {
			rows := orderRows(orderChanges(100_000, 50_000, 1))
			f := newTestFormat(b, orderSchema(map[string]string{"file.compression": codec}), discard{}, Changelog)
			benchmarkEncode(b, f, rows)
		})
	}
}

func benchmarkEncode(b *testing.B, f *Format, rows table.Rows) {
	ctx := context.Background()
	var size int64
	b.ReportAllocs()
	start := cpuNanos()
	for b.Loop() {
		w := f.NewWriter(table.Bucket{Partition: table.EmptyRow}, 4, 0, table.SourceAppend, newNamer(f.cfg.Schema))
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
