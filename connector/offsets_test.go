package connector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/commit"
	"sink/table"
	"sink/table/object"
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

// moveOn commits for the group of a running process, as an instance would that it does not know of: a partition is a record further.
func moveOn(t *testing.T, store object.Store, tp table.TopicPartition) {
	t.Helper()
	other, err := commit.Open(t.Context(), commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "ucase"})
	require.NoError(t, err)
	state, err := other.Resume(t.Context())
	require.NoError(t, err)
	from := table.Offsets{tp: state.Progress.Offsets[tp]}
	to := from[tp]
	to.Offset++
	_, err = other.Commit(t.Context(), table.Delta{From: from, Progress: table.Progress{Offsets: table.Offsets{tp: to}, MaxSequence: state.MaxSequence}})
	require.NoError(t, err)
}

func cratePartition(p int32) table.TopicPartition {
	return table.TopicPartition{Topic: crateTopic, Partition: p}
}

// skipping has a process read a row of each of three partitions, then two bad records of each, that it skips.
func skipping(s *stage, store object.Store) *process {
	cfg := s.quickly(store)
	cfg.UntilEnd, cfg.Checkpoint.Interval, cfg.Tables[0].OnError = false, time.Second, Skip
	p := s.start(cfg)
	for _, value := range []string{envelope("c", nil, row(1, "x", 1), 1), "not JSON", "not JSON"} {
		for partition := range int32(3) {
			s.emit(crateTopic, event{partition: partition, key: keyOf(1), value: value})
		}
		time.Sleep(10 * time.Second)
	}
	return p
}

// TestPositionsOfTheirSnapshot: positions are told with the snapshot that they rest on, and with a newer one only when they are known to
// hold there: skipped records that follow what its map has count, those of a partition that somebody else has moved do not.
func TestPositionsOfTheirSnapshot(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 3, crateTopic), object.NewMem()
		p := skipping(s, store)
		w := p.c.allWorkers()[0]
		_, before, ok := w.durableAt(cratePartition(0))
		require.True(t, ok)
		moveOn(t, store, cratePartition(1))
		type told struct {
			offset int64 // -1: none
			mark   commit.Mark
		}
		have := func() (all []told) {
			for partition := range int32(3) {
				at, mark, known := w.durableAt(cratePartition(partition))
				if !known {
					at.Offset = -1
				}
				all = append(all, told{at.Offset, mark})
			}
			return all
		}
		var resumed, begun []told
		var problem error
		require.NoError(t, w.do(t.Context(), func(ctx context.Context) {
			problem = w.resume(ctx)
			resumed = have()
			log := w.partitions[cratePartition(0)].log
			log.group.At = -1
			_, err := w.begin(ctx, map[table.TopicPartition]partitionLog{cratePartition(0): log})
			problem, begun = errors.Join(problem, err), have()
		}))
		require.NoError(t, problem)
		require.Equal(t, []told{{3, before}, {3, before}, {3, before}}, resumed)
		after := begun[0].mark
		require.Greater(t, after.Snapshot, before.Snapshot)
		require.Equal(t, []told{{1, after}, {-1, after}, {3, after}}, begun)
		p.kill()
	})
}

// TestFencedBehindRetention: records that were skipped are not wanted again when a checkpoint is given up, though no snapshot tells of
// them: they may be gone from the topic.
func TestFencedBehindRetention(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 3, crateTopic), object.NewMem()
		p := skipping(s, store)
		before := kadm.Offsets{}
		before.Add(kadm.Offset{Topic: crateTopic, Partition: 2, At: 2})
		_, err := s.admin.DeleteRecords(t.Context(), before)
		require.NoError(t, err)
		moveOn(t, store, cratePartition(1))
		s.emit(crateTopic, event{partition: 1, key: keyOf(2), value: envelope("c", nil, row(2, "x", 1), 2)})
		time.Sleep(10 * time.Second)
		s.emit(crateTopic, event{partition: 2, key: keyOf(3), value: envelope("c", nil, row(3, "x", 1), 3)})
		time.Sleep(10 * time.Second)
		stats := p.c.Stats().Tables[0]
		require.Equal(t, Running, stats.State, stats.Problem)
		require.EqualValues(t, 1, stats.Fenced)
		require.NoError(t, p.end())
		require.Len(t, rowsOf(t, store, "orchard.crate"), 3)
		require.EqualValues(t, 4, s.group("ucase", crateTopic, 2))
	})
}

// TestSkippedOfAnotherTopic: what was skipped counts where the table's map is the one that it follows, and in the topic that it is of.
func TestSkippedOfAnotherTopic(t *testing.T) {
	tp := cratePartition(0)
	w := newWorker(newConnector(t.Context(), Config{Start: Earliest}), &Table{}, "orchard.crate", pathOf("orchard.crate"))
	w.state.Progress.Offsets = table.Offsets{tp: {Offset: 2, TopicID: "a"}}
	for _, c := range []struct {
		skipped *skipped
		want    int64
	}{
		{nil, 2},
		{&skipped{table.Cursor{Offset: 2}, true, table.Cursor{Offset: 5, TopicID: "a"}}, 5},
		{&skipped{table.Cursor{Offset: 2}, true, table.Cursor{Offset: 5, TopicID: "b"}}, 2},
		{&skipped{table.Cursor{Offset: 1}, true, table.Cursor{Offset: 5, TopicID: "a"}}, 2},
		{&skipped{table.Cursor{}, false, table.Cursor{Offset: 5, TopicID: "a"}}, 2},
		{&skipped{table.Cursor{Offset: 2}, true, table.Cursor{Offset: 1, TopicID: "a"}}, 2},
	} {
		p, err := w.position(tp, partitionLog{topicID: "a", end: 9, partitions: 1, group: kadm.Offset{At: -1}, skipped: c.skipped})
		require.NoError(t, err)
		require.Equal(t, c.want, p.next.Offset, "%+v", c.skipped)
		require.Nil(t, p.log.skipped)
	}
}
