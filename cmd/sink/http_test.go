package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/connector"
)

// testStats are counters of three tables in the three states.
func testStats() connector.Stats {
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	return connector.Stats{
		MemoryLimit: 256 << 20, MemoryUsed: 1 << 20, MemoryPeak: 2 << 20, Pauses: 3, Paused: true, Rebalances: 2, Assigned: 4, BrokersReady: true,
		Tables: []connector.TableStats{
			{
				Table: "shop.orders", State: connector.Running, Records: 1234567,
				Rows: map[string]int64{"+I": 10, "-U": 5, "+U": 5, "-D": 2}, Skipped: map[string]int64{"tombstone": 2},
				Commits: 7, Attempts: 9, Files: 28, Bytes: 123456, Buffered: 4096, Snapshot: 7, Committed: at.Add(-5 * time.Second),
				EventTime: at.Add(-30 * time.Second),
				Upkeep: connector.Upkeep{
					Leads: true, Waiting: true, Runs: 9, LiveFiles: 24, LiveBytes: 99999, Compactions: 3, ReadBytes: 500, WrittenBytes: 400,
					Took: 1500 * time.Millisecond, Failures: 1, Snapshots: 12, Orphans: 2, Compacted: at.Add(-2 * time.Second), Expired: at.Add(-40 * time.Second),
				},
				Positions: map[string]connector.Lag{
					"orders/10": {Topic: "orders", Partition: 10, Committed: 5, Position: 5, End: -1},
					"orders/2":  {Topic: "orders", Partition: 2, Committed: 100, Position: 110, End: 150},
				},
			},
			{Table: "shop.new", State: connector.Degraded, Problem: "checkpoint: store is slow", Retries: 4},
			{Table: "shop.again", State: connector.Waiting, Problem: "checkpoint: no such bucket", Failures: 3, Again: at.Add(20 * time.Second)},
			{Table: "shop.<bad>", State: connector.Stopped, Problem: "topic orders partition 0 offset 5: column weight: \"heavy\" is no INT", Fenced: 1, DeadLetters: 1, MissingBefore: 1, Spills: 1},
		},
	}
}

func get(t *testing.T, s connector.Stats, path, accept string) (int, string) {
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	w := &web{stats: func() connector.Stats { return s }, now: func() time.Time { return at }, started: at.Add(-time.Minute)}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	rec := httptest.NewRecorder()
	w.handler().ServeHTTP(rec, r)
	body, err := io.ReadAll(rec.Body)
	require.NoError(t, err)
	return rec.Code, string(body)
}

func TestHealth(t *testing.T) {
	code, body := get(t, connector.Stats{}, "/livez", "")
	require.Equal(t, 200, code)
	require.Equal(t, "ok\n", body)

	code, body = get(t, connector.Stats{}, "/readyz", "")
	require.Equal(t, 503, code)
	require.Contains(t, body, "not been joined")

	s := testStats()
	code, body = get(t, s, "/readyz", "")
	require.Equal(t, 503, code)
	require.Contains(t, body, "table shop.<bad> is stopped: topic orders partition 0 offset 5")

	s.Tables = s.Tables[:3]
	code, body = get(t, s, "/readyz", "")
	require.Equal(t, 503, code)
	require.Contains(t, body, "table shop.again is waiting: checkpoint: no such bucket")

	s.Tables = s.Tables[:2]
	code, body = get(t, s, "/readyz", "")
	require.Equal(t, 200, code)
	require.Contains(t, body, "table shop.new is degraded")

	s.Tables = s.Tables[:1]
	code, body = get(t, s, "/readyz", "")
	require.Equal(t, 200, code)
	require.Equal(t, "ok\n", body)

	code, _ = get(t, s, "/nothing", "")
	require.Equal(t, 404, code)
	code, _ = get(t, s, "/", "")
	require.Equal(t, 302, code)
}

func TestMetrics(t *testing.T) {
	_, body := get(t, testStats(), "/metrics", "")
	var ours []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "sink_") {
			ours = append(ours, line)
		}
	}
	slices.Sort(ours)
	golden(t, "testdata/metrics.txt", regexp.MustCompile(`version="[^"]*"`).ReplaceAllString(strings.Join(ours, ""), `version="X"`))
	require.Contains(t, body, "go_goroutines")
	require.Contains(t, body, "process_cpu_seconds_total")

	_, body = get(t, connector.Stats{}, "/metrics", "")
	require.Contains(t, body, "sink_group_joined 0")
}

func TestStatus(t *testing.T) {
	version = "1.2.3"
	defer func() { version = "" }()
	code, body := get(t, testStats(), "/status", "*/*")
	require.Equal(t, 200, code)
	golden(t, "testdata/status.json", body)

	code, body = get(t, testStats(), "/status", "text/html,*/*")
	require.Equal(t, 200, code)
	require.Contains(t, body, "shop.&lt;bad&gt;")
	require.Contains(t, body, "1,234,567")
	require.NotContains(t, body, "ZgotmplZ")
	require.True(t, strings.HasSuffix(strings.TrimSpace(body), "</html>"), "the page was cut short: %s", body)
}

func TestHuman(t *testing.T) {
	require.Equal(t, "5 B", humanBytes(5))
	require.Equal(t, "1.5 KiB", humanBytes(1536))
	require.Equal(t, "2.0 GiB", humanBytes(2<<30))
	require.Equal(t, "0", humanCount(0))
	require.Equal(t, "999", humanCount(999))
	require.Equal(t, "1,000", humanCount(1000))
	require.Equal(t, "-12,345,678", humanCount(-12345678))
}

// golden compares a text with a file; -rewrite writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestProfiles: they are served only when asked for.
func TestProfiles(t *testing.T) {
	for _, asked := range []bool{false, true} {
		w := &web{stats: testStats, now: time.Now, profiles: asked}
		rec := httptest.NewRecorder()
		w.handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/heap", nil))
		require.Equal(t, asked, rec.Code == http.StatusOK)
	}
}
