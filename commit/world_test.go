package commit

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const group = "orders-lake"

// world is a store with one table, a clock that only moves when someone sleeps, and names that count up.
type world struct {
	t     testing.TB
	store object.Store
	path  table.Path

	mu    sync.Mutex
	now   time.Time
	count int
	read  map[string][]manifest.Entry // manifests that checks have read: they never change
}

func newWorld(t testing.TB) *world {
	return &world{t: t, store: object.NewMem(), path: table.NewPath("db", "t"), now: time.UnixMilli(1_700_000_000_000).UTC()}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) serial() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	return w.count
}

func (w *world) config(store object.Store, user string) Config {
	return Config{
		Store: store, Path: w.path, User: user, Now: w.clock,
		NewID: func() string { return "id" + strconv.Itoa(w.serial()) },
	}
}

var testFields = []table.Field{
	{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}},
	{Name: "v", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
}

// create makes the table, with two buckets unless the options say otherwise.
func (w *world) create(options map[string]string) *world {
	all := map[string]string{"bucket": "2", "changelog-producer": "input"}
	maps.Copy(all, options)
	s := table.NewSchema(testFields, []string{"id"}, nil, all)
	_, created, err := CreateTable(context.Background(), w.config(w.store, group), s)
	require.NoError(w.t, err)
	require.True(w.t, created)
	return w
}

// open opens a Committer whose waits only move the clock.
func (w *world) open(store object.Store) *Committer { return w.openAs(store, group) }

func (w *world) openAs(store object.Store, user string) *Committer {
	c, err := w.tryOpen(store, user)
	require.NoError(w.t, err)
	return c
}

func (w *world) tryOpen(store object.Store, user string) (*Committer, error) {
	c, err := Open(context.Background(), w.config(store, user))
	if err == nil {
		c.sleep = func(ctx context.Context, d time.Duration) error { w.pass(d); return ctx.Err() }
	}
	return c, err
}

func part(p int32) table.TopicPartition { return table.TopicPartition{Topic: "topic", Partition: p} }

func at(offset int64) table.Cursor { return table.Cursor{Offset: offset, Epoch: 3, TopicID: "ab"} }

// emptyRow is the partition of a table without partitions.
var emptyRow = string(table.EncodeRow(nil, nil, nil, 0))

func key(id int64) []byte {
	v := table.Vector{Layout: table.Words}
	v.AppendWord(id)
	return table.EncodeRow(nil, []table.Type{testFields[0].Type}, []*table.Vector{&v}, 0)
}

// file makes the entry of a file with the keys lo to hi, one row each.
func (w *world) file(name string, bucket int32, lo, hi, minSeq, maxSeq int64) table.File {
	return table.File{
		Bucket: table.Bucket{Partition: emptyRow, Number: bucket}, TotalBuckets: 2,
		Name: name, SizeBytes: 1000, Rows: hi - lo + 1, DeleteRows: 0, MinKey: key(lo), MaxKey: key(hi),
		KeyStats:      table.Stats{Min: key(lo), Max: key(hi), Nulls: []int64{0}},
		ValueStats:    table.Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), Nulls: []int64{}},
		ValueStatCols: []string{}, MinSeq: minSeq, MaxSeq: maxSeq, CreatedMillis: w.clock().UnixMilli(),
		Source: table.SourceAppend,
	}
}

// delta covers the records [from, to) of a partition, half of them in each bucket; rows are numbered above seq. A from of
// -1 stands for a map that lacks the partition, and records from 0.
func (w *world) delta(p int32, from, to, seq int64) table.Delta {
	d := table.Delta{From: table.Offsets{}, Progress: table.Progress{Offsets: table.Offsets{part(p): at(to)}}}
	if from >= 0 {
		d.From[part(p)] = at(from)
	}
	from = max(from, 0)
	for b := range int32(2) {
		id := fmt.Sprintf("p%d-%d-%d-b%d-%d.parquet", p, from, to, b, w.serial())
		lo := int64(p)*1_000_000 + from
		f := w.file("data-"+id, b, lo, lo+to-from-1, seq+1, seq+to-from)
		d.Added = append(d.Added, f)
		f.Name = "changelog-" + id
		d.Changelog = append(d.Changelog, f)
	}
	d.Progress.MaxSequence = seq + to - from
	return d
}

// next is the delta that goes on from a state with n more records.
func (w *world) next(progress table.Progress, p int32, n int64) table.Delta {
	from := int64(-1)
	if c, ok := progress.Offsets[part(p)]; ok {
		from = c.Offset
	}
	return w.delta(p, from, max(from, 0)+n, progress.MaxSequence)
}

// commit resumes and commits n more records of a partition.
func (w *world) commit(c *Committer, p int32, n int64) Result {
	w.t.Helper()
	s, err := c.Resume(context.Background())
	require.NoError(w.t, err)
	r, err := c.Commit(context.Background(), w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}, p, n))
	require.NoError(w.t, err)
	require.NoError(w.t, r.Hints)
	return r
}

// snapshots reads all snapshots of the table.
func (w *world) snapshots() []*manifest.Snapshot {
	ctx := context.Background()
	ids, err := manifest.SnapshotIDs(ctx, w.store, w.path)
	require.NoError(w.t, err)
	var all []*manifest.Snapshot
	for _, id := range ids {
		s, err := manifest.ReadSnapshot(ctx, w.store, w.path, id)
		require.NoError(w.t, err)
		all = append(all, s)
	}
	return all
}

// check tells whether the table is sound: ids dense, counts right, lists and manifests there, each snapshot's base the one
// before, the map never going back, and each record of each partition in exactly one snapshot. It returns the offsets
// that the table has reached.
func (w *world) check() table.Offsets {
	w.t.Helper()
	ctx := context.Background()
	reached := table.Offsets{}
	covered := map[table.TopicPartition]int64{}
	var before []string
	var prev *manifest.Snapshot
	var identifier int64
	for i, s := range w.snapshots() {
		require.EqualValues(w.t, i+1, s.ID, "ids are dense")
		base, err := manifest.ReadList(ctx, w.store, w.path, s.BaseList)
		require.NoError(w.t, err)
		require.Equal(w.t, before, w.live(base), "snapshot %d: its base is the snapshot before", s.ID)
		delta, err := manifest.ReadList(ctx, w.store, w.path, s.DeltaList)
		require.NoError(w.t, err)
		before = w.live(append(base, delta...))
		if prev != nil {
			require.GreaterOrEqual(w.t, s.TimeMillis, prev.TimeMillis)
			require.GreaterOrEqual(w.t, s.SchemaID, prev.SchemaID)
			require.Equal(w.t, prev.TotalRecords+s.DeltaRecords, s.TotalRecords)
		}
		prev = s
		if s.CommitUser == group {
			require.Greater(w.t, s.CommitIdentifier, identifier)
			identifier = s.CommitIdentifier
		}
		progress, ours, err := table.ParseProgress(s.Properties)
		require.NoError(w.t, err)
		if ours && s.CommitUser == group {
			for tp, c := range reached {
				require.GreaterOrEqual(w.t, progress.Offsets[tp].Offset, c.Offset, "snapshot %d: the map goes back", s.ID)
			}
			reached = progress.Offsets
		}
		changelog, err := manifest.ReadChangelog(ctx, w.store, w.path, s, nil)
		require.NoError(w.t, err)
		w.cover(covered, changelog)
	}
	for tp, c := range reached {
		require.Equal(w.t, c.Offset, covered[tp], "all records up to the map's offset are in the table")
	}
	w.checkHints(int64(len(w.snapshots())))
	return reached
}

// namedFiles returns the names of all data and changelog files that a snapshot names.
func (w *world) namedFiles() []string {
	ctx := context.Background()
	var names []string
	for _, s := range w.snapshots() {
		files, err := manifest.ReadChangelog(ctx, w.store, w.path, s, nil)
		require.NoError(w.t, err)
		entries, err := manifest.ReadDelta(ctx, w.store, w.path, s, nil)
		require.NoError(w.t, err)
		for _, e := range entries {
			files = append(files, e.File)
		}
		for _, f := range files {
			names = append(names, f.Name)
		}
	}
	return names
}

// live returns the names of the live files of manifests.
func (w *world) live(list []manifest.ListEntry) []string {
	var live manifest.Files
	for _, m := range list {
		entries, ok := w.read[m.Name]
		if !ok {
			var err error
			entries, err = manifest.ReadManifest(context.Background(), w.store, w.path, m.Name)
			require.NoError(w.t, err)
			if w.read == nil {
				w.read = map[string][]manifest.Entry{}
			}
			w.read[m.Name] = entries
		}
		for i := range entries {
			require.NoError(w.t, live.Apply(&entries[i]))
		}
	}
	var names []string
	for _, f := range live.All() {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// cover adds the records that changelog files cover: they continue where the ones before ended.
func (w *world) cover(covered map[table.TopicPartition]int64, files []table.File) {
	ends := map[table.TopicPartition]int64{}
	for _, f := range files {
		var p, b int32
		var from, to int64
		var n int
		if _, err := fmt.Sscanf(f.Name, "changelog-p%d-%d-%d-b%d-%d.parquet", &p, &from, &to, &b, &n); err != nil {
			continue // another writer's
		}
		require.Equal(w.t, covered[part(p)], from, "file %s: each record in exactly one snapshot", f.Name)
		ends[part(p)] = to
	}
	maps.Copy(covered, ends)
}

// checkHints tells whether hints are true or behind, never ahead.
func (w *world) checkHints(newest int64) {
	raw, err := w.store.Get(context.Background(), w.path.Latest())
	if err == nil {
		id, err := strconv.ParseInt(string(raw), 10, 64)
		require.NoError(w.t, err)
		require.LessOrEqual(w.t, id, newest)
	}
}

// names lists the objects below a folder of the table, without the folder.
func (w *world) names(folder string) []string {
	var names []string
	prefix := string(w.path) + "/" + folder
	for info, err := range w.store.List(context.Background(), prefix) {
		require.NoError(w.t, err)
		names = append(names, strings.TrimPrefix(info.Name, prefix))
	}
	return names
}

// foreign makes a snapshot as another Paimon program would: without a uuid, without a map.
func (w *world) foreign(kind manifest.CommitKind, added, removed []table.File) *manifest.Snapshot {
	ctx := context.Background()
	c := w.openAs(w.store, "java")
	require.NoError(w.t, c.refresh(ctx))
	d := table.Delta{Added: added, Removed: removed}
	task := c.newTask(&d)
	task.kind = kind
	require.NoError(w.t, task.writeChanges(ctx))
	base, err := task.writeBase(ctx)
	require.NoError(w.t, err)
	mine, err := task.build(base)
	require.NoError(w.t, err)
	mine.UUID, mine.Properties = "", nil
	raw, err := mine.Encode()
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.Create(ctx, w.path.Snapshot(mine.ID), raw))
	require.NoError(w.t, manifest.WriteHint(ctx, w.store, w.path.Latest(), mine.ID))
	return mine.Snapshot
}

// expire removes the snapshots below an id, as another job's expiry does.
func (w *world) expire(below int64) {
	ctx := context.Background()
	for _, s := range w.snapshots() {
		if s.ID < below {
			require.NoError(w.t, w.store.Delete(ctx, w.path.Snapshot(s.ID)))
		}
	}
	require.NoError(w.t, manifest.WriteHint(ctx, w.store, w.path.Earliest(), below))
}

// rollback removes the snapshots above an id, as Paimon's rollback_to does.
func (w *world) rollback(to int64) {
	ctx := context.Background()
	for _, s := range w.snapshots() {
		if s.ID > to {
			require.NoError(w.t, w.store.Delete(ctx, w.path.Snapshot(s.ID)))
		}
	}
	require.NoError(w.t, manifest.WriteHint(ctx, w.store, w.path.Latest(), to))
}

// drop removes the whole table.
func (w *world) drop() {
	for _, name := range w.names("") {
		require.NoError(w.t, w.store.Delete(context.Background(), string(w.path)+"/"+name))
	}
}

var errAbsent = fmt.Errorf("not visible yet: %w", fs.ErrNotExist)
