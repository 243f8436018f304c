package connector

import (
	"sync/atomic"

	"sink/debezium"
)

// rereads looks out for rows of incremental snapshots, which Debezium reads again while it streams. One that the table has had before
// becomes a new row once more in the changelog: folding that by key is right, a SUM over it is not. The user is told, once a run.
//
// Only the first read event behind events of other kinds is looked at, so that an initial snapshot costs nothing.
type rereads struct {
	told   *atomic.Bool // of the table
	within bool         // the last event was a read
}

// meets reports whether the event at hand is the first row of an incremental snapshot that is met.
func (r *rereads) meets(f *debezium.Frame, op debezium.Op) bool {
	first := op == debezium.OpRead && !r.within
	r.within = op == debezium.OpRead
	if !first || r.told.Load() {
		return false
	}
	source, err := f.Source()
	return err == nil && source.Snapshot == debezium.SnapshotIncremental
}

// tellReread tells of the row of an incremental snapshot at hand.
func (w *worker) tellReread() {
	if w.intake.rereads.told.Swap(true) {
		return
	}
	r := &w.intake.record
	w.log.Warn().Str("topic", r.Topic).Int32("partition", r.Partition).Int64("offset", r.Offset).
		Msg("rows of an incremental snapshot: what the table has had before is in the changelog as a new row once more; folded by key it is right, a SUM over it is not")
}
