//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keylessTopics are the captured topics of source tables without a key. Some also update and delete.
var keylessTopics = []struct {
	capture, topic string
	changes        bool
}{
	{"pg_c_identity_p1_default", "pg.public.t_nokey_full", true},
	{"pg_c_identity_p1_default", "pg.public.t_nokey_default", false},
	{"my_c_identity_p1_default", "my.shop.t_nokey", true},
	{"my_c_identity_p1_default", "my.shop.t_unique_null", true},
}

// TestAppendTables: tables of both databases that have no key become append tables. As a log of changes each adds up to the rows
// that the source holds, and all readers see the same.
func TestAppendTables(t *testing.T) {
	url, err := registry()
	require.NoError(t, err)
	for _, encoding := range []string{"json_schema", "avro"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			appendTables(t, encoding, url)
		})
	}
}

func appendTables(t *testing.T, encoding, url string) {
	l, prefix := newLake(t, disk), slug(t)+"."
	var mappings []config
	for _, k := range keylessTopics {
		c := captures(t, k.capture)[0]
		var ids map[uint32]uint32
		if encoding == "avro" {
			ids = post(t, url, c.schemas)
		}
		replay(t, c.of(t, encoding, k.topic, prefix, ids))
		mapping := table(prefix+k.topic, "shop."+tableName(&c, "log", k.topic)[strings.Index(tableName(&c, "log", k.topic), ".")+1:])
		if k.changes {
			mapping["on-keyless-change"], mapping["metadata"] = "append", config{"change_kind": "kind"}
		}
		mappings = append(mappings, mapping)
	}
	catchUp(t, newConfig(l, slug(t), mappings...).with(config{"registry": config{"url": url}}))
	for i, k := range keylessTopics {
		c := captures(t, k.capture)[0]
		x := l.table(mappings[i]["table"].(string))
		rows := x.agreed(t)
		changes := x.changes(t)
		require.Equal(t, map[string]int{"+I": len(rows)}, kinds(changes))
		var streamed []string
		for _, c := range changes {
			streamed = append(streamed, string(c.Row))
		}
		require.Equal(t, rows, sorted(streamed))
		requireRows(t, c.db, c.truths[c.truthOf(k.topic)], x.schema(t), added(t, rows))
		verifies(t, x)
	}
}

// added takes the rows of a log together: each image counts, as its kind says, once more or once less.
func added(t *testing.T, rows []string) []map[string]json.RawMessage {
	t.Helper()
	count := map[string]int{}
	sign := map[string]int{`"+I"`: 1, `"+U"`: 1, `"-U"`: -1, `"-D"`: -1}
	for _, row := range rows {
		var cells map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(row), &cells))
		n := 1
		if kind, ok := cells["change_kind"]; ok {
			n = sign[string(kind)]
			require.NotZero(t, n, row)
			delete(cells, "change_kind")
		}
		text, err := json.Marshal(cells)
		require.NoError(t, err)
		count[string(text)] += n
	}
	var out []map[string]json.RawMessage
	for text, n := range count {
		require.GreaterOrEqual(t, n, 0, "%s went more often than it came", text)
		for range n {
			var cells map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(text), &cells))
			out = append(out, cells)
		}
	}
	return out
}

// requireRows wants rows, in any order, to be those of a source table without a key.
func requireRows(t *testing.T, db string, source truth, s schema, rows []map[string]json.RawMessage) {
	t.Helper()
	types := map[string]json.RawMessage{}
	for _, f := range s.Fields {
		types[f.Name] = compact(t, f.Type)
	}
	require.Len(t, rows, len(source.Rows))
	for _, want := range source.Rows {
		at := slices.IndexFunc(rows, func(got map[string]json.RawMessage) bool {
			for column, dbType := range source.Columns {
				if cellHolds(db, dbType, want[column], types[column], got[column]) != nil {
					return false
				}
			}
			return true
		})
		require.GreaterOrEqual(t, at, 0, "the source has a row that the table has not: %s", fmt.Sprint(want))
		rows = slices.Delete(rows, at, at+1)
	}
}

// verifies wants the sink's own check to find nothing wrong. Paimon's is for tables with a key.
func verifies(t *testing.T, x target) {
	t.Helper()
	require.Len(t, lines(sink(t, x.cli("verify")...)), 1, "nothing but the heading")
}

// TestAppendTogether: Paimon's writer and the sink take turns at append tables with and without buckets; Paimon compacts and
// the sink does; nobody loses a row.
func TestAppendTogether(t *testing.T) {
	t.Parallel()
	l := newLake(t, disk)
	for _, table_ := range []struct {
		name    string
		options config
		parts   []string
	}{
		{"plain", config{}, nil},
		{"buckets", config{"bucket": "3", "bucket-key": "id"}, []string{"label"}},
	} {
		topic, group := slug(t)+"."+table_.name, slug(t)+table_.name
		createTopic(t, topic, 2)
		x := l.table("orchard." + table_.name)
		c := crate{}
		mapping := table(topic, x.name, config{"options": table_.options, "partition-by": table_.parts})
		var want []string
		emit := func(ids ...int64) {
			var records []record
			for _, id := range ids {
				r := c.create(topic, int32(id%2), id, "fig", int(id))
				r.Key = nil
				records = append(records, r)
				want = append(want, fmt.Sprintf(`{"id":%d,"label":"fig","weight":%d}`, id, id))
			}
			produce(t, records)
			catchUp(t, newConfig(l, group, mapping))
		}
		stranger := func(script string) { // as in a job of Flink or Spark
			shared.java.must(t, x.java("write", "--input", writeFile(t, "script.jsonl", script), "--user", "stranger")...)
		}
		emit(1, 1, 2)
		emit(3, 4, 5, 6, 7)
		stranger(`{"row":{"id":1,"label":"fig","weight":1}}` + "\n" + `{"op":"commit"}` + "\n" + `{"row":{"id":8,"label":"rye","weight":1}}` + "\n")
		want = append(want, `{"id":1,"label":"fig","weight":1}`, `{"id":8,"label":"rye","weight":1}`)
		emit(1)
		emit(9)
		require.Equal(t, sorted(want), x.agreed(t))
		stranger(`{"op":"compact"}` + "\n")
		require.Equal(t, "COMPACT", x.latest(t).Kind, table_.name)
		emit(10, 1)
		emit(11)
		sink(t, x.cli("compact", "--full")...)
		require.Equal(t, "COMPACT", x.latest(t).Kind, table_.name)
		emit(12)
		require.Equal(t, sorted(want), x.agreed(t))
		require.Equal(t, map[string]int{"+I": len(want)}, kinds(x.changes(t)))
		requireAlikeFiles(t, x)
		verifies(t, x)
	}
}

// requireAlikeFiles wants what the manifests say of the sink's files to be what they say of Paimon's own, but for what a file holds.
func requireAlikeFiles(t *testing.T, x target) {
	t.Helper()
	var tables struct {
		Files []map[string]any `json:"files"`
	}
	require.NoError(t, json.Unmarshal([]byte(shared.java.must(t, x.java("files", "--system", "files")...)), &tables))
	require.NotEmpty(t, tables.Files)
	for _, f := range tables.Files {
		require.Nil(t, f["min_key"], "%v", f)
		require.Nil(t, f["max_key"], "%v", f)
		require.EqualValues(t, 0, f["level"], "%v", f)
		require.EqualValues(t, 0, f["deleteRowCount"], "%v", f)
		require.Equal(t, "parquet", f["file_format"], "%v", f)
		require.NotContains(t, f["null_value_counts"], "=null", "%v", f)
	}
}
