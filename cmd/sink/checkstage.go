package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/connector"
	"sink/table"
	"sink/table/manifest"
)

// stage is a table that rehearses: it takes records as run would, and what would come of them is told.
type stage struct {
	t      *connector.Table
	what   string
	before *table.Schema                  // nil: there is no table yet
	fresh  bool                           // no snapshot of ours says where it goes on
	next   map[table.TopicPartition]int64 // where it goes on
	from   string                         // the same in words
	state  commit.State                   // of its newest snapshot; zero: there is no table yet
	topics []string                       // whose records it has taken
	taken  int64
	play   *connector.Rehearsal
}

// stageOf readies a table, after it has been compared with its mapping. It is nil when the table cannot be looked at, or would
// stop at once; that has been said.
func (c *checker) stageOf(ctx context.Context, t *connector.Table, name string, topics []string) *stage {
	s := &stage{t: t, what: "table " + name, fresh: true, next: map[table.TopicPartition]int64{}}
	path, err := tablePath(name)
	if err != nil {
		c.say(checkFail, s.what, "%v", err)
		return nil
	}
	if c.store == nil {
		c.say(checkNote, s.what, "not looked at, since the store cannot be used")
		return nil
	}
	var learned map[string]string
	s.before, err = manifest.LatestSchema(ctx, c.store, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && s.before != nil {
		learned, err = c.checkProgress(ctx, s, name, topics)
	}
	if err == nil {
		s.play, err = connector.Rehearse(ctx, c.settings, t, name, s.before, learned)
	}
	if err != nil {
		c.say(checkFail, s.what, "%v", err)
		return nil
	}
	if s.before != nil {
		c.tellExisting(s)
	}
	return s
}

// checkProgress finds out where a table goes on, or why it would not, and what it has learned of its topics.
func (c *checker) checkProgress(ctx context.Context, s *stage, name string, topics []string) (map[string]string, error) {
	o := &offsets{cfg: c.cfg, settings: c.settings, store: c.store, client: c.client, admin: c.admin, details: c.details, group: c.group}
	at, err := o.look(ctx, name, topics)
	if err == nil {
		err = at.err
	}
	if err != nil {
		return nil, err
	}
	for i := range at.places {
		p := &at.places[i]
		if p.stops {
			c.say(checkFail, s.what, "topic %s partition %d: %s: `sink offsets rebase %s` says what that means and does it after a yes", p.Topic, p.Partition, strings.TrimSuffix(p.note, ": rebase"), name)
		}
		if p.mapped != nil {
			s.next[p.TopicPartition] = p.mapped.Offset
		}
	}
	s.state = at.state
	s.from = fmt.Sprintf("begins at the %s record", map[connector.Start]string{connector.Earliest: "first", connector.Latest: "next"}[c.settings.Start])
	if s.fresh = at.state.Fresh; !s.fresh {
		s.from = fmt.Sprintf("goes on from snapshot %d of %s", at.state.SnapshotID, at.state.Time.UTC().Format(time.RFC3339))
	}
	return at.state.Progress.Learned, nil
}

// begin notes where the table begins in the partitions of a topic that its snapshots do not tell of.
func (s *stage) begin(start connector.Start, topic string, starts, ends map[int32]kadm.ListedOffset) {
	for p, from := range starts {
		tp := table.TopicPartition{Topic: topic, Partition: p}
		if _, known := s.next[tp]; known {
			continue
		}
		s.next[tp] = from.Offset
		if s.fresh && start == connector.Latest {
			s.next[tp] = ends[p].Offset
		}
	}
}

// take applies a record of a topic of so many partitions. What is wrong with one that run would not read any more does not
// count, unless the table would take no other of its kind either.
func (s *stage) take(rec *kgo.Record, partitions int) error {
	if !slices.Contains(s.topics, rec.Topic) {
		s.topics = append(s.topics, rec.Topic)
	}
	s.taken++
	err := s.play.Take(rec, partitions)
	if connector.OfOne(err) && rec.Offset < s.next[table.TopicPartition{Topic: rec.Topic, Partition: rec.Partition}] {
		return nil
	}
	return err
}

// tellExisting says what a table is that is there.
func (c *checker) tellExisting(s *stage) {
	for _, key := range slices.Sorted(maps.Keys(s.t.Options)) {
		if have, value := s.before.Option(key), s.t.Options[key]; have != value {
			c.say(checkNote, s.what, "its option %s is %q, the configuration says %q: the table's counts", key, have, value)
		}
	}
	c.say(checkOK, s.what, "is there: schema %d, %s, bucket %s; %s", s.before.ID, keyText(s.before), s.before.Option("bucket"), s.from)
}

// keyText says what tells the rows of a table apart.
func keyText(s *table.Schema) string {
	if s.Append() {
		return "no primary key: it takes new rows only (on-keyless-change)"
	}
	return "primary key " + strings.Join(s.PrimaryKeys, ", ")
}

// tellSecondGroup says whether the table would get again what another group has given to it.
func (c *checker) tellSecondGroup(s *stage) {
	if s.before == nil {
		return
	}
	begun := table.Offsets{}
	for tp, offset := range s.next {
		from := table.Cursor{Offset: offset}
		if id := c.details[tp.Topic].ID; id != (kadm.TopicID{}) {
			from.TopicID = fmt.Sprintf("%x", id[:])
		}
		begun[tp] = from
	}
	if text := connector.SecondGroup(s.before, c.cfg.Kafka.Group, s.state.ReadBefore(begun)); text != "" {
		c.say(checkNote, s.what, "%s", text)
	}
}

// tell says what would come of the records that were taken.
func (c *checker) tell(s *stage) {
	c.tellSecondGroup(s)
	if s.taken == 0 {
		return
	}
	topics := "topic " + strings.Join(s.topics, ", ")
	after := s.play.Schema()
	switch {
	case after == nil:
		var kinds []string
		for kind, n := range s.play.Skipped() {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
		}
		slices.Sort(kinds)
		c.say(checkNote, s.what, "%s: %s looked at, no row: %s", topics, plural(s.taken, "record"), strings.Join(kinds, ", "))
	case s.before == nil:
		c.tellNew(s, topics, after)
	default:
		c.tellChanges(s, after)
	}
	if after != nil && s.play.Untyped() {
		c.say(checkOK, s.what, "events of %s carry no types: they are read by the table's", topics)
	}
	if unknown := s.play.Unknown(); len(unknown) > 0 {
		c.say(checkNote, s.what, "the events have fields that the table does not: %s; they would be left out (schema-change: ignore)", strings.Join(unknown, ", "))
	}
	if n, first := s.play.Passed(); n > 0 {
		c.say(checkNote, s.what, "%s of the %s looked at would be passed over, as the policies say (on-error: %s); the first: %v", humanCount(n), plural(s.taken, "record"), s.t.OnError, first)
	}
}

// tellChanges says how the schema of a table would change.
func (c *checker) tellChanges(s *stage, after *table.Schema) {
	_, changes, err := table.Evolve(s.before, after.Fields)
	if err != nil {
		c.say(checkFail, s.what, "%v", err)
	}
	for _, change := range changes {
		c.say(checkNote, s.what, "schema-change: %s would make: %s", s.t.SchemaChange, change)
	}
}

// tellNew says what table would be made.
func (c *checker) tellNew(s *stage, topics string, schema *table.Schema) {
	for _, column := range s.t.Unplaced(schema.PrimaryKeys, s.play.Key()) {
		c.say(checkNote, s.what, "%s", connector.UnplacedRemedy(column))
	}
	for _, warning := range schema.Warnings() {
		c.say(checkNote, s.what, "%s", warning)
	}
	buckets := "bucket " + schema.Option("bucket")
	if s.t.Options["bucket"] == "" && !schema.Append() {
		buckets += " by default (options.bucket chooses)"
	}
	c.say(checkOK, s.what, "would be made from %s: %s, %s, %s", topics, plural(len(schema.Fields), "column"), keyText(schema), buckets)
}
