//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestChaosClock has the wall clock of a running instance jump by minutes, hours and days, forward and back, while records keep coming,
// beside an instance of the same group whose clock is right. On disk both go on committing, though snapshots expire by the clock that
// jumps, and `sink orphans --delete` by it. An S3 server refuses whoever's clock is off by a quarter of an hour: the instance says so, and goes on when its clock is right again.
func TestChaosClock(t *testing.T) {
	for _, kind := range []string{disk, s3} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			chapters(t, 3, func(t *testing.T, rounds int) { jumps(t, kind, rounds) })
		})
	}
}

func jumps(t *testing.T, kind string, rounds int) {
	random := dice(t)
	s := newStreamOf(t, slug(t), 4, random)
	x := newLake(t, kind).table("orchard.crate")
	// Snapshots go by age; the changelog is wanted to the end, for it proves each record.
	options := config{"options": config{"bucket": "2", "changelog.num-retained.max": "1000000", "changelog.time-retained": "3650 d"}}
	c := newConfig(x.lake, slug(t), s.mapping("orchard.crate", options)).with(quickCrash).
		with(config{"on-table-failure": "retry", "table-retry": config{"initial": "200ms", "max": "1s"}})
	right := start(t, "run", "-c", c.write(t))
	astray := startClocked(t, "run", "-c", c.write(t))
	until(t, waitLong, func() bool { return members(t, slug(t)) == 2 }, "both are members")

	var sent []record
	feed := func() { sent = append(sent, produceFresh(t, s.next(300+random.IntN(600)))...) }
	for round := range rounds {
		feed()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		ahead := jump(random)
		t.Logf("round %d: the clock goes %v ahead", round, ahead)
		told := len(astray.log.String())
		astray.set(t, ahead)
		feed()
		if kind == s3 && ahead.Abs() > refusedFrom {
			until(t, waitLong, func() bool {
				return strings.Contains(astray.log.String()[told:], "set the clock of this machine")
			}, "the store refuses an instance whose clock is off")
			ahead = 0
			astray.set(t, ahead)
		}
		if kind == disk {
			astray.expire(t, x)
		}
		until(t, waitLong, func() bool { return caughtUp(t, x, slug(t), s.topic) }, "both go on after the jump")
		until(t, waitLong, func() bool { feed(); return astray.saw(t, ahead) }, "the instance's clock jumps")
		require.True(t, right.running() && astray.running(), "round %d: an instance ended", round)
	}
	if kind == disk {
		astray.set(t, 60*24*time.Hour)
		feed()
		astray.expire(t, x)
		require.NotContains(t, x.snapshotIDs(t), int64(1), "by this clock it is old")
		for range 5 { // by this clock all files are old, those on their way into a snapshot, too
			feed()
			astray.sink(t, x.cli("orphans", "--delete")...)
		}
	}
	until(t, waitLong, func() bool { return caughtUp(t, x, slug(t), s.topic) }, "both go on")
	for _, p := range []*process{astray.process, right} {
		p.terminate(t)
		require.Zero(t, p.wait(t, waitLong))
	}
	s.requireWhole(t, x, sent)
}

// refusedFrom is how far a clock may be off for an S3 server.
const refusedFrom = 15 * time.Minute

// jump is how far a clock comes to be ahead of the right one, or behind: minutes, hours or days.
func jump(random *rand.Rand) time.Duration {
	unit := []time.Duration{time.Minute, time.Hour, 24 * time.Hour}[random.IntN(3)]
	ahead := time.Duration(2+random.IntN(39)) * unit
	if ahead == refusedFrom {
		ahead += time.Minute // just then it is a matter of chance
	}
	return ahead * time.Duration(1-2*random.IntN(2))
}

// clocked is a process whose wall clock the test sets.
type clocked struct {
	*process
	file string
}

// startClocked starts the sink with a clock that is right, until set.
func startClocked(t testing.TB, args ...string) clocked {
	t.Helper()
	binary, err := clockedSink()
	require.NoError(t, err)
	c := clocked{file: filepath.Join(t.TempDir(), "clock")}
	c.set(t, 0)
	c.process = startBinary(t, binary, environment("SINK_CLOCK="+c.file), args...)
	return c
}

// set has the clock be so far ahead of the right one.
func (c clocked) set(t testing.TB, ahead time.Duration) {
	t.Helper()
	require.NoError(t, os.WriteFile(c.file, []byte(strconv.Itoa(int(ahead.Seconds()))), 0o600))
}

// expire removes all snapshots that are old by this clock, while the instances go on: but for their own hold on the newest, which they
// renew once a minute only.
func (c clocked) expire(t testing.TB, x target) {
	t.Helper()
	if hold := "consumer/consumer-sink-" + slug(t); slices.Contains(x.list(t, "consumer/"), hold) {
		x.remove(t, hold)
	}
	c.sink(t, x.cli("expire", "--retain-min", "1")...)
}

// sink runs a command by this clock to its end.
func (c clocked) sink(t testing.TB, args ...string) {
	t.Helper()
	p := startBinary(t, c.cmd.Path, c.cmd.Env, args...)
	require.Zero(t, p.wait(t, waitLong), "%v: %s", args, p.log.String())
}

// saw reports whether the last line of the log was written by a clock that is so far ahead.
func (c clocked) saw(t testing.TB, ahead time.Duration) bool {
	t.Helper()
	text := c.log.String()
	text = text[:strings.LastIndexByte(text, '\n')+1]
	var line struct{ Time time.Time }
	require.NoError(t, json.Unmarshal([]byte(lastLines([]byte(text), 1)), &line), "%s", text)
	return line.Time.Sub(time.Now().Add(ahead)).Abs() < time.Minute
}

// clockedSink builds a sink whose wall clock is told by a file, when the first test wants it: the files of testdata/clock are laid over
// cmd/sink. They change what the runtime asks for the time, which the linker lets nobody else do.
var clockedSink = sync.OnceValues(func() (string, error) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		return "", fmt.Errorf("testdata/clock moves no clock on %s/%s: write what clock_amd64.s does for it", runtime.GOOS, runtime.GOARCH)
	}
	replace := map[string]string{}
	for from, to := range map[string]string{"clock.go": "clockmoved.go", "clock_amd64.s": "clockmoved_amd64.s"} {
		from, err := filepath.Abs(filepath.Join("testdata", "clock", from))
		if err != nil {
			return "", err
		}
		if to, err = filepath.Abs(filepath.Join("..", "cmd", "sink", to)); err != nil {
			return "", err
		}
		replace[to] = from
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay, binary := filepath.Join(shared.dir, "overlay.json"), filepath.Join(shared.dir, "sink-clocked")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-overlay", overlay, "-ldflags", "-checklinkname=0", "-o", binary, "sink/cmd/sink").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build a sink whose clock can be moved: see whether runtime.vdsoClockgettimeSym is still what testdata/clock takes it for: %w\n%s", err, out)
	}
	return binary, nil
})
