package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
)

// appendLog is an append table with buckets. The rows of an id say how many came before it.
type appendLog struct {
	*life
	counts map[int64]int
}

func newAppendLog(t testing.TB, seed uint64, buckets int, options map[string]string) *appendLog {
	l := newLife(t, object.NewMem(), seed, nil)
	l.path = table.NewPath("db", "log")
	all := map[string]string{"bucket": strconv.Itoa(buckets), "bucket-key": "id", "snapshot.num-retained.min": "10000"}
	maps.Copy(all, options)
	s := table.NewSchema([]table.Field{{Name: "id", Type: bigint}, {Name: "v", Type: text}}, nil, nil, all)
	_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), s)
	require.NoError(t, err)
	l.renew()
	return &appendLog{l, map[int64]int{}}
}

// persist appends rows as the service does: it waits for a rescale, and begins anew after one.
func (l *appendLog) persist(n int, ids int64) {
	l.t.Helper()
	var rows []int64
	for range n {
		rows = append(rows, l.r.Int64N(ids))
	}
	for done := false; !done; {
		counts := map[int64]int{}
		for _, id := range rows {
			l.add(table.Insert, id, strconv.Itoa(l.counts[id]+counts[id]))
			counts[id]++
		}
		require.NoError(l.t, l.writer.Add())
		d, err := l.writer.Seal().Flush(l.t.Context())
		require.NoError(l.t, err)
		_, err = l.committer.Commit(l.t.Context(), d)
		for errors.Is(err, commit.ErrNotRescaled) {
			time.Sleep(time.Millisecond)
			_, err = l.committer.Commit(l.t.Context(), d)
		}
		if done = err == nil; !done {
			require.ErrorIs(l.t, err, commit.ErrRescaled)
		}
		if !done || l.committer.Schema().ID != l.schema.ID {
			l.renew()
		}
		for id, n := range counts {
			if done {
				l.counts[id] += n
			}
		}
	}
}

// check wants every row once, those of an id in the order of arrival, both in the table and in its changelog.
func (l *appendLog) check() {
	l.t.Helper()
	tab, err := scan.Open(l.t.Context(), l.store, l.path)
	require.NoError(l.t, err)
	plan, err := tab.Plan(l.t.Context(), scan.At{}, nil)
	require.NoError(l.t, err)
	rows, changes := map[int64]int{}, map[int64]int{}
	count := func(seen map[int64]int, b *table.Batch) {
		for i := range b.Len() {
			id := b.Columns[0].Words[i]
			require.Equal(l.t, strconv.Itoa(seen[id]), string(b.Columns[1].Bytes(i)), "id %d", id)
			seen[id]++
		}
	}
	for b, err := range plan.Rows(l.t.Context(), scan.Options{}) {
		require.NoError(l.t, err)
		count(rows, b)
	}
	for c, err := range tab.Changes(l.t.Context(), scan.Start(1), scan.ChangeOptions{}) {
		require.NoError(l.t, err)
		count(changes, c.Batch)
	}
	require.Equal(l.t, l.counts, rows)
	require.Equal(l.t, l.counts, changes)
}

// TestRescaleAppend: whatever the numbers, an append table has the same rows before and after, the changelog has nothing of it, and
// both writers and compactions go on.
func TestRescaleAppend(t *testing.T) {
	for _, to := range []struct{ from, to int }{{1, 4}, {4, 1}, {2, 3}, {6, 4}, {3, 3}} {
		t.Run(fmt.Sprintf("%d to %d", to.from, to.to), func(t *testing.T) {
			l := newAppendLog(t, uint64(10*to.from+to.to), to.from, nil)
			for range 6 {
				l.persist(50, 30)
			}
			_, err := l.keeper().Compact(t.Context(), Scope{})
			require.NoError(t, err)
			l.persist(50, 30)
			files, newest := l.live()
			r, err := l.keeper().Rescale(t.Context(), int32(to.to), Scope{})
			require.NoError(t, err)
			if to.from == to.to {
				require.Zero(t, r.Snapshot)
				return
			}
			require.Equal(t, newest.ID+1, r.Snapshot)
			require.EqualValues(t, 350, r.Rows)
			require.Equal(t, files, r.Removed)
			l.requireBuckets(int32(to.to))
			l.check()
			s, err := manifest.ReadSnapshot(t.Context(), l.store, l.path, r.Snapshot)
			require.NoError(t, err)
			require.Equal(t, manifest.Overwrite, s.CommitKind)
			require.Empty(t, s.ChangelogList)
			l.renew()
			for range 6 {
				l.persist(50, 30)
			}
			_, err = l.keeper().Compact(t.Context(), Scope{Full: true})
			require.NoError(t, err)
			l.check()
			l.verify()
		})
	}
}

// TestRescaleAppendTogether: a writer and a compaction work on an append table while it is rescaled, again and again. No row is lost,
// none is there twice, and those of an id stay in the order of arrival.
func TestRescaleAppendTogether(t *testing.T) {
	const seed = 3
	l := newAppendLog(t, seed, 2, map[string]string{"compaction.min.file-num": "2"})
	l.persist(200, 100)
	ctx, cancel := context.WithCancel(t.Context())
	rescales := make(chan error, 1)
	var group sync.WaitGroup
	k := l.keeper()
	group.Go(func() {
		for ctx.Err() == nil {
			_, _ = k.Compact(context.Background(), Scope{})
		}
	})
	group.Go(func() {
		defer close(rescales)
		for _, n := range []int32{4, 3, 8, 1, 2} {
			if _, err := l.keeper().Rescale(context.Background(), n, Scope{}); err != nil {
				rescales <- err
				return
			}
		}
	})
	for ended := false; !ended; {
		select {
		case err, ok := <-rescales:
			require.NoError(t, err)
			ended = !ok
		default:
		}
		l.pass(time.Second)
		l.persist(30, 100)
	}
	cancel()
	group.Wait()
	l.requireBuckets(2)
	l.check()
}

// TestRescaleAppendForeign: buckets whose numbers overlap, since each begins at 0 as Paimon's own writers have it, become one in which
// the rows of an id keep their order, and the next writer numbers above all.
func TestRescaleAppendForeign(t *testing.T) {
	l := newAppendLog(t, 5, 2, nil)
	ids := table.NewBatch(l.schema.Fields)
	for id := range int64(20) {
		ids.Columns[0].AppendWord(id)
	}
	router, err := table.NewRouter(l.schema)
	require.NoError(t, err)
	writers := make([]*flush.Writer, 2)
	for i := range writers {
		writers[i], err = flush.New(flush.Config{Schema: l.schema, Store: l.store, Path: l.path, Now: l.clock})
		require.NoError(t, err)
	}
	for range 3 {
		for number, w := range writers {
			l.writer = w
			for range 40 {
				id := l.r.Int64N(20)
				if at, err := router.Route(ids, int(id)); err != nil || int(at.Number) != number {
					continue
				}
				l.add(table.Insert, id, strconv.Itoa(l.counts[id]))
				l.counts[id]++
			}
			require.NoError(t, w.Add())
			d, err := w.Seal().Flush(t.Context())
			require.NoError(t, err)
			_, err = l.committer.Commit(t.Context(), d)
			require.NoError(t, err)
		}
	}
	l.check()
	r, err := l.keeper().Rescale(t.Context(), 1, Scope{})
	require.NoError(t, err)
	require.Greater(t, r.Rows, max(writers[0].MaxSequence(), writers[1].MaxSequence())+1)
	l.renew()
	l.persist(40, 20)
	l.check()
	l.verify()
}

// TestRescaleUnaware: a table that tells no buckets apart has no number of them to change.
func TestRescaleUnaware(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, nil)
	l.path = table.NewPath("db", "log")
	_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), table.NewSchema([]table.Field{{Name: "id", Type: bigint}}, nil, nil, nil))
	require.NoError(t, err)
	_, err = l.keeper().Rescale(t.Context(), 4, Scope{})
	require.ErrorContains(t, err, "option bucket is -1: its rows are in no buckets")
}
