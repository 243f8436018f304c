//go:build integration

package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpireRespectsConsumers: of a table with consumers the sink leaves the same snapshots as the real Paimon, whatever the consumers want
// next.
func TestExpireRespectsConsumers(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString(`{"op":"create","columns":[{"name":"id","type":"INT NOT NULL"}],"primaryKeys":["id"],"options":` +
		`{"bucket":"1","changelog-producer":"input","write-only":"true","snapshot.num-retained.min":"1"}}` + "\n")
	for id := 1; id <= 8; id++ {
		fmt.Fprintf(&script, `{"kind":"+I","row":{"id":%d}}`+"\n"+`{"op":"commit","id":%d}`+"\n", id, id)
	}
	made := newLake(t, disk).table("d.t")
	shared.java.must(t, made.java("write", "--input", writeFile(t, "script.jsonl", script.String()))...)
	for name, consumers := range map[string]map[string]int{
		"one": {"a": 4}, "the slowest of two": {"a": 6, "b": 3}, "ahead of all": {"a": 9}, "behind all": {"a": 1}, "none": {},
	} {
		java, ours := copyOf(t, made), copyOf(t, made)
		for _, x := range []target{java, ours} {
			for id, next := range consumers {
				file := filepath.Join(x.dir(), "consumer", "consumer-"+id)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"nextSnapshot":%d}`, next), 0o644))
			}
		}
		shared.java.must(t, java.java("write", "--input", writeFile(t, "expire.jsonl", `{"op":"expire","retain-max":2}`+"\n"))...)
		sink(t, ours.cli("expire", "--retain-max", "2", "--retain-min", "1")...)
		require.Equal(t, java.snapshotIDs(t), ours.snapshotIDs(t), name)
		require.Equal(t, java.rows(t, "paimon", 0), ours.rows(t, "paimon", 0), name)
	}
}

// copyOf is the same table in a warehouse of its own.
func copyOf(t *testing.T, x target) target {
	t.Helper()
	y := newLake(t, disk).table(x.name)
	require.NoError(t, os.CopyFS(y.dir(), os.DirFS(x.dir())))
	return y
}

// TestExpireIndexFiles: with index-file-in-data-file-dir the real Paimon keeps the index files of dynamic buckets beside the data files.
// The sink's expiry leaves the same of them as Paimon's, and `sink verify` finds them.
func TestExpireIndexFiles(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{"true", "false"} {
		var script strings.Builder
		script.WriteString(`{"op":"create","columns":[{"name":"dt","type":"STRING NOT NULL"},{"name":"id","type":"INT NOT NULL"}],"primaryKeys":["dt","id"],` +
			`"partitionKeys":["dt"],"options":{"bucket":"-1","dynamic-bucket.target-row-num":"3","index-file-in-data-file-dir":"` + beside + `"}}` + "\n")
		for id := range 16 {
			fmt.Fprintf(&script, `{"kind":"+I","row":{"dt":"a=%d","id":%d}}`+"\n", id%2, id)
			if id%4 == 3 {
				fmt.Fprintf(&script, `{"op":"commit","id":%d}`+"\n", id)
			}
		}
		java := newLake(t, disk).table("d.t")
		shared.java.must(t, java.java("write", "--input", writeFile(t, "script.jsonl", script.String()))...)
		ours := copyOf(t, java)
		before := indexFiles(t, ours)
		shared.java.must(t, java.java("expire", "--retain-max", "1", "--retain-min", "1")...)
		sink(t, ours.cli("expire", "--retain-max", "1", "--retain-min", "1")...)
		left := indexFiles(t, ours)
		require.Equal(t, indexFiles(t, java), left, "beside the data files: %s", beside)
		require.Less(t, len(left), len(before))
		require.Equal(t, beside == "true", strings.Contains(left[0], "/bucket-"), left[0])
		require.Len(t, lines(sink(t, ours.cli("verify")...)), 1, "nothing but the heading: no fault and no orphan")
	}
}

// indexFiles are the index files of a table, by their paths in it.
func indexFiles(t *testing.T, x target) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(x.dir(), func(name string, _ fs.DirEntry, err error) error {
		if base := filepath.Base(name); strings.HasPrefix(base, "index-") && !strings.HasPrefix(base, "index-manifest-") {
			names = append(names, strings.TrimPrefix(name, x.dir()))
		}
		return err
	}))
	return names
}
