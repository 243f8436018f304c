package commit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

func TestCommit(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)

	s, err := c.Resume(ctx)
	require.NoError(t, err)
	require.True(t, s.Fresh)
	require.Zero(t, s.NewestID)
	require.EqualValues(t, -1, s.MaxSequence)
	require.EqualValues(t, 1, s.NextCommitIdentifier)

	d := w.delta(0, -1, 10, -1)
	d.Progress.Learned = map[string]string{"identity/shop.orders": "full"}
	r, err := c.Commit(ctx, d)
	require.NoError(t, err)
	require.NoError(t, r.Hints)
	require.EqualValues(t, 1, r.SnapshotID)
	require.Equal(t, manifest.Append, r.Kind)
	require.Equal(t, 1, r.Attempts)
	require.Zero(t, r.LostRaces)
	require.EqualValues(t, 20, r.TotalRecords)
	require.EqualValues(t, 9, r.Progress.MaxSequence)
	require.Equal(t, table.Offsets{part(0): at(10)}, r.Progress.Offsets)

	w.pass(time.Minute)
	d = w.delta(1, -1, 5, r.Progress.MaxSequence)
	d.Progress.Learned = map[string]string{"identity/shop.items": "none"}
	r, err = c.Commit(ctx, d)
	require.NoError(t, err)
	require.EqualValues(t, 2, r.SnapshotID)
	require.Equal(t, table.Offsets{part(0): at(10), part(1): at(5)}, r.Progress.Offsets, "the whole map is carried")
	require.Equal(t, map[string]string{"identity/shop.orders": "full", "identity/shop.items": "none"}, r.Progress.Learned)
	require.EqualValues(t, 14, r.Progress.MaxSequence)

	other := w.open(w.store)
	s, err = other.Resume(ctx)
	require.NoError(t, err)
	require.False(t, s.Fresh)
	require.EqualValues(t, 2, s.SnapshotID)
	require.Equal(t, r.UUID, s.SnapshotUUID)
	require.Equal(t, r.Progress, s.Progress)
	require.EqualValues(t, 14, s.MaxSequence)
	require.EqualValues(t, 3, s.NextCommitIdentifier)
	require.True(t, w.clock().Equal(s.Time))

	raw, err := w.store.Get(ctx, w.path.Snapshot(2))
	require.NoError(t, err)
	snapshot, err := manifest.ParseSnapshot(raw)
	require.NoError(t, err)
	require.Equal(t, group, snapshot.CommitUser)
	require.EqualValues(t, 2, snapshot.CommitIdentifier)
	require.EqualValues(t, 10, snapshot.DeltaRecords)
	require.EqualValues(t, 10, snapshot.ChangelogRecords)
	require.EqualValues(t, 30, snapshot.TotalRecords)
	require.Equal(t, table.Offsets{part(0): at(10), part(1): at(5)}, w.check())
}

// An empty delta fixes where the partitions of a new table begin.
func TestCommitEmpty(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	r, err := c.Commit(ctx, table.Delta{Progress: table.Progress{Offsets: table.Offsets{part(0): at(1000), part(1): at(0)}, MaxSequence: -1}})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.SnapshotID)
	snapshot := w.snapshots()[0]
	require.Equal(t, manifest.Append, snapshot.CommitKind)
	require.Empty(t, snapshot.ChangelogList)
	s, err := w.open(w.store).Resume(ctx)
	require.NoError(t, err)
	require.False(t, s.Fresh)
	require.Equal(t, at(1000), s.Progress.Offsets[part(0)])
	require.EqualValues(t, -1, s.MaxSequence)
	list, err := manifest.ReadDataList(ctx, w.store, w.path, snapshot)
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestFenced(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a, b := w.open(w.store), w.open(w.store)
	w.commit(a, 0, 10)
	stale := w.delta(0, 10, 20, 100)
	w.commit(b, 0, 5) // b has the partition now
	before := w.names("manifest/")

	_, err := a.Commit(ctx, stale)
	require.ErrorIs(t, err, ErrFenced)
	require.NotErrorIs(t, err, ErrUnsettled)
	require.ErrorContains(t, err, "topic[0] is at offset 15")
	require.Equal(t, before, w.names("manifest/"), "a fenced writer leaves nothing behind")

	// Absent is a value: both ways.
	_, err = a.Commit(ctx, w.delta(0, -1, 5, 100))
	require.ErrorIs(t, err, ErrFenced)
	_, err = a.Commit(ctx, w.delta(7, 10, 20, 100))
	require.ErrorIs(t, err, ErrFenced)
	// And so are the epoch and the topic id.
	d := w.delta(0, 15, 20, 100)
	d.From[part(0)] = table.Cursor{Offset: 15, Epoch: 3, TopicID: "another"}
	_, err = a.Commit(ctx, d)
	require.ErrorIs(t, err, ErrFenced)

	// A delta that is in the table already is fenced, too: it is not written twice.
	d = w.delta(0, 15, 20, 100)
	_, err = a.Commit(ctx, d)
	require.NoError(t, err)
	_, err = a.Commit(ctx, d)
	require.ErrorIs(t, err, ErrFenced)

	w.commit(a, 0, 1)
	require.Equal(t, at(21), w.check()[part(0)])
}

func TestDeltaIsChecked(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	for name, change := range map[string]func(d *table.Delta){
		"is in the delta twice":       func(d *table.Delta) { d.Changelog[0].Name = d.Added[0].Name },
		"in bucket 2 of 2":            func(d *table.Delta) { d.Added[0].Bucket.Number = 2 },
		"has level 1":                 func(d *table.Delta) { d.Added[1].Level = 1 },
		"changelog file":              func(d *table.Delta) { d.Changelog[1].Level = 1 },
		"has schema 7":                func(d *table.Delta) { d.Added[0].SchemaID = 7 },
		"has no name":                 func(d *table.Delta) { d.Added[0].Name = "" },
		"bytes and 0 rows":            func(d *table.Delta) { d.Added[0].Rows = 0 },
		"has sequence 9, above the 8": func(d *table.Delta) { d.Progress.MaxSequence = 8 },
		"goes back from 30 to 10":     func(d *table.Delta) { d.From[part(0)] = at(30) },
		"goes nowhere":                func(d *table.Delta) { d.From[part(1)] = at(1) },
		"moves offsets, too":          func(d *table.Delta) { d.Removed = d.Added },
	} {
		t.Run(name, func(t *testing.T) {
			d := w.delta(0, -1, 10, -1)
			change(&d)
			_, err := c.Commit(ctx, d)
			require.ErrorContains(t, err, name)
		})
	}
	require.Empty(t, w.names("manifest/"))
	require.Empty(t, w.names("snapshot/"))
}

func TestStale(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	c := w.open(h)
	d := w.delta(0, -1, 10, -1)
	w.pass(time.Hour + time.Second)
	_, err := c.Commit(ctx, d)
	require.ErrorIs(t, err, ErrStale)

	// It is looked at again just before the create: a sleeper may wake there.
	d = w.delta(0, -1, 10, -1)
	h.Before = func(op object.Op, name string) error {
		if op == "put" {
			w.pass(20 * time.Minute)
		}
		return nil
	}
	_, err = c.Commit(ctx, d)
	require.ErrorIs(t, err, ErrStale)
	require.Empty(t, w.names("manifest/"))
	require.Empty(t, w.names("snapshot/"))
}

// Another's snapshot between look and create is a lost race: the same files and manifests, another base, the next id.
func TestLostRace(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	w.commit(a, 0, 10)
	w.commit(b, 1, 10)
	h.Once("create", w.path.Snapshot(3), func() { w.commit(b, 1, 10) })
	r := w.commit(a, 0, 10)
	require.EqualValues(t, 4, r.SnapshotID)
	require.Equal(t, 2, r.Attempts)
	require.Equal(t, 1, r.LostRaces)
	require.Len(t, w.names("manifest/manifest-list-"), 4*3, "the base list of the lost attempt is deleted")
	require.Len(t, w.names("manifest/manifest-id"), 4*2, "manifests are written once")
	require.Equal(t, table.Offsets{part(0): at(20), part(1): at(20)}, w.check())

	// The other may have taken the partition, too.
	h.Once("create", w.path.Snapshot(5), func() { w.commit(b, 0, 10) })
	s, err := a.Resume(ctx)
	require.NoError(t, err)
	before := len(w.names("manifest/"))
	_, err = a.Commit(ctx, w.next(s.Progress, 0, 10))
	require.ErrorIs(t, err, ErrFenced)
	require.Len(t, w.names("manifest/"), before+5)
}

func TestBusy(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	a.cfg.Retries = 3
	inside := false
	h.Before = func(op object.Op, name string) error {
		if op == "create" && !inside {
			inside = true
			w.commit(b, 1, 1)
			inside = false
		}
		return nil
	}
	d := w.delta(0, -1, 10, 100)
	_, err := a.Commit(ctx, d)
	require.ErrorIs(t, err, ErrBusy)
	require.NotErrorIs(t, err, ErrUnsettled)
	require.Len(t, w.names("manifest/"), 4*5, "only the four snapshots of b left anything")
	h.Before = nil
	_, err = a.Commit(ctx, d)
	require.NoError(t, err, "the same delta may be tried again")
	w.check()
}

// What a snapshot inherits from the one before, whoever made that.
func TestCarryOver(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	w.commit(c, 0, 10)
	f := w.foreign(manifest.Append, nil, nil)
	require.NoError(t, w.store.Delete(ctx, w.path.Snapshot(2)))
	watermark, row := int64(77), int64(0)
	f.Watermark, f.NextRowID, f.IndexManifest, f.Statistics = &watermark, &row, "index-manifest-1", "stat-1"
	f.TimeMillis += 5000 // its clock is ahead
	raw, err := f.Encode()
	require.NoError(t, err)
	require.NoError(t, w.store.Create(ctx, w.path.Snapshot(2), raw))

	r := w.commit(c, 0, 10)
	require.True(t, r.Foreign)
	s := w.snapshots()[2]
	require.Equal(t, f.Watermark, s.Watermark)
	require.Equal(t, f.NextRowID, s.NextRowID)
	require.Equal(t, "index-manifest-1", s.IndexManifest)
	require.Equal(t, "stat-1", s.Statistics)
	require.Equal(t, f.TimeMillis, s.TimeMillis, "time does not go back")
	require.EqualValues(t, 2, s.CommitIdentifier, "others' identifiers do not count")

	_, changes, err := c.Evolve(ctx, append(testFields, table.Field{Name: "w", Type: table.Type{Root: table.Int}}))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	r = w.commit(c, 0, 10)
	require.False(t, r.Foreign)
	s = w.snapshots()[3]
	require.EqualValues(t, 1, s.SchemaID, "the newest schema, though the files have the old one")
	require.Empty(t, s.Statistics, "they are about the schema before")
	w.check()
}

// Other writers' rows raise the sequence numbers of the state and of the map.
func TestForeignSequence(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	w.foreign(manifest.Append, []table.File{w.file("data-java-0.parquet", 0, 1, 5, 0, 500)}, nil)
	a := w.open(w.store)
	s, err := a.Resume(ctx)
	require.NoError(t, err)
	require.True(t, s.Fresh, "the history is complete and holds nothing of ours")
	require.EqualValues(t, 1, s.NewestID)
	require.EqualValues(t, 500, s.ForeignMaxSequence)
	require.EqualValues(t, 500, s.MaxSequence)
	r, err := a.Commit(ctx, w.delta(0, -1, 10, s.MaxSequence))
	require.NoError(t, err)
	require.EqualValues(t, 510, r.Progress.MaxSequence)

	w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 1, 1, 5, 600, 700)}, nil)
	w.foreign(manifest.Append, []table.File{w.file("data-java-2.parquet", 1, 1, 5, 800, 900)}, nil)
	s, err = w.open(w.store).Resume(ctx)
	require.NoError(t, err)
	require.False(t, s.Fresh)
	require.EqualValues(t, 2, s.SnapshotID)
	require.EqualValues(t, 4, s.NewestID)
	require.EqualValues(t, 900, s.ForeignMaxSequence)
	require.EqualValues(t, 510, s.Progress.MaxSequence)
	require.EqualValues(t, 900, s.MaxSequence)

	_, err = a.Commit(ctx, w.next(s.Progress, 0, 10)) // numbered before it knew
	require.ErrorIs(t, err, ErrOvertaken)
	highest, err := a.Ahead(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 900, highest)
	s.Progress.MaxSequence = highest
	r, err = a.Commit(ctx, w.next(s.Progress, 0, 10))
	require.NoError(t, err)
	require.True(t, r.Foreign)
	require.EqualValues(t, 910, r.Progress.MaxSequence, "the next number is above everybody's")
	w.check()
}

// A look back for the group's newest snapshot may miss it: another instance makes a newer one, and the older ones expire under its hands.
func TestExpiredWhileLookedAt(t *testing.T) {
	for name, more := range map[string]int{"one newer": 0, "others after it": 3} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			other := func() {
				w.foreign(manifest.Append, []table.File{w.file("data-java-"+strconv.Itoa(w.serial())+".parquet", 0, 1, 5, 0, 0)}, nil)
			}
			b := w.open(w.store)
			w.commit(b, 1, 10)
			other()
			h := &objecttest.Hook{Store: w.store}
			h.Once("get", w.path.Snapshot(1), func() {
				w.commit(b, 1, 10)
				for range more {
					other()
				}
				w.expire(2)
			})
			s, err := w.open(h).Resume(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, s.SnapshotID)
			require.Equal(t, at(20), s.Progress.Offsets[part(1)])
		})
	}
}

// A commit costs the same in an old table as in a young one.
func TestCostDoesNotGrow(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(map[string]string{"manifest.merge-min-count": "10"})
	f := object.NewFault(w.store)
	c := w.open(f)
	s, err := c.Resume(ctx)
	require.NoError(t, err)
	progress := s.Progress
	var costs []int
	for range 120 {
		w.pass(10 * time.Second)
		before := len(f.Log())
		r, err := c.Commit(ctx, w.next(progress, 0, 10))
		require.NoError(t, err)
		costs = append(costs, len(f.Log())-before)
		progress = r.Progress
		list, err := manifest.ReadList(ctx, w.store, w.path, w.mustSnapshot(r.SnapshotID).BaseList)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list), 11, "manifests are merged")
	}
	slices.Sort(costs)
	require.LessOrEqual(t, costs[len(costs)/2], 13, "calls to the store")
	require.LessOrEqual(t, costs[len(costs)-1], 30)
	w.check()
}

func (w *world) mustSnapshot(id int64) *manifest.Snapshot {
	s, err := manifest.ReadSnapshot(context.Background(), w.store, w.path, id)
	require.NoError(w.t, err)
	return s
}

// A lost race uses what was merged again, unless the winner merged, too.
func TestMergedManifestsAreReused(t *testing.T) {
	for _, winnerMerges := range []bool{false, true} {
		t.Run(fmt.Sprintf("winner merges %v", winnerMerges), func(t *testing.T) {
			w := newWorld(t).create(map[string]string{"manifest.merge-min-count": "4"})
			h := &objecttest.Hook{Store: w.store}
			f := object.NewFault(h)
			a, b := w.open(f), w.open(w.store)
			for range 4 {
				w.commit(b, 1, 1)
			}
			if !winnerMerges {
				b.schema = b.schema.Clone()
				b.schema.Options["manifest.merge-min-count"] = "100"
			}
			h.Once("create", w.path.Snapshot(5), func() { w.commit(b, 1, 1) })
			r := w.commit(a, 0, 5)
			require.Equal(t, 2, r.Attempts)
			require.EqualValues(t, 6, r.SnapshotID)
			written := 0
			for _, line := range f.Log() {
				if strings.HasPrefix(line, "put "+w.path.Manifest("manifest-id")) {
					written++
				}
			}
			// Data, changelog, and one merged manifest: five of the winner's unmerged list, or none of its merged one.
			require.Equal(t, 3, written)
			w.check()
			w.noUnnamedManifests()
		})
	}
}

// noUnnamedManifests checks that each file in the manifest folder is named by some snapshot.
func (w *world) noUnnamedManifests() {
	w.t.Helper()
	ctx := context.Background()
	named := map[string]bool{}
	for _, s := range w.snapshots() {
		for _, name := range []string{s.BaseList, s.DeltaList, s.ChangelogList} {
			if name == "" {
				continue
			}
			named[name] = true
			list, err := manifest.ReadList(ctx, w.store, w.path, name)
			require.NoError(w.t, err)
			for _, m := range list {
				named[m.Name] = true
			}
		}
	}
	for _, name := range w.names("manifest/") {
		require.True(w.t, named[name], "%s is named by no snapshot", name)
	}
}

func TestErrorsOfTheStoreLeaveTheDeltaUsable(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	f := object.NewFault(w.store, object.Rule{Ops: []object.Op{object.OpPut}, Nth: 3})
	c := w.open(f)
	d := w.delta(0, -1, 10, -1)
	_, err := c.Commit(ctx, d)
	require.ErrorIs(t, err, object.ErrInjected)
	require.NotErrorIs(t, err, ErrUnsettled)
	require.Empty(t, w.names("manifest/"))
	_, err = c.Commit(ctx, d)
	require.NoError(t, err)
	w.check()
}

func TestContextEnds(t *testing.T) {
	w := newWorld(t).create(nil)
	ctx, cancel := context.WithCancel(context.Background())
	h := &objecttest.Hook{Store: w.store}
	c := w.open(h)
	h.Once("create", w.path.Snapshot(1), cancel)
	_, err := c.Commit(ctx, w.delta(0, -1, 10, -1))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrUnsettled, "the create was on its way")
}
