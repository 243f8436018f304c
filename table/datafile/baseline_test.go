package datafile

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"

	"sink/table"
)

// orderColumns is the row of the benchmark for parquet-go: the columns of a file of orders.
type orderColumns struct {
	K        int64    `parquet:"_KEY_id"`
	Seq      int64    `parquet:"_SEQUENCE_NUMBER"`
	Kind     int32    `parquet:"_VALUE_KIND"`
	ID       int64    `parquet:"id"`
	Customer *int32   `parquet:"customer_id"`
	Product  *int32   `parquet:"product_id"`
	Quantity *int32   `parquet:"quantity"`
	Whouse   *int32   `parquet:"warehouse_id"`
	Amount   *int64   `parquet:"amount,decimal(2:12)"`
	Desc     *string  `parquet:"description,plain"`
	Status   *string  `parquet:"status,dict"`
	Created  *int64   `parquet:"created_at,timestamp(microsecond:local)"`
	Updated  *int64   `parquet:"updated_at,timestamp(microsecond)"`
	Active   *bool    `parquet:"active"`
	Score    *float64 `parquet:"score"`
}

const orderLeaves = 15

// BenchmarkEncodeBaselines writes the rows of BenchmarkEncodeOrders in other ways, to compare in one run.
func BenchmarkEncodeBaselines(b *testing.B) {
	rows := orderRows(orderChanges(100_000, 50_000, 1))
	b.Run("parquet-go", func(b *testing.B) {
		w := parquet.NewGenericWriter[any](io.Discard, parquet.SchemaOf(new(orderColumns)),
			parquet.Compression(&parquetzstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}), parquet.DataPageStatistics(false),
			parquet.PageBufferSize(1<<20), parquet.WriteBufferSize(1<<20), parquet.DataPageVersion(1))
		benchmarkBaseline(b, rows, func(out io.Writer) {
			w.Reset(out)
			if err := writeParquetGo(w, rows); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("hand", func(b *testing.B) {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		var h handWriter
		benchmarkBaseline(b, rows, func(out io.Writer) { h.write(out, e, rows) })
	})
}

func benchmarkBaseline(b *testing.B, rows table.Rows, write func(io.Writer)) {
	b.ReportAllocs()
	var out discardWriter
	start := cpuNanos()
	for b.Loop() {
		out.n = 0
		write(&out)
	}
	reportRows(b, start, rows.Len())
	b.ReportMetric(float64(out.n)/float64(rows.Len()), "B/row")
}

// writeParquetGo writes through parquet-go's column writers, from values gathered per column.
func writeParquetGo(w *parquet.GenericWriter[any], rows table.Rows) error {
	const step = 4096
	var values [orderLeaves][]parquet.Value
	for i := range values {
		values[i] = make([]parquet.Value, step)
	}
	for at := 0; at < rows.Len(); at += step {
		part := rows.Slice(at, min(at+step, rows.Len()))
		for i, ref := range part.Refs {
			c, row := part.Batches[ref.Batch()].Columns, ref.Row()
			values[0][i] = parquet.Int64Value(c[0].Words[row]).Level(0, 0, 0)
			values[1][i] = parquet.Int64Value(part.Seqs[i]).Level(0, 0, 1)
			values[2][i] = parquet.Int32Value(int32(part.Kind(i))).Level(0, 0, 2)
			values[3][i] = parquet.Int64Value(c[0].Words[row]).Level(0, 0, 3)
			for k := 1; k <= 4; k++ {
				values[3+k][i] = parquet.Int32Value(int32(c[k].Words[row])).Level(0, 1, 3+k)
			}
			values[8][i] = parquet.Int64Value(c[5].Words[row]).Level(0, 1, 8)
			values[9][i] = parquet.ByteArrayValue(c[6].Bytes(row)).Level(0, 1, 9)
			values[10][i] = parquet.ByteArrayValue(c[7].Bytes(row)).Level(0, 1, 10)
			values[11][i] = parquet.Int64Value(c[8].Words[row]).Level(0, 1, 11)
			values[12][i] = parquet.Int64Value(c[9].Words[row]).Level(0, 1, 12)
			values[13][i] = parquet.BooleanValue(c[10].Words[row] == 1).Level(0, 1, 13)
			values[14][i] = parquet.DoubleValue(floatOf(c[11].Words[row], cellDouble)).Level(0, 1, 14)
		}
		for k, cw := range w.ColumnWriters() {
			if _, err := cw.WriteRowValues(values[k][:part.Len()]); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// handWriter is the floor: PLAIN pages by hand with zstd and no headers, statistics or footer; a dictionary for status.
type handWriter struct{ columns [orderLeaves][]byte }

func (h *handWriter) write(out io.Writer, e *zstd.Encoder, rows table.Rows) {
	le := binary.LittleEndian
	c := &h.columns
	for i := range c {
		c[i] = c[i][:0]
	}
	statuses := map[string]byte{}
	var bits byte
	for i, ref := range rows.Refs {
		b, row := rows.Batches[ref.Batch()], ref.Row()
		v := b.Columns
		c[0] = le.AppendUint64(c[0], uint64(v[0].Words[row]))
		c[1] = le.AppendUint64(c[1], uint64(rows.Seqs[i]))
		c[2] = le.AppendUint32(c[2], uint32(b.Kinds[row]))
		c[3] = le.AppendUint64(c[3], uint64(v[0].Words[row]))
		for k := 1; k <= 4; k++ {
			c[3+k] = le.AppendUint32(c[3+k], uint32(v[k].Words[row]))
		}
		c[8] = le.AppendUint64(c[8], uint64(v[5].Words[row]))
		text := v[6].Bytes(row)
		c[9] = append(le.AppendUint32(c[9], uint32(len(text))), text...)
		status := v[7].Bytes(row)
		x, ok := statuses[string(status)]
		if !ok {
			x = byte(len(statuses))
			statuses[string(status)] = x
		}
		c[10] = append(c[10], x)
		c[11] = le.AppendUint64(c[11], uint64(v[8].Words[row]))
		c[12] = le.AppendUint64(c[12], uint64(v[9].Words[row]))
		bits |= byte(v[10].Words[row]) << (i & 7)
		if i&7 == 7 {
			c[13], bits = append(c[13], bits), 0
		}
		c[14] = le.AppendUint64(c[14], uint64(v[11].Words[row]))
	}
	var z []byte
	for i := range c {
		z = e.EncodeAll(c[i], z[:0])
		_, _ = out.Write(z)
	}
}
