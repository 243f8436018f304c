package datafile

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// allTypes are columns of every type, nullable ones and some that are NOT NULL.
func allTypes() []table.Field {
	i := table.Type{Root: table.Int}
	types := []table.Type{
		{Root: table.Boolean}, {Root: table.TinyInt}, {Root: table.SmallInt}, {Root: table.Int}, {Root: table.BigInt},
		{Root: table.Float}, {Root: table.Double},
		{Root: table.Decimal, Precision: 5, Scale: 2}, {Root: table.Decimal, Precision: 9}, {Root: table.Decimal, Precision: 18, Scale: 4},
		{Root: table.Decimal, Precision: 20, Scale: 2}, {Root: table.Decimal, Precision: 38, Scale: 10},
		{Root: table.Char, Length: 5}, {Root: table.VarChar, Length: 20}, str(),
		{Root: table.Binary, Length: 4}, {Root: table.VarBinary, Length: 10}, {Root: table.VarBinary, Length: table.MaxLength},
		{Root: table.Date}, {Root: table.Time}, {Root: table.Time, Precision: 3},
		{Root: table.Timestamp}, {Root: table.Timestamp, Precision: 3}, {Root: table.Timestamp, Precision: 6}, {Root: table.Timestamp, Precision: 9},
		{Root: table.LocalTimestamp}, {Root: table.LocalTimestamp, Precision: 3}, {Root: table.LocalTimestamp, Precision: 6},
		{Root: table.LocalTimestamp, Precision: 7},
		{Root: table.Int, NotNull: true}, {Root: table.VarChar, Length: table.MaxLength, NotNull: true}, {Root: table.Boolean, NotNull: true},
	}
	text, notNull := str(), str()
	notNull.NotNull = true
	row := table.Type{Root: table.RowType, Fields: []table.Field{
		{Name: "a", Type: i}, {Name: "b", Type: table.Type{Root: table.Array, Element: &table.Type{Root: table.Timestamp, Precision: 6}}},
		{Name: "c", Type: table.Type{Root: table.RowType, Fields: []table.Field{{Name: "d", Type: text}}}},
		{Name: "e", Type: table.Type{Root: table.Decimal, Precision: 20, Scale: 2}},
	}}
	list := table.Type{Root: table.Array, Element: &table.Type{Root: table.BigInt}}
	nested := []table.Type{
		{Root: table.Array, Element: &i}, {Root: table.Array, Element: &notNull}, {Root: table.Array, Element: &list},
		{Root: table.Map, Key: &notNull, Element: &i}, {Root: table.Map, Key: &table.Type{Root: table.Int, NotNull: true}, Element: &row},
		{Root: table.Multiset, Element: &notNull}, row, {Root: table.Array, Element: &row},
		{Root: table.Array, Element: &table.Type{Root: table.Timestamp, Precision: 9}},
		{Root: table.Array, Element: &table.Type{Root: table.Boolean}},
	}
	fields := []table.Field{{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}}}
	for n, t := range append(types, nested...) {
		fields = append(fields, table.Field{Name: fmt.Sprintf("c%02d_%s", n, t.Root), Type: t})
	}
	return fields
}

// shape is how the values of a column are spread.
type shape int

const (
	wide     shape = iota // over the whole range, with its ends
	narrow                // a small range
	few                   // few distinct values
	constant              // one value
	rising                // each above the one before
	sparse                // nearly all null
	shapes
)

// randomValues makes values of a column in one shape.
type randomValues struct {
	r     *rand.Rand
	shape shape
	n     int64
}

func (v *randomValues) int(lo, hi int64) int64 {
	v.n++
	span := uint64(hi) - uint64(lo)
	at := func(n uint64) int64 {
		if span == math.MaxUint64 {
			return lo + int64(n)
		}
		return int64(uint64(lo) + n%(span+1))
	}
	middle := span / 2
	switch v.shape {
	case narrow:
		return at(middle + v.r.Uint64N(100))
	case few:
		return at(v.r.Uint64N(7) * (span / 7))
	case constant:
		return at(middle)
	case rising:
		return at(middle + uint64(v.n))
	}
	switch v.r.IntN(10) {
	case 0:
		return lo
	case 1:
		return hi
	case 2:
		return at(middle)
	}
	return at(v.r.Uint64())
}

func (v *randomValues) bytes(most int, text bool) []byte {
	alphabet := []string{"a", "b", "z", " ", "é", "日", "\U0001f600", "\x00"}
	if !text {
		alphabet = []string{"\x00", "\x01", "\x7f", "\x80", "\xff"}
	}
	switch v.shape {
	case few:
		s := []string{"", "NEW", "PAID", "X"}[v.r.IntN(4)]
		return []byte(s[:min(most, len(s))])
	case constant:
		return []byte("same")[:min(most, 4)]
	}
	n := v.r.IntN(min(most, 40) + 1)
	if v.r.IntN(50) == 0 {
		n = min(most, 300)
	}
	var b []byte
	for range n {
		c := alphabet[v.r.IntN(len(alphabet))]
		if len(b)+len(c) > n {
			break
		}
		b = append(b, c...)
	}
	return b
}

// word returns a value of layout Words.
func (v *randomValues) word(t table.Type) int64 {
	switch t.Root {
	case table.Boolean:
		return v.int(0, 1)
	case table.TinyInt:
		return v.int(math.MinInt8, math.MaxInt8)
	case table.SmallInt:
		return v.int(math.MinInt16, math.MaxInt16)
	case table.Int:
		return v.int(math.MinInt32, math.MaxInt32)
	case table.Float, table.Double:
		k := physicalOf(t).kind
		if v.shape == wide && v.r.IntN(100) == 0 {
			return wordOf([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0}[v.r.IntN(5)], k)
		}
		return wordOf(float64(v.int(-1<<40, 1<<40))/64, k)
	case table.Decimal:
		limit := int64(math.Pow10(t.Precision)) - 1
		return v.int(-limit, limit)
	case table.Date:
		return v.int(-719162, 2932896)
	case table.Time:
		return v.int(0, millisPerDay-1)
	case table.Timestamp, table.LocalTimestamp:
		if t.Precision <= 3 {
			return v.int(-62135596800, 253402300799) * 1000
		}
		return v.int(-62135596800000000, 253402300799999999)
	}
	return v.int(math.MinInt64, math.MaxInt64)
}

// cell returns a value of layout Bytes that is not nested.
func (v *randomValues) cell(t table.Type) []byte {
	switch t.Root {
	case table.Decimal:
		b := make([]byte, 16)
		hi := v.int(-1, 0)
		binary.BigEndian.PutUint64(b, uint64(hi))
		lo := v.int(0, 1<<62)
		if t.Precision > 30 {
			binary.BigEndian.PutUint64(b, uint64(v.int(-1<<60, 1<<60)))
		}
		if hi < 0 {
			lo = -lo - 1
		}
		binary.BigEndian.PutUint64(b[8:], uint64(lo))
		return b
	case table.Timestamp, table.LocalTimestamp:
		step := int64(1)
		for range 9 - t.Precision {
			step *= 10
		}
		return table.AppendNanoTimestamp(nil, v.int(-62135596800000, 253402300799999), int32(v.r.Int64N(nanosPerMilli/step)*step))
	case table.Char, table.VarChar:
		return v.bytes(t.Length, true)
	case table.Binary:
		b := v.bytes(t.Length, false)
		return append(b, make([]byte, t.Length-len(b))...)
	}
	return v.bytes(t.Length, false)
}

// appendNested appends a value with its mark.
func (v *randomValues) appendNested(dst []byte, t table.Type) []byte {
	if !t.NotNull && v.r.IntN(5) == 0 {
		return table.AppendNestedNull(dst)
	}
	switch {
	case t.Nested():
		return v.nested(table.OpenNested(dst), t)
	case t.Layout() == table.Words:
		return table.AppendNestedWord(dst, v.word(t))
	}
	return table.AppendNestedBytes(dst, v.cell(t))
}

func (v *randomValues) nested(dst []byte, t table.Type) []byte {
	if t.Root == table.RowType {
		for _, f := range t.Fields {
			dst = v.appendNested(dst, f.Type)
		}
		return dst
	}
	for i := range v.r.IntN(4) {
		key := *t.Element
		if t.Root == table.Map {
			key = *t.Key
		}
		if t.Root != table.Array { // keys differ
			if key.NotNull = true; key.Layout() == table.Words {
				dst = table.AppendNestedWord(dst, int64(i))
			} else {
				dst = table.AppendNestedBytes(dst, fmt.Appendf(nil, "k%d", i))
			}
		}
		switch t.Root {
		case table.Map, table.Array:
			dst = v.appendNested(dst, *t.Element)
		case table.Multiset:
			dst = table.AppendNestedWord(dst, 1+v.r.Int64N(3))
		}
	}
	return table.EndNested(dst)
}

// appendRandom appends n cells to a vector.
func appendRandom(out *table.Vector, t table.Type, v *randomValues, n int) {
	for i := range n {
		null := v.r.IntN(10) == 0 || v.shape == sparse && i%1000 != 999
		switch {
		case null && !t.NotNull:
			out.AppendNull()
		case t.Nested():
			out.Data = v.nested(out.Data, t)
			out.EndCell()
		case t.Layout() == table.Words:
			out.AppendWord(v.word(t))
		default:
			out.AppendBytes(v.cell(t))
		}
	}
}

// randomRows returns n rows with rising keys in the first column, in batches of up to the given rows.
func randomRows(r *rand.Rand, fields []table.Field, n, batch int) table.Rows {
	var rows table.Rows
	columns := make([]*randomValues, len(fields))
	for i := range columns {
		columns[i] = &randomValues{r: r, shape: shape(r.IntN(int(shapes)))}
	}
	columns[0].shape = rising
	for done := 0; done < n; {
		k := min(batch, n-done)
		b := table.NewBatch(fields)
		for i, f := range fields {
			appendRandom(&b.Columns[i], f.Type, columns[i], k)
		}
		for range k {
			rows.Refs = append(rows.Refs, table.MakeRef(len(rows.Batches), len(b.Kinds)))
			rows.Seqs = append(rows.Seqs, r.Int64N(1<<40))
			b.Kinds = append(b.Kinds, table.Kind(r.IntN(4)))
		}
		rows.Batches = append(rows.Batches, b)
		done += k
	}
	return rows
}

// newRand returns a source of random numbers and logs its seed; SEED in the environment sets it.
func newRand(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func checkRandom(t *testing.T, rows table.Rows, fields []table.Field) {
	for _, b := range rows.Batches {
		for i, f := range fields {
			require.Equal(t, b.Len(), b.Columns[i].Len())
			if f.Type.Nested() {
				for row := range b.Len() {
					if !b.Columns[i].IsNull(row) {
						require.NoError(t, table.CheckNested(b.Columns[i].Bytes(row), f.Type))
					}
				}
			}
		}
	}
}
