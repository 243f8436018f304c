//go:build synctests

package simulation

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/connector"
)

// brokerCalls are the requests that an instance makes.
func brokerCalls(protocol connector.Protocol) []kmsg.Key {
	keys := []kmsg.Key{kmsg.Fetch, kmsg.Produce, kmsg.InitProducerID, kmsg.OffsetForLeaderEpoch, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.FindCoordinator, kmsg.Metadata, kmsg.ListOffsets, kmsg.DescribeConfigs, kmsg.ApiVersions}
	if protocol == connector.Consumer {
		return append(keys, kmsg.ConsumerGroupHeartbeat)
	}
	return append(keys, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup)
}

// changes reports whether a kind of request changes what the brokers know.
func changes(key kmsg.Key) bool {
	switch key {
	case kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.ConsumerGroupHeartbeat, kmsg.Produce:
		return true
	}
	return false
}

// fromSource reports whether a request brings events rather than letters.
func (w *world) fromSource(req kmsg.Request) bool {
	produce, ok := req.(*kmsg.ProduceRequest)
	if !ok || len(produce.Topics) == 0 {
		return false
	}
	topic := produce.Topics[0].Topic
	if topic == "" {
		topic = w.topics[produce.Topics[0].TopicID]
	}
	return topic != letterTopic
}

// errorsOf are errors that brokers give for a kind of request and that pass.
func errorsOf(key kmsg.Key) []*kerr.Error {
	switch key {
	case kmsg.Fetch, kmsg.ListOffsets, kmsg.Produce, kmsg.OffsetForLeaderEpoch:
		return []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownServerError}
	case kmsg.Metadata, kmsg.DescribeConfigs:
		return []*kerr.Error{kerr.UnknownServerError}
	case kmsg.OffsetCommit, kmsg.Heartbeat:
		return []*kerr.Error{kerr.NotCoordinator, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress}
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.ConsumerGroupHeartbeat:
		return []*kerr.Error{kerr.NotCoordinator, kerr.UnknownMemberID, kerr.CoordinatorLoadInProgress}
	}
	return []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress}
}
