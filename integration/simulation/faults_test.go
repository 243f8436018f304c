//go:build synctests

package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/connector"
	"sink/table/object"
)

// scene is one life with one fault in it: some events, an instance that reads them with small checkpoints and spills, more
// events, a graceful stop, or the end that the fault brings, and a clean instance that drains what is left. It reports
// whether the fault took place.
func scene(t *testing.T, protocol connector.Protocol, setUp func(w *world), over func(object.Store) object.Store, fault func(w *world, i *instance) (fired, fatal bool)) (fired bool) {
	w := newWorld(t, rand.New(rand.NewPCG(7, 0)))
	defer w.close()
	w.protocol = protocol
	for range 4 {
		w.source.step(6)
	}
	if setUp != nil {
		setUp(w)
	}
	l := limits{connector.Checkpoint{Interval: 500 * time.Millisecond, Bytes: 1 << 20, Records: 8}, 4 << 10, time.Millisecond, 1 << 20, 0}
	i := w.start(l, over(w.objects))
	time.Sleep(3 * time.Second)
	for range 3 {
		w.source.step(6)
	}
	time.Sleep(5 * time.Second)
	fired, fatal := fault(w, i)
	if fatal && fired {
		i.kill()
	}
	time.Sleep(20 * time.Second) // what was answered with an error is tried again
	i.stop()
	i.wait()
	if !fired {
		fired, _ = fault(w, i)
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
				return scene(t, connector.Classic, nil, over, func(w *world, i *instance) (bool, bool) { return store.Fired() > 0, crash })
			})
		})
	}
}

// everyNth runs f for n = 1, 2, 3 and so on until it reports that nothing went wrong.
func everyNth(t *testing.T, f func(t *testing.T, n int) bool) {
	t.Helper()
	for n := 1; ; n++ {
		fired := false
		ok := t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fired = f(t, n) })
		})
		if !ok || !fired {
			require.True(t, ok)
			t.Logf("%d calls", n-1)
			return
		}
	}
}

// brokerCalls are the requests that an instance makes.
func brokerCalls(protocol connector.Protocol) []kmsg.Key {
	keys := []kmsg.Key{kmsg.Fetch, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.FindCoordinator, kmsg.Metadata, kmsg.ListOffsets, kmsg.DescribeConfigs, kmsg.ApiVersions}
	if protocol == connector.Consumer {
		return append(keys, kmsg.ConsumerGroupHeartbeat)
	}
	return append(keys, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup)
}

// mostOf bounds the n-th of requests that repeat for as long as an instance lives.
const mostOf = 12

// TestEveryBrokerCall has the n-th request of each kind go wrong: the connection breaks before it, or before its answer.
func TestEveryBrokerCall(t *testing.T) {
	warmUp(t)
	for _, protocol := range []connector.Protocol{connector.Classic, connector.Consumer} {
		for _, key := range brokerCalls(protocol) {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/after=%t", protocol, key.Name(), after), func(t *testing.T) {
					t.Parallel()
					everyNth(t, func(t *testing.T, n int) bool {
						if n > mostOf {
							return false
						}
						plan := &requestFault{key: key.Int16(), nth: n, after: after}
						setUp := func(w *world) { w.plan = plan }
						over := func(inner object.Store) object.Store { return inner }
						return scene(t, protocol, setUp, over, func(*world, *instance) (bool, bool) { return plan.fired, false })
					})
				})
			}
		}
	}
}

// TestEveryBrokerError has the n-th request of each kind answered with an error.
func TestEveryBrokerError(t *testing.T) {
	warmUp(t)
	for _, protocol := range []connector.Protocol{connector.Classic, connector.Consumer} {
		for _, key := range brokerCalls(protocol) {
			if key == kmsg.ApiVersions {
				continue // an error there ends the connection, as above
			}
			for _, code := range errorsOf(key) {
				t.Run(fmt.Sprintf("%s/%s/%s", protocol, key.Name(), code.Message), func(t *testing.T) {
					t.Parallel()
					everyNth(t, func(t *testing.T, n int) bool {
						if n > mostOf {
							return false
						}
						var handles []*kfake.FaultHandle
						seen := 0
						setUp := func(w *world) {
							for _, top := range []bool{false, true} {
								handles = append(handles, w.brokers.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code, TopLevel: top, When: func(req kmsg.Request) bool {
									seen++
									return seen == n
								}}))
							}
						}
						over := func(inner object.Store) object.Store { return inner }
						return scene(t, protocol, setUp, over, func(*world, *instance) (bool, bool) {
							return handles[0].Hits()+handles[1].Hits() > 0, false
						})
					})
				})
			}
		}
	}
}

// errorsOf are errors that brokers give for a kind of request and that pass.
func errorsOf(key kmsg.Key) []*kerr.Error {
	switch key {
	case kmsg.Fetch, kmsg.ListOffsets:
		return []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownServerError}
	case kmsg.Metadata, kmsg.DescribeConfigs:
		return []*kerr.Error{kerr.UnknownServerError}
	case kmsg.OffsetCommit, kmsg.Heartbeat:
		return []*kerr.Error{kerr.NotCoordinator, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress}
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.ConsumerGroupHeartbeat:
		return []*kerr.Error{kerr.NotCoordinator, kerr.UnknownMemberID, kerr.CoordinatorLoadInProgress}
	}
	return []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress}
}
