package connector

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

func TestLeadsBy(t *testing.T) {
	of := func(names ...string) map[table.TopicPartition]*partition {
		out := map[table.TopicPartition]*partition{}
		for _, name := range names {
			var tp table.TopicPartition
			_, err := fmt.Sscanf(name, "%1s%d", &tp.Topic, &tp.Partition)
			require.NoError(t, err)
			out[tp] = &partition{}
		}
		return out
	}
	require.True(t, leadsBy([]string{"b", "a"}, of("a0", "b1")))
	require.False(t, leadsBy([]string{"b", "a"}, of("a1", "b0")))
	require.False(t, leadsBy([]string{"b", "a"}, of()))
	require.True(t, leadsBy(nil, of("b0")), "topics of a pattern")
	require.False(t, leadsBy(nil, of("b1")))
}

// snapshotsOf returns the snapshots of a table, and the most sorted runs that a bucket had in any of them.
func snapshotsOf(t *testing.T, store object.Store, path table.Path) (kinds map[manifest.CommitKind]int, most int) {
	ctx := context.Background()
	ids, err := manifest.SnapshotIDs(ctx, store, path)
	require.NoError(t, err)
	kinds = map[manifest.CommitKind]int{}
	for _, id := range ids {
		s, err := manifest.ReadSnapshot(ctx, store, path, id)
		require.NoError(t, err)
		kinds[s.CommitKind]++
		live, err := manifest.ReadLive(ctx, store, path, s, nil)
		require.NoError(t, err)
		runs := map[string]bool{}
		for _, f := range live {
			if f.Level == 0 {
				runs[f.Name] = true
			} else {
				runs[fmt.Sprint(f.Level)] = true
			}
		}
		most = max(most, len(runs))
	}
	return kinds, most
}

// runWhile runs until something holds.
func runWhile(t *testing.T, cfg Config, until func() bool) error {
	return runWatched(t, cfg, func(*Connector) bool { return until() })
}

func runWatched(t *testing.T, cfg Config, until func(*Connector) bool) error {
	cfg.UntilEnd = false
	c, err := New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for !until(c) && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	require.NoError(t, ctx.Err(), "it never came")
	cancel()
	return <-ended
}

// covered returns how many records the newest snapshot of a table stands for.
func covered(t *testing.T, store object.Store, path table.Path) int64 {
	s, err := manifest.LatestSnapshot(context.Background(), store, path)
	require.NoError(t, err)
	if s == nil {
		return 0
	}
	progress, _, err := table.ParseProgress(s.Properties)
	require.NoError(t, err)
	var n int64
	for _, c := range progress.Offsets {
		n += c.Offset
	}
	return n
}

// TestCompactionInBackground: the process that writes a table compacts it, and does not let it grow beyond the stop trigger.
func TestCompactionInBackground(t *testing.T) {
	const records = 24
	b := newBroker(t, 2, crateTopic)
	sent := int64(0)
	// drip sends the next record when the one before is in the table, and reports whether that was the last.
	drip := func(store object.Store) bool {
		if covered(t, store, "orchard.db/crate") < sent {
			return false
		}
		if sent == records {
			return true
		}
		id := sent%2 + 2*(sent%6/2)
		b.send(crateTopic, int32(sent%2), keyOf(id), envelope("c", nil, row(id, "fig", sent), sent))
		sent++
		return false
	}
	crates := crateTable()
	crates.OnMissingBefore = Accept
	crates.Options = map[string]string{
		"bucket": "1", "changelog-producer": "input", "num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "4",
		"snapshot.num-retained.min": "1000",
	}
	store := object.NewMem()
	cfg := b.config(store, crates)
	cfg.Checkpoint.Records = 1
	var told Upkeep
	err := runWatched(t, cfg, func(c *Connector) bool {
		for _, table := range c.Stats().Tables {
			told = table.Upkeep
		}
		return drip(store) && told.Leads && told.Compactions > 0 && !told.Expired.IsZero()
	})
	require.NoError(t, err)
	require.Positive(t, told.Runs)
	require.Positive(t, told.LiveFiles)
	require.Greater(t, told.LiveBytes, told.LiveFiles)
	require.Positive(t, told.ReadBytes)
	require.Positive(t, told.WrittenBytes)
	require.Positive(t, told.Took)
	require.Zero(t, told.Failures)
	require.False(t, told.Compacted.IsZero())
	kinds, most := snapshotsOf(t, store, "orchard.db/crate")
	require.Positive(t, kinds[manifest.Compact])
	require.LessOrEqual(t, most, 5, "checkpoints waited for compaction")
	require.Len(t, rowsOf(t, store, "orchard.crate"), 6)
	t.Logf("snapshots %v, most runs %d", kinds, most)

	// write-only leaves it to others.
	crates.Options["write-only"] = "true"
	store = object.NewMem()
	cfg = b.config(store, crates)
	cfg.Group, cfg.Checkpoint.Records, sent = "other", 1, records
	err = runWhile(t, cfg, func() bool { return drip(store) })
	require.NoError(t, err)
	kinds, _ = snapshotsOf(t, store, "orchard.db/crate")
	require.Zero(t, kinds[manifest.Compact])
	require.Len(t, rowsOf(t, store, "orchard.crate"), 6)
}

// A table that others have written, and this group has not yet, keeps its history: only a complete one tells that the group has not begun.
func TestNothingExpiresBeforeTheFirstMap(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		path := pathOf("orchard.crate")
		theirs := commit.Config{Store: store, Path: path, User: "theirs"}
		_, _, err := commit.CreateTable(t.Context(), theirs, table.NewSchema(crateTable().Columns, []string{"id"}, nil, map[string]string{
			"bucket": "1", "changelog-producer": "input", "snapshot.num-retained.min": "1", "snapshot.time-retained": "1 s",
		}))
		require.NoError(t, err)
		other, err := commit.Open(t.Context(), theirs)
		require.NoError(t, err)
		for range 3 {
			_, err := other.Commit(t.Context(), table.Delta{})
			require.NoError(t, err)
		}
		for info, err := range store.List(t.Context(), path.ConsumerDir()) {
			require.NoError(t, err)
			require.NoError(t, store.Delete(t.Context(), info.Name)) // they are no consumers any more
		}
		first := func() int64 {
			id, _, err := manifest.Earliest(t.Context(), store, path)
			require.NoError(t, err)
			return id
		}
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Tables[0].Options = false, 1, nil
		p := s.start(cfg)
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, first())
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 1), 1)})
		time.Sleep(time.Hour)
		require.EqualValues(t, 4, first(), "what is not pinned expires")
		require.NoError(t, p.end())
	})
}
