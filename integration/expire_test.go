//go:build integration

package integration

import (
	"fmt"
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
