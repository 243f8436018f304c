//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// nap is a step of an instance at which it is stopped for longer than its group waits.
type nap struct {
	name string
	kind string // of the warehouse
	lazy bool   // the instance makes no checkpoint by itself
	// expires has the snapshot that the sleeper was about to make come and go meanwhile.
	expires bool
	// fall stops the instance at the step, and returns what lets its last request go on its way, late.
	fall func(z *sleeper) (late func())
	// fenced says that the sleeper holds records that others commit meanwhile. It must give them up, and say so.
	fenced bool
}

var naps = []nap{
	{name: "buffering", kind: disk, lazy: true, fall: (*sleeper).amidBuffering, fenced: true},
	{name: "between files and snapshot", kind: disk, fall: (*sleeper).amidFiles, fenced: true},
	{name: "between snapshot and offsets", kind: disk, fall: holdOffsets},
	{name: "buffering", kind: s3, lazy: true, fall: (*sleeper).amidBuffering, fenced: true},
	{name: "mid upload", kind: s3, fall: holdPut("data-", false), fenced: true},
	{name: "before the snapshot", kind: s3, fall: holdPut("snapshot/snapshot-", false), fenced: true},
	{name: "before a snapshot that expires", kind: s3, fall: holdPut("snapshot/snapshot-", false), fenced: true, expires: true},
	{name: "before it hears of its snapshot", kind: s3, fall: holdPut("snapshot/snapshot-", true)},
	{name: "between snapshot and offsets", kind: s3, fall: holdOffsets},
}

// TestChaosSleeper stops an instance with SIGSTOP at each step of a checkpoint. Another takes its partitions and goes on; then the
// sleeper's last request arrives, late, and the sleeper itself wakes, in the belief that nothing happened. What it holds must
// be in no snapshot, no offset may go back, and it must find its way back into the group (U27).
func TestChaosSleeper(t *testing.T) {
	for _, n := range naps {
		t.Run(n.kind+"/"+n.name, func(t *testing.T) {
			t.Parallel()
			chapters(t, 25, func(t *testing.T, _ int) { sleep(t, n) })
		})
	}
}

// sleeper is an instance that is stopped, behind proxies of its own.
type sleeper struct {
	t      *testing.T
	random *rand.Rand
	source *stream
	table  target
	broker *brokerProxy
	store  *storeProxy
	web    server
	p      *process
	sent   []record
}

func sleep(t *testing.T, n nap) {
	random := dice(t)
	z := &sleeper{t: t, random: random, source: newStreamOf(t, slug(t), 4, random), web: newServer(t)}
	l := newLake(t, n.kind)
	z.table = l.table("orchard.crate")
	z.broker = newBrokerProxy(t, shared.kafka, newMischief(random, brokerTricks))
	z.store = newStoreProxy(t, shared.s3, newMischief(random, storeTricks))
	options := config{"options": config{"bucket": "2", "changelog.time-retained": "1 d"}}
	c := newConfig(l, slug(t), z.source.mapping("orchard.crate", options)).with(quickCrash)
	mine := c.with(z.broker.through()).with(config{"http": z.web.address})
	if l.s3 {
		mine = mine.with(z.store.through())
	}
	if n.lazy {
		mine = mine.with(config{"checkpoint": config{"interval": "1h", "records": 1000000}})
	}
	z.p = start(t, "run", "-c", mine.write(t))
	if !n.lazy {
		z.feed()
		until(t, time.Minute, z.caughtUp, "the instance commits")
	}

	late := n.fall(z)
	before := z.table.snapshotIDs(t)
	other := start(t, "run", "-c", c.write(t))
	z.feed()
	until(t, time.Minute, z.caughtUp, "the other instance goes on")
	if n.expires {
		z.outlive(slices.Max(before) + 1)
	}
	heard := groupOffsets(t, slug(t))[z.source.topic]
	late()
	z.feed()
	until(t, time.Minute, z.caughtUp, "the other instance goes on behind the late request")

	z.p.resume(t)
	until(t, time.Minute, func() bool { return members(t, slug(t)) == 2 }, "the sleeper is a member again")
	z.feed()
	until(t, time.Minute, func() bool { // the lazy one keeps what it reads until it stops
		return z.caughtUp() || n.lazy && z.web.metric("sink_buffered_bytes", "table", "orchard.crate") > 0
	}, "both go on")
	for partition, offset := range groupOffsets(t, slug(t))[z.source.topic] {
		require.GreaterOrEqual(t, offset, heard[partition], "the group's offset of partition %d goes back", partition)
	}
	if n.fenced {
		require.Positive(t, z.web.metric("sink_fenced_total", "table", "orchard.crate"), "the sleeper has given up what it held")
	}
	z.p.terminate(t)
	require.Zero(t, z.p.wait(t, waitLong))
	until(t, time.Minute, z.caughtUp, "the other instance is alone again")
	other.terminate(t)
	require.Zero(t, other.wait(t, waitLong))
	if n.expires {
		require.NotContains(t, z.table.snapshotIDs(t), slices.Max(before)+1, "the sleeper's snapshot of an expired id stands")
	}
	z.source.requireWhole(t, z.table, z.sent)
}

func (z *sleeper) feed() {
	z.sent = append(z.sent, produceFresh(z.t, z.source.next(300+z.random.IntN(600)))...)
}

func (z *sleeper) caughtUp() bool { return caughtUp(z.t, z.table, slug(z.t), z.source.topic) }

// outlive has the snapshot of an id, which is another's by now, expire.
func (z *sleeper) outlive(id int64) {
	for !slices.Contains(z.table.snapshotIDs(z.t), id+2) {
		z.feed()
		until(z.t, time.Minute, z.caughtUp, "the other instance goes on")
	}
	z.table.remove(z.t, "consumer/consumer-sink-"+slug(z.t)) // it moves on once a minute only
	sink(z.t, z.table.cli("expire", "--retain-max", "1", "--retain-min", "1")...)
	require.NotContains(z.t, z.table.snapshotIDs(z.t), id)
}

// amidBuffering stops the instance while all that it read is in memory.
func (z *sleeper) amidBuffering() func() {
	z.feed()
	until(z.t, time.Minute, func() bool {
		return z.web.metric("sink_records_total", "table", "orchard.crate") >= float64(len(z.sent))
	}, "the records are read")
	require.Empty(z.t, z.table.snapshotIDs(z.t))
	z.p.pause(z.t)
	return func() {}
}

// amidFiles stops the instance when it has written data files that no snapshot names.
func (z *sleeper) amidFiles() func() {
	files := func() int {
		return len(slices.DeleteFunc(z.table.list(z.t, "bucket-"), func(name string) bool { return !strings.Contains(name, "/data-") }))
	}
	for range 50 {
		snapshots, known := len(z.table.snapshotIDs(z.t)), files()
		z.feed()
		for deadline := time.Now().Add(time.Minute); files() <= known; {
			require.True(z.t, time.Now().Before(deadline), "no file is written")
			time.Sleep(100 * time.Microsecond)
		}
		z.p.pause(z.t)
		if len(z.table.snapshotIDs(z.t)) == snapshots {
			return func() {}
		}
		z.p.resume(z.t) // the snapshot was quicker
		until(z.t, time.Minute, z.caughtUp, "the instance commits")
	}
	require.Fail(z.t, "the instance was never met between its files and its snapshot")
	return nil
}

// holdPut stops the instance with the upload of such an object on its way, or done and not answered.
func holdPut(prefix string, after bool) func(*sleeper) func() {
	return func(z *sleeper) func() { return z.stopAt(z.store.add(z.t, after, putOf(prefix))) }
}

// holdOffsets stops the instance with its commit of the group's offsets on its way.
func holdOffsets(z *sleeper) func() {
	offsets := int16(kmsg.OffsetCommit)
	return z.stopAt(z.broker.add(z.t, false, func(key int16) bool { return key == offsets }))
}

func (z *sleeper) stopAt(h *hold) func() {
	z.feed()
	select {
	case <-h.caught:
	case <-time.After(time.Minute):
		require.Fail(z.t, "the instance never came to the step")
	}
	z.p.pause(z.t)
	return h.release
}

// pause stops the process, until resume.
func (p *process) pause(t testing.TB) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return p.state(t) == "T" }, 10*time.Second, time.Millisecond, "the process does not stop")
}

func (p *process) resume(t testing.TB) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
}

// state is what the kernel says that the process does.
func (p *process) state(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(t, err)
	after := string(text[strings.LastIndexByte(string(text), ')')+1:])
	return strings.Fields(after)[0]
}
