package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/connector"
	"sink/debezium"
	"sink/table"
	"sink/table/manifest"
)

// sampleWithin bounds the wait for a topic's first records, recordsSampled how many of them are searched for a row;
// topicsSampled bounds how many topics of a pattern are looked at.
const (
	sampleWithin   = 5 * time.Second
	recordsSampled = 100
	topicsSampled  = 50
)

// checkMappings says what each mapping would do.
func (c *checker) checkMappings(ctx context.Context) {
	if c.admin == nil {
		c.say(checkNote, "tables", "not looked at, since the brokers do not answer")
		return
	}
	details, err := c.admin.ListTopics(ctx)
	if err != nil {
		c.say(checkFail, "topics", "cannot be listed: %v", err)
		return
	}
	c.details = details
	if c.group, err = c.admin.FetchOffsets(ctx, c.cfg.Kafka.Group); err != nil {
		c.group = nil // the group is new, or was told of already
	}
	for i := range c.settings.Tables {
		c.checkMapping(ctx, &c.settings.Tables[i], details)
	}
}

func (c *checker) checkMapping(ctx context.Context, t *connector.Table, details kadm.TopicDetails) {
	var topics []string
	for _, name := range t.Topics {
		if d, ok := details[name]; !ok || d.Err != nil {
			c.say(checkFail, "topic "+name, "is not there, table %s wants it: Debezium makes a topic with its first event; check the name, start later, or use `topics` with a pattern", t.Name)
			continue
		}
		topics = append(topics, name)
	}
	c.checkLetters(t, details)
	if len(t.Topics) == 0 {
		for _, name := range details.Names() {
			if t.Matches(name) && details[name].Err == nil {
				topics = append(topics, name)
			}
		}
		if len(topics) == 0 && t.Pattern != nil {
			c.say(checkNote, "topics", "none matches %s yet", strings.TrimSuffix(strings.TrimPrefix(t.Pattern.String(), "^(?:"), ")$"))
		}
	}
	if len(topics) == 0 {
		return
	}
	starts, err := c.admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		c.say(checkFail, "topics", "offsets cannot be read: %v", err)
		return
	}
	ends, err := c.admin.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		c.say(checkFail, "topics", "offsets cannot be read: %v", err)
		return
	}
	configs, _ := c.admin.DescribeTopicConfigs(ctx, topics...)
	if t.BySource() {
		c.checkRoutes(ctx, t, topics, starts, ends, configs)
		return
	}
	byTable := map[string][]string{}
	var names []string
	for _, topic := range topics {
		name := targetOf(t, topic)
		if byTable[name] == nil {
			names = append(names, name)
		}
		byTable[name] = append(byTable[name], topic)
		c.checkTopic(t, topic, starts, ends, configs)
	}
	for i, name := range names {
		if i == topicsSampled {
			c.say(checkNote, "tables", "%s more are not looked at", humanCount(int64(len(names)-i)))
			break
		}
		c.checkTable(ctx, t, name, byTable[name], starts, ends)
	}
}

// targetOf returns the table that a topic feeds, where that does not depend on its records.
func targetOf(t *connector.Table, topic string) string {
	if t.BySource() {
		return t.Name
	}
	name, err := t.Target(topic, debezium.Source{})
	if err != nil {
		return t.Name
	}
	return name
}

// checkTopic tells how much is on a topic, and refuses what its cleaner would take away.
func (c *checker) checkTopic(t *connector.Table, topic string, starts, ends kadm.ListedOffsets, configs kadm.ResourceConfigs) {
	var offsets int64
	for p, end := range ends[topic] {
		if start, ok := starts.Lookup(topic, p); ok {
			offsets += end.Offset - start.Offset
		}
	}
	rc, err := configs.On(topic, nil)
	if err == nil && !t.Compacted {
		for _, kv := range rc.Configs {
			if kv.Key == "cleanup.policy" && kv.Value != nil && strings.Contains(*kv.Value, "compact") {
				c.say(checkFail, "topic "+topic, "has cleanup.policy=%s: compaction removes changes, so a SUM over the changelog of table %s would go wrong; set it to delete, or `compacted: true` for the table", *kv.Value, targetOf(t, topic))
				return
			}
		}
	}
	c.say(checkOK, "topic "+topic, "%s, %s", plural(len(ends[topic]), "partition"), plural(offsets, "offset"))
}

// checkTable says whether the table is there or would be made, and whether the topics' first records fit it.
func (c *checker) checkTable(ctx context.Context, t *connector.Table, name string, topics []string, starts, ends kadm.ListedOffsets) {
	what := "table " + name
	schema, ok := c.schemaOf(ctx, t, name, topics)
	if !ok {
		return
	}
	for _, topic := range topics {
		if err := c.checkSample(ctx, t, what, topic, schema, starts[topic], ends[topic]); err != nil {
			c.say(checkFail, what, "%v", err)
		}
	}
}

// schemaOf returns the schema of a table, nil where there is no table yet, after it has been compared with its mapping. It is
// not ok when the table cannot be looked at.
func (c *checker) schemaOf(ctx context.Context, t *connector.Table, name string, topics []string) (*table.Schema, bool) {
	what := "table " + name
	path, err := tablePath(name)
	if err != nil {
		c.say(checkFail, what, "%v", err)
		return nil, false
	}
	if c.store == nil {
		c.say(checkNote, what, "not looked at, since the store cannot be used")
		return nil, false
	}
	schema, err := manifest.LatestSchema(ctx, c.store, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, true
	case err != nil:
		c.say(checkFail, what, "%v", err)
		return nil, false
	}
	c.checkExisting(ctx, t, name, topics, schema)
	return schema, true
}

// checkExisting compares a table with its mapping.
func (c *checker) checkExisting(ctx context.Context, t *connector.Table, name string, topics []string, schema *table.Schema) {
	what := "table " + name
	if err := schema.Validate(); err != nil {
		c.say(checkFail, what, "%v", err)
		return
	}
	want := schema.Clone()
	if len(t.PrimaryKey) > 0 {
		want.PrimaryKeys = t.PrimaryKey
	}
	if len(t.PartitionBy) > 0 {
		want.PartitionKeys = t.PartitionBy
	}
	if err := commit.Fits(schema, want); err != nil {
		c.say(checkFail, what, "%v", err)
		return
	}
	for key, value := range t.Options {
		if have := schema.Option(key); have != value {
			c.say(checkNote, what, "its option %s is %q, the configuration says %q: the table's counts", key, have, value)
		}
	}
	c.checkProgress(ctx, what, name, topics, schema)
}

// checkProgress says where a table goes on, or why it would not.
func (c *checker) checkProgress(ctx context.Context, what, name string, topics []string, schema *table.Schema) {
	o := &offsets{cfg: c.cfg, settings: c.settings, store: c.store, client: c.client, admin: c.admin, details: c.details, group: c.group}
	at, err := o.look(ctx, name, topics)
	if err == nil {
		err = at.err
	}
	if err != nil {
		c.say(checkFail, what, "%v", err)
		return
	}
	for i := range at.places {
		if p := &at.places[i]; p.stops {
			c.say(checkFail, what, "topic %s partition %d: %s: `sink offsets rebase %s` says what that means and does it after a yes", p.Topic, p.Partition, strings.TrimSuffix(p.note, ": rebase"), name)
		}
	}
	from := fmt.Sprintf("begins at the %s record", map[connector.Start]string{connector.Earliest: "first", connector.Latest: "next"}[c.settings.Start])
	if !at.state.Fresh {
		from = fmt.Sprintf("goes on from snapshot %d of %s", at.state.SnapshotID, at.state.Time.UTC().Format(time.RFC3339))
	}
	c.say(checkOK, what, "is there: schema %d, primary key %s, bucket %s; %s", schema.ID, strings.Join(schema.PrimaryKeys, ", "), schema.Option("bucket"), from)
}

// checkSample looks at the first row of a topic: how it is encoded, what columns it declares, and what that means for the
// table.
func (c *checker) checkSample(ctx context.Context, t *connector.Table, what, topic string, schema *table.Schema, starts, ends map[int32]kadm.ListedOffset) error {
	records, err := c.sample(ctx, topic, starts, ends)
	if err != nil {
		return fmt.Errorf("topic %s: the first record cannot be read: %w", topic, err)
	}
	if len(records) == 0 {
		if schema == nil {
			c.say(checkNote, what, "topic %s is empty: the table is made with its first record", topic)
		}
		return nil
	}
	decoder := debezium.NewDecoder(t.Decoding)
	var others []string // what the records are that are no rows
	for _, rec := range records {
		var f debezium.Frame
		if err := decoder.Frame(ctx, recordOf(rec), &f); err != nil {
			if t.OnError == connector.Fail {
				return fmt.Errorf("%w; the table would stop there: set on-error to dead-letter or skip to go on without such records", err)
			}
			c.say(checkNote, what, "%v; on-error is %s, so the record is left out", err, t.OnError)
			others = append(others, "bad records")
			continue
		}
		if f.Kind == debezium.KindChange || f.Kind == debezium.KindFlat {
			key, err := f.KeyNames()
			if err != nil {
				return err
			}
			return c.checkShape(t, what, topic, schema, f.Shape, key)
		}
		if f.Kind == debezium.KindTombstone && schema == nil && rec.Offset == starts[rec.Partition].Offset && t.OnMissingBefore == connector.Fail && !t.BySource() {
			return fmt.Errorf("topic %s partition %d begins with a tombstone whose delete is gone: the table would stop there; set on-missing-before to accept (delete by key) or dead-letter", topic, rec.Partition)
		}
		others = append(others, f.Kind.String())
	}
	slices.Sort(others)
	c.say(checkNote, what, "topic %s: %s looked at, no row: %s", topic, plural(len(records), "record"), strings.Join(slices.Compact(others), ", "))
	return nil
}

// recordOf is a Kafka record as the decoder takes it.
func recordOf(rec *kgo.Record) *debezium.Record {
	out := &debezium.Record{
		Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset, Timestamp: rec.Timestamp.UnixMilli(), Key: rec.Key, Value: rec.Value,
	}
	for _, h := range rec.Headers {
		out.Headers = append(out.Headers, debezium.Header{Key: h.Key, Value: h.Value})
	}
	return out
}

// checkShape says what the columns of a record mean for the table.
func (c *checker) checkShape(t *connector.Table, what, topic string, schema *table.Schema, shape *debezium.Shape, key []string) error {
	if shape == nil {
		if schema == nil && len(t.Columns) > 0 {
			return c.checkNew(t, what, topic, nil, key)
		}
		if schema == nil {
			return fmt.Errorf("the events of topic %s carry no types (schemas.enable=false) and the table does not exist: name its columns under `columns:`, create it beforehand, or have Debezium send schemas", topic)
		}
		c.say(checkOK, what, "events of topic %s carry no types: they are read by the table's", topic)
		return nil
	}
	fields, err := shape.Fields(t.Types)
	if err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	if schema != nil {
		if fields, err = t.Fields(fields, schema.Fields); err == nil {
			err = t.CheckFilter(schema)
		}
		if err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
		_, changes, err := table.Evolve(schema, fields)
		if err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
		for _, change := range changes {
			c.say(checkNote, what, "schema-change: %s would %s: %s", t.SchemaChange, map[bool]string{true: "make", false: "not make"}[t.SchemaChange == connector.Evolve], change)
		}
		return nil
	}
	return c.checkNew(t, what, topic, fields, key)
}

// sample returns the first records of a topic, none when it is empty.
func (c *checker) sample(ctx context.Context, topic string, starts, ends map[int32]kadm.ListedOffset) ([]*kgo.Record, error) {
	from := map[int32]kgo.Offset{}
	for p, start := range starts {
		if end, ok := ends[p]; ok && end.Offset > start.Offset && start.Err == nil {
			from[p] = kgo.NewOffset().At(start.Offset)
		}
	}
	if len(from) == 0 {
		return nil, nil
	}
	opts := append([]kgo.Opt{}, c.settings.Kafka...)
	opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	for {
		fetches := client.PollRecords(ctx, recordsSampled)
		if records := fetches.Records(); len(records) > 0 {
			return records, nil
		}
		if ctx.Err() != nil {
			return nil, nil // nothing but markers of transactions
		}
		if err := fetches.Err(); err != nil {
			return nil, err
		}
	}
}
