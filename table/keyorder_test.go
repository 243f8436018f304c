package table

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keyTypes are the types that a key may have.
var keyTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(18, 4)", "DECIMAL(38, 10)",
	"CHAR(3)", "STRING", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
}

func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// appendRandom appends a value that is likely to be near another one.
func appendRandom(r *rand.Rand, v *Vector, t *Type) {
	small := []int64{0, 1, -1, 2, -2, 127, -128, 255, 256}
	w := small[r.IntN(len(small))]
	if r.IntN(3) == 0 {
		w = int64(r.Uint64()) >> r.IntN(64)
	}
	switch t.Root {
	case Boolean:
		v.AppendWord(w & 1)
	case TinyInt, SmallInt:
		v.AppendWord(narrow(w, t.Root))
	case Int, Date:
		v.AppendWord(narrow(w, Int))
	case BigInt:
		v.AppendWord(w)
	case Time:
		v.AppendWord(int64(uint64(w) % millisPerDay))
	case Float:
		v.AppendWord(int64(math.Float32bits(randomFloat32(r))))
	case Double:
		v.AppendWord(int64(math.Float64bits(float64(randomFloat32(r)))))
	case Decimal:
		limit := int64(powers[min(t.Precision, maxShortPrecision)].lo)
		if AppendDecimalInt(v, t, w%limit, t.Scale) != nil {
			panic("decimal")
		}
	case Char, VarChar, Binary, VarBinary:
		b := make([]byte, r.IntN(4))
		for i := range b {
			b[i] = []byte{0, 1, 'a', 0xff}[r.IntN(4)]
		}
		v.AppendBytes(b)
	case Timestamp, LocalTimestamp:
		if v.Layout == Words {
			v.AppendWord(w)
			return
		}
		v.AppendBytes(AppendNanoTimestamp(nil, w, int32(r.IntN(3))))
	}
}

func randomFloat32(r *rand.Rand) float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	if i := r.IntN(2 * len(special)); i < len(special) {
		return special[i]
	}
	return r.Float32() - 0.5
}

// compareCells is Paimon's order of two cells, told in the plainest way.
func compareCells(t *Type, v *Vector, i, j int) int {
	switch {
	case v.IsNull(i) || v.IsNull(j):
		if v.IsNull(i) && v.IsNull(j) {
			return 0
		}
		if v.IsNull(i) {
			return -1
		}
		return 1
	case isFloat(t.Root):
		a, b := floatOf(t, v.Words[i]), floatOf(t, v.Words[j])
		switch {
		case a != a || b != b:
			return cmp.Compare(bit(a != a), bit(b != b))
		case a == 0 && b == 0:
			return cmp.Compare(bit(!math.Signbit(a)), bit(!math.Signbit(b)))
		}
		return cmp.Compare(a, b)
	case t.Root == Decimal && v.Layout == Bytes:
		a, _ := bigDecimal(&Type{Root: Decimal, Precision: t.Precision, Scale: 0}, v, i)
		b, _ := bigDecimal(&Type{Root: Decimal, Precision: t.Precision, Scale: 0}, v, j)
		_, sa := bigDecimal(t, v, i)
		_, sb := bigDecimal(t, v, j)
		return scaled(a, sa).Cmp(scaled(b, sb))
	case isTimestamp(t.Root) && v.Layout == Bytes:
		am, an := SplitNanoTimestamp(v.Bytes(i))
		bm, bn := SplitNanoTimestamp(v.Bytes(j))
		return cmp.Or(cmp.Compare(am, bm), cmp.Compare(an, bn))
	case v.Layout == Bytes:
		return bytes.Compare(v.Bytes(i), v.Bytes(j))
	}
	return cmp.Compare(v.Words[i], v.Words[j])
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func scaled(n *big.Int, scale int) *big.Rat {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	if scale < 0 {
		return new(big.Rat).SetInt(n.Mul(n, ten))
	}
	return new(big.Rat).SetFrac(n, ten)
}

func TestKeyOrder(t *testing.T) {
	r := seeded(t)
	for range 400 {
		types := make([]Type, 1+r.IntN(3))
		b := &Batch{Columns: make([]Vector, len(types))}
		for c := range types {
			types[c] = mustType(t, keyTypes[r.IntN(len(keyTypes))])
			types[c].NotNull = r.IntN(2) == 0
			b.Columns[c].Layout = types[c].Layout()
			for range 24 {
				if !types[c].NotNull && r.IntN(4) == 0 {
					b.Columns[c].AppendNull()
				} else {
					appendRandom(r, &b.Columns[c], &types[c])
				}
			}
		}
		e := NewKeyEncoder(types, allColumns(len(types)))
		keys := make([][]byte, 24)
		for i := range keys {
			keys[i] = e.Append(nil, b, i)
			if w := e.FixedWidth(); w >= 0 {
				require.Len(t, keys[i], w)
			}
		}
		for i := range keys {
			for j := range keys {
				want := 0
				for c := 0; c < len(types) && want == 0; c++ {
					want = compareCells(&types[c], &b.Columns[c], i, j)
				}
				require.Equal(t, cmp.Compare(want, 0), bytes.Compare(keys[i], keys[j]), "%v: %x and %x", types, keys[i], keys[j])
				if e.IsUint64() {
					require.Equal(t, cmp.Compare(want, 0), cmp.Compare(e.Uint64(b, i), e.Uint64(b, j)), "%v", types)
				}
			}
		}
	}
}

func TestKeyEncoder(t *testing.T) {
	width := func(notNull bool, types ...string) int {
		out := make([]Type, len(types))
		for i, s := range types {
			out[i] = mustType(t, s).WithNotNull(notNull)
		}
		return NewKeyEncoder(out, allColumns(len(out))).FixedWidth()
	}
	require.Equal(t, 8, width(true, "BIGINT"))
	require.Equal(t, 4, width(true, "INT"))
	require.Equal(t, 12, width(true, "INT", "TIMESTAMP(6)"))
	require.Equal(t, 28, width(true, "DECIMAL(38, 0)", "TIMESTAMP(9)"))
	require.Equal(t, -1, width(true, "INT", "STRING"))
	require.Equal(t, -1, width(false, "INT"))

	text := mustType(t, "STRING NOT NULL")
	e := NewKeyEncoder([]Type{text, text}, []int{0, 0})
	b := &Batch{Columns: []Vector{*cells(t, text, `"a\u0000b"`)}}
	require.Equal(t, "a\x00\xffb\x00\x01a\x00b", string(e.Append(nil, b, 0)))
	require.Panics(t, func() { NewKeyEncoder([]Type{mustType(t, "ARRAY<INT>")}, []int{0}) })
}
