package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/connector"
	"sink/debezium"
)

// routes is what a mapping that goes by the source of records would do with the first records of its topics.
type routes struct {
	t       *connector.Table
	stages  map[string]*stage // of the tables met so far; nil: it cannot be looked at
	stopped map[string]bool   // tables that would stop
	left    map[string]int    // records that are for no table, by reason
}

// checkRoutes looks at the first records of the topics of a mapping that finds its tables by them.
func (c *checker) checkRoutes(ctx context.Context, t *connector.Table, topics []string, starts, ends kadm.ListedOffsets, configs kadm.ResourceConfigs) {
	r := &routes{
		t: t, stages: map[string]*stage{}, stopped: map[string]bool{}, left: map[string]int{},
	}
	what := "tables " + t.Name
	for i, topic := range topics {
		if i == topicsSampled {
			c.say(checkNote, what, "%s more topics are not looked at", humanCount(int64(len(topics)-i)))
			break
		}
		if err := c.route(ctx, r, topic, starts, ends, configs); err != nil {
			c.say(checkFail, what, "%v", err)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.left)) {
		c.say(checkNote, what, "%s among the first are for no table: %s", plural(r.left[reason], "record"), reason)
	}
	for _, name := range slices.Sorted(maps.Keys(r.stages)) {
		if s := r.stages[name]; s != nil && !r.stopped[name] {
			c.tell(s)
		}
	}
	if len(r.stages) == 0 {
		c.say(checkNote, what, "none of the first records of %s is for this mapping; tables are found while running", plural(len(topics), "topic"))
	}
}

// route looks at one topic.
func (c *checker) route(ctx context.Context, r *routes, topic string, starts, ends kadm.ListedOffsets, configs kadm.ResourceConfigs) error {
	records, err := c.sample(ctx, topic, offsetsBefore(starts[topic], ends[topic]), ends[topic])
	if err != nil {
		return fmt.Errorf("topic %s: the first record cannot be read: %w", topic, err)
	}
	decoder := debezium.NewDecoder(r.t.Decoding)
	told := false
	for _, rec := range records {
		var f debezium.Frame
		err := decoder.Frame(ctx, recordOf(rec), &f)
		if _, none := errors.AsType[*debezium.RegistryError](err); none { // no record's fault, see checkRegistry
			return fmt.Errorf("topic %s partition %d offset %d: its schema: %w", topic, rec.Partition, rec.Offset, err)
		}
		var source debezium.Source
		if err == nil {
			source, err = f.Source()
		}
		switch {
		case err != nil && len(r.t.Topics) == 0 && r.t.Pattern == nil && !told:
			r.left["not readable, and in a topic that may be anybody's"]++
			continue
		case err != nil && r.t.OnError == connector.Fail:
			return fmt.Errorf("%w; the mapping would stop there: set on-error to dead-letter or skip to go on without such records", err)
		case err != nil:
			r.left["bad records"]++
			continue
		case f.Kind != debezium.KindChange && f.Kind != debezium.KindFlat:
			r.left[f.Kind.String()]++
			continue
		case source.Table == "" || r.t.Refuses(source) != "":
			if r.t.OnUnrouted == connector.Fail && source.Table == "" {
				return fmt.Errorf("topic %s partition %d offset %d does not say which table of the source it is of: the mapping would stop there; set on-unrouted to skip", topic, rec.Partition, rec.Offset)
			}
			r.left["unrouted"]++
			continue
		}
		if !told {
			told = true
			c.checkTopic(r.t, topic, starts, ends, configs)
		}
		if err := c.routed(ctx, r, rec, source, starts[topic], ends[topic]); err != nil {
			return err
		}
	}
	return nil
}

// routed has the table of a record's source take it.
func (c *checker) routed(ctx context.Context, r *routes, rec *kgo.Record, source debezium.Source, starts, ends map[int32]kadm.ListedOffset) error {
	name, err := r.t.Target(rec.Topic, source)
	if err != nil {
		return err
	}
	s, met := r.stages[name]
	if !met {
		s = c.stageOf(ctx, r.t, name, []string{rec.Topic})
		r.stages[name] = s
	}
	if s == nil || r.stopped[name] {
		return nil
	}
	s.begin(c.settings.Start, rec.Topic, starts, ends)
	if err := s.take(rec, len(ends)); err != nil {
		r.stopped[name] = true
		c.say(checkFail, s.what, "%v", err)
	}
	return nil
}
