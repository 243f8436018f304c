//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// config is sink.yaml as a tree.
type config map[string]any

// newConfig is a sink.yaml that reads topics of the shared broker into lake as group.
func newConfig(l lake, group string, tables ...config) config {
	c := config{
		"kafka":      config{"brokers": []string{shared.kafka}, "group": group, "session-timeout": "6s"},
		"warehouse":  l.uri,
		"checkpoint": config{"interval": "500ms"},
		"memory":     "64MiB",
		"log":        config{"format": "json"},
		"tables":     tables,
	}
	if l.s3 {
		c["s3"] = config{"endpoint": "http://" + l.server, "region": "us-east-1", "path-style": true}
	}
	return c
}

// with is a copy with some keys set; a nested config adds to the one that is there.
func (c config) with(changes config) config {
	out := maps.Clone(c)
	for key, value := range changes {
		inner, nested := value.(config)
		if old, ok := out[key].(config); ok && nested {
			out[key] = old.with(inner)
		} else {
			out[key] = value
		}
	}
	return out
}

// write writes the file and returns its path.
func (c config) write(t testing.TB) string {
	t.Helper()
	text, err := yaml.Marshal(c)
	require.NoError(t, err)
	return writeFile(t, "sink.yaml", string(text))
}

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// process is a running sink. Its log shows when the test fails.
type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	log  syncBuffer
	done chan struct{}
	err  error
}

// waitLong is more than any run of the tests takes.
const waitLong = 3 * time.Minute

// syncBuffer may be read while the process writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// environment is the process's own but for what would let credentials of the machine in.
func environment(extra ...string) []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "AWS_") {
			env = append(env, pair)
		}
	}
	env = append(env, "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey, "AWS_EC2_METADATA_DISABLED=true")
	return append(env, extra...)
}

// start starts the binary. It is killed when the test ends, if it still runs.
func start(t testing.TB, args ...string) *process { return startEnv(t, environment(), args...) }

func startEnv(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return startBinary(t, shared.binary, env, args...)
}

func startBinary(t testing.TB, binary string, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start())
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("sink %s: the end of its log:\n%s", strings.Join(args, " "), lastLines([]byte(p.log.String()), 40))
		}
	})
	return p
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// terminate sends SIGTERM, to a run that has told of its start: one that has not come so far yet is killed by the signal.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	until(t, waitLong, func() bool { return !p.running() || p.log.String() != "" }, "it starts")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// wait waits for the end and returns the exit code.
func (p *process) wait(t testing.TB, timeout time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(timeout):
		require.Fail(t, "the sink did not end", "%v: %v", timeout, p.cmd.Args)
		return -1
	}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// sink runs the binary to its end and wants exit code 0; it returns stdout.
func sink(t testing.TB, args ...string) string {
	t.Helper()
	p := start(t, args...)
	code := p.wait(t, waitLong)
	require.Zero(t, code, "sink %s: exit code %d\n%s%s", strings.Join(args, " "), code, p.out.String(), lastLines([]byte(p.log.String()), 40))
	return p.out.String()
}

// refused runs the binary to its end, wants another exit code than 0 and returns it with what was said.
func refused(t testing.TB, env []string, args ...string) (code int, said string) {
	t.Helper()
	p := startEnv(t, env, args...)
	code = p.wait(t, 90*time.Second)
	said = p.log.String()
	require.NotZero(t, code, "sink %s went well:\n%s", strings.Join(args, " "), said)
	require.NotContains(t, said, "panic:", "a panic is no message")
	require.NotContains(t, said, secretKey, "a secret was printed")
	return code, said
}

// catchUp runs the sink until all that is on the topics now is in snapshots.
func catchUp(t testing.TB, c config) string {
	t.Helper()
	path := c.write(t)
	sink(t, "run", "-c", path, "--until-end")
	return path
}

// says checks that a message names all that it must.
func says(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		require.Contains(t, strings.ToLower(text), strings.ToLower(part), "the message must name %q", part)
	}
}

// table is a mapping of one topic.
func table(topic any, name string, more ...config) config {
	c := config{"topic": topic, "table": name}
	for _, m := range more {
		c = c.with(m)
	}
	return c
}

// until polls a condition; the message says what was awaited.
func until(t testing.TB, timeout time.Duration, ok func() bool, format string, args ...any) {
	t.Helper()
	require.Eventually(t, ok, timeout, 200*time.Millisecond, fmt.Sprintf(format, args...))
}
