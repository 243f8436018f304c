package expire

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

func TestTags(t *testing.T) {
	w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"})
	e := w.expirer(w.store)
	_, err := e.CreateTag(t.Context(), "early", 0, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	w.grow(rand.New(rand.NewPCG(3, 3)), 5)
	w.dropPin()
	for _, name := range []string{"", " ", "12", "a/b"} {
		_, err := e.CreateTag(t.Context(), name, 0, 0)
		require.Error(t, err, "%q", name)
	}
	tag, err := e.CreateTag(t.Context(), "v1", 2, 24*time.Hour)
	require.NoError(t, err)
	require.EqualValues(t, 2, tag.Snapshot.ID)
	_, err = e.CreateTag(t.Context(), "v1", 3, 0)
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = e.CreateTag(t.Context(), "v2", 99, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	w.grow(rand.New(rand.NewPCG(4, 3)), 10)
	w.dropPin()
	_, err = e.Run(t.Context())
	require.NoError(t, err)
	w.check()
	_, err = manifest.ReadTag(t.Context(), w.store, w.path, "v1")
	require.NoError(t, err)
	_, err = e.DeleteTag(t.Context(), "none")
	require.ErrorIs(t, err, fs.ErrNotExist)

	w.pass(25 * time.Hour) // the tag's time is over
	r, err := e.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Tags)
	require.Positive(t, r.Files)
	w.checkNothingElse()
}

// TestTagRace: a tag that is made at any moment of an expiry holds all its files, or is refused; and the other way round.
func TestTagRace(t *testing.T) {
	for _, tagFirst := range []bool{false, true} {
		refused, made := 0, 0
		for n := 0; ; n++ {
			w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"})
			w.grow(rand.New(rand.NewPCG(7, 7)), 8)
			w.dropPin()
			var tagErr, runErr error
			tag := func(s object.Store) { _, tagErr = w.expirer(s).CreateTag(context.Background(), "t", 3, 0) }
			run := func(s object.Store) { _, runErr = w.expirer(s).Run(context.Background()) }
			s := &objecttest.Hook{Store: w.store}
			var reached func() bool
			if tagFirst {
				reached = s.Nth(n, func() { run(w.store) })
				tag(s)
			} else {
				reached = s.Nth(n, func() { tag(w.store) })
				run(s)
			}
			require.NoError(t, runErr)
			w.check()
			if !reached() {
				break
			}
			_, err := manifest.ReadTag(t.Context(), w.store, w.path, "t")
			if tagErr == nil {
				made++
				require.NoError(t, err)
			} else {
				refused++
				require.ErrorIs(t, tagErr, fs.ErrNotExist)
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		}
		require.Equal(t, tagFirst, made == 0)
		require.Positive(t, refused)
	}
}

func TestOrphans(t *testing.T) {
	w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "changelog.num-retained.max": "5"})
	w.grow(rand.New(rand.NewPCG(3, 3)), 9)
	e := w.expirer(w.store)
	_, err := e.CreateTag(t.Context(), "t", 4, 0)
	require.NoError(t, err)
	w.branch("b", 5)
	w.dropPin()
	_, err = e.Run(t.Context())
	require.NoError(t, err)
	put := func(name string) { require.NoError(t, w.store.Put(t.Context(), string(w.path)+"/"+name, []byte("x"))) }
	strays := []string{
		"bucket-0/data-stray.parquet", "changelog/tmp", "index/index-stray", "manifest/manifest-stray",
		"snapshot/.snapshot-5.tmp", "statistics/stat-stray",
	}
	for _, name := range strays {
		put(name)
	}
	for _, name := range []string{"_own/file", "bucket-x", "deep/bucket-0/file", "README"} {
		put(name) // not ours to judge
	}
	w.pass(time.Hour)
	put("bucket-0/data-young.parquet")
	found, err := e.Orphans(t.Context(), w.clock().Add(-30*time.Minute))
	require.NoError(t, err)
	var names []string
	for _, info := range found {
		names = append(names, info.Name[len(w.path)+1:])
	}
	require.Equal(t, strays, names)
	require.NoError(t, e.DeleteOrphans(t.Context(), found))
	w.check()

	// What cannot be read ends it.
	put("snapshot/snapshot-99")
	put("bucket-0/data-stray.parquet")
	w.pass(time.Hour)
	_, err = e.Orphans(t.Context(), w.clock())
	require.ErrorContains(t, err, "snapshot-99")
	require.NoError(t, w.store.Delete(t.Context(), w.path.Snapshot(99)))
	for info, err := range w.store.List(t.Context(), string(w.path)+"/manifest/manifest-list-") {
		require.NoError(t, err)
		require.NoError(t, w.store.Delete(t.Context(), info.Name))
	}
	_, err = e.Orphans(t.Context(), w.clock())
	require.True(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}
