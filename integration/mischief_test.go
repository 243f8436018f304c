//go:build integration

package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// trick is what a proxy does to one request and its answer.
type trick string

// The tricks. What "effect" says is what becomes of the request at the server.
const (
	honest      trick = ""
	cutBefore   trick = "cut before the request" // no effect
	cutWithin   trick = "cut within the request" // no effect: it never became whole
	cutUnheard  trick = "cut before the answer"  // effect, and the client cannot know
	cutAnswer   trick = "cut within the answer"  // effect
	delayed     trick = "delayed"                // effect, late
	unavailable trick = "503"                    // no effect
	lying       trick = "503 after the effect"   // effect, and the client is told the contrary
)

var (
	brokerTricks = []trick{cutBefore, cutWithin, cutUnheard, cutAnswer, delayed}
	storeTricks  = []trick{cutBefore, cutWithin, cutUnheard, cutAnswer, delayed, unavailable, lying}
)

// mischief chooses tricks at random, by a seed, for one request in so many. It is calm until begin.
type mischief struct {
	kinds []trick

	mu     sync.Mutex
	random *rand.Rand
	oneIn  int     // 0: calm
	deck   []trick // dealt from until it is empty, so that each kind has its turn
	done   map[trick]int
}

func newMischief(random *rand.Rand, kinds []trick) *mischief {
	return &mischief{kinds: kinds, random: rand.New(rand.NewPCG(random.Uint64(), 0)), done: map[trick]int{}}
}

// begin plays tricks on one request in n from now on.
func (m *mischief) begin(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.oneIn = n
}

// next is what to do to the next request, and how long a delay is, should it be one.
func (m *mischief) next() (trick, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.oneIn == 0 || m.random.IntN(m.oneIn) > 0 {
		return honest, 0
	}
	if len(m.deck) == 0 {
		m.deck = slices.Clone(m.kinds)
		m.random.Shuffle(len(m.deck), func(i, j int) { m.deck[i], m.deck[j] = m.deck[j], m.deck[i] })
	}
	kind := m.deck[0]
	m.deck = m.deck[1:]
	m.done[kind]++
	return kind, time.Duration(m.random.IntN(800)) * time.Millisecond
}

// complete tells that each kind has happened: before that the test proves less than it says.
func (m *mischief) complete() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.done) == len(m.kinds)
}

// String counts what was done.
func (m *mischief) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(m.done)) {
		counts = append(counts, fmt.Sprintf("%s: %d", kind, m.done[kind]))
	}
	return strings.Join(counts, ", ")
}

// hold stops one request at a proxy, before or after it has its effect, until it is released. It is how a test finds a
// process at a certain step.
type hold struct {
	after    bool          // the effect is there, the answer is not
	caught   chan struct{} // closed when the request is held
	released chan struct{}
}

// release lets the request go on its way.
func (h *hold) release() { close(h.released) }

func (h *hold) wait() {
	close(h.caught)
	<-h.released
}

// holds are those of one proxy that have not caught anything yet.
type holds[Request any] struct {
	mu      sync.Mutex
	waiting map[*hold]func(Request) bool
}

// add holds the next request that match accepts. It is released at the end of the test, if it still is held.
func (s *holds[Request]) add(t testing.TB, after bool, match func(Request) bool) *hold {
	t.Helper()
	h := &hold{after: after, caught: make(chan struct{}), released: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[*hold]func(Request) bool{}
	}
	s.waiting[h] = match
	t.Cleanup(func() {
		select {
		case <-h.released:
		default:
			h.release()
		}
	})
	return h
}

// take returns the hold of a request, or nil.
func (s *holds[Request]) take(r Request) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, match := range s.waiting {
		if match(r) {
			delete(s.waiting, h)
			return h
		}
	}
	return nil
}
