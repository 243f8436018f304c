package debezium

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// FuzzDecodeJSON: the scanner takes what encoding/json takes, but for strings that have no UTF-8 form and for depth, and
// reads strings and numbers alike.
func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0,1.5e+3,true,false,null,"x\u00e9\ud83c\udf89\n"],"b":{}}`, ` [ ] `, `"\\"`, `"\ud800"`, "\"\x80\"", `01`, `1.`, `{"a":1,}`, `nul`, `123456789012345678901234567890`,
		"\"\x7f\x01\"", `{"a" : "b\/c" , "d":[[[]]]}`, `-`, `1e`, `"abcdefg\"hijklmnop"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{b: b}
		err := s.skip()
		if err == nil {
			err = s.end()
		}
		valid := json.Valid(b)
		if err == nil && !valid {
			t.Fatalf("accepts what is no JSON: %q", b)
		}
		plainText := utf8.Valid(b) && !bytes.Contains(bytes.ToLower(b), []byte(`\ud`)) && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < maxDepth
		if err != nil && valid && plainText {
			t.Fatalf("refuses JSON: %q: %v", b, err)
		}
		if err != nil {
			return
		}
		s = scanner{b: b}
		switch c := s.peek(); {
		case c == '"':
			text, err := s.str()
			require.NoError(t, err)
			var want string
			require.NoError(t, json.Unmarshal(b, &want))
			require.Equal(t, want, string(text))
		case c == '-' || c-'0' <= 9:
			n, err := s.number()
			require.NoError(t, err)
			require.Equal(t, string(bytes.TrimSpace(b)), string(n.raw))
			var want int64
			if json.Unmarshal(n.raw, &want) == nil {
				have, ok := n.int64()
				require.True(t, ok)
				require.Equal(t, want, have)
			}
		}
	})
}

// FuzzFrame feeds whole records through a table with a column of every family: whatever they hold, they are rows or a
// bad record, and the batch stays whole.
func FuzzFrame(f *testing.F) {
	for _, v := range []string{
		envelope("u", `{"id":1,"s":"a"}`, `{"id":1,"s":"b","i":2,"d":"AA==","y":"AQ==","t":5,"ts":6,"z":"2024-01-01T00:00:00Z","f":1.5,"b":true,"a":[1],"dd":19000}`),
		envelope("d", "null", "null"), envelope("t", "null", "null"), `null`, ``, `[]`, `{"id":1,"__deleted":"true"}`,
		`{"schema":{"type":"struct","fields":[{"type":"int64","field":"id"}],"name":"k"},"payload":{"id":5}}`,
		`{"op":"c","after":{"id":1e0,"s":{"scale":1,"value":"AQ=="}}}`, "\x00\x00\x00\x00\x01",
	} {
		f.Add([]byte(v), []byte(`{"id":1}`))
	}
	f.Add([]byte(`{"before":null,"after":{"id":1},"op":"c","ts_ms":1}`), []byte(`{"schema":{"type":"struct","fields":[{"type":"int64","field":"id"}]},"payload":{"id":1}}`))
	element := field1("x", "INT").Type
	schema := &table.Schema{PrimaryKeys: []string{"id"}, Fields: []table.Field{
		field1("id", "BIGINT NOT NULL"), field1("s", "STRING"), field1("i", "SMALLINT"), field1("d", "DECIMAL(20, 3)"), field1("y", "BYTES"), field1("t", "TIME(3)"),
		field1("ts", "TIMESTAMP(9)"), field1("z", "TIMESTAMP(6) WITH LOCAL TIME ZONE"), field1("f", "DOUBLE"), field1("b", "BOOLEAN"),
		{Name: "a", Type: table.Type{Root: table.Array, Element: &element}}, field1("dd", "DATE"), field1("nn", "VARCHAR(5)"),
	}}
	f.Fuzz(func(t *testing.T, value, key []byte) {
		d := NewDecoder(Config{})
		var fr Frame
		if err := d.Frame(t.Context(), &Record{Topic: "t", Value: value, Key: key}, &fr); err != nil {
			require.NotEmpty(t, reasonOf(t, err))
			return
		}
		_, _ = fr.KeyNames()
		_, _ = fr.Source()
		inferable(t, &fr, schema.Fields)
		p, err := Bind(schema, fr.Shape, Options{})
		if err != nil {
			return
		}
		b := table.NewBatch(schema.Fields)
		var ev Event
		switch fr.Kind {
		case KindChange, KindFlat:
			ev, err = p.Append(&fr, b)
		case KindTombstone:
			ev, err = p.AppendKey(&fr, b)
		default:
			return
		}
		if err != nil {
			require.NotEmpty(t, reasonOf(t, err))
			require.Zero(t, b.Len())
		}
		require.Equal(t, ev.Rows, b.Len())
		for i := range b.Columns {
			require.Equal(t, b.Len(), b.Columns[i].Len(), "column %d", i)
		}
		for i := range b.Len() {
			require.True(t, json.Valid(table.AppendCanonicalRow(nil, schema.Fields, b, i)))
		}
	})
}

// inferable wants what an event without types asks of a table to be columns, none of a name twice, that the table could get.
func inferable(t *testing.T, f *Frame, have []table.Field) {
	if f.Shape != nil || f.value.avro != nil {
		return
	}
	asked, err := f.Infer(have)
	if err != nil {
		require.NotEmpty(t, reasonOf(t, err))
		return
	}
	names := map[string]bool{}
	for _, field := range asked.Fields {
		require.False(t, names[field.Name], "%s twice", field.Name)
		names[field.Name] = true
		_, _, err := table.Evolve(&table.Schema{Fields: have, PrimaryKeys: []string{"id"}}, []table.Field{field})
		if i := slices.IndexFunc(have, func(h table.Field) bool { return h.Name == field.Name }); i > 0 && err != nil {
			t.Fatalf("%s cannot become %s: %v", have[i].Type, field.Type, err)
		}
	}
}

// FuzzSchemaJSON: a schema part is refused, or every type in it has a column that binds.
func FuzzSchemaJSON(f *testing.F) {
	for _, s := range []string{
		`{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2046"},"field":"d","default":"AA=="}],"name":"x.Value"}`,
		`{"type":"struct","fields":[{"type":"map","keys":{"type":"string"},"values":{"type":"array","items":{"type":"int64","name":"io.debezium.time.NanoTimestamp"}},"field":"m"}]}`,
		`{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{"type":"double","field":"x"}]},{"type":"string","field":"op"}]}`,
		`{"type":"string","name":"io.debezium.time.ZonedTimestamp"}`, `null`, `[]`, `{"type":"struct","fields":[{"type":"struct","field":"s","fields":[]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseConnectSchema(b)
		if err != nil {
			return
		}
		v, err := newValueSchema(d)
		if err != nil || v.row == nil {
			return
		}
		shape := v.shape(nil)
		fields, err := shape.Fields(Types{})
		if err != nil {
			return
		}
		_, err = Bind(&table.Schema{Fields: fields}, shape, Options{})
		if err != nil && !strings.Contains(err.Error(), "twice") {
			t.Fatalf("%s: %v", b, errors.Unwrap(err))
		}
	})
}
