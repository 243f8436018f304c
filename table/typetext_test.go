package table

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestParseType(t *testing.T) {
	for in, want := range map[string]string{
		"int": "INT", "INTEGER": "INT", " Int  not  null ": "INT NOT NULL", "BIGINT NULL": "BIGINT",
		"char": "CHAR(1)", "CHAR(5)": "CHAR(5)", "varchar": "VARCHAR(1)", "VARCHAR(2147483647)": "STRING", "string": "STRING",
		"binary(2)": "BINARY(2)", "VARBINARY(9)": "VARBINARY(9)", "bytes not null": "BYTES NOT NULL",
		"DECIMAL": "DECIMAL(10, 0)", "numeric(5)": "DECIMAL(5, 0)", "dec(38,38)": "DECIMAL(38, 38)",
		"double precision": "DOUBLE", "float": "FLOAT", "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT",
		"date": "DATE", "time": "TIME(0)", "TIME ( 3 ) WITHOUT TIME ZONE": "TIME(3)",
		"timestamp": "TIMESTAMP(6)", "TIMESTAMP(9) without time zone not null": "TIMESTAMP(9) NOT NULL",
		"TIMESTAMP(3) WITH LOCAL TIME ZONE": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamp_ltz": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"timestamp_ltz(0) NOT NULL":                 "TIMESTAMP(0) WITH LOCAL TIME ZONE NOT NULL",
		"array<int not null>":                       "ARRAY<INT NOT NULL>",
		"MAP<STRING, MULTISET<DATE>>":               "MAP<STRING, MULTISET<DATE>>",
		"ROW<a INT, `b ``c` STRING> NOT NULL":       "ROW<`a` INT, `b ``c` STRING> NOT NULL",
		`{"type":"ARRAY NOT NULL","element":"int"}`: "ARRAY<INT> NOT NULL",
	} {
		got, err := ParseType(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String(), in)
		again, err := ParseType(got.String())
		require.NoError(t, err)
		require.True(t, got.Equal(again), in)
	}
}

func TestParseTypeRefuses(t *testing.T) {
	for in, text := range map[string]string{
		"": "ends where a type is expected", "VARIANT": "VARIANT is not supported by the sink", "blob": "BLOB is not supported",
		"GEOMETRY": "not supported", "INTERVAL": `"INTERVAL" is no type that Paimon has`, "(": `"(" where a type`,
		"INT INT": `"INT" where the end`, "INT NOT": "where NULL", "INT(3)": `"(" where the end`,
		"CHAR(0)": "length is 0", "VARCHAR(2147483648)": "too large", "CHAR(": "ends where a number", "CHAR(5": `")"`,
		"DECIMAL(39)": "precision is 39", "DECIMAL(0)": "precision is 0", "DECIMAL(5,6)": "scale is 6", "DECIMAL(99999999999999999999)": "too large",
		"TIME(10)": "precision is 10", "TIMESTAMP(10)": "precision is 10", "TIMESTAMP WITH TIME ZONE": "LOCAL", "TIME WITHOUT ZONE": "TIME",
		"TIMESTAMP WITH LOCAL TIME": "ZONE", "ARRAY": `"<"`, "ARRAY<INT": `">"`, "MAP<INT>": `","`, "ROW<>": "no fields",
		"ROW<a INT, a INT>": "two fields are named a", "ROW<1 INT>": "a field name", "ROW<a VARIANT>": "field a: VARIANT", "ROW<`a INT>": "a field name",
		"INT;": `";" where the end`,
		strings.Repeat("ARRAY<", 80) + "INT" + strings.Repeat(">", 80): "nested deeper than 64",
		`{"type":"ARRAY"}`:                    "no element type",
		`{"type":"MAP","value":"INT"}`:        "no element type",
		`{"type":"INT"}`:                      "no constructed type",
		`{"type":"VARIANT"}`:                  "not supported",
		`{"type":"ARRAY OF","element":"INT"}`: "where NOT NULL",
	} {
		_, err := ParseType(in)
		require.ErrorContains(t, err, text, in)
	}
}

func TestTypeJSON(t *testing.T) {
	in := `{"type":"ROW NOT NULL","fields":[{"id":6,"name":"x","type":"INT"},` +
		`{"id":7,"name":"m","type":{"type":"MAP","key":"STRING NOT NULL","value":{"type":"MULTISET","element":"DATE"}},"description":"<d>","defaultValue":"1"}]}`
	var typ Type
	require.NoError(t, json.Unmarshal([]byte(in), &typ))
	out, err := typ.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, in, string(out))
	require.Equal(t, 7, typ.Fields[1].ID)
	require.Equal(t, "1", *typ.Fields[1].Default)

	_, err = json.Marshal(Type{Root: Array})
	require.ErrorContains(t, err, "no element type")
	require.Error(t, json.Unmarshal([]byte(`{"type":"ROW","fields":[{"id":1,"name":"a","type":"{\"type\":\"ARRAY\"}"}]}`), &typ))
	deep := strings.Repeat(`{"type":"ARRAY","element":`, 300) + `"INT"` + strings.Repeat("}", 300)
	require.ErrorContains(t, json.Unmarshal([]byte(deep), &typ), "nested deeper")
}

func TestTypeEqual(t *testing.T) {
	a := mustType(t, "ROW<a INT, b MAP<INT, ARRAY<DECIMAL(5, 2)>>>")
	b := mustType(t, "ROW<a INT, b MAP<INT, ARRAY<DECIMAL(5, 2)>>>")
	b.Fields[0].ID, b.Fields[0].Description = 9, "other"
	require.True(t, a.Equal(b))
	require.False(t, a.Equal(b.WithNotNull(true)))
	require.True(t, a.Equal(b.WithNotNull(true).Nullable()))
	for _, other := range []string{"ROW<a INT>", "ROW<c INT, b MAP<INT, ARRAY<DECIMAL(5, 2)>>>", "ROW<a INT, b MAP<INT, ARRAY<DECIMAL(5, 3)>>>", "INT"} {
		require.False(t, a.Equal(mustType(t, other)), other)
	}
	require.True(t, Type{Root: Int, Length: 3}.Equal(Type{Root: Int}), "a parameter that the family lacks")
	require.False(t, mustType(t, "TIME(1)").Equal(mustType(t, "TIME(2)")))
	require.False(t, mustType(t, "CHAR(1)").Equal(mustType(t, "CHAR(2)")))
	require.Equal(t, "Root(99)", Root(99).String())
	require.Equal(t, "ARRAY<Root(0)>", Type{Root: Array}.String())
}

func FuzzType(f *testing.F) {
	for _, s := range []string{"INT NOT NULL", "DECIMAL(10, 2)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "ROW<a INT, `b` MAP<STRING, ARRAY<BYTES>>>",
		`{"type":"MAP","key":"INT","value":{"type":"ROW","fields":[{"id":1,"name":"a","type":"INT"}]}}`} {
		f.Add(s)
	}
	f.Add("ROW<`\xff` INT>")
	f.Add("ROW<`` INT>")
	f.Add(`{"type":"ROW","fields":[{"id":1,"name":"` + "\xff" + `","type":"INT"}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		typ, err := ParseType(s)
		if err != nil {
			return
		}
		again, err := ParseType(typ.String())
		require.NoError(t, err)
		require.True(t, typ.Equal(again))
		b, err := typ.MarshalJSON()
		require.NoError(t, err)
		var back Type
		require.NoError(t, back.UnmarshalJSON(b))
		again2, err := back.MarshalJSON()
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(b), string(again2)))
	})
}
