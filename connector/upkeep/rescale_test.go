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
	"sink/flush/compact"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
	"sink/table/scan"
)

// renew has the writer go on with the newest schema, as the service does.
func (l *life) renew() {
	c, err := commit.Open(l.t.Context(), l.commitConfig())
	require.NoError(l.t, err)
	s, err := c.Resume(l.t.Context())
	require.NoError(l.t, err)
	l.committer, l.schema = c, c.Schema()
	l.writer, err = flush.New(flush.Config{Schema: l.schema, Store: l.store, Path: l.path, Now: l.clock})
	require.NoError(l.t, err)
	l.writer.Raise(s.MaxSequence)
}

// requireBuckets wants all live files to be for so many buckets.
func (l *life) requireBuckets(n int32) {
	l.t.Helper()
	newest, err := manifest.LatestSnapshot(l.t.Context(), l.store, l.path)
	require.NoError(l.t, err)
	live, err := manifest.ReadLive(l.t.Context(), l.store, l.path, newest, nil)
	require.NoError(l.t, err)
	for _, f := range live {
		require.Equal(l.t, n, f.TotalBuckets)
	}
}

// TestRescale: whatever the numbers, rows are the same before and after, the changelog has nothing of it, and both writers
// and compactions go on.
func TestRescale(t *testing.T) {
	for _, to := range []struct{ from, to int32 }{{1, 4}, {4, 1}, {2, 3}, {4, 8}, {6, 4}, {3, 3}} {
		for _, function := range []string{"default", "mod"} {
			t.Run(fmt.Sprintf("%d to %d %s", to.from, to.to, function), func(t *testing.T) {
				l := newLife(t, object.NewMem(), uint64(time.Now().UnixNano()), map[string]string{
					"bucket": strconv.Itoa(int(to.from)), "bucket-function.type": function, "snapshot.num-retained.min": "100",
				})
				for range 6 {
					l.checkpoint(50, 300)
				}
				k := l.keeper()
				_, err := k.Compact(t.Context(), Scope{})
				require.NoError(t, err)
				before, newest := l.live()
				l.checkpoint(50, 300)
				added, newest2 := l.live()
				r, err := k.Rescale(t.Context(), to.to, Scope{})
				require.NoError(t, err)
				if to.from == to.to {
					require.Zero(t, r.Snapshot)
					require.Zero(t, r.Schema)
					return
				}
				require.Positive(t, before)
				require.Equal(t, newest.ID+2, r.Snapshot)
				require.EqualValues(t, 1, r.Schema)
				require.Equal(t, 1, r.Partitions)
				require.Equal(t, added, r.Removed)
				require.EqualValues(t, len(l.rows), r.Rows, "one row a key, no retraction")
				l.requireBuckets(to.to)
				l.check()
				s, err := manifest.ReadSnapshot(t.Context(), l.store, l.path, r.Snapshot)
				require.NoError(t, err)
				require.Equal(t, manifest.Overwrite, s.CommitKind)
				require.Empty(t, s.ChangelogList)
				require.Equal(t, newest2.Properties[table.PropertyOffsets], s.Properties[table.PropertyOffsets], "the map is carried on")

				again, err := k.Rescale(t.Context(), to.to, Scope{})
				require.NoError(t, err)
				require.Zero(t, again.Snapshot)
				l.renew()
				for range 6 {
					l.checkpoint(50, 300)
				}
				_, err = k.Compact(t.Context(), Scope{Full: true})
				require.NoError(t, err)
				l.check()
				rows := map[int64]string{}
				l.replay(rows, 1)
				require.Equal(t, l.rows, rows)
				l.verify()
			})
		}
	}
}

// TestRescaleOfEmpty: the first rows of a table, which come right before the option is set, are rescaled.
func TestRescaleOfEmpty(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, nil)
	h := &objecttest.Hook{Store: l.store}
	k, err := Open(t.Context(), Config{Store: h, Path: l.path, User: "group", Now: l.clock})
	require.NoError(t, err)
	h.Once(object.OpCreate, l.path.Schema(1), func() { l.checkpoint(10, 20) })
	r, err := k.Rescale(t.Context(), 3, Scope{})
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Snapshot)
	l.requireBuckets(3)
	l.check()
}

// TestRescaleRefuses: what cannot be done is said before anything is written.
func TestRescaleRefuses(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, nil)
	l.checkpoint(50, 300)
	before, _ := l.objects()
	_, err := l.keeper().Rescale(t.Context(), -1, Scope{})
	require.ErrorIs(t, err, table.ErrDynamicBucket)
	_, err = l.keeper().Rescale(t.Context(), 4, Scope{Partitions: map[string]string{"dt": "x"}})
	require.ErrorContains(t, err, "no partition column")
	after, _ := l.objects()
	require.Equal(t, before, after)

	// A row in the wrong bucket would be lost, so it stops.
	_, newest := l.live()
	files, err := manifest.ReadLive(t.Context(), l.store, l.path, newest, nil)
	require.NoError(t, err)
	c, err := compact.New(compact.Config{Schema: l.schema, Schemas: manifest.NewSchemas(l.store, l.path).Get, Store: l.store, Path: l.path})
	require.NoError(t, err)
	wrong := files[0]
	from := l.path.DataFile("", wrong.Bucket.Number, wrong.Name)
	wrong.Bucket.Number = 1 - wrong.Bucket.Number
	require.NoError(t, l.store.Copy(t.Context(), from, l.path.DataFile("", wrong.Bucket.Number, wrong.Name)))
	_, err = c.Rescale(t.Context(), compact.Spread{To: wrong.Bucket, Buckets: 2, Files: []table.File{wrong}, All: true})
	require.ErrorContains(t, err, "is in a file of another bucket")
	_, err = c.Rescale(t.Context(), compact.Spread{To: files[0].Bucket, Buckets: 2, Files: []table.File{wrong}, All: true})
	require.ErrorContains(t, err, "holds no row of it")
}

// TestRescaleCrash: a crash at any operation leaves the table readable with the same rows, and a second rescale ends it.
func TestRescaleCrash(t *testing.T) {
	for _, effect := range []object.Effect{object.CrashBefore, object.CrashAfter, object.FailAfter} {
		for n := 1; ; n++ {
			l := newLife(t, object.NewMem(), 1, nil)
			for range 3 {
				l.checkpoint(20, 60)
			}
			f := object.NewFault(l.store, object.Rule{Nth: n, Effect: effect})
			k, err := Open(t.Context(), Config{Store: f, Path: l.path, User: "group", Now: l.clock})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err = k.Rescale(ctx, 3, Scope{})
			cancel()
			if f.Fired() == 0 && errors.Is(err, context.DeadlineExceeded) { // on a slow machine: once more
				n--
				continue
			}
			if f.Fired() == 0 {
				require.NoError(t, err)
				break
			}
			l.check()
			r, err := l.keeper().Rescale(t.Context(), 3, Scope{})
			require.NoError(t, err)
			l.requireBuckets(3)
			require.LessOrEqual(t, r.Partitions, 1)
			l.renew()
			l.checkpoint(20, 60)
			l.check()
		}
	}
}

// TestRescaleTogether: a writer that behaves like the service, and a compaction, work on the table while it is rescaled, again
// and again. Both end, and no row is lost.
func TestRescaleTogether(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	l := newLife(t, object.NewMem(), seed, map[string]string{"num-sorted-run.compaction-trigger": "2", "snapshot.num-retained.min": "10000"})
	l.checkpoint(200, 400)
	rescales := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
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
			r, err := l.keeper().Rescale(context.Background(), n, Scope{})
			if err == nil && r.Snapshot == 0 {
				err = errors.New("nothing was rescaled")
			}
			if err != nil {
				rescales <- err
				return
			}
		}
	})
	waited, again := 0, 0
	for ended := false; !ended; {
		select {
		case err, ok := <-rescales:
			require.NoError(t, err)
			ended = !ok
		default:
		}
		l.pass(time.Second)
		w, a := l.persist(30, 400)
		waited, again = waited+w, again+a
	}
	cancel()
	group.Wait()
	t.Logf("the writer waited %d times, and read again %d times", waited, again)
	l.requireBuckets(2)
	l.check()
	rows := map[int64]string{}
	l.replay(rows, 1)
	require.Equal(t, l.rows, rows)
}

// persist makes a checkpoint as the service does: it waits for a rescale, and begins anew after one.
func (l *life) persist(n int, keys int64) (waited, again int) {
	type change struct {
		kind table.Kind
		id   int64
		v    string
	}
	var changes []change
	rows := maps.Clone(l.rows)
	for range n {
		id := l.r.Int64N(keys)
		l.version++
		v := fmt.Sprintf("v%d", l.version)
		if before, there := rows[id]; there {
			changes = append(changes, change{table.UpdateBefore, id, before}, change{table.UpdateAfter, id, v})
		} else {
			changes = append(changes, change{table.Insert, id, v})
		}
		rows[id] = v
	}
	l.rows = rows
	for {
		for _, c := range changes {
			l.add(c.kind, c.id, c.v)
		}
		require.NoError(l.t, l.writer.Add())
		d, err := l.writer.Seal().Flush(l.t.Context())
		require.NoError(l.t, err)
		_, err = l.committer.Commit(l.t.Context(), d)
		for errors.Is(err, commit.ErrNotRescaled) {
			waited++
			time.Sleep(time.Millisecond)
			_, err = l.committer.Commit(l.t.Context(), d)
		}
		if err == nil {
			if l.committer.Schema().ID != l.schema.ID {
				l.renew()
			}
			return waited, again
		}
		require.ErrorIs(l.t, err, commit.ErrRescaled)
		again++
		l.renew()
	}
}

// TestRescalePartition: only the partition that is meant is written anew; the others keep their number, and say so to a writer.
func TestRescalePartition(t *testing.T) {
	p := newPartitioned(t, map[string]string{"bucket": "2"})
	p.write("a", 0, 50)
	p.write("b", 0, 50)
	k := p.keeper()
	r, err := k.Rescale(t.Context(), 4, Scope{Partitions: map[string]string{"dt": "a"}})
	require.NoError(t, err)
	require.Equal(t, 1, r.Partitions)
	require.Len(t, p.read(scan.At{}), 100)
	p.renew()
	p.write("a", 50, 60)
	err = p.tryWrite("b", 50, 60)
	require.ErrorIs(t, err, commit.ErrNotRescaled)
	require.ErrorContains(t, err, "partition dt=b has 2 buckets, option bucket says 4: `sink rescale` with --buckets 4")
	r, err = k.Rescale(t.Context(), 4, Scope{})
	require.NoError(t, err)
	require.Equal(t, 1, r.Partitions, "a has them already")
	p.write("b", 50, 60)
	p.requireBuckets(4)
	require.Len(t, p.read(scan.At{}), 120)
	p.verify()
}

// partitioned is a life whose rows are of partitions, with the day in the key.
type partitioned struct{ *life }

func newPartitioned(t testing.TB, options map[string]string) *partitioned {
	l := &life{t: t, store: object.NewMem(), path: table.NewPath("db", "p"), rows: map[int64]string{}, now: time.Now()}
	day := text
	day.NotNull = true
	s := table.NewSchema([]table.Field{{Name: "dt", Type: day}, {Name: "id", Type: bigint}}, []string{"dt", "id"}, []string{"dt"}, options)
	s.Options["changelog-producer"] = "input"
	_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), s)
	require.NoError(t, err)
	l.renew()
	return &partitioned{l}
}

func (p *partitioned) tryWrite(day string, from, to int64) error {
	for id := from; id < to; id++ {
		b := p.writer.Batch()
		b.Columns[0].AppendBytes([]byte(day))
		b.Columns[1].AppendWord(id)
		b.Kinds = append(b.Kinds, table.Insert)
	}
	require.NoError(p.t, p.writer.Add())
	sealed := p.writer.Seal()
	d, err := sealed.Flush(p.t.Context())
	require.NoError(p.t, err)
	if _, err = p.committer.Commit(p.t.Context(), d); err != nil {
		sealed.Discard(p.t.Context())
	}
	return err
}

func (p *partitioned) write(day string, from, to int64) {
	p.t.Helper()
	require.NoError(p.t, p.tryWrite(day, from, to))
}

// read returns the rows as "day/id".
func (p *partitioned) read(at scan.At) map[string]bool {
	t, err := scan.Open(p.t.Context(), p.store, p.path)
	require.NoError(p.t, err)
	plan, err := t.Plan(p.t.Context(), at, nil)
	require.NoError(p.t, err)
	got := map[string]bool{}
	for b, err := range plan.Rows(p.t.Context(), scan.Options{}) {
		require.NoError(p.t, err)
		for i := range b.Len() {
			got[fmt.Sprintf("%s/%d", b.Columns[0].Bytes(i), b.Columns[1].Words[i])] = true
		}
	}
	return got
}
