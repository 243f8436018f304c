package connector

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/table"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// A topic that grows gives keys another partition. What is in the new one comes after all that the old ones held by then, however slowly these
// are read.
func TestNewPartitionsWait(t *testing.T) {
	b := newBroker(t, 1, crateTopic)
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 0), 0))
	cfg := b.config(object.NewMem(), crateTable())
	_, err := runConnector(t, cfg)
	require.NoError(t, err)

	for i := range int64(30) {
		b.send(crateTopic, 0, keyOf(1), envelope("u", row(1, "fig", i), row(1, "fig", i+1), i+1))
	}
	grown, err := b.admin.CreatePartitions(context.Background(), 1, crateTopic)
	require.NoError(t, err)
	require.NoError(t, grown.Error())
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner())) // it knows of them
	require.NoError(t, err)
	defer b.client.Close()
	b.send(crateTopic, 1, keyOf(1), envelope("u", row(1, "fig", 30), row(1, "oat", 31), 31))
	cfg.Kafka = append(cfg.Kafka, kgo.FetchMaxPartitionBytes(1)) // a batch of each partition at a time
	_, err = runConnector(t, cfg)
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":1,"label":"oat","weight":31}`}, rowsOf(t, cfg.Store, "orchard.crate"))
}

// A partition that comes while the table is written makes one of several of a single one: what is asked of their keys is asked from then on.
func TestNewPartitionAsksForKeys(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Tables[0].PrimaryKey = false, 1, []string{"id"}
		p := s.start(cfg)
		s.emit(crateTopic, event{key: `{"label":"fig"}`, value: envelope("c", nil, row(1, "fig", 1), 1)})
		time.Sleep(10 * time.Second)
		grown, err := s.admin.CreatePartitions(context.Background(), 1, crateTopic)
		require.NoError(t, err)
		require.NoError(t, grown.Error())
		time.Sleep(6 * time.Minute) // clients find out
		require.Equal(t, Running, p.c.Stats().Tables[0].State)
		require.EqualValues(t, -1, s.group("ucase", crateTopic, 1), "nothing is in it")
		s.emit(crateTopic, event{partition: 1, key: `{"label":"oat"}`, value: envelope("c", nil, row(1, "oat", 1), 2)})
		time.Sleep(time.Minute)
		stats := p.c.Stats().Tables[0]
		require.Equal(t, Stopped, stats.State)
		require.Contains(t, stats.Problem, "the record key has column label, which is not part of the table's primary key [id]")
		p.kill()
		require.Equal(t, []string{`{"id":1,"label":"fig","weight":1}`}, rowsOf(t, store, "orchard.crate"))
	})
}

// Which partitions wait, and for what.
func TestWaitingPartitions(t *testing.T) {
	at := func(topic string, p int32) table.TopicPartition {
		return table.TopicPartition{Topic: topic, Partition: p}
	}
	mapped := table.Offsets{at("a", 0): {Offset: 5}, at("a", 2): {Offset: 7}}
	w := newWorker(newConnector(t.Context(), Config{}), &Table{}, "d.t", "")
	w.state = commit.State{NewestID: 4, SnapshotID: 4, SnapshotUUID: "u", Progress: table.Progress{Offsets: mapped}}
	for _, c := range []struct {
		tp    table.TopicPartition
		log   partitionLog
		waits bool
	}{
		{at("a", 3), partitionLog{}, true},
		{at("a", 2), partitionLog{}, false},
		{at("a", 1), partitionLog{}, false}, // assigned to somebody who has not committed yet
		{at("b", 1), partitionLog{}, false}, // a topic that the table has not read
		{at("a", 3), partitionLog{taken: true}, false},
	} {
		require.Equal(t, c.waits, w.hasToWait(c.tp, &c.log), "%v", c)
		require.Equal(t, !c.waits, c.log.taken)
	}
	logs := map[table.TopicPartition]partitionLog{at("a", 0): {end: 9}, at("a", 1): {end: 4}, at("a", 2): {end: 7}, at("a", 3): {end: 1}, at("b", 0): {end: 5}}
	n := newcomer{filled: true}
	n.look(at("a", 3), logs)
	require.Equal(t, map[table.TopicPartition]int64{at("a", 0): 9, at("a", 1): 4, at("a", 2): 7}, n.ends, "whoever reads 1 has not committed yet")
	w.tellWaiting(at("a", 3), &partitionLog{start: 1, end: 6})
	require.Equal(t, Lag{"a", 3, 1, 1, 6}, w.counters.read().Positions["a/3"])

	require.False(t, w.passed(w.state, map[table.TopicPartition]int64{at("a", 1): 4}, map[table.TopicPartition]partitionLog{at("a", 1): {group: kadm.Offset{At: -1}}}))
	require.True(t, w.passed(w.state, map[table.TopicPartition]int64{at("a", 1): 4}, map[table.TopicPartition]partitionLog{at("a", 1): {start: 4, group: kadm.Offset{At: -1}}}), "it is empty")
	ends := map[table.TopicPartition]int64{at("a", 0): 9, at("a", 2): 7}
	own, others := partitionLog{group: kadm.Offset{At: -1}}, partitionLog{group: kadm.Offset{At: 9}}
	require.False(t, w.passed(w.state, ends, map[table.TopicPartition]partitionLog{at("a", 0): own, at("a", 2): own}))
	require.False(t, w.passed(w.state, ends, map[table.TopicPartition]partitionLog{at("a", 0): others, at("a", 2): own}), "an offset that is not ours says nothing")
	others.group.Metadata = commit.FormatOffsetMetadata(commit.Mark{Table: "d.t", Snapshot: 4, UUID: "u"})
	require.True(t, w.passed(w.state, ends, map[table.TopicPartition]partitionLog{at("a", 0): others, at("a", 2): own}), "the rest gave no rows")
	w.durable[at("a", 0)] = table.Cursor{Offset: 9}
	require.False(t, w.passed(w.state, ends, map[table.TopicPartition]partitionLog{at("a", 0): own, at("a", 2): own}), "it may be another's by now")
	w.partitions[at("a", 0)] = &partition{}
	require.True(t, w.passed(w.state, ends, map[table.TopicPartition]partitionLog{at("a", 0): own, at("a", 2): own}))
}

// What an assignment has left that was broken off while another table's store gave no answer: it goes when the partition does, and one that
// has to wait by the next assignment is not read.
func TestAssignmentBrokenOff(t *testing.T) {
	var answers atomic.Bool
	store := &objecttest.Hook{Store: object.NewMem(), Before: func(_ object.Op, name string) error {
		if strings.HasPrefix(name, string(pathOf("orchard.lenient"))) && !answers.Load() {
			return object.ErrInjected
		}
		return nil
	}}
	lenient := crateTable()
	lenient.Name = "orchard.lenient"
	c, err := New(Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers("localhost:1")}, Group: "g", Start: Earliest, Store: store, Memory: 64 << 20,
		Checkpoint: Checkpoint{Interval: time.Hour, Bytes: 32 << 20, Records: 1 << 20}, Tables: []Table{crateTable(), lenient},
	})
	require.NoError(t, err)
	defer func() {
		c.endLife(nil)
		c.running.Wait()
		c.close()
	}()
	second := table.TopicPartition{Topic: crateTopic, Partition: 1}
	workers, err := c.route(crateTopic)
	require.NoError(t, err)
	has := func(w *worker) (there bool) {
		require.NoError(t, w.do(t.Context(), func(context.Context) { there = w.partitions[second] != nil }))
		return there
	}
	assign := func() (map[*worker]table.Offsets, error) {
		ctx, breakOff := context.WithCancel(t.Context())
		defer breakOff()
		go func() {
			for ctx.Err() == nil && !has(workers[0]) {
				time.Sleep(time.Millisecond)
			}
			breakOff()
		}()
		return c.assign(ctx, map[table.TopicPartition]partitionLog{second: {partitions: 2, end: 5, group: kadm.Offset{At: -1}}})
	}
	_, err = assign()
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, has(workers[0]))
	c.release(map[string][]int32{crateTopic: {1}}, func(w *worker, tps []table.TopicPartition) { w.revoke(t.Context(), tps) })
	require.False(t, has(workers[0]), "it is another instance's, whose rows a checkpoint would say it had")

	_, err = assign()
	require.ErrorIs(t, err, context.Canceled)
	other := commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "g"}
	_, _, err = commit.CreateTable(t.Context(), other, table.NewSchema(crateTable().Columns, []string{"id"}, nil, crateTable().Options))
	require.NoError(t, err)
	committer, err := commit.Open(t.Context(), other)
	require.NoError(t, err)
	_, err = committer.Commit(t.Context(), table.Delta{Progress: table.Progress{
		Offsets: table.Offsets{{Topic: crateTopic}: {Offset: 9, Epoch: -1}}, MaxSequence: -1,
	}})
	require.NoError(t, err)
	answers.Store(true)
	wanted, err := c.assign(t.Context(), map[table.TopicPartition]partitionLog{second: {partitions: 2, end: 5, group: kadm.Offset{At: -1}}})
	require.NoError(t, err)
	require.NotContains(t, wanted[workers[0]], second)
	require.False(t, has(workers[0]), "nobody asks for its records")
}

// A topic that is made anew with more partitions is found out by an instance that has only those which the table has never read, too.
func TestNewPartitionOfAnotherTopic(t *testing.T) {
	first, second := table.TopicPartition{Topic: "a"}, table.TopicPartition{Topic: "a", Partition: 1}
	w := newWorker(newConnector(t.Context(), Config{Start: Earliest}), &Table{}, "d.t", "")
	w.state = commit.State{NewestID: 4, SnapshotID: 4, Progress: table.Progress{Offsets: table.Offsets{first: {Offset: 5, TopicID: "old"}}}}
	for id, same := range map[string]bool{"old": true, "new": false, "": true} { // brokers may know no ids
		log := partitionLog{topicID: id, group: kadm.Offset{At: -1}}
		require.Equal(t, same, w.hasToWait(second, &log), "what is another topic's does not wait")
		_, err := w.position(second, log)
		if same {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "topic a was deleted and made anew (topic id new, the table has read old)")
	}
}
