package scan

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/goldentest"
	"sink/table/object"
)

// TestFormatsGolden: of tables that Paimon wrote with other formats, deletion vectors and postponed buckets, each state and the changes are
// as Paimon's reader gives them, or are refused with what is in the way. Rows in bucket-postpone are in no state, but among the changes.
func TestFormatsGolden(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, goldentest.Unpack("testdata/formats-1.3.1.tar.gz", dir))
	const orc, avro = `files of format "orc" are not read, only Parquet`, `files of format "avro" are not read, only Parquet`
	for name, want := range map[string]struct{ first, merged, rows, changes string }{ // empty: read; merged is the state after a compaction
		"orc":            {orc, orc, orc, orc},
		"avro":           {avro, avro, avro, avro},
		"avro_append":    {avro, avro, avro, avro},
		"mixed":          {avro, "", avro, avro},
		"vectors":        {"option deletion-vectors.enabled is true", "option deletion-vectors.enabled is true", "has an index of type DELETION_VECTORS", ""},
		"postpone":       {"", "", "", "lie in bucket-postpone"},
		"postpone_parts": {"", "", "", "lie in bucket-postpone"},
	} {
		t.Run(name, func(t *testing.T) {
			tab, err := Open(t.Context(), object.NewLocal(dir), table.NewPath("g", name))
			require.NoError(t, err)
			golden := func(file string) []string {
				b, err := os.ReadFile(filepath.Join(dir, name, file))
				require.NoError(t, err)
				return lines(string(b))
			}
			check := func(refused, file string, got []string, err error) {
				if refused != "" {
					require.ErrorContains(t, err, refused, file)
					require.True(t, errors.Is(err, errors.ErrUnsupported), file)
					return
				}
				require.NoError(t, err, file)
				require.ElementsMatch(t, golden(file), got, file)
			}
			for file, state := range map[string]struct {
				at   At
				want string
			}{"rows-1.jsonl": {At{Snapshot: 1}, want.first}, "rows-3.jsonl": {At{Snapshot: 3}, want.merged}, "rows.jsonl": {At{}, want.rows}} {
				plan, err := tab.Plan(t.Context(), state.at, nil)
				require.NoError(t, err)
				got, err := printRows(t, plan, Options{Ordered: true})
				check(state.want, file, got, err)
			}
			got, err := printChanges(t, tab, Earliest, ChangeOptions{})
			check(want.changes, "changelog-earliest.jsonl", got, err)
		})
	}
}
