package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sink/commit"
	"sink/table"
)

// Why Run ends by itself.
var (
	errReached    = errors.New("all that was on the topics at the start is committed")
	errAllStopped = errors.New("every table has stopped")
)

// ErrInterrupted is returned by Run under UntilEnd when it was asked to stop before the end was reached. What was read by then is
// committed.
var ErrInterrupted = errors.New("stopped before all that was on the topics at the start was committed; the next run goes on from there")

// goal is where UntilEnd ends: the last stable offsets of all partitions when the process started. It is reached when this
// process has committed offsets behind it, and other instances have for the partitions that they read.
type goal struct {
	c    *Connector
	ends map[table.TopicPartition]int64
}

// newGoal asks the brokers where the topics end now. A partition may be changing its leader: it asks for a while.
func newGoal(ctx context.Context, c *Connector, topics []string) (g *goal, err error) {
	err = ask(ctx, func(ctx context.Context) (err error) {
		g, err = lookUpGoal(ctx, c, topics)
		return err
	})
	return g, err
}

func lookUpGoal(ctx context.Context, c *Connector, topics []string) (*goal, error) {
	g := &goal{c: c, ends: map[table.TopicPartition]int64{}}
	if len(topics) == 0 {
		return g, nil
	}
	starts, err := c.admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list start offsets: %w", err)
	}
	ends, err := c.admin.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list end offsets: %w", err)
	}
	if err := errors.Join(starts.Error(), ends.Error()); err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	for topic, partitions := range ends {
		for p, end := range partitions {
			if start, ok := starts.Lookup(topic, p); ok && end.Offset > start.Offset {
				g.ends[table.TopicPartition{Topic: topic, Partition: p}] = end.Offset
			}
		}
	}
	return g, nil
}

// passed reports whether all records that the goal asks of a partition lie before a position.
func (g *goal) passed(tp table.TopicPartition, position int64) bool {
	return g != nil && position >= g.ends[tp]
}

// watch ends the run when the goal is reached, or nothing is left that could still get there.
func (g *goal) watch(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if g.reached(ctx) {
			stop(errReached)
			return
		}
	}
}

// reached looks at what this process has committed and, for partitions of others, at what the group has. Offsets that the group
// had before may be those of other tables, or of a table that was dropped since: who reads a partition commits what is so.
func (g *goal) reached(ctx context.Context) bool {
	committed := g.c.offsets.snapshot()
	left := g.left(committed)
	if len(left) == 0 {
		return true
	}
	maps.DeleteFunc(left, func(tp table.TopicPartition, _ int64) bool { return !g.c.othersRead(tp) })
	if len(left) == 0 {
		return false
	}
	group, err := g.c.admin.FetchOffsets(ctx, g.c.cfg.Group)
	if err != nil {
		return false
	}
	for tp := range left {
		if at, ok := group.Lookup(tp.Topic, tp.Partition); ok && at.Err == nil && g.speaksOfAll(tp.Topic, at.Metadata) {
			committed[tp] = at.At
		}
	}
	return len(g.left(committed)) == 0
}

// speaksOfAll reports whether an offset was committed for every table and every rule of routing that this process has for a topic.
// Metadata without any, since they were too many to name, speaks of all.
func (g *goal) speaksOfAll(topic, metadata string) bool {
	marks, ours := commit.ParseOffsetMetadata(metadata)
	if len(marks) == 0 {
		return ours
	}
	return !slices.ContainsFunc(g.c.marksOf(topic), func(name string) bool {
		return !slices.ContainsFunc(marks, func(m commit.Mark) bool { return m.Table == name })
	})
}

// left returns the partitions whose goal the given offsets have not passed. Those that only stopped tables read do not
// count: they will not move.
func (g *goal) left(committed map[table.TopicPartition]int64) map[table.TopicPartition]int64 {
	left := map[table.TopicPartition]int64{}
	for tp, end := range g.ends {
		if committed[tp] < end && !g.c.held(tp) {
			left[tp] = end
		}
	}
	return left
}
