//go:build synctests

package simulation

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/connector"
)

// met counts what the runs of a test have met, so that none of it can get lost unnoticed.
type met struct {
	mu     sync.Mutex
	counts map[string]int
}

// all is what a hundred seeds meet.
var all = []string{
	"hot keys", "key changes", "deletes and inserts again", "aborted transactions", "poison", "poison with a place", "poison again", "truncations", "truncations again", "repeats", "schema changes",
	"kills", "pauses", "cuts", "storms", "coordinators moved", "partitions moved", "broker errors",
	"new partitions", "rescales", "foreign rows", "foreign schema changes", "foreign compactions", "foreign expiries", "compactions", "expiries", "fences", "retries", "failures", "spills",
	"lookup changes", "full-compaction changes",
}

func (m *met) add(what string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what] += n
}

func (m *met) check(t *testing.T) {
	t.Logf("met: %v", m.counts)
	seen := slices.Sorted(maps.Keys(maps.Collect(func(yield func(string, bool) bool) {
		for what, n := range m.counts {
			if n > 0 && !yield(what, true) {
				return
			}
		}
	})))
	require.Equal(t, slices.Sorted(slices.Values(all)), seen)
}

// tell counts what a run has met that its steps do not say.
func (w *world) tell(m *met) {
	changes := map[int64]int{}
	for _, s := range w.source.log {
		switch s.op {
		case 'x':
			m.add("poison", 1)
		case 'y':
			m.add("poison with a place", 1)
		case 'd':
			changes[s.before.id] = -1
		case 'c', 'r':
			if changes[s.after.id] < 0 {
				m.add("deletes and inserts again", 1)
			}
		case 'u':
			if s.before.id != s.after.id {
				m.add("key changes", 1)
			}
			if changes[s.after.id]++; changes[s.after.id] == 5 {
				m.add("hot keys", 1)
			}
		}
		if s.again {
			m.add("repeats", 1)
		}
		if s.again && s.op == 'e' {
			m.add("truncations again", 1)
		}
		if s.again && s.op == 'y' {
			m.add("poison again", 1)
		}
	}
	for _, f := range w.source.feeds {
		if f.wide {
			m.add("schema changes", 1)
		}
	}
	m.add("aborted transactions", w.source.aborted)
	for _, i := range w.instances {
		for _, t := range i.connector.Stats().Tables {
			m.count(&t)
		}
	}
}

func (m *met) count(t *connector.TableStats) {
	m.add("fences", int(t.Fenced))
	m.add("retries", int(t.Retries))
	m.add("failures", int(t.Failures))
	m.add("spills", int(t.Spills))
}
