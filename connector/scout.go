package connector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/debezium"
	"sink/table"
)

// scout is what a worker has that owns no table, but finds the tables of a mapping by the source of each record: it frames
// the records of the mapping's topics, once, and hands each to the worker of its table. Those are fed by it alone.
//
//	poll loop -> scout -> tables
//
// What holds, beside the package's rules:
//
//  1. A table is fed from a partition without a gap from where it was found first, or from what its snapshot says, whichever is
//     later; one that was stopped and comes back is found again, which changes nothing. It is registered, with that place as its durable one, before the scout's own place can pass it. So the group's
//     offset of a partition, the lowest of all, stands for: every record before it is in a snapshot or was wanted by nobody.
//  2. That is what the scout goes on from after a restart, if the offset's metadata names this very rule of routing. Else it
//     looks at the log from its start again; tables drop what they have. A table whose snapshot is named in the metadata is
//     opened at once, so that a rollback is noticed.
//  3. Tables have generations of their own: a table that reads again gets one, and the scout goes back as far as it needs;
//     the others drop what they have had. When that table stops, the scout goes on to where the others are.
type scout struct {
	w        *worker
	feeds    map[table.TopicPartition]*feed
	known    map[sourceKey]*decision
	children []*worker
	lastGen  int
	checked  map[string]error // topics whose cleanup policy has been looked at
}

// feed is a partition that a scout reads.
type feed struct {
	floor    int64 // where it began when it was assigned: nothing before is missing from tables that its snapshots do not know
	fresh    int64 // where tables begin that no snapshot knows: `start: latest`; else the floor
	children map[*worker]*ration
	pending  pending      // after the last record
	reach    table.Cursor // as far as it has ever been; what it has skipped before is skipped for good
	atReach  pending
}

// pending is a tombstone that may come next.
type pending struct {
	w   *worker // whose delete was the last record; nil: it was something else
	key []byte  // of that
}

// ration is what a table gets of the run at hand.
type ration struct {
	w          *worker
	generation int
	next       table.Cursor // all that is its before has been handed to it
	records    []*kgo.Record
}

// sourceKey tells sources apart.
type sourceKey struct{ topic, name, db, schema, table string }

// decision is what becomes of the events of a source.
type decision struct {
	w      *worker // nil: not taken
	reason string  // why not; empty: another mapping takes them
}

// newScout returns the worker that finds the tables of a mapping. c.mu is held.
func newScout(c *Connector, cfg *Table) *worker {
	name := strings.ReplaceAll(cfg.Name, "${", "{") + " (routes)"
	for n := 2; c.workers[name] != nil; n++ {
		name = fmt.Sprintf("%s (routes %d)", strings.ReplaceAll(cfg.Name, "${", "{"), n)
	}
	w := newWorker(c, cfg, name, "")
	w.scout = &scout{w: w, feeds: map[table.TopicPartition]*feed{}, known: map[sourceKey]*decision{}, checked: map[string]error{}}
	w.mark = commit.Mark{Table: routeMark + cfg.rule(), UUID: "0"}
	w.counters.update(func(s *TableStats) { s.Routes = true })
	return w
}

// routeMark begins the name under which a group offset's metadata keeps a rule of routing. No table has a name without a dot.
const routeMark = "route:"

// assign takes over partitions, and has the tables that are known for them take them over, too.
func (s *scout) assign(ctx context.Context, logs map[table.TopicPartition]partitionLog) (table.Offsets, error) {
	offsets := table.Offsets{}
	for tp, log := range logs {
		p, f, err := s.begin(tp, log)
		if err != nil {
			s.w.park(fmt.Errorf("%s: %w", s.w.name, err))
			return nil, nil
		}
		s.w.partitions[tp], s.feeds[tp] = p, f
	}
	back := table.Offsets{} // of partitions that were here before
	topics := s.tablesOf(logs)
	for _, w := range slices.SortedFunc(maps.Keys(topics), func(a, b *worker) int { return strings.Compare(a.name, b.name) }) {
		again, err := s.feed(ctx, w, topics[w])
		if err != nil {
			return nil, err
		}
		maps.Copy(back, again)
	}
	maps.DeleteFunc(back, func(tp table.TopicPartition, _ table.Cursor) bool { _, now := logs[tp]; return now })
	if len(back) > 0 {
		s.w.c.askRewind(s.w, back)
	}
	for tp := range logs {
		offsets[tp] = s.w.partitions[tp].next
	}
	s.w.publish(offsets)
	return offsets, nil
}

// begin decides where the scout begins in a partition.
func (s *scout) begin(tp table.TopicPartition, log partitionLog) (*partition, *feed, error) {
	p := &partition{log: log, next: table.Cursor{Offset: log.start, Epoch: -1, TopicID: log.topicID}, reached: map[string]*reached{}}
	f := &feed{floor: log.start, fresh: log.start, children: map[*worker]*ration{}}
	marks, ours := commit.ParseOffsetMetadata(log.group.Metadata)
	sameRule := slices.ContainsFunc(marks, func(m commit.Mark) bool { return m.Table == s.w.mark.Table })
	switch {
	case log.group.At < 0:
		if s.w.c.cfg.Start == Latest {
			f.fresh = log.end
		}
	case ours && sameRule && log.group.At > log.end && log.end >= 0:
		return nil, nil, fmt.Errorf("topic %s partition %d: the group %s has offset %d, but the log ends at %d: the topic was made anew, or its log cut; compare with the source, then `sink offsets rebase`",
			tp.Topic, tp.Partition, s.w.c.cfg.Group, log.group.At, log.end)
	case ours && sameRule && log.group.At < log.start:
		return nil, nil, fmt.Errorf("topic %s partition %d: offset %d is wanted, but the log begins at %d: %d records are gone (retention, or deleted records); "+
			"`sink offsets rebase` goes on without them, or drop the tables and let Debezium take a new snapshot", tp.Topic, tp.Partition, log.group.At, log.start, log.start-log.group.At)
	case ours && sameRule:
		p.next.Offset, p.next.Epoch = log.group.At, log.group.LeaderEpoch
		f.floor, f.fresh = log.group.At, log.group.At
	default:
		if s.w.c.cfg.Start == Latest {
			f.fresh = max(log.start, log.group.At)
		}
		s.w.log.Info().Str("topic", tp.Topic).Int32("partition", tp.Partition).
			Msg("the group's offset says nothing of this rule of routing; the topic is looked through from its start, and tables drop what they have")
	}
	return p, f, nil
}

// tablesOf returns the tables that are fed from some of the partitions, each with the topics that do: those known to this process,
// and those that the offsets' metadata names and the mapping alone can make.
func (s *scout) tablesOf(logs map[table.TopicPartition]partitionLog) map[*worker][]string {
	out := map[*worker][]string{}
	for tp, log := range logs {
		add := func(w *worker) {
			if !slices.Contains(out[w], tp.Topic) {
				out[w] = append(out[w], tp.Topic)
			}
		}
		for _, w := range s.w.c.fedBy(tp.Topic) {
			if w.feeder == s.w {
				add(w)
			}
		}
		marks, _ := commit.ParseOffsetMetadata(log.group.Metadata)
		if !slices.ContainsFunc(marks, func(m commit.Mark) bool { return m.Table == s.w.mark.Table }) {
			continue
		}
		for _, m := range marks {
			if s.w.c.onlyMakes(s.w.cfg, m.Table) {
				w, err := s.child(m.Table)
				if err == nil {
					add(w)
				}
			}
		}
	}
	return out
}

// child returns the worker of a table, made if it is new. A table of another mapping is refused.
func (s *scout) child(name string) (*worker, error) {
	c := s.w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.workers[name]; w != nil {
		if w.feeder != s.w {
			return nil, sharedMappings(name, w.cfg.Name, s.w.cfg.Name)
		}
		return w, nil
	}
	database, tableName, _ := strings.Cut(name, ".")
	cfg := *s.w.cfg
	cfg.Name, cfg.Topics = name, nil
	w := newWorker(c, &cfg, name, table.NewPath(database, tableName))
	w.feeder = s.w
	c.workers[name] = w
	s.children = append(s.children, w)
	c.running.Go(w.run)
	return w, nil
}

func topicsIn(logs map[table.TopicPartition]partitionLog) []string {
	var topics []string
	for tp := range logs {
		if !slices.Contains(topics, tp.Topic) {
			topics = append(topics, tp.Topic)
		}
	}
	return topics
}

// feed has a table take over all partitions of the topics that are assigned here, but for those that feed it already: of
// these it may hold rows that no snapshot has, and would be given them twice. It feeds the table from where it wants to begin,
// and returns where the scout has to go back to for it. The error is the context's; a table that stops over what it finds
// gets nothing.
func (s *scout) feed(ctx context.Context, w *worker, topics []string) (back table.Offsets, err error) {
	logs := map[table.TopicPartition]partitionLog{}
	for tp, f := range s.feeds {
		p := s.w.partitions[tp]
		if p == nil || f.children[w] != nil || !slices.Contains(topics, tp.Topic) { // nil: given up, for the process lets go
			continue
		}
		log := p.log
		log.found = &found{floor: f.floor, at: max(p.next.Offset, f.fresh)}
		logs[tp] = log
		s.w.c.register(w, tp.Topic)
	}
	offsets, err := w.assign(ctx, logs)
	if err != nil {
		return nil, err
	}
	back = table.Offsets{}
	for tp, cursor := range offsets {
		if s.admit(w, tp, cursor) {
			back[tp] = s.w.partitions[tp].next
		}
	}
	return back, nil
}

// admit feeds a table from a cursor on, under a new generation. It reports whether the scout has to go back for it.
func (s *scout) admit(w *worker, tp table.TopicPartition, cursor table.Cursor) (back bool) {
	f, p := s.feeds[tp], s.w.partitions[tp]
	if f == nil || p == nil {
		return false
	}
	s.lastGen++
	f.children[w] = &ration{w: w, generation: s.lastGen, next: cursor}
	w.accept(tp, s.lastGen)
	if cursor.Offset >= p.next.Offset {
		return false
	}
	p.next.Offset, p.next.Epoch = cursor.Offset, cursor.Epoch
	f.pending.w = nil
	return true
}

// refeed has a table of this scout get records again from where its newest snapshot ends. It does not wait.
func (s *scout) refeed(w *worker, to table.Offsets) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.commands = append(s.w.commands, func() {
		back := table.Offsets{}
		for tp, cursor := range to {
			if s.admit(w, tp, cursor) {
				back[tp] = s.w.partitions[tp].next
			}
		}
		if len(back) > 0 && s.w.problem() == nil {
			s.w.c.askRewind(s.w, back)
		}
	})
	s.w.poke()
}

// leave checkpoints, or drops, what the tables have of partitions that go, and forgets them.
func (s *scout) leave(tps []table.TopicPartition, leave func(*worker, []table.TopicPartition)) {
	share := map[*worker][]table.TopicPartition{}
	for _, tp := range tps {
		for _, w := range s.w.c.fedBy(tp.Topic) { // those that have stopped, too
			if w.feeder == s.w {
				share[w] = append(share[w], tp)
			}
		}
	}
	var group sync.WaitGroup
	for w, own := range share {
		group.Go(func() { leave(w, own) })
	}
	group.Wait()
	for _, tp := range tps {
		delete(s.feeds, tp)
	}
}

// take finds out which table a record is for. The scout's own errors are judged as the records of a table are.
func (s *scout) take(rec *kgo.Record, tp table.TopicPartition) error {
	f := s.feeds[tp]
	last := f.pending
	f.pending.w = nil
	if err := s.w.decode(); err != nil {
		if errors.Is(err, errInterrupted) {
			f.pending = last
			return err
		}
		if _, bad := errors.AsType[*debezium.RecordError](err); bad && s.foreign(rec.Topic) {
			return s.unrouted(err)
		}
		return err
	}
	frame := &s.w.intake.frame
	switch frame.Kind {
	case debezium.KindChange, debezium.KindFlat, debezium.KindTruncate:
	case debezium.KindTombstone:
		return s.tombstone(f, last, rec)
	default:
		s.w.skip(frame.Kind.String())
		return nil
	}
	source, err := frame.Source()
	if err != nil {
		return err
	}
	if source.Table == "" {
		return s.unrouted(errNoTable)
	}
	d, err := s.decide(tp, source)
	if err != nil {
		return err
	}
	if d.w == nil {
		switch {
		case d.reason == notWanted:
			return s.unrouted(fmt.Errorf("no mapping takes the events of %s", source))
		case d.reason != "":
			s.w.skip(d.reason)
		}
		return nil
	}
	if r := f.children[d.w]; r != nil { // else the table has stopped
		r.records = append(r.records, rec)
		if frame.Op == debezium.OpDelete {
			f.pending.w, f.pending.key = d.w, append(f.pending.key[:0], rec.Key...)
		}
	}
	return nil
}

// foreign reports whether a topic has shown no table of this mapping, which says nothing of topics: it may be anybody's.
func (s *scout) foreign(topic string) bool {
	return s.w.cfg.open() && !slices.ContainsFunc(s.w.c.fedBy(topic), func(w *worker) bool { return w.feeder == s.w })
}

// unrouted judges a record that is for none of the tables.
func (s *scout) unrouted(cause error) error {
	if s.w.cfg.OnUnrouted == Fail {
		return &refusal{reason: notWanted, err: fmt.Errorf("%s: %w; add a mapping, name it under `exclude:`, or set on-unrouted to skip", s.w.at(), cause)}
	}
	s.w.skip(notWanted)
	return nil
}

// tombstone hands a tombstone to the table of the delete right before it. Another says nothing of its table.
func (s *scout) tombstone(f *feed, last pending, rec *kgo.Record) error {
	if last.w == nil && s.w.cfg.Compacted {
		last = s.pendingAt(f, rec)
	}
	if last.w != nil && bytes.Equal(last.key, rec.Key) {
		if r := f.children[last.w]; r != nil {
			r.records = append(r.records, rec)
		}
		return nil
	}
	if !s.w.cfg.Compacted {
		s.w.skip("tombstone")
		return nil
	}
	return &refusal{reason: reasonBefore, err: fmt.Errorf("%s: a tombstone (a key without a value) whose delete event does not come right before it, on a topic whose tables are told apart by their events: it does not say which table it is of; "+
		"set cleanup.policy=delete on the topic, or map the topic to one table by `topic:`", s.w.at())}
}

// decide returns what becomes of the events of a source, and has its table found when it is new.
func (s *scout) decide(tp table.TopicPartition, source debezium.Source) (*decision, error) {
	key := sourceKey{tp.Topic, source.Name, source.DB, source.Schema, source.Table}
	d := s.known[key]
	if d == nil {
		d = &decision{}
		if d.reason = s.w.cfg.Refuses(source); d.reason == "" {
			var err error
			if d.w, err = s.find(tp.Topic, source); err != nil {
				return nil, err
			}
		} else if s.w.c.otherTakes(s.w.cfg, tp.Topic, source) {
			d.reason = ""
		}
		s.known[key] = d
	}
	if d.w == nil || s.feeds[tp].children[d.w] != nil || d.w.problem() != nil {
		return d, nil //nolint:nilerr // the table's problem is told elsewhere
	}
	return d, s.discover(tp, d.w)
}

// find returns the worker of the table that a source's events go to, after it has made sure that nothing else does.
func (s *scout) find(topic string, source debezium.Source) (*worker, error) {
	name, err := s.w.cfg.Target(topic, source)
	if err != nil {
		return nil, err
	}
	w, err := s.child(name)
	if err != nil {
		return nil, err
	}
	problem := s.checkTopic(topic)
	if others := s.w.c.topicsOf(w); problem == nil && len(others) > 0 && !slices.Contains(others, topic) && !w.cfg.disjoint() {
		problem = sharedTable(name, others[0], topic)
	}
	if problem == nil {
		err = w.do(s.w.c.life, func(ctx context.Context) {
			if w.committer == nil && w.problem() == nil {
				err = w.resume(ctx) // what its snapshots say it is made of
			}
			if w.problem() == nil {
				problem = w.claim(topic, source)
			}
		})
	}
	if problem != nil {
		w.askStop(fmt.Errorf("table %s: %w", name, problem))
	}
	return w, err
}

// checkTopic refuses a compacted topic that was not looked at when the process started.
func (s *scout) checkTopic(topic string) error {
	if !s.w.cfg.open() || s.w.cfg.Compacted {
		return nil
	}
	err, done := s.checked[topic]
	if !done {
		ctx, cancel := context.WithTimeout(s.w.c.life, reachWithin)
		defer cancel()
		err = s.w.c.checkCompactionOf(ctx, s.w.cfg, []string{topic})
		s.checked[topic] = err
	}
	return err
}

// discover has a table take over the partitions of a topic. When it wants records that the scout has passed, the scout goes
// back: errReadAgain where that is in the partition at hand.
func (s *scout) discover(at table.TopicPartition, w *worker) error {
	back, err := s.feed(s.w.c.life, w, []string{at.Topic})
	if err != nil {
		return err
	}
	if len(back) > 0 {
		s.w.c.askRewind(s.w, back)
	}
	if _, here := back[at]; here {
		return errReadAgain
	}
	return nil
}

// handOn gives the tables their records of a run, up to where the scout is now, and lets all of them pass what was not
// theirs.
func (s *scout) handOn(r run, next table.Cursor) {
	f := s.feeds[r.tp]
	if f == nil {
		return
	}
	for w, ration := range f.children {
		w.enqueue(run{tp: r.tp, generation: ration.generation, records: ration.records, next: next, stable: r.stable, pending: f.pending.w == w})
		ration.records = nil
		if next.Offset > ration.next.Offset {
			ration.next = next
		}
	}
	if next.Offset > f.reach.Offset {
		f.reach = next
		f.atReach.w, f.atReach.key = f.pending.w, append(f.atReach.key[:0], f.pending.key...)
	}
}

// pendingAt returns the table whose newest snapshot ends with a delete right before a record: the scout may have begun in between.
func (s *scout) pendingAt(f *feed, rec *kgo.Record) (found pending) {
	tp := table.TopicPartition{Topic: rec.Topic, Partition: rec.Partition}
	for w := range f.children {
		_ = w.do(s.w.c.life, func(context.Context) {
			if p := w.partitions[tp]; p != nil && p.deleted != nil && p.isMapped && p.mapped.Offset == rec.Offset && p.next.Offset == rec.Offset {
				found = pending{w, p.deleted}
			}
		})
	}
	return found
}

// dismiss has a table that has stopped get no records, and goes on to where the others are.
func (s *scout) dismiss(w *worker) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.commands = append(s.w.commands, func() {
		for tp, f := range s.feeds {
			if f.children[w] != nil {
				delete(f.children, w)
				s.advance(tp, f)
			}
		}
	})
	s.w.poke()
}

// advance goes on to the first record of a partition that the scout has not seen, or that a table wants.
func (s *scout) advance(tp table.TopicPartition, f *feed) {
	to, after := f.reach, f.atReach
	for _, r := range f.children {
		if r.next.Offset < to.Offset {
			to, after = r.next, pending{}
		}
	}
	if p := s.w.partitions[tp]; p != nil && p.next.Offset < to.Offset {
		p.next.Offset, p.next.Epoch = to.Offset, to.Epoch
		f.pending.w, f.pending.key = after.w, append(f.pending.key[:0], after.key...)
		s.w.c.askAdvance(s.w, tp, to)
	}
}

// comeBack has a scout that had stopped go on: at the record where it was, and in partitions that were assigned meanwhile.
func (s *scout) comeBack(logs map[table.TopicPartition]partitionLog) {
	w := s.w
	to := table.Offsets{}
	for tp, p := range w.partitions {
		to[tp] = p.next
	}
	maps.DeleteFunc(logs, func(tp table.TopicPartition, _ partitionLog) bool { _, has := to[tp]; return has })
	clear(w.comeback.owed)
	fresh, err := s.assign(w.c.life, logs)
	if err != nil || w.problem() != nil {
		return
	}
	maps.Copy(to, fresh)
	w.wentOn(to)
}
