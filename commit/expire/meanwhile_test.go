package expire

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
	"sink/table/object/objecttest"
)

// copy returns a world of its own that has come as far.
func (w *world) copy() *world {
	c := &world{t: w.t, store: object.NewMem(), path: w.path, s: w.s, now: w.now, count: w.count}
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
				w := begun.copy()
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
