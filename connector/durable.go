package connector

import (
	"maps"

	"sink/commit"
	"sink/table"
)

// durableAt returns how far a partition is committed in the table, and the snapshot that stands for it.
func (w *worker) durableAt(tp table.TopicPartition) (table.Cursor, commit.Mark, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.durable[tp]
	return at, w.mark, ok
}

// publish makes positions known as durable: no uncommitted row lies before them.
func (w *worker) publish(offsets table.Offsets) {
	w.mu.Lock()
	maps.Copy(w.durable, offsets)
	w.mu.Unlock()
	w.tellDurable(offsets)
}

// tellDurable tells the group, and the statistics, of positions that were published.
func (w *worker) tellDurable(offsets table.Offsets) {
	w.counters.update(func(s *TableStats) {
		for tp, cursor := range offsets {
			lag, known := s.Positions[lagKey(tp)]
			if !known {
				lag = Lag{Topic: tp.Topic, Partition: tp.Partition, Position: cursor.Offset, End: -1}
				if p := w.partitions[tp]; p != nil {
					lag.End = p.log.end
				}
			}
			lag.Committed = cursor.Offset
			s.Positions[lagKey(tp)] = lag
		}
	})
	w.c.offsets.changed()
}

// publishAnew is publish of what the newest snapshot says, and has that snapshot stand for all positions from now on. Those of partitions
// that are not among them are withdrawn where its map is not the one that they follow: the group must not hear of them in its name.
func (w *worker) publishAnew(offsets table.Offsets) {
	w.mu.Lock()
	w.mark = commit.Mark{Table: w.name, Snapshot: w.state.SnapshotID, UUID: w.state.SnapshotUUID}
	maps.DeleteFunc(w.durable, func(tp table.TopicPartition, at table.Cursor) bool {
		p := w.partitions[tp]
		return p == nil || !(&skipped{p.mapped, p.isMapped, at}).follows(w.state.Progress.Offsets, tp)
	})
	maps.Copy(w.durable, offsets)
	w.mu.Unlock()
	w.tellDurable(offsets)
}

// skipped is how far this process has read a partition beyond the table's map, over records that gave no row.
type skipped struct {
	from     table.Cursor // what the map held
	isMapped bool         // false where it lacked the partition
	to       table.Cursor
}

// follows reports whether what was skipped follows what the newest map holds. It need not be read again then, and may be gone.
func (s *skipped) follows(offsets table.Offsets, tp table.TopicPartition) bool {
	if s == nil {
		return false
	}
	at, isMapped := offsets[tp]
	return isMapped == s.isMapped && at.Offset == s.from.Offset
}

// skipped returns what was skipped of a partition; nil where it has no durable position.
func (w *worker) skipped(tp table.TopicPartition, p *partition) *skipped {
	if at, _, known := w.durableAt(tp); known {
		return &skipped{p.mapped, p.isMapped, at}
	}
	return nil
}
