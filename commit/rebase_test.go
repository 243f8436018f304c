package commit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// Rebase is the way on, and says exactly where.
func TestRebase(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a := w.open(w.store)
	w.commit(a, 0, 10)
	w.commit(a, 1, 10)
	w.rollback(1)
	_, err := a.Resume(ctx)
	require.ErrorIs(t, err, ErrRolledBack)
	r, err := a.Rebase(ctx, table.Offsets{part(0): at(10)}, table.Offsets{part(0): at(4)})
	require.NoError(t, err)
	require.EqualValues(t, 2, r.SnapshotID)
	require.Equal(t, table.Offsets{part(0): at(4)}, r.Progress.Offsets)
	s, err := w.open(w.store).Resume(ctx)
	require.NoError(t, err)
	require.Equal(t, r.Progress, s.Progress)
	require.EqualValues(t, 9, s.MaxSequence)

	// A history with gaps, and none of ours.
	w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 0, 1, 5, 0, 77)}, nil)
	w.expire(3)
	b := w.open(w.store)
	_, err = b.Resume(ctx)
	require.ErrorIs(t, err, ErrHistory)
	require.ErrorContains(t, err, "snapshots before 3 have expired")
	_, err = b.Commit(ctx, w.delta(0, -1, 10, -1))
	require.ErrorIs(t, err, ErrHistory)
	r, err = b.Rebase(ctx, nil, table.Offsets{part(0): at(50)})
	require.NoError(t, err)
	require.EqualValues(t, 4, w.mustSnapshot(4).CommitIdentifier, "above all that this group ever used")
	require.EqualValues(t, 77, r.Progress.MaxSequence)
	w.commit(b, 0, 10)

	// A map that cannot be read.
	broken := w.mustSnapshot(5)
	broken.ID, broken.Properties[table.PropertyOffsets] = 6, "[{]"
	raw, err := broken.Encode()
	require.NoError(t, err)
	require.NoError(t, w.store.Create(ctx, w.path.Snapshot(6), raw))
	_, err = b.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrBadProgress)
	_, err = w.open(w.store).Resume(ctx)
	require.ErrorIs(t, err, ErrBadProgress)
	_, err = w.open(w.store).Rebase(ctx, nil, table.Offsets{part(0): at(60)})
	require.NoError(t, err)
	w.commit(w.open(w.store), 0, 10)
}

// Who says where a table goes on has seen where it is. An instance that has gone on since, be it at the last moment, is not taken back.
func TestRebaseOfMap(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a := w.open(w.store)
	w.commit(a, 0, 10)
	shown := table.Offsets{part(0): at(10)}
	for _, other := range []table.Offsets{nil, {part(0): at(11)}, {part(1): at(10)}, {part(0): at(10), part(1): at(0)}} {
		_, err := w.open(w.store).Rebase(ctx, other, table.Offsets{part(0): at(4)})
		require.ErrorIs(t, err, ErrFenced, "%v", other)
		require.ErrorContains(t, err, "has moved since")
	}

	h := &objecttest.Hook{Store: w.store}
	h.Once("create", w.path.Snapshot(2), func() { w.commit(a, 0, 10) })
	_, err := w.open(h).Rebase(ctx, shown, table.Offsets{part(0): at(4)})
	require.ErrorIs(t, err, ErrFenced)
	s, err := w.open(w.store).Resume(ctx)
	require.NoError(t, err)
	require.Equal(t, table.Offsets{part(0): at(20)}, s.Progress.Offsets)

	// What only rewrites files leaves the map as it was shown. Its numbers count.
	h.Once(object.OpCreate, w.path.Snapshot(3), func() {
		d := table.Delta{Removed: w.ofBucket(0), Added: []table.File{w.compacted("data-c.parquet", 0, 5, 0, 19)}, Progress: table.Progress{MaxSequence: 500}}
		d.Added[0].MaxSeq = 500
		_, err := a.Commit(ctx, d)
		require.NoError(t, err)
	})
	_, err = w.open(h).Rebase(ctx, s.Progress.Offsets, table.Offsets{part(0): at(4)})
	require.NoError(t, err)
	s, err = w.open(w.store).Resume(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 500, s.MaxSequence)
}
