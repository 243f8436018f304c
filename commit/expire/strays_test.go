package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/table/manifest"
	"sink/table/object"
)

// late is a store on the way to which the first create of an object is lost, and may arrive at any time later.
type late struct {
	object.Store
	name  string
	sent  []byte
	lost  func()       // called when it was lost
	again func() error // called before it is sent once more
}

func (l *late) Create(ctx context.Context, name string, b []byte) error {
	if name != l.name {
		return l.Store.Create(ctx, name, b)
	}
	if l.sent == nil {
		l.sent = b
		l.lost()
		return errors.New("no answer")
	}
	if err := l.again(); err != nil {
		return err
	}
	return l.Store.Create(ctx, name, b)
}

// TestStray: a create arrives when its id has expired, and nobody is left to take it back. Readers and expiry go on as if it were not
// there, expiry removes it, and nothing that a snapshot names is lost, though the writer may have gone on with the same files.
func TestStray(t *testing.T) {
	for _, wentOn := range []bool{false, true} {
		for _, first := range []int64{4, 6} { // the first snapshot that is left: right after the stray, or far from it
			t.Run(fmt.Sprintf("went on %t, first %d", wentOn, first), func(t *testing.T) {
				w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": fmt.Sprint(9 - first)})
				arrive := w.sleeper(3, wentOn)
				e := w.expirer(w.store)
				w.expireTo(e, first)
				arrive()

				ids, err := manifest.SnapshotIDs(t.Context(), w.store, w.path)
				require.NoError(t, err)
				require.Equal(t, first, ids[0])
				earliest, _, err := manifest.Earliest(t.Context(), w.store, w.path)
				require.NoError(t, err)
				require.Equal(t, first, earliest)
				_, err = e.CreateTag(t.Context(), "of-the-stray", 3, 0)
				require.ErrorIs(t, err, fs.ErrNotExist)

				// Files that it names, and nothing else does, are orphans at once.
				w.pass(3 * time.Hour)
				orphans, err := e.Orphans(t.Context(), w.clock())
				require.NoError(t, err)
				require.Equal(t, wentOn, !w.holdsDataFile(orphans), "%v", orphans)
				require.NoError(t, e.DeleteOrphans(t.Context(), orphans))

				dry, err := New(Config{Store: w.store, Path: w.path, Schema: w.s, Now: w.clock, DryRun: true})
				require.NoError(t, err)
				r, err := dry.Run(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 1, r.Strays)
				w.append(w.committer())
				w.dropPin()
				r, err = e.Run(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 1, r.Strays)
				require.Positive(t, r.Snapshots)
				_, err = w.store.Get(t.Context(), w.path.Snapshot(3))
				require.ErrorIs(t, err, fs.ErrNotExist)
				w.check()

				orphans, err = e.Orphans(t.Context(), w.clock())
				require.NoError(t, err)
				require.NoError(t, e.DeleteOrphans(t.Context(), orphans))
				w.checkNothingElse()
			})
		}
	}
}

// TestStrayExpiry: also where orphans are never looked for, expiry after a stray takes nothing that a snapshot names.
func TestStrayExpiry(t *testing.T) {
	w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3"})
	arrive := w.sleeper(3, true)
	e := w.expirer(w.store)
	w.expireTo(e, 6)
	arrive()
	for range 4 {
		w.append(w.committer())
		w.dropPin()
		_, err := e.Run(t.Context())
		require.NoError(t, err)
		w.check()
	}
}

// TestStrayAfterCrash: an expiry died before it raised EARLIEST. The next one does; a snapshot that is made again before that cannot be
// told from one that counts, so nothing expires, and the message says what to do.
func TestStrayAfterCrash(t *testing.T) {
	w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3"})
	arrive := w.sleeper(3, false)
	e := w.expirer(w.store)
	w.expireTo(e, 6)
	for _, hint := range []int64{1, 6} {
		require.NoError(t, manifest.WriteHint(t.Context(), w.store, w.path.Earliest(), hint))
		arrive()
		_, err := e.Run(t.Context())
		if hint == 1 {
			require.ErrorContains(t, err, "no snapshot is there between 3 and 6")
			require.ErrorContains(t, err, "write 6 into "+w.path.Earliest())
			continue
		}
		require.NoError(t, err)
		w.check()
	}
	require.NoError(t, w.store.Delete(t.Context(), w.path.Earliest()))
	_, err := e.Run(t.Context())
	require.NoError(t, err)
	arrive()
	r, err := e.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Strays)
	w.check()
}

// sleeper makes eight snapshots, and returns what lets the create of the id arrive that a writer has sent meanwhile. The writer has died,
// or, when it went on, has made the last of the eight with the same files.
func (w *world) sleeper(id int64, wentOn bool) (arrive func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	others := w.committer()
	for range id - 1 {
		w.append(others)
	}
	l := &late{Store: w.store, name: w.path.Snapshot(id), lost: cancel}
	if wentOn {
		l.lost = func() {}
	}
	l.again = func() error {
		for i := id; i < 8; i++ {
			w.append(others)
		}
		return nil
	}
	_, err := w.open("group", l).Commit(ctx, w.delta())
	if wentOn {
		require.NoError(w.t, err)
	} else {
		require.ErrorIs(w.t, err, commit.ErrUnsettled)
		require.NoError(w.t, l.again())
		w.append(others)
	}
	require.EqualValues(w.t, 8, w.ids()[7])
	return func() {
		err := w.store.Create(w.t.Context(), l.name, l.sent)
		if !errors.Is(err, fs.ErrExist) {
			require.NoError(w.t, err)
		}
	}
}

// expireTo expires all before an id.
func (w *world) expireTo(e *Expirer, first int64) {
	w.dropPin()
	_, err := e.Run(w.t.Context())
	require.NoError(w.t, err)
	require.Equal(w.t, first, w.ids()[0])
	w.check()
}

// holdsDataFile tells whether a file of rows is among objects.
func (w *world) holdsDataFile(found []object.Info) bool {
	return slices.ContainsFunc(found, func(i object.Info) bool { return strings.HasPrefix(i.Name, w.path.DataFile("", 0, "data-")) })
}
