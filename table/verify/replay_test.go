package verify

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// goldenTables returns the names of the golden tables (table/scan/testdata/java-1.3.1.tar.gz).
func goldenTables(t *testing.T, store object.Store) (names []string) {
	for info, err := range store.List(t.Context(), "g.db/") {
		require.NoError(t, err)
		if name, file, _ := strings.Cut(strings.TrimPrefix(info.Name, "g.db/"), "/"); file == "schema/schema-0" {
			names = append(names, name)
		}
	}
	require.Len(t, names, 37)
	return names
}

// TestReplayOfEveryEngine: the changelog of each golden table, of all merge engines and changelog producers, gives the rows of all of
// its snapshots; also when memory holds a few rows only.
func TestReplayOfEveryEngine(t *testing.T) {
	store := scanTables(t, "java-1.3.1.tar.gz")
	for _, name := range goldenTables(t, store) {
		s, found := verify(t, store, table.NewPath("g", name), Options{Replay: ReplayAll})
		require.Zero(t, s.Faults, "%s: %v", name, found)
		require.Empty(t, codes(found, Info), "%s: %v", name, found)
		require.Positive(t, s.Replayed, name)
	}
	for _, name := range []string{"dedup", "sequencefield", "aggregation", "partialupdate_groups", "firstrow_lookup", "partitioned"} {
		s, found := verify(t, store, table.NewPath("g", name), Options{Replay: ReplayAll})
		few, again := verify(t, store, table.NewPath("g", name), Options{Replay: ReplayAll, MemoryBytes: 2000})
		require.Equal(t, s, few, name)
		require.ElementsMatch(t, codes(found, Warning), codes(again, Warning), name)
	}
}

// TestReplayFindsALostChange: in a table of each engine and producer a changelog file that holds other rows than the table does is found;
// as a warning where deletes leave a doubt what the table should hold.
func TestReplayFindsALostChange(t *testing.T) {
	store := scanTables(t, "java-1.3.1.tar.gz")
	for _, name := range []string{"dedup", "sequencefield", "aggregation", "partialupdate", "partialupdate_groups", "firstrow", "firstrow_lookup"} {
		root := table.NewPath("g", name)
		files := changeFiles(t, store, root)
		require.Greater(t, len(files), 1, name)
		first, err := store.Get(t.Context(), files[0])
		require.NoError(t, err)
		require.NoError(t, store.Put(t.Context(), files[len(files)-1], first))
		_, found := verify(t, store, root, Options{Replay: ReplayAll})
		if name == "partialupdate" {
			require.Contains(t, codes(found, Warning), "replay-order", "%v", found)
			continue
		}
		require.Contains(t, codes(found, Fault), "replay", "%s: %v", name, found)
	}
}

// changeFiles returns the files of a table that hold changes and no rows, by snapshot; of one without a changelog those of level 0.
func changeFiles(t *testing.T, store object.Store, root table.Path) (names []string) {
	ids, err := manifest.SnapshotIDs(t.Context(), store, root)
	require.NoError(t, err)
	slices.Sort(ids)
	for _, id := range ids {
		s, err := manifest.ReadSnapshot(t.Context(), store, root, id)
		require.NoError(t, err)
		files, err := manifest.ReadChangelog(t.Context(), store, root, s, nil)
		require.NoError(t, err)
		if files == nil && s.CommitKind == manifest.Append {
			entries, err := manifest.ReadDelta(t.Context(), store, root, s, nil)
			require.NoError(t, err)
			for i := range entries {
				files = append(files, entries[i].File)
			}
		}
		for i := range files {
			names = append(names, path.Join(string(root), "bucket-0", files[i].Name))
		}
	}
	return names
}
