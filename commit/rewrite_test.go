package commit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
)

func TestOverwrite(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	w.commit(c, 0, 10)
	r := w.commit(c, 0, 10)
	removed := w.ofBucket(0)

	_, err := c.Overwrite(ctx, table.Delta{}, 0)
	require.ErrorContains(t, err, "takes no file away")
	o, err := c.Overwrite(ctx, table.Delta{Removed: removed}, 0)
	require.NoError(t, err)
	require.Equal(t, manifest.Overwrite, o.Kind)
	require.EqualValues(t, -20, o.DeltaRecords)
	require.Equal(t, r.Progress.Offsets, o.Progress.Offsets, "the map is carried on")
	require.Empty(t, w.ofBucket(0))
	w.check()
	_, err = c.Overwrite(ctx, table.Delta{Removed: removed}, 0)
	require.ErrorIs(t, err, ErrConflict)
	w.commit(c, 0, 5) // and on it goes
	w.check()

	_, err = w.open(w.store).SetOption(ctx, "partition.expiration-check-interval", "1 d")
	require.NoError(t, err)
	_, err = c.Overwrite(ctx, table.Delta{Removed: w.ofBucket(0)}, 0)
	require.ErrorIs(t, err, ErrConflict, "the options are others by now")
	_, err = c.Overwrite(ctx, table.Delta{Removed: w.ofBucket(0)}, 1)
	require.NoError(t, err)
}

// TestRewriteWithoutMap: a job that rewrites files of a table that has no map makes none up, and pins nothing.
func TestRewriteWithoutMap(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	cfg := w.config(w.store, "")
	_, ok, err := Owner(ctx, cfg)
	require.NoError(t, err)
	require.False(t, ok)
	w.foreign(manifest.Append, []table.File{w.file("data-j1", 0, 1, 5, 0, 4)}, nil)
	w.foreign(manifest.Append, []table.File{w.file("data-j2", 0, 3, 9, 5, 11)}, nil)
	w.expire(2) // so that this group's history is not complete

	_, ok, err = Owner(ctx, cfg)
	require.NoError(t, err)
	require.False(t, ok)
	job := w.openAs(w.store, "sink-compact")
	for i, name := range []string{"data-c1.parquet", "data-c2.parquet"} {
		f := w.compacted(name, 0, int32(5-i), 1, 9)
		f.MaxSeq = 11
		r, err := job.Commit(ctx, table.Delta{Removed: w.ofBucket(0), Added: []table.File{f}})
		require.NoError(t, err)
		require.EqualValues(t, 3+i, r.SnapshotID)
		s := w.mustSnapshot(r.SnapshotID)
		require.NotContains(t, s.Properties, table.PropertyOffsets)
		require.Contains(t, s.Properties, table.PropertyCheckpoint)
		require.Equal(t, r.SnapshotID, s.CommitIdentifier, "identifiers rise")
		require.Equal(t, rewriteUser, s.CommitUser)
	}
	require.Empty(t, w.names("consumer/"))

	// The group's own job does not hide that nothing tells how far the table is.
	group := w.open(w.store)
	_, err = group.Resume(ctx)
	require.ErrorIs(t, err, ErrHistory)
	up := w.ofBucket(0)[0]
	up.Level = 3
	_, err = group.Commit(ctx, table.Delta{Removed: w.ofBucket(0), Added: []table.File{up}})
	require.NoError(t, err)
	_, err = group.Resume(ctx)
	require.ErrorIs(t, err, ErrHistory)
}

// TestRewriteForeignSequence: what a foreign table was numbered up to is known after its files were rewritten.
func TestRewriteForeignSequence(t *testing.T) {
	w := newWorld(t).create(nil)
	w.foreign(manifest.Append, []table.File{w.file("data-j1", 0, 1, 5, 0, 40)}, nil)
	c := w.open(w.store)
	f := w.ofBucket(0)[0]
	f.Level = 5
	_, err := c.Commit(context.Background(), table.Delta{Removed: w.ofBucket(0), Added: []table.File{f}})
	require.NoError(t, err)
	s, err := c.Resume(context.Background())
	require.NoError(t, err)
	require.True(t, s.Fresh)
	require.EqualValues(t, 40, s.MaxSequence)
	w.commit(c, 0, 3)
	user, ok, err := Owner(context.Background(), w.config(w.store, ""))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, group, user)
}

// TestUpgradeOfOldFile: a file that only changes its level is no file that orphan cleaning could have taken.
func TestUpgradeOfOldFile(t *testing.T) {
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	w.commit(c, 0, 10)
	old := w.ofBucket(0)
	w.pass(48 * time.Hour)
	up := old[0]
	up.Level = 5
	_, err := c.Commit(context.Background(), table.Delta{Removed: old, Added: []table.File{up}})
	require.NoError(t, err)
	old = w.ofBucket(1)
	stale := w.compacted("data-stale.parquet", 1, 5, 0, 9)
	stale.CreatedMillis -= (2 * time.Hour).Milliseconds()
	_, err = c.Commit(context.Background(), table.Delta{Removed: old, Added: []table.File{stale}})
	require.ErrorIs(t, err, ErrStale)
}
