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
