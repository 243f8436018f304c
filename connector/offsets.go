package connector

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/commit"
	"sink/table"
)

// groupOffsets tells the group how far the tables are: for each partition the lowest cursor among its tables, with the
// snapshots that it stands for in the commit's metadata. Kafka hears of nothing that is not readable (I4).
type groupOffsets struct {
	c      *Connector
	signal chan struct{}

	mu        sync.Mutex
	committed map[table.TopicPartition]int64 // acknowledged by the group
}

func newGroupOffsets(c *Connector) *groupOffsets {
	return &groupOffsets{c: c, signal: make(chan struct{}, 1), committed: map[table.TopicPartition]int64{}}
}

// changed is called when a table has become durable further on.
func (g *groupOffsets) changed() {
	select {
	case g.signal <- struct{}{}:
	default:
	}
}

// offsetsAgain is how long the next try waits after a commit that failed: nothing else may change for long, and lag
// monitors and UntilEnd go by the group's offsets.
const offsetsAgain = time.Second

// run commits whenever something changed, and again after a failure, until the context ends.
func (g *groupOffsets) run(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-g.signal:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		if !g.commit(ctx, g.c.owned()) {
			again = time.After(offsetsAgain)
		}
	}
}

// commit sends the offsets of some partitions, and reports whether the group has all of them. A failure is no harm: the
// next commit, or the next owner, does it again.
func (g *groupOffsets) commit(ctx context.Context, partitions []table.TopicPartition) bool {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	metadata := map[table.TopicPartition]string{}
	for _, tp := range partitions {
		at, snapshots, ok := g.c.durable(tp)
		if !ok || at.Offset <= g.acknowledged(tp) {
			continue
		}
		if offsets[tp.Topic] == nil {
			offsets[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[tp.Topic][tp.Partition] = kgo.EpochOffset{Offset: at.Offset, Epoch: at.Epoch}
		metadata[tp] = metadataOf(snapshots)
	}
	if len(offsets) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				text := metadata[table.TopicPartition{Topic: req.Topics[i].Topic, Partition: p.Partition}]
				p.Metadata = &text
			}
		}
		return nil
	})
	var failed error
	g.c.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = g.acknowledge(offsets, req, resp, err)
	})
	if failed != nil {
		g.c.cfg.Log.Debug().Err(failed).Msg("group offsets not committed; the snapshots have them, and they are sent again")
	}
	return failed == nil
}

// metadataOf returns the metadata of an offset. Where the tables are too many for it, it names as many as fit: the others
// are less well looked after, but no record is lost (see scout).
func metadataOf(marks []commit.Mark) string {
	slices.SortStableFunc(marks, func(a, b commit.Mark) int {
		return cmp.Compare(strings.Index(b.Table, routeMark), strings.Index(a.Table, routeMark)) // rules of routing first
	})
	routed := len(marks) > 0 && strings.HasPrefix(marks[0].Table, routeMark)
	for {
		text := commit.FormatOffsetMetadata(marks...)
		if named, _ := commit.ParseOffsetMetadata(text); !routed || len(named) == len(marks) {
			return text
		}
		marks = marks[:len(marks)*3/4]
	}
}

// acknowledged returns the offset that the group has for a partition, -1 where this process committed none.
func (g *groupOffsets) acknowledged(tp table.TopicPartition) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at, ok := g.committed[tp]; ok {
		return at
	}
	return -1
}

var errUnanswered = errors.New("the brokers did not answer for every partition")

// acknowledge notes what the brokers took. Since OffsetCommit 10 they name topics by id only (KIP-848).
func (g *groupOffsets) acknowledge(sent map[string]map[int32]kgo.EpochOffset, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) error {
	if err != nil {
		return err
	}
	names := map[[16]byte]string{}
	for _, t := range req.Topics {
		names[t.TopicID] = t.Topic
	}
	answered, wanted := 0, 0
	for _, partitions := range sent {
		wanted += len(partitions)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range resp.Topics {
		name := cmp.Or(t.Topic, names[t.TopicID])
		for _, p := range t.Partitions {
			at, asked := sent[name][p.Partition]
			if !asked {
				continue
			}
			answered++
			if e := kerr.ErrorForCode(p.ErrorCode); e != nil {
				err = e
				continue
			}
			g.committed[table.TopicPartition{Topic: name, Partition: p.Partition}] = at.Offset
		}
	}
	if err == nil && answered < wanted {
		err = errUnanswered
	}
	return err
}

// forget drops what was acknowledged for partitions that others may own now.
func (g *groupOffsets) forget(partitions []table.TopicPartition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, tp := range partitions {
		delete(g.committed, tp)
	}
}

// snapshot returns all that this process has committed.
func (g *groupOffsets) snapshot() map[table.TopicPartition]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.committed)
}
