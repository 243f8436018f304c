package debezium

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// avroEnvelope is the schema of an envelope whose rows have the given fields.
func avroEnvelope(fields ...string) string {
	return fmt.Sprintf(`{"type":"record","name":"Envelope","namespace":"a.b","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[%s]}],"default":null},`+
		`{"name":"after","type":["null","Value"],"default":null},{"name":"op","type":"string"}]}`, strings.Join(fields, ","))
}

// avroRows frames records of several schemas, binds each to one table, and returns the rows or the reason why there is none.
func avroRows(t *testing.T, schema *table.Schema, registry *memoryRegistry, records ...[]byte) []string {
	t.Helper()
	d := NewDecoder(Config{Registry: registry.open(t)})
	var out []string
	for i, value := range records {
		var f Frame
		if err := d.Frame(t.Context(), &Record{Topic: "t", Offset: int64(i), Value: value, Key: []byte(`{"id":1}`)}, &f); err != nil {
			out = append(out, string(reasonOf(t, err)))
			continue
		}
		p, err := Bind(schema, f.Shape, Options{Types: Types{}})
		require.NoError(t, err)
		b := table.NewBatch(schema.Fields)
		if _, err := p.Append(&f, b); err != nil {
			out = append(out, string(reasonOf(t, err)))
			continue
		}
		out = append(out, string(table.AppendCanonicalRow(nil, schema.Fields, b, 0)))
	}
	return out
}

// TestAvroByName is the end of case U36: a later schema has its fields in another order and one more with a default, and fields are
// told by their names.
func TestAvroByName(t *testing.T) {
	registry := &memoryRegistry{schemas: []string{
		avroEnvelope(`{"name":"id","type":"long"}`, `{"name":"label","type":["null","string"],"default":null}`, `{"name":"weight","type":["null","int"],"default":null}`),
		avroEnvelope(`{"name":"weight","type":["null","int"],"default":null}`, `{"name":"grade","type":["int","null"],"default":7}`, `{"name":"id","type":"long"}`, `{"name":"label","type":["null","string"],"default":null}`),
	}}
	schema := &table.Schema{PrimaryKeys: []string{"id"}, Fields: []table.Field{
		field1("id", "BIGINT NOT NULL"), field1("label", "STRING"), field1("weight", "INT"), field1("grade", "INT"),
	}}
	event := func(id int, cells map[string]any) []byte {
		return registry.encode(t, id, map[string]any{"before": nil, "after": map[string]any{"a.b.Value": cells}, "op": "c"})
	}
	label, weight := map[string]any{"string": "fig"}, map[string]any{"int": int32(3)}
	require.Equal(t, []string{
		`{"id":1,"label":"fig","weight":3,"grade":null}`, `{"id":2,"label":"fig","weight":3,"grade":5}`, `{"id":3,"label":null,"weight":null,"grade":null}`, `{"id":4,"label":"fig","weight":3,"grade":null}`,
	}, avroRows(t, schema, registry,
		event(0, map[string]any{"id": int64(1), "label": label, "weight": weight}),
		event(1, map[string]any{"id": int64(2), "label": label, "weight": weight, "grade": map[string]any{"int": int32(5)}}),
		event(1, map[string]any{"id": int64(3), "label": nil, "weight": nil, "grade": nil}),
		event(0, map[string]any{"id": int64(4), "label": label, "weight": weight}),
	))
}

// TestAvroRecursive: a type that holds itself has no Paimon type; its records are bad, others go on.
func TestAvroRecursive(t *testing.T) {
	registry := &memoryRegistry{schemas: []string{
		avroEnvelope(`{"name":"id","type":"long"}`, `{"name":"tree","type":["null",{"type":"record","name":"Node","fields":[{"name":"left","type":["null","Node"]}]}]}`),
		avroEnvelope(`{"name":"id","type":"long"}`),
	}}
	schema := &table.Schema{PrimaryKeys: []string{"id"}, Fields: []table.Field{field1("id", "BIGINT NOT NULL")}}
	event := func(id int, cells map[string]any) []byte {
		return registry.encode(t, id, map[string]any{"before": nil, "after": map[string]any{"a.b.Value": cells}, "op": "c"})
	}
	require.Equal(t, []string{"schema", `{"id":2}`}, avroRows(t, schema, registry,
		event(0, map[string]any{"id": int64(1), "tree": nil}), event(1, map[string]any{"id": int64(2)})))
}
