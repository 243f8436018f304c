package commit

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// compacted makes a level-n file out of others.
func (w *world) compacted(name string, bucket, level int32, lo, hi int64) table.File {
	f := w.file(name, bucket, lo, hi, 0, 5)
	f.Level, f.Source = level, table.SourceCompact
	return f
}

// ofBucket returns the live files of a bucket of the newest snapshot.
func (w *world) ofBucket(bucket int32) []table.File {
	all := w.snapshots()
	live, err := manifest.ReadLive(context.Background(), w.store, w.path, all[len(all)-1], nil)
	require.NoError(w.t, err)
	var files []table.File
	for _, f := range live {
		if f.Bucket.Number == bucket {
			files = append(files, f)
		}
	}
	return files
}

func TestCompact(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a, b := w.open(w.store), w.open(w.store)
	w.commit(a, 0, 10)
	r := w.commit(a, 0, 10)

	removed := w.ofBucket(0)
	require.Len(t, removed, 2)
	d := table.Delta{Removed: removed, Added: []table.File{w.compacted("data-c1.parquet", 0, 5, 0, 19)}}
	w.commit(b, 1, 10) // an append in between does not matter
	c, err := a.Commit(ctx, d)
	require.NoError(t, err)
	require.Equal(t, manifest.Compact, c.Kind)
	require.EqualValues(t, 4, c.SnapshotID)
	require.Equal(t, table.Offsets{part(0): at(20), part(1): at(10)}, c.Progress.Offsets, "the whole map is carried on unchanged")
	require.GreaterOrEqual(t, c.Progress.MaxSequence, r.Progress.MaxSequence)
	require.Empty(t, w.mustSnapshot(4).ChangelogList)
	require.Zero(t, c.DeltaRecords)
	require.Equal(t, w.mustSnapshot(3).TotalRecords, c.TotalRecords)
	live := w.ofBucket(0)
	require.Len(t, live, 2)
	w.check()

	// The same again: what it removes is gone.
	before := w.names("manifest/")
	_, err = b.Commit(ctx, table.Delta{Removed: removed, Added: []table.File{w.compacted("data-c2.parquet", 0, 5, 0, 19)}})
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, "is gone")
	require.Equal(t, before, w.names("manifest/"))

	// A file moves up without being rewritten; its identity changes with the level.
	var c1 table.File
	for _, f := range live {
		if f.Level == 5 {
			c1 = f
		}
	}
	up := c1
	up.Level = 4
	_, err = b.Commit(ctx, table.Delta{Removed: []table.File{c1}, Added: []table.File{up}})
	require.NoError(t, err)
	// Not back again: an identity is added once.
	_, err = b.Commit(ctx, table.Delta{Removed: []table.File{up}, Added: []table.File{c1}})
	require.ErrorIs(t, err, ErrConflict)
	w.check()
	w.commit(a, 0, 10)
	w.check()
}

func TestCompactKeepsLevelsDisjoint(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		lo, hi int64
		bucket int32
		level  int32
		clash  bool
	}{
		"after":         {100, 199, 0, 5, false},
		"before":        {-50, -1, 0, 5, false},
		"touches":       {99, 150, 0, 5, true},
		"inside":        {10, 20, 0, 5, true},
		"around":        {-10, 1000, 0, 5, true},
		"other level":   {10, 20, 0, 4, false},
		"other bucket":  {10, 20, 1, 5, false},
		"level 0 again": {10, 20, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			a := w.open(w.store)
			w.commit(a, 0, 10)
			_, err := a.Commit(ctx, table.Delta{Removed: w.ofBucket(0), Added: []table.File{w.compacted("data-c1.parquet", 0, 5, 0, 99)}})
			require.NoError(t, err)
			w.commit(a, 0, 10)
			var removed []table.File
			for _, f := range w.ofBucket(tc.bucket) {
				if f.Level == 0 {
					removed = append(removed, f)
				}
			}
			_, err = a.Commit(ctx, table.Delta{Removed: removed, Added: []table.File{w.compacted("data-c2.parquet", tc.bucket, tc.level, tc.lo, tc.hi)}})
			if tc.clash {
				require.ErrorIs(t, err, ErrConflict)
				require.ErrorContains(t, err, "overlap in level 5")
			} else {
				require.NoError(t, err)
			}
			w.check()
		})
	}
}

func TestTotalBuckets(t *testing.T) {
	ctx := context.Background()
	four := func(w *world, d table.Delta) table.Delta {
		for i := range d.Added {
			d.Added[i].TotalBuckets, d.Changelog[i].TotalBuckets = 4, 4
		}
		return d
	}
	set := func(w *world, buckets string) {
		_, err := w.open(w.store).SetOption(ctx, "bucket", buckets)
		require.NoError(t, err)
	}
	w := newWorld(t).create(nil)
	a := w.open(w.store)
	_, err := a.Commit(ctx, four(w, w.delta(0, -1, 10, -1)))
	require.ErrorIs(t, err, ErrRescaled, "a partition without files has the option's count")
	set(w, "4")
	r, err := a.Commit(ctx, four(w, w.delta(0, -1, 10, -1)))
	require.NoError(t, err)
	_, err = a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrRescaled)
	require.ErrorContains(t, err, "the table has 4 now, but the checkpoint's files are for 2")
	set(w, "2")
	_, err = a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrNotRescaled)
	require.ErrorContains(t, err, "the table has 4 buckets, option bucket says 2: `sink rescale` with --buckets 2 rewrites it")
	b := w.open(w.store)
	_, err = b.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrNotRescaled, "also when it has to be looked up")
	set(w, "8")
	_, err = b.Commit(ctx, w.next(r.Progress, 0, 10))
	require.ErrorIs(t, err, ErrRescaled, "it was rescaled twice")
	require.ErrorContains(t, err, "the table has 4 now, but the checkpoint's files are for 2")
	set(w, "2")
	mixed := w.next(r.Progress, 0, 10)
	mixed.Added[0].TotalBuckets = 4
	_, err = b.Commit(ctx, mixed)
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, "of one partition")

	// Another program rescales the table: overwrites everything with another count.
	all := append(w.ofBucket(0), w.ofBucket(1)...)
	rescaled := w.file("data-java.parquet", 0, 0, 9, 0, 9)
	w.foreign(manifest.Overwrite, []table.File{rescaled}, all)
	_, err = a.Commit(ctx, four(w, w.next(r.Progress, 0, 10)))
	require.ErrorIs(t, err, ErrRescaled, "it is seen although the old count was known")
	r, err = a.Commit(ctx, w.next(r.Progress, 0, 10))
	require.NoError(t, err)

	// And then drops all rows, which leaves the count free.
	set(w, "4")
	w.foreign(manifest.Overwrite, nil, append(w.ofBucket(0), w.ofBucket(1)...))
	_, err = a.Commit(ctx, four(w, w.next(r.Progress, 0, 10)))
	require.NoError(t, err)
	w.check()
}

// In a partitioned table each partition has a count of its own, and manifests of other partitions are not read.
func TestTotalBucketsByPartition(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	fields := append([]table.Field{{Name: "day", Type: table.Type{Root: table.Int, NotNull: true}}}, testFields...)
	s := table.NewSchema(fields, []string{"day", "id"}, []string{"day"}, map[string]string{"bucket": "2", "changelog-producer": "input"})
	_, _, err := CreateTable(ctx, w.config(w.store, group), s)
	require.NoError(t, err)
	day := func(n int64) string {
		v := table.Vector{Layout: table.Words}
		v.AppendWord(n)
		return string(table.EncodeRow(nil, []table.Type{fields[0].Type}, []*table.Vector{&v}, 0))
	}
	move := func(d table.Delta, to string, total int32) table.Delta {
		for i := range d.Added {
			d.Added[i].Bucket.Partition, d.Changelog[i].Bucket.Partition = to, to
			d.Added[i].TotalBuckets, d.Changelog[i].TotalBuckets = total, total
		}
		return d
	}
	a := w.open(w.store)
	progress := table.Progress{MaxSequence: -1}
	set := func(buckets int64) {
		_, err := a.SetOption(ctx, "bucket", strconv.FormatInt(buckets, 10))
		require.NoError(t, err)
	}
	for n := range int64(10) {
		set(2 + n%2)
		r, err := a.Commit(ctx, move(w.next(progress, 0, 10), day(n), int32(2+n%2)))
		require.NoError(t, err)
		progress = r.Progress
	}
	f := object.NewFault(w.store)
	b := w.open(f)
	_, err = b.Commit(ctx, move(w.next(progress, 0, 10), day(3), 2))
	require.ErrorIs(t, err, ErrRescaled)
	require.ErrorContains(t, err, `partition day=3 has 3 now, but the checkpoint's files are for 2`)
	require.Equal(t, 1, manifestReads(f), "only the manifest of that day")

	set(7)
	f = object.NewFault(w.store)
	b = w.open(f)
	r, err := b.Commit(ctx, move(w.next(progress, 0, 10), day(99), 7))
	require.NoError(t, err)
	require.Zero(t, manifestReads(f), "a new day is in no manifest")
	_, err = b.Commit(ctx, move(w.next(r.Progress, 0, 10), day(99), 7))
	require.NoError(t, err)
	require.Zero(t, manifestReads(f), "and is known from then on")
	w.check()
}

func manifestReads(f *object.Fault) int {
	n := 0
	for _, line := range f.Log() {
		if strings.HasPrefix(line, "get ") && strings.Contains(line, "/manifest/manifest-id") {
			n++
		}
	}
	return n
}

func TestCompactRacesWithCompact(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	w.commit(a, 0, 10)
	w.commit(a, 0, 10)
	removed := w.ofBucket(0)
	h.Once("create", w.path.Snapshot(3), func() {
		_, err := b.Commit(ctx, table.Delta{Removed: removed[:1], Added: []table.File{w.compacted("data-c1.parquet", 0, 5, 0, 9)}})
		require.NoError(t, err)
	})
	_, err := a.Commit(ctx, table.Delta{Removed: removed, Added: []table.File{w.compacted("data-c2.parquet", 0, 5, 0, 19)}})
	require.ErrorIs(t, err, ErrConflict)
	require.NotErrorIs(t, err, ErrUnsettled)
	w.check()
	w.noUnnamedManifests()
}
