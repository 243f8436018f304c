package connector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"sink/commit"
	"sink/table"
)

// assign takes over partitions: their positions come from the table's newest snapshot. It returns where each begins; a
// table that has stopped wants none. The error is the context's: anything else is tried again or stops the table.
func (w *worker) assign(ctx context.Context, logs map[table.TopicPartition]partitionLog) (offsets table.Offsets, err error) {
	defer w.hurry()()
	ended := w.do(ctx, func(ctx context.Context) {
		w.settle()
		w.keepFound(logs)
		switch {
		case w.problem() != nil:
			maps.Copy(w.comeback.owed, logs)
		case w.scout != nil:
			offsets, err = w.scout.assign(ctx, logs)
		default:
			w.clear(logs)
			offsets, err = w.begin(ctx, logs)
		}
	})
	return offsets, errors.Join(err, ended)
}

// clear forgets partitions that an assignment which was broken off has left: who reads them begins anew, and may have to wait.
func (w *worker) clear(logs map[table.TopicPartition]partitionLog) {
	w.refuse(slices.Collect(maps.Keys(logs)))
	for tp := range logs {
		delete(w.partitions, tp)
	}
}

// keepFound has partitions that are here go on from where the table was found in them first: a scout finds a table again that was
// stopped and comes back, at a record far behind those that no snapshot has.
func (w *worker) keepFound(logs map[table.TopicPartition]partitionLog) {
	for tp, log := range logs {
		before := w.comeback.owed[tp]
		if p := w.partitions[tp]; p != nil {
			before = p.log
		}
		if before.found != nil && log.found != nil && before.topicID == log.topicID {
			log.found = before.found
			logs[tp] = log
		}
	}
}

// begin takes over partitions from the table's newest snapshot on. It returns nothing when the table stops over what it finds.
// The error is the context's.
func (w *worker) begin(ctx context.Context, logs map[table.TopicPartition]partitionLog) (table.Offsets, error) {
	maps.Copy(w.comeback.owed, logs)
	if err := w.resumeBehind(ctx, logs); err != nil || w.problem() != nil {
		return nil, err
	}
	offsets := table.Offsets{}
	for tp, log := range logs {
		if w.hasToWait(tp, &log) {
			continue
		}
		p, problem := w.position(tp, log)
		if problem != nil {
			w.park(fmt.Errorf("table %s: %w", w.name, problem))
			return nil, nil
		}
		w.partitions[tp] = p
		offsets[tp] = p.next
	}
	maps.DeleteFunc(w.comeback.owed, func(tp table.TopicPartition, _ partitionLog) bool { _, taken := offsets[tp]; return taken })
	w.publishAnew(offsets)
	w.tellSecondGroup(offsets)
	return offsets, nil
}

// How often the newest snapshot is read when the group's offsets come from one that is not found, and how long after each other.
const (
	looksForSnapshot = 3
	lookAgainAfter   = time.Second
)

// resumeBehind is resume, and looks again for a snapshot that the group's offsets come from and that is not found: it may just have been made, and
// not be seen yet. What stays so is a rollback, which position tells of.
func (w *worker) resumeBehind(ctx context.Context, logs map[table.TopicPartition]partitionLog) error {
	for look := 1; ; look++ {
		if err := w.resume(ctx); err != nil || w.problem() != nil || look == looksForSnapshot || !w.missesSnapshot(logs) {
			return err
		}
		select {
		case <-time.After(lookAgainAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// missesSnapshot reports whether an offset of the group comes from a snapshot that the table does not seem to have.
func (w *worker) missesSnapshot(logs map[table.TopicPartition]partitionLog) bool {
	for _, log := range logs {
		if log.group.At >= 0 && commit.JudgeOffset(w.state, w.name, begunAnywhere, log.group.At, log.group.Metadata) == commit.OffsetRollback {
			return true
		}
	}
	return false
}

// resume reads the table's newest snapshot of ours, waiting for a store that does not answer, and raises the sequence
// numbers above it. A state that needs the user stops the table. The error is the context's.
func (w *worker) resume(ctx context.Context) error {
	state, err := retried(ctx, w, "read the newest snapshot", func() (commit.State, error) {
		if w.committer == nil {
			committer, err := commit.Open(ctx, w.commitConfig())
			if errors.Is(err, fs.ErrNotExist) {
				return commit.State{Fresh: true, MaxSequence: -1}, nil
			}
			if err != nil {
				return commit.State{}, err
			}
			w.committer = committer
		}
		return w.committer.Resume(ctx)
	})
	if err == nil {
		w.state = state
		err = w.fixStart(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		w.counters.update(func(s *TableStats) { s.Snapshot, s.Committed = w.state.SnapshotID, w.state.Time })
		err = w.open()
	}
	if err != nil {
		w.stopAt(&place{}, fmt.Errorf("table %s: %w", w.name, err))
		return nil
	}
	return nil
}

// position decides where a partition begins.
func (w *worker) position(tp table.TopicPartition, log partitionLog) (*partition, error) {
	p := &partition{log: log}
	p.mapped, p.isMapped = w.state.Progress.Offsets[tp]
	if p.next = p.mapped; !p.isMapped {
		p.next = table.Cursor{Offset: log.start, Epoch: -1}
	}
	log.found.place(w, p)
	if other := w.otherID(tp, log.topicID); other != "" {
		return nil, fmt.Errorf("topic %s was deleted and made anew (topic id %s, the table has read %s): offsets of the old one mean nothing in the new one; "+
			"compare the table with its source, then `sink offsets rebase` goes on with the new topic", tp.Topic, log.topicID, other)
	}
	p.next.TopicID = log.topicID
	latest := w.state.Fresh && w.c.cfg.Start == Latest && log.found == nil
	fromEnd := latest && log.group.At < 0
	if log.group.At >= 0 {
		mapped := p.next.Offset
		if latest {
			mapped = begunAnywhere
		}
		switch commit.JudgeOffset(w.state, w.name, mapped, log.group.At, log.group.Metadata) {
		case commit.OffsetForward:
			p.next.Offset, p.next.Epoch = log.group.At, log.group.LeaderEpoch
		case commit.OffsetRollback:
			return nil, fmt.Errorf("the group %s has offset %d of topic %s partition %d from a snapshot that the table no longer has: it was rolled back, or dropped and made anew; "+
				"`sink offsets rebase` says where to go on", w.c.cfg.Group, log.group.At, tp.Topic, tp.Partition)
		case commit.OffsetIgnored:
			fromEnd = latest
			if p.isMapped && log.found == nil && log.group.At != p.next.Offset {
				w.log.Warn().Str("topic", tp.Topic).Int32("partition", tp.Partition).Int64("group_offset", log.group.At).Int64("snapshot_offset", p.next.Offset).
					Msg("the group's offset is not ours and is ignored; the snapshot's counts")
			}
		}
	}
	if fromEnd {
		p.next.Offset = log.end
	}
	if log.skipped.follows(w.state.Progress.Offsets, tp) && log.skipped.to.TopicID == log.topicID && log.skipped.to.Offset > p.next.Offset {
		p.next.Offset, p.next.Epoch = log.skipped.to.Offset, log.skipped.to.Epoch
	}
	p.log.skipped = nil // told once: it may come to be out of date
	if p.next.Offset < log.start && latest {
		return nil, fmt.Errorf("topic %s partition %d: the table has begun at offset %d (kafka.start: latest), but the log begins at %d: %d records are gone (retention, or deleted records); "+
			"`kafka.start: earliest` begins with what is left, until the table has its first snapshot", tp.Topic, tp.Partition, p.next.Offset, log.start, log.start-p.next.Offset)
	}
	if p.next.Offset < log.start {
		return nil, fmt.Errorf("topic %s partition %d: offset %d is wanted, but the log begins at %d: %d records are gone (retention, or deleted records); "+
			"`sink offsets rebase` goes on without them, or drop the table and let Debezium take a new snapshot", tp.Topic, tp.Partition, p.next.Offset, log.start, log.start-p.next.Offset)
	}
	p.deleted = deletedKey(w.state.Progress.Learned, tp)
	var err error
	p.reached, err = reachedIn(w.state.Progress.Learned, tp)
	return p, err
}

// otherID returns the id under which the newest map knows the topic of a partition, if that is not the one given: by the partition itself, or by
// any other where the map lacks it, since the topic may have been made anew with more of them.
func (w *worker) otherID(tp table.TopicPartition, id string) string {
	if id == "" {
		return ""
	}
	if at, mapped := w.state.Progress.Offsets[tp]; mapped {
		if at.TopicID == id {
			return ""
		}
		return at.TopicID
	}
	for other, at := range w.state.Progress.Offsets {
		if other.Topic == tp.Topic && at.TopicID != "" && at.TopicID != id {
			return at.TopicID
		}
	}
	return ""
}

// found tells where the scout of a table is: nothing before floor is missing from a table, and a table that no snapshot
// knows begins at at.
type found struct{ floor, at int64 }

// place moves a position that the snapshots do not tell, or tell of long ago. A table that had rows when the group's offset
// was committed and has no snapshot now was dropped: it begins at the start of the log.
func (f *found) place(w *worker, p *partition) {
	if f == nil {
		return
	}
	if p.isMapped {
		if f.floor > p.next.Offset {
			p.next.Offset, p.next.Epoch = f.floor, -1
		}
		return
	}
	marks, _ := commit.ParseOffsetMetadata(p.log.group.Metadata)
	dropped := w.state.NewestID == 0 && slices.ContainsFunc(marks, func(m commit.Mark) bool { return m.Table == w.name && m.Snapshot > 0 })
	if !dropped {
		p.next.Offset = f.at
	}
}

// fixStart makes `start: latest` of a new table true in an empty snapshot, for all partitions of its topics, so that neither a
// crash before the first row nor another instance moves it. A table that does not exist yet has only the group's offsets
// to keep it.
func (w *worker) fixStart(ctx context.Context) error {
	if !w.state.Fresh || w.c.cfg.Start != Latest || w.committer == nil || w.feeder != nil {
		return nil
	}
	delta := table.Delta{Progress: table.Progress{Offsets: table.Offsets{}, MaxSequence: -1}}
	_, err := retried(ctx, w, "fix `start: latest`", func() (commit.Result, error) {
		logs, err := w.c.describeTopics(ctx, w.c.topicsOf(w))
		if err != nil {
			return commit.Result{}, err
		}
		for tp, log := range logs {
			delta.Progress.Offsets[tp] = w.beginning(tp, log)
		}
		return w.committer.Commit(ctx, delta)
	})
	if err != nil && !readAgain(err) { // another instance may have been first
		return err
	}
	w.state, err = retried(ctx, w, "read the newest snapshot", func() (commit.State, error) { return w.committer.Resume(ctx) })
	for tp, p := range w.partitions {
		p.mapped, p.isMapped = w.state.Progress.Offsets[tp]
	}
	return err
}

// begunAnywhere stands for the offset of a map under `start: latest`, before there is one: the group's offset is where the table has begun, be it
// the start of the log.
const begunAnywhere = -1

// beginning is where a partition of a table without a snapshot begins under `start: latest`: where its owner has begun, else
// at the end.
func (w *worker) beginning(tp table.TopicPartition, log partitionLog) table.Cursor {
	if p := w.partitions[tp]; p != nil {
		return p.next
	}
	at := table.Cursor{Offset: log.end, Epoch: -1, TopicID: log.topicID}
	if log.group.At >= 0 && commit.JudgeOffset(w.state, w.name, begunAnywhere, log.group.At, log.group.Metadata) == commit.OffsetForward {
		at.Offset = log.group.At
	}
	return at
}

// revoke covers all that was read in a snapshot, then lets the partitions go. Should the process end first, what is
// uncommitted goes, and the new owner reads it again.
func (w *worker) revoke(ctx context.Context, tps []table.TopicPartition) {
	defer w.hurry()()
	_ = w.do(ctx, func(context.Context) {
		for w.applyNext() {
		}
		if w.scout != nil {
			w.cover()
			w.scout.leave(tps, func(fed *worker, own []table.TopicPartition) { fed.revoke(ctx, own) })
			w.leave(tps)
			return
		}
		w.cover()
		w.leave(tps)
	})
}

// lose drops what is uncommitted: the partitions are somebody else's already.
func (w *worker) lose(ctx context.Context, tps []table.TopicPartition) {
	w.refuse(tps)
	defer w.hurry()()
	_ = w.do(ctx, func(context.Context) {
		if w.scout != nil {
			w.scout.leave(tps, func(fed *worker, own []table.TopicPartition) { fed.lose(ctx, own) })
			w.leave(tps)
			return
		}
		uncommitted := w.uncommitted()
		w.discard()
		if uncommitted > 0 {
			w.counters.update(func(s *TableStats) { s.Fenced++ })
			w.log.Warn().Int64("records", uncommitted).Msg("the group has given partitions of this instance to others; what it held uncommitted is given up, and read again from the newest snapshot")
		}
		w.leave(tps)
		w.restart(w.c.life)
	})
}

// leave forgets partitions that are checkpointed, or whose uncommitted rows are gone.
func (w *worker) leave(tps []table.TopicPartition) {
	w.refuse(tps)
	for _, tp := range tps {
		delete(w.partitions, tp)
		delete(w.comeback.owed, tp)
		delete(w.newcomers, tp)
	}
	w.counters.update(func(s *TableStats) {
		for _, tp := range tps {
			delete(s.Positions, lagKey(tp))
		}
	})
	w.proven()
}

// restart drops everything uncommitted and has all partitions read again from the newest snapshot.
func (w *worker) restart(ctx context.Context) {
	logs := map[table.TopicPartition]partitionLog{}
	for tp, old := range w.partitions {
		log := old.log
		log.group.At, log.skipped = -1, w.skipped(tp, old) // the group's is older than the snapshot that is read now
		logs[tp] = log
	}
	w.void()
	if w.problem() != nil || len(logs) == 0 {
		return
	}
	if to, err := w.begin(ctx, logs); err == nil && w.problem() == nil {
		w.c.askRewind(w, to)
	}
}

// offsetsText is offsets as a log line has them: "orders/0=17 orders/1=4".
func offsetsText(offsets table.Offsets) string {
	words := make([]string, 0, len(offsets))
	for tp, cursor := range offsets {
		words = append(words, fmt.Sprintf("%s=%d", lagKey(tp), cursor.Offset))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func lagKey(tp table.TopicPartition) string { return fmt.Sprintf("%s/%d", tp.Topic, tp.Partition) }
