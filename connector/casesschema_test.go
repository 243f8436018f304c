package connector

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table/manifest"
	"sink/table/object"
)

// columnsOf are declared columns of crates, "label STRING" each.
func columnsOf(names ...string) (columns []declaredColumn) {
	connect := map[string]string{"INT": `"type":"int32"`, "STRING": `"type":"string"`, "BIGINT": `"type":"int64"`}
	for _, text := range names {
		name, typ, _ := strings.Cut(text, " ")
		columns = append(columns, declaredColumn{name: name, connect: connect[typ], typ: typ})
	}
	return columns
}

// wantSchemas wants so many versions of the schema, the last with these columns.
func wantSchemas(versions int64, columns ...string) func(*testing.T, *stage, *object.Mem, Config) {
	return func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
		schema, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
		require.NoError(t, err)
		var have []string
		for _, f := range schema.Fields {
			have = append(have, f.Name+" "+f.Type.String())
		}
		require.Equal(t, columns, have)
		require.Equal(t, versions-1, schema.ID, "one version a change")
	}
}

// TestNewColumn is case U30: a new column is used by the very next record; several come at once; a type grows.
func TestNewColumn(t *testing.T) {
	old, grown := columnsOf("label STRING", "weight INT"), columnsOf("label STRING", "weight INT", "grade INT")
	undeclared := func(m *Table) { m.Columns = nil }
	create := declaredEvent("c", 1, old, "", `{"id":1,"label":"a","weight":1}`)
	two := declaredEvent("c", 2, old, "", `{"id":2,"label":"b","weight":2}`)
	t.Run("used at once", func(t *testing.T) {
		play(t, script{
			table: undeclared, offsets: []int64{3},
			events: []event{create, two, declaredEvent("u", 1, grown, `{"id":1,"label":"a","weight":1,"grade":null}`, `{"id":1,"label":"a","weight":1,"grade":5}`)},
			rows:   []string{`{"id":1,"label":"a","weight":1,"grade":5}`, `{"id":2,"label":"b","weight":2,"grade":null}`},
			changes: []string{
				`+I {"id":1,"label":"a","weight":1,"grade":null}`, `-U {"id":1,"label":"a","weight":1,"grade":null}`, `+U {"id":1,"label":"a","weight":1,"grade":5}`,
				`+I {"id":2,"label":"b","weight":2,"grade":null}`,
			},
			check: wantSchemas(2, "id BIGINT NOT NULL", "label STRING", "weight INT", "grade INT"),
		})
	})
	t.Run("old events in between", func(t *testing.T) { // from another partition, or sent again
		play(t, script{
			table: undeclared, offsets: []int64{3}, skips: 2,
			events: []event{create, declaredEvent("c", 3, grown, "", `{"id":3,"label":"c","weight":3,"grade":1}`), two},
			rows:   []string{`{"id":1,"label":"a","weight":1,"grade":null}`, `{"id":2,"label":"b","weight":2,"grade":null}`, `{"id":3,"label":"c","weight":3,"grade":1}`},
			changes: []string{
				`+I {"id":1,"label":"a","weight":1,"grade":null}`, `+I {"id":3,"label":"c","weight":3,"grade":1}`, `+I {"id":2,"label":"b","weight":2,"grade":null}`,
			},
			check: wantSchemas(2, "id BIGINT NOT NULL", "label STRING", "weight INT", "grade INT"),
		})
	})
	t.Run("three columns and a wider type", func(t *testing.T) {
		wide := columnsOf("label STRING", "weight BIGINT", "x INT", "y STRING", "z BIGINT")
		row1, row2 := `{"id":1,"label":"a","weight":1,"x":null,"y":null,"z":null}`, `{"id":4,"label":"d","weight":4000000000,"x":1,"y":"y","z":2}`
		play(t, script{
			table: undeclared, events: []event{create, declaredEvent("c", 4, wide, "", row2)}, rows: []string{row1, row2}, changes: []string{"+I " + row1, "+I " + row2}, offsets: []int64{2}, skips: 2,
			check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
				schema, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
				require.NoError(t, err)
				require.Len(t, schema.Fields, 6)
				require.EqualValues(t, 1, schema.ID, "one version a change")
			},
		})
	})
	t.Run("fail", func(t *testing.T) {
		play(t, script{
			table:  func(m *Table) { m.Columns, m.SchemaChange = nil, Fail },
			events: []event{create, declaredEvent("c", 3, grown, "", `{"id":3,"label":"c","weight":3,"grade":1}`)}, skips: 2,
			rows: []string{`{"id":1,"label":"a","weight":1}`}, changes: []string{`+I {"id":1,"label":"a","weight":1}`}, offsets: []int64{1}, fails: "offset 1: the source's schema has changed",
		})
	})
}

// TestColumnsComeAndGo is case U32: a renamed column, one that is dropped and comes back as another type.
func TestColumnsComeAndGo(t *testing.T) {
	old := columnsOf("label STRING", "weight INT")
	undeclared := func(m *Table) { m.Columns = nil }
	create := declaredEvent("c", 1, old, "", `{"id":1,"label":"a","weight":1}`)
	t.Run("renamed", func(t *testing.T) {
		row1, row2 := `{"id":1,"label":"a","weight":1,"title":null}`, `{"id":2,"label":null,"weight":2,"title":"b"}`
		play(t, script{
			table: undeclared, events: []event{create, declaredEvent("c", 2, columnsOf("title STRING", "weight INT"), "", `{"id":2,"title":"b","weight":2}`)}, skips: 2,
			rows: []string{row1, row2}, changes: []string{"+I " + row1, "+I " + row2}, offsets: []int64{2},
		})
	})
	gone := declaredEvent("c", 2, columnsOf("label STRING"), "", `{"id":2,"label":"b"}`)
	back := declaredEvent("c", 3, columnsOf("label STRING", "weight STRING"), "", `{"id":3,"label":"c","weight":"heavy"}`)
	t.Run("comes back as text", func(t *testing.T) {
		play(t, script{
			table: undeclared, events: []event{create, gone, back}, skips: 2, offsets: []int64{2}, fails: "offset 2: ",
			rows: []string{`{"id":1,"label":"a","weight":1}`, `{"id":2,"label":"b","weight":null}`}, changes: []string{`+I {"id":1,"label":"a","weight":1}`, `+I {"id":2,"label":"b","weight":null}`},
		})
	})
	t.Run("comes back as text, put aside", func(t *testing.T) {
		next := declaredEvent("c", 4, old, "", `{"id":4,"label":"d","weight":4}`)
		play(t, script{
			table:  func(m *Table) { m.Columns, m.SchemaChange, m.Letters = nil, DeadLetter, Letters{Path: "_dead"} },
			events: []event{create, gone, back, next}, skips: 2, offsets: []int64{4}, stats: TableStats{DeadLetters: 1},
			rows:    []string{`{"id":1,"label":"a","weight":1}`, `{"id":2,"label":"b","weight":null}`, `{"id":4,"label":"d","weight":4}`},
			changes: []string{`+I {"id":1,"label":"a","weight":1}`, `+I {"id":2,"label":"b","weight":null}`, `+I {"id":4,"label":"d","weight":4}`},
			check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
				require.Equal(t, []string{"0/2"}, lettersIn(t, store, "_dead"))
			},
		})
	})
}
