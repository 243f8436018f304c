package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"sink/connector"
	"sink/debezium"
	"sink/table"
)

// routes is what a mapping that goes by the source of records would do with the first records of its topics.
type routes struct {
	t       *connector.Table
	schemas map[string]*table.Schema // of the tables met so far; nil: it would be made
	shapes  map[string]bool          // tables and shapes that have been looked at
	sources map[string]string        // by table, the source that was first
	topics  map[string][]string      // by table
	left    map[string]int           // records that are for no table, by reason
}

// checkRoutes looks at the first records of the topics of a mapping that finds its tables by them.
func (c *checker) checkRoutes(ctx context.Context, t *connector.Table, topics []string, starts, ends kadm.ListedOffsets, configs kadm.ResourceConfigs) {
	r := &routes{
		t: t, schemas: map[string]*table.Schema{}, shapes: map[string]bool{}, sources: map[string]string{}, topics: map[string][]string{}, left: map[string]int{},
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
	for _, reason := range sortedKeys(r.left) {
		c.say(checkNote, what, "%s among the first are for no table: %s", plural(r.left[reason], "record"), reason)
	}
	if len(r.schemas) == 0 {
		c.say(checkNote, what, "none of the first records of %s is for this mapping; tables are found while running", plural(len(topics), "topic"))
	}
}

// route looks at one topic.
func (c *checker) route(ctx context.Context, r *routes, topic string, starts, ends kadm.ListedOffsets, configs kadm.ResourceConfigs) error {
	records, err := c.sample(ctx, topic, starts[topic], ends[topic])
	if err != nil {
		return fmt.Errorf("topic %s: the first record cannot be read: %w", topic, err)
	}
	decoder := debezium.NewDecoder(r.t.Decoding)
	told := false
	for _, rec := range records {
		var f debezium.Frame
		err := decoder.Frame(ctx, recordOf(rec), &f)
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
		if err := c.routed(ctx, r, topic, source, &f); err != nil {
			return err
		}
	}
	return nil
}

// routed says what table a record's source would become.
func (c *checker) routed(ctx context.Context, r *routes, topic string, source debezium.Source, f *debezium.Frame) error {
	name, err := r.t.Target(topic, source)
	if err != nil {
		return err
	}
	if first, ok := r.sources[name]; ok && first != source.String() && !r.t.Disjoint && len(r.t.PrimaryKey) == 0 {
		return fmt.Errorf("table %s would be made of %s and of %s: two tables of the source would become one; give each a table of its own (${db}, ${schema}, ${table} in `table:`), "+
			"put a metadata column such as `source.db` into primary-key, or set `disjoint: true`", name, first, source)
	}
	r.sources[name] = source.String()
	schema, met := r.schemas[name]
	if !met {
		var ok bool
		if schema, ok = c.schemaOf(ctx, r.t, name, []string{topic}); !ok {
			return nil
		}
		r.schemas[name] = schema
	}
	if shape := fmt.Sprintf("%s %p", name, f.Shape); r.shapes[shape] {
		return nil
	} else {
		r.shapes[shape] = true
	}
	key, err := f.KeyNames()
	if err != nil {
		return err
	}
	return c.checkShape(r.t, "table "+name, topic, schema, f.Shape, key)
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
