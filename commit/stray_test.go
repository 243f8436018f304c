package commit

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// grave is a store that a process dies at when it creates an object; the request may arrive later.
type grave struct {
	object.Store
	name   string
	sent   []byte
	cancel func()
}

func (g *grave) Create(ctx context.Context, name string, b []byte) error {
	if name != g.name {
		return g.Store.Create(ctx, name, b)
	}
	g.sent = b
	g.cancel()
	return errors.New("the process is gone")
}

// dies lets an instance die while it makes the snapshot of an id with records of partition 0, and returns what lets its request arrive.
func (w *world) dies(id int64) (arrive func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	g := &grave{Store: w.store, name: w.path.Snapshot(id), cancel: cancel}
	a := w.open(g)
	s, err := a.Resume(ctx)
	require.NoError(w.t, err)
	_, err = a.Commit(ctx, w.next(s.Progress, 0, 10))
	require.ErrorIs(w.t, err, ErrUnsettled)
	require.NotNil(w.t, g.sent)
	return func() { require.NoError(w.t, w.store.Create(w.t.Context(), g.name, g.sent)) }
}

// A create of an instance that died arrives when its id has expired. Nobody takes it back; nobody goes on from it either, be it right before
// the first snapshot that is left or far from it.
func TestDeadSleeper(t *testing.T) {
	for name, first := range map[string]int64{"right before": 3, "far before": 6} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			idle, b := w.open(w.store), w.open(w.store)
			w.commit(idle, 1, 10)
			arrive := w.dies(2)
			for range 6 {
				w.commit(b, 0, 10) // to 7
			}
			w.expire(first)
			arrive()
			s, err := w.open(w.store).Resume(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 7, s.SnapshotID)
			require.EqualValues(t, 60, s.Progress.Offsets[part(0)].Offset)
			require.EqualValues(t, 8, w.commit(idle, 1, 10).SnapshotID, "it has seen the stray's base last")
			require.EqualValues(t, 9, w.commit(b, 0, 10).SnapshotID)
			user, ok, err := Owner(t.Context(), w.config(w.store, group))
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, group, user)
		})
	}
}

// Others expired all of this group's snapshots. The map of the stray is not taken for how far the table is.
func TestStrayHasNoMap(t *testing.T) {
	w := newWorld(t).create(nil)
	w.commit(w.open(w.store), 0, 10)
	arrive := w.dies(2)
	w.commit(w.open(w.store), 0, 20)
	for i := range int64(3) {
		w.foreign(manifest.Append, []table.File{w.file("data-java-"+string(rune('a'+i))+".parquet", 0, 1, 5, 100+i, 105+i)}, nil)
	}
	w.expire(3)
	arrive()
	_, err := w.open(w.store).Resume(t.Context())
	require.ErrorIs(t, err, ErrHistory)
	require.ErrorContains(t, err, "sink offsets rebase")
}
