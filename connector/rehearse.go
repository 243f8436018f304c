package connector

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/debezium"
	"sink/table"
	"sink/table/object"
)

// Rehearsal is a table that takes records as Run would, in memory: it writes nothing, and asks nobody but the schema registry.
// What it refuses, Run refuses in the same words. It belongs to one goroutine.
type Rehearsal struct {
	w       *worker
	learned map[string]string
}

// rehearsalWaits bounds the wait for the schema registry at a record. Run waits for as long as it takes.
const rehearsalWaits = 5 * time.Second

// Rehearse readies a table of a mapping. newest is the table's newest schema, nil where there is no table yet, and learned
// what the newest snapshot has under [table.Progress]. The error is what would stop the table before its first record.
func Rehearse(ctx context.Context, cfg Config, t *Table, name string, newest *table.Schema, learned map[string]string) (*Rehearsal, error) {
	cfg.Store, cfg.Start, cfg.Log = object.NewMem(), Earliest, zerolog.Nop()
	c := newConnector(ctx, cfg)
	database, tableName, _ := strings.Cut(name, ".")
	w := newWorker(c, t, name, table.NewPath(database, tableName))
	w.rehearses = true
	w.state = commit.State{Fresh: true, MaxSequence: -1}
	if newest != nil {
		text, err := newest.Encode()
		if err == nil {
			err = cfg.Store.Create(ctx, w.path.Schema(newest.ID), text)
		}
		if err == nil {
			w.committer, err = commit.Open(ctx, w.commitConfig())
		}
		if err != nil {
			return nil, err
		}
	}
	w.state.Progress.Learned = learned
	return &Rehearsal{w: w, learned: learned}, w.open()
}

// Take applies a record of a topic of so many partitions; records of one partition come in order. The error is what would stop
// the table there.
func (r *Rehearsal) Take(rec *kgo.Record, partitions int) error {
	w, tp := r.w, table.TopicPartition{Topic: rec.Topic, Partition: rec.Partition}
	p := w.partitions[tp]
	if p == nil {
		p = &partition{log: partitionLog{partitions: partitions}, deleted: deletedKey(r.learned, tp)}
		p.next = table.Cursor{Offset: rec.Offset, Epoch: rec.LeaderEpoch}
		var err error
		if p.reached, err = reachedIn(r.learned, tp); err != nil {
			return err
		}
		w.partitions[tp] = p
		w.c.routes[tp.Topic] = []*worker{w}
	}
	if err := w.handle(p, rec); err != nil {
		return err
	}
	w.records++
	p.next.Offset, p.next.Epoch = rec.Offset+1, rec.LeaderEpoch
	return w.problem()
}

// OfOne reports an error of Take that says nothing of other records. What is wrong with the columns that a record declares, or
// has, is wrong with all of their kind.
func OfOne(err error) bool {
	if bad, ok := errors.AsType[*debezium.RecordError](err); ok {
		return bad.Reason != debezium.ReasonUnknown
	}
	refused, ok := errors.AsType[*refusal](err)
	return ok && refused.reason != reasonSchema
}

// Schema returns what the table's schema would be by now, nil where no table would be made yet.
func (r *Rehearsal) Schema() *table.Schema { return r.w.schema }

// Key returns the columns of the table that the record key has; nil before the first row.
func (r *Rehearsal) Key() []string {
	for _, p := range r.w.intake.plans {
		var names []string
		for _, i := range p.key {
			names = append(names, r.w.schema.Fields[i].Name)
		}
		return names
	}
	return nil
}

// Untyped reports whether rows came without types, so that the table's have told how to read them.
func (r *Rehearsal) Untyped() bool { return r.w.intake.plans[nil] != nil }

// Unknown returns the fields that the table does not have and that would be left out, in order.
func (r *Rehearsal) Unknown() []string {
	var names []string
	for _, p := range r.w.intake.plans {
		names = append(names, p.Unknown()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Passed returns how many bad records would be left out or put aside, as on-error and the other policies say, and what is
// wrong with the first.
func (r *Rehearsal) Passed() (n int64, first error) {
	return r.w.intake.passed.count, r.w.intake.passed.first
}

// Skipped returns how many records gave no row, by reason.
func (r *Rehearsal) Skipped() map[string]int64 { return r.w.counters.read().Skipped }
