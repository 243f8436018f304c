//go:build integration

package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func newClient(broker string) (*kgo.Client, error) {
	return kgo.NewClient(
		kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.RequiredAcks(kgo.LeaderAck()), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(1000000), kgo.MaxBufferedRecords(20000),
		kgo.UnknownTopicRetries(100), // right after its creation a topic may be unknown
	)
}

// cluster is a broker and who administers it.
type cluster struct {
	address string
	admin   *kadm.Client
}

func sharedCluster() cluster { return cluster{shared.kafka, shared.admin} }

// createTopic makes a topic of the shared broker.
func createTopic(t testing.TB, topic string, partitions int, configs ...string) {
	t.Helper()
	sharedCluster().createTopic(t, topic, partitions, configs...)
}

// createTopic makes a topic and waits until the broker serves it: right after its creation a topic may be unknown.
func (c cluster) createTopic(t testing.TB, topic string, partitions int, configs ...string) {
	t.Helper()
	settings := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		settings[configs[i]] = &configs[i+1]
	}
	_, err := c.admin.CreateTopic(t.Context(), int32(partitions), 1, settings, topic)
	require.NoError(t, err, "create topic %s", topic)
	require.Eventually(t, func() bool {
		offsets, err := c.admin.ListEndOffsets(t.Context(), topic)
		return err == nil && offsets.Error() == nil && len(offsets[topic]) == partitions
	}, 30*time.Second, 20*time.Millisecond, "topic %s is not served", topic)
}

// addPartitions grows a topic.
func addPartitions(t testing.TB, topic string, more int) {
	t.Helper()
	answers, err := shared.admin.CreatePartitions(t.Context(), more, topic)
	require.NoError(t, err)
	require.NoError(t, answers.Error())
}

// produce writes records to the shared broker.
func produce(t testing.TB, records []record) {
	t.Helper()
	sharedCluster().produce(t, records)
}

// produce writes records to the very partitions they name, in order.
func (c cluster) produce(t testing.TB, records []record) {
	t.Helper()
	client, err := newClient(c.address)
	require.NoError(t, err)
	defer client.Close()
	var failed error
	for _, r := range records {
		client.Produce(t.Context(), r.kafka(), func(sent *kgo.Record, err error) {
			if failed != nil {
				return
			}
			if err == nil && r.Offset != nil && sent.Offset != *r.Offset {
				err = fmt.Errorf("landed at offset %d, the fixture has it at %d", sent.Offset, *r.Offset)
			}
			if err != nil {
				failed = fmt.Errorf("produce to %s partition %d: %w", sent.Topic, sent.Partition, err)
			}
		})
	}
	require.NoError(t, client.Flush(t.Context()))
	require.NoError(t, failed)
}

// replay makes the topics of records, as many partitions each as they use, and produces them.
func replay(t testing.TB, records []record) {
	t.Helper()
	partitions := map[string]int{}
	for _, r := range records {
		partitions[r.Topic] = max(partitions[r.Topic], int(r.Partition)+1)
	}
	for topic, n := range partitions {
		createTopic(t, topic, n)
	}
	produce(t, records)
}

// groupOffsets are the committed offsets of a group, by topic and partition.
func groupOffsets(t testing.TB, group string) map[string]map[int32]int64 {
	t.Helper()
	found, err := shared.admin.FetchOffsets(t.Context(), group)
	require.NoError(t, err)
	result := map[string]map[int32]int64{}
	found.Each(func(o kadm.OffsetResponse) {
		if result[o.Topic] == nil {
			result[o.Topic] = map[int32]int64{}
		}
		result[o.Topic][o.Partition] = o.At
	})
	return result
}

// endOffsets are the ends of a topic's partitions on the shared broker.
func endOffsets(t testing.TB, topic string) map[int32]int64 {
	t.Helper()
	return sharedCluster().endOffsets(t, topic)
}

func (c cluster) endOffsets(t testing.TB, topic string) map[int32]int64 {
	t.Helper()
	found, err := c.admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	require.NoError(t, found.Error())
	result := map[int32]int64{}
	for partition, o := range found[topic] {
		result[partition] = o.Offset
	}
	return result
}

// deleteBefore deletes the records of a partition below an offset.
func deleteBefore(t testing.TB, topic string, partition int32, offset int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, partition, offset, -1)
	answers, err := shared.admin.DeleteRecords(t.Context(), offsets)
	require.NoError(t, err)
	require.NoError(t, answers.Error())
}

// deleteGroup forgets a group with its offsets, once its members are gone.
func deleteGroup(t testing.TB, group string) {
	t.Helper()
	require.Eventually(t, func() bool {
		answers, err := shared.admin.DeleteGroups(t.Context(), group)
		if err == nil {
			err = answers.Error()
		}
		return err == nil || err == kerr.GroupIDNotFound
	}, time.Minute, 200*time.Millisecond, "group %s still has members", group)
}

// grant lets a user read topics and use a group.
func grant(t testing.TB, user, topic, group string) {
	t.Helper()
	rights := kadm.NewACLs().Allow("User:"+user).AllowHosts("*").Topics(topic).Groups(group).
		ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpRead, kadm.OpDescribe)
	answers, err := shared.admin.CreateACLs(t.Context(), rights)
	require.NoError(t, err)
	for _, a := range answers {
		require.NoError(t, a.Err)
	}
}
