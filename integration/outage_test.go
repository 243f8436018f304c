//go:build integration

package integration

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sys/unix"
)

// outage is a service of a test's own, which goes away and comes back.
type outage struct {
	script string
	dir    string
	port   int
}

// startOutage starts one; it ends with the tests at the latest.
func startOutage(t testing.TB, script, name string, ports int) outage {
	t.Helper()
	port, err := shared.service(t.Context(), script, name, ports, "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey)
	require.NoError(t, err)
	o := outage{script, filepath.Join(shared.dir, name), port}
	t.Cleanup(func() { o.run(t, "stop", o.dir) })
	return o
}

func (o outage) address() string { return loopback(o.port) }

// run calls the service's script.
func (o outage) run(t testing.TB, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join("services", o.script), args...)
	cmd.Env = environment()
	out, err := os.Create(filepath.Join(t.TempDir(), "out")) // a file, for the service inherits it
	require.NoError(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		require.NoError(t, err, "%s %v: %s", o.script, args, text)
	}
}

// fall ends the service as a shutdown does, or as a power failure.
func (o outage) fall(t testing.TB, gracefully bool) {
	t.Helper()
	if !gracefully {
		text, err := os.ReadFile(filepath.Join(o.dir, "pid"))
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.Fields(string(text))[0])
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, func() bool { return portFree(o.port) }, 30*time.Second, 20*time.Millisecond, "%s still listens", o.script)
	}
	o.run(t, "stop", o.dir)
}

// rise starts it again, with what it has on disk.
func (o outage) rise(t testing.TB) {
	t.Helper()
	o.run(t, "start", o.dir, strconv.Itoa(o.port))
}

// TestChaosOutage takes the broker away from a running sink, and the store, by SIGKILL and by a shutdown. The sink waits, and goes on by
// itself when they are back.
func TestChaosOutage(t *testing.T) {
	t.Parallel()
	broker := startOutage(t, "kafka.sh", "outage-kafka", 2)
	store := startOutage(t, "s3.sh", "outage-s3", 1)
	client, err := newClient(broker.address())
	require.NoError(t, err)
	defer client.Close()
	c := cluster{broker.address(), kadm.NewClient(client)}
	objects, err := openBucket(t.Context(), store.address())
	require.NoError(t, err)
	chapters(t, 2, func(t *testing.T, rounds int) {
		l := lake{uri: "s3://" + bucket + "/" + slug(t), s3: true, server: store.address(), client: objects}
		outages(t, c, l, []outage{broker, store}, rounds)
	})
}

func outages(t *testing.T, c cluster, l lake, services []outage, rounds int) {
	random := dice(t)
	s := newStreamOn(t, c, slug(t), 4, random)
	x := l.table("orchard.crate")
	p := start(t, "run", "-c", newConfig(l, slug(t), s.mapping("orchard.crate")).with(quickCrash).
		with(config{"kafka": config{"brokers": []string{c.address}}}).write(t))
	var sent []record
	feed := func() {
		records := s.next(300 + random.IntN(600))
		s.cluster.produce(t, records)
		sent = append(sent, records...)
	}
	feed()
	until(t, waitLong, func() bool { return c.caughtUp(t, x, slug(t), s.topic) }, "the sink runs")
	for round := range rounds {
		feed()
		o := services[round%len(services)]
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		o.fall(t, random.IntN(2) == 0)
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		require.True(t, p.running(), "round %d: it ended when %s went away", round, o.script)
		o.rise(t)
		feed()
		until(t, waitLong, func() bool { return c.caughtUp(t, x, slug(t), s.topic) }, "the sink goes on after %s came back", o.script)
	}
	p.terminate(t)
	require.Zero(t, p.wait(t, waitLong))
	s.requireWhole(t, x, sent)
}

// TestChaosDiskFull fills the disk under a table while the sink writes it. The table stays readable meanwhile, nothing is lost, and the
// sink goes on by itself when there is room again.
func TestChaosDiskFull(t *testing.T) {
	t.Parallel()
	chapters(t, 3, func(t *testing.T, rounds int) { diskFull(t, rounds) })
}

func diskFull(t *testing.T, rounds int) {
	random := dice(t)
	s := newStreamOf(t, slug(t), 4, random)
	l := newLake(t, disk)
	mounted := mountRoom(t, l.path())
	p := start(t, "run", "-c", newConfig(l, slug(t), s.mapping("orchard.crate")).with(quickCrash).write(t))
	d := &room{folder: l.path(), mounted: mounted, pid: p.cmd.Process.Pid}
	x := l.table("orchard.crate")
	var sent []record
	feed := func() { sent = append(sent, produceFresh(t, s.next(300+random.IntN(600)))...) }
	feed()
	until(t, waitLong, func() bool { return caughtUp(t, x, slug(t), s.topic) }, "the sink runs")
	for round := range rounds {
		feed()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		tried := strings.Count(p.log.String(), "trying again")
		d.fill(t)
		feed()
		until(t, waitLong, func() bool { return strings.Count(p.log.String(), "trying again") > tried }, "the sink cannot write")
		require.True(t, p.running(), "round %d: it ended when the disk was full", round)
		x.rows(t, "paimon", 0)
		d.empty(t)
		until(t, waitLong, func() bool { return caughtUp(t, x, slug(t), s.topic) }, "the sink goes on when there is room")
	}
	p.terminate(t)
	require.Zero(t, p.wait(t, waitLong))
	s.requireWhole(t, x, sent)
}

// room is what a process has to write into below a folder.
type room struct {
	folder  string
	mounted bool // a disk of the test's own; else the process is kept from writing
	pid     int
}

// mountRoom puts a small disk under a folder, where the test has the right to.
func mountRoom(t testing.TB, folder string) bool {
	t.Helper()
	err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size=64m")
	if errors.Is(err, unix.EPERM) {
		t.Log("no right to mount a small disk: files of no size are allowed instead (RLIMIT_FSIZE)")
		return false
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Unmount(folder, unix.MNT_DETACH)) })
	return true
}

func (r *room) ballast() string { return filepath.Join(r.folder, "ballast") }

// fill leaves no room.
func (r *room) fill(t testing.TB) {
	t.Helper()
	if !r.mounted {
		r.limit(t, 0)
		return
	}
	f, err := os.Create(r.ballast())
	require.NoError(t, err)
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
}

// empty gives the room back.
func (r *room) empty(t testing.TB) {
	t.Helper()
	if !r.mounted {
		r.limit(t, unix.RLIM_INFINITY)
		return
	}
	require.NoError(t, os.Remove(r.ballast()))
}

func (r *room) limit(t testing.TB, size uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	require.NoError(t, unix.Prlimit(r.pid, unix.RLIMIT_FSIZE, &limit, nil), "limit process %d", r.pid)
}
