package connector

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/table"
)

// An answer that names topics by id, as the client leaves it when the group has gone on meanwhile, is one; what has no answer is sent again.
func TestAcknowledge(t *testing.T) {
	id, other := [16]byte{1}, [16]byte{2}
	tp := table.TopicPartition{Topic: "crates", Partition: 3}
	sent := map[string]map[int32]kgo.EpochOffset{"crates": {3: {Offset: 7}}}
	req := &kmsg.OffsetCommitRequest{Topics: []kmsg.OffsetCommitRequestTopic{{Topic: "crates", TopicID: id}}}
	answer := func(name string, id [16]byte, partition int32, code int16) *kmsg.OffsetCommitResponse {
		return &kmsg.OffsetCommitResponse{Topics: []kmsg.OffsetCommitResponseTopic{{
			Topic: name, TopicID: id, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: partition, ErrorCode: code}},
		}}}
	}
	refused := errors.New("refused")
	for _, c := range []struct {
		resp      *kmsg.OffsetCommitResponse
		err, want error
	}{
		{answer("crates", [16]byte{}, 3, 0), nil, nil},
		{answer("", id, 3, 0), nil, nil},
		{answer("", other, 3, 0), nil, errUnanswered},
		{answer("crates", id, 2, 0), nil, errUnanswered},
		{&kmsg.OffsetCommitResponse{}, nil, errUnanswered},
		{answer("", id, 3, kerr.IllegalGeneration.Code), nil, kerr.IllegalGeneration},
		{nil, refused, refused},
	} {
		g := newGroupOffsets(nil)
		require.ErrorIs(t, g.acknowledge(sent, req, c.resp, c.err), c.want)
		if c.want == nil {
			require.Equal(t, map[table.TopicPartition]int64{tp: 7}, g.snapshot())
		} else {
			require.Empty(t, g.snapshot())
		}
	}
}
