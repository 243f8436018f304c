//go:build integration

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// judge is a long-lived reader that is not ours: one request a line, one answer a line (verify/README.md).
type judge struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan answer
}

type answer struct {
	ID  int64  `json:"id"`
	RC  int    `json:"rc"`
	Out string `json:"out"`
	Err string `json:"err"`
}

// questionTimeout is more than the largest table of the tests needs.
const questionTimeout = 5 * time.Minute

func startJava(ctx context.Context) (*judge, error) {
	jar, err := verifier(ctx, "java")
	if err != nil {
		return nil, err
	}
	return startJudge("paimon-verify", "java", "-Xmx2g", "-XX:+UseSerialGC", "-jar", jar, "serve", "--threads", "2")
}

func startPython(ctx context.Context) (*judge, error) {
	python, err := verifier(ctx, "python")
	if err != nil {
		return nil, err
	}
	return startJudge("readers.py", python, "verify/python/readers.py", "serve")
}

// verifier builds a judge, unless it is in the cache, and returns its path.
func verifier(ctx context.Context, which string) (string, error) {
	cmd := exec.CommandContext(ctx, "verify/build.sh", which)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", which, err, log.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func startJudge(name, program string, args ...string) (*judge, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	// It ends with its input, and with this process even if that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	j := &judge{name: name, cmd: cmd, in: in, waiting: map[int64]chan answer{}}
	go j.listen(out)
	return j, nil
}

func (j *judge) listen(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		var a answer
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		j.mu.Lock()
		if err != nil {
			for _, c := range j.waiting {
				c <- answer{RC: -1, Err: j.name + " ended: " + err.Error()}
			}
			j.waiting = nil
			j.mu.Unlock()
			return
		}
		c := j.waiting[a.ID]
		delete(j.waiting, a.ID)
		j.mu.Unlock()
		if c != nil {
			c <- a
		}
	}
}

func (j *judge) ask(words ...string) (answer, error) {
	c := make(chan answer, 1)
	j.mu.Lock()
	if j.waiting == nil {
		j.mu.Unlock()
		return answer{}, errors.New(j.name + " is gone")
	}
	j.next++
	id := j.next
	j.waiting[id] = c
	line, err := json.Marshal(map[string]any{"id": id, "words": words})
	if err == nil {
		_, err = j.in.Write(append(line, '\n'))
	}
	j.mu.Unlock()
	if err != nil {
		return answer{}, fmt.Errorf("ask %s: %w", j.name, err)
	}
	select {
	case a := <-c:
		return a, nil
	case <-time.After(questionTimeout):
		return answer{}, fmt.Errorf("%s has not answered %v in %v", j.name, words, questionTimeout)
	}
}

// must asks and wants exit code 0.
func (j *judge) must(t testing.TB, words ...string) string {
	t.Helper()
	a, err := j.ask(words...)
	require.NoError(t, err)
	require.Zero(t, a.RC, "%s %s\n%s%s", j.name, strings.Join(words, " "), a.Out, a.Err)
	return a.Out
}

func (j *judge) close() {
	j.in.Close()
	done := make(chan struct{})
	go func() { j.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		j.cmd.Process.Kill()
		<-done
	}
}
