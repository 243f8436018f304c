package connector

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/flush"
	"sink/table"
)

// errEnded is why a worker does nothing more: the process lets go.
var errEnded = errors.New("the process is stopping")

// run is what one poll brought of one partition.
type run struct {
	tp         table.TopicPartition
	generation int
	records    []*kgo.Record
	next       table.Cursor // where a table is after the run that gets the records of a scout; zero: after the last record
	pending    bool         // and its delete was the last record before that
	stable     int64        // last stable offset of the partition
	sizeBytes  int64
	ahead      *ahead // nil: nobody has read them before their turn
}

// worker owns one table: its buffers, its positions, its checkpoints. All fields below "owned" belong to the goroutine
// of run; others reach them with do.
type worker struct {
	c        *Connector
	cfg      *Table
	name     string // database.table
	path     table.Path
	log      zerolog.Logger
	counters *counters
	patience atomic.Pointer[patience]
	buffered atomic.Int64 // bytes of rows in buffers
	inFlight atomic.Int64 // bytes of rows on their way to files
	ended    chan struct{}
	signal   chan struct{} // something to do

	mu       sync.Mutex
	queue    []run
	applying bool // a run that is no longer in the queue
	lanes    lanes
	accepts  map[table.TopicPartition]int // the only generation of dispatches to apply
	commands []func()
	stopped  error // why the table has stopped
	parked   bool  // and is not tried again
	durable  table.Offsets
	mark     commit.Mark
	spilling bool
	hurries  int // of those who wait for the worker, see hurry

	care      *caretaker
	comeback  comeback
	rehearses bool    // see Rehearsal: what does not answer is not waited for
	scout     *scout  // nil for a table
	feeder    *worker // the scout that the records of the table come from; nil: the poll loop

	// owned
	committer   *commit.Committer // nil until the table exists; a checkpoint under way has it alone
	state       commit.State
	partitions  map[table.TopicPartition]*partition
	intake      *intake
	schema      *table.Schema // that rows are bound to; nil until the table exists
	writer      *flush.Writer // of schema
	flight      *flight       // the checkpoint under way
	unsettled   time.Time     // when the first of those began that were given up in a row without a certain outcome; zero: the last was not
	records     int64         // applied since the last seal
	givenUp     int64         // applied, and not committed when the process let go
	moved       bool          // positions passed records of other tables since the last seal
	since       time.Time     // when the first of them came
	secondGroup bool          // it has been told that another group has written the table, see secondgroup.go
	company     bool          // another writer gives rows to this table, see overtaken.go
	looked      time.Time     // when the numbers of the table's rows were last known
	overtaken   int           // checkpoints one after the other that were read again for it
	timer       *time.Timer

	newcomers      map[table.TopicPartition]*newcomer
	newcomersTimer *time.Timer
}

// partition is how far a worker has read one partition.
type partition struct {
	log      partitionLog
	next     table.Cursor        // the next record to apply
	mapped   table.Cursor        // what the table's newest map holds
	isMapped bool                // false where that map lacks the partition
	deleted  []byte              // key of the delete just read, whose tombstone comes next
	reached  map[string]*reached // by source, for deduplication
}

func newWorker(c *Connector, cfg *Table, name string, path table.Path) *worker {
	w := &worker{
		c: c, cfg: cfg, name: name, path: path, log: c.cfg.Log.With().Str("table", name).Logger(), counters: newCounters(name),
		ended: make(chan struct{}), signal: make(chan struct{}, 1),
		accepts: map[table.TopicPartition]int{}, durable: table.Offsets{}, partitions: map[table.TopicPartition]*partition{},
		intake: newIntake(), timer: time.NewTimer(time.Hour), newcomers: map[table.TopicPartition]*newcomer{}, newcomersTimer: time.NewTimer(time.Hour),
	}
	w.care, w.comeback = newCaretaker(w), newComeback(&c.cfg, cfg)
	w.patience.Store(newPatience(c.life))
	w.timer.Stop()
	w.newcomersTimer.Stop()
	return w
}

// run is the worker's goroutine.
func (w *worker) run() {
	defer close(w.ended)
	pin := time.NewTicker(pinEvery)
	defer pin.Stop()
	defer w.care.start()()
	for {
		var landed <-chan struct{}
		if w.flight != nil {
			landed = w.flight.done
		}
		select {
		case <-w.signal:
		case <-landed:
		case <-w.timer.C:
		case <-w.comeback.timer.C:
			w.comeBack()
		case <-pin.C:
			w.pin()
		case <-w.newcomersTimer.C:
			w.lookAfterNewcomers()
		case <-w.c.life.Done():
			w.release()
			return
		}
		for more := true; more; {
			w.obey()
			w.land()
			w.care.tell()
			more = w.applyNext()
			w.checkpointIfDue()
		}
	}
}

// pinEvery is how often an idle table renews what keeps other jobs' expiry away from its newest snapshot.
const pinEvery = 30 * time.Minute

func (w *worker) pin() {
	if w.committer == nil || w.flight != nil {
		return
	}
	if err := w.committer.Pin(w.c.life); err != nil {
		w.log.Warn().Err(err).Msg("cannot renew the consumer file that keeps the newest snapshot from being expired by other jobs")
	}
}

// enqueue takes records for later; it never waits. The memory they hold counts until they are applied.
func (w *worker) enqueue(r run) {
	for _, rec := range r.records {
		r.sizeBytes += sizeOf(rec)
	}
	w.c.memory.add(r.sizeBytes)
	w.c.queued.add(r.sizeBytes)
	w.mu.Lock()
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	w.poke()
	w.lookAhead()
}

// What a kgo.Record costs beside its key, value and headers, and a header beside its key and value, in bytes.
const (
	recordOverhead = 160
	headerOverhead = 40
)

// sizeOf is about what a record takes in memory, in bytes.
func sizeOf(rec *kgo.Record) int64 {
	size := int64(len(rec.Key)+len(rec.Value)) + recordOverhead
	for i := range rec.Headers {
		size += int64(len(rec.Headers[i].Key)+len(rec.Headers[i].Value)) + headerOverhead
	}
	return size
}

func (w *worker) poke() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// applyNext applies the oldest run in the queue and reports whether there was one.
func (w *worker) applyNext() bool {
	w.mu.Lock()
	if len(w.queue) == 0 {
		w.mu.Unlock()
		return false
	}
	r := w.queue[0]
	w.queue[0] = run{}
	if w.queue = w.queue[1:]; len(w.queue) == 0 {
		w.queue = nil
	}
	current := w.accepts[r.tp] == r.generation && w.stopped == nil
	w.applying = true
	w.mu.Unlock()
	if current {
		w.lookAhead()
		w.apply(r)
	}
	w.mu.Lock()
	w.applying = false
	w.mu.Unlock()
	w.letGo(&r)
	w.account()
	return true
}

// account tells the budget what the buffers hold now.
func (w *worker) account() {
	now := w.intake.letterBytes
	if w.writer != nil {
		now += w.writer.BufferedBytes()
	}
	if before := w.buffered.Swap(now); before != now {
		w.c.memory.add(now - before)
		w.counters.update(func(s *TableStats) { s.Buffered = now })
	}
}

// do has the worker's goroutine call f, and waits for it.
func (w *worker) do(ctx context.Context, f func(context.Context)) error {
	done := make(chan struct{})
	w.mu.Lock()
	w.commands = append(w.commands, func() { defer close(done); f(ctx) })
	w.mu.Unlock()
	w.poke()
	select {
	case <-done:
		return nil
	case <-w.ended:
		return errEnded
	}
}

// obey carries out what others asked for.
func (w *worker) obey() {
	w.mu.Lock()
	commands := w.commands
	w.commands = nil
	w.mu.Unlock()
	for _, f := range commands {
		f()
	}
}

// accept names the dispatches of a partition to apply from now on.
func (w *worker) accept(tp table.TopicPartition, generation int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accepts[tp] = generation
}

// refuse voids all dispatches of the partitions until the next accept.
func (w *worker) refuse(partitions []table.TopicPartition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tp := range partitions {
		delete(w.accepts, tp)
	}
}

// askSpill has the worker write its fullest buffers early. Asking again before it is done changes nothing.
func (w *worker) askSpill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spilling {
		return
	}
	w.spilling = true
	w.commands = append(w.commands, func() {
		if w.holdsFiles() {
			w.seal()
		} else {
			w.spill(w.c.life)
		}
		w.mu.Lock()
		w.spilling = false
		w.mu.Unlock()
	})
	w.poke()
}

// holdsFiles reports whether most of what the worker holds is the bookkeeping of files written early, as with thousands of partitions of
// few rows, and a checkpoint may begin, which frees it: writing early would free little and add to it.
func (w *worker) holdsFiles() bool {
	if w.writer == nil || w.flight != nil || w.problem() != nil || w.care.behind.Load() {
		return false
	}
	return 2*w.writer.SpilledBytes() > w.writer.BufferedBytes()
}

// askStop parks the table with a problem found elsewhere, which trying it again would not meet again.
func (w *worker) askStop(problem error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = append(w.commands, func() { w.park(problem) })
	w.poke()
}

// problem returns why the table has stopped, nil while it goes on.
func (w *worker) problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// isParked reports whether the table has stopped and is not tried again.
func (w *worker) isParked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped != nil && w.parked
}

// uncommitted returns how many records are applied that no snapshot covers.
func (w *worker) uncommitted() int64 {
	if w.flight != nil {
		return w.records + w.flight.records
	}
	return w.records
}

// release ends the worker: nothing uncommitted survives, no goroutine is left.
func (w *worker) release() {
	if n := w.givenUp + w.uncommitted(); n > 0 && w.scout == nil {
		w.log.Warn().Int64("records", n).AnErr("cause", context.Cause(w.c.life)).Msg("ended before the last checkpoint was done; its records are not lost, the next run reads them again")
	}
	w.discard()
	w.mu.Lock()
	queue := w.queue
	w.queue = nil
	w.mu.Unlock()
	for i := range queue {
		w.letGo(&queue[i])
	}
}
