package commit

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

func TestLatestIsNeverLowered(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	w.commit(a, 0, 10)

	// b commits before a looks at LATEST: a writes nothing.
	w.commit(b, 1, 10)
	s, err := a.Resume(ctx)
	require.NoError(t, err)
	looked := false
	h.Before = func(op object.Op, name string) error {
		require.False(t, op == "put" && name == w.path.Latest())
		if !looked && op == "get" && name == w.path.Latest() {
			looked = true
			w.commit(b, 1, 10)
		}
		return nil
	}
	r, err := a.Commit(ctx, w.next(s.Progress, 0, 10))
	require.NoError(t, err)
	require.NoError(t, r.Hints)
	require.EqualValues(t, 3, r.SnapshotID)
	require.Equal(t, "4", w.latestHint())

	// b commits between a's look and its write: a puts it right.
	h.Once("put", w.path.Latest(), func() { w.commit(b, 1, 10) })
	r, err = a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.NoError(t, err)
	require.EqualValues(t, 5, r.SnapshotID)
	require.Equal(t, "6", w.latestHint())

	// What holds no number is overwritten.
	require.NoError(t, w.store.Put(ctx, w.path.Latest(), []byte("?")))
	w.commit(b, 1, 10)
	require.Equal(t, "7", w.latestHint())
	w.check()
}

func TestHintsFail(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	put := []object.Op{object.OpPut}
	pin := "consumer-*"
	c := w.open(object.NewFault(w.store, object.Rule{Ops: put, Path: "LATEST"}, object.Rule{Ops: put, Path: "EARLIEST"},
		object.Rule{Ops: put, Path: pin, Nth: 1}, object.Rule{Ops: put, Path: pin, Nth: 3}, object.Rule{Ops: put, Path: pin, Nth: 4}))
	_, err := c.Commit(ctx, w.delta(0, -1, 10, -1))
	require.ErrorContains(t, err, "consumer", "without a pin there is no first snapshot")
	_, err = w.store.Get(ctx, w.path.Snapshot(1))
	require.ErrorIs(t, err, fs.ErrNotExist)
	r, err := c.Commit(ctx, w.delta(0, -1, 10, -1))
	require.NoError(t, err, "the snapshot stands")
	require.ErrorContains(t, r.Hints, "LATEST")
	require.ErrorContains(t, r.Hints, "EARLIEST")
	require.NotContains(t, r.Hints.Error(), "consumer")
	for range 2 {
		w.pass(2 * time.Minute)
		r, err = c.Commit(ctx, w.next(r.Progress, 0, 10))
		require.NoError(t, err)
		require.ErrorContains(t, r.Hints, "consumer", "it is tried again")
	}
}

func TestPin(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	require.NoError(t, c.Pin(ctx), "there is nothing to pin yet")
	pinned := func() int64 {
		consumer, err := manifest.ReadConsumer(ctx, w.store, w.path, ConsumerID(group))
		require.NoError(t, err)
		return consumer.NextSnapshot
	}
	r, err := c.Commit(ctx, w.delta(0, -1, 10, -1))
	require.NoError(t, err)
	require.EqualValues(t, 1, pinned())
	r, err = c.Commit(ctx, w.next(r.Progress, 0, 10))
	require.NoError(t, err)
	require.EqualValues(t, 1, pinned(), "an older one holds the newer ones, too")
	w.pass(2 * time.Minute)
	_, err = c.Commit(ctx, w.next(r.Progress, 0, 10))
	require.NoError(t, err)
	require.EqualValues(t, 3, pinned())

	// An idle instance renews it, and one that has only resumed.
	b := w.open(w.store)
	_, err = b.Resume(ctx)
	require.NoError(t, err)
	w.commit(c, 0, 10)
	require.NoError(t, b.Pin(ctx))
	require.EqualValues(t, 3, pinned())
	require.Equal(t, "sink-a_b_c", ConsumerID("a/b\\c"))
}
