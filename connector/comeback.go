package connector

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cenkalti/backoff/v5"

	"sink/commit"
	"sink/table"
)

// TableRetry is how long a failed table waits until it is tried again: about Initial, then twice as long after each failure
// in a row, up to Max. A snapshot, or a run without failure as long as Max, ends the row.
type TableRetry struct{ Initial, Max time.Duration }

// comeback is how a worker that has stopped goes on again, where `on-table-failure: retry` asks for it. Trying again is what a
// restart of the process is, for one table: everything uncommitted is gone already, and the partitions are taken over anew, with
// all the checks of an assignment. So what stopped the table stops it again unless it has been mended, at the same record.
//
// A problem that a new start would not meet again (mappings that contradict each other), and one that only a user can decide (a
// table that was rolled back, records that are gone), parks the table for good.
type comeback struct {
	timer *time.Timer
	wait  *backoff.ExponentialBackOff // nil: the table is parked
	began time.Time                   // the last try
	cause error                       // of that; nil when it is known to be gone. Guarded by the worker's mu
	at    *place                      // where the table stopped; nil: at a checkpoint
	// owed are partitions that were assigned while the table could not take them.
	owed map[table.TopicPartition]partitionLog
}

func newComeback(cfg *Config, t *Table) comeback {
	b := comeback{timer: time.NewTimer(time.Hour), owed: map[table.TopicPartition]partitionLog{}}
	b.timer.Stop()
	if t.OnTableFailure == Retry && !cfg.UntilEnd { // who wants to reach an end starts the process again
		b.wait = backoff.NewExponentialBackOff()
		b.wait.InitialInterval, b.wait.MaxInterval, b.wait.Multiplier = cfg.TableRetry.Initial, cfg.TableRetry.Max, 2
		b.wait.Reset()
	}
	return b
}

// place is a record; zero: none, where nothing has been read yet.
type place struct {
	tp     table.TopicPartition
	offset int64
}

// lasting is a problem that trying the table again cannot mend, or must not pass over.
type lasting struct{ error }

func (l *lasting) Unwrap() error { return l.error }

// stop ends the table's work: what it holds uncommitted goes, later records are dropped, its committed offsets stay. What
// on-table-failure says decides whether it is tried again after a while, or parked until the process is started anew.
func (w *worker) stop(problem error) { w.stopAt(nil, problem) }

// stopAt is stop at a record.
func (w *worker) stopAt(at *place, problem error) {
	if w.problem() != nil {
		return
	}
	again := w.retriable(problem)
	w.mu.Lock()
	w.stopped, w.parked, w.comeback.cause = problem, !again, nil
	w.mu.Unlock()
	w.comeback.at = at
	if !again {
		w.log.Error().Err(problem).Msg("table stopped; the other tables go on")
		w.counters.update(func(s *TableStats) { s.State, s.Problem = Stopped, problem.Error(); s.Failures++ })
	} else {
		w.waits(problem)
	}
	w.discard()
	w.c.dismiss(w)
	w.c.wakePoll()
}

// park stops the table for good.
func (w *worker) park(problem error) { w.stop(&lasting{problem}) }

// retriable reports whether a table with this problem is tried again.
func (w *worker) retriable(problem error) bool {
	_, state := errors.AsType[*commit.StateError](problem)
	_, lasts := errors.AsType[*lasting](problem)
	return w.comeback.wait != nil && !state && !lasts && w.c.life.Err() == nil
}

// waits has the table tried again later.
func (w *worker) waits(problem error) {
	b := &w.comeback
	if time.Since(b.began) > b.wait.MaxInterval {
		b.wait.Reset()
	}
	wait := b.wait.NextBackOff()
	b.timer.Reset(wait)
	w.log.Error().Err(problem).Dur("again_in", wait).Msg("table stopped, to be tried again; the other tables go on")
	w.counters.update(func(s *TableStats) {
		s.State, s.Problem, s.Again = Waiting, problem.Error(), time.Now().Add(wait)
		s.Failures++
	})
}

// comeBack tries a table again that has stopped.
func (w *worker) comeBack() {
	if w.problem() == nil || w.comeback.wait == nil {
		return
	}
	w.comeback.began = time.Now()
	w.log.Info().Msg("trying the table again")
	logs, err := w.logsAnew()
	w.mu.Lock()
	w.stopped, w.comeback.cause = nil, w.stopped
	w.mu.Unlock()
	w.counters.update(func(s *TableStats) { s.State, s.Again = Degraded, time.Time{} }) // the problem stays until it is known to be gone
	if err != nil {
		w.stopAt(w.comeback.at, fmt.Errorf("table %s: look up its partitions: %w", w.name, err))
		return
	}
	if w.scout != nil {
		w.scout.comeBack(logs)
		return
	}
	w.void()
	to, err := w.begin(w.c.life, logs)
	if err != nil || w.problem() != nil {
		return
	}
	w.wentOn(to)
}

// wentOn has the records come that the table wants after it came back.
func (w *worker) wentOn(to table.Offsets) {
	w.recovered()
	w.c.askRewind(w, to)
	w.proven()
}

// proven ends the row of failures when what stopped the table is known to be gone: the record is covered, or a checkpoint has been
// made, or the partition is another instance's.
func (w *worker) proven() {
	b := &w.comeback
	w.mu.Lock()
	cause := b.cause
	if cause != nil && b.at != nil && w.partitions[b.at.tp] != nil && w.durable[b.at.tp].Offset <= b.at.offset {
		cause = nil
	}
	if cause != nil {
		b.cause = nil
	}
	w.mu.Unlock()
	if cause != nil {
		b.wait.Reset()
		w.log.Info().Msg("table goes on")
	}
}

// trouble returns why the table has stopped, or had stopped before it was tried again and got no further yet; nil while it goes on.
func (w *worker) trouble() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == nil {
		return w.comeback.cause
	}
	return w.stopped
}

// logsAnew describes the partitions of the table as they are now, but for where they ended when the table began: that is where
// `start: latest` means.
func (w *worker) logsAnew() (map[table.TopicPartition]partitionLog, error) {
	logs := maps.Clone(w.comeback.owed)
	for tp, p := range w.partitions {
		log := p.log
		log.skipped = w.skipped(tp, p)
		logs[tp] = log
	}
	if len(logs) == 0 {
		return nil, nil
	}
	now, err := w.c.describeTopics(w.c.life, topicsIn(logs))
	if err != nil {
		maps.Copy(w.comeback.owed, logs)
		return nil, err
	}
	for tp, old := range logs {
		log, there := now[tp]
		if !there {
			delete(logs, tp) // with its topic
			continue
		}
		log.found, log.end, log.skipped, log.taken = old.found, old.end, old.skipped, old.taken
		logs[tp] = log
	}
	return logs, nil
}

// askWhetherRead makes sure that the poll loop, which begins where an assignment wanted, reads all that the worker wants by then: it may
// have been tried again, or gone back, in between.
func (w *worker) askWhetherRead(begun table.Offsets, logs map[table.TopicPartition]partitionLog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = append(w.commands, func() {
		to := table.Offsets{}
		for tp := range logs {
			p := w.partitions[tp]
			if at, ok := begun[tp]; p != nil && w.problem() == nil && (!ok || p.next.Offset < at.Offset) {
				to[tp] = p.next
			}
		}
		if len(to) > 0 {
			w.c.askRewind(w, to)
		}
	})
	w.poke()
}
