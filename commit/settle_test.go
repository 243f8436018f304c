package commit

import (
	"bytes"
	"context"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// The sleeper (U27): an instance sleeps between its look and its create, for so long that its id has expired, and makes
// it again.
func TestSleeperMakesExpiredID(t *testing.T) {
	for name, tc := range map[string]struct {
		others  int32 // partition that the others move meanwhile
		fenced  bool
		boundry bool // the id is the newest that has expired, so its successor is there
	}{
		"partition taken":            {others: 0, fenced: true},
		"partition kept":             {others: 1},
		"partition taken, successor": {others: 0, fenced: true, boundry: true},
		"partition kept, successor":  {others: 1, boundry: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			w := newWorld(t).create(nil)
			h := &objecttest.Hook{Store: w.store}
			a, b := w.open(h), w.open(w.store)
			w.commit(a, 0, 10)
			w.commit(b, 1, 10)
			s, err := a.Resume(ctx)
			require.NoError(t, err)
			h.Once("create", w.path.Snapshot(3), func() {
				for range 5 {
					w.commit(b, tc.others, 10)
				}
				if tc.boundry {
					w.expire(4)
				} else {
					w.expire(6)
				}
			})
			_, err = a.Commit(ctx, w.next(s.Progress, 0, 10))
			require.ErrorIs(t, err, ErrUnsettled, "what was visible for a moment is not deleted")
			if tc.fenced {
				require.ErrorIs(t, err, ErrFenced)
			} else {
				require.ErrorIs(t, err, ErrOvertaken, "what others did in the snapshots that have expired is not known")
			}
			_, err = w.store.Get(ctx, w.path.Snapshot(3))
			require.ErrorIs(t, err, fs.ErrNotExist, "the id is not made again")
			latest, _, err := manifest.Latest(ctx, w.store, w.path)
			require.NoError(t, err)
			raw, err := w.store.Get(ctx, w.path.Latest())
			require.NoError(t, err)
			require.EqualValues(t, 7, latest)
			require.Equal(t, "7", string(raw))
			w.commit(a, 0, 1)
		})
	}
}

// A commit that is called off after its create went out still finds out what became of it, and takes back what does not count: the
// group that takes the partitions away from a sleeper calls off what it does in that very moment.
func TestSleeperIsCalledOff(t *testing.T) {
	for name, lost := range map[string]bool{"before its snapshot is confirmed": false, "before it heard of its snapshot": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			w := newWorld(t).create(nil)
			h := &objecttest.Hook{Store: w.store}
			var store object.Store = h
			if lost {
				store = deaf{h, w.path.Snapshot(3), cancel}
			}
			a, b := w.open(store), w.open(w.store)
			w.commit(a, 0, 10)
			w.commit(b, 1, 10)
			s, err := a.Resume(ctx)
			require.NoError(t, err)
			h.Once("create", w.path.Snapshot(3), func() {
				for range 5 {
					w.commit(b, 0, 10)
				}
				w.expire(6)
				if !lost {
					h.Once("get", w.path.Snapshot(2), cancel)
				}
			})
			_, err = a.Commit(ctx, w.next(s.Progress, 0, 10))
			require.ErrorIs(t, err, ErrUnsettled)
			require.Error(t, ctx.Err())
			_, err = w.store.Get(t.Context(), w.path.Snapshot(3))
			require.ErrorIs(t, err, fs.ErrNotExist, "the id is not made again")
		})
	}
}

// deaf makes an object, and calls off before the answer comes.
type deaf struct {
	object.Store
	name   string
	cancel func()
}

func (d deaf) Create(ctx context.Context, name string, b []byte) error {
	err := d.Store.Create(ctx, name, b)
	if name == d.name {
		d.cancel()
		return ctx.Err()
	}
	return err
}

// The same with foreign snapshots after the id, which do not say what they were built on.
func TestSleeperBeforeForeign(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a := w.open(h)
	r := w.commit(a, 0, 10)
	h.Once("create", w.path.Snapshot(2), func() {
		w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 0, 1, 5, 0, 5)}, nil)
		w.foreign(manifest.Append, []table.File{w.file("data-java-2.parquet", 0, 1, 5, 6, 9)}, nil)
		require.NoError(t, w.store.Delete(ctx, w.path.Snapshot(2)))
		require.NoError(t, w.store.Delete(ctx, w.path.Snapshot(1)))
	})
	_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrHistory, "other writers expired all of ours")
	_, err = w.store.Get(ctx, w.path.Snapshot(2))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A sleeper before the very first snapshot.
func TestSleeperMakesFirst(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	h.Once("create", w.path.Snapshot(1), func() {
		for range 4 {
			w.commit(b, 1, 10)
		}
		w.expire(3)
	})
	_, err := a.Commit(ctx, w.delta(0, -1, 10, -1))
	require.ErrorIs(t, err, ErrUnsettled)
	require.ErrorIs(t, err, ErrOvertaken)
	_, err = w.store.Get(ctx, w.path.Snapshot(1))
	require.ErrorIs(t, err, fs.ErrNotExist)
	w.commit(a, 0, 10)
}

// A table that is dropped, or rolled back, while a snapshot is on its way.
func TestTableChangesUnderACommit(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		change func(w *world)
		reason error
		left   []string
	}{
		"rolled back": {func(w *world) { w.rollback(1) }, ErrRolledBack, []string{"1"}},
		"dropped":     {func(w *world) { w.drop() }, ErrGone, nil},
		"made anew":   {func(w *world) { w.drop(); w.pass(time.Second); w.create(nil) }, ErrGone, nil},
		"made anew and filled": {func(w *world) {
			w.drop()
			w.pass(time.Second)
			w.create(nil)
			w.commit(w.open(w.store), 0, 3)
		}, ErrGone, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			h := &objecttest.Hook{Store: w.store}
			a := w.open(h)
			w.commit(a, 0, 10)
			w.commit(a, 0, 10)
			r := w.commit(a, 0, 10)
			h.Once("create", w.path.Snapshot(4), func() { tc.change(w) })
			_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
			require.ErrorIs(t, err, ErrUnsettled)
			var state *StateError
			require.ErrorAs(t, err, &state)
			if name != "made anew and filled" { // then the newest id is lower, and nothing tells which it was
				require.ErrorIs(t, err, tc.reason)
			}
			require.NotEmpty(t, state.Hint)
			require.Equal(t, tc.left, w.names("snapshot/snapshot-"))
			_, err = a.Resume(ctx)
			require.ErrorAs(t, err, &state, "it does not heal by itself")
		})
	}
}

// twoCommits is a table with two snapshots of one instance.
func twoCommits(t *testing.T) (*world, *Committer, Result) {
	w := newWorld(t).create(nil)
	a := w.open(w.store)
	w.commit(a, 0, 10)
	return w, a, w.commit(a, 0, 10)
}

// overwrite puts a snapshot of its own in another's place, as Java does on S3 without a lock.
func (w *world) overwrite(id int64) {
	ctx := context.Background()
	f := w.foreign(manifest.Append, nil, nil)
	require.NoError(w.t, w.store.Delete(ctx, w.path.Snapshot(f.ID)))
	f.ID = id
	raw, err := f.Encode()
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.Put(ctx, w.path.Snapshot(id), raw))
	require.NoError(w.t, manifest.WriteHint(ctx, w.store, w.path.Latest(), id))
}

func TestTripwire(t *testing.T) {
	ctx := context.Background()
	t.Run("overwritten", func(t *testing.T) {
		w, a, r := twoCommits(t)
		w.overwrite(2)
		_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
		require.ErrorIs(t, err, ErrReplaced)
		require.ErrorContains(t, err, `snapshot 2 was made by this group`)
		require.ErrorContains(t, err, `user "java"`)
		_, err = a.Resume(ctx)
		require.ErrorIs(t, err, ErrReplaced)
	})
	t.Run("another instance's is overwritten", func(t *testing.T) {
		w, a, r := twoCommits(t)
		b := w.open(w.store)
		w.commit(b, 1, 10)
		r, err := a.Commit(ctx, w.next(r.Progress, 0, 10)) // 4
		require.NoError(t, err)
		w.commit(b, 1, 10)
		_, err = a.Commit(ctx, w.delta(7, 5, 6, 100)) // fenced, but it has seen 5
		require.ErrorIs(t, err, ErrFenced)
		w.overwrite(5)
		_, err = a.Commit(ctx, w.next(r.Progress, 0, 10))
		require.ErrorIs(t, err, ErrReplaced)
	})
	t.Run("rolled back", func(t *testing.T) {
		w, a, r := twoCommits(t)
		w.rollback(1)
		_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
		require.ErrorIs(t, err, ErrRolledBack)
		require.NotErrorIs(t, err, ErrUnsettled)
		require.ErrorContains(t, err, "sink offsets rebase")
	})
	t.Run("rolled back and grown again", func(t *testing.T) {
		w, a, r := twoCommits(t)
		w.rollback(1)
		w.foreign(manifest.Append, nil, nil)
		w.foreign(manifest.Append, nil, nil)
		_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
		require.ErrorIs(t, err, ErrReplaced)
	})
}

func TestTableGoneBetweenCommits(t *testing.T) {
	ctx := context.Background()
	t.Run("dropped", func(t *testing.T) {
		w, a, r := twoCommits(t)
		w.drop()
		_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
		require.Error(t, err)
		require.ErrorIs(t, err, ErrGone)
	})
	t.Run("dropped before the first snapshot and made anew", func(t *testing.T) {
		w := newWorld(t).create(nil)
		a := w.open(w.store)
		w.drop()
		w.pass(time.Second)
		w.create(nil)
		_, err := a.Commit(ctx, w.delta(0, -1, 10, -1))
		require.ErrorIs(t, err, ErrGone)
	})
	// The delta's files, and its manifests, went with the table.
	for name, filled := range map[string]bool{"made anew before the first create": false, "made anew and filled before the first create": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			h := &objecttest.Hook{Store: w.store}
			a := w.open(h)
			h.Once("create", w.path.Snapshot(1), func() {
				w.drop()
				w.pass(time.Second)
				w.create(nil)
				if filled {
					w.commit(w.open(w.store), 1, 3)
				}
			})
			_, err := a.Commit(ctx, w.delta(0, -1, 10, -1))
			require.ErrorIs(t, err, ErrGone)
			require.Equal(t, map[bool][]string{true: {"1"}}[filled], w.names("snapshot/snapshot-"))
			_, err = a.Resume(ctx)
			require.ErrorIs(t, err, ErrGone)
		})
	}
	t.Run("expired by others, who went on", func(t *testing.T) {
		w, a, r := twoCommits(t)
		b := w.open(w.store)
		for range 40 {
			w.commit(b, 1, 1)
		}
		w.expire(40)
		highest, err := a.Ahead(ctx)
		require.NoError(t, err)
		r, err = a.Commit(ctx, w.next(table.Progress{Offsets: r.Progress.Offsets, MaxSequence: highest}, 0, 10))
		require.NoError(t, err, "its partitions have not moved")
		require.EqualValues(t, 43, r.SnapshotID)
		require.Equal(t, table.Offsets{part(0): at(30), part(1): at(40)}, r.Progress.Offsets)
	})
}

// The map is found in the long-lived changelogs when the snapshots have expired.
func TestResumeFromChangelogs(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a := w.open(w.store)
	w.commit(a, 0, 10)
	r := w.commit(a, 0, 10)
	w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 0, 1, 5, 0, 500)}, nil)
	w.foreign(manifest.Append, []table.File{w.file("data-java-2.parquet", 0, 1, 5, 0, 50)}, nil)
	for id := int64(1); id <= 3; id++ {
		raw, err := w.store.Get(ctx, w.path.Snapshot(id))
		require.NoError(t, err)
		require.NoError(t, w.store.Put(ctx, w.path.Changelog(id), raw))
	}
	w.expire(4)
	s, err := w.open(w.store).Resume(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, s.SnapshotID)
	require.Equal(t, r.Progress, s.Progress)
	require.EqualValues(t, 500, s.ForeignMaxSequence, "from everything that is live")

	// With all snapshot ids down to 1 the history is complete, though nothing of ours is in it.
	other := w.openAs(w.store, "another-group")
	s, err = other.Resume(ctx)
	require.NoError(t, err)
	require.True(t, s.Fresh)
	require.EqualValues(t, 500, s.MaxSequence)
}

// U26(f): what was just written is not visible for a moment.
func TestReadsLagBehind(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a := w.open(h)
	hidden := map[string]bool{}
	h.Before = func(op object.Op, name string) error {
		switch {
		case op == "create" || op == "put":
			hidden[name] = true
		case hidden[name]:
			delete(hidden, name)
			return errAbsent
		}
		return nil
	}
	progress := table.Progress{MaxSequence: -1}
	for range 10 {
		r, err := a.Commit(ctx, w.next(progress, 0, 10))
		require.NoError(t, err)
		progress = r.Progress
	}
	require.Equal(t, at(100), w.check()[part(0)])
}

// A base that is listed but cannot be read for a moment is no proof that it is gone.
func TestBaseNotVisibleForAMoment(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a := w.open(h)
	w.commit(a, 0, 10)
	r := w.commit(a, 0, 10)
	created, hidden := false, 2
	h.Before = func(op object.Op, name string) error {
		created = created || op == "create"
		if created && hidden > 0 && op == "get" && name == w.path.Snapshot(2) {
			hidden--
			return errAbsent
		}
		return nil
	}
	r, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.NoError(t, err)
	require.EqualValues(t, 3, r.SnapshotID)
	require.Zero(t, hidden)
	require.Equal(t, at(30), w.check()[part(0)])
}

// Whatever answer the create gives, and whatever the store did: the delta is in one snapshot, or the error says that it
// is not known.
func TestUnknownOutcomes(t *testing.T) {
	ctx := context.Background()
	for _, effect := range []object.Effect{object.FailBefore, object.FailAfter, object.LieExist} {
		for _, times := range []int{1, 2, 0} { // 0: all
			rule := object.Rule{Ops: []object.Op{object.OpCreate}, Path: "snapshot-2", Effect: effect, Nth: times}
			rules := []object.Rule{rule}
			if times == 2 { // the first two
				rules[0].Nth = 1
				rules = append(rules, rule)
			}
			w := newWorld(t).create(nil)
			f := object.NewFault(w.store, rules...)
			a := w.open(f)
			r := w.commit(a, 0, 10)
			r, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
			if effect == object.FailBefore && times == 0 {
				require.ErrorIs(t, err, ErrUnsettled)
				require.Len(t, w.names("manifest/"), 5+5, "nothing is deleted")
				continue
			}
			require.NoError(t, err)
			require.EqualValues(t, 2, r.SnapshotID)
			require.Equal(t, at(20), w.check()[part(0)])
			w.noUnnamedManifests()
		}
	}
}

// A request that arrives late is the very one that was repeated, or meets another's snapshot.
func TestLateRequest(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	r := w.commit(a, 0, 10)
	// The create gets no answer, and the snapshot is not there. Before it is sent again b takes the id.
	h.Before = func(op object.Op, name string) error {
		if op == "create" && name == w.path.Snapshot(2) {
			h.Before = func(op object.Op, name string) error {
				if op == "create" && name == w.path.Snapshot(2) {
					h.Before = nil
					w.commit(b, 0, 5)
				}
				return nil
			}
			return object.ErrInjected
		}
		return nil
	}
	before := len(w.names("manifest/"))
	_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrFenced)
	require.ErrorIs(t, err, ErrUnsettled, "its own request may still be on the way: its files stay")
	require.Len(t, w.names("manifest/"), before+5+5)
	w.check()
}

// The same bytes go out again under the same id, so that it does not matter which request arrives.
func TestRepeatedRequestIsTheSame(t *testing.T) {
	w := newWorld(t).create(nil)
	record := &recordCreates{Store: w.store, fail: 3}
	a := w.open(record)
	w.commit(a, 0, 10)
	require.Len(t, record.sent, 4)
	for _, b := range record.sent {
		require.True(t, bytes.Equal(record.sent[0], b))
	}
}

// recordCreates fails the first creates and keeps what was sent.
type recordCreates struct {
	object.Store
	fail int
	sent [][]byte
}

func (r *recordCreates) Create(ctx context.Context, name string, b []byte) error {
	r.sent = append(r.sent, bytes.Clone(b))
	if len(r.sent) <= r.fail {
		return object.ErrInjected
	}
	return r.Store.Create(ctx, name, b)
}

// A store without a conditional create, for a single writer: the name is looked up first.
func TestSingleWriter(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	cfg := w.config(&overwriting{w.store}, group)
	cfg.SingleWriter = true
	a, err := Open(ctx, cfg)
	require.NoError(t, err)
	w.commit(a, 0, 10)
	r := w.commit(a, 0, 10)
	b := w.open(w.store)
	w.commit(b, 1, 10) // against the rules, but seen in time
	r, err = a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.NoError(t, err)
	require.EqualValues(t, 4, r.SnapshotID)
	w.check()
}

// overwriting ignores the condition.
type overwriting struct{ object.Store }

func (o *overwriting) Create(ctx context.Context, name string, b []byte) error {
	return o.Store.Put(ctx, name, b)
}

// Confirmation that cannot be had is an unknown outcome.
func TestConfirmationFails(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a := w.open(h)
	r := w.commit(a, 0, 10)
	created := false
	h.Before = func(op object.Op, name string) error {
		if created && op == "get" {
			return object.ErrInjected
		}
		created = created || op == "create"
		return nil
	}
	_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrUnsettled)
	h.Before = nil
	s, err := a.Resume(ctx)
	require.NoError(t, err)
	require.Equal(t, at(20), s.Progress.Offsets[part(0)], "it was there")
	w.commit(a, 0, 1)
	w.check()
}
