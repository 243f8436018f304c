package connector

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sink/commit"
	"sink/connector/upkeep"
	"sink/table"
)

// How often a table is looked after: at most five times a second while it is written, and at least once a minute. Expiry is due
// once a minute, and after an error there is a pause.
const (
	careAtMost  = 200 * time.Millisecond
	careAtLeast = time.Minute
	carePause   = 30 * time.Second
)

// caretaker has a table compacted and expired in the background, as long as this instance leads it: of the instances that
// write the table the one with its lowest partition. Several may take themselves for the leader for a while, which only
// makes some of their work in vain. It never stops the intake, unless the table has so many sorted runs that its stop
// trigger asks for it.
type caretaker struct {
	w    *worker
	wake chan struct{}

	leads atomic.Bool
	// behind says that the table has, or may have, too many sorted runs: checkpoints wait for compaction, or for a look.
	behind atomic.Bool
	most   atomic.Int64 // sorted runs of the fullest bucket when last looked
	since  atomic.Int64 // commits since then: each may have added one
	stop   atomic.Int64 // num-sorted-run.stop-trigger; 0: nobody waits

	snapshot int64 // the newest that the worker has told of; owned by its goroutine

	// owned by the goroutine of run
	keeper  *upkeep.Keeper // nil: not opened
	warned  bool           // that checkpoints wait
	began   time.Time      // the last round
	expired time.Time      // the last expiry
	paused  time.Time      // no round before
}

func newCaretaker(w *worker) *caretaker { return &caretaker{w: w, wake: make(chan struct{}, 1)} }

// start starts the goroutine, and returns what waits for its end, which comes when the process lets go.
func (k *caretaker) start() (wait func()) {
	var group sync.WaitGroup
	group.Go(k.run)
	return group.Wait
}

// tell notes what the worker knows: whether this instance leads, and the newest snapshot. The worker's goroutine calls it.
func (k *caretaker) tell() {
	w := k.w
	leads := w.committer != nil && w.problem() == nil && leadsBy(w.cfg.Topics, w.partitions)
	news := k.leads.Swap(leads) != leads
	if k.snapshot != w.state.SnapshotID {
		k.snapshot, news = w.state.SnapshotID, true
		k.since.Add(1)
		if stop := k.stop.Load(); leads && stop > 0 && k.most.Load()+k.since.Load() > stop {
			k.behind.Store(true)
		}
	}
	if news {
		k.poke()
	}
}

func (k *caretaker) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// leadsBy reports whether the lowest partition of a table's topics is among those given: partition 0 of the first topic by
// name. Topics that a pattern finds are not all known to each instance: any of them then makes a leader.
func leadsBy(topics []string, partitions map[table.TopicPartition]*partition) bool {
	if len(topics) > 0 {
		_, ok := partitions[table.TopicPartition{Topic: slices.Min(topics)}]
		return ok
	}
	for tp := range partitions {
		if tp.Partition == 0 {
			return true
		}
	}
	return false
}

// run is the caretaker's goroutine.
func (k *caretaker) run() {
	ctx := k.w.c.life
	timer := time.NewTimer(careAtLeast)
	defer timer.Stop()
	for {
		select {
		case <-k.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if wait := max(time.Until(k.began.Add(careAtMost)), time.Until(k.paused)); wait > 0 {
			timer.Reset(wait)
			continue
		}
		timer.Reset(careAtLeast)
		if !k.leads.Load() {
			k.keeper = nil
			k.letGo()
			k.note(func(u *Upkeep) { u.Leads, u.Runs, u.LiveFiles, u.LiveBytes = false, 0, 0, 0 })
			continue
		}
		if err := k.w.c.upkeep.Acquire(ctx, 1); err != nil {
			return
		}
		k.began = time.Now()
		err := k.round(ctx)
		k.w.c.upkeep.Release(1)
		if err != nil && ctx.Err() == nil {
			k.failed(err)
		}
	}
}

// failed logs what kept a round from its end. That another job was faster, or that a snapshot expired while it was read, is
// nothing to tell of.
func (k *caretaker) failed(err error) {
	switch {
	case errors.Is(err, commit.ErrConflict), errors.Is(err, commit.ErrBusy):
		k.w.log.Debug().Err(err).Msg("compaction was in vain: another job was faster")
		k.poke()
	case errors.Is(err, fs.ErrNotExist):
		k.w.log.Debug().Err(err).Msg("compaction or expiry met a snapshot that has expired")
		k.poke()
	default:
		k.w.log.Warn().Err(err).Dur("again_in", carePause).Msg("compaction or expiry failed; the intake goes on")
		k.note(func(u *Upkeep) { u.Failures++ })
		k.paused, k.keeper = time.Now().Add(carePause), nil
		k.poke()
	}
	k.letGo()
}

// round compacts what needs it most, and removes what has expired when it is time.
func (k *caretaker) round(ctx context.Context) error {
	if k.keeper == nil {
		keeper, err := upkeep.Open(ctx, k.config())
		if err != nil {
			return err
		}
		k.keeper = keeper
	}
	seen := k.since.Load()
	most, err := k.keeper.MostRuns(ctx)
	if err != nil {
		return err
	}
	files, bytes := k.keeper.Live()
	k.note(func(u *Upkeep) { u.Leads, u.Runs, u.LiveFiles, u.LiveBytes = true, int64(most), files, bytes })
	options := k.keeper.Options()
	if options.WriteOnly {
		k.letGo()
		return nil
	}
	k.since.Add(-seen)
	k.most.Store(int64(most))
	k.stop.Store(int64(options.StopTrigger))
	if most <= options.StopTrigger {
		k.goOn()
	} else if k.behind.Store(true); !k.warned {
		k.warned = true
		k.w.log.Warn().Int("runs", most).Msg("checkpoints wait for compaction: a bucket has more sorted runs than num-sorted-run.stop-trigger")
	}
	if most >= options.Trigger || k.keeper.Due() {
		if err := k.compact(ctx); err != nil {
			return err
		}
	}
	k.note(func(u *Upkeep) { u.Compacted = time.Now() })
	if time.Since(k.expired) < careAtLeast || k.w.counters.read().Snapshot == 0 { // before the first map only a complete history tells that there was none
		return nil
	}
	k.expired = time.Now()
	return k.expire(ctx)
}

func (k *caretaker) config() upkeep.Config {
	c := k.w.c
	return upkeep.Config{
		Store: c.cfg.Store, Path: k.w.path, User: c.cfg.Group, SingleWriter: c.cfg.SingleWriter, Memory: c.memory.add,
		MaxRuns: int(min(max(c.cfg.Memory/(64<<20), 4), 32)), // so that a job takes no more than some tenth of the budget
	}
}

func (k *caretaker) compact(ctx context.Context) error {
	start := time.Now()
	r, err := k.keeper.Compact(ctx, upkeep.Scope{})
	if err != nil || r.Snapshot == 0 {
		return err
	}
	k.w.log.Info().Int64("snapshot", r.Snapshot).Int("buckets", r.Buckets).Int("removed", r.Removed).Int("added", r.Added).
		Int64("changelog", r.ChangelogRows).Int64("read", r.BytesRead).Int64("written", r.BytesWritten).Dur("took_ms", time.Since(start)).Msg("compacted")
	k.note(func(u *Upkeep) {
		u.Compactions++
		u.ReadBytes += r.BytesRead
		u.WrittenBytes += r.BytesWritten
		u.Took += time.Since(start)
	})
	k.poke() // there may be more to do, and the writer may wait
	return nil
}

func (k *caretaker) expire(ctx context.Context) error {
	e, err := k.keeper.Expire(ctx)
	for _, p := range e.Unclear {
		k.w.log.Warn().Str("partition", p).Msg("partition does not expire: its values tell no time")
	}
	if len(e.Tagged) > 0 {
		k.w.log.Info().Strs("tags", e.Tagged).Msg("tagged, by option tag.automatic-creation")
	}
	if e.Strays > 0 {
		k.w.log.Warn().Int64("snapshots", e.Strays).Msg("deleted snapshots that had expired and were made again: a writer slept for longer than they are kept, and died")
	}
	if e.Orphans > 0 {
		k.w.log.Info().Int("files", e.Orphans).Msg("deleted orphan files: nothing has named them for a day")
	}
	if e.Snapshots+e.Changelogs+e.Tags+e.Consumers > 0 || len(e.Partitions) > 0 {
		k.w.log.Info().Int64("snapshots", e.Snapshots).Int64("changelogs", e.Changelogs).Int64("tags", e.Tags).
			Strs("partitions", e.Partitions).Int64("files", e.Files+e.Metadata).Msg("expired")
	}
	k.note(func(u *Upkeep) {
		u.Snapshots += e.Snapshots
		u.Orphans += int64(e.Orphans)
		if err == nil {
			u.Expired = time.Now()
		}
	})
	return err
}

// note changes what is told of the upkeep.
func (k *caretaker) note(f func(*Upkeep)) {
	k.w.counters.update(func(s *TableStats) {
		f(&s.Upkeep)
		s.Upkeep.Waiting = k.behind.Load()
	})
}

// goOn lets checkpoints go on.
func (k *caretaker) goOn() {
	k.warned = false
	if k.behind.Swap(false) {
		k.w.poke()
	}
}

// letGo has nobody wait for this caretaker, which does not know how the table is doing.
func (k *caretaker) letGo() {
	k.stop.Store(0)
	k.goOn()
}
