package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/table"
)

// rewind moves partitions of one table back to where its newest snapshot ends, after it gave up what it held.
type rewind struct {
	worker *worker
	to     table.Offsets
}

// adjust replaces the group's offsets of newly assigned partitions by those of the tables' newest snapshots: the group's are
// a courtesy to lag monitors, the snapshots' are the truth. It runs in the client's group goroutine and may wait for a store;
// its context ends when the assignment is taken back. The client joins the group as soon as it is made, so the first call
// waits until the connector is ready.
func (c *Connector) adjust(ctx context.Context, assigned map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.life.Done():
		return nil, context.Cause(c.life)
	}
	c.update(func(s *Stats) { s.Rebalances++; s.BrokersReady = true })
	c.addOmitted(assigned)
	logs, err := backoff.Retry(ctx, func() (map[table.TopicPartition]partitionLog, error) { return c.describeLogs(ctx, assigned) },
		backoff.WithMaxElapsedTime(0), backoff.WithBackOff(retries()), backoff.WithNotify(func(err error, next time.Duration) {
			c.cfg.Log.Warn().Err(err).Dur("again_in", next).Msg("cannot look up the assigned partitions, trying again")
		}))
	if err != nil {
		return nil, fmt.Errorf("look up the assigned partitions: %w", err)
	}
	starts := map[table.TopicPartition]table.Cursor{}
	wanted, err := c.assign(ctx, logs)
	if err != nil {
		return nil, err
	}
	defer c.offsets.changed()
	c.mu.Lock()
	defer c.mu.Unlock()
	for w, cursors := range wanted {
		w.askWhetherRead(cursors, logs)
		for tp, cursor := range cursors {
			c.listen(w, tp, cursor)
			w.accept(tp, c.generation)
			if at, ok := starts[tp]; !ok || cursor.Offset < at.Offset {
				starts[tp] = cursor
			}
		}
	}
	for topic, partitions := range assigned {
		for p := range partitions {
			tp := table.TopicPartition{Topic: topic, Partition: p}
			start, ok := starts[tp]
			if !ok { // no table wants it now: its tables have stopped
				start = table.Cursor{Offset: logs[tp].end, Epoch: -1}
				c.cursors[tp] = map[*worker]*listener{}
			}
			c.polled[tp] = start.Offset
			partitions[p] = kgo.NewOffset().At(start.Offset).WithEpoch(start.Epoch)
		}
	}
	return assigned, nil
}

// addOmitted adds what the group has given to this process and nobody reads yet. The client leaves partitions out for which the group
// did not answer with an offset, and would never read them.
func (c *Connector) addOmitted(assigned map[string]map[int32]kgo.Offset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for tp := range c.assignment {
		if _, reading := c.cursors[tp]; reading {
			continue
		}
		if assigned[tp.Topic] == nil {
			assigned[tp.Topic] = map[int32]kgo.Offset{}
		}
		if _, known := assigned[tp.Topic][tp.Partition]; !known {
			assigned[tp.Topic][tp.Partition] = kgo.NewOffset()
		}
	}
}

// listener is a worker that gets the records of a partition.
type listener struct {
	generation int          // of dispatches to it
	next       table.Cursor // what it gets next: it has been given all that it wants before
}

// listen has the worker get the records of a partition from a cursor on, under a new generation. c.mu is held.
func (c *Connector) listen(w *worker, tp table.TopicPartition, from table.Cursor) {
	c.generation++
	if c.cursors[tp] == nil {
		c.cursors[tp] = map[*worker]*listener{}
	}
	c.cursors[tp][w] = &listener{c.generation, from}
}

// dismiss has a worker that has stopped get no records. The other tables of its topics need not read again what they have had.
func (c *Connector) dismiss(w *worker) {
	if w.feeder != nil {
		w.feeder.scout.dismiss(w)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rewinds = slices.DeleteFunc(c.rewinds, func(r rewind) bool { return r.worker == w })
	for tp, listeners := range c.cursors {
		if listeners[w] != nil {
			delete(listeners, w)
			c.advances = append(c.advances, tp)
		}
	}
	c.wake()
}

// askAdvance has the poll loop go on with a partition from a cursor, if no other worker wants what comes before.
func (c *Connector) askAdvance(w *worker, tp table.TopicPartition, to table.Cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.cursors[tp][w]; l != nil && l.next.Offset < to.Offset {
		l.next = to
		c.advances = append(c.advances, tp)
		c.wake()
	}
}

// assign tells each table's worker which partitions are its own now, and returns where each wants to begin. A worker that
// has stopped, or stops over what it finds, wants nothing.
func (c *Connector) assign(ctx context.Context, logs map[table.TopicPartition]partitionLog) (map[*worker]table.Offsets, error) {
	byWorker := map[*worker]map[table.TopicPartition]partitionLog{}
	for tp, log := range logs {
		workers, err := c.route(tp.Topic)
		if err != nil {
			return nil, err
		}
		for _, w := range workers {
			if byWorker[w] == nil {
				byWorker[w] = map[table.TopicPartition]partitionLog{}
			}
			byWorker[w][tp] = log
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs error
	wanted := map[*worker]table.Offsets{}
	for w, logs := range byWorker {
		group.Go(func() {
			offsets, err := w.assign(ctx, logs)
			mu.Lock()
			defer mu.Unlock()
			wanted[w], errs = offsets, errors.Join(errs, err)
		})
	}
	group.Wait()
	return wanted, errs
}

// assigned notes what the group gives to this process, before the positions are looked up (see adjust). It is called when nothing
// was given, too.
func (c *Connector) assigned(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.assignment == nil {
		c.assignment = map[table.TopicPartition]bool{}
	}
	for _, tp := range flatten(partitions) {
		c.assignment[tp] = true
	}
}

// othersRead reports whether a partition is left to other instances.
func (c *Connector) othersRead(tp table.TopicPartition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.assignment != nil && !c.assignment[tp]
}

// revoked checkpoints every table that reads a revoked partition before another instance may have it. It runs while no
// poll is under way, so all that was polled is with the workers.
func (c *Connector) revoked(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	c.release(partitions, func(w *worker, tps []table.TopicPartition) { w.revoke(ctx, tps) })
	c.offsets.commit(ctx, flatten(partitions))
	c.forget(partitions)
}

// lost gives up all that the tables of the partitions hold uncommitted: another instance reads them already.
func (c *Connector) lost(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	c.release(partitions, func(w *worker, tps []table.TopicPartition) { w.lose(ctx, tps) })
	c.forget(partitions)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.assignment = nil
}

// release calls leave at once for each worker with its share of the partitions, and waits for all. One that has stopped hears of
// it, too: it may be tried again; and one that has taken a partition in an assignment which was broken off, before anyone read it.
func (c *Connector) release(partitions map[string][]int32, leave func(*worker, []table.TopicPartition)) {
	share := map[*worker][]table.TopicPartition{}
	c.mu.Lock()
	for _, tp := range flatten(partitions) {
		for _, w := range c.routes[tp.Topic] {
			share[w] = append(share[w], tp)
		}
	}
	c.mu.Unlock()
	var group sync.WaitGroup
	for w, tps := range share {
		group.Go(func() { leave(w, tps) })
	}
	group.Wait()
}

// forget stops dispatching the partitions.
func (c *Connector) forget(partitions map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Rebalances++
	for _, tp := range flatten(partitions) {
		delete(c.cursors, tp)
		delete(c.polled, tp)
		delete(c.assignment, tp)
	}
	c.offsets.forget(flatten(partitions))
}

// askRewind has the poll loop move partitions back; the worker drops all records dispatched before.
func (c *Connector) askRewind(w *worker, to table.Offsets) {
	if w.feeder != nil {
		w.feeder.scout.refeed(w, to)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.refuse(slices.Collect(maps.Keys(to))) // also what an earlier rewind, carried out meanwhile, has it accept
	c.rewinds = append(c.rewinds, rewind{w, to})
	c.wake()
}

// rewind carries out what was asked for. It runs between a poll and AllowRebalance, when no partition can leave. It only
// goes back: a table that another instance has brought further drops what comes before its cursor, but another table
// of the topic may still want it. When a table has stopped it goes on to where the others are.
func (c *Connector) rewind() {
	c.mu.Lock()
	asked, advances := c.rewinds, c.advances
	c.rewinds, c.advances = nil, nil
	positions := map[string]map[int32]kgo.EpochOffset{}
	move := func(tp table.TopicPartition, to table.Cursor) {
		c.polled[tp] = to.Offset
		if positions[tp.Topic] == nil {
			positions[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		positions[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: to.Epoch, Offset: to.Offset}
	}
	for _, r := range asked {
		for tp, cursor := range r.to {
			if _, owned := c.cursors[tp]; !owned {
				continue
			}
			c.listen(r.worker, tp, cursor)
			r.worker.accept(tp, c.generation)
			if cursor.Offset < c.polled[tp] {
				move(tp, cursor)
			}
		}
	}
	for _, tp := range advances {
		if lowest, any := lowestOf(c.cursors[tp]); any && lowest.Offset > c.polled[tp] {
			move(tp, lowest)
		}
	}
	c.mu.Unlock()
	if len(positions) > 0 {
		c.client.SetOffsets(positions)
	}
}

// lowestOf returns what the listener gets next that is furthest behind; false where nobody listens.
func lowestOf(listeners map[*worker]*listener) (lowest table.Cursor, any bool) {
	for _, l := range listeners {
		if !any || l.next.Offset < lowest.Offset {
			lowest, any = l.next, true
		}
	}
	return lowest, any
}

// partitionLog is what the brokers say of a partition when it is assigned.
type partitionLog struct {
	topicID    string // hex; empty where brokers know none
	start, end int64  // first offset, and the last stable offset
	partitions int    // of its topic
	group      kadm.Offset
	found      *found   // where the table's scout is; nil: it has none
	skipped    *skipped // nil: this process knows of none
	taken      bool     // the table has taken it before, or has not had to wait for it, see newcomer
}

// describeLogs asks the brokers for the logs of the assigned partitions and the group's offsets in them.
func (c *Connector) describeLogs(ctx context.Context, assigned map[string]map[int32]kgo.Offset) (map[table.TopicPartition]partitionLog, error) {
	var topics []string
	for topic := range assigned {
		topics = append(topics, topic)
	}
	details, err := c.admin.ListTopics(ctx, topics...)
	if err != nil {
		return nil, err
	}
	starts, err := c.admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	ends, err := c.admin.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	group, err := c.admin.FetchOffsets(ctx, c.cfg.Group)
	if err != nil {
		return nil, err
	}
	if ends, err = c.catchUp(ctx, topics, ends, group); err != nil {
		return nil, err
	}
	logs := map[table.TopicPartition]partitionLog{}
	for topic, partitions := range assigned {
		for p := range partitions {
			start, _ := starts.Lookup(topic, p)
			end, _ := ends.Lookup(topic, p)
			if err := errors.Join(start.Err, end.Err, details[topic].Err); err != nil {
				return nil, fmt.Errorf("topic %s partition %d: %w", topic, p, err)
			}
			log := partitionLog{start: start.Offset, end: end.Offset, partitions: len(details[topic].Partitions)}
			if id := details[topic].ID; id != (kadm.TopicID{}) {
				log.topicID = fmt.Sprintf("%x", id[:])
			}
			if at, ok := group.Lookup(topic, p); ok && at.Err == nil {
				log.group = at.Offset
			} else {
				log.group.At = -1
			}
			logs[table.TopicPartition{Topic: topic, Partition: p}] = log
		}
	}
	return logs, nil
}

// endsWithin is how long the end of a log may lie before the group's offset until it is believed: a new leader, or one that does
// not know yet that it is none, may not have heard of the last records (KIP-207).
const endsWithin = 15 * time.Second

var errBehind = errors.New("the log ends before the group's offset")

// catchUp asks again for ends that lie before offsets of ours. They were asked for first, so that `start: latest` leaves nothing
// out, and another instance may have read further since, all the more when this one was held in between.
func (c *Connector) catchUp(ctx context.Context, topics []string, ends kadm.ListedOffsets, group kadm.OffsetResponses) (kadm.ListedOffsets, error) {
	if !behind(ends, group) {
		return ends, nil
	}
	ends, err := backoff.Retry(ctx, func() (kadm.ListedOffsets, error) {
		ends, err := c.admin.ListCommittedOffsets(ctx, topics...)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		if behind(ends, group) {
			return ends, errBehind
		}
		return ends, nil
	}, backoff.WithMaxElapsedTime(endsWithin), backoff.WithBackOff(retries()))
	if errors.Is(err, errBehind) {
		return ends, nil // so it is: the worker says what to do
	}
	return ends, err
}

// behind reports whether a log ends before an offset that the group has of ours.
func behind(ends kadm.ListedOffsets, group kadm.OffsetResponses) (found bool) {
	group.Each(func(at kadm.OffsetResponse) {
		end, asked := ends.Lookup(at.Topic, at.Partition)
		if asked && end.Err == nil && at.Err == nil && at.At > end.Offset {
			_, ours := commit.ParseOffsetMetadata(at.Metadata)
			found = found || ours
		}
	})
	return found
}

// describeTopics describes all partitions of some topics.
func (c *Connector) describeTopics(ctx context.Context, topics []string) (map[table.TopicPartition]partitionLog, error) {
	details, err := c.admin.ListTopics(ctx, topics...)
	if err != nil {
		return nil, err
	}
	all := map[string]map[int32]kgo.Offset{}
	for _, d := range details {
		all[d.Topic] = map[int32]kgo.Offset{}
		for p := range d.Partitions {
			all[d.Topic][p] = kgo.NewOffset()
		}
	}
	return c.describeLogs(ctx, all)
}

func flatten(partitions map[string][]int32) []table.TopicPartition {
	var out []table.TopicPartition
	for topic, ps := range partitions {
		for _, p := range ps {
			out = append(out, table.TopicPartition{Topic: topic, Partition: p})
		}
	}
	return out
}
