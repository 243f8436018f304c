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
	readings []reading         // of the run's first records
	sources  []debezium.Source // of those that have rows, in their order, where repeats are looked for
	missed   bool              // it ended where no plan was known:
	shape    *debezium.Shape   // for records of this shape
	held     int64             // bytes that count against the budget
}

// reading is what was read of one record.
type reading struct {
	end    int // of its rows in the batch
	source int // which one of ahead.sources
	what   readingKind
	op     debezium.Op
	before debezium.BeforeImage
	moves  bool // an update that changes the record key
	plain  bool // JSON without schema: which source it is of is to be looked at
	// why the table takes no row of it: reasonLate, reasonFiltered; empty where it does
	dropped string
}

type readingKind uint8

const (
	readLeft readingKind = iota // to the worker
	readRows
	readTombstone
)

// maxLeft is how many records of a run are left to the worker before the rest is, too.
const maxLeft = 16

// sourceBytes is about what a source block takes: its strings are shared.
const sourceBytes = 256

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
	rereads  rereads
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

		a.lane.read(w.patience.Load().ctx, records, a)
		a.held = a.batch.SizeBytes() + int64(len(a.sources))*sourceBytes
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
		in = &lane{w: w, decoders: map[string]*debezium.Decoder{}, rereads: rereads{told: w.intake.rereads.told}}
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
	*a = ahead{done: make(chan struct{}), lane: in, schema: in.schema, batch: a.batch, readings: a.readings[:0], sources: a.sources[:0]}
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
	return l.complete(a, p, event)
}

// complete says what there is to a record whose rows have just been read.
func (l *lane) complete(a *ahead, p *plan, event debezium.Event) (r reading, ok bool) {
	f := &l.frame
	r = reading{what: readRows, op: event.Op, before: event.Before, plain: f.Shape == nil && f.Kind == debezium.KindChange, source: len(a.sources)}
	r.moves = event.Op == debezium.OpUpdate && event.Rows == 2 && !l.w.cfg.Disjoint && differ(a.batch, event.First, p.key)
	if l.rereads.meets(f, event.Op) && !l.schema.Append() { // to be told
		a.batch.Truncate(event.First)
		return reading{what: readLeft}, true
	}
	var source debezium.Source
	var err error
	if l.w.cfg.Deduplicate {
		source, err = f.Source()
	}
	if err == nil && p.finisher != nil { // of rows that are not known as a whole nothing is taken, see takeAhead
		r.dropped, err = p.finisher.finish(a.batch, event.First, rowsKnown{})
	}
	if err != nil {
		a.batch.Truncate(event.First)
		return reading{what: readLeft}, true
	}
	if l.w.cfg.Deduplicate {
		a.sources = append(a.sources, source)
	}
	return r, true
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

// tally is what records that were taken together add to the counters.
type tally struct{ poor, tombstones, late, filtered int64 }

func (t *tally) addTo(w *worker) {
	if *t == (tally{}) {
		return
	}
	w.counters.update(func(s *TableStats) {
		s.MissingBefore += t.poor
		for reason, n := range map[string]int64{"tombstone": t.tombstones, reasonLate: t.late, reasonFiltered: t.filtered} {
			if n > 0 {
				s.Skipped[reason] += n
			}
		}
	})
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
	var counts tally
	var reached map[string]*reached // to go back to
	if w.cfg.Deduplicate {
		reached = copyOf(p.reached)
	}
	trust, deleted, to := w.trust(topic), p.deleted, i
	for end := min(i-i%stride+stride, len(a.readings)); to < end; to++ {
		read, rec := &a.readings[to], r.records[to]
		if read.what == readTombstone && deleted != nil && bytes.Equal(deleted, rec.Key) {
			counts.tombstones++
			deleted = nil
			continue
		}
		if !w.takes(p, a, read, rec, trust) {
			break
		}
		deleted = nil
		switch read.op {
		case debezium.OpUpdate:
			trust = trustOf(read.before)
		case debezium.OpDelete:
			deleted = rec.Key
		}
		if read.missing() {
			counts.poor++
		}
		switch read.dropped {
		case reasonLate:
			counts.late++
		case reasonFiltered:
			counts.filtered++
		}
	}
	if to == i {
		return 0
	}
	first := 0
	if i > 0 {
		first = a.readings[i-1].end
	}
	if last := a.readings[to-1].end; last > first {
		w.writer.Batch().AppendRows(a.batch, first, last)
		if err := w.writer.Add(); err != nil { // a row has no place: the worker finds out which
			a.readings, a.missed = a.readings[:i], false
			if w.cfg.Deduplicate {
				p.reached = reached
			}
			return 0
		}
	}
	p.deleted = slices.Clone(deleted)
	if trust != "" {
		w.learn(topic, trust)
	}
	counts.addTo(w)
	return to - i
}

// missing reports whether the row before is not known.
func (r *reading) missing() bool {
	return r.before == debezium.BeforeMissing || r.before == debezium.BeforeKeyOnly
}

// takes reports whether a record with rows needs no decision of the worker's but those that are made here. Where it has not come
// before, that is remembered.
func (w *worker) takes(p *partition, a *ahead, read *reading, rec *kgo.Record, trust string) bool {
	missing := read.missing()
	if read.what != readRows || read.moves && p.log.partitions > 1 || read.plain && w.intake.source.differs(rec.Value) ||
		read.op == debezium.OpDelete && (missing || doubtful(trust, read.before)) || missing && w.cfg.OnMissingBefore != Accept {
		return false
	}
	if !w.cfg.Deduplicate {
		return true
	}
	seen, repeat, err := p.sight(&a.sources[read.source], read.op, rec.Key)
	if repeat || err != nil {
		return false // the worker says what becomes of it
	}
	p.remember(&seen)
	return true
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
