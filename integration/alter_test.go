//go:build integration

package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// declaredRow is a create event with its schema part; a column is the text of its field: `"field":"n","type":"int32",...`.
func declaredRow(topic string, id int, cells string, columns ...string) record {
	fields := `{"type":"int64","optional":false,"field":"id"}`
	for _, c := range columns {
		fields += fmt.Sprintf(`,{%s}`, c)
	}
	image := func(name string) string {
		return fmt.Sprintf(`{"type":"struct","optional":true,"field":%q,"name":"d.o.c.Value","fields":[%s]}`, name, fields)
	}
	return keyed(topic, 0, fmt.Sprintf(`{"schema":{"type":"struct","optional":false,"name":"d.o.c.Key","fields":[{"type":"int64","optional":false,"field":"id"}]},"payload":{"id":%d}}`, id),
		fmt.Sprintf(`{"schema":{"type":"struct","optional":false,"name":"d.o.c.Envelope","fields":[%s,%s,{"type":"string","optional":false,"field":"op"}]},"payload":{"before":null,"after":{"id":%d,%s},"op":"c"}}`,
			image("before"), image("after"), id, cells))
}

// TestAlterTable: what ALTER TABLE does at the source, one form of the table a run, so that each is in files of its own schema: a
// column described, relaxed, renamed, dropped and widened, also inside of nested ones; vectors.
func TestAlterTable(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	l := newLake(t, disk)
	box := func(members string) string {
		return `"field":"box","type":"struct","optional":true,"name":"box","fields":[` + members + `]`
	}
	list := func(typ string) string {
		return fmt.Sprintf(`"field":"list","type":"array","optional":true,"items":{"type":%q,"optional":true}`, typ)
	}
	strict, relaxed := `"field":"label","type":"string","optional":false,"default":"x"`, `"field":"label","type":"string","optional":true`
	narrow, wide := `"field":"n","type":"int32","optional":true`, `"field":"n","type":"int64","optional":true,"doc":"how many"`
	vector := `"field":"v","type":"array","optional":true,"name":"io.debezium.data.FloatVector","version":1,"items":{"type":"float","optional":false}`
	for i, form := range []struct {
		cells   string
		columns []string
	}{
		{`"label":"a","n":1,"box":{"w":1},"list":[1,null]`, []string{strict, narrow, box(`{"type":"int32","optional":true,"field":"w"}`), list("int32")}},
		{`"label":null,"n":9007199254740993,"box":{"w":9007199254740993,"h":"x"},"list":[9007199254740993],"v":[0.5,-1.0]`,
			[]string{relaxed, wide, box(`{"type":"int64","optional":true,"field":"w"},{"type":"string","optional":true,"field":"h"}`), list("int64"), vector}},
		{`"title":"c","n":3`, []string{`"field":"title","type":"string","optional":true`, wide}},
	} {
		produce(t, []record{declaredRow(topic, i+1, form.cells, form.columns...)})
		catchUp(t, newConfig(l, topic, table(topic, "orchard.crate", config{"options": config{"bucket": "1"}})))
	}
	x := l.table("orchard.crate")
	rows := x.agreed(t)
	require.Equal(t, []string{
		`{"id":1,"label":"a","n":1,"box":{"w":1,"h":null},"list":[1,null],"v":null,"title":null}`,
		`{"id":2,"label":null,"n":9007199254740993,"box":{"w":9007199254740993,"h":"x"},"list":[9007199254740993],"v":[0.5,-1],"title":null}`,
		`{"id":3,"label":null,"n":3,"box":null,"list":null,"v":null,"title":"c"}`,
	}, rows)
	schema := x.schema(t)
	require.Contains(t, string(x.get(t, fmt.Sprint("schema/schema-", schema.ID))), `"how many"`)
	require.Equal(t, `"STRING"`, string(schema.Fields[1].Type), "NOT NULL was dropped")
	requireFold(t, x.changes(t), []string{"id"}, rows)
	x.fsck(t, "--replay", "all")
}
