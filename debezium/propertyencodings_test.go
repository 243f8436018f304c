package debezium

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// otherTypes are types that a user may have given a column.
var otherTypes = []string{
	"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DECIMAL(5, 2)", "DECIMAL(20, 0)", "DECIMAL(38, 18)", "STRING", "VARCHAR(5)",
	"CHAR(3)", "BYTES", "BINARY(4)", "DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
	"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}

// TestPropertyOfEncodings: whatever type a column has that a source's may go to, a value ends in it alike from JSON with schema and
// from Avro: the same cell, or the same refusal.
func TestPropertyOfEncodings(t *testing.T) {
	r := source{rand.New(rand.NewPCG(testSeed(t), 29))}
	bound := 0
	for range 400 {
		s, natural := r.typed(0)
		typ := natural
		if r.IntN(8) > 0 {
			typ = mustParse(t, otherTypes[r.IntN(len(otherTypes))])
		}
		registry := &memoryRegistry{schemas: []string{avroEnvelope(`{"name":"id","type":"int"}`, fmt.Sprintf(`{"name":"x","type":["null",%s],"default":null}`, s.avro))}}
		d := NewDecoder(Config{Registry: registry.open(t)})
		fields := []table.Field{field1("id", "INT NOT NULL"), {Name: "x", Type: typ}}
		schema := &table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}
		read := func(value []byte) (string, bool) {
			var f Frame
			require.NoError(t, d.Frame(t.Context(), &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: value}, &f))
			p, err := Bind(schema, f.Shape, Options{})
			if err != nil {
				return "refused: " + err.Error(), false
			}
			b := table.NewBatch(fields)
			if _, err = p.Append(&f, b); err != nil {
				return string(reasonOf(t, err)), true
			}
			return string(table.AppendCanonical(nil, typ, &b.Columns[1], 0)), true
		}
		for range 6 {
			in := s.value()
			inJSON, ok := read([]byte(wrapped(s.schema, in)))
			inAvro, _ := read(registry.encode(t, 0, map[string]any{"before": nil, "op": "c", "after": map[string]any{"a.b.Value": map[string]any{"id": int32(1), "x": map[string]any{s.union: s.native()}}}}))
			require.Equal(t, inJSON, inAvro, "%s of %s into %s", in, s.schema, typ)
			if ok {
				bound++
			}
		}
	}
	require.Greater(t, bound, 300)
}

func mustParse(t *testing.T, text string) table.Type {
	typ, err := table.ParseType(text)
	require.NoError(t, err)
	return typ
}
