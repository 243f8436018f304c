package scan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/goldentest"
	"sink/table/object"
)

// TestLookupGolden reads tables whose compactions look up higher levels, as Paimon's reader does: a sum of all levels would count the same
// rows several times.
func TestLookupGolden(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, goldentest.Unpack("testdata/lookup-1.3.1.tar.gz", dir))
	for _, name := range []string{"lookup_sum", "lookup_partial", "force_lookup_sum"} {
		tab, err := Open(t.Context(), object.NewLocal(dir), table.NewPath("g", name))
		require.NoError(t, err)
		for file, at := range map[string]At{"rows.jsonl": {}, "rows-9.jsonl": {Snapshot: 9}, "rows-12.jsonl": {Snapshot: 12}} {
			want, err := os.ReadFile(filepath.Join(dir, name, file))
			require.NoError(t, err)
			plan, err := tab.Plan(t.Context(), at, nil)
			require.NoError(t, err)
			got, err := printRows(t, plan, Options{Ordered: true})
			require.NoError(t, err)
			require.Equal(t, lines(string(want)), got, "%s %s", name, file)
		}
	}
}
