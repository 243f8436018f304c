package datafile

import (
	"context"
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
	for b.Loop() {
		w := f.NewWriter(table.Bucket{Partition: table.EmptyRow}, 4, 0, table.SourceAppend, table.NewNamer(f.cfg.Schema, "u"))
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
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows.Len()), "ns/row")
	b.ReportMetric(float64(size)/float64(rows.Len()), "B/row")
}
