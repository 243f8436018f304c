package commit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// BenchmarkCommit is a commit of four files by the only writer of a table, in memory: what is left is our own work.
func BenchmarkCommit(b *testing.B) {
	ctx := context.Background()
	w := newWorld(b).create(nil)
	c := w.open(w.store)
	progress := table.Progress{MaxSequence: -1}
	b.ReportAllocs()
	for b.Loop() {
		r, err := c.Commit(ctx, w.next(progress, 0, 10))
		require.NoError(b, err)
		progress = r.Progress
	}
}
