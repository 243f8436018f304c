package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"sink/commit"
	"sink/flush"
	"sink/table"
)

// retryWithin is how long a checkpoint is tried again after its first failure before its table stops. Long enough for a
// store to come back, short enough that somebody hears of it.
const retryWithin = 10 * time.Minute

// flight is a checkpoint under way: sealed rows, and the offsets that they stand for. Its goroutine writes result and
// closes done.
type flight struct {
	sealed  *flush.Checkpoint // nil when there are only letters and no table
	letters []letter
	from    table.Offsets // of the partitions below, what the newest map held
	to      table.Offsets // partitions that moved, and where to
	learned map[string]string
	records int64
	size    int64 // bytes of the sealed rows
	newest  time.Time
	began   time.Time
	cancel  context.CancelCauseFunc
	done    chan struct{}

	delta  table.Delta
	result commit.Result
	err    error
}

// checkpointIfDue seals a checkpoint when time, bytes, records or the goal ask for it, and none is under way.
func (w *worker) checkpointIfDue() {
	if w.flight != nil || w.records == 0 && !w.moved || w.problem() != nil || w.care.behind.Load() {
		return
	}
	limits := w.c.cfg.Checkpoint
	due := time.Since(w.since) >= limits.Interval || w.records >= limits.Records || w.buffered.Load() >= limits.Bytes || w.atGoal()
	if due {
		w.seal()
	}
}

// atGoal reports whether all that UntilEnd asks of this table's partitions has been applied.
func (w *worker) atGoal() bool {
	if w.c.goal == nil {
		return false
	}
	for tp, p := range w.partitions {
		if !w.c.goal.passed(tp, p.next.Offset) {
			return false
		}
	}
	return true
}

// seal hands the buffers to a checkpoint and starts it. When the records since the last one gave no rows, there is
// nothing to make visible: the positions become durable as they are, unless a snapshot has to remember what they have shown: a delete without
// rows that waits for its tombstone, or what before images are worth.
func (w *worker) seal() {
	to, from := table.Offsets{}, table.Offsets{}
	for tp, p := range w.partitions {
		if p.isMapped && p.mapped.Offset == p.next.Offset {
			continue
		}
		to[tp] = p.next
		if p.isMapped {
			from[tp] = p.mapped
		}
	}
	records := w.records
	w.records, w.moved = 0, false
	w.timer.Stop()
	letters := w.takeLetters()
	rows := w.writer != nil && !w.writer.Empty()
	recalls := w.writer != nil && (w.awaitsTombstone(to) || w.hasLearned())
	if !rows && len(letters) == 0 && !recalls {
		w.publish(to)
		w.proven()
		return
	}
	ctx, cancel := context.WithCancelCause(w.c.life)
	f := &flight{
		letters: letters, from: from, to: to, learned: w.learned(to), records: records, size: w.buffered.Load(),
		newest: w.intake.newest, began: time.Now(), cancel: cancel, done: make(chan struct{}),
	}
	if rows || recalls || len(letters) > 0 && w.writer != nil {
		w.raise()
		f.sealed = w.writer.Seal() // without rows too: a snapshot keeps the next process from putting the same letters into another file
	}
	if w.committer != nil {
		if err := w.adopt(); err != nil { // another writer's schema, seen by the last commit
			w.stop(fmt.Errorf("table %s: %w", w.name, err))
			return
		}
	}
	w.inFlight.Store(f.size)
	w.c.memory.add(f.size)
	w.account()
	w.flight = f
	committer := w.committer
	go func() {
		defer close(f.done)
		f.err = w.carry(ctx, committer, f)
	}()
}

// carry puts letters aside, makes the files of a checkpoint and commits them, trying again after errors that may pass.
func (w *worker) carry(ctx context.Context, committer *commit.Committer, f *flight) error {
	flushed, delivered := false, false
	attempt := func() (struct{}, error) {
		if !delivered {
			if err := w.deliver(ctx, f.letters); err != nil {
				return struct{}{}, err
			}
			delivered = true
		}
		if f.sealed == nil { // there is no table yet, and the group's offsets are all that remembers the letters
			w.publish(f.to)
			w.c.offsets.commit(ctx, slices.Collect(maps.Keys(f.to)))
			return struct{}{}, nil
		}
		if err := w.c.writers.Acquire(ctx, 1); err != nil {
			return struct{}{}, err
		}
		defer w.c.writers.Release(1)
		if !flushed {
			delta, err := f.sealed.Flush(ctx)
			if errors.Is(err, flush.ErrMerge) {
				return struct{}{}, backoff.Permanent(err)
			}
			if err != nil {
				return struct{}{}, err
			}
			delta.From, delta.Progress.Offsets, delta.Progress.Learned = f.from, f.to, f.learned
			f.delta, flushed = delta, true
		}
		result, err := committer.Commit(ctx, f.delta)
		if err != nil && final(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		f.result = result
		return struct{}{}, err
	}
	_, err := backoff.Retry(ctx, attempt, backoff.WithMaxElapsedTime(retryWithin), backoff.WithBackOff(retries()), backoff.WithNotify(w.degraded("checkpoint")))
	return err
}

// retries is how long to wait between attempts at a store or broker.
func retries() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 200*time.Millisecond, 15*time.Second
	return b
}

// degraded returns what to tell of an attempt that failed and will be repeated.
func (w *worker) degraded(what string) backoff.Notify {
	return func(err error, next time.Duration) {
		w.log.Warn().Err(err).Dur("again_in", next).Msgf("%s failed, trying again", what)
		w.counters.update(func(s *TableStats) {
			s.Retries++
			if s.State == Running {
				s.State, s.Problem = Degraded, err.Error()
			}
		})
	}
}

// recovered takes a degraded table back to running, unless its last checkpoint was given up without a certain outcome: it has to be seen
// that a snapshot can be made again.
func (w *worker) recovered() {
	if !w.unsettled.IsZero() {
		return
	}
	w.counters.update(func(s *TableStats) {
		if s.State == Degraded {
			s.State, s.Problem = Running, ""
		}
	})
}

// final reports errors of a commit that trying the same again cannot mend.
func final(err error) bool {
	_, state := errors.AsType[*commit.StateError](err)
	_, unlike := errors.AsType[*table.IncompatibleError](err) // of another instance's change of the schema
	return state || unlike || readAgain(err) || errors.Is(err, commit.ErrConflict)
}

// readAgain reports errors after which the table's records have to be read again from its newest snapshot.
func readAgain(err error) bool {
	for _, e := range []error{commit.ErrFenced, commit.ErrRescaled, commit.ErrAltered, commit.ErrOvertaken, commit.ErrStale, commit.ErrUnsettled} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// land takes the result of a checkpoint that has ended.
func (w *worker) land() {
	if w.flight == nil {
		return
	}
	select {
	case <-w.flight.done:
	default:
		return
	}
	f := w.flight
	w.flight = nil
	f.cancel(nil)
	w.inFlight.Store(0)
	w.c.memory.add(-f.size)
	switch {
	case f.err == nil:
		w.committed(f)
	case w.c.life.Err() != nil:
		w.givenUp += f.records
		w.void() // the process lets go; the next one reads these records again
	case w.outrun(f.err):
		w.drop(f)
		w.stop(fmt.Errorf("table %s: checkpoint: %w; this was so %d times one after the other: let the other writer commit less often, or to other buckets",
			w.name, f.err, maxOvertaken))
	case readAgain(f.err) && !w.unsettledTooLong(f):
		w.counters.update(func(s *TableStats) { s.Fenced++ })
		w.drop(f)
		w.log.Warn().Err(f.err).Msg("checkpoint given up; reading again from the newest snapshot")
		w.restart(w.c.life)
	default:
		w.drop(f)
		w.stop(fmt.Errorf("table %s: checkpoint: %w", w.name, f.err))
	}
}

// unsettledTooLong notes whether a checkpoint was given up without a certain outcome, and reports whether none has had one for as long as a
// checkpoint is tried again: a store that refuses each snapshot so has the records read again without end, and nobody would hear of it.
func (w *worker) unsettledTooLong(f *flight) bool {
	if !errors.Is(f.err, commit.ErrUnsettled) {
		return false
	}
	if w.unsettled.IsZero() {
		w.unsettled = f.began
	}
	w.counters.update(func(s *TableStats) {
		if s.State == Running {
			s.State, s.Problem = Degraded, f.err.Error()
		}
	})
	if time.Since(w.unsettled) < retryWithin {
		return false
	}
	w.unsettled = time.Time{}
	return true
}

// drop deletes the files of a checkpoint that failed, unless a snapshot may name them.
func (w *worker) drop(f *flight) {
	if f.sealed == nil || f.err == nil || errors.Is(f.err, commit.ErrUnsettled) || errors.Is(f.err, context.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(w.c.life, time.Minute)
	defer cancel()
	f.sealed.Discard(ctx)
}

// committed notes a snapshot that is there, and says so in one line.
func (w *worker) committed(f *flight) {
	w.unsettled = time.Time{}
	w.recovered()
	w.overtaken = 0
	defer w.proven()
	if f.sealed == nil {
		w.publish(f.to)
		return
	}
	w.state.SnapshotID, w.state.SnapshotUUID, w.state.Fresh = f.result.SnapshotID, f.result.UUID, false
	w.state.Progress = f.result.Progress
	if w.writer != nil {
		w.writer.Raise(f.result.Progress.MaxSequence)
		w.looked = time.Now()
	}
	for tp, to := range f.to {
		if p := w.partitions[tp]; p != nil {
			p.mapped, p.isMapped = to, true
		}
	}
	w.mu.Lock()
	w.mark = commit.Mark{Table: w.name, Snapshot: f.result.SnapshotID, UUID: f.result.UUID}
	w.mu.Unlock()
	w.publish(f.to)
	w.report(f)
	if err := w.recall(f.result.Progress.Learned); err != nil {
		w.park(fmt.Errorf("table %s: %w", w.name, err))
	}
}

// report counts a commit and logs it.
func (w *worker) report(f *flight) {
	var bytes int64
	files := len(f.delta.Added) + len(f.delta.Changelog)
	for _, list := range [][]table.File{f.delta.Added, f.delta.Changelog} {
		for _, file := range list {
			bytes += file.SizeBytes
		}
	}
	kinds := f.sealed.Rows()
	w.counters.update(func(s *TableStats) {
		s.Commits++
		s.Attempts += int64(f.result.Attempts)
		s.Files += int64(files)
		s.Bytes += bytes
		s.Snapshot, s.Committed, s.EventTime = f.result.SnapshotID, time.Now(), f.newest
		for k, n := range kinds {
			s.Rows[table.Kind(k).String()] += n
		}
	})
	line := w.log.Info().Int64("snapshot", f.result.SnapshotID).Int64("records", f.records)
	for k, n := range kinds {
		line = line.Int64(table.Kind(k).String(), n)
	}
	line.Int("files", files).Int64("bytes", bytes).Str("offsets", offsetsText(f.to)).Int("attempts", f.result.Attempts).
		Dur("took_ms", time.Since(f.began)).Msg("committed")
}

// settle waits for the checkpoint under way and takes its result.
func (w *worker) settle() {
	if w.flight != nil {
		<-w.flight.done
		w.land()
	}
}

// cover commits all that has been applied, and waits for it.
func (w *worker) cover() {
	w.settle()
	if w.records > 0 && w.problem() == nil {
		w.seal()
		w.settle()
	}
}

// coverBefore covers all that was applied before the record at hand. errReadAgain says that this record will come again,
// too: the checkpoint was in vain.
func (w *worker) coverBefore() error {
	tp := table.TopicPartition{Topic: w.intake.record.Topic, Partition: w.intake.record.Partition}
	p := w.partitions[tp]
	w.cover()
	if err := w.problem(); err != nil {
		return err
	}
	if w.partitions[tp] != p {
		return errReadAgain
	}
	return nil
}

// spill writes the fullest buffers early, to files that the next checkpoint makes visible.
func (w *worker) spill(ctx context.Context) {
	if w.intake.letterBytes > 0 && w.flight == nil && w.problem() == nil {
		w.seal() // letters cannot be spilled
		return
	}
	if w.writer == nil || w.problem() != nil {
		return
	}
	w.raise()
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, w.writer.Spill(ctx) },
		backoff.WithMaxElapsedTime(retryWithin), backoff.WithBackOff(retries()), backoff.WithNotify(w.degraded("early flush")))
	w.account()
	if err != nil {
		if ctx.Err() == nil {
			w.stop(fmt.Errorf("table %s: early flush: %w", w.name, err))
		}
		return
	}
	w.recovered()
	w.counters.update(func(s *TableStats) { s.Spills++ })
}

// void drops everything uncommitted, and the positions with it: nothing that comes after the lost rows may be told as
// covered.
func (w *worker) void() {
	if w.c.life.Err() != nil {
		w.givenUp += w.uncommitted()
	}
	w.refuse(slices.Collect(maps.Keys(w.partitions)))
	w.discard()
	clear(w.partitions)
}

// discard drops everything uncommitted: buffers, spilled files, the checkpoint under way (whose outcome no longer
// matters: the newest map tells).
func (w *worker) discard() {
	if w.flight != nil {
		w.flight.cancel(errEnded)
		<-w.flight.done
		w.c.memory.add(-w.flight.size)
		w.inFlight.Store(0)
		w.flight = nil
	}
	if w.writer != nil {
		w.writer.Discard(context.WithoutCancel(w.c.life))
		w.account()
	}
	w.takeLetters()
	w.forget()
	w.account()
	w.records, w.moved = 0, false
	w.timer.Stop()
}
