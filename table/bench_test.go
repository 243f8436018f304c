package table

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchmarkTable is a table like those of the performance tests: partitioned, with a key of two columns.
func benchmarkTable(b *testing.B) (*Schema, *Batch) {
	b.Helper()
	s := NewSchema(fieldsOf(b, "id", "BIGINT", "dt", "STRING", "amount", "DECIMAL(12, 2)", "name", "STRING", "at", "TIMESTAMP(6)"),
		[]string{"dt", "id"}, []string{"dt"}, map[string]string{"bucket": "8"})
	r := rand.New(rand.NewPCG(1, 1))
	rows := NewBatch(s.Fields)
	for range 8192 {
		rows.Columns[0].AppendWord(r.Int64())
		rows.Columns[1].AppendBytes(fmt.Appendf(nil, "2024-01-%02d", 1+r.IntN(4)))
		rows.Columns[2].AppendWord(r.Int64N(1e12))
		rows.Columns[3].AppendBytes(fmt.Appendf(nil, "customer-%d", r.IntN(1000)))
		rows.Columns[4].AppendWord(r.Int64N(1e15))
		rows.Kinds = append(rows.Kinds, Insert)
	}
	return s, rows
}

// perRow runs f for rows of the batch, over and over.
func perRow(b *testing.B, rows *Batch, f func(row int)) {
	b.Helper()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f(i & (rows.Len() - 1))
	}
}

func BenchmarkRoute(b *testing.B) {
	s, rows := benchmarkTable(b)
	r, err := NewRouter(s)
	if err != nil {
		b.Fatal(err)
	}
	perRow(b, rows, func(i int) {
		if _, err := r.Route(rows, i); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkKeyBigInt(b *testing.B) {
	s, rows := benchmarkTable(b)
	e := NewKeyEncoder(s.TypesOf([]int{0}), []int{0})
	var key []byte
	perRow(b, rows, func(i int) { key = e.Append(key[:0], rows, i) })
}

func BenchmarkKeyUint64(b *testing.B) {
	s, rows := benchmarkTable(b)
	e := NewKeyEncoder(s.TypesOf([]int{0}), []int{0})
	var sum uint64
	perRow(b, rows, func(i int) { sum += e.Uint64(rows, i) })
}

func BenchmarkKeyTwoColumns(b *testing.B) {
	s, rows := benchmarkTable(b)
	e := NewKeyEncoder(s.TypesOf([]int{3, 0}), []int{3, 0})
	var key []byte
	perRow(b, rows, func(i int) { key = e.Append(key[:0], rows, i) })
}

func BenchmarkRowEncoder(b *testing.B) {
	s, rows := benchmarkTable(b)
	e := NewRowEncoder(s.TypesOf(allColumns(5)), allColumns(5))
	var row []byte
	perRow(b, rows, func(i int) { row = e.Append(row[:0], rows, i) })
}

func BenchmarkStatsWords(b *testing.B) {
	s, rows := benchmarkTable(b)
	c := NewStatsCollector(s.Fields[0].Type, KeyStatsMode)
	b.SetBytes(8 * 8192)
	b.ReportAllocs()
	for b.Loop() {
		c.UpdateVector(&rows.Columns[0], 0, rows.Len())
	}
}

func BenchmarkStatsBytes(b *testing.B) {
	s, rows := benchmarkTable(b)
	c := NewStatsCollector(s.Fields[3].Type, KeyStatsMode)
	b.SetBytes(int64(len(rows.Columns[3].Data)))
	b.ReportAllocs()
	for b.Loop() {
		c.UpdateVector(&rows.Columns[3], 0, rows.Len())
	}
}

func BenchmarkDecimalText(b *testing.B) {
	for _, precision := range []int{18, 38} {
		b.Run(fmt.Sprint(precision), func(b *testing.B) {
			typ := Type{Root: Decimal, Precision: precision, Scale: 2}
			v := &Vector{Layout: typ.Layout()}
			text := []byte("1234567890.12")
			b.ReportAllocs()
			for b.Loop() {
				v.Truncate(0)
				if err := AppendDecimalText(v, &typ, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecimalBytes(b *testing.B) {
	typ := Type{Root: Decimal, Precision: 12, Scale: 2}
	v := &Vector{Layout: Words}
	unscaled := []byte{0x1c, 0xbe, 0x99, 0x1a, 0x14}
	b.ReportAllocs()
	for b.Loop() {
		v.Truncate(0)
		if err := AppendDecimalBytes(v, &typ, unscaled, 2); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonicalRow(b *testing.B) {
	s, rows := benchmarkTable(b)
	var line []byte
	perRow(b, rows, func(i int) { line = AppendCanonicalRow(line[:0], s.Fields, rows, i) })
}
