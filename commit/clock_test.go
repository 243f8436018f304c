package commit

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
)

// Clocks that jump by days, back and forth, at each look at them, and differently for each of several writers, make a commit give up
// early, or a checkpoint look old: it is read again then. What is committed stays right: offsets, numbers, files and the
// order of snapshots rest on no clock, and the times of snapshots never fall.
func TestClocksJump(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t).create(map[string]string{"manifest.merge-min-count": "5"})
	writers := make([]*Committer, 3)
	for i := range writers {
		writers[i] = w.open(w.store)
		writers[i].cfg.Now = func() time.Time {
			return w.clock().Add(time.Duration(random.Int64N(int64(96*time.Hour))) - 48*time.Hour)
		}
	}
	const commits = 60
	stale, done := 0, 0
	for done < commits {
		c := writers[random.IntN(len(writers))]
		s, err := c.Resume(t.Context())
		require.NoError(t, err)
		_, err = c.Commit(t.Context(), w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}, 0, 3))
		switch {
		case err == nil:
			done++
		case errors.Is(err, ErrStale):
			stale++
		default:
			require.NoError(t, err)
		}
	}
	require.Positive(t, stale, "no clock jumped far")
	require.Equal(t, at(commits*3), w.check()[part(0)])
	require.Len(t, w.snapshots(), commits)
	last := int64(0)
	for id := int64(1); id <= commits; id++ {
		raw, err := w.store.Get(t.Context(), w.path.Snapshot(id))
		require.NoError(t, err)
		s, err := manifest.ParseSnapshot(raw)
		require.NoError(t, err)
		require.GreaterOrEqual(t, s.TimeMillis, last, "snapshot %d", id)
		last = s.TimeMillis
	}
}
