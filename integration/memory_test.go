//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	memoryBudget = 32 << 20
	// memoryBeside is what the process may take beside its budget, whatever the budget is: docs/operations.md.
	memoryBeside = 128 << 20
	// wideRow is close to the largest record that a broker takes by default.
	wideRow = 950_000
	// hotRow is the label of a row that changes all the time.
	hotRow = 4_000
)

// gate holds back the requests of a proxy while it is shut.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
}

// shut returns what opens it again; the test's end does, too.
func (g *gate) shut(t testing.TB) (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.open = shut
	open = sync.OnceFunc(func() { close(shut) })
	t.Cleanup(open)
	return open
}

func (g *gate) pass(*http.Request) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open != nil {
		<-open
	}
}

// peakRSS is the most memory that a process has held, in bytes, as the kernel counts it.
func peakRSS(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	require.True(t, found, "%s", text)
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// letters is text of a length that does not compress to nothing.
func letters(r *rand.Rand, n int) string {
	const set = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	out := make([]byte, n)
	for i := 0; i < n; {
		for bits, k := r.Uint64(), 0; k < 10 && i < n; i, k, bits = i+1, k+1, bits>>6 {
			out[i] = set[bits&63]
		}
	}
	return string(out)
}

// labelled are n changes of the rows 0 to keys-1 by turns, with labels of a size: creates first, then updates.
func (s *stream) labelled(n, keys, size int) []record {
	var out []record
	for range n {
		id := int64(s.n % keys)
		s.n++
		op := "u"
		before, there := s.rows[id]
		if !there {
			op, before = "c", "null"
		}
		s.rows[id] = image(id, letters(s.random, size), s.n)
		out = append(out, s.event(s.topic, int32(id)%s.partitions, id, op, before, s.rows[id]))
	}
	return out
}

// scenes of memory: what comes, twice as much as the budget, while the store does not answer.
var memoryScenes = map[string]func(s *stream) []record{
	"hot":  func(s *stream) []record { return s.labelled(2*memoryBudget/(2*hotRow), 8, hotRow) },
	"wide": func(s *stream) []record { return s.labelled(2*memoryBudget/wideRow, 1<<20, wideRow) },
}

// TestChaosMemory: the process stays below its budget and a constant while keys change all the time or rows are as wide as the
// broker takes them, the store stalls (for a minute in the long form) and then answers at once, and commits are refused and tried again. Fetching pauses and goes on, and
// all is there in the end (I8).
func TestChaosMemory(t *testing.T) {
	for name, next := range memoryScenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stall := time.Duration(0)
			if longForm() {
				stall = time.Minute // once: a request may be given up and sent again meanwhile
			}
			chapters(t, 1, func(t *testing.T, rounds int) { memoryHolds(t, rounds, next, stall); stall = 0 })
		})
	}
}

func memoryHolds(t *testing.T, rounds int, next func(*stream) []record, stall time.Duration) {
	random := dice(t)
	s := newStreamOf(t, slug(t), 2, random)
	p := newStoreProxy(t, shared.s3, newMischief(random, []trick{unavailable, lying}))
	var g gate
	p.edit = g.pass
	l := newLake(t, s3)
	x, server := l.table("orchard.crate"), newServer(t)
	run := start(t, "run", "-c", newConfig(l, slug(t), s.mapping("orchard.crate")).with(p.through()).
		with(config{"memory": fmt.Sprint(memoryBudget), "http": server.address}).write(t))
	written := func() bool { return caughtUp(t, x, slug(t), s.topic) }
	produceFresh(t, s.labelled(2, 1<<20, 10))
	until(t, waitLong, written, "the table is there")

	for round := range rounds {
		open := g.shut(t)
		produceFresh(t, next(s))
		until(t, waitLong, func() bool { return server.metric("sink_fetch_paused") == 1 }, "round %d: fetching pauses", round)
		read := server.metric("sink_records_total")
		require.Less(t, read, float64(s.n), "round %d: all was read while the store was silent", round)
		time.Sleep(stall)
		p.begin(8)
		open()
		until(t, waitLong, func() bool { return server.metric("sink_records_total") > read }, "round %d: fetching goes on", round)
		p.begin(0)
		until(t, waitLong, written, "round %d: all is written when the store answers", round)
	}
	require.Zero(t, server.metric("sink_fetch_paused"))
	require.Positive(t, server.metric("sink_fetch_pauses_total"))
	requireWithin(t, run, server, memoryBudget)
	run.terminate(t)
	require.Zero(t, run.wait(t, waitLong))
	require.Equal(t, s.truth(), crates(t, x.rows(t, "paimon", 0)))
}

// requireWithin wants a process never to have held more than its budget and the constant.
func requireWithin(t testing.TB, run *process, s server, budget int64) {
	t.Helper()
	peak := peakRSS(t, run.cmd.Process.Pid)
	t.Logf("memory %d MiB: peak RSS %d MiB, buffers %.0f MiB", budget>>20, peak>>20, s.metric("sink_memory_peak_bytes")/(1<<20))
	require.LessOrEqual(t, peak, budget+memoryBeside, "bytes of RSS")
}

// TestChaosMemoryTables: so do many tables at once, 1,000 of them in the long form.
func TestChaosMemoryTables(t *testing.T) {
	t.Parallel()
	tables := 40
	if longForm() {
		tables = 1000
	}
	random := dice(t)
	topic := slug(t)
	createTopic(t, topic, 2)
	var records []record
	for change := range 10 {
		for i := range tables {
			c := crate{schemaless: true, name: fmt.Sprintf("crate%03d", i)}
			records = append(records, c.create(topic, int32(i%2), int64(change), letters(random, 500), i))
		}
	}
	produce(t, records)
	l := newLake(t, s3)
	server := newServer(t)
	run := start(t, "run", "-c", newConfig(l, slug(t), table(topic, "orchard.${table}", crateColumns)).
		with(config{"memory": fmt.Sprint(memoryBudget), "http": server.address}).write(t))
	until(t, 10*waitLong, func() bool {
		return server.metric("sink_snapshots_total") >= float64(tables) && server.metric("sink_lag_records") == 0
	},
		"all tables have a snapshot and no lag")
	requireWithin(t, run, server, memoryBudget)
	run.terminate(t)
	require.Zero(t, run.wait(t, waitLong))
	require.Len(t, l.table(fmt.Sprintf("orchard.crate%03d", tables-1)).rows(t, "paimon", 0), 10)
}
