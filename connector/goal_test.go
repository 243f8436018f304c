package connector

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/commit"
	"sink/table"
	"sink/table/object"
)

// TestGoalOfTwoInstances: each has committed a part of the partitions, so that neither alone has reached the goal.
func TestGoalOfTwoInstances(t *testing.T) {
	b := newBroker(t, 2, "crates")
	crates := crateTable()
	crates.Topics = []string{"crates"}
	cfg := b.config(object.NewMem(), crates)
	c := newConnector(t.Context(), cfg)
	c.admin, c.offsets = b.admin, newGroupOffsets(c)
	defer func() { c.endLife(nil); c.running.Wait() }()
	_, err := c.route("crates")
	require.NoError(t, err)
	own, other := table.TopicPartition{Topic: "crates", Partition: 0}, table.TopicPartition{Topic: "crates", Partition: 1}
	commitOther := func(marks ...commit.Mark) {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: "crates", Partition: 1, At: 7, LeaderEpoch: -1, Metadata: commit.FormatOffsetMetadata(marks...)})
		require.NoError(t, c.admin.CommitAllOffsets(t.Context(), cfg.Group, offsets))
	}
	assign := func(partitions ...int32) {
		c.mu.Lock()
		c.assignment = nil
		c.mu.Unlock()
		c.assigned(t.Context(), nil, map[string][]int32{"crates": partitions})
	}
	g := &goal{c: c, ends: map[table.TopicPartition]int64{own: 5, other: 7}}
	assign(0)
	require.False(t, g.reached(t.Context()))
	c.offsets.committed[own] = 5
	require.False(t, g.reached(t.Context()))

	commitOther(commit.Mark{Table: "orchard.barrel", Snapshot: 3, UUID: "a"})
	require.False(t, g.reached(t.Context()), "the group speaks of another table")
	commitOther(commit.Mark{Table: "orchard.barrel", Snapshot: 3, UUID: "a"}, commit.Mark{Table: "orchard.crate"})
	require.True(t, g.reached(t.Context()))
	commitOther()
	require.True(t, g.reached(t.Context()), "of more tables than it can name")
	assign(0, 1)
	require.False(t, g.reached(t.Context()), "this process reads the partition, and has not committed yet")
	c.lost(t.Context(), nil, nil)
	require.False(t, g.reached(t.Context()), "nobody knows who reads it")
}

// A run to the end of a table that is new, or was dropped, does not take the group's offsets for its own, however long the group takes
// to let it in.
func TestGoalOfNewTable(t *testing.T) {
	b := newBroker(t, 1, crateTopic)
	b.send(crateTopic, 0, keyOf(7), envelope("c", nil, row(7, "fig", 3), 0))
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, crateTable()))
	require.NoError(t, err)
	want := rowsOf(t, store, "orchard.crate")

	for _, name := range []string{"orchard.fresh", "orchard.crate"} {
		store := object.NewMem()
		for range 3 {
			b.cluster.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
				resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
				resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
				return resp, nil, true
			})
		}
		crates := crateTable()
		crates.Name = name
		_, err := runConnector(t, b.config(store, crates))
		require.NoError(t, err)
		require.Equal(t, want, rowsOf(t, store, name))
	}
}

// A run to the end that is told to stop before it says so, and has committed what it read; the next one goes on from there.
func TestCutOffBeforeEnd(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		for id := range int64(5) {
			s.emit(crateTopic, good(id))
		}
		cfg := s.quickly(store)
		cfg.Checkpoint.Records = 1
		p := s.start(cfg)
		p.stop()
		<-p.ended
		require.ErrorIs(t, p.err, ErrInterrupted)
		_, err := s.drain(cfg)
		require.NoError(t, err)
		oneEach(t, store, "orchard.crate", 0, 1, 2, 3, 4)

		cfg.Group, cfg.UntilEnd = "service", false
		p = s.start(cfg)
		require.NoError(t, p.end(), "a service that is told to stop has done what it was told")
	})
}

// Partitions for which the group answers with no offset at all are read like those for which it has none.
func TestOffsetsLeftOut(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic), object.NewMem()
		for id := range int64(5) {
			s.emit(crateTopic, good(id))
		}
		for range 4 { // the client asks so often
			s.cluster.ControlKey(int16(kmsg.OffsetFetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
				resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
				for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
					resp.Groups = append(resp.Groups, kmsg.OffsetFetchResponseGroup{Group: g.Group})
				}
				return resp, nil, true
			})
		}
		_, err := s.drain(s.quickly(store))
		require.NoError(t, err)
		oneEach(t, store, "orchard.crate", 0, 1, 2, 3, 4)
	})
}
