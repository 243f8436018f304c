package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/commit"
	"sink/table"
)

func (a *app) rebaseCommand() *cobra.Command {
	var (
		file string
		to   []string
		yes  bool
	)
	cmd := a.command(&cobra.Command{
		Use:   "rebase TABLE",
		Short: "Say where a stopped table goes on, when the log no longer has what it wants",
		Long: `Make a snapshot without rows that says where the table goes on. It is the way out when the table has stopped because the
records that it wants are gone, a topic was made anew, or the table was rolled back: nothing of this is skipped silently.

Without --to, partitions go on where the newest snapshot says, and at the start of the log where that is no longer possible. Records
between the old and the new offset are not in the table, or twice in its changelog: the plan is shown, with their number, and
carried out only after a yes. No instance of the sink may be running.`,
		Example: `  sink offsets rebase shop.orders -c sink.yaml
  sink offsets rebase shop.orders -c sink.yaml --to earliest
  sink offsets rebase shop.orders -c sink.yaml --to shop.public.orders/0=1200 --to shop.public.orders/1=1350 --yes`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := openOffsets(cmd.Context(), a, file)
			if err != nil {
				return err
			}
			defer o.client.Close()
			r := &rebase{offsets: o, name: args[0], to: to}
			return r.run(cmd.Context(), a, yes)
		},
	})
	addConfigFlag(cmd, &file)
	cmd.Flags().StringArrayVar(&to, "to", nil, "earliest, latest, or TOPIC/PARTITION=OFFSET, which may be repeated and goes first")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// rebase moves the map of one table.
type rebase struct {
	*offsets
	name string
	to   []string

	all      string // earliest, latest or nothing
	explicit map[table.TopicPartition]int64
}

func (r *rebase) run(ctx context.Context, a *app, yes bool) error {
	if err := r.parse(); err != nil {
		return misuse(err)
	}
	topics, ok, err := r.topicsOf(ctx, r.name)
	if err != nil {
		return err
	}
	if !ok {
		return misusef("no mapping of %s feeds table %s", r.cfg.File(), r.name)
	}
	t, err := r.look(ctx, r.name, topics)
	if err != nil {
		return fmt.Errorf("table %s: %w", r.name, err)
	}
	if !t.exists {
		return fmt.Errorf("there is no table %s: nothing to rebase, it begins at kafka.start (%s)", r.name, r.cfg.Kafka.Start)
	}
	if err := r.checkStopped(ctx); err != nil {
		return err
	}
	target, err := r.plan(t)
	if err != nil {
		return err
	}
	if err := r.showPlan(a, t, target); err != nil {
		return err
	}
	if !yes {
		if err := ask(a, fmt.Sprintf("Rebase table %s to these offsets? Type yes: ", r.name)); err != nil {
			return err
		}
		if err := r.checkStopped(ctx); err != nil { // it may have been long
			return err
		}
	}
	return r.carryOut(ctx, a, t.state.Progress.Offsets, target)
}

// parse reads --to.
func (r *rebase) parse() error {
	r.explicit = map[table.TopicPartition]int64{}
	for _, to := range r.to {
		if to == "earliest" || to == "latest" {
			if r.all != "" && r.all != to {
				return errors.New("--to earliest and --to latest exclude each other")
			}
			r.all = to
			continue
		}
		name, number, ok := strings.Cut(to, "=")
		slash := strings.LastIndexByte(name, '/')
		offset, err := strconv.ParseInt(number, 10, 64)
		if !ok || slash <= 0 || err != nil || offset < 0 {
			return fmt.Errorf("--to %s is none of earliest, latest and TOPIC/PARTITION=OFFSET", to)
		}
		partition, err := strconv.ParseInt(name[slash+1:], 10, 32)
		if err != nil || partition < 0 {
			return fmt.Errorf("--to %s: %q is no partition", to, name[slash+1:])
		}
		tp := table.TopicPartition{Topic: name[:slash], Partition: int32(partition)}
		if _, twice := r.explicit[tp]; twice {
			return fmt.Errorf("--to %s: partition %d of topic %s has another offset already", to, tp.Partition, tp.Topic)
		}
		r.explicit[tp] = offset
	}
	return nil
}

// checkStopped sees that no instance runs, of whichever group protocol. What the brokers do not tell is an error.
func (r *rebase) checkStopped(ctx context.Context) error {
	group := r.cfg.Kafka.Group
	classic, err := r.admin.DescribeGroups(ctx, group)
	members, err := len(classic[group].Members), errors.Join(err, classic[group].Err)
	if members == 0 && (err == nil || errors.Is(err, kerr.GroupIDNotFound)) { // so brokers answer for groups of the other protocol, too
		members, err = r.consumers(ctx, group)
	}
	if err != nil {
		return fmt.Errorf("kafka: whether group %s has members is not known: %w; nothing was changed", group, err)
	}
	if members > 0 {
		return fmt.Errorf("group %s has %s: stop every instance of the sink first", group, plural(members, "member"))
	}
	return nil
}

// consumers counts the members of a group of group protocol consumer (KIP-848), which old brokers do not have.
func (r *rebase) consumers(ctx context.Context, group string) (int, error) {
	brokers, err := r.admin.ApiVersions(ctx)
	known := false
	for _, b := range brokers {
		_, has := b.KeyMaxVersion(int16(kmsg.ConsumerGroupDescribe))
		known = known || has
		err = errors.Join(err, b.Err)
	}
	if !known {
		return 0, err
	}
	groups, err := r.admin.DescribeConsumerGroups(ctx, group)
	err = errors.Join(err, groups[group].Err)
	if errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.UnsupportedVersion) {
		return 0, nil
	}
	return len(groups[group].Members), err
}

// plan decides where each partition goes on.
func (r *rebase) plan(t *tableOffsets) (table.Offsets, error) {
	target := table.Offsets{}
	for tp := range r.explicit {
		if !slices.ContainsFunc(t.places, func(p place) bool { return p.TopicPartition == tp && p.fed && p.end >= 0 }) {
			return nil, misusef("--to %s/%d: the topics of table %s have no such partition", tp.Topic, tp.Partition, r.name)
		}
	}
	for _, p := range t.places {
		if p.end < 0 {
			continue // gone, and so from the map
		}
		if !p.fed {
			target[p.TopicPartition] = *p.mapped
			continue // a mapping may feed it again
		}
		c := table.Cursor{Offset: p.start, Epoch: -1, TopicID: p.topicID}
		same := p.mapped != nil && (p.mapped.TopicID == "" || p.topicID == "" || p.mapped.TopicID == p.topicID)
		offset, explicit := r.explicit[p.TopicPartition]
		switch {
		case explicit && (offset < p.start || offset > p.end):
			return nil, misusef("--to %s/%d=%d is outside the log, which has %d to %d", p.Topic, p.Partition, offset, p.start, p.end)
		case explicit:
			c.Offset = offset
		case r.all == "latest":
			c.Offset = p.end
		case r.all == "earliest":
		case same && p.mapped.Offset >= p.start && p.mapped.Offset <= p.end:
			c = *p.mapped
			c.TopicID = p.topicID
		case t.err != nil && p.mapped == nil:
			return nil, misusef("nothing tells how far table %s is (%v): say where to go on with --to", r.name, t.err)
		}
		target[p.TopicPartition] = c
	}
	return target, nil
}

// showPlan prints what would change.
func (r *rebase) showPlan(a *app, t *tableOffsets, target table.Offsets) error {
	out := newPrinter(a.stdout, formatTable, "topic", "partition", "from", "to", "meaning")
	for _, p := range t.places {
		to, ok := target[p.TopicPartition]
		if !ok {
			out.row(p.Topic, p.Partition, p.mapped.Offset, nil, "leaves the map: "+p.note)
			continue
		}
		var from any
		meaning := "begins here"
		if p.mapped != nil {
			from = p.mapped.Offset
			meaning = meaningOf(p, to.Offset)
		}
		out.row(p.Topic, p.Partition, from, to.Offset, meaning)
	}
	return out.close()
}

func meaningOf(p place, to int64) string {
	switch {
	case p.mapped.TopicID != "" && p.topicID != "" && p.mapped.TopicID != p.topicID:
		return "another topic of the same name"
	case to > p.mapped.Offset:
		return plural(to-p.mapped.Offset, "offset") + " skipped: their records never get into the table"
	case to < p.mapped.Offset:
		return plural(p.mapped.Offset-to, "offset") + " read again: their changes are in the changelog twice"
	}
	return "unchanged"
}

// ask asks a plain question on the terminal.
func ask(a *app, question string) error {
	if _, err := fmt.Fprint(a.stderr, question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if strings.TrimSpace(answer) == "yes" {
		return nil
	}
	if err != nil {
		return errors.New("nobody answered yes, so nothing was changed; --yes does not ask")
	}
	return errors.New("the answer was not yes, so nothing was changed")
}

// carryOut makes the snapshot, then has the group forget its offsets: they name snapshots that may no longer be there, and
// the new one counts alone.
func (r *rebase) carryOut(ctx context.Context, a *app, shown, target table.Offsets) error {
	committer, err := r.open(ctx, r.name)
	if err != nil {
		return fmt.Errorf("table %s: %w", r.name, err)
	}
	result, err := committer.Rebase(ctx, shown, target)
	if errors.Is(err, commit.ErrFenced) {
		return fmt.Errorf("%w; nothing was changed: stop every instance of the sink, then look again", err)
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.stdout, "table %s goes on from snapshot %d\n", r.name, result.SnapshotID); err != nil {
		return err
	}
	forget := kadm.TopicsSet{}
	for tp := range target {
		if g, ok := r.group.Lookup(tp.Topic, tp.Partition); ok && g.At >= 0 {
			forget.Add(tp.Topic, tp.Partition)
		}
	}
	if len(forget) == 0 {
		return nil
	}
	deleted, err := r.admin.DeleteOffsets(ctx, r.cfg.Kafka.Group, forget)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		return fmt.Errorf("the snapshot is made, but the offsets of group %s could not be deleted: %w; delete them yourself, or run this again", r.cfg.Kafka.Group, err)
	}
	return nil
}
