package connector

import "sync"

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
