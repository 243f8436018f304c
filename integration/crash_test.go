//go:build integration

package integration

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chapters runs the rounds of a test of chaos: so many in CI, SINK_ROUNDS for `make chaos`. After each per rounds the whole
// table is judged, and a new one is begun: a chapter.
func chapters(t *testing.T, per int, chapter func(t *testing.T, rounds int)) {
	t.Helper()
	text := os.Getenv("SINK_ROUNDS")
	if text == "" {
		chapter(t, per)
		return
	}
	all, err := strconv.Atoi(text)
	require.NoError(t, err)
	for done := 0; done < all; done += per {
		t.Run(strconv.Itoa(done), func(t *testing.T) { chapter(t, min(per, all-done)) })
	}
}

// longForm tells `make chaos` from CI.
func longForm() bool { return os.Getenv("SINK_ROUNDS") != "" }

// dice are random by a seed that the log tells; SINK_SEED repeats one.
func dice(t testing.TB) *rand.Rand {
	t.Helper()
	return diceOf(t, uint64(time.Now().UnixNano()))
}

// diceOf are those of a seed, unless SINK_SEED has another: for comparisons with real Paimon where what that makes of some rows depends on when
// it compacted, and how large the files were.
func diceOf(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	if text := os.Getenv("SINK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	t.Logf("SINK_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// quickCrash lets the group notice a killed member soon, and makes many small snapshots.
var quickCrash = config{
	"kafka":      config{"session-timeout": "1s"},
	"checkpoint": config{"interval": "150ms", "records": 700},
}

// TestCrash kills the process at random moments, while records keep coming, and starts it again. In the end each record
// is in the changelog exactly once (I2, I7), whatever the moment: during an upload, between data and changelog file,
// before the manifest, before or after the snapshot, before or after the group's offsets (U25).
func TestCrash(t *testing.T) {
	for _, kind := range []string{disk, s3} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			chapters(t, 8, func(t *testing.T, rounds int) { crash(t, kind, rounds) })
		})
	}
}

func crash(t *testing.T, kind string, rounds int) {
	random := dice(t)
	records := orders(t, 8000)
	topic := records[0].Topic
	createTopic(t, topic, 4)
	l := newLake(t, kind)
	path := newConfig(l, slug(t), bulkTable("my", topic, coordinateColumns)).with(quickCrash).write(t)

	var sent []record
	for round := range rounds {
		next := records[len(sent) : len(sent)+900]
		sent = append(sent, produceFresh(t, next)...)
		p := start(t, "run", "-c", path)
		time.Sleep(time.Duration(1200+random.IntN(2000)) * time.Millisecond)
		require.True(t, p.running(), "round %d: it ended by itself", round)
		p.kill()
	}
	sink(t, "run", "-c", path, "--until-end")

	x := l.table("shop.orders")
	changes := x.changes(t)
	requireExactlyOnce(t, sent, changes)
	rows := x.agreed(t)
	requireFold(t, changes, []string{"id"}, rows)
	requirePairs(t, changes, []string{"id"})
	require.Equal(t, endOffsets(t, topic), x.latest(t).covered(t)[topic])
	x.fsck(t, "--replay", "last")
}

// produceFresh produces records wherever their partitions end, and returns them without the fixture's offsets.
func produceFresh(t testing.TB, records []record) []record {
	t.Helper()
	fresh := make([]record, len(records))
	for i, r := range records {
		r.Offset = nil
		fresh[i] = r
	}
	produce(t, fresh)
	return fresh
}

// TestStopGracefully sends SIGTERM while everything is still in buffers: it becomes a snapshot, the group's offsets
// follow, and the exit code is 0.
func TestStopGracefully(t *testing.T) {
	t.Parallel()
	records := produceFreshTopic(t, 5000)
	topic := records[0].Topic
	l := newLake(t, disk)
	server := newServer(t)
	c := newConfig(l, slug(t), bulkTable("my", topic, coordinateColumns)).with(config{
		"checkpoint": config{"interval": "1h"}, "http": server.address,
	})
	p := start(t, "run", "-c", c.write(t))
	until(t, time.Minute, func() bool {
		return server.metric("sink_records_total", "table", "shop.orders") >= float64(len(records))
	},
		"the records are read")
	x := l.table("shop.orders")
	require.Empty(t, x.snapshots(t), "a checkpoint came too early for the test")
	p.terminate(t)
	require.Zero(t, p.wait(t, 30*time.Second), "exit code of a graceful stop")
	requireExactlyOnce(t, records, x.changes(t))
	require.Equal(t, endOffsets(t, topic), groupOffsets(t, slug(t))[topic])
	x.fsck(t, "--replay", "all")
}

// produceFreshTopic makes a topic of the test's own with n of someOrders.
func produceFreshTopic(t testing.TB, n int) []record {
	t.Helper()
	records := orders(t, n)
	createTopic(t, records[0].Topic, 4)
	return produceFresh(t, records)
}
