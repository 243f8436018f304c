package debezium

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// inferredOf returns what an event asks of a table, "name TYPE" each.
func inferredOf(t *testing.T, value string, have ...table.Field) []string {
	t.Helper()
	f, err := frameOf(t, "t", `{"id":1}`, value)
	require.NoError(t, err)
	got, err := f.Infer(have)
	require.NoError(t, err)
	var out []string
	for _, field := range got.Fields {
		out = append(out, field.Name+" "+field.Type.String())
	}
	return out
}

// TestInfer: the type of a column that has had no value before.
func TestInfer(t *testing.T) {
	for value, want := range map[string]string{
		"null": "", "true": "BOOLEAN", "false": "BOOLEAN", `""`: "STRING", `"12"`: "STRING", `{"a":[1]}`: "STRING", "[]": "STRING",
		"0": "BIGINT", "-0": "BIGINT", "9007199254740993": "BIGINT", "9223372036854775807": "BIGINT", "-9223372036854775808": "BIGINT",
		"9223372036854775808": "DECIMAL(38, 0)", "-9223372036854775809": "DECIMAL(38, 0)", "18446744073709551615": "DECIMAL(38, 0)",
		strings.Repeat("9", 38): "DECIMAL(38, 0)", "1" + strings.Repeat("0", 38): "STRING",
		"0.1": "DOUBLE", "1.0E10": "DOUBLE", "-0.0": "DOUBLE", "1.7976931348623157E308": "DOUBLE", "4.9E-324": "DOUBLE", "123.45670318603516": "DOUBLE", "0.10000000000000001": "DOUBLE",
		"12345678901234567.5": "DECIMAL(38, 18)", "0.1234567890123456789": "STRING", "0.123456789012345678": "DECIMAL(38, 18)", "1E400": "STRING", "1E-400": "STRING",
	} {
		have := inferredOf(t, `{"before":null,"after":{"x":`+value+`},"op":"c"}`)
		if want == "" {
			require.Empty(t, have, value)
			continue
		}
		require.Equal(t, []string{"x " + want}, have, value)
	}
}

// TestInferWider: what a value asks of a column that is there; nothing where it fits, or where no wider type takes both.
func TestInferWider(t *testing.T) {
	for _, c := range []struct{ have, value, want string }{
		{"INT", "5", ""}, {"INT", "2147483648", "BIGINT"}, {"TINYINT", "-129", "BIGINT"}, {"TINYINT", "-128", ""}, {"SMALLINT NOT NULL", "40000", "BIGINT NOT NULL"}, {"INT", "5.0", ""}, {"INT", "1e2", ""},
		{"BIGINT", "9223372036854775808", "DECIMAL(38, 0)"}, {"BIGINT", "1.5", "DECIMAL(38, 18)"}, {"BIGINT", "1e-19", ""}, {"BIGINT", `"heavy"`, ""}, {"BIGINT", "true", ""}, {"BIGINT", "1E39", ""},
		{"DECIMAL(10, 2)", "1.234", "DECIMAL(11, 3)"}, {"DECIMAL(10, 2)", "123456789", "DECIMAL(11, 2)"}, {"DECIMAL(10, 2)", "1.50", ""}, {"DECIMAL(38, 0)", "0.5", "DECIMAL(38, 1)?"},
		{"DECIMAL(38, 18)", "123456789012345678901", ""}, {"DECIMAL(10, 2)", "0.00000000000000000000000000000000000001", ""}, {"DECIMAL(3, 0)", "0.001", "DECIMAL(6, 3)"}, {"DECIMAL(10, 2)", `"x"`, ""},
		{"DOUBLE", "0.1", ""}, {"DOUBLE", "9007199254740993", ""}, {"DOUBLE", "9007199254740992", ""}, {"BOOLEAN", "1", ""}, {"DATE", `"x"`, ""}, {"TIMESTAMP(3)", "99999999999999999999", ""},
		{"STRING", "1", ""}, {"VARCHAR(3)", `"äöü"`, ""}, {"VARCHAR(3)", `"abcd"`, "STRING"}, {"CHAR(3)", "1000", "STRING"}, {"CHAR(3)", "100", ""}, {"STRING", `{"a":1}`, ""},
	} {
		var want []string
		if c.want != "" && !strings.HasSuffix(c.want, "?") {
			want = []string{"x " + c.want}
		}
		require.Equal(t, want, inferredOf(t, `{"before":null,"after":{"x":`+c.value+`},"op":"c"}`, field1("x", c.have)), "%s into %s", c.value, c.have)
	}
}

// TestInferEvent: which parts of an event are looked at, and what becomes of several values of one field.
func TestInferEvent(t *testing.T) {
	for value, want := range map[string][]string{
		`{"after":{"b":1,"a":"x","n":null},"before":{"z":1},"op":"c"}`:                       {"b BIGINT", "a STRING"},
		`{"before":{"x":5},"after":{"x":1.5},"op":"u"}`:                                      {"x DECIMAL(38, 18)"},
		`{"before":{"x":1.5},"after":{"x":5},"op":"u"}`:                                      {"x DOUBLE"},
		`{"before":{"x":1},"after":{"x":"a"},"op":"u"}`:                                      {"x STRING"},
		`{"before":{"x":true},"after":{"x":1},"op":"u"}`:                                     {"x STRING"},
		`{"before":{"x":"a"},"after":{"x":[1, 2]},"op":"u"}`:                                 {"x STRING"},
		`{"before":{"x":null,"y":2},"after":{"x":3,"y":null},"op":"u"}`:                      {"y BIGINT", "x BIGINT"},
		`{"before":{"x":2},"after":{"y":1},"op":"d"}`:                                        {"x BIGINT"},
		`{"before":null,"after":null,"op":"d"}`:                                              nil,
		`{"x":1,"__deleted":"false","__op":"c","__table":"t"}`:                               {"x BIGINT", "__table STRING"},
		`{"before":null,"after":{"__op":"c"},"op":"c"}`:                                      {"__op STRING"},
		`{"schema":null,"payload":{"before":null,"after":{"x":1},"op":"c"}}`:                 {"x BIGINT"},
		`{"before":null,"after":{"x":"__debezium_unavailable_value"},"op":"c"}`:              {"x STRING"},
		`{"before":null,"after":{"x":{"scale":2,"value":"BNI="}},"op":"c"}`:                  {"x STRING"},
		`{"before":null,"after":{"x":1},"source":{"db":"a"},"op":"c","transaction":{"x":1}}`: {"x BIGINT"},
	} {
		require.Equal(t, want, inferredOf(t, value), value)
	}
	f, err := frameOf(t, "t", `{"shard":"eu","id":3}`, `{"before":null,"after":{"id":1},"op":"c"}`)
	require.NoError(t, err)
	key, err := f.InferKey(Types{})
	require.NoError(t, err)
	require.Equal(t, []table.Field{field1("shard", "STRING"), field1("id", "BIGINT")}, key)
	f, err = frameOf(t, "t", `{"id":1}`, ``)
	require.NoError(t, err)
	tombstone, err := f.Infer(nil)
	require.NoError(t, err)
	require.Empty(t, tombstone)
}

// TestInferredHolds draws values, makes a table of what the first asks for, widens it as the others ask, and wants each that has a
// place to be read exactly: as the number, text or JSON that was sent.
func TestInferredHolds(t *testing.T) {
	r := source{rand.New(rand.NewPCG(testSeed(t), 11))}
	draw := func() string {
		switch r.IntN(7) {
		case 0:
			return "null"
		case 1:
			return json.Number(r.decimal(1 + r.IntN(42)).String()).String()
		case 2:
			return javaFloat(r.NormFloat64()*float64(r.IntN(1000)), 64)
		case 3:
			return scaledText(r.decimal(1+r.IntN(30)), r.IntN(20))
		case 4:
			return r.escape(r.text())
		case 5:
			return []string{"true", "false", `{"a":[1,{"b":null}]}`, `["x"]`}[r.IntN(4)]
		}
		return json.Number(r.decimal(3).String()).String()
	}
	placed := 0
	for range 400 {
		fields := []table.Field{field1("id", "BIGINT NOT NULL")}
		for range 6 {
			value := draw()
			f, err := frameOf(t, "t", `{"id":1}`, `{"before":null,"after":{"id":1,"x":`+value+`},"op":"c"}`)
			require.NoError(t, err)
			got, err := f.Infer(fields)
			require.NoError(t, err)
			for _, want := range got.Fields {
				if schema, _, err := table.Evolve(&table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}, append([]table.Field{fields[0]}, want)); err == nil {
					fields = schema.Fields
				}
			}
			p, err := Bind(&table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}, nil, Options{Types: Types{Decimal: DecimalNumber}, FailUnknown: true, PassNull: true})
			require.NoError(t, err)
			b := table.NewBatch(fields)
			if _, err = p.Append(f, b); err != nil {
				require.Contains(t, []Reason{ReasonType, ReasonRange}, reasonOf(t, err), "%s into %v", value, fields)
				continue
			}
			if placed++; len(fields) == 1 {
				require.Equal(t, "null", value)
				continue
			}
			requireSame(t, value, fields[1].Type, string(table.AppendCanonical(nil, fields[1].Type, &b.Columns[1], 0)))
		}
	}
	require.Greater(t, placed, 1000)
}

// requireSame compares a JSON value with the canonical text of a cell.
func requireSame(t *testing.T, value string, typ table.Type, have string) {
	t.Helper()
	switch {
	case value == "null":
		require.Equal(t, value, have)
	case typ.Root == table.Boolean:
		require.Equal(t, map[string]string{"true": "true", "1": "true", "false": "false", "0": "false"}[value], have)
	case typ.Root == table.VarChar:
		var text, cell string
		require.NoError(t, json.Unmarshal([]byte(have), &cell))
		if json.Unmarshal([]byte(value), &text) != nil {
			text = value
		}
		require.Equal(t, text, cell)
	case value == "true" || value == "false":
		require.Equal(t, map[string]string{"true": "1", "false": "0"}[value], strings.TrimSuffix(strings.Trim(have, `"`), ".000000000000000000"))
	default: // a text may be a number, too
		var want, got decimal
		text := value
		_ = json.Unmarshal([]byte(value), &text)
		require.True(t, want.parse([]byte(text)), value)
		require.True(t, got.parse([]byte(strings.Trim(have, `"`))), have)
		want.trim()
		got.trim()
		want.neg, got.neg = want.neg && !want.zero(), got.neg && !got.zero()
		if typ.Root == table.Double && !want.below(15) {
			return // as near as a DOUBLE comes
		}
		require.Equal(t, want, got, "%s into %s", value, typ)
	}
}
