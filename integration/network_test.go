//go:build integration

package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestChaosNetwork runs the sink behind proxies that cut connections before a request, within it, before its answer and
// within that, delay, answer 503, and lie: what was answered with an error has happened. The one before Kafka and the one
// before the store do so to many requests, from the first one on, while records keep coming; then also alone (U26).
func TestChaosNetwork(t *testing.T) {
	for _, kind := range []string{disk, s3} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			chapters(t, 6, func(t *testing.T, rounds int) { chaosNetwork(t, kind, rounds) })
		})
	}
}

func chaosNetwork(t *testing.T, kind string, rounds int) {
	random := dice(t)
	s := newStreamOf(t, slug(t), 4, random)
	l := newLake(t, kind)
	c := newConfig(l, slug(t), s.mapping("orchard.crate")).with(quickCrash).with(config{"kafka": config{"session-timeout": "3s"}})
	broker := newBrokerProxy(t, shared.kafka, newMischief(random, brokerTricks))
	c = c.with(broker.through())
	broker.begin(8)
	all := []*mischief{broker.mischief}
	if l.s3 {
		store := newStoreProxy(t, shared.s3, newMischief(random, storeTricks))
		c = c.with(store.through())
		store.begin(12)
		all = append(all, store.mischief)
	}
	incomplete := func(m *mischief) bool { return !m.complete() }

	sent := produceFresh(t, s.next(500))
	p := start(t, "run", "-c", c.write(t))
	for round := 0; round < rounds || slices.ContainsFunc(all, incomplete); round++ {
		time.Sleep(500 * time.Millisecond)
		require.True(t, p.running(), "round %d: it ended by itself", round)
		sent = append(sent, produceFresh(t, s.next(200+random.IntN(600)))...)
	}
	x := l.table("orchard.crate")
	until(t, 2*time.Minute, func() bool { return caughtUp(t, x, slug(t), s.topic) }, "the sink catches up through its proxies")
	p.terminate(t)
	require.Zero(t, p.wait(t, waitLong))
	t.Logf("done to requests: %v", all)
	s.requireWhole(t, x, sent)
}
