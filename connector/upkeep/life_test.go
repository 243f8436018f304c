package upkeep

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/commit"
	"sink/commit/expire"
	"sink/flush"
	"sink/flush/compact"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
	"sink/table/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// life is a table that is written in checkpoints, with what its rows should be.
type life struct {
	t         testing.TB
	r         *rand.Rand
	store     object.Store
	path      table.Path
	schema    *table.Schema
	writer    *flush.Writer
	committer *commit.Committer
	rows      map[int64]string // by key; a row's second column is its value
	version   int

	mu  sync.Mutex
	now time.Time
}

var (
	bigint = table.Type{Root: table.BigInt, NotNull: true}
	text   = table.Type{Root: table.VarChar, Length: table.MaxLength}
)

func newLife(t testing.TB, store object.Store, seed uint64, options map[string]string) *life {
	l := &life{
		t: t, r: rand.New(rand.NewPCG(seed, 11)), store: store, path: table.NewPath("db", "t"), rows: map[int64]string{},
		now: time.Now().Add(-90 * 24 * time.Hour).UTC(),
	}
	if m, ok := store.(*object.Mem); ok {
		m.Now = l.clock
	}
	all := map[string]string{"bucket": "2", "changelog-producer": "input", "snapshot.num-retained.min": "5"}
	for k, v := range options {
		all[k] = v
	}
	l.schema = table.NewSchema([]table.Field{{Name: "id", Type: bigint}, {Name: "v", Type: text}}, []string{"id"}, nil, all)
	_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), l.schema)
	require.NoError(t, err)
	l.committer, err = commit.Open(t.Context(), l.commitConfig())
	require.NoError(t, err)
	l.schema = l.committer.Schema()
	l.writer, err = flush.New(flush.Config{Schema: l.schema, Store: store, Path: l.path, Now: l.clock})
	require.NoError(t, err)
	return l
}

func (l *life) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *life) pass(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

func (l *life) commitConfig() commit.Config {
	return commit.Config{Store: l.store, Path: l.path, User: "group", Now: l.clock}
}

func (l *life) keeper() *Keeper {
	k, err := Open(l.t.Context(), Config{Store: l.store, Path: l.path, User: "group", Now: l.clock})
	require.NoError(l.t, err)
	return k
}

func (l *life) add(kind table.Kind, id int64, v string) {
	b := l.writer.Batch()
	b.Columns[0].AppendWord(id)
	b.Columns[1].AppendBytes([]byte(v))
	b.Kinds = append(b.Kinds, kind)
}

// checkpoint makes n random changes of keys below a bound visible.
func (l *life) checkpoint(n int, keys int64) {
	for range n {
		id := l.r.Int64N(keys)
		l.version++
		v := fmt.Sprintf("v%d", l.version)
		before, there := l.rows[id]
		switch {
		case !there:
			l.add(table.Insert, id, v)
			l.rows[id] = v
		case l.r.IntN(4) == 0:
			l.add(table.Delete, id, before)
			delete(l.rows, id)
		default:
			l.add(table.UpdateBefore, id, before)
			l.add(table.UpdateAfter, id, v)
			l.rows[id] = v
		}
		require.NoError(l.t, l.writer.Add())
	}
	d, err := l.writer.Seal().Flush(l.t.Context())
	require.NoError(l.t, err)
	_, err = l.committer.Commit(l.t.Context(), d)
	require.NoError(l.t, err)
}

// check compares the rows of the table with what they should be.
func (l *life) check() {
	l.t.Helper()
	require.Equal(l.t, l.rows, l.read(scan.At{}))
}

func (l *life) read(at scan.At) map[int64]string {
	t, err := scan.Open(l.t.Context(), l.store, l.path)
	require.NoError(l.t, err)
	plan, err := t.Plan(l.t.Context(), at, nil)
	require.NoError(l.t, err)
	got := map[int64]string{}
	for b, err := range plan.Rows(l.t.Context(), scan.Options{}) {
		require.NoError(l.t, err)
		for i := range b.Len() {
			got[b.Columns[0].Words[i]] = string(b.Columns[1].Bytes(i))
		}
	}
	return got
}

// replay applies all changes that are left to rows, and returns them with the last snapshot.
func (l *life) replay(rows map[int64]string, from int64) {
	t, err := scan.Open(l.t.Context(), l.store, l.path)
	require.NoError(l.t, err)
	for c, err := range t.Changes(l.t.Context(), scan.Start(from), scan.ChangeOptions{}) {
		require.NoError(l.t, err)
		for i := range c.Batch.Len() {
			id, v := c.Batch.Columns[0].Words[i], string(c.Batch.Columns[1].Bytes(i))
			switch c.Batch.Kinds[i] {
			case table.Insert:
				require.NotContains(l.t, rows, id, "it is there already")
				rows[id] = v
			case table.UpdateAfter:
				rows[id] = v
			default:
				require.Equal(l.t, rows[id], v, "a retraction takes away what is there")
				delete(rows, id)
			}
		}
	}
}

// verify finds nothing wrong with any file of the table, or with its changelog.
func (l *life) verify() {
	l.t.Helper()
	var found []verify.Finding
	s, err := verify.Run(l.t.Context(), l.store, l.path, verify.Options{
		Replay: verify.ReplayLast, Report: func(f verify.Finding) { found = append(found, f) },
	})
	require.NoError(l.t, err)
	require.Zero(l.t, s.Faults+s.Orphans, "%v", found)
}

// live returns the number of live data files.
func (l *life) live() (files int, newest *manifest.Snapshot) {
	newest, err := manifest.LatestSnapshot(l.t.Context(), l.store, l.path)
	require.NoError(l.t, err)
	all, err := manifest.ReadLive(l.t.Context(), l.store, l.path, newest, nil)
	require.NoError(l.t, err)
	return len(all), newest
}

func (l *life) objects() (n int, bytes int64) {
	for info, err := range l.store.List(l.t.Context(), string(l.path)) {
		require.NoError(l.t, err)
		n++
		bytes += info.SizeBytes
	}
	return n, bytes
}

// TestLife runs thousands of small checkpoints with compaction and expiry (as many as SINK_CHECKPOINTS says; a few hundred
// else), and finds that nothing grows: runs, files, manifests, objects, and the time of a commit.
func TestLife(t *testing.T) {
	checkpoints := 400
	if v := os.Getenv("SINK_CHECKPOINTS"); v != "" {
		n, err := strconv.Atoi(v)
		require.NoError(t, err)
		checkpoints = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var store object.Store = object.NewMem()
	if dir := os.Getenv("SINK_LIFE_DIR"); dir != "" { // for another reader to look at
		local, err := object.Open(t.Context(), "file://"+dir, object.S3Config{})
		require.NoError(t, err)
		store = local
	}
	l := newLife(t, store, seed, map[string]string{"changelog.time-retained": "3 h", "changelog.num-retained.min": "5"})
	k := l.keeper()
	type point struct {
		runs, files, objects, manifests int
		listBytes                       int64
		commit                          time.Duration
	}
	var points []point
	var p point
	for i := range checkpoints {
		l.pass(time.Minute)
		start := time.Now()
		l.checkpoint(20, 500)
		p.commit += time.Since(start)
		for {
			r, err := k.Compact(t.Context(), Scope{})
			require.NoError(t, err)
			if r.Snapshot == 0 {
				break
			}
		}
		runs, err := k.MostRuns(t.Context())
		require.NoError(t, err)
		p.runs = max(p.runs, runs)
		if i%10 == 9 {
			_, err := k.Expire(t.Context())
			require.NoError(t, err)
		}
		if every := max(checkpoints/20, 20); (i+1)%every == 0 {
			var newest *manifest.Snapshot
			p.files, newest = l.live()
			p.objects, _ = l.objects()
			lists, err := manifest.ReadDataList(t.Context(), l.store, l.path, newest)
			require.NoError(t, err)
			p.manifests = len(lists)
			for _, m := range lists {
				p.listBytes += m.SizeBytes
			}
			p.commit /= time.Duration(every)
			t.Logf("checkpoint %5d: snapshot %5d, most runs %d, live files %d, objects %d, manifests %d of %d bytes, checkpoint %s",
				i+1, newest.ID, p.runs, p.files, p.objects, p.manifests, p.listBytes, p.commit)
			points = append(points, p)
			p = point{}
		}
	}
	l.check()
	_, newest := l.live()
	first, _, err := manifest.EarliestLongLivedChangelog(t.Context(), l.store, l.path)
	require.NoError(t, err)
	earliest, _, err := manifest.Earliest(t.Context(), l.store, l.path)
	require.NoError(t, err)
	require.Greater(t, earliest, first, "changelogs outlive snapshots")
	rows := l.read(scan.At{Snapshot: earliest})
	l.replay(rows, earliest+1)
	require.Equal(t, l.rows, rows)
	require.Greater(t, first, newest.ID/2)
	l.verify()
	half := len(points) / 2
	for i, p := range points {
		require.LessOrEqual(t, p.runs, k.Options().Trigger)
		require.LessOrEqual(t, p.files, 2*(k.Options().Trigger+2))
		if i > half {
			require.Less(t, p.objects, points[half].objects*2)
			require.Less(t, p.manifests, 40)
		}
	}
}

// TestTogether has a writer, two keepers of different processes and a reader work at the same time on one table.
func TestTogether(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	l := newLife(t, object.NewMem(), seed, map[string]string{
		"num-sorted-run.compaction-trigger": "2", "snapshot.time-retained": "0", "snapshot.num-retained.min": "3", "snapshot.num-retained.max": "6",
	})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	compactions, conflicts := 0, 0
	var mu sync.Mutex
	for range 2 {
		k := l.keeper()
		group.Go(func() {
			for ctx.Err() == nil {
				r, err := k.Compact(context.Background(), Scope{})
				mu.Lock()
				if err != nil {
					conflicts++
				} else if r.Snapshot > 0 {
					compactions++
				}
				mu.Unlock()
				_, _ = k.Expire(context.Background())
			}
		})
	}
	for range 60 {
		l.pass(time.Second)
		l.checkpoint(30, 200)
	}
	cancel()
	group.Wait()
	t.Logf("%d compactions, %d conflicts", compactions, conflicts)
	require.Positive(t, compactions)
	l.check()
	k := l.keeper()
	for {
		r, err := k.Compact(t.Context(), Scope{Full: true})
		require.NoError(t, err)
		if r.Snapshot == 0 {
			break
		}
		require.Positive(t, r.BytesRead)
	}
	l.check()
	files, newest := l.live()
	require.LessOrEqual(t, files, 2)
	progress, ours, err := table.ParseProgress(newest.Properties)
	require.NoError(t, err)
	require.True(t, ours, "the map is carried on")
	require.Equal(t, l.writer.MaxSequence(), progress.MaxSequence)
	l.pass(time.Hour)
	schema := k.Schema()
	e, err := expire.New(expire.Config{Store: l.store, Path: l.path, Schema: schema, Now: l.clock})
	require.NoError(t, err)
	orphans, err := e.Orphans(t.Context(), l.clock()) // of lost races of two that expire at once
	require.NoError(t, err)
	require.NoError(t, e.DeleteOrphans(t.Context(), orphans))
	l.verify()
}

// TestConflict: when another compaction was faster the files of this one go, and the next round looks again.
func TestConflict(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, nil)
	for range 6 {
		l.checkpoint(30, 100)
	}
	slow, fast := l.keeper(), l.keeper()
	_, err := slow.MostRuns(t.Context())
	require.NoError(t, err)
	bucket := firstBucket(slow)
	files, err := slow.liveFiles(t.Context(), []table.Bucket{bucket})
	require.NoError(t, err)
	job, ok := slow.pick(Scope{Full: true}, compact.Runs(files[bucket]))
	require.True(t, ok)
	result, err := slow.do(t.Context(), job)
	require.NoError(t, err)
	r, err := fast.Compact(t.Context(), Scope{Full: true})
	require.NoError(t, err)
	require.Equal(t, 2, r.Buckets)
	before, _ := l.objects()
	_, err = slow.commit(t.Context(), []compact.Result{result}, Report{})
	require.ErrorIs(t, err, commit.ErrConflict)
	after, _ := l.objects()
	require.Equal(t, before-len(result.Added), after)
	r, err = slow.Compact(t.Context(), Scope{Full: true})
	require.NoError(t, err)
	require.Zero(t, r.Snapshot)
	l.check()
}

func firstBucket(k *Keeper) table.Bucket {
	for b := range k.census.buckets {
		return b
	}
	return table.Bucket{}
}

// TestScope: a round takes no more than its share, and only what is meant.
func TestScope(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, map[string]string{"bucket": "4"})
	for range 6 {
		l.checkpoint(50, 300)
	}
	k, err := Open(t.Context(), Config{Store: l.store, Path: l.path, Now: l.clock, RoundBytes: 1})
	require.NoError(t, err)
	var used int64
	k.cfg.Memory = func(n int64) { used += n }
	for i := range 4 {
		r, err := k.Compact(t.Context(), Scope{})
		require.NoError(t, err)
		require.Equal(t, 1, r.Buckets)
		require.Equal(t, i < 3, r.More)
		require.Zero(t, used)
	}
	r, err := k.Compact(t.Context(), Scope{})
	require.NoError(t, err)
	require.Equal(t, Report{}, r)
	_, err = k.Compact(t.Context(), Scope{Partitions: map[string]string{"dt": "x"}})
	require.ErrorContains(t, err, "no partition column")
	l.check()

	_, err = Open(t.Context(), Config{Store: l.store, Path: "db.db/none"})
	require.Error(t, err)
}

// TestRollback: a keeper that knew snapshots which are gone counts anew.
func TestRollback(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, nil)
	for range 4 {
		l.checkpoint(30, 100)
	}
	k := l.keeper()
	runs, err := k.MostRuns(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, runs)
	for _, id := range []int64{3, 4} {
		require.NoError(t, l.store.Delete(t.Context(), l.path.Snapshot(id)))
	}
	require.NoError(t, manifest.WriteHint(t.Context(), l.store, l.path.Latest(), 2))
	runs, err = k.MostRuns(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, runs)
}

// TestOrphans: files that nothing names go when they were found twice, a day apart.
func TestOrphans(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, nil)
	l.checkpoint(30, 100)
	k := l.keeper()
	stray := l.path.DataFile("", 0, "data-stray.parquet")
	require.NoError(t, l.store.Put(t.Context(), stray, []byte("x")))
	deleted := 0
	var when []int
	for hour := range 80 {
		l.pass(time.Hour)
		e, err := k.Expire(t.Context())
		require.NoError(t, err)
		if e.Orphans > 0 {
			deleted += e.Orphans
			when = append(when, hour+1)
		}
	}
	require.Equal(t, 1, deleted)
	require.Equal(t, []int{49}, when, "looked after 1 hour, when it was young, then after 25 and 49")
	l.checkpoint(30, 100)
	l.verify()
}
