package upkeep

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
	"sink/table/scan"
)

// compactDue does rounds until nothing is due, as run does.
func (l *life) compactDue(k *Keeper) {
	for {
		_, err := k.MostRuns(l.t.Context())
		require.NoError(l.t, err)
		r, err := k.Compact(l.t.Context(), Scope{})
		require.NoError(l.t, err)
		if r.Snapshot == 0 {
			require.False(l.t, k.Due())
			return
		}
	}
}

// told are the rows that the whole changelog gives.
func (l *life) told() map[int64]string {
	rows := map[int64]string{}
	l.replay(rows, 1)
	return rows
}

// TestProducers lives with the producers whose changelog compaction makes, with failed and doubled compactions between: the rows
// are right at all times, and the changelog gives them whenever all is compacted.
func TestProducers(t *testing.T) {
	for _, options := range []map[string]string{
		{"changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "3"},
		{"changelog-producer": "lookup", "target-file-size": "1 kb", "bucket": "3"},
		{"changelog-producer": "full-compaction"},
		{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "4", "num-sorted-run.compaction-trigger": "2"},
	} {
		seed := uint64(time.Now().UnixNano())
		t.Run(fmt.Sprintf("%s/seed=%d", options["changelog-producer"], seed), func(t *testing.T) {
			options["snapshot.num-retained.min"] = "1000"
			l := newLife(t, object.NewMem(), seed, options)
			k, rival := l.keeper(), l.keeper()
			l.checkpoint(20, 200)
			l.compactDue(k)
			for range 40 {
				l.checkpoint(1+l.r.IntN(30), 200)
				l.check()
				switch l.r.IntN(6) {
				case 0: // nobody compacts for a while
				case 1: // two do the same: one of them in vain
					l.race(k, rival)
				case 2: // the process is killed before the commit: the next one begins anew
					k = l.keeper()
				default:
					l.compactDue(k)
				}
				l.check()
				if pending(t, l) {
					continue
				}
				require.Equal(t, l.rows, l.told())
			}
			_, err := k.Compact(t.Context(), Scope{Full: true})
			require.NoError(t, err)
			require.Equal(t, l.rows, l.told())
			l.verify()
		})
	}
}

// race has two compact what both have seen.
func (l *life) race(k, rival *Keeper) {
	for _, x := range []*Keeper{k, rival} {
		_, err := x.look(l.t.Context())
		require.NoError(l.t, err)
	}
	wanted, err := rival.wanted(Scope{Full: true})
	require.NoError(l.t, err)
	l.compactDue(k)
	files, err := rival.liveFiles(l.t.Context(), wanted) // as of the snapshot before
	require.NoError(l.t, err)
	made, _, err := rival.compactAll(l.t.Context(), Scope{Full: true}, wanted, files)
	require.NoError(l.t, err)
	_, err = rival.commit(l.t.Context(), made, Report{})
	if err != nil {
		require.ErrorIs(l.t, err, commit.ErrConflict)
	}
}

// pending reports whether rows are in no changelog yet.
func pending(t *testing.T, l *life) bool {
	opened, err := scan.Open(t.Context(), l.store, l.path)
	require.NoError(t, err)
	plan, err := opened.Plan(t.Context(), scan.At{}, nil)
	require.NoError(t, err)
	for _, s := range plan.Splits {
		if l.schema.Pending(s.Files) {
			return true
		}
	}
	return false
}

// TestLookupWait: whatever lookup-wait says, the changes of a checkpoint are not in its snapshot, but in that of the compaction that
// follows, which brings all of level 0 up, whatever lookup-compact says.
func TestLookupWait(t *testing.T) {
	for _, options := range []map[string]string{{}, {"lookup-wait": "true"}, {"lookup-wait": "false"}, {"lookup-compact": "gentle", "lookup-compact.max-interval": "20"}} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			all := map[string]string{"changelog-producer": "lookup", "snapshot.num-retained.min": "1000"}
			maps.Copy(all, options)
			l := newLife(t, object.NewMem(), 1, all)
			k := l.keeper()
			for range 4 {
				before := l.told()
				l.checkpoint(20, 100)
				_, newest := l.live()
				require.Equal(t, manifest.Append, newest.CommitKind)
				require.Equal(t, before, l.told(), "nothing is told before it is compacted")
				l.compactDue(k)
				_, newest = l.live()
				require.Equal(t, manifest.Compact, newest.CommitKind)
				require.False(t, pending(t, l))
				require.Equal(t, l.rows, l.told())
			}
		})
	}
}

// TestDeltaCommits: full-compaction.delta-commits compacts all after so many commits, whatever else is due.
func TestDeltaCommits(t *testing.T) {
	l := newLife(t, object.NewMem(), 1, map[string]string{"full-compaction.delta-commits": "3", "num-sorted-run.compaction-trigger": "100"})
	k := l.keeper()
	l.checkpoint(10, 50)
	l.compactDue(k) // nobody knows when the last one was
	var kinds []manifest.CommitKind
	for range 7 {
		l.checkpoint(10, 50)
		l.compactDue(k)
		_, newest := l.live()
		kinds = append(kinds, newest.CommitKind)
	}
	const a, c = manifest.Append, manifest.Compact
	require.Equal(t, []manifest.CommitKind{a, a, c, a, a, c, a}, kinds)
}

// TestRescalePending: rows that no changelog tells yet are compacted before they move.
func TestRescalePending(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		l := newLife(t, object.NewMem(), 5, map[string]string{"changelog-producer": producer, "snapshot.num-retained.min": "1000"})
		k := l.keeper()
		for range 5 {
			l.checkpoint(20, 100)
		}
		r, err := k.Rescale(t.Context(), 5, Scope{})
		require.NoError(t, err)
		require.NotZero(t, r.Snapshot)
		l.check()
		require.Equal(t, l.rows, l.told())
		l.verify()
	}
}

// TestFirstRow: the first row of a key stays, and is told once.
func TestFirstRow(t *testing.T) {
	for _, producer := range []string{"lookup", "none"} {
		l := newLife(t, object.NewMem(), 7, map[string]string{
			"merge-engine": "first-row", "ignore-delete": "true", "changelog-producer": producer, "snapshot.num-retained.min": "1000",
		})
		k, first := l.keeper(), map[int64]string{}
		for range 20 {
			for range 10 {
				id := l.r.Int64N(60)
				l.version++
				v := fmt.Sprintf("v%d", l.version)
				if _, there := first[id]; !there {
					first[id] = v
				}
				kind := table.Insert
				if l.r.IntN(3) == 0 {
					l.add(table.Delete, id, v)
					kind = table.UpdateAfter
					if first[id] == v {
						kind = table.Insert
					}
				}
				l.add(kind, id, v)
				require.NoError(t, l.writer.Add())
			}
			d, err := l.writer.Seal().Flush(t.Context())
			require.NoError(t, err)
			_, err = l.committer.Commit(t.Context(), d)
			require.NoError(t, err)
			l.compactDue(k)
			require.Equal(t, first, l.read(scan.At{}))
			if producer == "lookup" {
				require.Equal(t, first, l.told())
			}
		}
	}
}

// TestTellingExpires: the changelog that compaction made stays as long as its own options say, when its snapshots have gone.
func TestTellingExpires(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		l := newLife(t, object.NewMem(), 9, map[string]string{
			"changelog-producer": producer, "snapshot.num-retained.min": "2", "snapshot.num-retained.max": "4", "changelog.num-retained.min": "1000",
			"changelog.num-retained.max": "1000", "changelog.time-retained": "1000 d",
		})
		k := l.keeper()
		for range 15 {
			l.checkpoint(20, 100)
			l.compactDue(k)
			l.pass(time.Hour)
			_, err := k.Expire(t.Context())
			require.NoError(t, err)
			require.Equal(t, l.rows, l.told())
		}
		ids, err := manifest.SnapshotIDs(t.Context(), l.store, l.path)
		require.NoError(t, err)
		require.Less(t, len(ids), 6)
		l.verify()
	}
}

// TestRescaleBesideTelling: whatever is written and told ahead of whichever call of a rescale, each change is told once.
func TestRescaleBesideTelling(t *testing.T) {
	for _, options := range []map[string]string{
		{"changelog-producer": "lookup"}, {"changelog-producer": "full-compaction"}, {"force-lookup": "true"},
	} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			options["snapshot.num-retained.min"] = "1000"
			for n, happened := 0, true; happened; n++ {
				l := newLife(t, object.NewMem(), uint64(n), options)
				l.checkpoint(1, 8) // one of the buckets has no file: nothing of it is in two of the new ones at first
				writer := l.keeper()
				l.compactDue(writer)
				h := &objecttest.Hook{Store: l.store}
				k, err := Open(t.Context(), Config{Store: h, Path: l.path, User: "group", Now: l.clock})
				require.NoError(t, err)
				reached := h.Nth(n, func() {
					if s, err := manifest.LatestSchema(t.Context(), l.store, l.path); err == nil && s.Option("bucket") == "2" { // else it waits
						l.checkpoint(6, 8)
						l.compactDue(writer)
					}
				})
				_, err = k.Rescale(t.Context(), 4, Scope{})
				require.NoError(t, err, "call %d", n)
				happened = reached()
				l.requireBuckets(4)
				l.check()
				_, err = l.keeper().Compact(t.Context(), Scope{Full: true})
				require.NoError(t, err)
				require.Equal(t, l.rows, l.told(), "call %d", n)
				l.verify()
			}
		})
	}
}

// TestLevelsChange: what compactions have told they tell once, whatever number of levels the table has by then.
func TestLevelsChange(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			l := newLife(t, object.NewMem(), seed, map[string]string{"changelog-producer": producer, "snapshot.num-retained.min": "1000"})
			for _, levels := range []string{"", "9", "3", "12", "2"} {
				if levels != "" {
					_, err := l.committer.SetOption(t.Context(), "num-levels", levels)
					require.NoError(t, err)
					l.renew()
				}
				k := l.keeper()
				for range 4 {
					l.checkpoint(1+l.r.IntN(20), 60)
					l.compactDue(k)
				}
				_, err := k.Compact(t.Context(), Scope{Full: true})
				require.NoError(t, err)
				l.check()
				require.Equal(t, l.rows, l.told(), "%s levels", levels)
			}
			l.verify()
		})
	}
}
