package table

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ typ, in, out string }{
		{"INT", `null`, `null`},
		{"BOOLEAN", `true`, `true`},
		{"BIGINT", `-9223372036854775808`, `-9223372036854775808`},
		{"FLOAT", `3.4028235e+38`, `3.4028235e+38`},
		{"FLOAT", `0.1`, `0.1`},
		{"FLOAT", `1e-45`, `1e-45`},
		{"DOUBLE", `1e-7`, `1e-7`},
		{"DOUBLE", `0.000001`, `0.000001`},
		{"DOUBLE", `1e20`, `100000000000000000000`},
		{"DOUBLE", `1e21`, `1e+21`},
		{"DOUBLE", `-0`, `-0`},
		{"DOUBLE", `"NaN"`, `"NaN"`},
		{"DOUBLE", `"-Infinity"`, `"-Infinity"`},
		{"FLOAT", `"Infinity"`, `"Infinity"`},
		{"DECIMAL(5, 2)", `"-0.5"`, `"-0.50"`},
		{"DECIMAL(5, 0)", `"7"`, `"7"`},
		{"DECIMAL(38, 38)", `"0.00000000000000000000000000000000000001"`, `"0.00000000000000000000000000000000000001"`},
		{"STRING", `"a\"\\\u0007\b\f\n\r\t<&>\u007fé😀"`, "\"a\\\"\\\\\\u0007\\b\\f\\n\\r\\t<&>\u007fé😀\""},
		{"BYTES", `"AAECAw=="`, `"AAECAw=="`},
		{"DATE", `"2024-02-29"`, `"2024-02-29"`},
		{"DATE", `"0001-01-01"`, `"0001-01-01"`},
		{"DATE", `"-0044-03-15"`, `"-0044-03-15"`},
		{"DATE", `"+12345-01-01"`, `"+12345-01-01"`},
		{"TIME(0)", `"12:34:56"`, `"12:34:56.000"`},
		{"TIMESTAMP(0)", `"2024-02-29T12:34:56"`, `"2024-02-29T12:34:56.000000"`},
		{"TIMESTAMP(6)", `"1969-12-31T23:59:59.999999"`, `"1969-12-31T23:59:59.999999"`},
		{"TIMESTAMP(7)", `"2024-02-29T12:34:56.7891234"`, `"2024-02-29T12:34:56.789123400"`},
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", `"2024-02-29T12:34:56.789Z"`, `"2024-02-29T12:34:56.789000Z"`},
		{"ARRAY<INT>", `[1,null]`, `[1,null]`},
		{"MAP<STRING, INT>", `[["b",1],["a",null],["\uffff",2],["😀",3]]`, "[[\"a\",null],[\"b\",1],[\"😀\",3],[\"\uffff\",2]]"},
		{"MULTISET<INT>", `[[2,1],[10,3]]`, `[[10,3],[2,1]]`},
		{"ROW<a DATE, `x\"` ARRAY<ROW<b BOOLEAN>>>", `{"a":null,"x\"":[{"b":true},null]}`, `{"a":null,"x\"":[{"b":true},null]}`},
	} {
		typ := mustType(t, c.typ)
		require.Equal(t, c.out, canonical(typ, cells(t, typ, c.in), 0), "%s %s", c.typ, c.in)
	}
	require.Equal(t, `"`+"a\ufffdb"+`"`, canonical(Type{Root: VarChar}, &Vector{Layout: Bytes, Data: []byte("a\xffb"), Ends: []uint32{3}}, 0))
}

// TestCanonicalFloat compares with encoding/json.
func TestCanonicalFloat(t *testing.T) {
	r := seeded(t)
	for range 20000 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		want, err := json.Marshal(f)
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendJSONFloat(nil, f, 64)))
		if g := float32(f); !math.IsInf(float64(g), 0) {
			want, err = json.Marshal(g)
			require.NoError(t, err)
			require.Equal(t, string(want), string(appendJSONFloat(nil, float64(g), 32)))
		}
	}
}

func TestCanonicalRow(t *testing.T) {
	fields := fieldsOf(t, "id", "INT", `a"b`, "STRING")
	b := oneRow(t, []Type{fields[0].Type, fields[1].Type}, []json.RawMessage{[]byte("7"), []byte(`"x"`)})
	require.Equal(t, `{"id":7,"a\"b":"x"}`, string(AppendCanonicalRow(nil, fields, b, 0)))
	require.Equal(t, `{}`, string(AppendCanonicalRow(nil, nil, b, 0)))
}
