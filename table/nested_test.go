package table

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNested(t *testing.T) {
	for _, c := range []struct{ typ, value, hex string }{
		{"ARRAY<INT>", `[]`, "02"},
		{"ARRAY<INT>", `[1,null,-1]`, "01010000000000000000" + "01ffffffffffffffff" + "02"},
		{"ARRAY<STRING>", `["ab",""]`, "01026162" + "0100" + "02"},
		{"MAP<STRING, ARRAY<INT>>", `[["k",[null]],["l",null]]`, "01016b" + "010002" + "01016c" + "00" + "02"},
		{"MULTISET<STRING>", `[["a",2]]`, "010161" + "010200000000000000" + "02"},
		{"ROW<a INT, b ROW<c STRING>>", `{"a":null,"b":{"c":"x"}}`, "00" + "01" + "010178"},
		{"ROW<a INT, b STRING>", `{"a":null,"b":null}`, "0000"},
	} {
		typ := mustType(t, c.typ)
		v := cells(t, typ, c.value)
		want := c.hex
		if c.value == `[1,null,-1]` {
			want = "010100000000000000" + "00" + "01ffffffffffffffff" + "02"
		}
		require.Equal(t, want, hex.EncodeToString(v.Bytes(0)), c.typ)
		require.Equal(t, c.value, canonical(typ, v, 0))
		require.NoError(t, CheckNested(v.Bytes(0), typ))
		r := ReadNested(v.Bytes(0))
		require.Equal(t, v.Bytes(0), r.Value(&typ))
		require.NoError(t, r.Err())
		for n := range v.Bytes(0) {
			require.Error(t, CheckNested(v.Bytes(0)[:n], typ), "%s cut to %d", c.typ, n)
		}
		require.ErrorContains(t, CheckNested(append(v.Bytes(0)[:v.Ends[0]:v.Ends[0]], 0), typ), "1 bytes after")
	}
}

func TestNestedRefuses(t *testing.T) {
	for text, typ := range map[string]string{
		"00" + "00" + "02":              "MAP<STRING, INT>",
		"03":                            "ARRAY<INT>",
		"0102":                          "ARRAY<INT>",
		"01ffffffffffffffffff01" + "02": "ARRAY<STRING>",
		"010161" + "00" + "02":          "MULTISET<STRING>",
	} {
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		require.ErrorContains(t, CheckNested(b, mustType(t, typ)), "cut short or damaged", text)
	}
	r := ReadNested(nil)
	require.False(t, r.More())
	require.True(t, r.Null())
	require.Zero(t, r.Word())
	require.Nil(t, r.Bytes())
	typ := mustType(t, "ARRAY<INT>")
	require.Nil(t, r.Value(&typ))
	require.Error(t, r.Err())
}

// FuzzNested reads any bytes; a cell that is whole survives the way to a row and back.
func FuzzNested(f *testing.F) {
	typ, err := ParseType("MAP<STRING, ROW<a INT, b ARRAY<DECIMAL(20, 2)>, c MULTISET<BYTES>>>")
	require.NoError(f, err)
	f.Add(cells(f, typ, `[["k",{"a":1,"b":["1.50",null],"c":[["AA==",2]]}],["l",null]]`).Bytes(0))
	f.Add([]byte{nestedEnd})
	f.Fuzz(func(t *testing.T, b []byte) {
		if CheckNested(b, typ) != nil {
			return
		}
		r := ReadNested(b)
		r.skipCell(&typ)
		require.NoError(t, r.Err())
		require.Empty(t, r.rest)
	})
}
