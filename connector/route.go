package connector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

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
	if err := ask(reach, c.client.Ping); err != nil {
		seeds, _ := c.client.OptValue(kgo.SeedBrokers).([]string)
		return KafkaError(seeds, reachWithin, err)
	}
	c.cfg.Log.Debug().Msg("brokers reached, joining the group")
	topics, err := c.topics(reach)
	if err != nil {
		return err
	}
	if err := errors.Join(c.checkCompaction(reach, topics), c.checkSources(topics), c.checkLetters(reach)); err != nil {
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

// ask asks the brokers until they answer, or it has gone on for half of reachWithin, or no waiting will mend it: a connection that
// breaks, or a broker that starts, must not end a service that starts.
func ask(ctx context.Context, question func(context.Context) error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := question(ctx)
		if err != nil && (fatalKafka(err) || certificateRemedy(err) != "") {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(reachWithin/2), backoff.WithBackOff(retries()))
	return err
}

// checkLetters refuses a dead-letter topic that is not there: a checkpoint with a letter would be tried again for ever.
func (c *Connector) checkLetters(ctx context.Context) error {
	var errs error
	for _, t := range c.cfg.Tables {
		wanted := slices.Contains([]Policy{t.OnError, t.OnMissingBefore, t.OnKeylessChange, t.SchemaChange, t.LatePartition}, DeadLetter)
		if !wanted || t.Letters.Topic == "" {
			continue
		}
		var details kadm.TopicDetails
		if err := ask(ctx, func(ctx context.Context) (err error) {
			details, err = c.admin.ListTopics(ctx, t.Letters.Topic)
			return err
		}); err != nil {
			return fmt.Errorf("kafka: look up topic %s: %w", t.Letters.Topic, err)
		}
		if d := details[t.Letters.Topic]; d.Err != nil {
			errs = errors.Join(errs, fmt.Errorf("dead-letter topic %s (table %s): %w; create it, or set dead-letter.path to write files instead", t.Letters.Topic, t.Name, d.Err))
		}
	}
	return errs
}

// topics returns the topics there are now that a mapping wants. One that is named but absent is an error: a slip of the
// pen would otherwise wait for ever.
func (c *Connector) topics(ctx context.Context) ([]string, error) {
	var details kadm.TopicDetails
	if err := ask(ctx, func(ctx context.Context) (err error) {
		details, err = c.admin.ListTopics(ctx)
		return err
	}); err != nil {
		return nil, fmt.Errorf("kafka: list topics: %w", err)
	}
	var topics []string
	var errs error
	for _, t := range c.cfg.Tables {
		for _, name := range t.Topics {
			if d, ok := details[name]; !ok || d.Err != nil {
				errs = errors.Join(errs, fmt.Errorf("topic %s (table %s): %w", name, t.Name, c.cfg.MissingTopic(ctx, c.admin, name, details)))
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
	for i := range c.cfg.Tables {
		if c.takes(&c.cfg.Tables[i], topic) {
			return true
		}
	}
	return false
}

// takes reports whether a mapping reads a topic. One that says nothing of topics does not read dead letters.
func (c *Connector) takes(t *Table, topic string) bool {
	return t.Matches(topic) && !(t.open() && slices.ContainsFunc(c.cfg.Tables, func(o Table) bool { return o.Letters.Topic == topic }))
}

// checkCompaction refuses topics whose cleaner removes changes: a changelog read from them goes wrong.
func (c *Connector) checkCompaction(ctx context.Context, topics []string) error {
	var errs error
	for i := range c.cfg.Tables {
		t := &c.cfg.Tables[i]
		own := slices.DeleteFunc(slices.Clone(topics), func(topic string) bool { return !c.takes(t, topic) })
		if !t.open() { // else most are not for it: they are looked at when they turn out to be
			errs = errors.Join(errs, c.checkCompactionOf(ctx, t, own))
		}
	}
	return errs
}

func (c *Connector) checkCompactionOf(ctx context.Context, t *Table, topics []string) error {
	if len(topics) == 0 || t.Compacted {
		return nil
	}
	var configs kadm.ResourceConfigs
	if err := ask(ctx, func(ctx context.Context) (err error) {
		configs, err = c.admin.DescribeTopicConfigs(ctx, topics...)
		return err
	}); err != nil {
		c.cfg.Log.Warn().Err(err).Msg("cannot see the topics' settings; a topic with cleanup.policy=compact would go unnoticed")
		return nil
	}
	var errs error
	for _, topic := range topics {
		if compacted(configs, topic) {
			name := t.Name
			if !t.BySource() {
				name, _ = t.Target(topic, debezium.Source{})
			}
			errs = errors.Join(errs, fmt.Errorf("topic %s has cleanup.policy=compact: compaction removes changes, so a SUM over the changelog of table %s would go wrong; "+
				"set cleanup.policy=delete on the topic, or `compacted: true` for the table to accept it", topic, name))
		}
	}
	return errs
}

// checkSources refuses several topics that feed one table unless rows of different topics cannot meet, and two mappings to
// one table. Where sources are looked at, it is found out when they come.
func (c *Connector) checkSources(topics []string) error {
	type user struct {
		topic   string
		mapping *Table
	}
	var errs error
	first := map[string]user{}
	for _, topic := range topics {
		for i := range c.cfg.Tables {
			t := &c.cfg.Tables[i]
			if !c.takes(t, topic) || t.BySource() {
				continue
			}
			name, err := t.Target(topic, debezium.Source{})
			switch u := first[name]; {
			case err != nil:
				errs = errors.Join(errs, err)
			case u.mapping == nil:
				first[name] = user{topic, t}
			case u.mapping != t:
				errs = errors.Join(errs, sharedMappings(name, u.mapping.Name, t.Name))
			case !t.disjoint():
				errs = errors.Join(errs, sharedTable(name, u.topic, topic))
			}
		}
	}
	return errs
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

// route returns the workers that get the records of a topic, making those that are new: one for each table that the topic
// feeds, and a scout for a mapping that goes by sources.
func (c *Connector) route(topic string) ([]*worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if workers, ok := c.routes[topic]; ok {
		return workers, nil
	}
	var workers []*worker
	for i := range c.cfg.Tables {
		t := &c.cfg.Tables[i]
		if !c.takes(t, topic) {
			continue
		}
		w, err := c.workerFor(t, topic)
		if err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	c.routes[topic] = workers
	return workers, nil
}

// workerFor returns the worker that gets the records of a topic by a mapping. c.mu is held.
func (c *Connector) workerFor(t *Table, topic string) (*worker, error) {
	if t.BySource() {
		w := c.scouts[t]
		if w == nil {
			w = newScout(c, t)
			c.scouts[t], c.workers[w.name] = w, w
			c.running.Go(w.run)
		}
		return w, nil
	}
	name, err := t.Target(topic, debezium.Source{})
	if err != nil {
		return nil, err
	}
	w := c.workers[name]
	switch {
	case w == nil:
		database, tableName, _ := strings.Cut(name, ".")
		w = newWorker(c, t, name, table.NewPath(database, tableName))
		c.workers[name] = w
		c.running.Go(w.run)
	case w.cfg != t:
		w.askStop(sharedMappings(name, w.cfg.Name, t.Name))
	case !t.disjoint():
		w.askStop(sharedTable(name, "others", topic))
	}
	return w, nil
}

// register notes that a scout's table is fed from a topic.
func (c *Connector) register(w *worker, topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.fed[topic], w) {
		c.fed[topic] = append(slices.Clip(c.fed[topic]), w)
	}
}

// fedBy returns the tables that scouts feed from a topic.
func (c *Connector) fedBy(topic string) []*worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fed[topic]
}

// onlyMakes reports whether a table's name can come from this mapping and from no other.
func (c *Connector) onlyMakes(t *Table, name string) bool {
	makers := 0
	for i := range c.cfg.Tables {
		if c.cfg.Tables[i].Makes(name) {
			makers++
		}
	}
	return makers == 1 && t.Makes(name)
}

// otherTakes reports whether another mapping takes the events of a source, or has counted already that it does not.
func (c *Connector) otherTakes(own *Table, topic string, source debezium.Source) bool {
	before := true
	for i := range c.cfg.Tables {
		t := &c.cfg.Tables[i]
		if t == own {
			before = false
		} else if c.takes(t, topic) && (!t.BySource() || before || t.Refuses(source) == "") {
			return true
		}
	}
	return false
}

// topicsOf returns the topics that feed a worker's table.
func (c *Connector) topicsOf(w *worker) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	routes := c.routes
	if w.feeder != nil {
		routes = c.fed
	}
	var topics []string
	for topic, workers := range routes {
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

// durable returns the lowest cursor of a partition among its tables, and the snapshots that stand for it; false where a
// table has none yet. A scout is asked before its tables: one that it finds meanwhile is among them before the scout passes it.
func (c *Connector) durable(tp table.TopicPartition) (table.Cursor, []commit.Mark, bool) {
	c.mu.Lock()
	workers := c.routes[tp.Topic]
	c.mu.Unlock()
	var lowest table.Cursor
	var marks []commit.Mark
	ask := func(w *worker) bool {
		at, mark, ok := w.durableAt(tp)
		if len(marks) == 0 || at.Offset < lowest.Offset {
			lowest = at
		}
		marks = append(marks, mark)
		return ok
	}
	for _, w := range workers {
		if !ask(w) {
			return table.Cursor{}, nil, false
		}
	}
	for _, w := range c.fedBy(tp.Topic) {
		if !ask(w) {
			return table.Cursor{}, nil, false
		}
	}
	return lowest, marks, len(workers) > 0
}

// marksOf returns under which names a group's offsets speak of what reads a topic.
func (c *Connector) marksOf(topic string) (names []string) {
	c.mu.Lock()
	workers := c.routes[topic]
	c.mu.Unlock()
	for _, w := range workers {
		if w.scout != nil {
			names = append(names, routeMark+w.cfg.rule())
		} else {
			names = append(names, w.name)
		}
	}
	return names
}

// held reports whether a stopped table holds back a partition.
func (c *Connector) held(tp table.TopicPartition) bool {
	c.mu.Lock()
	workers := c.routes[tp.Topic]
	fed := c.fed[tp.Topic]
	c.mu.Unlock()
	stopped := func(w *worker) bool { return w.problem() != nil }
	return slices.ContainsFunc(workers, stopped) || slices.ContainsFunc(fed, stopped)
}

// allStopped reports whether there are tables and none can go on.
func (c *Connector) allStopped() bool {
	workers := c.allWorkers()
	return len(workers) > 0 && !slices.ContainsFunc(workers, func(w *worker) bool {
		return !w.isParked() && (w.feeder == nil || !w.feeder.isParked())
	})
}

// problems returns why tables have stopped.
func (c *Connector) problems() error {
	var errs error
	for _, w := range c.allWorkers() {
		if err := w.trouble(); err != nil {
			errs = errors.Join(errs, inOneLine{err})
		}
	}
	return errs
}

// inOneLine is an error of one table among those of others: lines after its first would not say whose they are.
type inOneLine struct{ error }

func (e inOneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n", "; ") }
func (e inOneLine) Unwrap() error { return e.error }

func (c *Connector) setWake(wake context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
	if len(c.rewinds) > 0 {
		wake()
	}
}
