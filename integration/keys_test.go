//go:build integration

package integration

import (
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ref(text string) *string { return &text }

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// tablesOf are the tables of a database on disk.
func tablesOf(t testing.TB, l lake, database string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.path(), database+".db"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestNoKey: a table without a key never collapses to one row, whatever tells its changes apart (U14.1). See also TestAppendTables.
func TestNoKey(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 3)
	c := crate{}
	var records []record
	for i := range 3 {
		r := c.create(topic, int32(i), 1, "same", 1)
		r.Key = nil
		records = append(records, r)
	}
	produce(t, records)
	l := newLake(t, disk)
	code, said := refused(t, environment(), "run", "-c", newConfig(l, slug(t), table(topic, "orchard.keyed", config{"primary-key": []string{"id"}})).write(t), "--until-end")
	require.Equal(t, 1, code, "%s", said)
	says(t, said, topic, "key")
	require.Empty(t, l.table("orchard.keyed").snapshots(t))

	catchUp(t, newConfig(l, slug(t), table(topic, "orchard.crate")))
	x := l.table("orchard.crate")
	row := `{"id":1,"label":"same","weight":1}`
	require.Equal(t, []string{row, row, row}, x.agreed(t))
	require.Equal(t, map[string]int{"+I": 3}, kinds(x.changes(t)))
	require.Empty(t, x.schema(t).PrimaryKeys)
}

// TestWrongKey: the record key is not part of the table's key, so changes of one row may lie in several partitions (U14.2).
func TestWrongKey(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 3)
	c := crate{}
	produce(t, []record{c.create(topic, 0, 1, "fig", 1)})
	sinkYAML := newConfig(newLake(t, disk), slug(t), table(topic, "orchard.crate", config{"primary-key": []string{"label"}}))
	code, said := refused(t, environment(), "run", "-c", sinkYAML.write(t), "--until-end")
	require.Equal(t, 1, code)
	says(t, said, topic, "column id", "label")
}

// TestKeyOrder: a table's key is in the order of the record key, not of the columns, also after a restart (U14.3, U14.4).
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	event := func(b, a int, v string) record {
		row := `{"type":"struct","optional":true,"field":"%s","fields":[{"type":"int32","optional":false,"field":"a"},{"type":"int32","optional":false,"field":"b"},{"type":"string","optional":true,"field":"v"}]}`
		key := fmt.Sprintf(`{"schema":{"type":"struct","optional":false,"fields":[{"type":"int32","optional":false,"field":"b"},{"type":"int32","optional":false,"field":"a"}]},"payload":{"b":%d,"a":%d}}`, b, a)
		value := `{"schema":{"type":"struct","optional":false,"name":"dock.x.Envelope","fields":[` + fmt.Sprintf(row, "before") + "," + fmt.Sprintf(row, "after") + "," + crateSource +
			`,{"type":"string","optional":false,"field":"op"},{"type":"int64","optional":true,"field":"ts_ms"}]},"payload":` +
			fmt.Sprintf(`{"before":null,"after":{"a":%d,"b":%d,"v":%q},"source":{"connector":"mysql","name":"dock","ts_ms":1,"db":"x","table":"x"},"op":"c","ts_ms":1}}`, a, b, v)
		return keyed(topic, 0, key, value)
	}
	l := newLake(t, disk)
	sinkYAML := newConfig(l, slug(t), table(topic, "orchard.pairs", config{"options": config{"bucket": "3"}}))
	x := l.table("orchard.pairs")
	for round := range 2 {
		var records []record
		for b := range 4 {
			for a := range 4 {
				records = append(records, event(b, a, fmt.Sprint("round ", round)))
			}
		}
		produce(t, records)
		catchUp(t, sinkYAML)
		require.Equal(t, []string{"b", "a"}, x.schema(t).PrimaryKeys)
		rows := x.agreed(t)
		require.Len(t, rows, 16)
		require.Equal(t, fmt.Sprintf(`{"a":1,"b":0,"v":"round %d"}`, round), rows[1], "rows in key order")
		x.fsck(t, "--replay", "all") // bucket by bucket, as Paimon hashes the keys
	}
}

// TestOddKeys: every type of key column, at its edges, lands in the bucket that the real Paimon picks (fsck's `bucket`),
// and a compaction by the real Paimon makes no duplicate and loses none (U18).
func TestOddKeys(t *testing.T) {
	t.Parallel()
	base := func(b ...byte) string { return fmt.Sprintf("%q", base64.StdEncoding.EncodeToString(b)) }
	keys := map[string][]string{
		"STRING":         {`""`, `" "`, `"ä"`, `"😀"`, `"1234567"`, `"12345678"`, `"123456789"`, `"a\u0000b"`, `"null"`, fmt.Sprintf("%q", strings.Repeat("long ", 50))},
		"BIGINT":         {"0", "-1", fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MinInt64), "9007199254740993"},
		"INT":            {"0", "-1", fmt.Sprint(math.MaxInt32), fmt.Sprint(math.MinInt32)},
		"DECIMAL(18, 4)": {`"0.0000"`, `"-0.0001"`, `"99999999999999.9999"`, `"-99999999999999.9999"`},
		"DECIMAL(20, 4)": {`"0.0000"`, `"-0.0001"`, `"9999999999999999.9999"`, `"-9999999999999999.9999"`},
		"DECIMAL(30, 4)": {`"0.0000"`, `"1.5000"`, `"99999999999999999999999999.9999"`, `"-99999999999999999999999999.9999"`},
		"TIMESTAMP(3)":   {"0", "-1", "253402300799999", "1700000000123"},
		"TIMESTAMP(6)":   {"0", "-1", "253402300799999999", "1700000000123456"},
		"DATE":           {"0", "-1", "2932896", "19000"},
		"BYTES":          {base(), base(0), base(0, 255, 254, 128), base(1, 2, 3, 4, 5, 6, 7), base(1, 2, 3, 4, 5, 6, 7, 8), base(1, 2, 3, 4, 5, 6, 7, 8, 9)},
		"BOOLEAN":        {"true", "false"},
	}
	l := newLake(t, disk)
	var records []record
	var mappings []config
	names := map[string]int{}
	for typ, values := range keys {
		name := strings.ToLower(strings.NewReplacer("(", "_", ", ", "_", ")", "").Replace(typ))
		topic := slug(t) + "." + name
		names[name] = len(values)
		for i, value := range values {
			records = append(records, keyed(topic, 0, `{"k":`+value+`}`, fmt.Sprintf(`{"before":null,"after":{"k":%s,"n":%d},"op":"c","ts_ms":1,"source":{}}`, value, i)))
		}
		mappings = append(mappings, table(topic, "odd."+name, config{
			"columns": config{"k": typ + " NOT NULL", "n": "INT"}, "primary-key": []string{"k"},
			"types":   config{"decimal": "string", "binary": "base64"},
			"options": config{"bucket": "7"},
		}))
	}
	replay(t, records)
	catchUp(t, newConfig(l, slug(t), mappings...))
	for name, n := range names {
		x := l.table("odd." + name)
		rows := x.agreed(t)
		require.Len(t, rows, n, name)
		x.fsck(t)
		shared.java.must(t, x.java("compact", "--user", "compactor")...)
		requireSameLines(t, rows, x.agreed(t), "%s after a compaction by the real Paimon", name)
		x.fsck(t)
	}
}
