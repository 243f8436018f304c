package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/connector"
	"sink/debezium"
	"sink/table"
)

// sampleWithin bounds the wait for a topic's records, recordsSampled how many of them are looked at; topicsSampled bounds how
// many topics of a pattern are.
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
			c.say(checkFail, fmt.Sprintf("topic %s (table %s)", name, t.Name), "%v", c.settings.MissingTopic(ctx, c.admin, name, details))
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
	configs, err := c.admin.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		c.say(checkNote, "topics", "their settings cannot be seen; a topic with cleanup.policy=compact would go unnoticed: %v", err)
	}
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

// checkTable says whether the table is there or would be made, and has it rehearse the records that it would read first.
func (c *checker) checkTable(ctx context.Context, t *connector.Table, name string, topics []string, starts, ends kadm.ListedOffsets) {
	s := c.stageOf(ctx, t, name, topics)
	if s == nil {
		return
	}
	for _, topic := range topics {
		if err := c.rehearse(ctx, s, topic, starts[topic], ends[topic]); err != nil {
			c.say(checkFail, s.what, "%v", err)
			return
		}
	}
	c.tell(s)
}

// rehearse gives the table the records of a topic from where it would go on. One that has read all gets the topic's first
// again, which show what it is made of.
func (c *checker) rehearse(ctx context.Context, s *stage, topic string, starts, ends map[int32]kadm.ListedOffset) error {
	s.begin(c.settings.Start, topic, starts, ends)
	all := offsetsBefore(starts, ends)
	ahead := map[int32]int64{}
	for p := range all {
		if next := s.next[table.TopicPartition{Topic: topic, Partition: p}]; next < ends[p].Offset {
			ahead[p] = next
		}
	}
	if len(ahead) == 0 {
		ahead = all
	}
	records, err := c.sample(ctx, topic, ahead, ends)
	if err != nil {
		return fmt.Errorf("topic %s: the first record cannot be read: %w", topic, err)
	}
	if len(records) == 0 && s.before == nil {
		c.say(checkNote, s.what, "topic %s is empty: the table is made with its first record", topic)
	}
	for _, rec := range records {
		if err := s.take(rec, len(ends)); err != nil {
			return err
		}
	}
	return nil
}

// offsetsBefore returns the beginnings of the partitions that hold anything.
func offsetsBefore(starts, ends map[int32]kadm.ListedOffset) map[int32]int64 {
	from := map[int32]int64{}
	for p, start := range starts {
		if end, ok := ends[p]; ok && start.Err == nil && end.Offset > start.Offset {
			from[p] = start.Offset
		}
	}
	return from
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

// sample returns records of a topic from the offsets on, none when there are none before the ends.
func (c *checker) sample(ctx context.Context, topic string, from map[int32]int64, ends map[int32]kadm.ListedOffset) ([]*kgo.Record, error) {
	if len(from) == 0 {
		return nil, nil
	}
	at := map[int32]kgo.Offset{}
	for p, offset := range from {
		at[p] = kgo.NewOffset().At(offset)
	}
	opts := append([]kgo.Opt{}, c.settings.Kafka...)
	opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords()) // which may be all that comes before an end
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	var records []*kgo.Record
	for len(from) > 0 && len(records) < recordsSampled && ctx.Err() == nil {
		fetches := client.PollRecords(ctx, recordsSampled-len(records))
		fetches.EachRecord(func(rec *kgo.Record) {
			if !rec.Attrs.IsControl() {
				records = append(records, rec)
			}
			if rec.Offset+1 >= ends[rec.Partition].Offset {
				delete(from, rec.Partition)
			}
		})
		if err := fetches.Err(); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return records, nil
}

// checkLetters sees that there is a topic for the records that a policy puts aside. The sink makes no topics.
func (c *checker) checkLetters(t *connector.Table, details kadm.TopicDetails) {
	policies := []connector.Policy{t.OnError, t.OnMissingBefore, t.OnKeylessChange, t.SchemaChange, t.LatePartition}
	if t.Letters.Path != "" || !slices.Contains(policies, connector.DeadLetter) {
		return
	}
	if d, ok := details[t.Letters.Topic]; !ok || d.Err != nil {
		c.say(checkFail, "topic "+t.Letters.Topic, "is not there, but table %s puts records aside there, and could not commit with the first: make the topic, name another under dead-letter.topic, or a folder under dead-letter.path", t.Name)
	}
}
