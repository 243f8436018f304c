package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker is a Kafka broker in this process, with the shop's topics and a configuration that uses them.
type broker struct {
	t       *testing.T
	cluster *kfake.Cluster
	address string
	shop    *shop
	dir     string
}

// newBroker starts a broker. Its folder has the warehouse and, as sink.yaml, a configuration; %s in extra lines is free.
func newBroker(t *testing.T, opts ...kfake.Opt) *broker {
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(2, ordersTopic), kfake.SeedTopics(1, customersTopic),
		kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"})}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	b := &broker{t: t, cluster: c, address: c.ListenAddrs()[0], shop: newShop(), dir: t.TempDir()}
	b.config("")
	return b
}

const shopTables = `tables:
  - {topic: shop.public.orders, table: shop.orders, options: {bucket: 2}}
  - {topic: shop.public.customers, table: shop.customers, options: {bucket: 1}}
`

// config writes sink.yaml: the usual one with lines added; tables replace the usual tables when the lines have some.
func (b *broker) config(lines string) string {
	text := fmt.Sprintf("kafka: {brokers: [%q], group: g}\nwarehouse: file://%s/lake\ncheckpoint: {interval: 200ms}\nlog: {format: json}\n%s\n", b.address, b.dir, lines)
	if !strings.Contains(lines, "tables:") {
		text += shopTables
	}
	file := filepath.Join(b.dir, "sink.yaml")
	require.NoError(b.t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func (b *broker) produce(events int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	require.NoError(b.t, err)
	defer client.Close()
	var records []*kgo.Record
	for range events {
		records = append(records, b.shop.next()...)
	}
	require.NoError(b.t, client.ProduceSync(b.t.Context(), records...).FirstErr())
}

// hide replaces what differs from run to run.
func (b *broker) hide(s string) string {
	s = strings.NewReplacer(b.dir, "$D", b.address, "$B").Replace(s)
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`).ReplaceAllString(s, "$$TIME")
}

// sink runs a command on the broker's configuration.
func (b *broker) sink(stdin string, args ...string) (code int, stdout, stderr string) {
	code, stdout, stderr = runSink(b.t, stdin, append(args, "-c", filepath.Join(b.dir, "sink.yaml"))...)
	return code, b.hide(stdout), b.hide(stderr)
}

// total adds up the orders that the table has.
func (b *broker) total() (orders int, sum cents) {
	code, stdout, stderr := runSink(b.t, "", "read", "shop.orders", "-o", "json", "--columns", "id,amount", "-c", filepath.Join(b.dir, "sink.yaml"))
	require.Zero(b.t, code, stderr)
	for line := range strings.Lines(stdout) {
		var row struct{ Amount string }
		require.NoError(b.t, json.Unmarshal([]byte(line), &row))
		var euros, rest int64
		_, err := fmt.Sscanf(row.Amount, "%d.%d", &euros, &rest)
		require.NoError(b.t, err, row.Amount)
		if strings.HasPrefix(row.Amount, "-") {
			rest = -rest
		}
		orders, sum = orders+1, sum+cents(100*euros+rest)
	}
	return orders, sum
}

func (b *broker) requireTrue() {
	orders, sum := b.total()
	require.Equal(b.t, len(b.shop.orders), orders)
	require.Equal(b.t, b.shop.total(), sum)
}

func TestRunUntilEnd(t *testing.T) {
	b := newBroker(t)
	b.produce(1000)
	code, stdout, stderr := b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	b.requireTrue()
	for line := range strings.Lines(stderr) {
		require.True(t, json.Valid([]byte(line)), "not JSON: %s", line)
	}
	require.Contains(t, stderr, `"message":"started"`)

	b.produce(500) // and again, from where it stopped
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	b.requireTrue()
}

// lines is a log that a test may look at while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a service in this process.
type running struct {
	t    *testing.T
	log  lines
	url  string
	stop context.CancelFunc
	done chan int // its exit code
}

// start runs the service with lines added to its configuration, until it is stopped.
func (b *broker) start(more string) *running {
	file := b.config("http: 127.0.0.1:0\n" + more)
	ctx, stop := context.WithCancel(b.t.Context())
	b.t.Cleanup(stop)
	r := &running{t: b.t, stop: stop, done: make(chan int, 1)}
	go func() { r.done <- Run(ctx, []string{"run", "-c", file}, strings.NewReader(""), io.Discard, &r.log) }()
	found := regexp.MustCompile(`"address":"(127.0.0.1:\d+)"`)
	require.Eventually(b.t, func() bool { return found.MatchString(r.log.String()) }, 20*time.Second, 20*time.Millisecond, "no address in the log")
	r.url = "http://" + found.FindStringSubmatch(r.log.String())[1]
	return r
}

// fetch gets a page of the service.
func (r *running) fetch(path string) (int, string) {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	require.NoError(r.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode, string(body)
}

func TestRunService(t *testing.T) {
	b := newBroker(t)
	b.produce(600)
	r := b.start("")
	fetch := r.fetch
	code, _ := fetch("/livez")
	require.Equal(t, 200, code)
	require.Eventually(t, func() bool { code, _ := fetch("/readyz"); return code == 200 }, 20*time.Second, 20*time.Millisecond, "not ready")
	require.Eventually(t, func() bool {
		var s status
		_, body := fetch("/status")
		require.NoError(t, json.Unmarshal([]byte(body), &s))
		for _, table := range s.Tables {
			if table.LagRecords != 0 || table.Snapshot == 0 {
				return false
			}
		}
		return len(s.Tables) == 2
	}, 20*time.Second, 50*time.Millisecond, "the tables do not catch up")
	_, metrics := fetch("/metrics")
	require.Regexp(t, `sink_rows_total\{kind="\+I",table="shop.orders"\} [1-9]`, metrics)
	require.Regexp(t, `sink_lag_records\{partition="0",table="shop.orders",topic="shop.public.orders"\} 0`, metrics)

	b.produce(300) // what is read but not committed when the stop comes is committed by it
	r.stop()
	require.Zero(t, <-r.done, r.log.String())
	require.Regexp(t, `"shutdown_timeout":"30s",.*"message":"stopping after a last checkpoint; a second signal ends it at once"\}\n(?s:.*)"message":"stopped"`, r.log.String())
	http.DefaultClient.CloseIdleConnections()
	code2, _, stderr := b.sink("", "run", "--until-end")
	require.Zero(t, code2, stderr)
	b.requireTrue()
}

func TestRunCannotStart(t *testing.T) {
	b := newBroker(t)
	for _, c := range []struct {
		name, lines string
		code        int
		want        []string
	}{
		{"unknown key", "strat: earliest", 2, []string{"sink.yaml:5:1: strat: unknown key"}},
		{"bad type", "tables: [{topic: t, table: a.b, columns: {a: INTT}}]", 2, []string{"sink.yaml:5:43: tables[0].columns.a: ", "INTT"}},
		{"template", "tables: [{topic: a.b, table: 'x.${1}'}]", 2, []string{"tables[0].table: ${1} names a group that the expression does not have"}},
		{"no topic", "tables: [{topic: shop.public.nothing, table: a.b}]", 1, []string{"topic shop.public.nothing", "is not there"}},
		{"port", "http: 203.0.113.1:80", 1, []string{"http: listen tcp 203.0.113.1:80", "set `http:` to a free address"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.config(c.lines)
			code, stdout, stderr := b.sink("", "run")
			require.Equal(t, c.code, code, stderr)
			require.Empty(t, stdout)
			for _, want := range c.want {
				require.Contains(t, stderr, want)
			}
			require.NotContains(t, stderr, "Usage:")
			for line := range strings.Lines(stderr) { // with log.format json
				require.Equal(t, c.code == 1, json.Valid([]byte(line)), line)
			}
		})
	}
}

// TestRunIsRefused ends when the brokers refuse what no waiting brings, also where it watches for the end of the topics.
func TestRunIsRefused(t *testing.T) {
	b := newBroker(t)
	b.produce(100)
	b.cluster.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
		resp.Version, resp.ErrorCode = req.GetVersion(), kerr.GroupAuthorizationFailed.Code
		return resp, nil, true
	})
	b.config("")
	for _, args := range [][]string{{"run"}, {"run", "--until-end"}} {
		code, _, stderr := b.sink("", args...)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, "kafka: no right to use the group: ")
		require.Contains(t, stderr, "grant READ on the group to this user")
	}
}

func TestCheck(t *testing.T) {
	b := newBroker(t)
	require.NoError(t, b.cluster.CreateTopic("compacted", 1, map[string]string{"cleanup.policy": "compact"}))
	require.NoError(t, b.cluster.CreateTopic("empty", 3, nil))
	var out strings.Builder
	check := func(title, lines string, args ...string) int {
		b.config(lines)
		code, stdout, stderr := b.sink("", append([]string{"check"}, args...)...)
		fmt.Fprintf(&out, "# %s: exit %d\n%s%s\n", title, code, stdout, stderr)
		return code
	}
	b.produce(400)
	require.Zero(t, check("new tables", ""))
	require.Zero(t, check("a pattern", "tables: [{topics: 'shop\\.public\\.(.*)', table: 'copy.${1}'}, {topics: 'later.*', table: x.y}]", "-o", "json"))
	require.Equal(t, 1, check("missing and compacted topics", "tables: [{topic: [nothing, empty], table: a.b}, {topic: compacted, table: a.c}]"))
	code, _, stderr := b.sink("", "run", "--until-end")
	require.Equal(t, 1, code, stderr) // the topics of the last check
	b.config("")
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	require.Zero(t, check("tables that are there", ""))
	require.Equal(t, 1, check("another key", "tables: [{topic: shop.public.orders, table: shop.orders, primary-key: [customer_id, id]}]"))
	require.Equal(t, 1, check("a column that does not fit", "tables: [{topic: shop.public.orders, table: shop.orders, columns: {note: INT}}]"))
	golden(t, "testdata/check.txt", out.String())

	b.cluster.Close()
	require.Equal(t, 1, check("no broker", ""))
	require.Contains(t, out.String(), "check kafka.brokers")
}

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	code, stdout, stderr := runSink(t, "", "demo", "--dir", dir, "--events", "3000")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	for _, want := range []string{"shop's own books", "They agree", "pypaimon", "CREATE CATALOG", "-U", "snapshot"} {
		require.Contains(t, stdout, want)
	}
	code, stdout, _ = runSink(t, "", "read", "shop.customers", "--warehouse", "file://"+dir, "-o", "csv")
	require.Zero(t, code)
	require.Equal(t, shopCustomers+1, strings.Count(stdout, "\n"))

	// Once more in the same folder: it is the demo's own. Then in one that is not.
	code, _, stderr = runSink(t, "", "demo", "--dir", dir, "--events", "400")
	require.Zero(t, code, stderr)
	require.NoError(t, os.Remove(filepath.Join(dir, demoMark)))
	code, _, stderr = runSink(t, "", "demo", "--dir", dir)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "choose another folder with --dir")
	code, _, _ = runSink(t, "", "demo", "--events", "5")
	require.Equal(t, 2, code)
}

func TestDemoKeepsRunning(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errs lines
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"demo", "--keep-running", "--events", "400", "--dir", t.TempDir()}, strings.NewReader(""), &out, &errs)
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "snapshot 2") }, 30*time.Second, 50*time.Millisecond, "no second snapshot")
	require.Contains(t, out.String(), "/status; Ctrl-C stops")
	stop()
	require.Zero(t, <-done, errs.String())
	require.Contains(t, out.String(), "They agree")
}
