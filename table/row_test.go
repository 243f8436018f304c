package table

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowVector is a line of rows.json and buckets.json.
type rowVector struct {
	Types    []Type
	Values   []json.RawMessage
	Hash     int32
	Hex      string
	Function string
	Buckets  int32 `json:"numBuckets"`
	Bucket   int32
}

// allColumns returns 0 to n-1.
func allColumns(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestRowVectors(t *testing.T) {
	var vectors []rowVector
	require.NoError(t, json.Unmarshal(fixture(t, "rows.json.gz"), &vectors))
	require.Greater(t, len(vectors), 200)
	for _, v := range vectors {
		what := func() string { b, _ := json.Marshal(v.Values); return string(b) }()
		b := oneRow(t, v.Types, v.Values)
		got := NewRowEncoder(v.Types, allColumns(len(v.Types))).Append(nil, b, 0)
		require.Equal(t, v.Hex, hex.EncodeToString(got), what)
		require.Equal(t, v.Hash, Hash(got[rowPrefixBytes:]), what)

		pointers := make([]*Vector, len(b.Columns))
		for i := range b.Columns {
			pointers[i] = &b.Columns[i]
		}
		require.Equal(t, got, EncodeRow(nil, v.Types, pointers, 0), what)

		back, err := DecodeRow(got, v.Types)
		require.NoError(t, err, what)
		require.Equal(t, got, NewRowEncoder(v.Types, allColumns(len(v.Types))).Append(nil, back, 0), what)
		for i := range v.Types {
			require.Equal(t, canonical(v.Types[i], &b.Columns[i], 0), canonical(v.Types[i], &back.Columns[i], 0))
		}
	}
}

// TestRowBytes holds the worked examples of the format.
func TestRowBytes(t *testing.T) {
	for _, c := range []struct{ types, values, hex string }{
		{``, ``, `00000000 0000000000000000`},
		{`INT`, `42`, `00000001 0000000000000000 2a00000000000000`},
		{`INT`, `null`, `00000001 0001000000000000 0000000000000000`},
		{`BIGINT`, `-1`, `00000001 0000000000000000 ffffffffffffffff`},
		{`SMALLINT`, `-2`, `00000001 0000000000000000 feff000000000000`},
		{`STRING`, `""`, `00000001 0000000000000000 0000000000000080`},
		{`STRING`, `"abcdefg"`, `00000001 0000000000000000 6162636465666787`},
		{`STRING`, `"abcdefgh"`, `00000001 0000000000000000 0800000010000000 6162636465666768`},
		{`STRING`, `"2024-01-01"`, `00000001 0000000000000000 0a00000010000000 323032342d30312d 3031000000000000`},
		{`BIGINT|STRING`, `7|"k2"`, `00000002 0000000000000000 0700000000000000 6b32000000000082`},
		{`STRING|INT`, `"customer-0001"|5`, `00000002 0000000000000000 0d00000018000000 0500000000000000 637573746f6d6572 2d30303031000000`},
		{`INT|STRING|BIGINT`, `1|null|2`, `00000003 0002000000000000 0100000000000000 0000000000000000 0200000000000000`},
		{`DECIMAL(9, 2)`, `"12.34"`, `00000001 0000000000000000 d204000000000000`},
		{`DECIMAL(18, 4)`, `"-1.5"`, `00000001 0000000000000000 68c5ffffffffffff`},
		{`DECIMAL(20, 2)`, `"12.34"`, `00000001 0000000000000000 0200000010000000 04d2000000000000 0000000000000000`},
		{`DECIMAL(38, 10)`, `"-1.5"`, `00000001 0000000000000000 0500000010000000 fc81ee2a00000000 0000000000000000`},
		{`DECIMAL(38, 10)`, `null`, `00000001 0001000000000000 0000000010000000 0000000000000000 0000000000000000`},
		{`TIMESTAMP(3)`, `"2023-11-14T22:13:20.123"`, `00000001 0000000000000000 7b68e5cf8b010000`},
		{`TIMESTAMP(6)`, `"2023-11-14T22:13:20.123456"`, `00000001 0000000000000000 40f5060010000000 7b68e5cf8b010000`},
		{`TIMESTAMP(6)`, `null`, `00000001 0001000000000000 0000000010000000 0000000000000000`},
		{`DATE`, `"2024-01-01"`, `00000001 0000000000000000 0b4d000000000000`},
		{`TIME(3)`, `"01:02:03.004"`, `00000001 0000000000000000 fcce380000000000`},
		{`BYTES`, `"AQID"`, `00000001 0000000000000000 0102030000000083`},
		{`STRING|DECIMAL(20, 2)|STRING`, `null|null|"longer-than-7"`,
			`00000003 0003000000000000 0000000000000000 0000000020000000 0d00000030000000 0000000000000000 0000000000000000 6c6f6e6765722d74 68616e2d37000000`},
	} {
		types, values := splitRow(t, c.types, c.values)
		got := NewRowEncoder(types, allColumns(len(types))).Append(nil, oneRow(t, types, values), 0)
		require.Equal(t, strings.ReplaceAll(c.hex, " ", ""), hex.EncodeToString(got), "%s of %s", c.values, c.types)
	}
	require.Equal(t, EmptyRow, string(EncodeRow(nil, nil, nil, 0)))

	// 57 columns have a header of two words.
	types, values := make([]Type, 57), make([]json.RawMessage, 57)
	for i := range types {
		types[i], values[i] = Type{Root: Int}, json.RawMessage("1")
	}
	values[55], values[56] = json.RawMessage("null"), json.RawMessage("null")
	got := NewRowEncoder(types, allColumns(57)).Append(nil, oneRow(t, types, values), 0)
	require.Equal(t, "0000003900000000000000800100000000000000", hex.EncodeToString(got[:20]))
	require.Len(t, got, 4+16+57*8)
}

func splitRow(t *testing.T, types, values string) (ts []Type, vs []json.RawMessage) {
	t.Helper()
	if types == "" {
		return nil, nil
	}
	for _, s := range strings.Split(types, "|") {
		ts = append(ts, mustType(t, s))
	}
	for _, s := range strings.Split(values, "|") {
		vs = append(vs, json.RawMessage(s))
	}
	return ts, vs
}

func TestDecodeRowRefuses(t *testing.T) {
	for _, c := range []struct{ types, hex, text string }{
		{`INT`, ``, `cut short`},
		{`INT`, `00000002 0000000000000000 2a00000000000000`, `has 2 fields, but 1 are expected`},
		{`INT`, `00000001 0000000000000000 2a000000000000`, `too short for 1 fields`},
		{`STRING`, `00000001 0000000000000000 0800000011000000 6162636465666768`, `outside`},
		{`STRING`, `00000001 0000000000000000 ffffff7fffffffff 6162636465666768`, `bytes in a slot`},
		{`DECIMAL(20, 2)`, `00000001 0000000000000000 1100000010000000 04d2000000000000 0000000000000000`, `decimal of 17 bytes`},
		{`TIMESTAMP(6)`, `00000001 0000000000000000 40420f0010000000 7b68e5cf8b010000`, `1000000 nanoseconds`},
		{`TIMESTAMP(6)`, `00000001 0000000000000000 0000000010000000 ffffffffffffff7f`, `does not fit microseconds`},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		require.NoError(t, err)
		_, err = DecodeRow(b, []Type{mustType(t, c.types)})
		require.ErrorContains(t, err, c.text)
	}
}

// FuzzRow decodes any bytes; what decodes encodes to a row that decodes to the same.
func FuzzRow(f *testing.F) {
	types := []Type{
		{Root: Boolean}, {Root: BigInt}, {Root: Float}, {Root: VarChar, Length: MaxLength},
		{Root: Decimal, Precision: 38, Scale: 10}, {Root: Timestamp, Precision: 6}, {Root: Timestamp, Precision: 9},
		{Root: Array, Element: &Type{Root: VarChar, Length: 3}},
		{Root: RowType, Fields: []Field{{Name: "a", Type: Type{Root: Int}}, {Name: "b", Type: Type{Root: Decimal, Precision: 20}}}},
		{Root: Map, Key: &Type{Root: Int, NotNull: true}, Element: &Type{Root: BigInt}},
	}
	e := NewRowEncoder(types, allColumns(len(types)))
	seed := oneRow(f, types, []json.RawMessage{[]byte(`true`), []byte(`-7`), []byte(`1.5`), []byte(`"a longer string"`),
		[]byte(`"-12.5"`), []byte(`"2024-02-29T12:34:56.789123"`), []byte(`null`), []byte(`["a",null]`), []byte(`{"a":1,"b":"7"}`), []byte(`[[1,null]]`)})
	f.Add(e.Append(nil, seed, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		row, err := DecodeRow(b, types)
		if err != nil {
			return
		}
		again := e.Append(nil, row, 0)
		back, err := DecodeRow(again, types)
		require.NoError(t, err)
		require.Equal(t, again, e.Append(nil, back, 0))
	})
}
