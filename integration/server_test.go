//go:build integration

package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is the HTTP side of a running sink.
type server struct{ address string }

func newServer(t testing.TB) server {
	t.Helper()
	port, err := shared.freePorts(1)
	require.NoError(t, err)
	return server{loopback(port)}
}

// get returns the status code and the text; 0 while nothing listens.
func (s server) get(path string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + s.address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// metric is the sum of a metric's samples with these labels, or -1 if there is none.
func (s server) metric(name string, labels ...string) float64 {
	_, text := s.get("/metrics")
	sum, found := 0.0, false
sample:
	for _, line := range lines(text) {
		rest, ours := strings.CutPrefix(line, name)
		if !ours || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			if !strings.Contains(rest, labels[i]+`="`+labels[i+1]+`"`) {
				continue sample
			}
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err == nil {
			sum, found = sum+value, true
		}
	}
	if !found {
		return -1
	}
	return sum
}

// TestHTTP looks at a running sink as a monitor does.
func TestHTTP(t *testing.T) {
	t.Parallel()
	records := produceFreshTopic(t, 3000)
	topic := records[0].Topic
	l := newLake(t, s3)
	server := newServer(t)
	start(t, "run", "-c", newConfig(l, slug(t), bulkTable("my", topic)).with(config{"http": server.address}).write(t))

	until(t, time.Minute, func() bool { return server.metric("sink_lag_records", "table", "shop.orders", "topic", topic) == 0 }, "no lag is left")
	for _, path := range []string{"/livez", "/readyz"} {
		code, text := server.get(path)
		require.Equal(t, http.StatusOK, code, "%s: %s", path, text)
	}
	kinds := map[string]float64{}
	for _, kind := range []string{"+I", "-U", "+U", "-D"} {
		kinds[kind] = server.metric("sink_rows_total", "table", "shop.orders", "kind", kind)
	}
	require.Equal(t, float64(len(l.table("shop.orders").changes(t))), kinds["+I"]+max(kinds["-U"], 0)+max(kinds["+U"], 0)+max(kinds["-D"], 0), "rows by kind: %v", kinds)
	require.Positive(t, server.metric("sink_snapshot_id", "table", "shop.orders"))
	require.Positive(t, server.metric("sink_memory_limit_bytes"))
	require.Positive(t, server.metric("sink_written_bytes_total", "table", "shop.orders"))

	code, text := server.get("/status")
	require.Equal(t, http.StatusOK, code)
	var status struct {
		Ready  bool `json:"ready"`
		Tables []struct {
			Table    string `json:"table"`
			State    string `json:"state"`
			Snapshot int64  `json:"snapshot"`
			Lag      int64  `json:"lagRecords"`
		} `json:"tables"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &status), "%s", text)
	require.True(t, status.Ready)
	require.Len(t, status.Tables, 1)
	require.Equal(t, "shop.orders", status.Tables[0].Table)
	require.Zero(t, status.Tables[0].Lag)
	require.Equal(t, l.table("shop.orders").latest(t).ID, status.Tables[0].Snapshot)
}
