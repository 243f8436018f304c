package connector

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"

	"sink/flush"
	"sink/table"
)

// pollRecords bounds one poll, so that a rebalance never waits long for the records in hand.
const pollRecords = 4096

// queueBytes bounds the records that wait for their workers; above it the poll loop pauses. A quarter of the budget, but
// no more than this.
const queueBytes = 32 << 20

// leaveWithin bounds the leaving of a group by a process that owns nothing.
const leaveWithin = 3 * time.Second

// Connector moves records from Kafka to tables. See the package comment.
type Connector struct {
	cfg      Config
	client   *kgo.Client
	admin    *kadm.Client
	memory   *memory
	queued   *memory // the part of memory that is records
	encoders *flush.Encoders
	readers  *semaphore.Weighted // goroutines that read ahead
	writers  *semaphore.Weighted // tables that are opened, changed or committed
	maxAhead int                 // runs of a table that are read ahead, at most
	upkeep   *semaphore.Weighted // one table at a time is compacted or expired
	outbox   *outbox
	offsets  *groupOffsets
	goal     *goal         // nil unless UntilEnd
	ready    chan struct{} // closed when all of the above is set and checked

	life    context.Context // ends when the process must let go of everything
	endLife context.CancelCauseFunc

	mu         sync.Mutex
	workers    map[string]*worker   // by table
	routes     map[string][]*worker // by topic: those that the poll loop feeds
	fed        map[string][]*worker // by topic: the tables of scouts
	scouts     map[*Table]*worker
	assignment map[table.TopicPartition]bool                  // nil until the group has said, and when it has shut this process out
	cursors    map[table.TopicPartition]map[*worker]*listener // by owned partition
	generation int                                            // of dispatches
	polled     map[table.TopicPartition]int64                 // where the next poll goes on, by owned partition
	rewinds    []rewind
	advances   []table.TopicPartition // that may be polled from further on
	wake       context.CancelFunc     // ends the poll under way
	stats      Stats
	running    sync.WaitGroup
}

// New checks the configuration against nothing but itself and makes the Kafka client; it reaches no broker.
func New(cfg Config) (*Connector, error) {
	c := newConnector(context.Background(), cfg)
	client, err := kgo.NewClient(c.clientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	c.client, c.admin, c.outbox = client, kadm.NewClient(client), newOutbox(client, c.memory)
	return c, nil
}

// newConnector makes a connector without a client, which lives no longer than the context.
func newConnector(ctx context.Context, cfg Config) *Connector {
	c := &Connector{
		cfg:      cfg,
		memory:   newMemory(cfg.buffers()),
		queued:   newMemory(min(cfg.Memory/4, queueBytes)),
		encoders: newEncoders(&cfg),
		readers:  semaphore.NewWeighted(readers()),
		maxAhead: 2 * runtime.GOMAXPROCS(0),
		writers:  semaphore.NewWeighted(writersAtOnce),
		upkeep:   semaphore.NewWeighted(1),
		workers:  map[string]*worker{},
		routes:   map[string][]*worker{},
		fed:      map[string][]*worker{},
		scouts:   map[*Table]*worker{},
		cursors:  map[table.TopicPartition]map[*worker]*listener{},
		polled:   map[table.TopicPartition]int64{},
		wake:     func() {},
		ready:    make(chan struct{}),
	}
	c.offsets = newGroupOffsets(c) // before the client, which joins the group at once and calls back when it is refused
	c.life, c.endLife = context.WithCancelCause(ctx)
	return c
}

// Run consumes until the context ends, then checkpoints what it holds, leaves the group and returns nil; a second way out is
// UntilEnd, under which the end of the context before the goal is [ErrInterrupted]. It returns an error when every table has stopped, when a table had stopped at the end, or when the brokers
// cannot be used. It is called once.
func (c *Connector) Run(ctx context.Context) error {
	defer c.close()
	defer c.endLife(nil)
	if err := c.start(ctx); err != nil {
		c.endLife(err)
		c.running.Wait()
		if ctx.Err() != nil { // asked to stop before it began
			return c.interrupted(nil)
		}
		return err
	}
	close(c.ready)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(ctx, c.letGo)()
	c.running.Go(func() { c.offsets.run(c.life) })
	if c.goal != nil {
		c.running.Go(func() { c.goal.watch(ctx, stop) })
	}
	err := c.poll(ctx, stop)
	stop(nil) // poll may have ended for a reason of its own, and others watch the context
	c.shutdown()
	if cause := context.Cause(ctx); errors.Is(cause, errAllStopped) || errors.Is(cause, errReached) {
		return c.problems() // or nothing to tell
	}
	return c.interrupted(errors.Join(err, c.problems()))
}

// interrupted adds to why a run ended that it was to reach an end and has not: a script must not take it for done.
func (c *Connector) interrupted(err error) error {
	if err == nil && c.cfg.UntilEnd {
		return ErrInterrupted
	}
	return err
}

// close ends the client. Closing polls once more, and would keep what leaves the group waiting for an AllowRebalance when that
// poll finds something.
func (c *Connector) close() {
	c.client.Close()
	c.client.AllowRebalance()
}

var errStopTooLong = errors.New("the last checkpoint took longer than shutdown-timeout")

// letGo ends everything when a stop has taken StopWithin. It is called when the stop begins, for the poll loop may be waiting for
// a rebalance, and that for a store.
func (c *Connector) letGo() {
	select {
	case <-time.After(c.cfg.StopWithin):
		c.endLife(errStopTooLong)
	case <-c.life.Done():
	}
}

// poll hands records to workers until the context ends. It is the only goroutine that moves the client's positions.
func (c *Connector) poll(ctx context.Context, stop context.CancelCauseFunc) error {
	for ctx.Err() == nil {
		if !c.pause(ctx) {
			return nil
		}
		if c.allStopped() {
			stop(errAllStopped)
			return nil
		}
		pollCtx, wake := context.WithCancel(ctx)
		c.setWake(wake)
		fetches := c.client.PollRecords(pollCtx, pollRecords)
		wake()
		if fetches.IsClientClosed() {
			return errors.New("kafka client: closed while polling")
		}
		err := c.dispatch(ctx, fetches)
		c.rewind()
		c.client.AllowRebalance()
		if err != nil {
			return err
		}
	}
	return nil
}

// pause waits while the budget or the queue is full, and reports whether to go on. When nothing but buffers fills the
// budget, the fullest is spilled.
func (c *Connector) pause(ctx context.Context) bool {
	counted := false
	defer func() {
		if counted {
			c.update(func(s *Stats) { s.Paused = false })
		}
	}()
	for {
		full, changed := c.queued.over()
		if !full {
			if full, changed = c.memory.over(); full {
				full = c.relieve()
			}
		}
		if !full {
			return ctx.Err() == nil
		}
		if !counted {
			c.update(func(s *Stats) { s.Pauses, s.Paused = s.Pauses+1, true })
			counted = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// relieve asks the worker that buffers most to write early, and reports whether waiting will free anything.
func (c *Connector) relieve() bool {
	var fullest *worker
	queued, _ := c.queued.inUse()
	freeing := queued > 0
	for _, w := range c.allWorkers() {
		freeing = freeing || w.inFlight.Load() > 0
		if fullest == nil || w.buffered.Load() > fullest.buffered.Load() {
			fullest = w
		}
	}
	if fullest != nil && fullest.buffered.Load() > 0 {
		fullest.askSpill()
		return true
	}
	return freeing
}

// dispatch queues the records of a poll for the workers of their tables. It never waits.
func (c *Connector) dispatch(ctx context.Context, fetches kgo.Fetches) error {
	var fatal error
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		tp := table.TopicPartition{Topic: f.Topic, Partition: f.Partition}
		if f.Err != nil && ctx.Err() == nil {
			fatal = errors.Join(fatal, c.fetchFailed(tp, f.Err))
		}
		if len(f.Records) == 0 && f.LastStableOffset <= 0 {
			return
		}
		c.mu.Lock()
		targets := c.cursors[tp]
		var next table.Cursor
		if n := len(f.Records); n > 0 && targets != nil {
			next.Offset, next.Epoch = f.Records[n-1].Offset+1, f.Records[n-1].LeaderEpoch
			c.polled[tp] = next.Offset
		}
		for w, l := range targets {
			if len(f.Records) > 0 && next.Offset <= l.next.Offset {
				continue // it has had all of them, and another table of the topic reads again
			}
			w.enqueue(run{tp: tp, generation: l.generation, records: f.Records, stable: f.LastStableOffset})
			if next.Offset > l.next.Offset {
				l.next = next
			}
		}
		c.mu.Unlock()
	})
	if !fetches.Empty() {
		c.update(func(s *Stats) { s.LastPoll = time.Now() })
	}
	return fatal
}

// fetchFailed tells a transient error from one that only the user can mend.
func (c *Connector) fetchFailed(tp table.TopicPartition, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil // our own wake-up
	}
	if logProblem(tp, 0, err) != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for w, l := range c.cursors[tp] {
			w.askStop(logProblem(tp, l.next.Offset, err))
		}
		return nil
	}
	if fatalKafka(err) {
		return refusedBy(err)
	}
	c.cfg.Log.Warn().Err(err).Str("topic", tp.Topic).Int32("partition", tp.Partition).Msg("fetch failed, trying again")
	return nil
}

// shutdown leaves the group, which checkpoints in the revoke callback, within StopWithin; then it ends every worker.
func (c *Connector) shutdown() {
	within := c.cfg.StopWithin
	if len(c.owned()) == 0 { // nothing to checkpoint: the group may be waiting for another member
		within = min(within, leaveWithin)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	done := context.AfterFunc(ctx, func() { c.endLife(errStopTooLong) })
	c.client.AllowRebalance()
	if err := c.client.LeaveGroupContext(ctx); err != nil {
		c.cfg.Log.Warn().Err(err).Msg("leave group: the brokers will notice by the session timeout")
	}
	done()
	c.endLife(nil)
	for _, w := range c.allWorkers() {
		<-w.ended
	}
	c.running.Wait()
}

// Stats returns the counters of this moment.
func (c *Connector) Stats() Stats {
	c.mu.Lock()
	s := c.stats
	s.Assigned = len(c.cursors)
	c.mu.Unlock()
	s.MemoryLimit = c.memory.limit
	s.MemoryUsed, s.MemoryPeak = c.memory.inUse()
	for _, w := range c.allWorkers() {
		s.Tables = append(s.Tables, w.counters.read())
	}
	return s
}

func (c *Connector) update(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

// wakePoll ends the poll under way.
func (c *Connector) wakePoll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
}
