package connector

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/table"
	"sink/table/object"
)

// feeding is a scout without brokers: a test assigns partitions, and polls.
type feeding struct {
	t     *testing.T
	c     *Connector
	scout *worker
}

func newFeeding(t *testing.T, store object.Store) *feeding {
	t.Helper()
	c, err := New(Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers("localhost:1")}, Group: "g", Start: Earliest, Store: store, Memory: 64 << 20,
		Checkpoint: Checkpoint{Interval: time.Hour, Bytes: 32 << 20, Records: 1 << 20}, Tables: []Table{sharedTopic()},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		c.endLife(nil)
		c.running.Wait()
		c.close()
	})
	workers, err := c.route("all")
	require.NoError(t, err)
	return &feeding{t, c, workers[0]}
}

// assign has the scout take over a partition from its start, with a group offset whose metadata names tables.
func (f *feeding) assign(tp table.TopicPartition, tables ...commit.Mark) {
	f.t.Helper()
	log := partitionLog{end: 9, partitions: 2, group: kadm.Offset{At: -1, Metadata: metadataOf(append(tables, f.scout.mark))}}
	offsets, err := f.scout.assign(f.t.Context(), map[table.TopicPartition]partitionLog{tp: log})
	require.NoError(f.t, err)
	require.Zero(f.t, offsets[tp].Offset)
	f.scout.accept(tp, 1)
}

// read polls a record and has it applied.
func (f *feeding) read(tp table.TopicPartition, offset int64, value string, id int64) {
	f.t.Helper()
	f.scout.enqueue(run{tp: tp, generation: 1, records: []*kgo.Record{{
		Topic: tp.Topic, Partition: tp.Partition, Offset: offset, Key: []byte(keyOf(id)), Value: []byte(value),
	}}})
	drain := func(w *worker) {
		require.NoError(f.t, w.do(f.t.Context(), func(context.Context) {
			for w.applyNext() {
			}
		}))
	}
	drain(f.scout)
	for _, w := range f.c.fedBy(tp.Topic) {
		drain(w)
	}
}

func created(id int64) string { return envelope("c", nil, row(id, "fig", 3), id) }

var (
	partitionHere  = table.TopicPartition{Topic: "all", Partition: 1}
	partitionComes = table.TopicPartition{Topic: "all", Partition: 0}
)

// A partition comes whose group offset names a table that the partitions here have not shown yet. The table is fed from all
// of them at once, and what another one shows later has it read nothing twice: it holds rows that no snapshot has.
func TestTableNamedByNewPartition(t *testing.T) {
	store := object.NewMem()
	f := newFeeding(t, store)
	f.assign(partitionHere)
	f.assign(partitionComes, commit.Mark{Table: "lake.crate"})
	_, _, known := f.c.durable(partitionHere)
	f.read(partitionComes, 0, created(1), 1)
	crates := f.c.fedBy("all")[0]
	require.NoError(t, crates.do(t.Context(), func(context.Context) { crates.cover() }))
	f.read(partitionComes, 1, created(2), 2) // is in no snapshot yet
	f.read(partitionHere, 0, created(3), 3)
	f.scout.accept(partitionComes, 1) // should it have asked to read again
	f.read(partitionComes, 1, created(2), 2)
	f.scout.revoke(t.Context(), []table.TopicPartition{partitionHere, partitionComes})
	_, changes := changesOf(t, store, "lake.crate")
	require.Len(t, changes, 3, "each record once: %v", changes)
	require.True(t, known, "the group's offset of %v is held back", partitionHere)
}

// The snapshots of such a table may say that it wants records of the other partitions that the scout has passed: it goes back.
func TestTableNamedByNewPartitionIsBehind(t *testing.T) {
	store := object.NewMem()
	before := newFeeding(t, store)
	before.assign(partitionHere)
	before.assign(partitionComes)
	before.read(partitionComes, 0, created(1), 1)
	before.scout.revoke(t.Context(), []table.TopicPartition{partitionHere, partitionComes})

	f := newFeeding(t, store)
	f.assign(partitionHere)
	f.read(partitionHere, 0, of("orchard", "barrel", created(2)), 2)
	f.assign(partitionComes, commit.Mark{Table: "lake.crate"})
	require.Len(t, f.c.rewinds, 1)
	require.Same(t, f.scout, f.c.rewinds[0].worker)
	require.Len(t, f.c.rewinds[0].to, 1, "not the partition that comes: it begins where it has to")
	require.Zero(t, f.c.rewinds[0].to[partitionHere].Offset)
	at, _, known := f.c.durable(partitionHere)
	require.True(t, known)
	require.Zero(t, at.Offset)
}

// A partition may still come when the process has let go of another in the middle of a record.
func TestPartitionComesAfterLettingGo(t *testing.T) {
	f := newFeeding(t, object.NewMem())
	f.assign(partitionHere)
	require.NoError(t, f.scout.do(t.Context(), func(context.Context) { f.scout.void() }))
	f.assign(partitionComes, commit.Mark{Table: "lake.crate"})
	_, _, known := f.c.durable(partitionHere)
	require.False(t, known, "nobody says how far a table is in what was given up")
}

// A table is fed from the topics that carry it, or of which the group's offset names it, and not from others that come with them: it
// would hold back their offsets, and be taken for one that two topics feed.
func TestTableOfOneTopicOnly(t *testing.T) {
	f := newFeeding(t, object.NewMem())
	there, beside := table.TopicPartition{Topic: "all"}, table.TopicPartition{Topic: "more"}
	_, err := f.c.route("more")
	require.NoError(t, err)
	logs := map[table.TopicPartition]partitionLog{}
	for tp, marks := range map[table.TopicPartition][]commit.Mark{there: {{Table: "lake.crate"}, f.scout.mark}, beside: {f.scout.mark}} {
		logs[tp] = partitionLog{end: 9, partitions: 1, group: kadm.Offset{At: -1, Metadata: metadataOf(marks)}}
	}
	_, err = f.scout.assign(t.Context(), logs)
	require.NoError(t, err)
	require.Len(t, f.c.fedBy("all"), 1)
	require.Empty(t, f.c.fedBy("more"))
}

// A process that begins between a delete and its tombstone hands the tombstone to the table of the delete, as one that saw both.
func TestTombstoneAfterRestartOfScout(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, "all"), object.NewMem()
		cfg := s.config(store, sharedTopic())
		cfg.Tables[0].Compacted = true
		emit := func(name, op string, before, after *crate, id int64) {
			s.emit("all", event{key: keyOf(id), value: of("orchard", name, envelope(op, before, after, id))})
		}
		emit("crate", "c", nil, row(1, "fig", 3), 1)
		emit("barrel", "c", nil, row(1, "oak", 9), 1)
		emit("barrel", "d", row(1, "oak", 9), nil, 1)
		_, err := s.drain(cfg)
		require.NoError(t, err)
		s.emit("all", event{key: keyOf(1)})
		_, err = s.drain(cfg)
		require.NoError(t, err, "the tombstone follows its delete")
		require.EqualValues(t, 4, s.group(cfg.Group, "all", 0))
		require.Empty(t, rowsOf(t, store, "lake.barrel"))

		emit("crate", "d", row(1, "fig", 3), nil, 1)
		emit("barrel", "c", nil, row(1, "oak", 9), 1)
		_, err = s.drain(cfg)
		require.NoError(t, err)
		s.emit("all", event{key: keyOf(1)})
		_, err = s.drain(cfg)
		require.ErrorContains(t, err, "does not say which table it is of", "something came in between")
	})
}

// Two instances that begin at once, each with a partition of its own, may make one table of two sources before either can know. The one
// whose source the other has replaced finds out at its next checkpoint, or when it is given more partitions.
func TestSourcesThatMeetBetweenInstances(t *testing.T) {
	const want = "table lake.crate is made of harbour.crate and now of orchard.crate: two tables of the source would become one"
	commits := func(f *feeding) error {
		crates := f.c.fedBy("all")[0]
		require.NoError(t, crates.do(t.Context(), func(context.Context) { crates.cover() }))
		return crates.problem()
	}
	for name, finds := range map[string]func(one *feeding) error{
		"next checkpoint": func(one *feeding) error {
			one.read(partitionHere, 1, created(3), 3)
			return commits(one)
		},
		"another partition": func(one *feeding) error {
			one.assign(table.TopicPartition{Topic: "all", Partition: 2})
			return one.c.fedBy("all")[0].problem()
		},
		"once more": func(one *feeding) error {
			again := newFeeding(t, one.c.cfg.Store)
			again.assign(partitionHere, commit.Mark{Table: "lake.crate"})
			again.read(partitionHere, 1, created(3), 3)
			return again.c.fedBy("all")[0].problem()
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := object.NewMem()
			one, two := newFeeding(t, store), newFeeding(t, store)
			one.assign(partitionHere)
			two.assign(partitionComes)
			one.read(partitionHere, 0, created(1), 1)
			two.read(partitionComes, 0, of("harbour", "crate", created(2)), 2)
			require.NoError(t, commits(one))
			require.NoError(t, commits(two), "neither can know yet")
			require.ErrorContains(t, finds(one), want)
			two.read(partitionComes, 1, of("harbour", "crate", created(4)), 4)
			require.NoError(t, commits(two), "the one whose table it is goes on")
		})
	}
}
