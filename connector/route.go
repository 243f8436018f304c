package connector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sink/commit"
	"sink/debezium"
	"sink/table"
)

// reachWithin bounds the first contact with the brokers: a service that cannot start says so at once.
const reachWithin = 20 * time.Second

// start reaches the brokers, checks the topics, and opens the tables that are known already.
func (c *Connector) start(ctx context.Context) error {
	reach, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	if err := c.client.Ping(reach); err != nil {
		if fatalKafka(err) {
			return kafkaError(err)
		}
		return fmt.Errorf("kafka: no broker answers: %w; check kafka.brokers, kafka.tls and kafka.sasl, and that they are reachable from here", err)
	}
	topics, err := c.topics(reach)
	if err != nil {
		return err
	}
	if err := errors.Join(c.checkCompaction(reach, topics), c.checkSources(topics)); err != nil {
		return err
	}
	for _, topic := range topics {
		if _, err := c.route(topic); err != nil {
			return err
		}
	}
	if c.cfg.UntilEnd {
		if c.goal, err = newGoal(reach, c, topics); err != nil {
			return fmt.Errorf("kafka: %w", err)
		}
	}
	return nil
}

// topics returns the topics there are now that a mapping wants. One that is named but absent is an error: a slip of the
// pen would otherwise wait for ever.
func (c *Connector) topics(ctx context.Context) ([]string, error) {
	details, err := c.admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("kafka: list topics: %w", err)
	}
	var topics []string
	var errs error
	for _, t := range c.cfg.Tables {
		for _, name := range t.Topics {
			if d, ok := details[name]; !ok || d.Err != nil {
				errs = errors.Join(errs, fmt.Errorf("topic %s (table %s) is not there: Debezium makes a topic with its first event; "+
					"check the name, or start the sink later, or use `topics:` with a pattern, which may match later", name, t.Name))
			}
		}
	}
	for _, name := range details.Names() {
		if c.wanted(name) && details[name].Err == nil {
			topics = append(topics, name)
		}
	}
	return topics, errs
}

func (c *Connector) wanted(topic string) bool {
	return slices.ContainsFunc(c.cfg.Tables, func(t Table) bool { return t.matches(topic) })
}

// matches reports whether the mapping wants the topic.
func (t *Table) matches(topic string) bool {
	if t.Pattern != nil {
		m := t.Pattern.FindString(topic)
		return m == topic && m != ""
	}
	return slices.Contains(t.Topics, topic)
}

// target returns the name of the table that a topic feeds: the mapping's, with ${topic} and captures ${1} filled in.
func (t *Table) target(topic string) string {
	if t.Pattern == nil {
		return t.Name
	}
	template := strings.ReplaceAll(t.Name, "${topic}", strings.ReplaceAll(topic, "$", "$$"))
	return string(t.Pattern.ExpandString(nil, template, topic, t.Pattern.FindStringSubmatchIndex(topic)))
}

// checkCompaction refuses topics whose cleaner removes changes: a changelog read from them goes wrong.
func (c *Connector) checkCompaction(ctx context.Context, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	configs, err := c.admin.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		c.cfg.Log.Warn().Err(err).Msg("cannot see the topics' settings; a topic with cleanup.policy=compact would go unnoticed")
		return nil
	}
	var errs error
	for _, t := range c.cfg.Tables {
		for _, topic := range topics {
			if t.matches(topic) && !t.Compacted && compacted(configs, topic) {
				errs = errors.Join(errs, fmt.Errorf("topic %s has cleanup.policy=compact: compaction removes changes, so a SUM over the changelog of table %s would go wrong; "+
					"set cleanup.policy=delete on the topic, or `compacted: true` for the table to accept it", topic, t.target(topic)))
			}
		}
	}
	return errs
}

// checkSources refuses several topics that feed one table unless rows of different topics cannot meet.
func (c *Connector) checkSources(topics []string) error {
	var errs error
	first := map[string]string{}
	for _, topic := range topics {
		for i := range c.cfg.Tables {
			t := &c.cfg.Tables[i]
			if !t.matches(topic) {
				continue
			}
			name := t.target(topic)
			if first[name] == "" {
				first[name] = topic
			} else if !t.disjoint() {
				errs = errors.Join(errs, sharedTable(name, first[name], topic))
			}
		}
	}
	return errs
}

// disjoint reports whether rows of different topics cannot have the same primary key.
func (t *Table) disjoint() bool {
	return t.Disjoint || slices.ContainsFunc(t.PrimaryKey, func(column string) bool { return t.Metadata[column] == debezium.MetadataTopic })
}

func sharedTable(name, topic, other string) error {
	return fmt.Errorf("table %s is fed by topic %s and by topic %s: changes of one row could come from both, in no order; "+
		"put a metadata column `topic` into primary-key, or set `disjoint: true` if their rows never meet", name, topic, other)
}

func compacted(configs kadm.ResourceConfigs, topic string) bool {
	rc, err := configs.On(topic, nil)
	if err != nil {
		return false
	}
	for _, kv := range rc.Configs {
		if kv.Key == "cleanup.policy" && kv.Value != nil && strings.Contains(*kv.Value, "compact") {
			return true
		}
	}
	return false
}

// route returns the workers of the tables that a topic feeds, making those that are new.
func (c *Connector) route(topic string) ([]*worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if workers, ok := c.routes[topic]; ok {
		return workers, nil
	}
	var workers []*worker
	for i := range c.cfg.Tables {
		t := &c.cfg.Tables[i]
		if !t.matches(topic) {
			continue
		}
		name := t.target(topic)
		w := c.workers[name]
		if w == nil {
			database, tableName, ok := strings.Cut(name, ".")
			if !ok || database == "" || tableName == "" {
				return nil, fmt.Errorf("topic %s: %q is no table name: it is database.table", topic, name)
			}
			w = newWorker(c, t, name, table.NewPath(database, tableName))
			c.workers[name] = w
			c.running.Go(w.run)
		} else if !t.disjoint() {
			w.askStop(sharedTable(name, "others", topic))
		}
		workers = append(workers, w)
	}
	c.routes[topic] = workers
	return workers, nil
}

// topicsOf returns the topics that feed a worker's table.
func (c *Connector) topicsOf(w *worker) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var topics []string
	for topic, workers := range c.routes {
		if slices.Contains(workers, w) {
			topics = append(topics, topic)
		}
	}
	return topics
}

func (c *Connector) allWorkers() []*worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	workers := make([]*worker, 0, len(c.workers))
	for _, w := range c.workers {
		workers = append(workers, w)
	}
	slices.SortFunc(workers, func(a, b *worker) int { return strings.Compare(a.name, b.name) })
	return workers
}

// owned returns the partitions assigned to this process.
func (c *Connector) owned() []table.TopicPartition {
	c.mu.Lock()
	defer c.mu.Unlock()
	partitions := make([]table.TopicPartition, 0, len(c.cursors))
	for tp := range c.cursors {
		partitions = append(partitions, tp)
	}
	return partitions
}

// durable returns the lowest cursor of a partition among its tables, and the snapshots that stand for it; false where no
// table has one yet.
func (c *Connector) durable(tp table.TopicPartition) (table.Cursor, []commit.Mark, bool) {
	c.mu.Lock()
	workers := c.routes[tp.Topic]
	c.mu.Unlock()
	var lowest table.Cursor
	var marks []commit.Mark
	for i, w := range workers {
		at, mark, ok := w.durableAt(tp)
		if !ok {
			return table.Cursor{}, nil, false
		}
		if i == 0 || at.Offset < lowest.Offset {
			lowest = at
		}
		marks = append(marks, mark)
	}
	return lowest, marks, len(workers) > 0
}

// held reports whether a stopped table holds back a partition.
func (c *Connector) held(tp table.TopicPartition) bool {
	c.mu.Lock()
	workers := c.routes[tp.Topic]
	c.mu.Unlock()
	return slices.ContainsFunc(workers, func(w *worker) bool { return w.problem() != nil })
}

// allStopped reports whether there are tables and none can go on.
func (c *Connector) allStopped() bool {
	workers := c.allWorkers()
	return len(workers) > 0 && !slices.ContainsFunc(workers, func(w *worker) bool { return w.problem() == nil })
}

// problems returns why tables have stopped.
func (c *Connector) problems() error {
	var errs error
	for _, w := range c.allWorkers() {
		errs = errors.Join(errs, w.problem())
	}
	return errs
}

func (c *Connector) setWake(wake context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
	if len(c.rewinds) > 0 {
		wake()
	}
}
