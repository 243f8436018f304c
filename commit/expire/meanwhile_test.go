package expire

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
	"sink/table/object/objecttest"
)

// copy returns a world of its own that has come as far.
func (w *world) copy(t *testing.T) *world {
	c := &world{t: t, store: object.NewMem(), path: w.path, s: w.s, now: w.now, count: w.count}
	c.store.Now = c.clock
	for info, err := range w.store.List(context.Background(), string(w.path)+"/") {
		require.NoError(w.t, err)
		b, err := w.store.Get(context.Background(), info.Name)
		require.NoError(w.t, err)
		require.NoError(w.t, c.store.Put(context.Background(), info.Name, b))
	}
	return c
}

// TestOrphansMeanwhile: whatever comes, goes and is kept under another name ahead of whichever call of a search for orphans, what it finds is
// named by nothing.
func TestOrphansMeanwhile(t *testing.T) {
	ctx := context.Background()
	expiry := func(w *world) {
		w.dropPin()
		_, err := w.expirer(w.store).Run(ctx)
		require.NoError(t, err)
	}
	tag := func(w *world, name string, id int64) {
		_, err := w.expirer(w.store).CreateTag(ctx, name, id, 0)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		options map[string]string
		happens func(*world)
	}{
		"snapshots live on as changelogs":                  {map[string]string{"changelog.num-retained.max": "9"}, expiry},
		"snapshots live on as changelogs without producer": {map[string]string{"changelog.num-retained.max": "9", "changelog-producer": "none"}, expiry},
		"a snapshot lives on as a tag":                     {nil, func(w *world) { tag(w, "a", 5); expiry(w) }},
		"new snapshots":                                    {nil, func(w *world) { w.grow(rand.New(rand.NewPCG(3, 3)), 3); expiry(w) }},
	} {
		t.Run(name, func(t *testing.T) {
			options := map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
			for key, value := range c.options {
				options[key] = value
			}
			begun := newWorld(t, options)
			begun.grow(rand.New(rand.NewPCG(7, 7)), 8)
			tag(begun, "b", 4)
			for n, happened := 0, true; happened; n++ {
				w := begun.copy(t)
				s := &objecttest.Hook{Store: w.store}
				reached := s.Nth(n, func() { c.happens(w) })
				found, err := w.expirer(s).Orphans(ctx, w.clock().Add(1))
				require.NoError(t, err, "call %d", n)
				require.NoError(t, w.expirer(w.store).DeleteOrphans(ctx, found))
				w.check()
				happened = reached()
			}
		})
	}
}

// A snapshot that the store lists and does not give is not taken for one that has gone: nothing tells what it names.
func TestOrphansOfUnreadable(t *testing.T) {
	w := newWorld(t, nil)
	w.grow(rand.New(rand.NewPCG(7, 7)), 4)
	w.pass(time.Hour)
	s := object.NewFault(w.store, object.Rule{Ops: []object.Op{object.OpGet}, Path: "snapshot-2", Err: fs.ErrNotExist})
	_, err := w.expirer(s).Orphans(t.Context(), w.clock())
	require.ErrorContains(t, err, "snapshot-2 is listed by the store, again and again, but cannot be read")
}

// TestExpiryMeanwhile: two that expire, tag and delete tags at the same time, whichever call the one has come to, leave all that is named. It
// takes a random call of each pair, and all of two that expire; SINK_EVERY_CALL=1 has it take all.
func TestExpiryMeanwhile(t *testing.T) {
	ctx := context.Background()
	seed, every := uint64(time.Now().UnixNano()), os.Getenv("SINK_EVERY_CALL") != ""
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	run := func(w *world, s object.Store) error { _, err := w.expirer(s).Run(ctx); return err }
	deleted := func(w *world, s object.Store) error { _, err := w.expirer(s).DeleteTag(ctx, "b"); return err }
	tagged := func(w *world, s object.Store) error { _, err := w.expirer(s).CreateTag(ctx, "a", 7, 0); return err }
	actions := map[string]func(*world, object.Store) error{
		"expiry": run, "tag deleted": deleted, "tag made": tagged,
		"tag made, expiry":    func(w *world, s object.Store) error { return errors.Join(tagged(w, s), run(w, s)) },
		"tag deleted, expiry": func(w *world, s object.Store) error { return errors.Join(deleted(w, s), run(w, s)) },
		"new snapshots, expiry": func(w *world, s object.Store) error {
			w.grow(rand.New(rand.NewPCG(3, 3)), 3)
			w.dropPin()
			return run(w, s)
		},
	}
	const expiries = "changelogs without producer/expiry/new snapshots, expiry"
	tables := map[string]map[string]string{
		"snapshots": nil, "changelogs": {"changelog.num-retained.max": "4"}, "changelogs without producer": {"changelog.num-retained.max": "4", "changelog-producer": "none"},
	}
	names := slices.Sorted(maps.Keys(actions))
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		options := tables[name]
		all := map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
		maps.Copy(all, options)
		begun := newWorld(t, all)
		begun.grow(rand.New(rand.NewPCG(7, 7)), 9)
		for tag, id := range map[string]int64{"b": 4, "c": 6} {
			_, err := begun.expirer(begun.store).CreateTag(ctx, tag, id, 0)
			require.NoError(t, err)
		}
		begun.dropPin()
		for _, one := range names {
			for _, other := range names {
				do, happens := actions[one], actions[other]
				t.Run(name+"/"+one+"/"+other, func(t *testing.T) {
					n, last := 0, math.MaxInt
					if !every && name+"/"+one+"/"+other != expiries {
						n = rnd.IntN(40)
						last = n
					}
					for happened := true; happened && n <= last; n++ {
						w := begun.copy(t)
						s := &objecttest.Hook{Store: w.store}
						reached := s.Nth(n, func() { _ = happens(w, w.store) })
						err := do(w, s)
						require.True(t, err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist), "call %d: %v", n, err)
						happened = reached()
						w.check()
						require.NoError(t, run(w, w.store))
						w.check()
					}
				})
			}
		}
	}
}
