//go:build integration

package integration

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
	"github.com/stretchr/testify/require"
)

// avroForm is one form of a source table in Avro: the fields of its rows, and a row as goavro takes it.
type avroForm struct {
	fields []string
	row    map[string]any
}

// avroAlterations are a table through ALTER TABLE: a column added with a default, described, relaxed, widened (INT, DECIMAL, FLOAT, the precision
// of a timestamp), renamed and dropped.
func avroAlterations() []avroForm {
	decimal := func(precision, scale int) string {
		return fmt.Sprintf(`["null",{"type":"bytes","scale":%d,"precision":%d,"connect.version":1,"connect.parameters":{"scale":"%d","connect.decimal.precision":"%d"},"connect.name":"org.apache.kafka.connect.data.Decimal"}]`,
			scale, precision, scale, precision)
	}
	moment := func(name string) string {
		return `["null",{"type":"long","connect.version":1,"connect.name":"io.debezium.time.` + name + `"}]`
	}
	some := func(typ string, v any) map[string]any { return map[string]any{typ: v} }
	return []avroForm{
		{[]string{
			`{"name":"label","type":{"type":"string","connect.default":"x"},"default":"x"}`, `{"name":"n","type":["null","int"],"default":null}`, `{"name":"f","type":["null","float"],"default":null}`,
			`{"name":"d","type":` + decimal(10, 2) + `,"default":null}`, `{"name":"at","type":` + moment("Timestamp") + `,"default":null}`,
		}, map[string]any{"label": "a", "n": some("int", 1), "f": some("float", float32(0.1)), "d": some("bytes", []byte{0x04, 0xd2}), "at": some("long", 1700000000123)}},
		{[]string{
			`{"name":"label","type":["null","string"],"default":null}`, `{"name":"n","type":["null","long"],"doc":"how many","default":null}`, `{"name":"f","type":["null","double"],"default":null}`,
			`{"name":"d","type":` + decimal(14, 4) + `,"default":null}`, `{"name":"at","type":` + moment("MicroTimestamp") + `,"default":null}`, `{"name":"grade","type":[{"type":"int","connect.default":7},"null"],"default":7}`,
		}, map[string]any{
			"label": nil, "n": some("long", 9007199254740993), "f": some("double", 0.1), "d": some("bytes", []byte{0x04, 0xd3}), "at": some("long", 1700000000123456), "grade": some("int", 7),
		}},
		{[]string{`{"name":"title","type":["null","string"],"default":null}`, `{"name":"n","type":["null","long"],"default":null}`, `{"name":"grade","type":[{"type":"int","connect.default":7},"null"],"default":7}`},
			map[string]any{"title": some("string", "c"), "n": some("long", 3), "grade": nil}},
	}
}

// alteredSchema numbers the schemas beyond those of the captures.
const alteredSchema = 9_000_000

// TestAlterTableAvro: each form in a run, so that it is in files of its own schema, and the first form once more behind the last. The keys
// are plain JSON, as a connector with two converters sends them.
func TestAlterTableAvro(t *testing.T) {
	t.Parallel()
	url, err := registry()
	require.NoError(t, err)
	topic := slug(t)
	createTopic(t, topic, 1)
	l := newLake(t, disk)
	forms, schemas := avroAlterations(), map[string]json.RawMessage{}
	for i, form := range forms {
		schemas[fmt.Sprint(alteredSchema+i)] = json.RawMessage(fmt.Sprintf(`{"type":"record","name":"Envelope","namespace":"d.o.altered","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"long"},%s]}],"default":null},`+
			`{"name":"after","type":["null","Value"],"default":null},{"name":"op","type":"string"}]}`, strings.Join(form.fields, ",")))
	}
	ids := post(t, url, schemas)
	send := func(form, id int) {
		row := map[string]any{"id": id}
		for name, v := range forms[form].row {
			row[name] = v
		}
		codec, err := goavro.NewCodec(string(schemas[fmt.Sprint(alteredSchema+form)]))
		require.NoError(t, err)
		value, err := codec.BinaryFromNative(binary.BigEndian.AppendUint32([]byte{0}, ids[uint32(alteredSchema+form)]), map[string]any{"before": nil, "after": map[string]any{"d.o.altered.Value": row}, "op": "c"})
		require.NoError(t, err)
		produce(t, []record{keyed(topic, 0, fmt.Sprintf(`{"id":%d}`, id), string(value))})
		catchUp(t, newConfig(l, topic, table(topic, "orchard.altered", config{"options": config{"bucket": "1"}})).with(config{"registry": config{"url": url}}))
	}
	for i := range forms {
		send(i, i+1)
	}
	send(0, 4)
	x := l.table("orchard.altered")
	rows := x.agreed(t)
	first := `"label":"a","n":1,"f":0.10000000149011612,"d":"12.3400","at":"2023-11-14T22:13:20.123000","grade":null,"title":null}`
	require.Equal(t, []string{
		`{"id":1,` + first,
		`{"id":2,"label":null,"n":9007199254740993,"f":0.1,"d":"0.1235","at":"2023-11-14T22:13:20.123456","grade":7,"title":null}`,
		`{"id":3,"label":null,"n":3,"f":null,"d":null,"at":null,"grade":null,"title":"c"}`,
		`{"id":4,` + first,
	}, rows)
	schema := x.schema(t)
	require.Contains(t, string(x.get(t, fmt.Sprint("schema/schema-", schema.ID))), `"how many"`)
	types := map[string]string{}
	for _, f := range schema.Fields {
		types[f.Name] = string(f.Type)
	}
	require.Equal(t, map[string]string{"id": `"BIGINT NOT NULL"`, "label": `"STRING"`, "n": `"BIGINT"`, "f": `"DOUBLE"`, "d": `"DECIMAL(14, 4)"`, "at": `"TIMESTAMP(6)"`, "grade": `"INT"`, "title": `"STRING"`}, types)
	requireFold(t, x.changes(t), []string{"id"}, rows)
	x.fsck(t, "--replay", "all")
}
