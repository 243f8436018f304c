package connector

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// A scout that finds a table again, which was stopped and comes back, has it go on from where it was found first: the scout is far behind the
// records of it that no snapshot has. A partition that was let go, or whose topic was made anew, is found anew.
func TestKeepFound(t *testing.T) {
	at := func(p int32) table.TopicPartition { return table.TopicPartition{Topic: "d", Partition: p} }
	log := func(id string, at int64) partitionLog {
		return partitionLog{topicID: id, found: &found{floor: 0, at: at}}
	}
	w := &worker{
		partitions: map[table.TopicPartition]*partition{at(0): {log: log("a", 1)}, at(1): {log: partitionLog{topicID: "a"}}, at(4): {log: log("old", 1)}},
		comeback:   comeback{owed: map[table.TopicPartition]partitionLog{at(2): log("a", 3)}},
	}
	logs := map[table.TopicPartition]partitionLog{}
	for p := range int32(5) {
		logs[at(p)] = log("a", 14)
	}
	logs[at(5)] = partitionLog{topicID: "a"}
	w.keepFound(logs)
	for p, want := range []int64{1, 14, 3, 14, 14} {
		require.Equal(t, want, logs[at(int32(p))].found.at, "partition %d", p)
	}
	require.Nil(t, logs[at(5)].found)
}
