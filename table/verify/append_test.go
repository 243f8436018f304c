package verify

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/goldentest"
	"sink/table/object"
)

// appendTables returns the append tables that Paimon wrote (table/scan/testdata).
func appendTables(t *testing.T) *object.Mem { return scanTables(t, "append-1.3.1.tar.gz") }

// scanTables returns the tables of an archive of table/scan/testdata.
func scanTables(t *testing.T, archive string) *object.Mem {
	store := object.NewMem()
	require.NoError(t, goldentest.Walk("../scan/testdata/"+archive, func(name string, content []byte) error {
		return store.Put(t.Context(), name, content)
	}))
	return store
}

// dataFiles are the data files of a bucket.
func dataFiles(t *testing.T, store object.Store, folder string) (names []string) {
	for info, err := range store.List(t.Context(), folder) {
		require.NoError(t, err)
		if strings.HasSuffix(info.Name, ".parquet") {
			names = append(names, info.Name)
		}
	}
	require.NotEmpty(t, names)
	return names
}

// TestAppendSound finds nothing in append tables as Paimon wrote them, and that the changes of each snapshot make up its rows.
func TestAppendSound(t *testing.T) {
	store := appendTables(t)
	for name, replayed := range map[string]int{"append": 7, "append_partitioned": 2, "append_buckets": 5, "append_evolved": 3} {
		s, found := verify(t, store, table.NewPath("g", name), Options{Replay: ReplayAll})
		require.Empty(t, found, name)
		require.Equal(t, replayed, s.Replayed, name)
	}
}

// TestAppendBroken: rows in a bucket that is not theirs, rows that are gone, rows that are there once too often.
func TestAppendBroken(t *testing.T) {
	store := appendTables(t)
	one, two := dataFiles(t, store, "g.db/append_buckets/bucket-1/"), dataFiles(t, store, "g.db/append_buckets/bucket-2/")
	b, err := store.Get(t.Context(), one[0])
	require.NoError(t, err)
	require.NoError(t, store.Put(t.Context(), two[0], b))
	_, found := verify(t, store, "g.db/append_buckets", Options{Replay: ReplayAll})
	require.Contains(t, codes(found, Fault), "bucket", "%v", found)

	require.NoError(t, store.Delete(t.Context(), dataFiles(t, store, "g.db/append_partitioned/dt=y/")[0]))
	_, found = verify(t, store, "g.db/append_partitioned", Options{Replay: ReplayAll})
	require.Equal(t, []string{"file-missing", "replay"}, codes(found, Fault), "%v", found)

	// A file holds what another of its size does: its own row is gone from the changes, but the compacted file has it.
	files := dataFiles(t, store, "g.db/append/bucket-0/")
	single := map[int64]string{}
	for _, name := range files {
		b, err := store.Get(t.Context(), name)
		require.NoError(t, err)
		single[int64(len(b))] = name
	}
	require.Greater(t, len(files), len(single), "files of the same size, with one row each")
	for _, name := range files {
		b, err := store.Get(t.Context(), name)
		require.NoError(t, err)
		if other := single[int64(len(b))]; other != name {
			moved, err := store.Get(t.Context(), other)
			require.NoError(t, err)
			require.NoError(t, store.Put(t.Context(), name, moved))
			break
		}
	}
	_, found = verify(t, store, "g.db/append", Options{Replay: ReplayAll})
	require.Subset(t, codes(found, Fault), []string{"replay"}, "%v", found)
}
