package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/config"
	"sink/connector"
	"sink/table"
	"sink/table/object"
)

func (a *app) offsetsCommand() *cobra.Command {
	var (
		file   string
		format outputFormat
	)
	cmd := a.command(&cobra.Command{
		Use:   "offsets [TABLE]",
		Short: "Show how far tables are: offsets of snapshots, of the group and of the logs",
		Long: `Show, for each partition of the topics that feed the tables (or TABLE alone), the offset in the table's newest snapshot, that of
the consumer group, and where the log begins and ends. The snapshot's offset is the truth: records before it are in the table,
each exactly once. The group's is a courtesy to lag monitors.`,
		Example: `  sink offsets -c sink.yaml
  sink offsets shop.orders -c sink.yaml -o json
  sink offsets rebase shop.orders -c sink.yaml       # go on where the log no longer has what is wanted`,
		Args: tableOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := openOffsets(cmd.Context(), a, file)
			if err != nil {
				return err
			}
			defer o.client.Close()
			return o.show(cmd.Context(), a, args, format)
		},
	})
	addConfigFlag(cmd, &file)
	format.addTo(cmd)
	cmd.AddCommand(a.rebaseCommand())
	return cmd
}

// offsets compares what tables, group and logs say.
type offsets struct {
	cfg      *config.Config
	settings connector.Config
	store    object.Store
	client   *kgo.Client
	admin    *kadm.Client

	details kadm.TopicDetails
	group   kadm.OffsetResponses
}

// openOffsets reaches brokers and store.
func openOffsets(ctx context.Context, a *app, file string) (*offsets, error) {
	cfg, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	log := newLogger(a.stderr, config.Log{Level: "error", Format: cfg.Log.Format})
	o := &offsets{cfg: cfg}
	if o.settings, err = connectorConfig(cfg, log); err != nil {
		return nil, err
	}
	if o.store, err = object.Open(ctx, cfg.Warehouse, s3Config(cfg.S3)); err != nil {
		return nil, err
	}
	if o.client, err = kgo.NewClient(append(reachOptions(cfg), o.settings.Kafka...)...); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	o.admin = kadm.NewClient(o.client)
	reach, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	if o.details, err = o.admin.ListTopics(reach); err == nil {
		// The group's offsets come before the tables': an instance that commits in between would look like a rollback.
		o.group, err = o.admin.FetchOffsets(reach, cfg.Kafka.Group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			err = nil
		}
	}
	if err != nil {
		o.client.Close()
		return nil, connector.KafkaError(cfg.Kafka.Brokers, reachWithin, err)
	}
	return o, nil
}

// feeds returns the tables of the configuration, each with the topics that feed it now.
func (o *offsets) feeds() map[string][]string {
	out := map[string][]string{}
	for i := range o.settings.Tables {
		t := &o.settings.Tables[i]
		if t.BySource() {
			o.found(t, out)
			continue
		}
		for _, topic := range t.Topics {
			out[targetOf(t, topic)] = append(out[targetOf(t, topic)], topic)
		}
		for _, topic := range o.details.Names() {
			if t.Pattern != nil && t.Matches(topic) {
				name := targetOf(t, topic)
				out[name] = append(out[name], topic)
			}
		}
	}
	return out
}

// found adds the tables that a mapping has found by the source of records: those that the group's offsets name.
func (o *offsets) found(t *connector.Table, out map[string][]string) {
	for _, topic := range o.details.Names() {
		if !t.Matches(topic) {
			continue
		}
		for _, at := range o.group[topic] {
			marks, _ := commit.ParseOffsetMetadata(at.Metadata)
			for _, m := range marks {
				if t.Makes(m.Table) && !slices.Contains(out[m.Table], topic) {
					out[m.Table] = append(out[m.Table], topic)
				}
			}
		}
	}
}

// topicsOf returns the topics that feed a table; ok is false where no mapping does. A table that was found by the source of records
// and that the group's offsets do not name, since they expired or were deleted, tells itself.
func (o *offsets) topicsOf(ctx context.Context, name string) (topics []string, ok bool, err error) {
	if topics, ok = o.feeds()[name]; ok {
		return topics, true, nil
	}
	for i := range o.settings.Tables {
		t := &o.settings.Tables[i]
		if !t.BySource() || !t.Makes(name) {
			continue
		}
		committer, err := o.open(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		var state commit.State
		if err == nil {
			state, err = committer.Resume(ctx)
		}
		if _, lost := errors.AsType[*commit.StateError](err); err != nil && !lost {
			return nil, false, fmt.Errorf("table %s: %w", name, err)
		}
		for tp := range state.Progress.Offsets {
			if t.Matches(tp.Topic) && !slices.Contains(topics, tp.Topic) {
				topics = append(topics, tp.Topic)
			}
		}
		ok = true
	}
	return topics, ok, nil
}

// mayFeed reports whether records of a topic may be found to be those of a table.
func (o *offsets) mayFeed(topic, name string) bool {
	return slices.ContainsFunc(o.settings.Tables, func(t connector.Table) bool { return t.BySource() && t.Matches(topic) && t.Makes(name) })
}

// place is one partition of a table, as snapshot, group and log see it.
type place struct {
	table.TopicPartition
	fed        bool          // a mapping feeds the table from its topic
	mapped     *table.Cursor // of the newest snapshot of this group; nil: the map lacks it
	group      int64         // -1: none
	metadata   string        // of the group's offset
	start, end int64         // of the log; -1: there is no such partition
	topicID    string        // of the topic now
	note       string
	stops      bool // the note is why the table would not go on
}

// tableOffsets is what there is to say of one table.
type tableOffsets struct {
	name   string
	state  commit.State
	exists bool
	places []place
	err    error // the state that the table does not go on from by itself
}

// look reads one table's map and compares it with the logs.
func (o *offsets) look(ctx context.Context, name string, topics []string) (*tableOffsets, error) {
	t := &tableOffsets{name: name}
	committer, err := o.open(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		t.exists = true
		t.state, err = committer.Resume(ctx)
		if _, ok := errors.AsType[*commit.StateError](err); ok {
			t.err = err
		} else if err != nil {
			return nil, err
		}
	}
	known := slices.Clone(topics)
	for tp := range t.state.Progress.Offsets {
		if !slices.Contains(known, tp.Topic) {
			known = append(known, tp.Topic)
		}
	}
	if err := o.discover(ctx, known); err != nil {
		return nil, err
	}
	starts, err := o.listed(ctx, known, o.admin.ListStartOffsets)
	if err != nil {
		return nil, err
	}
	ends, err := o.listed(ctx, known, o.admin.ListCommittedOffsets)
	if err != nil {
		return nil, err
	}
	seen := table.Offsets{}
	maps.Copy(seen, t.state.Progress.Offsets)
	for _, topic := range topics {
		for p := range ends[topic] {
			if tp := (table.TopicPartition{Topic: topic, Partition: p}); p >= 0 && seen[tp] == (table.Cursor{}) {
				seen[tp] = table.Cursor{}
			}
		}
	}
	for _, tp := range sortedOffsets(seen) {
		p := o.placeOf(t, tp, starts, ends)
		p.fed = slices.Contains(topics, tp.Topic) || o.mayFeed(tp.Topic, name)
		p.note, p.stops = o.noteOf(t, &p)
		t.places = append(t.places, p)
	}
	return t, nil
}

func (o *offsets) open(ctx context.Context, name string) (*commit.Committer, error) {
	path, err := tablePath(name)
	if err != nil {
		return nil, misuse(err)
	}
	return commit.Open(ctx, commit.Config{Store: o.store, Path: path, User: o.cfg.Kafka.Group, SingleWriter: o.cfg.SingleWriter})
}

// discover asks for the topics that the brokers have not listed: they do not list what a user may not see, and that a topic is gone is
// said only of one that is.
func (o *offsets) discover(ctx context.Context, topics []string) error {
	missing := slices.DeleteFunc(slices.Clone(topics), o.details.Has)
	if len(missing) == 0 {
		return nil
	}
	details, err := o.admin.ListTopics(ctx, missing...)
	if err != nil {
		return connector.KafkaError(o.cfg.Kafka.Brokers, reachWithin, err)
	}
	for _, d := range details {
		switch {
		case d.Err == nil:
			o.details[d.Topic] = d
		case !errors.Is(d.Err, kerr.UnknownTopicOrPartition):
			return fmt.Errorf("kafka: topic %s: %w", d.Topic, d.Err)
		}
	}
	return nil
}

// listed asks for offsets of the topics that are there. What a broker does not tell is an error: a partition without a leader is not gone.
func (o *offsets) listed(ctx context.Context, topics []string, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (kadm.ListedOffsets, error) {
	var there []string
	for _, topic := range topics {
		if o.details.Has(topic) {
			there = append(there, topic)
		}
	}
	if len(there) == 0 {
		return kadm.ListedOffsets{}, nil
	}
	out, err := list(ctx, there...)
	if err != nil {
		return nil, fmt.Errorf("kafka: list offsets: %w", err)
	}
	out.Each(func(l kadm.ListedOffset) {
		if l.Err != nil && !errors.Is(l.Err, kerr.UnknownTopicOrPartition) && err == nil {
			err = fmt.Errorf("kafka: offsets of topic %s partition %d cannot be read: %w", l.Topic, l.Partition, l.Err)
		}
	})
	return out, err
}

func (o *offsets) placeOf(t *tableOffsets, tp table.TopicPartition, starts, ends kadm.ListedOffsets) place {
	p := place{TopicPartition: tp, group: -1, start: -1, end: -1}
	if c, ok := t.state.Progress.Offsets[tp]; ok {
		p.mapped = &c
	}
	if l, ok := starts.Lookup(tp.Topic, tp.Partition); ok && l.Err == nil {
		p.start = l.Offset
	}
	if l, ok := ends.Lookup(tp.Topic, tp.Partition); ok && l.Err == nil {
		p.end = l.Offset
	}
	if id := o.details[tp.Topic].ID; id != (kadm.TopicID{}) {
		p.topicID = fmt.Sprintf("%x", id[:])
	}
	if g, ok := o.group.Lookup(tp.Topic, tp.Partition); ok && g.Err == nil {
		p.group, p.metadata = g.At, g.Metadata
	}
	return p
}

// noteOf says what is odd about a partition, and whether the table stops for it: what would stop it comes first.
func (o *offsets) noteOf(t *tableOffsets, p *place) (note string, stops bool) {
	if p.end < 0 {
		return "the topic or partition is gone", false
	}
	if !p.fed {
		return "no mapping feeds the table from this topic", false
	}
	if p.mapped == nil {
		switch {
		case t.err != nil:
			return "no map", false
		case t.exists && !t.state.Fresh:
			return "not in the map: begins at the start of the log", false
		}
		return "begins at kafka.start, " + o.cfg.Kafka.Start, false
	}
	switch verdict := commit.JudgeOffset(t.state, t.name, p.mapped.Offset, p.group, p.metadata); {
	case p.mapped.TopicID != "" && p.topicID != "" && p.mapped.TopicID != p.topicID:
		return "the topic was deleted and made anew: rebase", true
	case p.mapped.Offset < p.start:
		return fmt.Sprintf("%s records are gone from the log: rebase", humanCount(p.start-p.mapped.Offset)), true
	case p.mapped.Offset > p.end:
		return fmt.Sprintf("the log ends %s before it: rebase", plural(p.mapped.Offset-p.end, "offset")), true
	case p.group >= 0 && verdict == commit.OffsetRollback:
		return "the group is ahead of the table, which was rolled back: rebase", true
	case p.group >= 0 && verdict == commit.OffsetForward:
		return "the group is ahead over records that gave no rows", false
	case p.group >= 0 && p.group != p.mapped.Offset:
		return "the group's offset is ignored", false
	}
	return "", false
}

// show prints the places of the tables.
func (o *offsets) show(ctx context.Context, a *app, args []string, format outputFormat) error {
	feeds := o.feeds()
	names := slices.Sorted(maps.Keys(feeds))
	if len(args) == 1 {
		topics, ok, err := o.topicsOf(ctx, args[0])
		if err != nil {
			return err
		}
		if !ok {
			return misusef("no mapping of %s feeds table %s; there are: %s", o.cfg.File(), args[0], strings.Join(names, ", "))
		}
		names, feeds[args[0]] = args, topics
	}
	out := newPrinter(a.stdout, format, "table", "topic", "partition", "snapshot", "offset", "group", "start", "end", "lag", "note")
	var errs error
	for _, name := range names {
		t, err := o.look(ctx, name, feeds[name])
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("table %s: %w", name, err))
			continue
		}
		errs = errors.Join(errs, t.err)
		for _, p := range t.places {
			out.row(append([]any{name, p.Topic, p.Partition}, p.values(t.state.SnapshotID)...)...)
		}
	}
	return errors.Join(errs, out.close())
}

// values are the cells of a place; unknown numbers are null.
func (p *place) values(snapshot int64) []any {
	var id, offset, group, start, end, lag any
	if snapshot > 0 {
		id = snapshot
	}
	if p.group >= 0 {
		group = p.group
	}
	if p.end >= 0 {
		start, end, lag = p.start, p.end, p.end-p.start
	}
	if p.mapped != nil {
		offset = p.mapped.Offset
		if p.end >= 0 {
			lag = max(p.end-p.mapped.Offset, 0)
		}
	}
	return []any{id, offset, group, start, end, lag, p.note}
}
