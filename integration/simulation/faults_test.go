//go:build synctests

package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sink/connector"
	"sink/table/object"
)

// scene is one life with one fault in it: some events, an instance that reads them with small checkpoints and spills, more
// events, a graceful stop, or the end that the fault brings, and a clean instance that drains what is left. It reports
// whether the fault took place.
func scene(t *testing.T, over func(object.Store) object.Store, fault func() (fired, fatal bool)) (fired bool) {
	w := newWorld(t, rand.New(rand.NewPCG(7, 0)), feedsOf())
	defer w.close()
	for range 4 {
		w.source.step(6)
	}
	l := limits{connector.Checkpoint{Interval: 500 * time.Millisecond, Bytes: 1 << 20, Records: 8}, 4 << 10, time.Millisecond, 1 << 20, 0}
	i := w.start(l, over(w.objects))
	time.Sleep(3 * time.Second)
	_ = w.brokers.MoveTopicPartition("a", 0, 0) // wherever it was,
	_ = w.brokers.MoveTopicPartition("a", 0, 1) // it has a new leader
	w.source.send(w.source.feeds[0], 'x', 'e', 'c')
	for range 3 {
		w.source.step(6)
	}
	time.Sleep(5 * time.Second)
	fired, fatal := fault()
	if fatal && fired {
		i.kill()
	}
	time.Sleep(20 * time.Second) // what was answered with an error is tried again
	i.stop()
	i.wait()
	if !fired {
		fired, _ = fault()
	}
	w.drain()
	w.judge(!fired)
	return fired
}

// storeCalls are the calls that can go wrong; a lost answer matters only to those that change the store.
var storeCalls = []object.Op{
	object.OpOpen, object.OpRead, object.OpGet, object.OpPut, object.OpCreate, object.OpWriter, object.OpWrite, object.OpClose, object.OpCopy, object.OpList, object.OpDelete,
}

// TestEveryStoreCall has the n-th call of the store go wrong, for n = 1, 2, 3 and so on until none does.
func TestEveryStoreCall(t *testing.T) {
	warmUp(t)
	changes := []object.Op{object.OpPut, object.OpCreate, object.OpWriter, object.OpWrite, object.OpClose, object.OpCopy, object.OpDelete}
	for _, c := range []struct {
		effect object.Effect
		ops    []object.Op
	}{
		{object.FailBefore, storeCalls}, {object.FailAfter, changes}, {object.CrashBefore, changes}, {object.CrashAfter, changes},
		{object.LieExist, []object.Op{object.OpCreate}}, {object.Tear, []object.Op{object.OpDelete, object.OpWrite}},
	} {
		t.Run(c.effect.String(), func(t *testing.T) {
			t.Parallel()
			everyNth(t, func(t *testing.T, n int) bool {
				var store *object.Fault
				over := func(inner object.Store) object.Store {
					store = object.NewFault(inner, object.Rule{Ops: c.ops, Nth: n, Effect: c.effect})
					return store
				}
				crash := c.effect == object.CrashBefore || c.effect == object.CrashAfter
				return scene(t, over, func() (bool, bool) { return store.Fired() > 0, crash })
			})
		})
	}
}

// everyNth runs f for n = 1, 2, 3 and so on until it reports that nothing went wrong, and returns how often something did.
func everyNth(t *testing.T, f func(t *testing.T, n int) bool) int {
	t.Helper()
	for n := 1; ; n++ {
		fired := false
		ok := t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fired = f(t, n) })
		})
		if !ok || !fired {
			require.True(t, ok)
			require.Greater(t, n, 1, "there is no such call")
			t.Logf("%d calls", n-1)
			return n - 1
		}
	}
}
