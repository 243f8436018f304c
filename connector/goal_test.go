package connector

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"sink/table"
	"sink/table/object"
)

// TestGoalOfTwoInstances: each has committed a part of the partitions, so that neither alone has reached the goal.
func TestGoalOfTwoInstances(t *testing.T) {
	b := newBroker(t, 2, "crates")
	cfg := b.config(object.NewMem(), crateTable())
	c, err := New(cfg)
	require.NoError(t, err)
	defer c.client.Close()
	own, other := table.TopicPartition{Topic: "crates", Partition: 0}, table.TopicPartition{Topic: "crates", Partition: 1}
	g := &goal{c: c, ends: map[table.TopicPartition]int64{own: 5, other: 7}}
	require.False(t, g.reached(t.Context()))

	c.offsets.committed[own] = 5
	require.False(t, g.reached(t.Context()))

	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "crates", Partition: 1, At: 7, LeaderEpoch: -1})
	require.NoError(t, c.admin.CommitAllOffsets(t.Context(), cfg.Group, offsets))
	require.True(t, g.reached(t.Context()))
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
