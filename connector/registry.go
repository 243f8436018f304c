package connector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"sink/debezium"
	"sink/table"
)

// errInterrupted ends the wait for a schema registry at a record, which is not taken and has to be read again.
var errInterrupted = errors.New("the wait for the schema registry was broken off")

// patience is how long a worker waits for a schema registry: until its context ends.
type patience struct {
	ctx context.Context
	end context.CancelFunc
}

func newPatience(life context.Context) *patience {
	ctx, end := context.WithCancel(life)
	return &patience{ctx, end}
}

// hurry has the worker wait for no schema registry until done is called: whoever calls do would wait with it, and a group for that.
func (w *worker) hurry() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hurries++
	w.patience.Load().end()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.hurries--; w.hurries == 0 {
			w.patience.Store(newPatience(w.c.life))
		}
	}
}

// readLater has a partition read again from a record on that could not be taken now. What was applied before it stays.
func (w *worker) readLater(tp table.TopicPartition, from table.Cursor) {
	w.refuse([]table.TopicPartition{tp}) // nothing behind the record may be applied before it
	w.c.askRewind(w, table.Offsets{tp: from})
}

// awaitRegistry frames the record at hand, for which there was no answer, until the registry has answered. The error is the record's, or
// errInterrupted. A rehearsal does not wait long, and not at all for what does not pass by itself.
func (w *worker) awaitRegistry(decoder *debezium.Decoder, err error) error {
	ctx := w.patience.Load().ctx
	if w.rehearses {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rehearsalWaits)
		defer cancel()
	}
	began, last := time.Now(), err
	pauses := &atLeast{BackOff: retries()}
	tries := 0
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		if tries++; tries > 1 {
			err = decoder.Frame(ctx, &w.intake.record, &w.intake.frame)
		}
		failed, none := errors.AsType[*debezium.RegistryError](err)
		switch {
		case !none:
			return struct{}{}, backoff.Permanent(err)
		case w.rehearses && !failed.Passing:
			return struct{}{}, backoff.Permanent(err)
		}
		last, pauses.least = err, failed.After
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(0), backoff.WithBackOff(pauses), backoff.WithNotify(w.tellRegistry(began)))
	switch {
	case w.rehearses && err != nil && !isRecords(err):
		return fmt.Errorf("%s: its schema: %w", w.at(), last)
	case err != nil && ctx.Err() != nil:
		return errInterrupted
	}
	w.intake.registryTold = time.Time{}
	if tries > 1 {
		w.recovered()
		w.log.Info().Dur("waited", time.Since(began)).Msg("the schema registry has answered")
	}
	return err
}

// atLeast waits no less than it was asked to.
type atLeast struct {
	backoff.BackOff
	least time.Duration
}

func (a *atLeast) NextBackOff() time.Duration { return max(a.BackOff.NextBackOff(), a.least) }

// tellRegistry tells that the registry does not answer: at once, and then now and then.
func (w *worker) tellRegistry(began time.Time) backoff.Notify {
	return func(err error, next time.Duration) {
		w.counters.update(func(s *TableStats) {
			if s.State == Running {
				s.State, s.Problem = Degraded, err.Error()
			}
		})
		now := time.Now()
		if told := w.intake.registryTold; !told.IsZero() && now.Sub(told) < tellEvery {
			return
		}
		w.intake.registryTold = now
		r := &w.intake.record
		w.log.Warn().Err(err).Str("topic", r.Topic).Int32("partition", r.Partition).Int64("offset", r.Offset).
			Dur("waited", now.Sub(began)).Dur("again_in", next).Msg("waiting for the schema registry: the record's schema is not known yet")
	}
}
