package expire

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/commit"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a table whose data files are a few bytes: expiry only looks at their names.
type world struct {
	t     testing.TB
	store *object.Mem
	path  table.Path
	s     *table.Schema

	mu    sync.Mutex
	now   time.Time
	count int
}

var emptyRow = string(table.EncodeRow(nil, nil, nil, 0))

func newWorld(t testing.TB, options map[string]string) *world {
	w := &world{t: t, store: object.NewMem(), path: table.NewPath("db", "t"), now: time.UnixMilli(1_700_000_000_000).UTC()}
	w.store.Now = w.clock
	all := map[string]string{"bucket": "1", "changelog-producer": "input", "manifest.merge-min-count": "4"}
	maps.Copy(all, options)
	w.s = table.NewSchema([]table.Field{{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}}}, []string{"id"}, nil, all)
	_, _, err := commit.CreateTable(context.Background(), w.config(), w.s)
	require.NoError(t, err)
	return w
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

func (w *world) config() commit.Config {
	return commit.Config{
		Store: w.store, Path: w.path, User: "group", Now: w.clock, PinEvery: 1000 * time.Hour,
		NewID: func() string { return "id" + strconv.Itoa(w.serial()) },
	}
}

func (w *world) committer() *commit.Committer { return w.open("group", w.store) }

func (w *world) open(user string, store object.Store) *commit.Committer {
	cfg := w.config()
	cfg.User, cfg.Store = user, store
	if fault, ok := store.(*object.Fault); ok {
		cfg.Now = func() time.Time { // nobody waits long for a store that is gone
			if fault.Fired() > 0 {
				w.pass(2 * commit.DefaultPatience)
			}
			return w.clock()
		}
	}
	c, err := commit.Open(context.Background(), cfg)
	require.NoError(w.t, err)
	_, err = c.Resume(context.Background())
	require.NoError(w.t, err)
	return c
}

func (w *world) expirer(store object.Store) *Expirer {
	e, err := New(Config{Store: store, Path: w.path, Schema: w.s, Now: w.clock})
	require.NoError(w.t, err)
	e.sleep = func(context.Context, time.Duration) error { return nil }
	return e
}

func key(id int64) []byte {
	return table.EncodeRow(nil, []table.Type{{Root: table.BigInt, NotNull: true}}, []*table.Vector{{Layout: table.Words, Words: []int64{id}}}, 0)
}

// file makes a file, with its bytes.
func (w *world) file(prefix string, level int32) table.File {
	name := fmt.Sprintf("%s%d.parquet", prefix, w.serial())
	require.NoError(w.t, w.store.Put(context.Background(), w.path.DataFile("", 0, name), []byte("rows")))
	source := table.SourceAppend
	if level > 0 {
		source = table.SourceCompact
	}
	return table.File{
		Bucket: table.Bucket{Partition: emptyRow}, TotalBuckets: 1, Name: name, SizeBytes: 4, Rows: 1, MinKey: key(1), MaxKey: key(1),
		KeyStats:   table.Stats{Min: key(1), Max: key(1), Nulls: []int64{0}},
		ValueStats: table.Stats{Min: []byte(emptyRow), Max: []byte(emptyRow)}, ValueStatCols: []string{},
		Level: level, CreatedMillis: w.clock().UnixMilli(), Source: source,
	}
}

// delta makes a data file and a changelog file, whose row is the newest.
func (w *world) delta() table.Delta {
	f := w.file("data-", 0)
	f.MinSeq = int64(w.serial())
	f.MaxSeq = f.MinSeq
	d := table.Delta{Added: []table.File{f}, Progress: table.Progress{MaxSequence: f.MaxSeq}}
	if w.s.Option("changelog-producer") == "input" {
		d.Changelog = []table.File{w.file("changelog-", 0)}
	}
	return d
}

// append commits a delta.
func (w *world) append(c *commit.Committer) {
	_, err := c.Commit(context.Background(), w.delta())
	require.NoError(w.t, err)
}

// compact makes one file of all, or lifts a single one.
func (w *world) compact(c *commit.Committer) {
	ctx := context.Background()
	newest, err := manifest.LatestSnapshot(ctx, w.store, w.path)
	require.NoError(w.t, err)
	live, err := manifest.ReadLive(ctx, w.store, w.path, newest, nil)
	require.NoError(w.t, err)
	d := table.Delta{Removed: live}
	if len(live) > 1 {
		d.Added = []table.File{w.file("data-", 5)}
	} else {
		if live[0].Level != 0 {
			w.append(c)
			return
		}
		d.Added = []table.File{live[0]}
		d.Added[0].Level = 5
	}
	_, err = c.Commit(ctx, d)
	require.NoError(w.t, err)
}

// grow makes n snapshots, some minutes apart.
func (w *world) grow(r *rand.Rand, n int) {
	c := w.committer()
	for i := range n {
		w.pass(time.Duration(1+r.IntN(10)) * time.Minute)
		if i > 0 && r.IntN(3) == 0 {
			w.compact(c)
		} else {
			w.append(c)
		}
	}
}

// branch makes a branch of a snapshot, as Paimon does: a copy of its file.
func (w *world) branch(name string, id int64) {
	ctx := context.Background()
	b, err := w.store.Get(ctx, w.path.Snapshot(id))
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.Put(ctx, w.path.BranchDir()+"branch-"+name+"/snapshot/snapshot-"+strconv.FormatInt(id, 10), b))
}

func (w *world) ids() []int64 {
	ids, err := manifest.SnapshotIDs(context.Background(), w.store, w.path)
	require.NoError(w.t, err)
	return ids
}

// check makes sure that all that snapshots, tags, long-lived changelogs and branches name is there, and that ids are dense.
// It returns the object names of all that they name.
func (w *world) check() map[string]bool {
	w.t.Helper()
	ctx := context.Background()
	named := map[string]bool{}
	for info, err := range w.store.List(ctx, string(w.path)+"/") {
		require.NoError(w.t, err)
		if !namesSnapshot(info.Name) {
			continue
		}
		b, err := w.store.Get(ctx, info.Name)
		require.NoError(w.t, err)
		s, err := manifest.ParseSnapshot(b)
		require.NoError(w.t, err)
		longLived := strings.HasPrefix(info.Name, w.path.ChangelogDir())
		tag := strings.HasPrefix(info.Name, w.path.TagDir())
		lists := []string{s.ChangelogList}
		if !longLived || w.s.Option("changelog-producer") == "none" {
			lists = append(lists, s.BaseList, s.DeltaList)
		}
		if !longLived {
			live, err := manifest.ReadLive(ctx, w.store, w.path, s, nil)
			require.NoError(w.t, err, info.Name)
			w.there(named, info.Name, live)
		}
		if longLived && w.s.Option("changelog-producer") == "none" {
			entries, err := manifest.ReadDelta(ctx, w.store, w.path, s, nil)
			require.NoError(w.t, err)
			for _, e := range entries {
				if e.Kind == manifest.Add && e.File.Source == table.SourceAppend {
					w.there(named, info.Name, []table.File{e.File})
				}
			}
		}
		if !tag {
			logs, err := manifest.ReadChangelog(ctx, w.store, w.path, s, nil)
			require.NoError(w.t, err, info.Name)
			w.there(named, info.Name, logs)
		}
		for _, name := range lists {
			if name == "" || tag && name == s.ChangelogList {
				continue
			}
			named[w.path.Manifest(name)] = true
			list, err := manifest.ReadList(ctx, w.store, w.path, name)
			require.NoError(w.t, err)
			for _, m := range list {
				named[w.path.Manifest(m.Name)] = true
			}
		}
	}
	ids := w.ids()
	for i := range ids {
		require.Equal(w.t, ids[0]+int64(i), ids[i], "ids are dense")
	}
	return named
}

func (w *world) there(named map[string]bool, who string, files []table.File) {
	for i := range files {
		name := w.path.DataFile("", 0, files[i].Name)
		_, err := w.store.Get(context.Background(), name)
		require.NoError(w.t, err, "%s names it", who)
		named[name] = true
	}
}

// checkNothingElse makes sure that nothing is there that nothing names.
func (w *world) checkNothingElse() {
	w.t.Helper()
	named := w.check()
	for info, err := range w.store.List(context.Background(), string(w.path)+"/") {
		require.NoError(w.t, err)
		folder := strings.TrimPrefix(info.Name, string(w.path)+"/")
		if strings.HasPrefix(folder, "bucket-") || strings.HasPrefix(folder, "manifest/") {
			require.True(w.t, named[info.Name], "%s is left behind", info.Name)
		}
	}
}
