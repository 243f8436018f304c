package scan

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// grown is a table of several ranges of keys, each written twice.
func grown(t *testing.T, ranges int) *Table {
	w := newWorld(t, rand.New(rand.NewPCG(1, 2)), map[string]string{"bucket": "1", "changelog-producer": "input"})
	const rows = 2000
	for i := range ranges {
		for version := range 2 {
			var all []row
			for k := range rows {
				w.seq++
				all = append(all, row{table.UpdateAfter, "p", int64(i*rows + k), int64(version), fmt.Sprint("some text of row ", k), w.seq})
			}
			w.commit(all)
		}
	}
	tab, err := Open(t.Context(), w.store, w.path)
	require.NoError(t, err)
	return tab
}

// heap is what lives on the heap.
func heap() int64 {
	for range 3 { // the second and third free what pools hold
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryDoesNotGrow: reading the rows, or the changes, of a table that is ten times as large holds no more at once.
func TestMemoryDoesNotGrow(t *testing.T) {
	peaks := func(ranges int) (rows, changes int64) {
		tab := grown(t, ranges)
		plan, err := tab.Plan(t.Context(), At{}, nil)
		require.NoError(t, err)
		before, read := heap(), 0
		for b, err := range plan.Rows(t.Context(), Options{}) {
			require.NoError(t, err)
			read += b.Len()
			rows = max(rows, heap()-before)
		}
		require.Equal(t, 2000*ranges, read)
		before, read = heap(), 0
		for c, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{}) {
			require.NoError(t, err)
			read += c.Batch.Len()
			changes = max(changes, heap()-before)
		}
		require.Equal(t, 2*2000*ranges, read)
		return rows, changes
	}
	rows, changes := peaks(3)
	manyRows, manyChanges := peaks(30)
	require.Positive(t, rows)
	require.Positive(t, changes)
	t.Logf("rows: %d and %d bytes; changes: %d and %d", rows, manyRows, changes, manyChanges)
	require.Less(t, manyRows, 2*rows)
	require.Less(t, manyChanges, 2*changes)
}
