//go:build synctests

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/connector"
)

// TestEveryRequest has the n-th request of each kind to the brokers go wrong, for n = 1, 2, 3 and so on until a life has no n-th of the
// kind: the connection breaks before it, or before its answer; the process dies before it, or before its answer; it is answered with each
// error that fits, done or not. Counted by kind, none is left out, in whatever order the kinds come: requests of several connections race.
func TestEveryRequest(t *testing.T) {
	warmUp(t)
	for _, protocol := range []connector.Protocol{connector.Classic, connector.Consumer} {
		for effect := cutBefore; effect <= crashAfter; effect++ {
			t.Run(fmt.Sprintf("%s/%s", protocol, effect), func(t *testing.T) {
				t.Parallel()
				played := 0
				for _, key := range brokerCalls(protocol) {
					for _, code := range effect.codes(key) {
						t.Run(fmt.Sprintf("%s %s", key.Name(), code.Message), func(t *testing.T) {
							played += everyNth(t, func(t *testing.T, n int) bool {
								plan := &requestFault{key: key.Int16(), nth: n, effect: effect, code: code}
								shortLife(t, protocol, plan)
								return plan.fired
							})
						})
					}
				}
				t.Logf("%d requests went wrong, each in a life of its own", played)
			})
		}
	}
}

// codes are the errors to try with a kind of request; one without a code where none is answered.
func (e requestEffect) codes(key kmsg.Key) []*kerr.Error {
	switch {
	case e == errorInstead && key == kmsg.ApiVersions:
		return nil // an error there ends the connection, as a cut does
	case e == errorAfter && !changes(key):
		return nil // it makes no difference whether it was done
	case e == errorInstead || e == errorAfter:
		return errorsOf(key)
	}
	return []*kerr.Error{{}}
}

// shortLife is as short as a life gets that makes each kind of request: a few events, a dead letter, a truncation, a partition that moves,
// commits, a graceful stop or the end that the fault brings. Then a clean instance drains the rest.
func shortLife(t *testing.T, protocol connector.Protocol, plan *requestFault) {
	w := newWorld(t, rand.New(rand.NewPCG(7, 0)), feedsOf())
	defer w.close()
	w.protocol, w.plan = protocol, plan
	var refused []*kfake.FaultHandle
	plan.refuse = func() { refused = w.refuseNext(plan) }
	first := w.source.feeds[0]
	w.source.send(first, 'c', 'x')
	for range 3 {
		w.source.step(4)
	}
	l := limits{connector.Checkpoint{Interval: 500 * time.Millisecond, Bytes: 1 << 20, Records: 8}, 4 << 10, time.Millisecond, 1 << 20, 0}
	i := w.start(l, w.objects, func(cfg *connector.Config) {
		cfg.Kafka = append(cfg.Kafka, kgo.FetchMaxWait(5*time.Second)) // so that what makes no difference is asked less often
		cfg.Kafka = append(cfg.Kafka, kgo.DisableClientMetrics())
	})
	time.Sleep(1500 * time.Millisecond)
	_ = w.brokers.MoveTopicPartition("a", 0, 0) // wherever it was,
	_ = w.brokers.MoveTopicPartition("a", 0, 1) // it has a new leader
	w.source.send(first, 'e', 'c')
	w.source.step(4)
	time.Sleep(1500 * time.Millisecond)
	if plan.fired && !plan.effect.crashes() {
		time.Sleep(20 * time.Second) // it finds its way back
	}
	i.dead = plan.crashed()
	i.stop()
	if !i.dead {
		i.wait()
	}
	if i.dead = plan.crashed(); i.dead { // or it has died as it stopped
		i.kill()
		i.wait()
	}
	if plan.fired && plan.effect == errorInstead {
		require.True(t, slices.ContainsFunc(refused, func(h *kfake.FaultHandle) bool { return h.Hits() > 0 }), "it was answered with an error")
	}
	w.drain()
	w.judge(!plan.fired)
}

// refuseNext has the brokers answer the next request of a kind with an error, instead of doing it.
func (w *world) refuseNext(plan *requestFault) (handles []*kfake.FaultHandle) {
	var refused kmsg.Request // asked about for each of its partitions, and by both faults
	for _, top := range []bool{false, true} {
		handles = append(handles, w.brokers.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Key(plan.key)}, Err: plan.code, TopLevel: top, Count: -1, When: func(req kmsg.Request) bool {
			if refused == nil && !w.fromSource(req) {
				refused = req
			}
			return req == refused
		}}))
	}
	return handles
}
