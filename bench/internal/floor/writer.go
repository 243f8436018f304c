package floor

import (
	"io"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Writer writes rows in the layout of Paimon's primary-key files, through arrow-go's typed column writers.
type Writer struct {
	root  *schema.GroupNode
	props *parquet.WriterProperties
	i64   []int64
	i32   []int32
	f64   []float64
	ba    []parquet.ByteArray
	bo    []bool
	def   []int16
}

// NewWriter returns a writer that compresses with zstd at a level; 0 is none.
func NewWriter(level int) *Writer {
	props := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithDictionaryFor("status", true), parquet.WithDataPageSize(1 << 20)}
	if level > 0 {
		props = append(props, parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(level))
	}
	return &Writer{root: writerSchema(), props: parquet.NewWriterProperties(props...)}
}

func writerSchema() *schema.GroupNode {
	R, O := parquet.Repetitions.Required, parquet.Repetitions.Optional
	dec := func() schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical("amount", O, schema.NewDecimalLogicalType(12, 2), parquet.Types.Int64, 0, -1))
	}
	str := func(n string) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(n, O, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1))
	}
	ts := func(n string, utc bool) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(n, O, schema.NewTimestampLogicalType(utc, schema.TimeUnitMicros), parquet.Types.Int64, 0, -1))
	}
	return schema.MustGroup(schema.NewGroupNode("schema", R, schema.FieldList{
		schema.NewInt64Node("_KEY_id", R, -1), schema.NewInt64Node("_SEQUENCE_NUMBER", R, -1), schema.NewInt32Node("_VALUE_KIND", R, -1), schema.NewInt64Node("id", R, -1),
		schema.NewInt32Node("customer_id", O, -1), schema.NewInt32Node("product_id", O, -1), schema.NewInt32Node("quantity", O, -1), schema.NewInt32Node("warehouse_id", O, -1),
		dec(), str("description"), str("status"), ts("created_at", false), ts("updated_at", true), schema.NewBooleanNode("active", O, -1), schema.NewFloat64Node("score", O, -1)}, -1))
}

// gather picks the values of rows, into memory that is used again.
func gather[T any](memory *[]T, values []T, rows []int32) []T {
	if cap(*memory) < len(rows) {
		*memory = make([]T, len(rows)+len(rows)/4)
	}
	out := (*memory)[:len(rows)]
	for i, row := range rows {
		out[i] = values[row]
	}
	return out
}

// Write writes some rows, in the order given.
func (w *Writer) Write(o io.Writer, c *Columns, rows []int32) error {
	if len(w.def) < len(rows) {
		w.def = make([]int16, len(rows)+len(rows)/4)
		for i := range w.def {
			w.def[i] = 1
		}
	}
	f := file.NewParquetWriter(o, w.root, file.WithWriterProps(w.props))
	group, err := f.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	i64s := [15][]int64{0: c.IDs, 1: c.Seqs, 3: c.IDs, 8: c.Cents, 11: c.Created, 12: c.Updated}
	i32s := [15][]int32{2: c.Kinds, 4: c.Customers, 5: c.Products, 6: c.Quantities, 7: c.Region}
	for k := 0; k < 15; k++ {
		cw, err := group.NextColumn()
		if err != nil {
			return err
		}
		var d []int16
		if k >= 4 {
			d = w.def[:len(rows)]
		}
		switch cw := cw.(type) {
		case *file.Int64ColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&w.i64, i64s[k], rows), d, nil)
		case *file.Int32ColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&w.i32, i32s[k], rows), d, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&w.f64, c.Scores, rows), d, nil)
		case *file.BooleanColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&w.bo, c.Active, rows), d, nil)
		case *file.ByteArrayColumnChunkWriter:
			if cap(w.ba) < len(rows) {
				w.ba = make([]parquet.ByteArray, len(rows)+len(rows)/4)
			}
			b := w.ba[:len(rows)]
			for i, j := range rows {
				if k == 9 {
					b[i] = c.Descriptions[c.Ends[j]:c.Ends[j+1]]
				} else {
					b[i] = unsafe.Slice(unsafe.StringData(c.Status[j]), len(c.Status[j]))
				}
			}
			_, err = cw.WriteBatch(b, d, nil)
		}
		if err != nil {
			return err
		}
		if err := cw.Close(); err != nil {
			return err
		}
	}
	if err := group.Close(); err != nil {
		return err
	}
	return f.Close()
}
