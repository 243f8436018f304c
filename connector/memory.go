package connector

import (
	"runtime"
	"sync"

	"sink/flush"
)

// Of Config.Memory, the answer of a broker that waits to be handed over has its share, and so have files in the making. The
// rest is for records and rows. minEncoding is what files of wide rows need however little memory there is, so that it
// comes on top.
const (
	fetchShare    = 16
	encodingShare = 8
	minEncoding   = 32 << 20
)

// writersAtOnce is how many tables of the process are opened, made, changed or committed at the same time. Each holds a connection to the
// store, metadata, and what reads and makes them, which the budget does not count: a thousand tables whose checkpoints are due at once wait
// for each other. It is more than keeps the cores busy. Who waits to try again lets others go first.
const writersAtOnce = 32

// encoding is the memory for files in the making, in bytes.
func (c *Config) encoding() int64 { return max(c.Memory/encodingShare, minEncoding) }

// buffers is what is left of the memory for records and rows, in bytes.
func (c *Config) buffers() int64 {
	return c.Memory - min(c.FetchBytes, c.Memory/fetchShare) - (c.encoding() - minEncoding)
}

// newEncoders bounds how many files are made at the same time. They are more than there are cores: most of a small file's time
// goes into waiting for the store to take it; docs/performance.md has what was measured.
func newEncoders(c *Config) *flush.Encoders {
	n := c.Encoders
	if n <= 0 {
		n = max(8, 2*runtime.GOMAXPROCS(0))
	}
	return flush.NewEncoders(int64(n), c.encoding())
}

// memory is the one budget of the process: records that wait, rows in buffers and rows on their way to files. Nobody
// waits while holding it; only the poll loop does, so that a full budget stops the intake and nothing else (I8).
type memory struct {
	limit int64 // bytes

	mu      sync.Mutex
	used    int64         // bytes
	peak    int64         // bytes, the most that was ever used
	changed chan struct{} // closed and replaced whenever used falls
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, changed: make(chan struct{})}
}

// add changes what is used by delta bytes.
func (m *memory) add(delta int64) {
	if delta == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used += delta
	m.peak = max(m.peak, m.used)
	if delta < 0 {
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// over reports whether the budget is full, and gives a channel that is closed when something is given back.
func (m *memory) over() (bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used >= m.limit, m.changed
}

// inUse returns the bytes in use now and at most so far.
func (m *memory) inUse() (used, peak int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.peak
}
