//go:build integration

package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// typeTables are the tables of b_types, one for each family of types, with what is set for some.
var typeTables = map[string][]string{
	"pg": {"t_array", "t_bin", "t_char", "t_default", "t_geo", "t_int", "t_num", "t_num_special", "t_other", "t_time", "t_time_special"},
	"my": {"t_bin", "t_char", "t_default", "t_generated", "t_geo", "t_int", "t_num", "t_other", "t_time", "t_time_zero"},
}

// typeSettings is what the values of a table ask for beyond the defaults.
var typeSettings = map[string]config{
	"pg.t_time":         {"types": config{"time": "int64"}}, // 24:00:00
	"pg.t_time_special": {"on-error": "skip"},               // years beyond what microseconds in 64 bits reach
}

// TestReplayTypes replays every column type of both databases, in one run over all tables.
func TestReplayTypes(t *testing.T) {
	for _, db := range []string{"pg", "my"} {
		for encoding, kind := range map[string]string{"json_schema": disk, "json_schema_options": s3} {
			t.Run(db+"/"+encoding+"/"+kind, func(t *testing.T) {
				t.Parallel()
				l := newLake(t, kind)
				replayTypes(t, db, encoding, l, nil)
			})
		}
	}
}

// TestReplayTypesSchemaless replays the same events without schemas into tables that exist already, made as the
// schemas would have made them.
func TestReplayTypesSchemaless(t *testing.T) {
	for _, db := range []string{"pg", "my"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			pattern := newLake(t, disk)
			replayTypes(t, db, "json_schema_options", pattern, nil)
			l := newLake(t, disk)
			for _, name := range typeTables[db] {
				createLike(t, pattern.table("types."+name), l.table("types."+name))
			}
			replayTypes(t, db, "json", l, config{"types": config{"decimal": "base64", "binary": "base64", "infinity": "null", "nan": "null"}})
		})
	}
}

func replayTypes(t *testing.T, db, encoding string, l lake, more config) {
	prefix := slug(t) + "." + encoding + "."
	records := events(t, db+"/b_types", encoding, prefix, func(topic string) bool { return topic != db })
	replay(t, records)
	var mappings []config
	for _, name := range typeTables[db] {
		mappings = append(mappings, table(prefix+db+"."+schemaTable(db)+"."+name, "types."+name,
			config{"options": config{"bucket": "1"}, "types": config{"infinity": "null", "nan": "null"}}, typeSettings[db+"."+name], more))
	}
	catchUp(t, newConfig(l, prefix+"group", mappings...))
	truths := expected(t, db+"/b_types")
	require.Equal(t, len(truths), len(typeTables[db]), "tables of the fixture: %v", slices.Sorted(maps.Keys(truths)))
	for _, name := range typeTables[db] {
		t.Run(name, func(t *testing.T) {
			x := l.table("types." + name)
			judges := readers
			if name == "t_time_special" { // Python's calendar ends before the year 1 and after 9999
				judges = []string{"paimon", "sink"}
			}
			rows := x.agreedBy(t, judges...)
			requireTruth(t, db, truths[schemaTable(db)+"."+name], x.schema(t), rows, knownDifferences(db, name, encoding))
			changes := x.changes(t)
			requireFold(t, changes, []string{"id"}, rows)
			requirePairs(t, changes, []string{"id"})
			x.fsck(t, "--replay", "all")
		})
	}
}

// createLike makes a table with the schema of another, by the real Paimon.
func createLike(t *testing.T, pattern, x target) {
	t.Helper()
	s := pattern.schema(t)
	step := map[string]any{"op": "create", "columns": s.Fields, "primaryKeys": s.PrimaryKeys, "options": s.Options}
	shared.java.must(t, x.java("write", "--input", writeFile(t, "create.jsonl", jsonText(t, step)+"\n"))...)
}

// withOptions tells the encodings that send a NULL as such.
func withOptions(encoding string) bool { return strings.HasSuffix(encoding, "_options") }
