//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/errgroup"
)

const (
	accessKey = "testkey"
	secretKey = "testsecret"
	bucket    = "lake"
	// startTimeout covers a cold cache: MinIO is built from its source.
	startTimeout = 20 * time.Minute
)

// stack is what all tests share: one broker, one S3 server, the judges and the binary.
type stack struct {
	dir    string // everything the services write
	guard  io.WriteCloser
	wait   func() error
	binary string
	tls    authority

	kafka     string // PLAINTEXT, host:port
	kafkaSASL string // SASL_SSL
	kafkaTLS  string // SSL with client certificates
	admin     *kadm.Client

	s3     string // host:port
	bucket *minio.Client

	java   *judge
	python *judge

	mu    sync.Mutex
	ports map[int]bool
}

var shared *stack

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	s, err := newStack()
	if err == nil {
		shared = s
		err = s.start()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration: start the services:", err)
	} else {
		code = m.Run()
	}
	if s != nil {
		s.stop()
	}
	return code
}

func newStack() (*stack, error) {
	dir, err := os.MkdirTemp("", "sink-integration-")
	if err != nil {
		return nil, err
	}
	s := &stack{dir: dir, ports: map[int]bool{}}
	guard := exec.Command("services/guard.sh")
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	guard.Stderr = os.Stderr
	if s.guard, err = guard.StdinPipe(); err != nil {
		return nil, err
	}
	s.wait = guard.Wait
	return s, guard.Start()
}

func (s *stack) start() error {
	var err error
	if s.tls, err = newAuthority(filepath.Join(s.dir, "tls")); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return s.startKafka(ctx) })
	all.Go(func() error { return s.startS3(ctx) })
	all.Go(func() (err error) { s.binary, err = buildSink(ctx, s.dir); return err })
	all.Go(func() (err error) { s.java, err = startJava(ctx); return err })
	all.Go(func() (err error) { s.python, err = startPython(ctx); return err })
	return all.Wait()
}

func (s *stack) stop() {
	if s.admin != nil {
		s.admin.Close()
	}
	for _, j := range []*judge{s.java, s.python} {
		if j != nil {
			j.close()
		}
	}
	s.guard.Close()
	if err := s.wait(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: stop the services:", err)
	}
	if os.Getenv("SINK_KEEP") == "" {
		os.RemoveAll(s.dir)
	} else {
		fmt.Fprintln(os.Stderr, "integration: kept", s.dir)
	}
}

// service starts script on a port that is free, with the ports above it that it also takes, and returns the port. It is
// stopped when the tests end.
func (s *stack) service(ctx context.Context, script, name string, ports int, env ...string) (int, error) {
	dir := filepath.Join(s.dir, name)
	port, err := s.freePorts(ports)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintln(s.guard, dir); err != nil {
		return 0, fmt.Errorf("tell the guard: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join("services", script), "start", dir, strconv.Itoa(port))
	cmd.Env = append(os.Environ(), env...)
	// A file, not a pipe: the service inherits it, and waiting for a pipe would wait for the service.
	out, err := os.Create(filepath.Join(s.dir, name+".out"))
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return 0, fmt.Errorf("%s: %w\n%s", script, err, text)
	}
	return port, nil
}

// freePorts finds n ports in a row, below the range from which the kernel takes those of outgoing connections.
func (s *stack) freePorts(n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 1000 {
		first := 15000 + rand.IntN(15000)
		ok := true
		for port := first; ok && port < first+n; port++ {
			ok = !s.ports[port] && portFree(port)
		}
		if ok {
			for port := first; port < first+n; port++ {
				s.ports[port] = true
			}
			return first, nil
		}
	}
	return 0, fmt.Errorf("found no %d free ports in a row", n)
}

func portFree(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// startKafka starts a broker with a plain and two secured listeners. SINK_KAFKA is one that runs already, as that of
// docker-compose.yml; it has no secured listeners.
func (s *stack) startKafka(ctx context.Context) error {
	if s.kafka = os.Getenv("SINK_KAFKA"); s.kafka != "" {
		return s.connect()
	}
	port, err := s.service(ctx, "kafka.sh", "kafka", 4, "KAFKA_TLS_DIR="+s.tls.dir,
		"KAFKA_USERS=alice:alice-secret bob:bob-secret", "KAFKA_SUPER=alice carol CN=sink")
	if err != nil {
		return err
	}
	s.kafka = loopback(port)
	s.kafkaSASL = loopback(port + 2)
	s.kafkaTLS = loopback(port + 3)
	return s.connect()
}

func (s *stack) connect() error {
	client, err := newClient(s.kafka)
	if err != nil {
		return err
	}
	s.admin = kadm.NewClient(client)
	return nil
}

// startS3 starts an S3 server with an empty bucket. SINK_S3 is one that runs already, with the same keys.
func (s *stack) startS3(ctx context.Context) error {
	if s.s3 = os.Getenv("SINK_S3"); s.s3 == "" {
		port, err := s.service(ctx, "s3.sh", "s3", 1, "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey)
		if err != nil {
			return err
		}
		s.s3 = loopback(port)
	}
	var err error
	s.bucket, err = openBucket(ctx, s.s3)
	return err
}

// openBucket returns a client of a server that has the bucket, which is made if there is none.
func openBucket(ctx context.Context, server string) (*minio.Client, error) {
	client, err := minio.New(server, &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		return nil, err
	}
	err = client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{})
	if minio.ToErrorResponse(err).Code == minio.BucketAlreadyOwnedByYou {
		err = nil
	}
	return client, err
}

// registry starts the schema registry when the first test wants it.
var registry = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	port, err := shared.service(ctx, "registry.sh", "registry", 1)
	return "http://" + loopback(port) + "/apis/ccompat/v7", err
})

// secureS3 starts a second S3 server that speaks HTTPS, with a certificate of our own authority.
var secureS3 = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	port, err := shared.service(ctx, "s3.sh", "s3tls", 1, "S3_TLS_DIR="+shared.tls.dir,
		"AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey)
	return loopback(port), err
})

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// buildSink builds the binary under test; SINK_RACE=1 with the race detector. SINK_BINARY is one that is built already.
func buildSink(ctx context.Context, dir string) (string, error) {
	if binary := os.Getenv("SINK_BINARY"); binary != "" {
		return filepath.Abs(binary)
	}
	binary := filepath.Join(dir, "sink")
	args := []string{"build", "-o", binary}
	if os.Getenv("SINK_RACE") != "" {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "sink/cmd/sink")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the sink: %w\n%s", err, out)
	}
	return binary, nil
}

// lastLines is the end of a long text, for messages.
func lastLines(text []byte, n int) string {
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}

// slug makes a test's name fit for topics, groups and buckets.
func slug(t testing.TB) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, t.Name())
	return strings.TrimPrefix(name, "test")
}

// scanLines reads text line by line; lines may be long.
func scanLines(r io.Reader, use func([]byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	for lines.Scan() {
		if err := use(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
