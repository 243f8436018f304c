package compact

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// bigFile returns rows of a file of several row groups, whose texts do not compress.
func bigFile(keys int64) []row {
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]row, keys)
	for id := range rows {
		text := make([]byte, 400)
		for i := range text {
			text[i] = byte('!' + r.IntN(90))
		}
		rows[id] = row{int64(id), string(text), table.Insert, int64(id)}
	}
	return rows
}

// TestCopiesRowGroups: new rows for the last keys of a large file leave its other row groups as they are.
func TestCopiesRowGroups(t *testing.T) {
	const keys = 60_000 // three row groups
	w := newWorld(t, nil)
	w.files = append(w.files, w.write(bigFile(keys), 5))
	w.seq = keys
	var changes []row
	for id := int64(keys - 50); id < keys+50; id++ {
		w.seq++
		changes = append(changes, row{id, "new", []table.Kind{table.UpdateAfter, table.Delete}[id%2], w.seq})
	}
	w.addFile(changes...)
	before := w.newestRows()
	c := w.compactor(w.store, 0)
	j, ok := c.Options().PickFull(Runs(w.files))
	require.True(t, ok)
	result, err := c.Run(t.Context(), j)
	require.NoError(t, err)
	w.apply(result)
	w.check()
	require.Equal(t, before, w.newestRows())
	require.Len(t, w.files, 1)
	require.Zero(t, w.files[0].DeleteRows)
	require.Greater(t, result.RowsCopied, int64(keys/2), "rows that were not read")
	require.Less(t, result.RowsCopied, result.Rows)
}

// BenchmarkHotTail compacts a large file with a small one of changes of its last keys, or of keys in all of it.
func BenchmarkHotTail(b *testing.B) {
	const keys = 60_000
	for _, spread := range []bool{false, true} {
		b.Run(fmt.Sprintf("spread=%t", spread), func(b *testing.B) {
			w := newWorld(b, nil)
			w.files = append(w.files, w.write(bigFile(keys), 5))
			var changes []row
			for i := range int64(1000) {
				id := keys - 1000 + i
				if spread {
					id = i * keys / 1000
				}
				changes = append(changes, row{id, "new", table.UpdateAfter, keys + i})
			}
			w.addFile(changes...)
			j, _ := w.compactor(w.store, 0).Options().PickFull(Runs(w.files))
			b.ReportAllocs()
			b.SetBytes(j.SizeBytes())
			for b.Loop() {
				c := w.compactor(w.store, 0)
				r, err := c.Run(b.Context(), Job{Files: slices.Clone(j.Files), OutputLevel: j.OutputLevel, Top: j.Top, DropDeletes: j.DropDeletes})
				require.NoError(b, err)
				c.Discard(b.Context(), r)
			}
		})
	}
}
