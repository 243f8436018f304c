package connector

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/debezium"
	"sink/flush"
	"sink/table"
)

// stride is how many records are applied between looks at the clock, the limits and the budget.
const stride = 256

// errReadAgain ends a run whose partitions are read again from elsewhere.
var errReadAgain = errors.New("reading again")

// apply takes a run of records of one partition in order. It stops the table at a record that cannot be handled.
func (w *worker) apply(r run) {
	p := w.partitions[r.tp]
	if p == nil {
		return
	}
	if w.scout != nil {
		defer func() { w.scout.handOn(r, p.next) }()
	}
	for i, taken := 0, 0; i < len(r.records); i += taken {
		if r.records[i].Offset < p.next.Offset {
			taken = 1
			continue // another table of this topic is further behind
		}
		if taken = w.takeAhead(p, &r, i); taken > 0 {
			w.intake.rereads.within = false // somebody else has looked at what came
		} else if taken = 1; !w.takeOne(p, &r, i) {
			return
		}
		last := r.records[i+taken-1]
		w.begins()
		p.next.Offset, p.next.Epoch = last.Offset+1, last.LeaderEpoch
		w.records += int64(taken)
		if (i+taken)%stride == 0 {
			w.account()
			w.land()
			w.checkpointIfDue()
		}
		if w.problem() != nil || w.partitions[r.tp] != p {
			return // stopped, or reading again
		}
	}
	if r.next.Offset > p.next.Offset { // over records of other tables
		w.begins()
		p.next.Offset, p.next.Epoch, w.moved = r.next.Offset, r.next.Epoch, true
		if !r.pending {
			p.deleted = nil
		}
	}
	w.intake.newest = newest(w.intake.newest, r.records)
	w.lag(r, p)
}

// takeOne handles a record of a run and reports whether to go on with the next.
func (w *worker) takeOne(p *partition, r *run, i int) bool {
	err := w.handle(p, r.records[i])
	if err == nil {
		w.permitAhead(p, r, i)
		return true
	}
	if isRecords(err) {
		w.cover() // the table ends right before the record, however it was cut into checkpoints
	}
	switch {
	case errors.Is(err, errInterrupted) && w.c.life.Err() == nil:
		w.readLater(r.tp, p.next)
	case w.c.life.Err() != nil:
		w.void() // the process lets go in the middle of the record: nothing after it may be applied
	case !errors.Is(err, errReadAgain) && w.partitions[r.tp] == p:
		w.stopAt(&place{r.tp, r.records[i].Offset}, fmt.Errorf("table %s: %w", w.name, err))
	}
	return false
}

// begins notes that there is something to checkpoint.
func (w *worker) begins() {
	if w.records == 0 && !w.moved {
		w.since = time.Now()
		w.timer.Reset(w.c.cfg.Checkpoint.Interval)
	}
}

func newest(t time.Time, records []*kgo.Record) time.Time {
	if n := len(records); n > 0 && records[n-1].Timestamp.After(t) {
		return records[n-1].Timestamp
	}
	return t
}

// lag notes how far the partition has been read.
func (w *worker) lag(r run, p *partition) {
	w.counters.update(func(s *TableStats) {
		s.Records += int64(len(r.records))
		lag := s.Positions[lagKey(r.tp)]
		lag.Topic, lag.Partition, lag.Position, lag.End = r.tp.Topic, r.tp.Partition, p.next.Offset, r.stable
		s.Positions[lagKey(r.tp)] = lag
	})
}

// handle applies one record, and what the policies say when it is bad. The error is what stops the table.
func (w *worker) handle(p *partition, rec *kgo.Record) error {
	if rec.Attrs.IsControl() { // may come between a delete and its tombstone
		w.skip("control")
		return nil
	}
	deleted := p.deleted
	p.deleted = nil
	toRecord(rec, &w.intake.record)
	var err error
	if w.scout != nil {
		err = w.scout.take(rec, table.TopicPartition{Topic: rec.Topic, Partition: rec.Partition})
	} else {
		err = w.take(p, deleted)
	}
	if errors.Is(err, errInterrupted) {
		p.deleted = deleted
		return err
	}
	if err != nil {
		err = w.judge(rec, err)
	}
	if seen := &w.intake.sighted; seen.position.Known() {
		if err == nil {
			p.remember(seen)
		}
		*seen = sighting{}
	}
	return err
}

// toRecord describes a record for a decoder.
func toRecord(rec *kgo.Record, to *debezium.Record) {
	*to = debezium.Record{
		Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset, Timestamp: rec.Timestamp.UnixMilli(),
		Key: rec.Key, Value: rec.Value, Headers: to.Headers[:0],
	}
	for _, h := range rec.Headers {
		to.Headers = append(to.Headers, debezium.Header{Key: h.Key, Value: h.Value})
	}
}

// isRecords reports an error that is one record's: the table could go on with any other.
func isRecords(err error) bool {
	_, bad := errors.AsType[*debezium.RecordError](err)
	_, refused := errors.AsType[*refusal](err)
	return bad || refused
}

// judge turns an error of one record into what its policy says.
func (w *worker) judge(rec *kgo.Record, err error) error {
	policy, reason := w.cfg.OnError, ""
	if bad, ok := errors.AsType[*debezium.RecordError](err); ok {
		reason = string(bad.Reason)
		if bad.Reason == debezium.ReasonUnknown && w.cfg.SchemaChange != Evolve {
			policy = w.cfg.SchemaChange
		}
	} else if refused, ok := errors.AsType[*refusal](err); ok {
		reason = refused.reason
		switch reason {
		case reasonBefore:
			policy = w.cfg.OnMissingBefore
		case reasonSchema:
			policy = w.cfg.SchemaChange
		case reasonTruncate:
			policy = w.cfg.OnTruncate
		case notWanted:
			policy = w.cfg.OnUnrouted
		case reasonLate:
			policy = w.cfg.LatePartition
		case reasonKeyless:
			policy = w.cfg.OnKeylessChange
		}
	} else {
		return err
	}
	switch policy {
	case DeadLetter:
		w.passOver(rec, policy, reason, err)
		w.putAside(rec, reason, err)
		return nil
	case Skip:
		w.passOver(rec, policy, reason, err)
		w.skip(reason)
		return nil
	}
	return wayOut(err)
}

// wayOut adds to the error of a bad record what its user can set. A refusal says so itself.
func wayOut(err error) error {
	bad, ok := errors.AsType[*debezium.RecordError](err)
	if !ok {
		return err
	}
	hint := "set on-error to dead-letter or skip to go on without the record"
	if bad.Reason == debezium.ReasonUnknown {
		hint = "name the column under `columns:`, or set schema-change to ignore to leave it out, or `infer: true` to add such columns"
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// The reasons of refusals.
const (
	reasonBefore   = "before-missing"
	reasonSchema   = "schema"
	reasonTruncate = "truncate"
	reasonOrder    = "order"
)

// take decodes the record and buffers its rows.
func (w *worker) take(p *partition, deleted []byte) error {
	f := &w.intake.frame
	if err := w.decode(); err != nil {
		return err
	}
	switch f.Kind {
	case debezium.KindChange, debezium.KindFlat:
		return w.change(p)
	case debezium.KindTombstone:
		if deleted != nil && bytes.Equal(deleted, f.Record.Key) || w.appends() {
			w.skip("tombstone")
			return nil
		}
		return w.loneTombstone(p)
	case debezium.KindTruncate:
		if w.cfg.Deduplicate {
			if repeat, err := w.repeated(p); repeat || err != nil {
				w.skipIf(repeat, "repeated")
				return err
			}
		}
		return w.truncate(p)
	default:
		w.skip(f.Kind.String())
		return nil
	}
}

// decode frames the record. A registry that does not answer is waited for: no record is skipped for its sake.
func (w *worker) decode() error {
	decoder := w.decoder(w.intake.record.Topic)
	err := decoder.Frame(w.patience.Load().ctx, &w.intake.record, &w.intake.frame)
	if err == nil || isRecords(err) {
		return err
	}
	return w.awaitRegistry(decoder, err)
}

// change buffers the rows of a change event.
func (w *worker) change(p *partition) error {
	f := &w.intake.frame
	plan, err := w.plan(w.c.life, p.log.partitions)
	if err != nil {
		return err
	}
	if w.cfg.Deduplicate {
		if repeat, err := w.repeated(p); repeat || err != nil {
			w.skipIf(repeat, "repeated")
			p.deleted = deletedBy(f)
			return err
		}
	}
	batch := w.writer.Batch()
	event, err := plan.Append(f, batch)
	for err != nil && w.infers() {
		if plan, err = w.grow(err, p.log.partitions); err != nil {
			return err
		}
		batch = w.writer.Batch()
		event, err = plan.Append(f, batch)
	}
	if err != nil {
		return err
	}
	var known rowsKnown
	if err = w.checkKeyless(event); err == nil {
		known, err = w.checkImages(plan, event)
	}
	if err != nil {
		batch.Truncate(event.First)
		return err
	}
	if event.Op == debezium.OpUpdate && event.Rows == 2 && p.log.partitions > 1 && !w.cfg.Disjoint && !w.appends() && differ(batch, event.First, plan.key) {
		batch.Truncate(event.First)
		return &refusal{reason: reasonOrder, err: fmt.Errorf("%s: an update that changes the record key itself, in a topic of %d partitions: the old and the new key's changes arrive in no order; "+
			"Debezium sends such a change as a delete and a create; give the topic one partition, or set `disjoint: true`", w.at(), p.log.partitions)}
	}
	if event.Unknown > 0 {
		w.reportUnknown(plan)
	}
	if w.intake.rereads.meets(f, event.Op) && !w.appends() {
		w.tellReread()
	}
	p.deleted = deletedBy(f)
	if err := w.finish(plan, event.First, known); err != nil {
		return err
	}
	if w.appends() {
		asInserts(batch, event.First)
	}
	if err := w.add(); err != nil {
		return err
	}
	if known.poor {
		w.counters.update(func(s *TableStats) { s.MissingBefore++ })
	}
	return nil
}

// add routes the rows just appended. A row that has no place (a null in its key), or that the merge engine cannot merge, is
// the record's fault.
func (w *worker) add() error {
	if err := w.writer.Add(); err != nil {
		reason := debezium.ReasonNull
		if errors.Is(err, flush.ErrKind) {
			reason = debezium.ReasonKind
		}
		return &debezium.RecordError{
			Topic: w.intake.record.Topic, Partition: w.intake.record.Partition, Offset: w.intake.record.Offset, Reason: reason, Err: err,
		}
	}
	return nil
}

// loneTombstone handles a tombstone that does not follow its delete, as compaction leaves them: a delete of which nothing but
// the key is known.
func (w *worker) loneTombstone(p *partition) error {
	if w.cfg.OnMissingBefore != Accept {
		return &refusal{reason: reasonBefore, err: fmt.Errorf("%s: a tombstone (a key without a value) whose delete event does not come right before it: log compaction or retention has taken it, and what the deleted row held is not known, so a SUM over the changelog would go wrong; "+
			"set on-missing-before to accept (delete the row by its key) or dead-letter", w.at())}
	}
	if w.schema == nil {
		w.skip("tombstone-of-nothing")
		return nil
	}
	plan, err := w.plan(w.c.life, p.log.partitions)
	if err != nil {
		return err
	}
	return w.deleteByKey(plan)
}

// deleteByKey buffers a -D of which only the key is known.
func (w *worker) deleteByKey(plan *plan) error {
	event, err := plan.AppendKey(&w.intake.frame, w.writer.Batch())
	if err == nil {
		err = w.finish(plan, event.First, rowsKnown{keyOnly: true})
	}
	if err != nil {
		return err
	}
	w.counters.update(func(s *TableStats) { s.MissingBefore++ })
	return w.add()
}

// at names the record at hand.
func (w *worker) at() string {
	r := &w.intake.record
	return fmt.Sprintf("topic %s partition %d offset %d", r.Topic, r.Partition, r.Offset)
}

// deletedBy returns the key of a delete, whose tombstone may come next; nil for any other event.
func deletedBy(f *debezium.Frame) []byte {
	if f.Op != debezium.OpDelete {
		return nil
	}
	return append([]byte{}, f.Record.Key...)
}

func (w *worker) skipIf(skip bool, reason string) {
	if skip {
		w.skip(reason)
	}
}

func (w *worker) skip(reason string) {
	w.counters.update(func(s *TableStats) { s.Skipped[reason]++ })
}
