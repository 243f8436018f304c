package connector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sink/debezium"
	"sink/table"
)

// intake is how a worker's records become rows: a decoder for each topic, and a plan for each row type that the events
// declare, all bound to one version of the table's schema.
type intake struct {
	decoders    map[string]*debezium.Decoder
	plans       map[*debezium.Shape]*plan
	record      debezium.Record
	frame       debezium.Frame
	newest      time.Time         // Kafka timestamp of the newest record applied since the start
	trust       map[string]string // what was learned of topics' before images, and what the table is made of, as snapshots keep it
	untold      map[string]bool   // of that: learned here since the last seal
	letters     []letter          // put aside since the last seal
	letterBytes int64             // of their records
	source      sourceMark        // of the record that was looked at last
	sighted     sighting          // the record at hand, to be remembered when it is handled
	passed      passedOver
	// when it was told last that the schema registry does not answer; zero: since it has
	registryTold time.Time
	rereads      rereads
	// what identity returned last, and for which topic: it is asked for each update
	identityOf, identity string
}

// plan is a debezium.Plan with what the worker checks beside it.
type plan struct {
	*debezium.Plan
	key      []int // columns of the record key in the table
	unknown  int   // fields reported so far
	finisher *finisher
}

func newIntake() *intake {
	return &intake{
		decoders: map[string]*debezium.Decoder{}, plans: map[*debezium.Shape]*plan{}, trust: map[string]string{}, untold: map[string]bool{},
		rereads: rereads{told: new(atomic.Bool)},
	}
}

// decoder returns the decoder of a topic.
func (w *worker) decoder(topic string) *debezium.Decoder {
	d := w.intake.decoders[topic]
	if d == nil {
		d = debezium.NewDecoder(w.cfg.Decoding)
		w.intake.decoders[topic] = d
	}
	return d
}

// plan returns how to read the record in the frame, after the table has been made or changed to hold it. An error that
// is a *debezium.RecordError or *refusal is the record's; any other is the table's.
func (w *worker) plan(ctx context.Context, partitions int) (*plan, error) {
	f := &w.intake.frame
	if p := w.intake.plans[f.Shape]; p != nil {
		if f.Shape == nil && f.Kind == debezium.KindChange && w.intake.source.differs(f.Record.Value) {
			return p, w.checkSource()
		}
		return p, nil
	}
	key, err := f.KeyNames()
	if err != nil {
		return nil, err
	}
	if err := w.checkSource(); err != nil {
		return nil, err
	}
	if err := w.shapeTable(ctx, f.Shape, key); err != nil {
		return nil, err
	}
	if err := w.checkKey(w.schema, w.cfg.Shaping.columns(key), partitions); err != nil {
		return nil, err
	}
	names, err := w.names()
	if err != nil {
		return nil, err
	}
	p, err := w.cfg.bind(w.schema, f.Shape, names, key, partitions)
	if unbound, bad := errors.AsType[*refusal](err); bad && unbound.reason == reasonSchema {
		unbound.err = fmt.Errorf("%s: %w", w.at(), unbound.err)
	}
	if err != nil {
		return nil, err
	}
	w.intake.plans[f.Shape] = p
	w.reportUnknown(p)
	return p, nil
}

// bind makes a plan for records of a shape and key in a topic of so many partitions; names are those of their fields where no
// shape has them. It may be called by any goroutine that the shape belongs to.
func (t *Table) bind(schema *table.Schema, shape *debezium.Shape, names, key []string, partitions int) (*plan, error) {
	shaping := &t.Shaping
	called, err := t.sourceSchema(schema, shape, names)
	if err != nil {
		return nil, &refusal{reason: reasonSchema, err: err}
	}
	same := key // columns that all record keys must have
	if t.Disjoint || partitions == 1 || schema.Append() {
		same = nil // the order of arrival is right, whatever the keys, or nothing rests on it
	}
	bound, err := debezium.Bind(called, shape, debezium.Options{
		Types: t.Types, Absent: t.Absent, Metadata: t.Metadata, Key: same,
		FailUnknown: shape == nil && t.SchemaChange != Ignore, PassNull: shape == nil && t.Infer && t.SchemaChange != Ignore,
		Computed: shaping.computedNames(), Ignore: shaping.ignored(),
	})
	if err != nil {
		return nil, &refusal{reason: "schema", err: err}
	}
	p := &plan{Plan: bound}
	for _, name := range shaping.columns(key) {
		if i := schema.FieldIndex(name); i >= 0 {
			p.key = append(p.key, i)
		}
	}
	var late *lateness
	if t.LatePartition != "" {
		if late, err = newLateness(schema, t.LatePartition == DeadLetter); err != nil {
			return nil, err
		}
	}
	if p.finisher, err = shaping.finisher(schema, p.key, late); err != nil {
		return nil, err
	}
	return p, nil
}

// reportUnknown says once of each field that the table does not have that it is left out.
func (w *worker) reportUnknown(p *plan) {
	names := p.Unknown()
	for _, name := range names[p.unknown:] {
		w.log.Warn().Str("field", name).Msg("the events have a field that the table does not; it is left out (schema-change: ignore)")
	}
	p.unknown = len(names)
}

// checkKey makes sure that one row's changes come from one partition, which the order of changes rests on.
func (w *worker) checkKey(schema *table.Schema, key []string, partitions int) error {
	if w.cfg.Disjoint || partitions == 1 || schema.Append() {
		return nil
	}
	if len(key) == 0 {
		r := &w.intake.record
		return &debezium.RecordError{
			Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Reason: debezium.ReasonKey,
			Err: fmt.Errorf("the topic has %d partitions and its records have no key, so the changes of one row arrive in no order: "+
				"give the topic one partition, or have Debezium set a key (message.key.columns)", partitions),
		}
	}
	for _, name := range key {
		if !slices.Contains(schema.PrimaryKeys, name) {
			return fmt.Errorf("topic %s: the record key has column %s, which is not part of the table's primary key %v: rows of one primary key may lie in several partitions and arrive in no order; "+
				"add %s to primary-key, give the topic one partition, or set `disjoint: true` if that never happens", w.intake.frame.Record.Topic, name, schema.PrimaryKeys, name)
		}
	}
	return nil
}

// learned returns what has to survive a restart, for the snapshot: trust in before images, deletes whose tombstone is still
// to come, and how far the sources have come. It tells only what the records of this checkpoint have shown, and of partitions that
// it moves: of anything else another instance may know more by now, and nothing would refuse what is told here.
func (w *worker) learned(moved table.Offsets) map[string]string {
	learned := map[string]string{}
	for name := range w.intake.untold {
		learned[name] = w.intake.trust[name]
	}
	clear(w.intake.untold)
	for tp := range moved {
		p := w.partitions[tp]
		if p.deleted != nil || w.state.Progress.Learned[deletedName(tp)] != "" {
			learned[deletedName(tp)] = string(p.deleted)
		}
		for source, r := range p.reached {
			learned[reachedPrefix(tp)+source] = r.String()
		}
	}
	return learned
}

// awaitsTombstone reports whether the last record of a partition that moved was a delete, so that a tombstone may come next. A
// table that takes no deletes does not ask.
func (w *worker) awaitsTombstone(moved table.Offsets) bool {
	for tp := range moved {
		if w.partitions[tp].deleted != nil && !w.appends() {
			return true
		}
	}
	return false
}

func deletedName(tp table.TopicPartition) string { return "deleted/" + lagKey(tp) }

// deletedKey returns the key of a delete that was the last record before the position, nil if it was something else.
func deletedKey(learned map[string]string, tp table.TopicPartition) []byte {
	if key := learned[deletedName(tp)]; key != "" {
		return []byte(key)
	}
	return nil
}

// refusal is a record that the configuration does not let pass, by itself no fault of the record's bytes.
type refusal struct {
	reason string // label of the metric
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }
