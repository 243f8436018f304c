package connector

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/debezium"
	"sink/table"
)

// ahead is what was read of a run before its turn, with its rows in a batch of their own. Nothing of it counts until the
// worker takes it: reading decides nothing. Records that need a decision, or that cannot be read, are left to the worker,
// which reads them as if nobody had.
type ahead struct {
	done chan struct{} // closed when all else is final

	lane     *lane
	schema   *table.Schema // that the rows are bound to
	batch    *table.Batch
	readings []reading       // of the run's first records
	missed   bool            // it ended where no plan was known:
	shape    *debezium.Shape // for records of this shape
	held     int64           // bytes that count against the budget
}

// reading is what was read of one record.
type reading struct {
	end    int // of its rows in the batch
	what   readingKind
	op     debezium.Op
	before debezium.BeforeImage
	moves  bool // an update that changes the record key
	plain  bool // JSON without schema: which source it is of is to be looked at
}

type readingKind uint8

const (
	readLeft readingKind = iota // to the worker
	readRows
	readTombstone
)

// maxLeft is how many records of a run are left to the worker before the rest is, too.
const maxLeft = 16

// maxSpareBytes bounds what is kept to be read into again.
const maxSpareBytes = 4 << 20

// lane reads ahead for a table: one run at a time, with a decoder and plans of its own. Which shapes of records it has plans
// for is the worker's decision, made when it has met such a record itself.
type lane struct {
	w        *worker
	schema   *table.Schema
	decoders map[string]*debezium.Decoder
	plans    map[*debezium.Shape]*plan
	record   debezium.Record
	frame    debezium.Frame
}

// permit has a lane bind a plan for a shape of its own decoder's.
type permit struct {
	lane       *lane
	schema     *table.Schema
	shape      *debezium.Shape
	names, key []string
	partitions int
}

// lanes are a table's. The fields belong to worker.mu.
type lanes struct {
	schema  *table.Schema // that rows are to be bound to; nil: nothing is read ahead
	idle    []*lane
	permits []permit
	waiting int // runs that were read, or are being read, and whose turn has not come
	spare   sync.Pool
}

// readsAhead reports whether a table's records can be read ahead: where each needs the worker's eye, it would be for nothing.
func (t *Table) readsAhead() bool {
	return !t.Deduplicate && t.LatePartition == "" && len(t.Shaping.Computed) == 0 && t.Shaping.Filter == nil
}

// readers is how many goroutines of the process read ahead: one a core, which leaves the workers the work that only they
// can do. A single core has no use for any.
func readers() int64 {
	if n := runtime.GOMAXPROCS(0); n > 1 {
		return int64(n)
	}
	return 0
}

// lookAhead has a goroutine read the runs that wait behind others, unless as many do as there are cores.
func (w *worker) lookAhead() {
	w.mu.Lock()
	wanted := w.claimable() >= 0 && w.c.life.Err() == nil
	w.mu.Unlock()
	if wanted && w.c.readers.TryAcquire(1) {
		w.c.running.Go(func() {
			w.readAhead()
			w.c.readers.Release(1)
			w.lookAhead() // for a run that came after the last look and found no reader free
		})
	}
}

// claimable returns the first run in the queue that nobody reads; -1 for none. The one whose turn is next is the worker's.
func (w *worker) claimable() int {
	if w.lanes.schema == nil || w.lanes.waiting >= w.c.maxAhead || w.stopped != nil {
		return -1
	}
	for i := range w.queue {
		if w.queue[i].ahead == nil && (i > 0 || w.applying) {
			return i
		}
	}
	return -1
}

// readAhead reads runs until there are no more to claim.
func (w *worker) readAhead() {
	for w.c.life.Err() == nil {
		w.mu.Lock()
		i := w.claimable()
		if i < 0 {
			w.mu.Unlock()
			return
		}
		a := w.lanes.take(w)
		w.queue[i].ahead = a
		records := w.queue[i].records
		w.mu.Unlock()

		a.lane.read(w.c.life, records, a)
		a.held = a.batch.SizeBytes()
		w.c.memory.add(a.held)
		w.mu.Lock()
		w.lanes.idle = append(w.lanes.idle, a.lane)
		w.mu.Unlock()
		close(a.done)
	}
}

// take returns what a run is to be read into, with an idle lane that is up to date.
func (l *lanes) take(w *worker) *ahead {
	var in *lane
	if n := len(l.idle); n > 0 {
		in, l.idle = l.idle[n-1], l.idle[:n-1]
	} else {
		in = &lane{w: w, decoders: map[string]*debezium.Decoder{}}
	}
	if in.schema != l.schema {
		in.schema, in.plans = l.schema, map[*debezium.Shape]*plan{}
	}
	for _, p := range l.permits {
		if p.lane == in && p.schema == in.schema {
			if bound, err := w.cfg.bind(p.schema, p.shape, p.names, p.key, p.partitions); err == nil {
				bound.unknown = len(bound.Unknown())
				in.plans[p.shape] = bound
			}
		}
	}
	l.permits = slices.DeleteFunc(l.permits, func(p permit) bool { return p.lane == in })
	l.waiting++
	a, _ := l.spare.Get().(*ahead)
	if a == nil || a.schema != in.schema {
		a = &ahead{batch: table.NewBatch(in.schema.Fields)}
	}
	a.batch.Reset()
	*a = ahead{done: make(chan struct{}), lane: in, schema: in.schema, batch: a.batch, readings: a.readings[:0]}
	return a
}

// read reads records until one has no plan yet, or the registry does not answer.
func (l *lane) read(ctx context.Context, records []*kgo.Record, a *ahead) {
	left := 0
	for _, rec := range records {
		r, ok := l.one(ctx, rec, a)
		if !ok {
			return
		}
		if r.what == readLeft {
			if left++; left > maxLeft {
				return
			}
		}
		r.end = a.batch.Len()
		a.readings = append(a.readings, r)
	}
}

// one reads a record; false is the end of reading ahead.
func (l *lane) one(ctx context.Context, rec *kgo.Record, a *ahead) (reading, bool) {
	left := reading{what: readLeft}
	if rec.Attrs.IsControl() {
		return left, true
	}
	toRecord(rec, &l.record)
	decoder := l.decoders[rec.Topic]
	if decoder == nil {
		decoder = debezium.NewDecoder(l.w.cfg.Decoding)
		l.decoders[rec.Topic] = decoder
	}
	f := &l.frame
	if err := decoder.Frame(ctx, &l.record, f); err != nil {
		return left, isRecords(err)
	}
	switch f.Kind {
	case debezium.KindTombstone:
		return reading{what: readTombstone}, true
	case debezium.KindChange, debezium.KindFlat:
	default:
		return left, true
	}
	p := l.plans[f.Shape]
	if p == nil {
		a.missed, a.shape = true, f.Shape
		return left, false
	}
	event, err := p.Append(f, a.batch)
	if err != nil {
		return left, true
	}
	if l.schema.Append() && !isNew(event.Op) {
		a.batch.Truncate(event.First)
		return left, true
	}
	if news := len(p.Unknown()); len(event.Unavailable) > 0 || news > p.unknown { // to be told
		p.unknown = news
		a.batch.Truncate(event.First)
		return left, true
	}
	moves := event.Op == debezium.OpUpdate && event.Rows == 2 && !l.w.cfg.Disjoint && differ(a.batch, event.First, p.key)
	return reading{what: readRows, op: event.Op, before: event.Before, moves: moves, plain: f.Shape == nil && f.Kind == debezium.KindChange}, true
}

// permitAhead lets the lane that has read a run bind the shape that it missed, once the worker has taken such a record.
func (w *worker) permitAhead(p *partition, r *run, i int) {
	a := r.ahead
	if a == nil || !a.missed || i != len(a.readings) || w.schema == nil {
		return
	}
	key, err := w.intake.frame.KeyNames()
	names, unknown := w.names()
	if err != nil || unknown != nil || w.intake.plans[w.intake.frame.Shape] == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lanes.permits = append(w.lanes.permits, permit{a.lane, w.schema, a.shape, names, key, p.log.partitions})
}

// takeAhead takes the records of a run from i on that were read ahead and need no more looking at, up to the next stride. It
// returns how many.
func (w *worker) takeAhead(p *partition, r *run, i int) int {
	a := r.ahead
	if a == nil {
		return 0
	}
	<-a.done
	if a.schema != w.schema || i >= len(a.readings) {
		return 0
	}
	topic := r.records[i].Topic
	trust := w.trust(topic)
	poor, tombstones, deleted, to := int64(0), int64(0), p.deleted, i
	for end := min(i-i%stride+stride, len(a.readings)); to < end; to++ {
		read, rec := &a.readings[to], r.records[to]
		if read.what == readTombstone && deleted != nil && bytes.Equal(deleted, rec.Key) {
			tombstones++
			deleted = nil
			continue
		}
		missing := read.before == debezium.BeforeMissing || read.before == debezium.BeforeKeyOnly
		if read.what != readRows || read.moves && p.log.partitions > 1 || read.plain && w.intake.source.differs(rec.Value) ||
			read.op == debezium.OpDelete && (missing || doubtful(trust, read.before)) || missing && w.cfg.OnMissingBefore != Accept {
			break
		}
		deleted = nil
		switch {
		case read.op == debezium.OpUpdate:
			trust = trustOf(read.before)
		case read.op == debezium.OpDelete:
			deleted = rec.Key
		}
		if missing {
			poor++
		}
	}
	first := 0
	if i > 0 {
		first = a.readings[i-1].end
	}
	if to > i && a.readings[to-1].end > first {
		w.writer.Batch().AppendRows(a.batch, first, a.readings[to-1].end)
		if err := w.writer.Add(); err != nil { // a row has no place: the worker finds out which
			a.readings, a.missed = a.readings[:i], false
			return 0
		}
	}
	if to > i {
		p.deleted = slices.Clone(deleted)
		if trust != "" {
			w.learn(topic, trust)
		}
	}
	if poor+tombstones > 0 {
		w.counters.update(func(s *TableStats) {
			s.MissingBefore += poor
			if tombstones > 0 {
				s.Skipped["tombstone"] += tombstones
			}
		})
	}
	return to - i
}

// letGo gives back what a run holds, taken or not.
func (w *worker) letGo(r *run) {
	if a := r.ahead; a != nil {
		<-a.done
		w.c.memory.add(-a.held)
		w.mu.Lock()
		w.lanes.waiting--
		w.mu.Unlock()
		if a.held <= maxSpareBytes {
			w.lanes.spare.Put(a)
		}
		r.ahead = nil
	}
	w.c.queued.add(-r.sizeBytes)
	w.c.memory.add(-r.sizeBytes)
}
