package table

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBucketVectors(t *testing.T) {
	var vectors []rowVector
	require.NoError(t, json.Unmarshal(fixture(t, "buckets.json.gz"), &vectors))
	require.Greater(t, len(vectors), 1000)
	for _, v := range vectors {
		if string(v.Values[0]) == "-0" && isFloat(v.Types[0].Root) {
			continue // Jackson read it as an integer
		}
		b := oneRow(t, v.Types, v.Values)
		f, err := newBucketFunc(v.Function, v.Types, allColumns(len(v.Types)))
		require.NoError(t, err)
		if v.Function != bucketDefault {
			require.Equal(t, v.Bucket, f(b, 0, v.Buckets), "%s of %s", v.Function, v.Values)
			continue
		}
		require.Nil(t, f)
		image := NewRowEncoder(v.Types, allColumns(len(v.Types))).Append(nil, b, 0)[rowPrefixBytes:]
		require.Equal(t, v.Hash, Hash(image), "%s", v.Values)
		require.Equal(t, v.Bucket, BucketOf(Hash(image), v.Buckets), "%s", v.Values)
	}
}

// TestHash holds hashes and buckets from the notes on the format that the vectors lack.
func TestHash(t *testing.T) {
	for _, c := range []struct {
		typ, value string
		hash       int32
		buckets    [6]int32 // of 2, 4, 8, 10, 16, 127
	}{
		{"INT", "42", 907821237, [6]int32{1, 1, 5, 7, 5, 91}},
		{"INT", "1000000", -1625597823, [6]int32{1, 3, 7, 3, 15, 109}},
		{"BIGINT", "1234567890123", -1873221036, [6]int32{0, 0, 4, 6, 12, 119}},
		{"STRING", `"abcdefghi"`, 890550442, [6]int32{0, 2, 2, 2, 10, 26}},
		{"STRING", `"ключ"`, 1624144114, [6]int32{0, 2, 2, 4, 2, 42}},
		{"TINYINT", "-5", -866908712, [6]int32{0, 0, 0, 2, 8, 108}},
		{"SMALLINT", "300", 690796707, [6]int32{1, 3, 3, 7, 3, 19}},
		{"DATE", `"2024-01-01"`, -1439008885, [6]int32{1, 1, 5, 5, 5, 79}},
		{"TIME(3)", `"01:02:03.004"`, -867467144, [6]int32{0, 0, 0, 4, 8, 121}},
		{"TIMESTAMP(3)", `"2023-11-14T22:13:20.123"`, -1285420957, [6]int32{1, 1, 5, 7, 13, 109}},
		{"TIMESTAMP(6)", `"2023-11-14T22:13:20.123456"`, 1196670069, [6]int32{1, 1, 5, 9, 5, 123}},
		{"DECIMAL(20, 2)", `"12.34"`, -531788649, [6]int32{1, 1, 1, 9, 9, 25}},
		{"BYTES", `"AQID"`, 1066645297, [6]int32{1, 1, 1, 7, 1, 110}},
		{"INT", "null", -1748325344, [6]int32{0, 0, 0, 4, 0, 37}},
	} {
		typ := mustType(t, c.typ)
		row := EncodeRow(nil, []Type{typ}, []*Vector{cells(t, typ, c.value)}, 0)
		require.Equal(t, c.hash, Hash(row[rowPrefixBytes:]), c.value)
		for i, n := range []int32{2, 4, 8, 10, 16, 127} {
			require.Equal(t, c.buckets[i], BucketOf(c.hash, n), "%s of %d", c.value, n)
		}
	}
	require.EqualValues(t, -1670924195, Hash([]byte(EmptyRow)[rowPrefixBytes:]))
}

func TestBucketFunctions(t *testing.T) {
	integer, text := mustType(t, "INT"), mustType(t, "STRING")
	mod, err := newBucketFunc("mod", []Type{integer}, []int{0})
	require.NoError(t, err)
	require.EqualValues(t, 1, mod(oneRow(t, []Type{integer}, []json.RawMessage{[]byte("-7")}), 0, 4))

	hive := func(want int32, n int32, typ string, value string) {
		t.Helper()
		types := []Type{mustType(t, typ)}
		f, err := newBucketFunc("hive", types, []int{0})
		require.NoError(t, err)
		require.Equal(t, want, f(oneRow(t, types, []json.RawMessage{[]byte(value)}), 0, n), "%s %s", typ, value)
	}
	hive(1, 4, "INT", "-7")
	hive(4, 16, "STRING", `"abcdefgh"`)
	hive(0, 16, "STRING", "null")

	for _, types := range [][]Type{{text}, {integer, integer}} {
		_, err = newBucketFunc("mod", types, allColumns(len(types)))
		require.ErrorContains(t, err, "one INT or BIGINT column")
	}
	_, err = newBucketFunc("hive", []Type{mustType(t, "TIMESTAMP(3)")}, []int{0})
	require.ErrorContains(t, err, "TIMESTAMP(3)")
	_, err = newBucketFunc("random", []Type{integer}, []int{0})
	require.ErrorContains(t, err, "default, mod or hive")
}
