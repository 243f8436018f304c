package connector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/commit"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// What instances do that know less than others by now, and what brokers tell that do; found by integration/simulation, too.

// An instance that has lost a partition and not heard of it yet goes on with its others. Its checkpoints leave alone what the new
// owner has learned of the partition: the delete whose tombstone is to come, and how far the source has come.
func TestLearnedByOthers(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic), object.NewMem()
		s.emit(crateTopic, event{partition: 1, key: keyOf(2), value: envelope("c", nil, row(2, "y", 1), 1)})
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Tables[0].Deduplicate = false, 1, true
		p := s.start(cfg)
		time.Sleep(10 * time.Second)
		ctx := context.Background()
		other, err := commit.Open(ctx, commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "ucase"})
		require.NoError(t, err)
		state, err := other.Resume(ctx)
		require.NoError(t, err)
		tp := table.TopicPartition{Topic: crateTopic, Partition: 1}
		position := reachedPrefix(tp) + "dock"
		require.Contains(t, state.Progress.Learned, position)
		learned := map[string]string{deletedName(tp): keyOf(2), position: "binlog:/bl.000004/1020/0/ 1700000000000 1"}
		from, to := table.Offsets{tp: state.Progress.Offsets[tp]}, state.Progress.Offsets[tp]
		to.Offset++
		_, err = other.Commit(ctx, table.Delta{From: from, Progress: table.Progress{Offsets: table.Offsets{tp: to}, MaxSequence: state.MaxSequence, Learned: learned}})
		require.NoError(t, err)

		for id := range int64(2) { // the first commit has it see what the other wrote
			s.emit(crateTopic, event{partition: 0, key: keyOf(id), value: envelope("c", nil, row(id, "x", 1), id)})
			time.Sleep(10 * time.Second)
		}
		p.kill()
		state, err = other.Resume(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2, state.Progress.Offsets[table.TopicPartition{Topic: crateTopic}].Offset)
		for name, text := range learned {
			require.Equal(t, text, state.Progress.Learned[name])
		}
	})
}

// What an instance has learned of a topic's before images is told once, when its own records have shown it: a checkpoint of other records
// does not take back what another instance has found out since.
func TestTrustLearnedByOthers(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 1)})
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("u", row(1, "x", 1), row(1, "y", 1), 2)})
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
		p := s.start(cfg)
		time.Sleep(10 * time.Second)
		ctx := context.Background()
		other, err := commit.Open(ctx, commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "ucase"})
		require.NoError(t, err)
		learned := func() string {
			state, err := other.Resume(ctx)
			require.NoError(t, err)
			return state.Progress.Learned["identity/"+crateTopic]
		}
		require.Equal(t, identityFull, learned())
		state, err := other.Resume(ctx)
		require.NoError(t, err)
		tp := table.TopicPartition{Topic: crateTopic, Partition: 1}
		from, to := table.Offsets{}, table.Cursor{Offset: 1, Epoch: -1}
		if at, ok := state.Progress.Offsets[tp]; ok {
			from[tp], to = at, at
			to.Offset++
		}
		_, err = other.Commit(ctx, table.Delta{From: from, Progress: table.Progress{
			Offsets: table.Offsets{tp: to}, MaxSequence: state.MaxSequence, Learned: map[string]string{"identity/" + crateTopic: identityPartial},
		}})
		require.NoError(t, err)
		for id := int64(2); id < 4; id++ { // the second begins where the first has seen what the other wrote
			s.emit(crateTopic, event{key: keyOf(id), value: envelope("c", nil, row(id, "x", 1), id)})
			time.Sleep(10 * time.Second)
			require.Equal(t, identityPartial, learned(), "after row %d", id)
		}
		s.emit(crateTopic, event{key: keyOf(2), value: envelope("u", row(2, "x", 1), row(2, "y", 1), 4)})
		time.Sleep(10 * time.Second)
		require.Equal(t, identityFull, learned(), "its own record has shown it")
		p.kill()
	})
}

// What records have shown that gave no row is in a snapshot, too: nobody reads them again.
func TestTrustLearnedFromFilteredRecords(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Tables[0].Shaping.Filter = false, 1, filter(t, "weight >= 10")
		p := s.start(cfg)
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 10), 1)})
		time.Sleep(10 * time.Second)
		s.emit(crateTopic, event{key: keyOf(2), value: envelope("u", row(2, "x", 1), row(2, "y", 1), 2)})
		time.Sleep(10 * time.Second)
		other, err := commit.Open(t.Context(), commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "ucase"})
		require.NoError(t, err)
		state, err := other.Resume(t.Context())
		require.NoError(t, err)
		require.Equal(t, identityFull, state.Progress.Learned["identity/"+crateTopic])
		require.EqualValues(t, 2, state.SnapshotID)
		p.kill()
	})
}

// A delete that gives no rows, since it came before, has a tombstone like any other: that is known after a restart between the
// two.
func TestTombstoneOfRepeatedDelete(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		gone := event{key: keyOf(1), value: envelope("d", row(1, "x", 1), nil, 1)}
		for _, e := range []event{{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)}, gone, {key: keyOf(1)}} {
			s.emit(crateTopic, e)
		}
		for _, e := range []event{gone, {key: keyOf(1)}} {
			cfg := s.quickly(store)
			cfg.Tables[0].Deduplicate = true
			_, err := s.drain(cfg)
			require.NoError(t, err)
			s.emit(crateTopic, e)
		}
		cfg := s.quickly(store)
		cfg.Tables[0].Deduplicate = true
		stats, err := s.drain(cfg)
		require.NoError(t, err)
		require.EqualValues(t, 1, stats.Skipped["tombstone"])
	})
}

// A table that is to be emptied after another writer has changed its schema takes that up first: it does not stop.
func TestTruncateUnderNewSchema(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Tables[0].OnTruncate = false, 1, Apply
		p := s.start(cfg)
		time.Sleep(10 * time.Second)
		ctx := context.Background()
		other, err := commit.Open(ctx, commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "somebody"})
		require.NoError(t, err)
		wide := append(slices.Clone(crateTable().Columns), table.Field{Name: "note", Type: mustType("STRING")})
		_, changes, err := other.Evolve(ctx, wide)
		require.NoError(t, err)
		require.Len(t, changes, 1)
		s.emit(crateTopic, event{value: envelope("t", nil, nil, 1)})
		s.emit(crateTopic, event{key: keyOf(2), value: envelope("c", nil, row(2, "y", 1), 2)})
		time.Sleep(10 * time.Second)
		require.NoError(t, p.end())
		require.Equal(t, []string{`{"id":2,"label":"y","weight":1,"note":null}`}, rowsOf(t, store, "orchard.crate"))
		_, rows := changesOf(t, store, "orchard.crate")
		require.Len(t, rows, 3, "each comes and goes once: %v", rows)
	})
}

// A column that another instance adds and fills ahead of whichever look at the schema or the newest snapshot is in what a truncation takes
// away: the values of a deletion are those that were there.
func TestTruncateMeetsNewColumn(t *testing.T) {
	for n, met := 0, true; met; n++ {
		onStage(t, func(t *testing.T) {
			s, store := newStage(t, 1, crateTopic), object.NewMem()
			s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
			cfg := s.quickly(store)
			_, err := s.drain(cfg)
			require.NoError(t, err)
			s.emit(crateTopic, event{value: envelope("t", nil, nil, 1)})
			cfg.Tables[0].OnTruncate = Apply
			looks := 0
			cfg.Store = &objecttest.Hook{Store: store, Before: func(_ object.Op, name string) error {
				if path := pathOf("orchard.crate"); name == path.Latest() || strings.HasPrefix(name, path.SchemaDir()) {
					if looks++; looks == n+1 {
						writeWider(t, store)
					}
				}
				return nil
			}}
			_, err = s.drain(cfg)
			require.NoError(t, err)
			met = looks > n
			_, changes := changesOf(t, store, "orchard.crate")
			lines := map[string]int{}
			for _, change := range changes {
				lines[change]++
			}
			require.Equal(t, 1, lines[`-D {"id":1,"label":"x","weight":1}`]+lines[`-D {"id":1,"label":"x","weight":1,"note":null}`], "look %d: %v", n, changes)
			if met && len(rowsOf(t, store, "orchard.crate")) == 0 {
				require.Equal(t, 1, lines[`-D {"id":2,"label":"y","weight":2,"note":"new"}`], "look %d: %v", n, changes)
			}
		})
	}
}

// writeWider adds a column to the table and a row that has it, as another instance of the group.
func writeWider(t *testing.T, store object.Store) {
	ctx := context.Background()
	other, err := commit.Open(ctx, commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "ucase"})
	require.NoError(t, err)
	wide := append(slices.Clone(other.Schema().Fields), table.Field{Name: "note", Type: mustType("STRING")})
	schema, _, err := other.Evolve(ctx, wide)
	require.NoError(t, err)
	state, err := other.Resume(ctx)
	require.NoError(t, err)
	w, err := flush.New(flush.Config{Schema: schema, Store: store, Path: pathOf("orchard.crate")})
	require.NoError(t, err)
	w.Raise(state.MaxSequence)
	b := w.Batch()
	b.Columns[0].AppendWord(2)
	b.Columns[1].AppendBytes([]byte("y"))
	b.Columns[2].AppendWord(2)
	b.Columns[3].AppendBytes([]byte("new"))
	b.Kinds = append(b.Kinds, table.Insert)
	require.NoError(t, w.Add())
	d, err := w.Seal().Flush(ctx)
	require.NoError(t, err)
	_, err = other.Commit(ctx, d)
	require.NoError(t, err)
}

// A log that seems to end before the group's offset is looked at again: the broker may not have heard of its last records, and
// another instance may have read them in between. One that was cut stays so, and stops the tables.
func TestEndBehindGroup(t *testing.T) {
	for _, lies := range []int{1, 3, 1000} {
		t.Run(fmt.Sprint(lies), func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, "all"), object.NewMem()
				for id := range int64(3) {
					s.emit("all", event{key: keyOf(id), value: envelope("c", nil, row(id, "x", 1), id)})
				}
				cfg := s.config(store, sharedTopic())
				_, err := s.drain(cfg)
				require.NoError(t, err)
				require.EqualValues(t, 3, s.group("ucase", "all", 0))
				s.cluster.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
					s.cluster.KeepControl()
					asked := req.(*kmsg.ListOffsetsRequest)
					if lies == 0 || asked.Topics[0].Partitions[0].Timestamp != -1 {
						return nil, nil, false
					}
					lies--
					answer := asked.ResponseKind().(*kmsg.ListOffsetsResponse)
					topic, partition := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
					topic.Topic, partition.Offset = "all", 1
					topic.Partitions = append(topic.Partitions, partition)
					answer.Topics = append(answer.Topics, topic)
					return answer, nil, true
				})
				cfg.UntilEnd = false
				p := s.start(cfg)
				time.Sleep(time.Minute)
				if lies > 0 {
					require.ErrorContains(t, p.end(), "topic all partition 0: the group ucase has offset 3, but the log ends at 1")
					return
				}
				s.emit("all", event{key: keyOf(3), value: envelope("c", nil, row(3, "x", 1), 3)})
				time.Sleep(time.Minute)
				require.NoError(t, p.end())
				require.Len(t, rowsOf(t, store, "lake.crate"), 4)
			})
		})
	}
}

// A key that moves to an old partition of another instance when the topic grows: what that writes after a pause of a minute is numbered above
// what the table holds, though it has taken no partition over.
func TestNumbersRiseAfterPause(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
		p := s.start(cfg)
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		time.Sleep(10 * time.Second)
		other, err := commit.Open(t.Context(), commit.Config{Store: store, Path: pathOf("orchard.crate"), User: cfg.Group})
		require.NoError(t, err)
		state, err := other.Resume(t.Context())
		require.NoError(t, err)
		progress := table.Progress{Offsets: table.Offsets{{Topic: "elsewhere"}: {Offset: 9, Epoch: -1}}, MaxSequence: state.MaxSequence + 1000}
		_, err = other.Commit(t.Context(), table.Delta{Progress: progress})
		require.NoError(t, err)
		time.Sleep(lookAfter)
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("u", row(1, "x", 1), row(1, "y", 1), 1)})
		time.Sleep(10 * time.Second)
		require.NoError(t, p.end())
		newest, err := manifest.LatestSnapshot(t.Context(), store, pathOf("orchard.crate"))
		require.NoError(t, err)
		entries, err := manifest.ReadDelta(t.Context(), store, pathOf("orchard.crate"), newest, nil)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Greater(t, entries[0].File.MinSeq, progress.MaxSequence)
	})
}
