package connector

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"sink/debezium"
	"sink/table/object"
)

const crateAvro = `{"type":"record","name":"Envelope","namespace":"a","fields":[
	{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"long"},{"name":"label","type":["null","string"]},{"name":"weight","type":["null","int"]}]}]},
	{"name":"after","type":["null","Value"]},{"name":"op","type":"string"}]}`

// avroCrate is the create event of a row with a one-digit weight, of schema id 1.
func avroCrate(id int64, label string, weight byte) string {
	b := binary.AppendVarint([]byte{0, 0, 0, 0, 1, 0, 2}, id)
	b = append(binary.AppendVarint(append(b, 2), int64(len(label))), label...)
	return string(append(b, 2, 2*weight, 2, 'c'))
}

// heard is a log in which lines are waited for.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
	hits map[string]chan struct{} // closed when a line has the text
}

func (h *heard) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for text, hit := range h.hits {
		if strings.Contains(string(line), text) {
			close(hit)
			delete(h.hits, text)
		}
	}
	return h.text.Write(line)
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

const waitsForRegistry = "waiting for the schema registry"

// TestStopWhileRegistryIsAway: a process whose registry does not answer says so, shows it, and stops at once when it is told to. What came
// before the record is committed, and the record is read when the registry is back.
func TestStopWhileRegistryIsAway(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"down": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "down for now", http.StatusServiceUnavailable)
		},
		"wrong path": func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) },
		"silent":     func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var back atomic.Bool
			asked := make(chan struct{}, 1000)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if !back.Load() {
					asked <- struct{}{}
					answer(w, req)
					return
				}
				_ = json.NewEncoder(w).Encode(map[string]string{"schema": crateAvro})
			}))
			defer server.Close()
			registry, err := debezium.NewRegistry(debezium.RegistryConfig{URL: server.URL})
			require.NoError(t, err)
			defer registry.Close()

			b, store := newBroker(t, 1, crateTopic), object.NewMem()
			b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
			b.send(crateTopic, 0, keyOf(2), avroCrate(2, "oat", 4))
			b.send(crateTopic, 0, keyOf(3), avroCrate(3, "rye", 5))
			crates := crateTable()
			crates.OnError, crates.Decoding = Skip, debezium.Config{Registry: registry}
			cfg := b.config(store, crates)
			cfg.UntilEnd, cfg.StopWithin = false, 5*time.Minute
			log := &heard{hits: map[string]chan struct{}{waitsForRegistry: make(chan struct{})}}
			told := log.hits[waitsForRegistry]
			cfg.Log = zerolog.New(log)
			c, err := New(cfg)
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error)
			go func() { ended <- c.Run(ctx) }()
			<-asked
			if name != "silent" {
				<-told
				stats := c.Stats().Tables[0]
				require.Equal(t, Degraded, stats.State)
				require.Contains(t, stats.Problem, "schema registry "+server.URL)
				require.Contains(t, log.all(), `"offset":1`)
			}
			stop()
			require.NoError(t, <-ended)
			require.NotContains(t, log.all(), "leave group")
			require.NotContains(t, log.all(), "ended before the last checkpoint")
			require.Equal(t, []string{`{"id":1,"label":"fig","weight":3}`}, rowsOf(t, store, "orchard.crate"))
			require.EqualValues(t, 1, b.group("ucase", crateTopic, 0))

			back.Store(true)
			cfg.UntilEnd = true
			stats, err := runConnector(t, cfg)
			require.NoError(t, err)
			require.Equal(t, Running, stats.Tables[0].State)
			require.EqualValues(t, 2, stats.Tables[0].Rows["+I"])
			require.Empty(t, stats.Tables[0].Skipped, "no record is bad for the registry's sake")
		})
	}
}

// TestRegistryComesBack: a table goes on by itself, without a record twice.
func TestRegistryComesBack(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 3 {
			http.Error(w, "down for now", http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": crateAvro})
	}))
	defer server.Close()
	registry, err := debezium.NewRegistry(debezium.RegistryConfig{URL: server.URL})
	require.NoError(t, err)
	defer registry.Close()
	b, store := newBroker(t, 2, crateTopic), object.NewMem()
	for id := range int64(20) {
		b.send(crateTopic, int32(id%2), keyOf(id), avroCrate(id, "oat", 4))
	}
	crates := crateTable()
	crates.Decoding = debezium.Config{Registry: registry}
	cfg := b.config(store, crates)
	log := &heard{}
	cfg.Log = zerolog.New(log)
	stats, err := runConnector(t, cfg)
	require.NoError(t, err)
	require.EqualValues(t, 20, stats.Tables[0].Rows["+I"])
	require.Len(t, rowsOf(t, store, "orchard.crate"), 20)
	require.Equal(t, Running, stats.Tables[0].State)
	require.Contains(t, log.all(), waitsForRegistry)
	require.Contains(t, log.all(), "the schema registry has answered")
}

// TestRegistryIsToldNowAndThen: an outage is told at once, then every ten seconds.
func TestRegistryIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &heard{}
		c := newConnector(t.Context(), Config{Memory: 1 << 20, Log: zerolog.New(log)})
		defer c.endLife(nil)
		cfg := crateTable()
		w := newWorker(c, &cfg, cfg.Name, "")
		tell := w.tellRegistry(time.Now())
		for range 60 {
			tell(errors.New("away"), time.Second)
			time.Sleep(time.Second)
		}
		require.Equal(t, 6, strings.Count(log.all(), waitsForRegistry))
	})
}
