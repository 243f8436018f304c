package upkeep

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
	"sink/table/scan"
	"sink/table/verify"
)

// shop is a table of two partitions that several write and keep, with the rows that it should have: by day and id, as text.
type shop struct {
	t     *testing.T
	store *object.Mem
	path  table.Path
	rows  map[string]string
	told  bool // nothing went that no changelog tells of
}

var shopNow = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

const shopOld, shopNew = "2026-01-01", "2026-01-10"

func newShop(t *testing.T, producer string) *shop {
	s := &shop{t: t, store: object.NewMem(), path: table.NewPath("db", "t"), rows: map[string]string{}, told: true}
	s.store.Now = s.clock
	schema := table.NewSchema([]table.Field{
		{Name: "day", Type: table.Type{Root: table.VarChar, Length: 10, NotNull: true}}, {Name: "id", Type: bigint}, {Name: "n", Type: table.Type{Root: table.Int}},
	}, []string{"day", "id"}, []string{"day"}, map[string]string{
		"bucket": "2", "changelog-producer": producer, "partition.expiration-time": "400 d", "num-sorted-run.compaction-trigger": "3",
		"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "100",
	})
	_, _, err := commit.CreateTable(t.Context(), s.config(), schema)
	require.NoError(t, err)
	for i := range int64(3) {
		s.write(i, 10+i)
	}
	return s
}

func (s *shop) clock() time.Time { return shopNow }

func (s *shop) config() commit.Config {
	return commit.Config{Store: s.store, Path: s.path, User: "group", Now: s.clock}
}

// copy returns a shop of its own that has come as far.
func (s *shop) copy(t *testing.T) *shop {
	c := &shop{t: t, store: object.NewMem(), path: s.path, rows: maps.Clone(s.rows), told: true}
	c.store.Now = c.clock
	for info, err := range s.store.List(t.Context(), string(s.path)+"/") {
		require.NoError(t, err)
		b, err := s.store.Get(t.Context(), info.Name)
		require.NoError(t, err)
		require.NoError(t, c.store.Put(t.Context(), info.Name, b))
	}
	return c
}

// write commits a few rows, one of which is there before, with a value in each column but for the key.
func (s *shop) write(ids ...int64) {
	ctx := context.Background()
	c, err := commit.Open(ctx, s.config())
	require.NoError(s.t, err)
	state, err := c.Resume(ctx)
	require.NoError(s.t, err)
	w, err := flush.New(flush.Config{Schema: c.Schema(), Store: s.store, Path: s.path, Now: s.clock})
	require.NoError(s.t, err)
	w.Raise(state.MaxSequence)
	value := 1000*state.NewestID + 7
	if c.Schema().Fields[2].Type.Root == table.BigInt {
		value += 1 << 40
	}
	for _, day := range []string{shopOld, shopNew} {
		for _, id := range ids {
			b := w.Batch()
			b.Columns[0].AppendBytes([]byte(day))
			b.Columns[1].AppendWord(id)
			for i := 2; i < len(b.Columns); i++ {
				b.Columns[i].AppendWord(value)
			}
			b.Kinds = append(b.Kinds, table.Insert)
			one := table.NewBatch(c.Schema().Fields)
			one.AppendRow(b, b.Len()-1)
			s.rows[day+string(rune('a'+id))] = string(table.AppendCanonicalRow(nil, c.Schema().Fields, one, 0))
			require.NoError(s.t, w.Add())
		}
	}
	d, err := w.Seal().Flush(ctx)
	require.NoError(s.t, err)
	_, err = c.Commit(ctx, d)
	for errors.Is(err, commit.ErrNotRescaled) { // what the service waits for
		_, err = s.keeper(s.store).Rescale(ctx, d.Added[0].TotalBuckets, Scope{})
		require.NoError(s.t, err)
		_, err = c.Commit(ctx, d)
	}
	require.NoError(s.t, err)
}

func (s *shop) evolve(change func([]table.Field) []table.Field) {
	c, err := commit.Open(context.Background(), s.config())
	require.NoError(s.t, err)
	schema, _, err := c.Evolve(context.Background(), change(slices.Clone(c.Schema().Fields)))
	require.NoError(s.t, err)
	if len(schema.Fields) == 4 { // rows that were there have nothing in the new column
		for key, text := range s.rows {
			s.rows[key] = text[:len(text)-1] + `,"extra":null}`
		}
	}
}

func (s *shop) keeper(store object.Store) *Keeper {
	k, err := Open(context.Background(), Config{Store: store, Path: s.path, User: "group", Now: s.clock})
	require.NoError(s.t, err)
	return k
}

// drop takes the old partition away.
func (s *shop) drop() {
	ctx := context.Background()
	c, err := commit.Open(ctx, s.config())
	require.NoError(s.t, err)
	newest, err := manifest.LatestSnapshot(ctx, s.store, s.path)
	require.NoError(s.t, err)
	live, err := manifest.ReadLive(ctx, s.store, s.path, newest, nil)
	require.NoError(s.t, err)
	d := table.Delta{Progress: table.Progress{MaxSequence: -1}}
	for i := range live {
		if path, err := table.PartitionPath(c.Schema(), live[i].Bucket.Partition); err == nil && path == "day="+shopOld+"/" {
			d.Removed = append(d.Removed, live[i])
		}
	}
	_, err = c.Overwrite(ctx, d, c.Schema().ID)
	require.NoError(s.t, err)
	maps.DeleteFunc(s.rows, func(key, _ string) bool { return key[:len(shopOld)] == shopOld })
	s.told = false
}

// check compares the rows of the table with what they should be, those of the changelog, too, where that tells all.
func (s *shop) check(n int) {
	t, err := scan.Open(s.t.Context(), s.store, s.path)
	require.NoError(s.t, err)
	plan, err := t.Plan(s.t.Context(), scan.At{}, nil)
	require.NoError(s.t, err)
	got := []string{}
	for b, err := range plan.Rows(s.t.Context(), scan.Options{}) {
		require.NoError(s.t, err)
		for i := range b.Len() {
			got = append(got, string(table.AppendCanonicalRow(nil, plan.Schema.Fields, b, i)))
		}
	}
	require.ElementsMatch(s.t, slices.Collect(maps.Values(s.rows)), got, "call %d", n)
	o := verify.Options{Report: func(f verify.Finding) { require.NotEqual(s.t, verify.Fault, f.Level, "call %d: %v", n, f) }}
	if s.told {
		o.Replay = verify.ReplayLast
	}
	_, err = verify.Run(s.t.Context(), s.store, s.path, o)
	require.NoError(s.t, err)
}

// TestUpkeepAtEveryCall: whatever others do to the table ahead of whichever call of a compaction, a rescale or an expiry, this ends well or asks
// to be made again, and each row is there with all of its values, in the table and in the changelog. It takes a random call and changelog
// producer for each; SINK_EVERY_CALL=1 has it take all, which is some minutes.
func TestUpkeepAtEveryCall(t *testing.T) {
	ctx := context.Background()
	seed, all := uint64(time.Now().UnixNano()), os.Getenv("SINK_EVERY_CALL") != ""
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	full := func(k *Keeper) error { _, err := k.Compact(ctx, Scope{Full: true}); return err }
	operations := map[string]func(*Keeper) error{
		"compaction":      func(k *Keeper) error { _, err := k.Compact(ctx, Scope{}); return err },
		"full compaction": full,
		"rescale":         func(k *Keeper) error { _, err := k.Rescale(ctx, 3, Scope{}); return err },
		"expiry":          func(k *Keeper) error { _, err := k.Expire(ctx); return err },
	}
	events := map[string]func(*shop){
		"rows": func(s *shop) { s.write(1, 12, 20) },
		"a new column": func(s *shop) {
			s.evolve(func(f []table.Field) []table.Field {
				return append(f, table.Field{Name: "extra", Type: table.Type{Root: table.BigInt}})
			})
			s.write(1, 20)
		},
		"a wider column": func(s *shop) {
			s.evolve(func(f []table.Field) []table.Field { f[2].Type.Root = table.BigInt; return f })
			s.write(1, 20)
		},
		"a compaction":        func(s *shop) { require.NoError(t, full(s.keeper(s.store))) },
		"a compaction, rows":  func(s *shop) { require.NoError(t, full(s.keeper(s.store))); s.write(1, 20) },
		"a partition dropped": (*shop).drop,
		"an expiry": func(s *shop) {
			require.NoError(t, full(s.keeper(s.store)))
			c, err := commit.Open(ctx, s.config())
			require.NoError(t, err)
			_, err = c.SetOption(ctx, "snapshot.num-retained.max", "1")
			require.NoError(t, err)
			require.NoError(t, c.Pin(ctx))
			require.NoError(t, s.store.Delete(ctx, s.path.Consumer(commit.ConsumerID("group"))))
			_, err = s.keeper(s.store).Expire(ctx)
			require.NoError(t, err)
			s.told = false
		},
		"a rescale, rows": func(s *shop) {
			_, err := s.keeper(s.store).Rescale(ctx, 5, Scope{})
			require.NoError(t, err)
			s.write(1, 20)
		},
	}
	producers := []string{"input", "lookup", "full-compaction"}
	begun := map[string]*shop{}
	for _, producer := range producers {
		begun[producer] = newShop(t, producer)
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		for _, what := range slices.Sorted(maps.Keys(events)) {
			of := producers
			if !all {
				i := rnd.IntN(len(producers))
				of = producers[i : i+1]
			}
			for _, producer := range of {
				t.Run(name+"/"+what+"/"+producer, func(t *testing.T) {
					do, happen := operations[name], events[what]
					calls := begun[producer].copy(t).calls(do)
					n, end := 0, calls
					if !all {
						n = rnd.IntN(calls)
						end = n + 1
					}
					for ; n < end; n++ {
						begun[producer].copy(t).meet(n, do, happen)
					}
				})
			}
		}
	}
}

// calls returns how many calls of the store an operation makes.
func (s *shop) calls(do func(*Keeper) error) (n int) {
	hook := &objecttest.Hook{Store: s.store}
	k := s.keeper(hook)
	hook.Before = func(object.Op, string) error { n++; return nil }
	require.NoError(s.t, do(k))
	return n
}

// meet has something happen ahead of the n-th call of an operation, and judges what became of both.
func (s *shop) meet(n int, do func(*Keeper) error, happen func(*shop)) {
	hook := &objecttest.Hook{Store: s.store}
	k := s.keeper(hook)
	reached := hook.Nth(n, func() { happen(s) })
	err := do(k)
	if !reached() {
		happen(s)
	}
	for tries := 0; err != nil && tries < 3; tries++ {
		require.True(s.t, errors.Is(err, commit.ErrConflict) || errors.Is(err, fs.ErrNotExist), "call %d: %v", n, err)
		err = do(k)
	}
	require.NoError(s.t, err, "call %d", n)
	s.write(2, 30)
	_, err = s.keeper(s.store).Compact(context.Background(), Scope{Full: true})
	require.NoError(s.t, err)
	s.check(n)
}
