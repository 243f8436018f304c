package connector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/flush"
	"sink/table/object"
)

const barrelTopic = "dock.orchard.barrel"

// retrying has failed tables tried again.
func retrying(cfg Config) Config {
	cfg.UntilEnd, cfg.Checkpoint.Records, cfg.TableRetry = false, 3, TableRetry{Initial: 10 * time.Second, Max: 5 * time.Minute}
	for i := range cfg.Tables {
		cfg.Tables[i].OnTableFailure = Retry
	}
	return cfg
}

// twoTables are a crate and a barrel table, each of its topic.
func twoTables(cfg Config) Config {
	barrel := crateTable()
	barrel.Topics, barrel.Name, barrel.Options = []string{barrelTopic}, "orchard.barrel", cfg.Tables[0].Options
	cfg.Tables = append(cfg.Tables, barrel)
	return cfg
}

func tableStats(c *Connector, name string) TableStats {
	for _, s := range c.Stats().Tables {
		if s.Table == name {
			return s
		}
	}
	return TableStats{}
}

func poison(id int64) event {
	return event{key: keyOf(id), value: strings.Replace(envelope("c", nil, row(id, "x", 12345), id), "12345", `"heavy"`, 1)}
}

func good(id int64) event {
	return event{key: keyOf(id), value: envelope("c", nil, row(id, "x", 1), id)}
}

// oneEach checks that each of the records gave its row once: inserts 1..n.
func oneEach(t *testing.T, store object.Store, name string, ids ...int64) {
	t.Helper()
	_, changes := changesOf(t, store, name)
	var want []string
	for _, id := range ids {
		want = append(want, line("+I", id, "x", 1))
	}
	require.ElementsMatch(t, want, changes)
}

// widen makes the weight of a table a BIGINT, as a user would.
func widen(t *testing.T, store object.Store, name string) {
	t.Helper()
	committer, err := commit.Open(t.Context(), commit.Config{Store: store, Path: pathOf(name), User: "somebody"})
	require.NoError(t, err)
	fields := slices.Clone(committer.Schema().Fields)
	fields[2].Type = mustType("BIGINT")
	_, changes, err := committer.Evolve(t.Context(), fields)
	require.NoError(t, err)
	require.NotEmpty(t, changes)
}

// A table that has stopped at a record is tried again, each time after a longer pause. It goes on when what stopped it is mended (here: the
// column's type), and every record is in it once; other tables have not waited, and a run that ends while the table waits says why.
func TestTableIsTriedAgain(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic, barrelTopic), object.NewMem()
		for id := range int64(5) {
			s.emit(crateTopic, good(id))
		}
		s.emit(crateTopic, event{key: keyOf(5), value: envelope("c", nil, row(5, "x", 1<<40), 5)}) // no INT
		s.emit(crateTopic, good(6))
		cfg := twoTables(retrying(s.quickly(store)))
		p := s.start(cfg)
		time.Sleep(4 * time.Second) // the first pause is between 5 and 15
		stats := tableStats(p.c, "orchard.crate")
		require.Equal(t, Waiting, stats.State)
		require.Contains(t, stats.Problem, "partition 0 offset 5")
		require.EqualValues(t, 1, stats.Failures)
		require.False(t, stats.Again.IsZero())
		oneEach(t, store, "orchard.crate", 0, 1, 2, 3, 4)
		require.EqualValues(t, 5, s.group(cfg.Group, crateTopic, 0))

		for id := range int64(60) { // beside its tries
			s.emit(barrelTopic, good(id))
			s.emit(crateTopic, good(7+id))
			time.Sleep(time.Second)
			require.LessOrEqual(t, id-2, tableStats(p.c, "orchard.barrel").Rows["+I"], "the other table waits")
		}
		failures := tableStats(p.c, "orchard.crate").Failures
		require.Greater(t, failures, int64(1))
		require.LessOrEqual(t, failures, int64(6), "the pauses grow")

		widen(t, store, "orchard.crate")
		time.Sleep(10 * time.Minute)
		stats = tableStats(p.c, "orchard.crate")
		require.Equal(t, Running, stats.State, stats.Problem)
		require.Empty(t, stats.Problem)
		require.NoError(t, p.end())
		_, changes := changesOf(t, store, "orchard.crate")
		require.Len(t, changes, 67, "every record once")
		require.EqualValues(t, 67, s.group(cfg.Group, crateTopic, 0))
		require.Len(t, rowsOf(t, store, "orchard.barrel"), 60)
	})
}

// A process that ends while a table waits, or is being tried again, says so; without the policy nothing is tried, nor under --until-end.
func TestWaitingTableIsTold(t *testing.T) {
	for _, after := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, crateTopic, barrelTopic), object.NewMem()
				s.emit(crateTopic, poison(0))
				p := s.start(twoTables(retrying(s.quickly(store))))
				time.Sleep(after)
				require.True(t, p.running())
				require.ErrorContains(t, p.end(), "offset 0")
			})
		})
	}
	for name, change := range map[string]func(*Config){
		"park": func(cfg *Config) { cfg.Tables[0].OnTableFailure = Park }, "until end": func(cfg *Config) { cfg.UntilEnd = true },
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, crateTopic), object.NewMem()
				s.emit(crateTopic, poison(0))
				cfg := retrying(s.quickly(store))
				change(&cfg)
				p := s.start(cfg)
				<-p.ended
				require.ErrorContains(t, p.err, "offset 0")
				stats := tableStats(p.c, "orchard.crate")
				require.Equal(t, Stopped, stats.State)
				require.EqualValues(t, 1, stats.Failures)
			})
		})
	}
}

// Two tables of one topic: one is stopped and tried again, the other goes on and reads nothing twice. The first reads all that it missed.
func TestTriedAgainBesideAnother(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := retrying(s.quickly(store))
		cfg.Checkpoint.Interval = 10 * time.Second // records at the end that are fewer than three
		lenient := cfg.Tables[0]
		lenient.Name, lenient.OnError = "orchard.lenient", Skip
		cfg.Tables = append(cfg.Tables, lenient)
		var ids []int64
		for id := range int64(3) {
			s.emit(crateTopic, good(id))
			ids = append(ids, id)
		}
		s.emit(crateTopic, poison(3))
		p := s.start(cfg)
		for id := int64(4); id < 200; id++ {
			s.emit(crateTopic, good(id))
			ids = append(ids, id)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		require.NotZero(t, tableStats(p.c, "orchard.crate").Failures-1)
		other := tableStats(p.c, "orchard.lenient")
		require.Less(t, other.Records, int64(2*len(ids)), "it is handed nothing again")
		oneEach(t, store, "orchard.lenient", ids...)
		require.ErrorContains(t, p.end(), "offset 3")
		oneEach(t, store, "orchard.crate", 0, 1, 2)
		require.EqualValues(t, 3, s.group(cfg.Group, crateTopic, 0), "the group's offset is the lowest")

		cfg.Tables[0].OnError = Skip
		p = s.start(cfg)
		time.Sleep(time.Minute)
		require.NoError(t, p.end())
		oneEach(t, store, "orchard.crate", ids...)
		oneEach(t, store, "orchard.lenient", ids...)
	})
}

// shutFolder is a store in which nothing can be written in some folders, for a while.
type shutFolder struct {
	object.Store
	err error

	mu   sync.Mutex
	shut map[string]bool
}

func (s *shutFolder) set(folder string, shut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut == nil {
		s.shut = map[string]bool{}
	}
	s.shut[folder] = shut
}

func (s *shutFolder) Writer(ctx context.Context, name string) (object.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for folder, shut := range s.shut {
		if shut && strings.HasPrefix(name, folder) {
			return nil, s.err
		}
	}
	return s.Store.Writer(ctx, name)
}

// A store that takes no file of one table for longer than a checkpoint is tried: the table is tried again as a whole, and
// nothing is lost or written twice when the store does take them.
func TestTriedAgainAfterStore(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic, barrelTopic), object.NewMem()
		shut := &shutFolder{Store: store, err: errors.New("no such bucket")}
		shut.set("orchard.db/crate/", true)
		for id := range int64(9) {
			e := good(id)
			e.partition = int32(id % 2)
			s.emit(crateTopic, e)
			s.emit(barrelTopic, e)
		}
		cfg := twoTables(retrying(s.quickly(shut)))
		p := s.start(cfg)
		time.Sleep(11 * time.Minute)
		stats := tableStats(p.c, "orchard.crate")
		require.NotZero(t, stats.Failures, stats.State)
		oneEach(t, store, "orchard.barrel", 0, 1, 2, 3, 4, 5, 6, 7, 8)
		shut.set("orchard.db/crate/", false)
		time.Sleep(11 * time.Minute)
		require.Equal(t, Running, tableStats(p.c, "orchard.crate").State)
		oneEach(t, store, "orchard.crate", 0, 1, 2, 3, 4, 5, 6, 7, 8)
		require.NoError(t, p.end())
	})
}

// What only a user can decide is not tried again: a table that was rolled back or dropped, records that are gone.
func TestNotTriedAgain(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic, barrelTopic), object.NewMem()
		for id := range int64(6) {
			s.emit(crateTopic, good(id))
		}
		p := s.start(twoTables(retrying(s.quickly(store))))
		time.Sleep(10 * time.Second)
		for info, err := range store.List(t.Context(), "orchard.db/crate/snapshot/") {
			require.NoError(t, err)
			require.NoError(t, store.Delete(t.Context(), info.Name))
		}
		for id := int64(6); id < 12; id++ {
			s.emit(crateTopic, good(id))
		}
		time.Sleep(time.Hour)
		stats := tableStats(p.c, "orchard.crate")
		require.Equal(t, Stopped, stats.State)
		require.EqualValues(t, 1, stats.Failures)
		require.Error(t, p.end())
	})
}

// Tables fail and come back at random, those that a scout feeds and those that the poll loop feeds, two of one topic among them: every
// change is in each table once and in order. What several instances make of it, integration/simulation tries.
func TestTablesComeBack(t *testing.T) {
	for _, routed := range []bool{true, false} {
		for range 4 {
			t.Run(fmt.Sprintf("routed=%t", routed), func(t *testing.T) {
				w := newWorld(t, 2, 150)
				seed := rand.Uint64()
				t.Logf("seed of faults %d", seed)
				onStage(t, func(t *testing.T) {
					failures := comeBackAtRandom(t, w, routed, rand.New(rand.NewPCG(seed, 2)))
					require.NotZero(t, failures)
				})
			})
		}
	}
}

func comeBackAtRandom(t *testing.T, w *world, routed bool, random *rand.Rand) (failures int64) {
	s, store := newStage(t, 2, append([]string{"all"}, w.names...)...), object.NewMem()
	shut := &shutFolder{Store: store, err: flush.ErrMerge} // no waiting mends it, but the next try
	cfg := s.config(shut, sharedTopic())
	if !routed {
		cfg.Tables = nil
		for _, copied := range []string{"", "_copy"} {
			for _, name := range w.names {
				m := sharedTopic()
				m.Source, m.Topics, m.Name = nil, []string{name}, "lake."+name+copied
				cfg.Tables = append(cfg.Tables, m)
			}
		}
	}
	cfg = retrying(cfg)
	cfg.TableRetry.Initial, cfg.Checkpoint.Interval = time.Second, 3*time.Second
	p := s.start(cfg)
	topic := "all"
	for _, e := range w.events {
		if name := tableOf(e, w.names); !routed && name != "" {
			topic = name // a tombstone follows its delete
		}
		s.emit(topic, e)
		folder := "lake.db/" + w.names[random.IntN(len(w.names))] + "/"
		switch random.IntN(20) {
		case 0, 1:
			shut.set(folder, true)
		case 2, 3, 4:
			shut.set(folder, false)
		}
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
	for _, name := range w.names {
		shut.set("lake.db/"+name+"/", false)
	}
	time.Sleep(20 * time.Minute)
	require.NoError(t, p.end())
	for _, stats := range p.c.Stats().Tables {
		failures += stats.Failures
	}
	if routed {
		w.judge(t, s, store, cfg.Group)
		return failures
	}
	for _, name := range w.names {
		for _, copied := range []string{"", "_copy"} {
			key, have := changesOf(t, store, "lake."+name+copied)
			require.Equal(t, byKey(t, key, w.changes[name]), byKey(t, key, have), name+copied)
		}
	}
	return failures
}

// tableOf returns the table of the source that an event is of; empty for a tombstone.
func tableOf(e event, names []string) string {
	for _, name := range names {
		if strings.Contains(e.value, fmt.Sprintf(`"table":%q`, name)) {
			return name
		}
	}
	return ""
}
