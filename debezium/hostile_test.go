package debezium

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// Events that no Debezium sends: each is read as what it says, or refused with a reason, at a cost that its size explains.

// outcome is a row's second column, or why there is none.
func outcome(t *testing.T, d *Decoder, rec *Record, typ *table.Type) string {
	t.Helper()
	var f Frame
	if err := d.Frame(t.Context(), rec, &f); err != nil {
		return string(reasonOf(t, err))
	}
	fields := []table.Field{field1("id", "INT NOT NULL"), {Name: "x"}}
	switch {
	case typ != nil:
		fields[1].Type = *typ
	default:
		declared, err := f.Shape.Fields(Types{})
		if err != nil {
			return "no type: " + err.Error()
		}
		fields = declared
	}
	p, err := Bind(&table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}, f.Shape, Options{})
	if err != nil {
		return "refused: " + err.Error()
	}
	b := table.NewBatch(fields)
	if _, err := p.Append(&f, b); err != nil {
		return string(reasonOf(t, err))
	}
	return string(table.AppendCanonical(nil, fields[1].Type, &b.Columns[1], 0))
}

// avroX is the schema of envelopes of an id and a column x; in the body 00 is the null before, 02 the after and 0263 the op c.
func avroX(typ string) string {
	return avroEnvelope(`{"name":"id","type":"int"}`, `{"name":"x","type":`+typ+`}`)
}

func avroRecordOf(x ...byte) *Record {
	value := binary.BigEndian.AppendUint32([]byte{0}, 1)
	value = append(append(append(value, 0, 2, 2), x...), 2, 'c')
	return &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: value}
}

func avroDecoder(t *testing.T, schema string) *Decoder {
	return NewDecoder(Config{Registry: (&memoryRegistry{schemas: []string{schema}}).open(t)})
}

// TestMapKeysOnce: of a key that occurs twice in a map the last one counts, as in Jackson and in Java's maps, where it was first.
func TestMapKeysOnce(t *testing.T) {
	text, number := field1("k", "STRING NOT NULL").Type, field1("v", "INT").Type
	strings, numbers := &table.Type{Root: table.Map, Key: &text, Element: &number}, &table.Type{Root: table.Map, Key: &number, Element: &number}
	many := "{"
	for i := range 100 {
		many += fmt.Sprintf(`"k%d":%d,`, i%40, i)
	}
	many = many[:len(many)-1] + "}"
	for _, c := range []struct {
		value string
		typ   *table.Type
		want  string
	}{
		{`{"a":1,"b":2,"a":3}`, strings, `[["a",3],["b",2]]`},
		{`{"a":1,"\u0061":null}`, strings, `[["a",null]]`},
		{`[[1,1],[2,2],[1,3],[1,4]]`, numbers, `[[1,4],[2,2]]`},
		{`{"a":1,"b":2}`, strings, `[["a",1],["b",2]]`},
	} {
		rec := &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: fmt.Appendf(nil, `{"before":null,"after":{"id":1,"x":%s},"op":"c"}`, c.value)}
		require.Equal(t, c.want, outcome(t, NewDecoder(Config{}), rec, c.typ), c.value)
	}
	rec := &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: fmt.Appendf(nil, `{"before":null,"after":{"id":1,"x":%s},"op":"c"}`, many)}
	have := outcome(t, NewDecoder(Config{}), rec, strings)
	for i := range 40 {
		require.Contains(t, have, fmt.Sprintf(`["k%d",%d]`, i, map[bool]int{true: 80 + i, false: 40 + i}[i < 20]))
	}
	d := avroDecoder(t, avroX(`{"type":"map","values":"int"}`))
	twoBlocks := avroRecordOf(2, 2, 'a', 2, 4, 2, 'b', 4, 2, 'a', 6, 0)
	require.Equal(t, `[["a",3],["b",2]]`, outcome(t, d, twoBlocks, nil))
}

// TestDecimalWithoutScale: nobody knows what such bytes stand for, so that they are not taken for a whole number.
func TestDecimalWithoutScale(t *testing.T) {
	name := named("bytes", "org.apache.kafka.connect.data.Decimal")
	for _, parameters := range []string{``, `,"parameters":{}`, `,"parameters":{"scale":"two"}`, `,"parameters":{"scale":"2147483647"}`, `,"parameters":{"scale":"-9223372036854775808"}`} {
		rec := &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: []byte(wrapped(name+parameters, `"BNI="`))}
		require.Equal(t, "schema", outcome(t, NewDecoder(Config{}), rec, nil), parameters)
	}
	connect := `{"type":"bytes","connect.name":"org.apache.kafka.connect.data.Decimal"%s}`
	for _, c := range []struct{ typ, want string }{
		{fmt.Sprintf(connect, ``), "schema"}, {fmt.Sprintf(connect, `,"connect.parameters":{"scale":"x"}`), "schema"},
		{fmt.Sprintf(connect, `,"logicalType":"decimal","precision":10,"scale":2`), `"12.34"`},
		{fmt.Sprintf(connect, `,"connect.parameters":{"scale":2}`), `"12.34"`},
		{`{"type":"bytes","logicalType":"decimal","precision":10}`, `"1234"`}, // Avro's default is 0
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":1000000000}`, "schema"},
	} {
		require.Equal(t, c.want, outcome(t, avroDecoder(t, avroX(c.typ)), avroRecordOf(4, 0x04, 0xd2), nil), c.typ)
	}
}

// TestSchemaBombs: a short schema may stand for more columns than there is memory, and a short value for as many steps.
func TestSchemaBombs(t *testing.T) {
	levels := `{"name":"f0","type":{"type":"record","name":"L0","fields":[]}}`
	for i := range 40 {
		levels += fmt.Sprintf(`,{"name":"f%d","type":{"type":"record","name":"L%d","fields":[{"name":"a","type":"L%d"},{"name":"b","type":"L%d"}]}}`, i+1, i+1, i, i)
	}
	bomb := `{"type":"record","name":"Bomb","fields":[` + levels + `]}`
	require.Equal(t, "schema", outcome(t, avroDecoder(t, avroX(bomb)), avroRecordOf(), nil))
	chain := `{"name":"f0","type":{"type":"record","name":"L0","fields":[{"name":"a","type":"int"}]}}`
	for i := range 50 {
		chain += fmt.Sprintf(`,{"name":"f%d","type":{"type":"record","name":"L%d","fields":[{"name":"a","type":"L%d"}]}}`, i+1, i+1, i)
	}
	require.Equal(t, "schema", outcome(t, avroDecoder(t, avroX(`{"type":"record","name":"Chain","fields":[`+chain+`]}`)), avroRecordOf(), nil), "nested too deep")
	nothing := avroRecordOf([]byte(strings.Repeat("\xfe\xff\x03", 20_000) + "\x00")...) // 20,000 blocks of 32,767 nulls
	d := avroDecoder(t, avroX(`{"type":"array","items":["null","int"]}`))
	require.Equal(t, "malformed", outcome(t, d, nothing, nil))
	d = avroDecoder(t, avroX(`{"type":"array","items":"null"}`))
	list := field1("e", "INT").Type
	require.Equal(t, "malformed", outcome(t, d, nothing, &table.Type{Root: table.Array, Element: &list}))
}

// TestAvroLogicalTypes: a logical type that does not belong to its type is none (Avro specification, "Logical Types").
func TestAvroLogicalTypes(t *testing.T) {
	for _, c := range []struct {
		typ  string
		x    []byte
		want string
	}{
		{`{"type":"string","logicalType":"date"}`, []byte{2, 'a'}, `"a"`},
		{`{"type":"string","logicalType":"timestamp-millis"}`, []byte{2, 'a'}, `"a"`},
		{`{"type":"boolean","logicalType":"time-micros"}`, []byte{1}, `true`},
		{`{"type":"int","logicalType":"decimal","precision":4,"scale":2}`, []byte{2}, `1`},
		{`{"type":"long","logicalType":"date"}`, []byte{2}, `1`},
		{`{"type":"int","logicalType":"timestamp-micros"}`, []byte{2}, `1`},
		{`{"type":"int","logicalType":"date"}`, []byte{2}, `"1970-01-02"`},
		{`{"type":"long","logicalType":"timestamp-micros"}`, []byte{2}, `"1970-01-01T00:00:00.000001"`},
	} {
		require.Equal(t, c.want, outcome(t, avroDecoder(t, avroX(c.typ)), avroRecordOf(c.x...), nil), c.typ)
	}
}

// TestAvroStrictly: bytes that a writer of the schema cannot have written.
func TestAvroStrictly(t *testing.T) {
	for _, c := range []struct {
		typ  string
		x    []byte
		want string
	}{
		{`"boolean"`, []byte{7}, "malformed"},
		{`"int"`, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, "malformed"}, // 2^34
		{`"int"`, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, "-2147483648"},
		{`"long"`, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, "17179869184"},
		{`["null","int"]`, []byte{4, 2}, "malformed"},
		{`"string"`, []byte{4, 0xc3, 0x28}, "malformed"},
		{`"string"`, []byte{1}, "malformed"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, []byte{2}, "malformed"},
		{`"double"`, []byte{1, 2}, "malformed"},
	} {
		require.Equal(t, c.want, outcome(t, avroDecoder(t, avroX(c.typ)), avroRecordOf(c.x...), nil), c.typ)
	}
}

// TestAvroNamesOnce: a name that is defined twice, in two ways, means nothing certain.
func TestAvroNamesOnce(t *testing.T) {
	one, other := `{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`, `{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}`
	twice := func(a, b string) string {
		return `{"type":"record","name":"X","fields":[{"name":"f","type":` + a + `},{"name":"g","type":` + b + `}]}`
	}
	require.Equal(t, "schema", outcome(t, avroDecoder(t, avroX(twice(one, other))), avroRecordOf(2, 2, 'a'), nil))
	require.Equal(t, `{"f":{"a":1},"g":{"a":2}}`, outcome(t, avroDecoder(t, avroX(twice(one, one))), avroRecordOf(2, 4), nil))
	require.Equal(t, "schema", outcome(t, avroDecoder(t, avroX(`{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}`)), avroRecordOf(2, 2), nil))
}

// TestEnvelopeWithoutOp: an envelope that does not say what happened is no flattened row with columns before, after and source.
func TestEnvelopeWithoutOp(t *testing.T) {
	for _, op := range []string{``, `,"op":null`, `,"op":5`, `,"op":""`, `,"op":"cc"`, `,"op":"x"`, `,"op":["c"]`} {
		rec := &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: []byte(`{"before":null,"after":{"id":1,"x":2},"source":{"db":"a"}` + op + `,"ts_ms":5}`)}
		require.Equal(t, "not-a-row", outcome(t, NewDecoder(Config{}), rec, nil), op)
	}
	flat := &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: []byte(`{"id":1,"x":2,"op":5,"before":1,"source":"web"}`)}
	var f Frame
	require.NoError(t, NewDecoder(Config{}).Frame(t.Context(), flat, &f))
	require.Equal(t, KindFlat, f.Kind)
}
