package expire

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

func (w *world) consumer(id string, next int64) {
	require.NoError(w.t, manifest.WriteConsumer(context.Background(), w.store, w.path, id, next))
}

// dropPin takes away the consumer that the Committer wrote.
func (w *world) dropPin() {
	require.NoError(w.t, w.store.Delete(context.Background(), w.path.Consumer("sink-group")))
}

// TestSnapshots goes through the rules of number, age, limit and consumers. The table has 20 snapshots, one each ten
// minutes; the time is ten minutes after the last.
func TestSnapshots(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  map[string]string
		consumer int64
		first    int64 // the first that stays
	}{
		{"an hour, at least ten", nil, 0, 11},
		{"an hour, at least one", map[string]string{"snapshot.num-retained.min": "1"}, 0, 14}, // 13 was replaced 70 minutes ago
		{"at most three", map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3"}, 0, 18},
		{"at most three, but read from", map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3"}, 5, 5},
		{"read from the first", map[string]string{"snapshot.num-retained.min": "1"}, 1, 1},
		{"read beyond what goes", map[string]string{"snapshot.num-retained.min": "1"}, 19, 14},
		{"in steps", map[string]string{"snapshot.num-retained.min": "1", "snapshot.expire.limit": "1"}, 0, 14},
		{"a day", map[string]string{"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 d"}, 0, 1},
		{"a day, but at most two", map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "snapshot.time-retained": "1 d"}, 0, 19},
		{"no time at all", map[string]string{"snapshot.num-retained.min": "1", "snapshot.time-retained": "0"}, 0, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.options)
			committer := w.committer()
			for range 20 {
				w.pass(10 * time.Minute)
				w.append(committer)
			}
			w.pass(10 * time.Minute)
			w.dropPin()
			if c.consumer > 0 {
				w.consumer("reader", c.consumer)
			}
			dry, err := New(Config{Store: w.store, Path: w.path, Schema: w.s, Now: w.clock, DryRun: true})
			require.NoError(t, err)
			_, err = dry.Run(t.Context())
			require.NoError(t, err)
			require.Len(t, w.ids(), 20)
			r, err := w.expirer(w.store).Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.first, w.ids()[0])
			require.Equal(t, c.first-1, r.Snapshots)
			w.checkNothingElse()
			if c.first > 1 {
				hint, err := w.store.Get(t.Context(), w.path.Earliest())
				require.NoError(t, err)
				require.Equal(t, strconv.FormatInt(c.first, 10), string(hint))
			}
			r, err = w.expirer(w.store).Run(t.Context())
			require.NoError(t, err)
			require.Zero(t, r.Snapshots, "nothing more is due")
		})
	}
}

func TestConsumerExpiry(t *testing.T) {
	w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "consumer.expiration-time": "3 h"})
	committer := w.committer()
	w.append(committer)
	w.dropPin()
	w.consumer("gone", 1)
	for range 20 {
		w.pass(10 * time.Minute)
		w.append(committer)
	}
	w.consumer("alive", 9)
	r, err := w.expirer(w.store).Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Consumers)
	require.EqualValues(t, 9, w.ids()[0])
}

// TestFirstMapStays: an instance that dies at any point of its first commit leaves a map that no expiry takes away, and so the next
// one knows where to go on.
func TestFirstMapStays(t *testing.T) {
	from := table.Offsets{{Topic: "in"}: {Offset: 7}}
	stood := 0
	for n := 1; ; n++ {
		w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.time-retained": "0"})
		fault := object.NewFault(w.store, object.Rule{Nth: n, Effect: object.CrashAfter})
		w.append(w.open("stranger", w.store))
		first := w.delta()
		first.Progress.Offsets = from
		_, err := w.open("group", fault).Commit(t.Context(), first)
		if fault.Fired() == 0 {
			require.NoError(t, err)
			break
		}
		newest, err := manifest.LatestSnapshot(t.Context(), w.store, w.path)
		require.NoError(t, err)
		stranger := w.open("stranger", w.store)
		for range 3 {
			w.pass(time.Minute)
			w.append(stranger)
			_, err = w.expirer(w.store).Run(t.Context())
			require.NoError(t, err)
		}
		if newest.CommitUser != "group" {
			continue // nothing of it was committed
		}
		stood++
		state, err := w.committer().Resume(t.Context())
		require.NoError(t, err, "dead after change %d", n)
		require.Equal(t, from, state.Progress.Offsets)
	}
	require.NotZero(t, stood)
}

// TestLongLivedChangelogs: with a longer retention of their own changelogs live on in their folder.
func TestLongLivedChangelogs(t *testing.T) {
	for _, producer := range []string{"input", "none"} {
		t.Run(producer, func(t *testing.T) {
			w := newWorld(t, map[string]string{
				"changelog-producer": producer, "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3",
				"changelog.num-retained.min": "1", "changelog.num-retained.max": "8", "snapshot.expire.limit": "4",
			})
			w.grow(rand.New(rand.NewPCG(1, 1)), 20)
			w.dropPin()
			e := w.expirer(w.store)
			_, err := e.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int64{18, 19, 20}, w.ids())
			logs, err := manifest.LongLivedChangelogIDs(t.Context(), w.store, w.path)
			require.NoError(t, err)
			require.Equal(t, []int64{13, 14, 15, 16, 17}, logs)
			w.check()
			if producer == "input" {
				w.checkNothingElse()
			}
			for name, want := range map[string]string{w.path.ChangelogEarliest(): "13", w.path.ChangelogLatest(): "17"} {
				hint, err := w.store.Get(t.Context(), name)
				require.NoError(t, err)
				require.Equal(t, want, string(hint))
			}
			w.grow(rand.New(rand.NewPCG(2, 1)), 30)
			w.dropPin()
			_, err = e.Run(t.Context())
			require.NoError(t, err)
			w.check()
			require.EqualValues(t, 48, w.ids()[0])
			logs, err = manifest.LongLivedChangelogIDs(t.Context(), w.store, w.path)
			require.NoError(t, err)
			require.Equal(t, []int64{43, 44, 45, 46, 47}, logs)
		})
	}
}

// TestRandom lets a table with tags and branches live, and checks after each expiry that what is named is there, and at the
// end that nothing else is.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if os.Getenv("SEED") != "" {
		fmt.Sscan(os.Getenv("SEED"), &seed)
	}
	for i := range uint64(5) {
		t.Run(fmt.Sprintf("seed=%d", seed+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+i, 5))
			options := map[string]string{"snapshot.num-retained.min": "2", "snapshot.num-retained.max": strconv.Itoa(3 + r.IntN(6))}
			if r.IntN(2) == 0 {
				options["changelog.num-retained.max"] = strconv.Itoa(10 + r.IntN(10))
			}
			if r.IntN(4) == 0 {
				options["changelog-producer"] = "none"
			}
			w := newWorld(t, options)
			e := w.expirer(w.store)
			var tags []string
			branched := false
			for step := range 18 {
				w.grow(r, 1+r.IntN(6))
				w.dropPin()
				ids := w.ids()
				switch r.IntN(6) {
				case 0, 1:
					tags = append(tags, fmt.Sprintf("tag%d", step))
					_, err := e.CreateTag(t.Context(), tags[len(tags)-1], ids[r.IntN(len(ids))], 0)
					require.NoError(t, err)
				case 2:
					if len(tags) > 0 {
						n := r.IntN(len(tags))
						_, err := e.DeleteTag(t.Context(), tags[n])
						require.NoError(t, err)
						tags = append(tags[:n], tags[n+1:]...)
						w.check()
					}
				case 3:
					if r.IntN(4) == 0 {
						branched = true
						w.branch(fmt.Sprintf("b%d", step), ids[r.IntN(len(ids))])
					}
				}
				if r.IntN(3) == 0 {
					e = w.expirer(w.store) // another process, without anything in mind
				}
				_, err := e.Run(t.Context())
				require.NoError(t, err)
				w.check()
			}
			for _, name := range tags {
				_, err := e.DeleteTag(t.Context(), name)
				require.NoError(t, err)
				w.check()
			}
			_, err := e.Run(t.Context())
			require.NoError(t, err)
			if w.s.Option("changelog-producer") == "input" && !branched {
				w.checkNothingElse()
			}
		})
	}
}

// TestCrash lets the process die at each call of the store in turn, and at each a second time while it cleans up: whatever
// is named stays there, and orphan cleaning finds the rest.
func TestCrash(t *testing.T) {
	for _, options := range []map[string]string{
		{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"},
		{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "changelog.num-retained.max": "5", "changelog.num-retained.min": "1"},
	} {
		for _, effect := range []object.Effect{object.CrashBefore, object.CrashAfter, object.FailBefore, object.FailAfter, object.Tear} {
			for n := 1; ; n++ {
				w := newWorld(t, options)
				r := rand.New(rand.NewPCG(7, 7))
				w.grow(r, 6)
				w.dropPin()
				_, err := w.expirer(w.store).CreateTag(t.Context(), "t", w.ids()[2], 0)
				require.NoError(t, err)
				w.grow(r, 4)
				w.branch("b", w.ids()[4])
				w.dropPin()
				f := object.NewFault(w.store, object.Rule{Nth: n, Effect: effect})
				_, err = w.expirer(f).Run(t.Context())
				if err == nil {
					_, err = w.expirer(f).DeleteTag(t.Context(), "t")
				}
				w.check()
				if f.Fired() == 0 {
					require.NoError(t, err)
					break
				}
				_, err = w.expirer(w.store).Run(t.Context())
				require.NoError(t, err)
				_, err = w.expirer(w.store).DeleteTag(t.Context(), "t")
				if err != nil {
					require.ErrorIs(t, err, fs.ErrNotExist) // gone before
				}
				w.check()
				require.EqualValues(t, w.ids()[len(w.ids())-1]-1, w.ids()[0])
				w.pass(time.Hour)
				e := w.expirer(w.store)
				orphans, err := e.Orphans(t.Context(), w.clock())
				require.NoError(t, err)
				require.NoError(t, e.DeleteOrphans(t.Context(), orphans))
				w.check()
				orphans, err = e.Orphans(t.Context(), w.clock())
				require.NoError(t, err)
				require.Empty(t, orphans)
			}
		}
	}
}

// TestTwoAtOnce: processes that expire at the same time only do the same work twice.
func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "snapshot.expire.limit": "3"})
	w.grow(rand.New(rand.NewPCG(9, 9)), 40)
	w.dropPin()
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := w.expirer(w.store).Run(context.Background())
			errs <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-errs)
	}
	_, err := w.expirer(w.store).Run(t.Context())
	require.NoError(t, err)
	require.Len(t, w.ids(), 2)
	w.check()
	w.pass(time.Hour)
	orphans, err := w.expirer(w.store).Orphans(t.Context(), w.clock())
	require.NoError(t, err)
	require.NoError(t, w.expirer(w.store).DeleteOrphans(t.Context(), orphans))
	w.checkNothingElse()
}

func TestPolicy(t *testing.T) {
	of := func(options map[string]string) error {
		s := table.NewSchema([]table.Field{{Name: "id", Type: table.Type{Root: table.Int}}}, []string{"id"}, nil, options)
		_, err := New(Config{Store: object.NewMem(), Path: "db.db/t", Schema: s})
		return err
	}
	require.NoError(t, of(nil))
	require.ErrorContains(t, of(map[string]string{"snapshot.num-retained.min": "0"}), "num-retained.min is below 1")
	require.ErrorContains(t, of(map[string]string{"snapshot.num-retained.max": "5"}), "snapshot.num-retained.min is above")
	require.ErrorContains(t, of(map[string]string{"changelog.num-retained.min": "5", "changelog.num-retained.max": "2"}), "changelog.num-retained.min is above")
	require.ErrorContains(t, of(map[string]string{"snapshot.time-retained": "soon"}), "snapshot.time-retained")
}
