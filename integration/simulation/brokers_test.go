//go:build synctests

package simulation

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/connector"
	"sink/table/object"
)

// brokerCalls are the requests that an instance makes.
func brokerCalls(protocol connector.Protocol) []kmsg.Key {
	keys := []kmsg.Key{kmsg.Fetch, kmsg.Produce, kmsg.InitProducerID, kmsg.OffsetForLeaderEpoch, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.FindCoordinator, kmsg.Metadata, kmsg.ListOffsets, kmsg.DescribeConfigs, kmsg.ApiVersions}
	if protocol == connector.Consumer {
		return append(keys, kmsg.ConsumerGroupHeartbeat)
	}
	return append(keys, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup)
}

// mostOf bounds the n-th of requests that repeat for as long as an instance lives.
const mostOf = 6

// TestEveryBrokerCall has the n-th request of each kind go wrong: the connection breaks before it, or before its answer; the process
// dies then; a request that changes something is carried out and answered with an error.
func TestEveryBrokerCall(t *testing.T) {
	warmUp(t)
	for _, protocol := range []connector.Protocol{connector.Classic, connector.Consumer} {
		for _, key := range brokerCalls(protocol) {
			effects := []requestEffect{cutBefore, cutAfter}
			if changes(key) {
				effects = append(effects, errorAfter, crashBefore, crashAfter)
			}
			for _, effect := range effects {
				t.Run(fmt.Sprintf("%s/%s/%s", protocol, key.Name(), effect), func(t *testing.T) {
					t.Parallel()
					everyNth(t, func(t *testing.T, n int) bool {
						if n > mostOf {
							return false
						}
						plan := &requestFault{key: key.Int16(), nth: n, effect: effect, code: errorsOf(key)[0].Code}
						setUp := func(w *world) { w.plan = plan }
						return scene(t, protocol, setUp, alike, func(*world, *instance) (bool, bool) {
							return plan.fired, effect == crashBefore || effect == crashAfter
						})
					})
				})
			}
		}
	}
}

// alike is a store without faults.
func alike(inner object.Store) object.Store { return inner }

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

// TestEveryBrokerError has the n-th request of each kind answered with an error.
func TestEveryBrokerError(t *testing.T) {
	warmUp(t)
	for _, protocol := range []connector.Protocol{connector.Classic, connector.Consumer} {
		for _, key := range brokerCalls(protocol) {
			if key == kmsg.ApiVersions {
				continue // an error there ends the connection, as above
			}
			for _, code := range errorsOf(key) {
				t.Run(fmt.Sprintf("%s/%s/%s", protocol, key.Name(), code.Message), func(t *testing.T) {
					t.Parallel()
					everyNth(t, func(t *testing.T, n int) bool {
						if n > mostOf {
							return false
						}
						var handles []*kfake.FaultHandle
						seen := 0
						var last kmsg.Request // asked about for each of its partitions
						setUp := func(w *world) {
							for _, top := range []bool{false, true} {
								handles = append(handles, w.brokers.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code, TopLevel: top, Count: -1, When: func(req kmsg.Request) bool {
									if w.fromSource(req) {
										return false
									}
									if req != last {
										seen, last = seen+1, req
									}
									return seen == n
								}}))
							}
						}
						return scene(t, protocol, setUp, alike, func(*world, *instance) (bool, bool) {
							return handles[0].Hits()+handles[1].Hits() > 0, false
						})
					})
				})
			}
		}
	}
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
