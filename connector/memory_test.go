package connector

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/table/object"
)

// TestBudgetIsShared: what fetches and files in the making may take beyond a constant is not there for rows.
func TestBudgetIsShared(t *testing.T) {
	for _, c := range []struct{ memory, fetch, buffers, encoding int64 }{
		{16, 2, 15, 32},
		{64, 8, 60, 32},
		{256, 16, 240, 32},
		{256, 4, 252, 32},
		{1024, 16, 1024 - 16 - 96, 128},
	} {
		cfg := Config{Memory: c.memory << 20, FetchBytes: c.fetch << 20}
		require.Equal(t, c.buffers<<20, cfg.buffers(), "%+v", c)
		require.Equal(t, c.encoding<<20, cfg.encoding(), "%+v", c)
	}
}

// ailing is a store that for a time does not take what it is asked to write.
type ailing struct {
	object.Store
	commits bool // only creates of snapshots go wrong
	silent  bool // calls wait until it is well, and are done then

	mu   sync.Mutex
	well chan struct{} // nil while it is well
}

// fall makes it ill, and returns what makes it well.
func (s *ailing) fall() (recover func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	well := make(chan struct{})
	s.well = well
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.well = nil
		close(well)
	}
}

func (s *ailing) ask(ctx context.Context, name string) error {
	s.mu.Lock()
	well := s.well
	s.mu.Unlock()
	switch {
	case well == nil, s.commits && !strings.HasPrefix(path.Base(name), "snapshot-"):
		return nil
	case !s.silent:
		return errors.New("503 slow down")
	}
	select {
	case <-well:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *ailing) Create(ctx context.Context, name string, b []byte) error {
	if err := s.ask(ctx, name); err != nil {
		return err
	}
	return s.Store.Create(ctx, name, b)
}

func (s *ailing) Put(ctx context.Context, name string, b []byte) error {
	if err := s.ask(ctx, name); err != nil {
		return err
	}
	return s.Store.Put(ctx, name, b)
}

func (s *ailing) Writer(ctx context.Context, name string) (object.Writer, error) {
	if err := s.ask(ctx, name); err != nil {
		return nil, err
	}
	return s.Store.Writer(ctx, name)
}

// TestMemoryWhileStoreAils: for minutes, as long as a checkpoint is tried, the store refuses commits, refuses everything, or does not answer,
// while far more rows come than there is memory for. The budget holds, fetching pauses and goes on, and every record is in the table once.
func TestMemoryWhileStoreAils(t *testing.T) {
	for _, c := range []struct {
		name            string
		commits, silent bool
		ill             time.Duration
	}{
		{"refuses commits", true, false, 9 * time.Minute},
		{"refuses all", false, false, 9 * time.Minute},
		{"answers no commit", true, true, 5 * time.Minute},
		{"is silent", false, true, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, mem := newStage(t, 1, crateTopic), object.NewMem()
				memoryHolds(t, s, &ailing{Store: mem, commits: c.commits, silent: c.silent}, c.ill)
			})
		})
	}
}

func memoryHolds(t *testing.T, s *stage, store *ailing, ill time.Duration) {
	const (
		budget, answer, wide = 1 << 20, 16 << 10, 5_000 // bytes: of all, of an answer of the broker, of a row
		rounds               = 20
	)
	cfg := s.quickly(store)
	cfg.UntilEnd, cfg.Memory, cfg.FetchBytes, cfg.Checkpoint.Records = false, budget, answer, 20
	cfg.Kafka = append(cfg.Kafka, kgo.FetchMaxBytes(answer), kgo.FetchMaxPartitionBytes(answer))
	cfg.Tables[0].Options["write-only"] = "true" // what compaction takes for a moment is not the matter here
	label := strings.Repeat("fig ", wide/4)
	ids := int64(0)
	come := func() {
		for range 32 {
			s.emit(crateTopic, event{key: keyOf(ids), value: envelope("c", nil, row(ids, label, 1), ids)})
			ids++
		}
		time.Sleep(ill / rounds)
	}
	p := s.start(cfg)
	come()
	before := p.c.Stats()
	require.Positive(t, before.Tables[0].Commits)

	recover, paused := store.fall(), false
	for range rounds {
		come()
		now := p.c.Stats()
		paused = paused || now.Paused
		require.LessOrEqual(t, now.Tables[0].Commits, before.Tables[0].Commits+1) // one may have been under way
	}
	stats := p.c.Stats()
	require.Greater(t, stats.Pauses, before.Pauses)
	if !store.commits { // otherwise rows go to files, and the memory they give back takes more
		require.True(t, paused)
		require.Less(t, stats.Tables[0].Records, ids, "all was read, and nothing could be written")
	}
	if !store.silent {
		require.Positive(t, stats.Tables[0].Retries+stats.Tables[0].Fenced, "nothing was tried again")
	}
	recover()
	time.Sleep(2 * time.Minute)
	stats = p.c.Stats()
	require.False(t, stats.Paused)
	require.Equal(t, Running, stats.Tables[0].State, stats.Tables[0].Problem)
	come() // in the same life
	require.NoError(t, p.end())
	require.Less(t, p.c.Stats().MemoryPeak, int64(2*budget), "of %d bytes that came", ids*wide) // with what was read ahead of its turn
	_, changes := changesOf(t, store.Store, "orchard.crate")
	require.Len(t, changes, int(ids), "every record once")
	require.Len(t, rowsOf(t, store.Store, "orchard.crate"), int(ids))
}

// counting is a store that tells how many creates were under way at the same time.
type counting struct {
	object.Store
	now, most atomic.Int64
}

func (s *counting) Create(ctx context.Context, name string, b []byte) error {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	time.Sleep(time.Second)
	return s.Store.Create(ctx, name, b)
}

// TestTablesTakeTurns: many tables whose checkpoints are due at once, and that are all to be made first, do not come at the store all at once.
func TestTablesTakeTurns(t *testing.T) {
	onStage(t, func(t *testing.T) {
		const tables = 3 * writersAtOnce
		s, mem := newStage(t, 1, "all"), object.NewMem()
		store := &counting{Store: mem}
		cfg := s.config(store, sharedTopic())
		cfg.Tables[0].Options["write-only"] = "true"
		for id := range int64(tables) {
			s.emit("all", event{key: keyOf(id), value: of("orchard", fmt.Sprintf("crate%d", id), envelope("c", nil, row(id, "x", 1), id))})
		}
		p := s.start(cfg)
		<-p.ended
		require.NoError(t, p.err)
		require.Len(t, tablesIn(t, mem), tables)
		require.LessOrEqual(t, store.most.Load(), int64(writersAtOnce))
		require.Greater(t, store.most.Load(), int64(1))
		for _, table := range p.c.Stats().Tables {
			require.True(t, table.Routes || table.Commits == 1, table.Table)
		}
	})
}

// TestHeadersAreMemory: the headers of records that wait count like their keys and values.
func TestHeadersAreMemory(t *testing.T) {
	c := newConnector(t.Context(), Config{Memory: 64 << 20})
	w := newWorker(c, &Table{}, "orchard.crate", "orchard.db/crate")
	rec := &kgo.Record{Key: make([]byte, 10), Value: make([]byte, 100), Headers: headers("trace", strings.Repeat("x", 1<<20), "", "")}
	w.enqueue(run{records: []*kgo.Record{rec, rec}})
	used, _ := c.memory.inUse()
	require.EqualValues(t, 2*(10+100+recordOverhead+5+(1<<20)+2*headerOverhead), used)
	queued, _ := c.queued.inUse()
	require.Equal(t, used, queued)
	w.letGo(&w.queue[0])
	used, _ = c.memory.inUse()
	require.Zero(t, used)
}
