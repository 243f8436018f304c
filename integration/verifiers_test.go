//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sink/table/goldentest"

	"github.com/stretchr/testify/require"
)

// TestVerifiers: each way in which a table of the real Paimon is broken in table/verify/testdata/broken.txt is found by the real Paimon
// and by `sink verify`, under the same code.
func TestVerifiers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unpackBroken(t, dir)
	text, err := os.ReadFile("../table/verify/testdata/broken.txt")
	require.NoError(t, err)
	cases := 0
	for _, line := range lines(string(text)) {
		var name, golden, code string
		if _, err := fmt.Sscan(line, &name, &golden, &code); err != nil || name == "#" {
			continue
		}
		cases++
		x := lake{uri: "file://" + filepath.Join(dir, name)}.table("g." + golden)
		theirs, err := shared.java.ask(x.java("fsck")...)
		require.NoError(t, err)
		ours := start(t, x.cli("verify", "-o", "json")...)
		exit := ours.wait(t, waitLong)
		if code == "-" {
			require.Zero(t, theirs.RC, "%s: %s", name, theirs.Out)
			require.Zero(t, exit, "%s: %s", name, ours.out.String())
			continue
		}
		said := code
		if code == "orphan" {
			said = "ORPHAN " // the summary counts orphans in any case
		}
		require.Contains(t, theirs.Out, said, "the real Paimon does not find %s: %s", name, theirs.Err)
		require.Contains(t, ours.out.String(), `"code":"`+code+`"`, "sink verify does not find %s", name)
	}
	require.Greater(t, cases, 50)
}

// requireReplayed wants `sink verify` to find no fault, and to have compared the changelog with the rows of each snapshot but an OVERWRITE.
func requireReplayed(t *testing.T, x target) {
	t.Helper()
	found := lines(sink(t, x.cli("verify", "-o", "json")...))
	require.NotEmpty(t, found)
	for _, line := range found[:len(found)-1] {
		require.NotContains(t, line, `"code":"replay","`, x.name)
	}
	var summary struct {
		Code string `json:"code"`
		What string `json:"what"`
	}
	require.NoError(t, json.Unmarshal([]byte(found[len(found)-1]), &summary))
	ids := x.snapshotIDs(t)
	require.Contains(t, summary.What, fmt.Sprintf("; %d snapshots replayed", len(ids)), x.name)
}

// TestVerifyReplaysEveryProducer: real Paimon makes tables of every merge engine whose changelog it makes itself, compacting on the way; the
// sink reads the same rows, and `sink verify` finds that the changelog gives those of each snapshot. Input changelogs: TestMergeEngines.
func TestVerifyReplaysEveryProducer(t *testing.T) {
	t.Parallel()
	r := diceOf(t, 1)
	l := newLake(t, disk)
	tables := map[string]map[string]string{
		"dedup_none":      {"changelog-producer": "none"},
		"dedup_lookup":    {"changelog-producer": "lookup"},
		"dedup_full":      {"changelog-producer": "full-compaction"},
		"sequence":        {"changelog-producer": "lookup", "sequence.field": "v"},
		"first":           {"changelog-producer": "lookup", "merge-engine": "first-row", "ignore-delete": "true"},
		"partial_lookup":  {"changelog-producer": "lookup", "merge-engine": "partial-update"},
		"sum_lookup":      {"changelog-producer": "lookup", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
		"sum_full":        {"changelog-producer": "full-compaction", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
		"sum_removes":     {"changelog-producer": "lookup", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"},
		"sum_none":        {"changelog-producer": "none", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
		"partial_removes": {"changelog-producer": "lookup", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		"partial_full":    {"changelog-producer": "full-compaction", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		"partial_ignore":  {"changelog-producer": "lookup", "merge-engine": "partial-update", "ignore-delete": "true"},
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		options := tables[name]
		options["bucket"], options["num-sorted-run.compaction-trigger"] = "2", "3"
		x := l.table("d." + name)
		shared.java.must(t, x.java("write", "--input", writeFile(t, "script.jsonl", producerScript(t, r, options)))...)
		require.Equal(t, sorted(x.rows(t, "paimon", 0)), sorted(x.rows(t, "sink", 0)), name)
		requireReplayed(t, x)
	}
}

// producerScript makes a table and commits changes to it, some after a full compaction.
func producerScript(t *testing.T, r *rand.Rand, options map[string]string) string {
	var s strings.Builder
	kinds := []string{"+I", "+U"}
	removes := options["partial-update.remove-record-on-delete"] != "" || options["merge-engine"] == "aggregation"
	if options["merge-engine"] == "" && options["sequence.field"] == "" || options["ignore-delete"] != "" || removes {
		kinds = append(kinds, "-D") // with sequence.field Paimon's own changelog does not always tell what a delete of nothing leaves
	}
	columns := []map[string]any{{"name": "id", "type": "INT NOT NULL"}, {"name": "v", "type": "INT"}, {"name": "w", "type": "STRING"}}
	say := func(v any) { s.WriteString(jsonText(t, v) + "\n") }
	say(map[string]any{"op": "create", "columns": columns, "primaryKeys": []string{"id"}, "options": options})
	for id := range 8 {
		for range 10 {
			kind := kinds[r.IntN(len(kinds))]
			row := map[string]any{"id": r.IntN(12), "v": r.IntN(100), "w": []any{nil, "a", "b"}[r.IntN(3)]}
			say(map[string]any{"kind": kind, "row": row})
		}
		say(map[string]any{"op": "commit", "id": 10 * (id + 1)})
		if id%3 == 2 {
			say(map[string]any{"op": "compact"})
		}
	}
	return s.String()
}

// unpackBroken puts each broken table into a warehouse of its own.
func unpackBroken(t *testing.T, dir string) {
	require.NoError(t, goldentest.Walk("../table/verify/testdata/broken.tar.zst", func(name string, content []byte) error {
		name, object, _ := strings.Cut(name, "/")
		path := filepath.Join(dir, name, "g.db", object)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o644)
	}))
}
