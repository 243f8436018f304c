package scan

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/goldentest"
	"sink/table/object"
)

// appendTables are the append tables that Paimon wrote, unpacked into a folder of the test.
func appendTables(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, goldentest.Unpack("testdata/append-1.3.1.tar.gz", dir))
	return dir
}

// TestAppendGolden reads every append table at every snapshot and tag, and its changes, as Paimon's readers do: with and
// without partitions and buckets, over schemas, before and after a compaction.
func TestAppendGolden(t *testing.T) {
	dir := appendTables(t)
	file := regexp.MustCompile(`^rows(?:-tag-(.*)|-(\d+))?\.jsonl$`)
	for name, snapshots := range map[string]int{"append": 9, "append_partitioned": 3, "append_buckets": 6, "append_evolved": 4} {
		t.Run(name, func(t *testing.T) {
			tab, err := Open(t.Context(), object.NewLocal(dir), table.NewPath("g", name))
			require.NoError(t, err)
			read := func(name string) []string {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				return lines(string(b))
			}
			files, err := filepath.Glob(filepath.Join(dir, name, "rows*"))
			require.NoError(t, err)
			require.Len(t, files, snapshots)
			for _, f := range files {
				m := file.FindStringSubmatch(filepath.Base(f))
				at := At{Tag: m[1]}
				if m[2] != "" {
					at.Snapshot, err = strconv.ParseInt(m[2], 10, 64)
					require.NoError(t, err)
				}
				plan, err := tab.Plan(t.Context(), at, nil)
				require.NoError(t, err)
				for _, ordered := range []bool{false, true} {
					got, err := printRows(t, plan, Options{Ordered: ordered})
					require.NoError(t, err)
					slices.Sort(got)
					require.Equal(t, read(f), got, f)
				}
			}
			for start, of := range map[Start]string{Earliest: "earliest", LatestFull: "latest-full"} {
				got, err := printChanges(t, tab, start, ChangeOptions{})
				require.NoError(t, err)
				want := read(filepath.Join(dir, name, "changelog-"+of+".jsonl"))
				if start == LatestFull { // Paimon packs files into splits by size: their order means nothing
					slices.Sort(got)
					slices.Sort(want)
				}
				require.Equal(t, want, got, of)
			}
		})
	}
}

// TestAppendPartitionColumns: rows of which nothing is wanted but what the manifest knows.
func TestAppendPartitionColumns(t *testing.T) {
	tab, err := Open(t.Context(), object.NewLocal(appendTables(t)), table.NewPath("g", "append_partitioned"))
	require.NoError(t, err)
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	got, err := printRows(t, plan, Options{Columns: []string{"dt"}})
	require.NoError(t, err)
	slices.Sort(got)
	require.Equal(t, []string{`{"dt":"x"}` + "\n", `{"dt":"x"}` + "\n", `{"dt":"y"}` + "\n", `{"dt":"y"}` + "\n", `{"dt":null}` + "\n"}, got)
}
