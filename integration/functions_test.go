//go:build integration

package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// nestedColumns are those of tables with functions of lists and maps.
var nestedColumns = [][2]any{
	{"id", "INT NOT NULL"}, {"a", "STRING"}, {"c", map[string]any{"type": "ARRAY", "element": "INT"}},
	{"m", map[string]any{"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}},
	{"n", map[string]any{"type": "ARRAY", "element": map[string]any{"type": "ROW", "fields": []map[string]any{
		{"id": 100, "name": "k", "type": "INT"}, {"id": 101, "name": "w", "type": "STRING"},
	}}}},
	{"s", "INT"},
}

// nestedRow is a random row of a key; cells, elements and members may be null.
func nestedRow(r *rand.Rand, id int) map[string]any {
	row := map[string]any{"a": string(rune('a' + r.IntN(26))), "s": r.IntN(8)}
	numbers, pairs, rows := []any{}, []any{}, []any{}
	for range r.IntN(4) {
		numbers = append(numbers, []any{nil, 1, 2, 3, 40}[r.IntN(5)])
	}
	for i := range r.IntN(4) {
		pairs = append(pairs, []any{fmt.Sprint("k", 3*r.IntN(2)+i), []any{nil, 1, 2}[r.IntN(3)]})
	}
	for range r.IntN(4) {
		rows = append(rows, []any{
			map[string]any{"k": r.IntN(5), "w": "x"}, map[string]any{"k": r.IntN(5), "w": string(rune('p' + r.IntN(5)))},
			map[string]any{"k": nil, "w": nil}, nil,
		}[r.IntN(4)])
	}
	row["c"], row["m"], row["n"] = numbers, pairs, rows
	for _, c := range []string{"a", "c", "m", "n"} {
		if r.IntN(5) == 0 {
			row[c] = nil
		}
	}
	row["id"] = id
	return row
}

// nestedCases are tables with the functions of lists and maps, with and without what Paimon lets one set of them.
func nestedCases() []engineCase {
	functions := map[string]string{
		"fields.a.aggregate-function": "last_value", "fields.c.aggregate-function": "collect",
		"fields.m.aggregate-function": "merge_map", "fields.n.aggregate-function": "nested_update",
	}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(functions)
		maps.Copy(all, more)
		return all
	}
	return []engineCase{
		{name: "plain", ops: "cud", nested: true, options: with(map[string]string{"merge-engine": "aggregation"})},
		{name: "keyed", ops: "cud", nested: true, sets: []string{"c", "n"}, options: with(map[string]string{"merge-engine": "aggregation",
			"fields.c.distinct": "true", "fields.n.nested-key": "k", "fields.a.aggregate-function": "listagg",
			"fields.a.list-agg-delimiter": " | ", "fields.a.ignore-retract": "true"})},
		{name: "ordered", ops: "cud", nested: true, options: with(map[string]string{"merge-engine": "aggregation", "sequence.field": "s",
			"fields.c.ignore-retract": "true", "fields.n.count-limit": "4", "fields.n.ignore-retract": "true",
			"fields.a.aggregate-function": "last_non_null_value"})},
		{name: "groups", ops: "c", nested: true, options: with(map[string]string{"merge-engine": "partial-update", "fields.s.sequence-group": "a,c,m,n"})},
	}
}

// TestNestedFunctions is TestMergeEngines for the functions that make lists and maps, retractions included.
func TestNestedFunctions(t *testing.T) {
	t.Parallel()
	compareEngines(t, nestedCases())
}
