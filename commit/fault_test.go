package commit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// ingest is an instance as the connector is one: it goes on from the table's map, keeps what it could not commit for
// another try, and resumes after anything that says so.
type ingest struct {
	w       *world
	store   object.Store
	c       *Committer
	p       int32 // the partition it owns
	until   int64 // records in it
	pending *table.Delta
	files   map[string]bool // of deltas that were given up for certain
}

// step does one thing: resume, or commit. It reports whether the partition is done.
func (i *ingest) step(ctx context.Context) (done bool, err error) {
	if i.c == nil {
		if i.c, err = i.w.tryOpen(i.store, group); err != nil {
			return false, err
		}
		i.c.cfg.Patience = time.Second
	}
	if i.pending == nil {
		s, err := i.c.Resume(ctx)
		if err != nil {
			return false, err
		}
		if s.Progress.Offsets[part(i.p)].Offset >= i.until {
			return true, nil
		}
		d := i.w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}, i.p, 5)
		i.pending = &d
	}
	_, err = i.c.Commit(ctx, *i.pending)
	if err == nil || errors.Is(err, ErrUnsettled) || errors.Is(err, ErrFenced) || errors.Is(err, ErrConflict) || errors.Is(err, ErrStale) {
		if err != nil && !errors.Is(err, ErrUnsettled) {
			for _, f := range slices.Concat(i.pending.Added, i.pending.Changelog) {
				i.files[f.Name] = true
			}
		}
		i.pending = nil
	}
	return false, err
}

// scenario is two instances with a partition each that commit in turns until both are done, over one store.
func scenario(w *world, store object.Store, until int64) []*ingest {
	a := &ingest{w: w, store: store, p: 0, until: until, files: map[string]bool{}}
	b := &ingest{w: w, store: store, p: 1, until: until, files: map[string]bool{}}
	return []*ingest{a, b}
}

func play(t *testing.T, instances []*ingest, crashed func() bool) {
	ctx := context.Background()
	for range 100 {
		left := 0
		for _, i := range instances {
			done, err := i.step(ctx)
			if crashed() {
				return
			}
			var state *StateError
			require.False(t, errors.As(err, &state), "%v", err)
			if !done {
				left++
			}
		}
		if left == 0 {
			return
		}
	}
	t.Fatal("the instances do not get done")
}

// TestEveryFault lets the n-th operation go wrong, for each n and each way, until a run meets no fault: the rows of each
// record are in exactly one snapshot, and a run without faults goes on from whatever is there.
func TestEveryFault(t *testing.T) {
	changes := []object.Op{object.OpPut, object.OpCreate, object.OpDelete}
	reads := []object.Op{object.OpGet, object.OpList}
	for name, rule := range map[string]object.Rule{
		"change fails before":   {Ops: changes, Effect: object.FailBefore},
		"change fails after":    {Ops: changes, Effect: object.FailAfter},
		"create lies":           {Ops: []object.Op{object.OpCreate}, Effect: object.LieExist},
		"crash before a change": {Ops: changes, Effect: object.CrashBefore},
		"crash after a change":  {Ops: changes, Effect: object.CrashAfter},
		"read fails":            {Ops: reads, Effect: object.FailBefore},
		"crash at a read":       {Ops: reads, Effect: object.CrashBefore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				rule := rule
				rule.Nth = n
				w := newWorld(t).create(map[string]string{"manifest.merge-min-count": "2"})
				f := object.NewFault(w.store, rule)
				crash := rule.Effect == object.CrashBefore || rule.Effect == object.CrashAfter
				instances := scenario(w, f, 10)
				play(t, instances, func() bool { return crash && f.Fired() > 0 })
				w.check()
				again := scenario(w, w.store, 15)
				play(t, again, func() bool { return false })
				require.Equal(t, table.Offsets{part(0): at(15), part(1): at(15)}, w.check(), "n = %d", n)
				w.checkGivenUp(append(instances, again...))
				if f.Fired() == 0 {
					require.Greater(t, n, 2)
					return
				}
			}
		})
	}
}

// checkGivenUp checks that no snapshot names files of a delta that was refused without ErrUnsettled: their writer may
// delete them.
func (w *world) checkGivenUp(instances []*ingest) {
	w.t.Helper()
	given := map[string]bool{}
	for _, i := range instances {
		for name := range i.files {
			given[name] = true
		}
	}
	for _, name := range w.namedFiles() {
		require.False(w.t, given[name], "file %s was given up, but a snapshot names it", name)
	}
}

// TestStorm is many faults at once: each operation fails, before or after its effect, with a chance; the deltas of two
// owners of the same partitions race; the seed is printed.
func TestStorm(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, round))
		w := newWorld(t).create(map[string]string{"manifest.merge-min-count": "4"})
		stormy := &storm{Store: w.store, rnd: rnd, chance: 0.1}
		instances := append(scenario(w, stormy, 30), scenario(w, stormy, 30)...)
		play(t, instances, func() bool { return false })
		require.Equal(t, table.Offsets{part(0): at(30), part(1): at(30)}, w.check(), "round %d", round)
		w.checkGivenUp(instances)
	}
}

// storm fails operations at random.
type storm struct {
	object.Store
	mu     sync.Mutex
	rnd    *rand.Rand
	chance float64
}

func (s *storm) roll() (before, after bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.Float64() < s.chance/2, s.rnd.Float64() < s.chance/2
}

func (s *storm) do(call func() error) error {
	before, after := s.roll()
	if before {
		return object.ErrInjected
	}
	err := call()
	if after && err == nil {
		return object.ErrInjected
	}
	return err
}

func (s *storm) Get(ctx context.Context, name string) (b []byte, err error) {
	err = s.do(func() (err error) { b, err = s.Store.Get(ctx, name); return err })
	return b, err
}

func (s *storm) Put(ctx context.Context, name string, b []byte) error {
	return s.do(func() error { return s.Store.Put(ctx, name, b) })
}

func (s *storm) Create(ctx context.Context, name string, b []byte) error {
	return s.do(func() error { return s.Store.Create(ctx, name, b) })
}

func (s *storm) Delete(ctx context.Context, names ...string) error {
	return s.do(func() error { return s.Store.Delete(ctx, names...) })
}

// Instances that really run at the same time, each with a partition of its own, and two for the last one.
func TestRacingCommitters(t *testing.T) {
	const commits, owners = 15, 6
	w := newWorld(t).create(map[string]string{"manifest.merge-min-count": "5"})
	ctx := context.Background()
	var group sync.WaitGroup
	errs := make([]error, owners)
	fenced := make([]int, owners)
	for n := range owners {
		group.Go(func() {
			p := min(int32(n), owners-2) // the last two share a partition
			c := w.open(w.store)
			c.cfg.Retries = 1000
			for done := 0; done < commits && errs[n] == nil; {
				s, err := c.Resume(ctx)
				if err != nil {
					errs[n] = err
					return
				}
				_, err = c.Commit(ctx, w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}, p, 3))
				switch {
				case errors.Is(err, ErrFenced):
					fenced[n]++
				case err != nil:
					errs[n] = err
				default:
					done++
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	offsets := w.check()
	for p := range int32(owners - 2) {
		require.Equal(t, at(commits*3), offsets[part(p)])
	}
	require.Equal(t, at(2*commits*3), offsets[part(owners-2)])
	require.Len(t, w.snapshots(), commits*owners)
	for n := range owners - 2 {
		require.Zero(t, fenced[n], "who is alone on a partition is never fenced")
	}
	w.noUnnamedManifests()
	require.Equal(t, fmt.Sprint(commits*owners), w.latestHint())
}

func (w *world) latestHint() string {
	raw, err := w.store.Get(context.Background(), w.path.Latest())
	require.NoError(w.t, err)
	return string(raw)
}
