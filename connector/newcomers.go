package connector

import (
	"context"
	"slices"
	"time"

	"sink/commit"
	"sink/debezium"
	"sink/table"
)

// newcomer is a partition that its topic has got since the table read the others. A topic that grows gives keys another partition: what the new
// one has of a key comes after all that the old ones have of it. So a table takes it only when it has passed where the old ones ended at a
// time when the new one had a record: by then who writes to the topic knew of it. Until then it is owed to the table.
type newcomer struct {
	filled bool                           // a record was seen in it
	ends   map[table.TopicPartition]int64 // of the old ones, after that; nil: not asked for yet
}

// How often a table looks after the partitions that wait: one without a record may stay so.
const (
	newcomersEvery = time.Second
	emptyEvery     = 10 * time.Second
)

// hasToWait reports whether a partition has to wait, and begins to look after it. One is new if the map has others of its topic, and all are lower:
// topics grow at the end. One that was taken before the map had any is not.
func (w *worker) hasToWait(tp table.TopicPartition, log *partitionLog) bool {
	_, mapped := w.state.Progress.Offsets[tp]
	old := w.mappedOf(tp.Topic)
	if mapped || w.otherID(tp, log.topicID) != "" || log.taken || log.found != nil || len(old) == 0 || slices.Max(old) > tp.Partition {
		log.taken = true
		delete(w.newcomers, tp)
		return false
	}
	if w.newcomers[tp] == nil {
		w.newcomers[tp] = &newcomer{filled: log.end > 0}
		w.log.Info().Str("topic", tp.Topic).Int32("partition", tp.Partition).
			Msg("the topic has got this partition since the table was last written; it is read after what the others held when its first record came")
	}
	w.tellWaiting(tp, log)
	w.newcomersTimer.Reset(newcomersEvery)
	return true
}

// tellWaiting counts what lies in a partition that waits as lag.
func (w *worker) tellWaiting(tp table.TopicPartition, log *partitionLog) {
	w.counters.update(func(s *TableStats) {
		s.Positions[lagKey(tp)] = Lag{Topic: tp.Topic, Partition: tp.Partition, Committed: log.start, Position: log.start, End: log.end}
	})
}

// mappedOf returns the partitions of a topic that the table's newest map has.
func (w *worker) mappedOf(topic string) (partitions []int32) {
	for tp := range w.state.Progress.Offsets {
		if tp.Topic == topic {
			partitions = append(partitions, tp.Partition)
		}
	}
	return partitions
}

// lookAfterNewcomers takes over the partitions whose turn has come.
func (w *worker) lookAfterNewcomers() {
	if len(w.newcomers) == 0 || w.problem() != nil { // who comes back looks at them anew
		return
	}
	every := newcomersEvery
	defer func() {
		if len(w.newcomers) > 0 {
			w.newcomersTimer.Reset(every)
		}
	}()
	if w.flight != nil { // it has the committer
		return
	}
	ready, err := w.readyNewcomers(&every)
	if err != nil {
		w.log.Debug().Err(err).Msg("cannot look after new partitions, trying again")
		return
	}
	if len(ready) == 0 {
		return
	}
	w.regrow(ready)
	to, err := w.begin(w.c.life, ready)
	if err == nil && w.problem() == nil {
		w.c.askRewind(w, to)
	}
}

// readyNewcomers returns the partitions that have waited long enough. It looks less often where none has a record, and not at the table.
func (w *worker) readyNewcomers(every *time.Duration) (map[table.TopicPartition]partitionLog, error) {
	ctx, cancel := context.WithTimeout(w.c.life, lookWithin)
	defer cancel()
	waiting := map[table.TopicPartition]partitionLog{}
	for tp := range w.newcomers {
		waiting[tp] = w.comeback.owed[tp]
	}
	logs, err := w.c.describeTopics(ctx, topicsIn(waiting)) // before the state, as JudgeOffset asks
	if err != nil {
		return nil, err
	}
	asked := false
	*every = emptyEvery
	for tp, n := range w.newcomers {
		if log, there := logs[tp]; there {
			w.tellWaiting(tp, &log)
			n.look(tp, logs)
		}
		if n.filled {
			*every = newcomersEvery
		}
		asked = asked || n.ends != nil
	}
	if !asked {
		return nil, nil
	}
	state, err := w.committer.Resume(ctx)
	if err != nil {
		return nil, err
	}
	ready := map[table.TopicPartition]partitionLog{}
	for tp, n := range w.newcomers {
		if log, there := logs[tp]; there && n.ends != nil && w.passed(state, n.ends, logs) {
			log.taken, log.end = true, waiting[tp].end
			ready[tp] = log
		}
	}
	return ready, nil
}

// look notes whether a record has come, and asks for the ends of the others after that: of all that came before it, whether the table has read of
// them or not.
func (n *newcomer) look(tp table.TopicPartition, logs map[table.TopicPartition]partitionLog) {
	if !n.filled {
		n.filled = logs[tp].end > 0
		return
	}
	if n.ends != nil {
		return
	}
	n.ends = map[table.TopicPartition]int64{}
	for old, log := range logs {
		if old.Topic == tp.Topic && old.Partition < tp.Partition {
			n.ends[old] = log.end
		}
	}
}

// passed reports whether all before some ends is in the table, or gave no row.
func (w *worker) passed(state commit.State, ends map[table.TopicPartition]int64, logs map[table.TopicPartition]partitionLog) bool {
	for tp, end := range ends {
		at := max(state.Progress.Offsets[tp].Offset, logs[tp].start)
		if group := logs[tp].group; commit.JudgeOffset(state, w.name, at, group.At, group.Metadata) == commit.OffsetForward {
			at = group.At
		}
		if own, _, ok := w.durableAt(tp); ok && w.partitions[tp] != nil {
			at = max(at, own.Offset)
		}
		if at < end {
			return false
		}
	}
	return true
}

// regrow has the partitions that are here know how many their topics have by now. What was bound for a topic of one partition is bound anew: of
// several, more is asked.
func (w *worker) regrow(logs map[table.TopicPartition]partitionLog) {
	anew := false
	for tp, log := range logs {
		for at, p := range w.partitions {
			if at.Topic == tp.Topic && p.log.partitions < log.partitions {
				anew = anew || p.log.partitions == 1
				p.log.partitions = log.partitions
			}
		}
	}
	if !anew || w.schema == nil {
		return
	}
	w.schema = w.schema.Clone() // what was read ahead is bound to the other
	w.intake.plans = map[*debezium.Shape]*plan{}
	w.mu.Lock()
	w.lanes.schema = w.schema
	w.mu.Unlock()
}
