//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sink/table/goldentest"

	"github.com/stretchr/testify/require"
)

// TestArrow: pyarrow reads of `-o arrow` the same rows and changes, value by value, as `-o json` prints, for every kind of table that
// the real Paimon wrote; and as pypaimon gives of tables that it can read.
func TestArrow(t *testing.T) {
	t.Parallel()
	l := lake{uri: "file://" + t.TempDir()}
	archives := []string{"java-1.3.1", "append-1.3.1", "lookup-1.3.1"}
	for _, archive := range archives {
		unpackGolden(t, "../table/scan/testdata/"+archive+".tar.gz", l.path())
	}
	tables, err := os.ReadDir(filepath.Join(l.path(), "g.db"))
	require.NoError(t, err)
	require.Greater(t, len(tables), 40)
	for _, entry := range tables {
		x := l.table("g." + entry.Name())
		want := lines(sink(t, x.cli("read", "-o", "json")...))
		requireSameLines(t, want, throughArrow(t, x.cli("read", "-o", "arrow")), "%s: rows", x.name)
		requireSameChanges(t, x)
	}
	for _, name := range []string{"append", "composite", "dedup", "evolved", "firstrow", "keytypes", "nullpartition", "partitioned"} {
		x := l.table("g." + name)
		requireSameLines(t, sorted(x.rows(t, "pypaimon", 0)), sorted(throughArrow(t, x.cli("read", "-o", "arrow"))), "%s: pypaimon", name)
	}
	for _, words := range [][]string{
		{"alltypes", "--where", "id < 5", "--columns", "c_ts9,c_decimal_38_10,id"},
		{"tags", "--tag", "first"},
		{"evolved", "--snapshot", "2"},
		{"evolved", "--at", "1795959915346"},
		{"nested", "--where", "id > 100000"},
	} {
		x := l.table("g." + words[0])
		want := lines(sink(t, append(x.cli("read", "-o", "json"), words[1:]...)...))
		requireSameLines(t, want, throughArrow(t, append(x.cli("read", "-o", "arrow"), words[1:]...)), "%s", words)
	}
}

// throughArrow are the rows that pyarrow reads from what a command writes.
func throughArrow(t *testing.T, words []string) []string {
	t.Helper()
	return lines(shared.python.must(t, "arrow", writeFile(t, "rows.arrow", sink(t, words...))))
}

// requireSameChanges wants the changelog to be the same as Arrow and as JSON.
func requireSameChanges(t *testing.T, x target) {
	t.Helper()
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var want []string
	for _, c := range parseChanges(t, sink(t, x.cli("changelog", "-o", "json")...)) {
		partition := ""
		if c.Partition != nil {
			partition = `"partition":"` + quote.Replace(string(c.Partition)) + `",`
		}
		want = append(want, fmt.Sprintf(`{"snapshot":%d,%s"bucket":%d,"kind":"%s",%s`, c.Snapshot, partition, c.Bucket, c.Kind, c.Row[1:]))
	}
	requireSameLines(t, want, throughArrow(t, x.cli("changelog", "-o", "arrow")), "%s: changes", x.name)
}

// unpackGolden puts the warehouse of an archive of golden tables into a folder.
func unpackGolden(t *testing.T, archive, dir string) {
	t.Helper()
	require.NoError(t, goldentest.Walk(archive, func(name string, content []byte) error {
		if !strings.HasPrefix(name, "g.db/") {
			return nil
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	}))
}
