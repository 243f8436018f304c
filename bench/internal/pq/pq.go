// Package pq writes rows in Paimon's primary-key file layout (_KEY_id,
// _SEQUENCE_NUMBER, _VALUE_KIND, then the value columns) by several writers.
package pq

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unsafe"

	"sink/bench/internal/ev"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	acompress "github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/s2"
	kzstd "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/valyala/gozstd"
)

// KV is one record of a file: row, sequence number, row kind (0 +I, 1 -U, 2 +U, 3 -D).
type KV struct {
	Seq  int64
	Kind int8
	Row  *ev.Row
}

type Writer struct {
	Name string
	F    func(w io.Writer, rows []KV) error
}

type req struct {
	K        int64   `parquet:"_KEY_id"`
	Seq      int64   `parquet:"_SEQUENCE_NUMBER"`
	Kind     int32   `parquet:"_VALUE_KIND"`
	ID       int64   `parquet:"id"`
	Customer int32   `parquet:"customer_id"`
	Product  int32   `parquet:"product_id"`
	Quantity int32   `parquet:"quantity"`
	Whouse   int32   `parquet:"warehouse_id"`
	Amount   int64   `parquet:"amount,decimal(2:12)"`
	Desc     string  `parquet:"description"`
	Status   string  `parquet:"status,dict"`
	Created  int64   `parquet:"created_at,timestamp(microsecond:local)"`
	Updated  int64   `parquet:"updated_at,timestamp(microsecond)"`
	Active   bool    `parquet:"active"`
	Score    float64 `parquet:"score"`
}

type opt struct {
	K        int64    `parquet:"_KEY_id"`
	Seq      int64    `parquet:"_SEQUENCE_NUMBER"`
	Kind     int32    `parquet:"_VALUE_KIND"`
	ID       int64    `parquet:"id"`
	Customer *int32   `parquet:"customer_id"`
	Product  *int32   `parquet:"product_id"`
	Quantity *int32   `parquet:"quantity"`
	Whouse   *int32   `parquet:"warehouse_id"`
	Amount   *int64   `parquet:"amount,decimal(2:12)"`
	Desc     *string  `parquet:"description"`
	Status   *string  `parquet:"status,dict"`
	Created  *int64   `parquet:"created_at,timestamp(microsecond:local)"`
	Updated  *int64   `parquet:"updated_at,timestamp(microsecond)"`
	Active   *bool    `parquet:"active"`
	Score    *float64 `parquet:"score"`
}

func opts(c compress.Codec) []parquet.WriterOption {
	return []parquet.WriterOption{parquet.Compression(c), parquet.DataPageStatistics(false), parquet.PageBufferSize(1 << 20), parquet.WriteBufferSize(1 << 20), parquet.DataPageVersion(1)}
}

// generic typed struct, all columns required (not what Paimon needs: value columns are nullable).
func pgReq(c compress.Codec) func(io.Writer, []KV) error {
	buf := make([]req, 1024)
	w := parquet.NewGenericWriter[req](io.Discard, opts(c)...)
	return func(o io.Writer, rows []KV) error {
		w.Reset(o)
		for len(rows) > 0 {
			n := min(len(rows), len(buf))
			for i, kv := range rows[:n] {
				r := kv.Row
				buf[i] = req{r.ID, kv.Seq, int32(kv.Kind), r.ID, r.Customer, r.Product, r.Quantity, r.Whouse, r.Amount, r.Desc, r.Status, r.Created, r.Updated, r.Active, r.Score}
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return w.Close()
	}
}

func pgOpt(c compress.Codec) func(io.Writer, []KV) error {
	buf := make([]opt, 1024)
	w := parquet.NewGenericWriter[opt](io.Discard, opts(c)...)
	return func(o io.Writer, rows []KV) error {
		w.Reset(o)
		for len(rows) > 0 {
			n := min(len(rows), len(buf))
			for i, kv := range rows[:n] {
				r := kv.Row
				buf[i] = opt{r.ID, kv.Seq, int32(kv.Kind), r.ID, &r.Customer, &r.Product, &r.Quantity, &r.Whouse, &r.Amount, &r.Desc, &r.Status, &r.Created, &r.Updated, &r.Active, &r.Score}
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return w.Close()
	}
}

func b2v(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

func vals(v []parquet.Value, kv KV) {
	r := kv.Row
	v[0] = parquet.Int64Value(r.ID).Level(0, 0, 0)
	v[1] = parquet.Int64Value(kv.Seq).Level(0, 0, 1)
	v[2] = parquet.Int32Value(int32(kv.Kind)).Level(0, 0, 2)
	v[3] = parquet.Int64Value(r.ID).Level(0, 0, 3)
	v[4] = parquet.Int32Value(r.Customer).Level(0, 1, 4)
	v[5] = parquet.Int32Value(r.Product).Level(0, 1, 5)
	v[6] = parquet.Int32Value(r.Quantity).Level(0, 1, 6)
	v[7] = parquet.Int32Value(r.Whouse).Level(0, 1, 7)
	v[8] = parquet.Int64Value(r.Amount).Level(0, 1, 8)
	v[9] = b2v(r.Desc).Level(0, 1, 9)
	v[10] = b2v(r.Status).Level(0, 1, 10)
	v[11] = parquet.Int64Value(r.Created).Level(0, 1, 11)
	v[12] = parquet.Int64Value(r.Updated).Level(0, 1, 12)
	v[13] = parquet.BooleanValue(r.Active).Level(0, 1, 13)
	v[14] = parquet.DoubleValue(r.Score).Level(0, 1, 14)
}

func pgRows(c compress.Codec) func(io.Writer, []KV) error {
	const B = 1024
	arr := make([]parquet.Value, 15*B)
	rws := make([]parquet.Row, B)
	for i := range rws {
		rws[i] = arr[i*15 : i*15+15 : i*15+15]
	}
	w := parquet.NewWriter(io.Discard, append(opts(c), parquet.SchemaOf(new(opt)))...)
	return func(o io.Writer, rows []KV) error {
		w.Reset(o)
		for len(rows) > 0 {
			n := min(len(rows), B)
			for i, kv := range rows[:n] {
				vals(rws[i], kv)
			}
			if _, err := w.WriteRows(rws[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return w.Close()
	}
}

// column writers: values gathered per column, then WriteRowValues.
func pgCols(c compress.Codec) func(io.Writer, []KV) error {
	const B = 4096
	var colv [15][]parquet.Value
	for i := range colv {
		colv[i] = make([]parquet.Value, B)
	}
	w := parquet.NewGenericWriter[any](io.Discard, append(opts(c), parquet.SchemaOf(new(opt)))...)
	return func(o io.Writer, rows []KV) error {
		w.Reset(o)
		var v [15]parquet.Value
		for len(rows) > 0 {
			n := min(len(rows), B)
			for i, kv := range rows[:n] {
				vals(v[:], kv)
				for k := range v {
					colv[k][i] = v[k]
				}
			}
			for k, cw := range w.ColumnWriters() {
				if _, err := cw.WriteRowValues(colv[k][:n]); err != nil {
					return err
				}
			}
			rows = rows[n:]
		}
		return w.Close()
	}
}

// ---- arrow-go ----

func arrowSchema() *arrow.Schema {
	n := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	q := func(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }
	return arrow.NewSchema([]arrow.Field{q("_KEY_id", arrow.PrimitiveTypes.Int64), q("_SEQUENCE_NUMBER", arrow.PrimitiveTypes.Int64), q("_VALUE_KIND", arrow.PrimitiveTypes.Int8),
		q("id", arrow.PrimitiveTypes.Int64), n("customer_id", arrow.PrimitiveTypes.Int32), n("product_id", arrow.PrimitiveTypes.Int32), n("quantity", arrow.PrimitiveTypes.Int32), n("warehouse_id", arrow.PrimitiveTypes.Int32),
		n("amount", arrow.PrimitiveTypes.Int64), n("description", arrow.BinaryTypes.String), n("status", arrow.BinaryTypes.String),
		n("created_at", &arrow.TimestampType{Unit: arrow.Microsecond}), n("updated_at", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}), n("active", arrow.FixedWidthTypes.Boolean), n("score", arrow.PrimitiveTypes.Float64)}, nil)
}

func aprops(codec acompress.Compression, level int, dictAll bool) *apq.WriterProperties {
	p := []apq.WriterProperty{apq.WithCompression(codec), apq.WithDictionaryDefault(dictAll), apq.WithDictionaryFor("status", true), apq.WithDataPageSize(1 << 20)}
	if level > 0 {
		p = append(p, apq.WithCompressionLevel(level))
	}
	return apq.NewWriterProperties(p...)
}

func arrowRecord(codec acompress.Compression, level int, dictAll bool) func(io.Writer, []KV) error {
	sc := arrowSchema()
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	return func(o io.Writer, rows []KV) error {
		w, err := pqarrow.NewFileWriter(sc, o, aprops(codec, level, dictAll), pqarrow.DefaultWriterProps())
		if err != nil {
			return err
		}
		f := b.Fields()
		for len(rows) > 0 {
			n := min(len(rows), 16384)
			b.Reserve(n)
			for _, kv := range rows[:n] {
				r := kv.Row
				f[0].(*array.Int64Builder).UnsafeAppend(r.ID)
				f[1].(*array.Int64Builder).UnsafeAppend(kv.Seq)
				f[2].(*array.Int8Builder).UnsafeAppend(kv.Kind)
				f[3].(*array.Int64Builder).UnsafeAppend(r.ID)
				f[4].(*array.Int32Builder).UnsafeAppend(r.Customer)
				f[5].(*array.Int32Builder).UnsafeAppend(r.Product)
				f[6].(*array.Int32Builder).UnsafeAppend(r.Quantity)
				f[7].(*array.Int32Builder).UnsafeAppend(r.Whouse)
				f[8].(*array.Int64Builder).UnsafeAppend(r.Amount)
				f[9].(*array.StringBuilder).Append(r.Desc)
				f[10].(*array.StringBuilder).Append(r.Status)
				f[11].(*array.TimestampBuilder).UnsafeAppend(arrow.Timestamp(r.Created))
				f[12].(*array.TimestampBuilder).UnsafeAppend(arrow.Timestamp(r.Updated))
				f[13].(*array.BooleanBuilder).UnsafeAppend(r.Active)
				f[14].(*array.Float64Builder).UnsafeAppend(r.Score)
			}
			rec := b.NewRecordBatch()
			if err := w.WriteBuffered(rec); err != nil {
				return err
			}
			rec.Release()
			rows = rows[n:]
		}
		return w.Close()
	}
}

func parquetSchema() *schema.GroupNode {
	R, O := apq.Repetitions.Required, apq.Repetitions.Optional
	dec := func() schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical("amount", O, schema.NewDecimalLogicalType(12, 2), apq.Types.Int64, 0, -1))
	}
	str := func(n string) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(n, O, schema.StringLogicalType{}, apq.Types.ByteArray, 0, -1))
	}
	ts := func(n string, utc bool) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(n, O, schema.NewTimestampLogicalType(utc, schema.TimeUnitMicros), apq.Types.Int64, 0, -1))
	}
	return schema.MustGroup(schema.NewGroupNode("schema", R, schema.FieldList{
		schema.NewInt64Node("_KEY_id", R, -1), schema.NewInt64Node("_SEQUENCE_NUMBER", R, -1), schema.NewInt32Node("_VALUE_KIND", R, -1), schema.NewInt64Node("id", R, -1),
		schema.NewInt32Node("customer_id", O, -1), schema.NewInt32Node("product_id", O, -1), schema.NewInt32Node("quantity", O, -1), schema.NewInt32Node("warehouse_id", O, -1),
		dec(), str("description"), str("status"), ts("created_at", false), ts("updated_at", true), schema.NewBooleanNode("active", O, -1), schema.NewFloat64Node("score", O, -1)}, -1))
}

// arrow-go low level: typed column chunk writers fed with typed slices.
func arrowCols(codec acompress.Compression, level int, dictAll bool) func(io.Writer, []KV) error {
	root := parquetSchema()
	var i64 []int64
	var i32 []int32
	var f64 []float64
	var ba []apq.ByteArray
	var bo []bool
	var def []int16
	return func(o io.Writer, rows []KV) error {
		n := len(rows)
		if cap(i64) < n {
			i64, i32, f64, ba, bo, def = make([]int64, n), make([]int32, n), make([]float64, n), make([]apq.ByteArray, n), make([]bool, n), make([]int16, n)
			for i := range def {
				def[i] = 1
			}
		}
		i64, i32, f64, ba, bo = i64[:n], i32[:n], f64[:n], ba[:n], bo[:n]
		w := file.NewParquetWriter(o, root, file.WithWriterProps(aprops(codec, level, dictAll)))
		rg := w.AppendRowGroup()
		for c := 0; c < 15; c++ {
			cw, err := rg.NextColumn()
			if err != nil {
				return err
			}
			d := def[:n]
			if c < 4 {
				d = nil
			}
			switch cw := cw.(type) {
			case *file.Int64ColumnChunkWriter:
				for i := range rows {
					r := rows[i].Row
					switch c {
					case 0, 3:
						i64[i] = r.ID
					case 1:
						i64[i] = rows[i].Seq
					case 8:
						i64[i] = r.Amount
					case 11:
						i64[i] = r.Created
					case 12:
						i64[i] = r.Updated
					}
				}
				_, err = cw.WriteBatch(i64, d, nil)
			case *file.Int32ColumnChunkWriter:
				for i := range rows {
					r := rows[i].Row
					switch c {
					case 2:
						i32[i] = int32(rows[i].Kind)
					case 4:
						i32[i] = r.Customer
					case 5:
						i32[i] = r.Product
					case 6:
						i32[i] = r.Quantity
					case 7:
						i32[i] = r.Whouse
					}
				}
				_, err = cw.WriteBatch(i32, d, nil)
			case *file.ByteArrayColumnChunkWriter:
				for i := range rows {
					s := rows[i].Row.Desc
					if c == 10 {
						s = rows[i].Row.Status
					}
					ba[i] = unsafe.Slice(unsafe.StringData(s), len(s))
				}
				_, err = cw.WriteBatch(ba, d, nil)
			case *file.BooleanColumnChunkWriter:
				for i := range rows {
					bo[i] = rows[i].Row.Active
				}
				_, err = cw.WriteBatch(bo, d, nil)
			case *file.Float64ColumnChunkWriter:
				for i := range rows {
					f64[i] = rows[i].Row.Score
				}
				_, err = cw.WriteBatch(f64, d, nil)
			default:
				err = fmt.Errorf("column %d: %T", c, cw)
			}
			if err != nil {
				return err
			}
			if err := cw.Close(); err != nil {
				return err
			}
		}
		if err := rg.Close(); err != nil {
			return err
		}
		return w.Close()
	}
}

// ---- hand-rolled floor: PLAIN pages (status by dictionary) and compression; page
// and footer thrift (some hundred bytes a file) left out. ----

func hand(comp func(dst, src []byte) []byte) func(io.Writer, []KV) error {
	var b, z []byte
	return func(o io.Writer, rows []KV) error {
		for c := 0; c < 15; c++ {
			b = b[:0]
			if c >= 4 { // definition levels: one RLE run, plus min/max as a writer would
				b = binary.LittleEndian.AppendUint32(b, 4)
				b = binary.AppendUvarint(b, uint64(len(rows))<<1)
				b = append(b, 1)
			}
			switch c {
			case 0, 3:
				b = i64col(b, rows, func(k *KV) int64 { return k.Row.ID })
			case 1:
				b = i64col(b, rows, func(k *KV) int64 { return k.Seq })
			case 2:
				b = i32col(b, rows, func(k *KV) int32 { return int32(k.Kind) })
			case 4:
				b = i32col(b, rows, func(k *KV) int32 { return k.Row.Customer })
			case 5:
				b = i32col(b, rows, func(k *KV) int32 { return k.Row.Product })
			case 6:
				b = i32col(b, rows, func(k *KV) int32 { return k.Row.Quantity })
			case 7:
				b = i32col(b, rows, func(k *KV) int32 { return k.Row.Whouse })
			case 8:
				b = i64col(b, rows, func(k *KV) int64 { return k.Row.Amount })
			case 9:
				for i := range rows {
					s := rows[i].Row.Desc
					b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
					b = append(b, s...)
				}
			case 10:
				m := map[string]int{}
				var acc uint32
				var nb uint
				b = append(b, 3)
				for i := range rows {
					s := rows[i].Row.Status
					x, ok := m[s]
					if !ok {
						x = len(m)
						m[s] = x
					}
					acc |= uint32(x) << nb
					nb += 3
					for nb >= 8 {
						b = append(b, byte(acc))
						acc >>= 8
						nb -= 8
					}
				}
				b = append(b, byte(acc))
			case 11:
				b = i64col(b, rows, func(k *KV) int64 { return k.Row.Created })
			case 12:
				b = i64col(b, rows, func(k *KV) int64 { return k.Row.Updated })
			case 13:
				var acc byte
				for i := range rows {
					if rows[i].Row.Active {
						acc |= 1 << (i & 7)
					}
					if i&7 == 7 {
						b = append(b, acc)
						acc = 0
					}
				}
				b = append(b, acc)
			case 14:
				b = i64col(b, rows, func(k *KV) int64 { return int64(math.Float64bits(k.Row.Score)) })
			}
			if comp == nil {
				if _, err := o.Write(b); err != nil {
					return err
				}
				continue
			}
			z = comp(z[:0], b)
			if _, err := o.Write(z); err != nil {
				return err
			}
		}
		return nil
	}
}

// handOnePass fills all column buffers in one pass over the rows: each row's cache
// lines are touched once, where hand and arrowCols touch them once per column.
func handOnePass(comp func(dst, src []byte) []byte) func(io.Writer, []KV) error {
	var c [15][]byte
	var z []byte
	le := binary.LittleEndian
	return func(o io.Writer, rows []KV) error {
		for i := range c {
			c[i] = c[i][:0]
		}
		var bit byte
		m := map[string]byte{}
		for i := range rows {
			kv := &rows[i]
			r := kv.Row
			c[0] = le.AppendUint64(c[0], uint64(r.ID))
			c[1] = le.AppendUint64(c[1], uint64(kv.Seq))
			c[2] = le.AppendUint32(c[2], uint32(kv.Kind))
			c[3] = le.AppendUint64(c[3], uint64(r.ID))
			c[4] = le.AppendUint32(c[4], uint32(r.Customer))
			c[5] = le.AppendUint32(c[5], uint32(r.Product))
			c[6] = le.AppendUint32(c[6], uint32(r.Quantity))
			c[7] = le.AppendUint32(c[7], uint32(r.Whouse))
			c[8] = le.AppendUint64(c[8], uint64(r.Amount))
			c[9] = append(le.AppendUint32(c[9], uint32(len(r.Desc))), r.Desc...)
			x, ok := m[r.Status]
			if !ok {
				x = byte(len(m))
				m[r.Status] = x
			}
			c[10] = append(c[10], x)
			c[11] = le.AppendUint64(c[11], uint64(r.Created))
			c[12] = le.AppendUint64(c[12], uint64(r.Updated))
			if r.Active {
				bit |= 1 << (i & 7)
			}
			if i&7 == 7 {
				c[13] = append(c[13], bit)
				bit = 0
			}
			c[14] = le.AppendUint64(c[14], math.Float64bits(r.Score))
		}
		for i := range c {
			z = c[i]
			if comp != nil {
				z = comp(nil, c[i])
			}
			if _, err := o.Write(z); err != nil {
				return err
			}
		}
		return nil
	}
}

func i64col(b []byte, rows []KV, f func(*KV) int64) []byte {
	mn, mx := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range rows {
		v := f(&rows[i])
		mn, mx = min(mn, v), max(mx, v)
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	_ = mn + mx
	return b
}

func i32col(b []byte, rows []KV, f func(*KV) int32) []byte {
	mn, mx := int32(math.MaxInt32), int32(math.MinInt32)
	for i := range rows {
		v := f(&rows[i])
		mn, mx = min(mn, v), max(mx, v)
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	_ = mn + mx
	return b
}

func kz(l kzstd.EncoderLevel) func(d, s []byte) []byte {
	e, _ := kzstd.NewWriter(nil, kzstd.WithEncoderLevel(l), kzstd.WithEncoderConcurrency(1))
	return func(d, s []byte) []byte { return e.EncodeAll(s, d) }
}

// Cols is a struct-of-arrays batch; Desc strings live in Arena.
type Cols struct {
	ID, Seq, Amount, Created, Updated    []int64
	Kind, Customer, Product, Quantity, W []int32
	Off                                  []uint32 // len+1
	Arena                                []byte
	Status                               []string
	Active                               []bool
	Score                                []float64
}

func (c *Cols) Reset() {
	c.ID, c.Seq, c.Amount, c.Created, c.Updated = c.ID[:0], c.Seq[:0], c.Amount[:0], c.Created[:0], c.Updated[:0]
	c.Kind, c.Customer, c.Product, c.Quantity, c.W = c.Kind[:0], c.Customer[:0], c.Product[:0], c.Quantity[:0], c.W[:0]
	c.Off, c.Arena, c.Status, c.Active, c.Score = append(c.Off[:0], 0), c.Arena[:0], c.Status[:0], c.Active[:0], c.Score[:0]
}

// Add copies one row in; status is interned so that the input can be released.
func (c *Cols) Add(seq int64, kind int8, r *ev.Row, intern map[string]string) {
	st, ok := intern[r.Status]
	if !ok {
		st = string(append([]byte(nil), r.Status...))
		intern[st] = st
	}
	c.ID, c.Seq, c.Amount, c.Created, c.Updated = append(c.ID, r.ID), append(c.Seq, seq), append(c.Amount, r.Amount), append(c.Created, r.Created), append(c.Updated, r.Updated)
	c.Kind, c.Customer, c.Product, c.Quantity, c.W = append(c.Kind, int32(kind)), append(c.Customer, r.Customer), append(c.Product, r.Product), append(c.Quantity, r.Quantity), append(c.W, r.Whouse)
	c.Arena = append(c.Arena, r.Desc...)
	c.Off = append(c.Off, uint32(len(c.Arena)))
	c.Status, c.Active, c.Score = append(c.Status, st), append(c.Active, r.Active), append(c.Score, r.Score)
}

// ColsWriter writes the rows idx of a batch through arrow-go's typed column writers.
type ColsWriter struct {
	root  *schema.GroupNode
	props *apq.WriterProperties
	i64   []int64
	i32   []int32
	f64   []float64
	ba    []apq.ByteArray
	bo    []bool
	def   []int16
}

func NewColsWriter(level int) *ColsWriter {
	return &ColsWriter{root: parquetSchema(), props: aprops(acompress.Codecs.Zstd, level, false)}
}

func gather[T any](d *[]T, s []T, idx []int32) []T {
	if cap(*d) < len(idx) {
		*d = make([]T, len(idx)+len(idx)/4)
	}
	o := (*d)[:len(idx)]
	for i, j := range idx {
		o[i] = s[j]
	}
	return o
}

func (x *ColsWriter) Write(o io.Writer, c *Cols, idx []int32) error {
	if len(x.def) < len(idx) {
		x.def = make([]int16, len(idx)+len(idx)/4)
		for i := range x.def {
			x.def[i] = 1
		}
	}
	w := file.NewParquetWriter(o, x.root, file.WithWriterProps(x.props))
	rg := w.AppendRowGroup()
	i64s := [15][]int64{0: c.ID, 1: c.Seq, 3: c.ID, 8: c.Amount, 11: c.Created, 12: c.Updated}
	i32s := [15][]int32{2: c.Kind, 4: c.Customer, 5: c.Product, 6: c.Quantity, 7: c.W}
	for k := 0; k < 15; k++ {
		cw, err := rg.NextColumn()
		if err != nil {
			return err
		}
		var d []int16
		if k >= 4 {
			d = x.def[:len(idx)]
		}
		switch cw := cw.(type) {
		case *file.Int64ColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&x.i64, i64s[k], idx), d, nil)
		case *file.Int32ColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&x.i32, i32s[k], idx), d, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&x.f64, c.Score, idx), d, nil)
		case *file.BooleanColumnChunkWriter:
			_, err = cw.WriteBatch(gather(&x.bo, c.Active, idx), d, nil)
		case *file.ByteArrayColumnChunkWriter:
			if cap(x.ba) < len(idx) {
				x.ba = make([]apq.ByteArray, len(idx)+len(idx)/4)
			}
			b := x.ba[:len(idx)]
			for i, j := range idx {
				if k == 9 {
					b[i] = c.Arena[c.Off[j]:c.Off[j+1]]
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
	if err := rg.Close(); err != nil {
		return err
	}
	return w.Close()
}

// soa converts to a Cols batch outside of the timing and writes it.
func soa(level int) func(io.Writer, []KV) error {
	x := NewColsWriter(level)
	type in struct {
		c   *Cols
		idx []int32
	}
	cache := map[*KV]in{}
	return func(o io.Writer, rows []KV) error {
		v, ok := cache[&rows[0]]
		if !ok {
			v.c = &Cols{}
			v.c.Reset()
			m := map[string]string{}
			for i := range rows { // store in arrival order, read back through the sorted index
				j := (i * 7919) % len(rows)
				v.c.Add(rows[j].Seq, rows[j].Kind, rows[j].Row, m)
			}
			v.idx = make([]int32, len(rows))
			for i := range rows {
				v.idx[(i*7919)%len(rows)] = int32(i)
			}
			cache[&rows[0]] = v
		}
		return x.Write(o, v.c, v.idx)
	}
}

func Writers() []Writer {
	z1, z3, sn := &zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}, &zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}, &snappy.Codec{}
	return []Writer{
		{"parquet-go struct required zstd1", pgReq(z1)},
		{"parquet-go struct nullable zstd1", pgOpt(z1)},
		{"parquet-go struct nullable zstd3", pgOpt(z3)},
		{"parquet-go struct nullable snappy", pgOpt(sn)},
		{"parquet-go WriteRows zstd1", pgRows(z1)},
		{"parquet-go column writers zstd1", pgCols(z1)},
		{"parquet-go column writers snappy", pgCols(sn)},
		{"parquet-go column writers none", pgCols(&parquet.Uncompressed)},
		{"arrow-go record zstd1", arrowRecord(acompress.Codecs.Zstd, 1, false)},
		{"arrow-go typed columns zstd1", arrowCols(acompress.Codecs.Zstd, 1, false)},
		{"arrow-go typed columns from SoA zstd1", soa(1)},
		{"arrow-go typed columns zstd1 dict-all", arrowCols(acompress.Codecs.Zstd, 1, true)},
		{"arrow-go typed columns zstd3", arrowCols(acompress.Codecs.Zstd, 3, false)},
		{"arrow-go typed columns snappy", arrowCols(acompress.Codecs.Snappy, 0, false)},
		{"arrow-go typed columns none", arrowCols(acompress.Codecs.Uncompressed, 0, false)},
		{"hand plain none", hand(nil)},
		{"hand plain zstd1 (klauspost)", hand(kz(kzstd.SpeedFastest))},
		{"hand plain zstd3 (klauspost)", hand(kz(kzstd.SpeedDefault))},
		{"hand plain zstd1 (cgo)", hand(func(d, s []byte) []byte { return gozstd.CompressLevel(d, s, 1) })},
		{"hand one-pass none", handOnePass(nil)},
		{"hand one-pass zstd1 (klauspost)", handOnePass(kz(kzstd.SpeedFastest))},
		{"hand one-pass zstd1 (cgo)", handOnePass(func(d, s []byte) []byte { return gozstd.CompressLevel(d, s, 1) })},
		{"hand one-pass snappy (s2)", handOnePass(func(d, s []byte) []byte { return s2.EncodeSnappy(d, s) })},
		{"hand plain snappy (s2)", hand(func(d, s []byte) []byte { return s2.EncodeSnappy(d[:cap(d)], s) })},
	}
}
