package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/debezium"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// quickly is a configuration for one run in virtual time.
func (s *stage) quickly(store object.Store) Config {
	cfg := s.config(store, crateTable())
	cfg.Tables[0].Options["file.compression"] = "none"
	return cfg
}

// drain runs to the end of the topics.
func (s *stage) drain(cfg Config) (TableStats, error) {
	p := s.start(cfg)
	<-p.ended
	stats := append(p.c.Stats().Tables, TableStats{})
	return stats[0], p.err
}

// TestTransactions is case U22: rows of aborted transactions are never seen, those of open ones wait, and a run ends behind
// the last marker.
func TestTransactions(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		producer := func(id string) *kgo.Client {
			c, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.Dialer(s.network.DialContext), kgo.TransactionalID(id),
				kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			require.NoError(t, err)
			t.Cleanup(c.Close)
			return c
		}
		send := func(c *kgo.Client, ids ...int64) {
			for _, id := range ids {
				r := &kgo.Record{Topic: crateTopic, Key: []byte(keyOf(id)), Value: []byte(envelope("c", nil, row(id, "x", 1), id))}
				require.NoError(t, c.ProduceSync(t.Context(), r).FirstErr())
			}
		}
		a, b, c := producer("a"), producer("b"), producer("c")
		require.NoError(t, a.BeginTransaction())
		send(a, 1, 2, 3)
		require.NoError(t, a.EndTransaction(t.Context(), kgo.TryCommit))
		require.NoError(t, b.BeginTransaction())
		send(b, 4, 5)
		require.NoError(t, b.EndTransaction(t.Context(), kgo.TryAbort))
		require.NoError(t, c.BeginTransaction())
		send(c, 6)
		cfg := s.quickly(store)
		_, err := s.drain(cfg)
		require.NoError(t, err)
		require.Equal(t, []string{line("", 1, "x", 1), line("", 2, "x", 1), line("", 3, "x", 1)}, rowsOf(t, store, "orchard.crate"))
		require.EqualValues(t, 7, s.group(cfg.Group, crateTopic, 0), "three rows, a marker, two rows and a marker")

		require.NoError(t, c.EndTransaction(t.Context(), kgo.TryCommit))
		require.NoError(t, a.BeginTransaction())
		send(a, 7)
		require.NoError(t, a.EndTransaction(t.Context(), kgo.TryCommit))
		stats, err := s.drain(cfg)
		require.NoError(t, err)
		require.Len(t, rowsOf(t, store, "orchard.crate"), 5)
		require.EqualValues(t, 11, s.group(cfg.Group, crateTopic, 0), "behind the last marker")
		require.EqualValues(t, 2, stats.Rows["+I"])
		_, err = s.drain(cfg)
		require.NoError(t, err, "a run with nothing to do ends")
	})
}

// TestHoles is the rest of case U22: the log's cleaner has taken offsets away.
func TestHoles(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, "other"), object.NewMem()
		require.NoError(t, s.cluster.CreateTopic(crateTopic, 1, map[string]string{"cleanup.policy": "compact"}))
		for i, id := range []int64{1, 2, 3, 4, 1, 2, 9} {
			s.emit(crateTopic, event{key: keyOf(id), value: envelope("c", nil, row(id, "x", int64(i)), int64(i))})
		}
		cfg := s.quickly(store)
		_, err := s.drain(cfg)
		require.ErrorContains(t, err, "cleanup.policy=compact")
		s.cluster.Compact()
		cfg.Tables[0].Compacted = true
		stats, err := s.drain(cfg)
		require.NoError(t, err)
		require.EqualValues(t, 5, stats.Rows["+I"], "offsets 0 and 1 are gone")
		require.Equal(t, []string{line("", 1, "x", 4), line("", 2, "x", 5), line("", 3, "x", 2), line("", 4, "x", 3), line("", 9, "x", 6)}, rowsOf(t, store, "orchard.crate"))
		require.EqualValues(t, 7, s.group(cfg.Group, crateTopic, 0))
	})
}

// TestOffsetIsGone is case U24.
func TestOffsetIsGone(t *testing.T) {
	fill := func(s *stage, from, to int64) {
		for id := from; id < to; id++ {
			s.emit(crateTopic, event{key: keyOf(id), value: envelope("c", nil, row(id, "x", 1), id)})
		}
	}
	t.Run("records deleted", func(t *testing.T) {
		onStage(t, func(t *testing.T) {
			s, store := newStage(t, 1, crateTopic), object.NewMem()
			cfg := s.quickly(store)
			fill(s, 0, 10)
			_, err := s.drain(cfg)
			require.NoError(t, err)
			fill(s, 10, 30)
			before := kadm.Offsets{}
			before.Add(kadm.Offset{Topic: crateTopic, At: 25})
			_, err = s.admin.DeleteRecords(t.Context(), before)
			require.NoError(t, err)
			_, err = s.drain(cfg)
			require.ErrorContains(t, err, "topic dock.orchard.crate partition 0: offset 10 is wanted, but the log begins at 25: 15 records are gone")
			require.Len(t, rowsOf(t, store, "orchard.crate"), 10)
			require.EqualValues(t, 10, s.group(cfg.Group, crateTopic, 0))
		})
	})
	t.Run("records deleted while it runs", func(t *testing.T) {
		onStage(t, func(t *testing.T) {
			s, store := newStage(t, 1, crateTopic), object.NewMem()
			cfg := s.quickly(store)
			cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
			fill(s, 0, 10)
			p := s.start(cfg)
			time.Sleep(10 * time.Second)
			p.c.client.PauseFetchPartitions(map[string][]int32{crateTopic: {0}})
			time.Sleep(10 * time.Second)
			fill(s, 10, 30)
			before := kadm.Offsets{}
			before.Add(kadm.Offset{Topic: crateTopic, At: 25})
			_, err := s.admin.DeleteRecords(t.Context(), before)
			require.NoError(t, err)
			p.c.client.ResumeFetchPartitions(map[string][]int32{crateTopic: {0}})
			<-p.ended
			require.ErrorContains(t, p.err, "topic dock.orchard.crate partition 0: offset 10 is wanted, but it is no longer in the log")
			require.Len(t, rowsOf(t, store, "orchard.crate"), 10)
			require.EqualValues(t, 10, s.group(cfg.Group, crateTopic, 0))
		})
	})
	t.Run("group deleted", func(t *testing.T) {
		onStage(t, func(t *testing.T) {
			s, store := newStage(t, 1, crateTopic), object.NewMem()
			cfg := s.quickly(store)
			fill(s, 0, 10)
			_, err := s.drain(cfg)
			require.NoError(t, err)
			_, err = s.admin.DeleteGroups(t.Context(), cfg.Group)
			require.NoError(t, err)
			fill(s, 10, 15)
			stats, err := s.drain(cfg)
			require.NoError(t, err)
			require.EqualValues(t, 5, stats.Rows["+I"], "from the snapshot, no row twice")
			require.Len(t, rowsOf(t, store, "orchard.crate"), 15)
			require.EqualValues(t, 15, s.group(cfg.Group, crateTopic, 0))
		})
	})
}

// TestEveryCrash is a small case U25: whatever the moment, each record is in the changelog exactly once, told apart by its
// coordinates.
func TestEveryCrash(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 0))
	sc := script{partitions: 3, offsets: []int64{0, 0, 0}, table: func(m *Table) {
		m.Metadata = map[string]debezium.Metadata{"p": debezium.MetadataPartition, "o": debezium.MetadataOffset}
	}}
	held := map[int64]*crate{}
	at := map[int64]string{}
	for i := range int64(30) {
		id := random.Int64N(9)
		partition := int32(id % 3)
		place := fmt.Sprintf(`,"o":%d,"p":%d}`, sc.offsets[partition], partition)
		text := func(kind string, c *crate) string {
			return strings.TrimSuffix(line(kind, c.ID, *c.Label, *c.Weight), "}") + place
		}
		before, after := held[id], row(id, fmt.Sprint("x", i), i)
		op := "u"
		switch {
		case before == nil:
			op = "c"
			sc.changes = append(sc.changes, text("+I", after))
		case random.IntN(4) == 0:
			op, after = "d", nil
			sc.changes = append(sc.changes, text("-D", before))
		default:
			sc.changes = append(sc.changes, text("-U", before), text("+U", after))
		}
		sc.events = append(sc.events, event{partition: partition, key: keyOf(id), value: envelope(op, before, after, i)})
		sc.offsets[partition]++
		if held[id] = after; after != nil {
			at[id] = text("", after)
		}
	}
	for id := range int64(9) {
		if held[id] != nil {
			sc.rows = append(sc.rows, at[id])
		}
	}
	play(t, sc)
}

// TestStoreAwayForAWhile is a part of case U26: a store that answers nothing but "slow down" for 20 s is waited for. That is told meanwhile, no record
// is lost or doubled, and afterwards all is as if nothing had been.
func TestStoreAwayForAWhile(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		var away atomic.Bool
		cfg := s.quickly(&objecttest.Hook{Store: store, Before: func(object.Op, string) error {
			if away.Load() {
				return fmt.Errorf("%w: slow down", object.ErrUnreachable)
			}
			return nil
		}})
		cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
		p := s.start(cfg)
		table := func() TableStats { return p.c.Stats().Tables[0] }
		add := func(id int64) {
			s.emit(crateTopic, event{key: keyOf(id), value: envelope("c", nil, row(id, "x", id), id)})
		}
		add(1)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 1, s.group(cfg.Group, crateTopic, 0))

		away.Store(true)
		add(2)
		add(3)
		time.Sleep(20 * time.Second)
		require.True(t, p.running())
		require.Equal(t, Degraded, table().State)
		require.Contains(t, table().Problem, "slow down")
		require.Positive(t, table().Retries)
		require.EqualValues(t, 1, s.group(cfg.Group, crateTopic, 0), "the group hears of nothing that is in no snapshot")
		require.Equal(t, []string{line("", 1, "x", 1)}, rowsOf(t, store, "orchard.crate"))

		away.Store(false)
		time.Sleep(time.Minute)
		require.Equal(t, Running, table().State)
		require.Empty(t, table().Problem)
		require.EqualValues(t, 3, s.group(cfg.Group, crateTopic, 0))
		require.Zero(t, table().Failures)
		require.NoError(t, p.end())
		require.Equal(t, []string{line("", 1, "x", 1), line("", 2, "x", 2), line("", 3, "x", 3)}, rowsOf(t, store, "orchard.crate"))
		_, changes := changesOf(t, store, "orchard.crate")
		require.Len(t, changes, 3, "each record once: %v", changes)
	})
}

// TestNotRows is case U34: what a pattern also matches but is no row.
func TestNotRows(t *testing.T) {
	create := event{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 3), 0)}
	message := `{"op":"m","ts_ms":5,"source":{"connector":"postgresql","name":"dock","db":"orchard","lsn":5},"message":{"prefix":"x","content":"AA=="}}`
	others := []event{
		{topic: "dock", key: `{"databaseName":"orchard"}`, value: `{"source":{"connector":"mysql","name":"dock","db":"orchard"},"ts_ms":5,"databaseName":"orchard","ddl":"ALTER TABLE crate ADD x INT","tableChanges":[{"type":"ALTER","id":"\"orchard\".\"crate\"","table":{}}]}`},
		{topic: "dock.transaction", key: `{"id":"t1"}`, value: `{"status":"BEGIN","id":"t1","event_count":null,"data_collections":null,"ts_ms":5}`},
		{topic: "dock.transaction", key: `{"id":"t1"}`, value: `{"status":"END","id":"t1","event_count":1,"data_collections":[{"data_collection":"orchard.crate","event_count":1}],"ts_ms":5}`},
		{topic: "__debezium-heartbeat.dock", key: `{"serverName":"dock"}`, value: `{"ts_ms":1}`},
		{topic: "dock.message", key: `{"prefix":"x"}`, value: message},
		{topic: "dock.notifications", key: `{"id":"5"}`, value: `{"id":"5","aggregate_type":"Incremental Snapshot","type":"STARTED","additional_data":{"data_collections":"orchard.crate"},"timestamp":5}`},
	}
	t.Run("topics", func(t *testing.T) {
		onStage(t, func(t *testing.T) {
			topics := []string{crateTopic, "dock", "dock.transaction", "__debezium-heartbeat.dock", "dock.message", "dock.notifications"}
			s, store := newStage(t, 1, topics...), object.NewMem()
			cfg := s.quickly(store)
			cfg.Tables[0].Topics, cfg.Tables[0].Pattern = nil, regexp.MustCompile(`(?:__debezium-heartbeat\.)?dock(?:\.(?:orchard\.)?(\w+))?`)
			cfg.Tables[0].Name, cfg.Tables[0].Disjoint = "lake.t_${1}", true
			s.emit(crateTopic, create)
			for _, e := range others {
				s.emit("", e)
			}
			p := s.start(cfg)
			<-p.ended
			require.NoError(t, p.err)
			require.Equal(t, []string{line("", 1, "fig", 3)}, rowsOf(t, store, "lake.t_crate"))
			for info, err := range store.List(t.Context(), "") {
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(info.Name, "lake.db/t_crate/"), "no table for %s", info.Name)
			}
			skipped := map[string]int64{}
			for _, s := range p.c.Stats().Tables {
				for kind, n := range s.Skipped {
					skipped[kind] += n
				}
			}
			require.Equal(t, map[string]int64{"schema-change": 1, "transaction": 2, "heartbeat": 1, "message": 1, "notification": 1}, skipped)
			for _, topic := range topics {
				want := map[string]int64{"dock.transaction": 2}[topic]
				require.Equal(t, max(want, 1), s.group(cfg.Group, topic, 0), topic)
			}
		})
	})
	t.Run("by source", func(t *testing.T) { // no table wants them, and they stop nobody that asks for all rows to be wanted
		b, store := newBroker(t, 1, "all"), object.NewMem()
		b.send("all", 0, create.key, create.value)
		for _, e := range others {
			b.send("all", 0, e.key, e.value)
		}
		b.send("all", 0, keyOf(9), of("orchard", "debezium_signal", envelope("c", nil, row(9, "sig", 5), 4)))
		mapping := bySource(`orchard\..*`, "lake.${table}")
		mapping.Topics, mapping.OnUnrouted = []string{"all"}, Fail
		stats, err := runConnector(t, b.config(store, mapping))
		require.NoError(t, err)
		require.Equal(t, []string{"lake.crate"}, tablesIn(t, store))
		skipped := map[string]int64{}
		for _, s := range stats.Tables {
			for kind, n := range s.Skipped {
				skipped[kind] += n
			}
		}
		require.Equal(t, map[string]int64{"schema-change": 1, "transaction": 2, "heartbeat": 1, "message": 1, "notification": 1, "signal-table": 1}, skipped)
		require.EqualValues(t, len(others)+2, b.group("ucase", "all", 0))
	})
	bad := []event{create, {key: keyOf(2), value: `[1,2]`}, {value: message}, {key: keyOf(2), value: `5`}, {key: keyOf(3), value: envelope("c", nil, row(3, "fig", 3), 0)}}
	t.Run("bad records", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.OnError = Skip }, events: bad, rows: []string{line("", 1, "fig", 3), line("", 3, "fig", 3)}, offsets: []int64{5},
			changes: []string{line("+I", 1, "fig", 3), line("+I", 3, "fig", 3)}, stats: TableStats{Skipped: map[string]int64{"message": 1, "not-a-row": 2}},
		})
	})
	t.Run("bad records stop", func(t *testing.T) {
		play(t, script{events: bad, rows: []string{line("", 1, "fig", 3)}, changes: []string{line("+I", 1, "fig", 3)}, offsets: []int64{1}, fails: "partition 0 offset 1"})
	})
}

// TestBadRecords is case U35: three bad records among many, next to each other and across checkpoints.
func TestBadRecords(t *testing.T) {
	sc := script{partitions: 2, topics: []string{crateTopic, "sink.dead"}}
	for id := range int64(12) {
		e := event{partition: int32(id % 2), key: keyOf(id), value: envelope("c", nil, row(id, "x", 777), id)}
		switch id {
		case 0, 5:
			e.value = strings.Replace(e.value, "777", `"heavy"`, 1)
		case 7:
			e.value = e.value[:len(e.value)/2]
		case 9:
			e.value, e.headers = "not JSON", headers("trace", "abc", "trace", "\x00\xff")
		default:
			sc.rows = append(sc.rows, line("", id, "x", 777))
			sc.changes = append(sc.changes, line("+I", id, "x", 777))
		}
		sc.events = append(sc.events, e)
	}
	slices.SortFunc(sc.rows, func(a, b string) int { return len(a) - len(b) })
	sc.offsets = []int64{6, 6}
	coordinates := []string{"0/0", "1/2", "1/3", "1/4"}
	t.Run("files", func(t *testing.T) {
		sc := sc
		sc.stats.DeadLetters = 4
		sc.check = func(t *testing.T, _ *stage, store *object.Mem, cfg Config) {
			require.Equal(t, coordinates, lettersIn(t, store, "_dead"), "each exactly once")
		}
		sc.table = func(m *Table) { m.OnError, m.Letters = DeadLetter, Letters{Path: "_dead"} }
		play(t, sc)
	})
	t.Run("topic", func(t *testing.T) {
		sc := sc
		sc.stats.DeadLetters, sc.skips = 4, 5
		sc.check = func(t *testing.T, s *stage, _ *object.Mem, cfg Config) {
			found := map[string]*kgo.Record{}
			for _, r := range s.read("sink.dead") {
				found[string(r.Key)] = r
			}
			var keys []string
			for key, r := range found {
				keys = append(keys, key)
				text := map[string]string{}
				for _, h := range r.Headers {
					text[h.Key] = string(h.Value)
				}
				require.Equal(t, text["sink.topic"]+"/"+text["sink.partition"]+"/"+text["sink.offset"], key)
				require.NotEmpty(t, text["sink.cause"])
			}
			slices.Sort(keys)
			for i := range keys {
				require.Equal(t, crateTopic+"/"+coordinates[i], keys[i])
			}
			require.Len(t, keys, 4)
			require.Equal(t, "not JSON", string(found[keys[3]].Value))
			require.Equal(t, headers("trace", "abc", "trace", "\x00\xff"), found[keys[3]].Headers[9:])
		}
		sc.table = func(m *Table) { m.OnError, m.Letters = DeadLetter, Letters{Topic: "sink.dead"} }
		play(t, sc)
	})
	t.Run("skip", func(t *testing.T) {
		sc := sc
		sc.skips, sc.stats.Skipped = 5, map[string]int64{"malformed": 2, "type": 2}
		sc.table = func(m *Table) { m.OnError = Skip }
		play(t, sc)
	})
	t.Run("nothing but bad ones", func(t *testing.T) {
		sc := script{offsets: []int64{4}, stats: TableStats{DeadLetters: 4}, table: func(m *Table) { m.OnError, m.Letters = DeadLetter, Letters{Path: "_dead"} }}
		for range 4 {
			sc.events = append(sc.events, event{key: keyOf(1), value: "not JSON"})
		}
		sc.check = func(t *testing.T, _ *stage, store *object.Mem, cfg Config) {
			require.Equal(t, []string{"0/0", "0/1", "0/2", "0/3"}, lettersIn(t, store, "_dead"), "each exactly once")
		}
		play(t, sc)
	})
}

// TestLettersOnce: records put aside are in files exactly once though nothing but them comes, and the checkpoints of the next
// process are cut in another way. With a table the snapshots remember them, before it exists the group's offsets do.
func TestLettersOnce(t *testing.T) {
	for _, exists := range []bool{true, false} {
		t.Run(fmt.Sprintf("table=%t", exists), func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, crateTopic), object.NewMem()
				cfg := s.quickly(store)
				cfg.Tables[0].OnError, cfg.Tables[0].Letters = DeadLetter, Letters{Path: "_dead"}
				small := cfg
				small.UntilEnd, small.Checkpoint.Records = false, 1
				deaf := kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.CoordinatorLoadInProgress, Count: -1}
				if !exists {
					deaf.Group = "another"
				}
				fault := s.cluster.Fault(deaf)
				p := s.start(small)
				want := []string{}
				for i := range int64(8) {
					e := event{key: keyOf(i), value: "not JSON"}
					if exists && i == 0 {
						e.value = envelope("c", nil, row(i, "x", 1), i)
					} else {
						want = append(want, fmt.Sprintf("0/%d", i))
					}
					s.emit(crateTopic, e)
					time.Sleep(5 * time.Second)
				}
				require.True(t, p.running())
				p.kill()
				require.Equal(t, exists, s.group(cfg.Group, crateTopic, 0) <= 0)
				fault.Remove()
				_, err := s.drain(cfg)
				require.NoError(t, err)
				require.Equal(t, want, lettersIn(t, store, "_dead"))
				require.EqualValues(t, 8, s.group(cfg.Group, crateTopic, 0))
			})
		})
	}
}

// TestLettersOfTopicMadeAnew: a topic that is deleted and made anew counts from 0 again. Its letters replace none of those of the old one.
func TestLettersOfTopicMadeAnew(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.Tables[0].OnError, cfg.Tables[0].Letters = DeadLetter, Letters{Path: "_dead"}
		ids := map[string]bool{}
		for _, bad := range []string{"not JSON", "neither"} {
			s.emit(crateTopic, event{key: keyOf(1), value: bad})
			topics, err := s.admin.ListTopics(t.Context(), crateTopic)
			require.NoError(t, err)
			id := topics[crateTopic].ID
			ids[fmt.Sprintf("%x", id[:])] = true
			_, err = s.drain(cfg)
			require.NoError(t, err)
			_, err = s.admin.DeleteTopics(t.Context(), crateTopic)
			require.NoError(t, err)
			_, err = s.admin.CreateTopic(t.Context(), 1, 1, nil, crateTopic)
			require.NoError(t, err)
			s.client.PurgeTopicsFromClient(crateTopic) // and its id
		}
		require.Equal(t, []string{"0/0", "0/0"}, lettersIn(t, store, "_dead"))
		for info, err := range store.List(t.Context(), "_dead/") {
			require.NoError(t, err)
			text, err := store.Get(t.Context(), info.Name)
			require.NoError(t, err)
			var l letter
			require.NoError(t, json.Unmarshal(text, &l))
			require.True(t, ids[l.TopicID], l.TopicID)
			delete(ids, l.TopicID)
		}
	})
}

// TestLettersAreMemory: what is put aside counts like rows do, for checkpoints and for the budget.
func TestLettersAreMemory(t *testing.T) {
	huge := strings.Repeat("not JSON", 20<<10)
	limits := map[string]func(*Config){
		"checkpoint": func(cfg *Config) { cfg.Checkpoint.Bytes = 1 << 20 },
		"budget":     func(cfg *Config) { cfg.Memory = 2 << 20 },
	}
	for name, limit := range limits {
		for in, bad := range map[string]event{
			"value":   {key: keyOf(1), value: huge},
			"headers": {key: keyOf(1), value: "not JSON", headers: headers("trace", huge)},
		} {
			t.Run(name+" of "+in, func(t *testing.T) { lettersAreMemory(t, limit, bad, name == "budget") })
		}
	}
}

func lettersAreMemory(t *testing.T, limit func(*Config), bad event, budget bool) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Tables[0].OnError, cfg.Tables[0].Letters = false, DeadLetter, Letters{Path: "_dead"}
		cfg.Kafka = append(cfg.Kafka, kgo.FetchMaxBytes(1<<20))
		limit(&cfg)
		p := s.start(cfg)
		for range 100 {
			s.emit(crateTopic, bad)
		}
		time.Sleep(time.Minute)
		require.Greater(t, len(lettersIn(t, store, "_dead")), 60, "long before the interval")
		if budget {
			require.Less(t, p.c.Stats().MemoryPeak, int64(10<<20), "of 16 MiB")
		}
		require.NoError(t, p.end())
		require.Len(t, lettersIn(t, store, "_dead"), 100)
	})
}

// read returns all records of a topic.
func (s *stage) read(topic string) (records []*kgo.Record) {
	s.t.Helper()
	ends, err := s.admin.ListEndOffsets(context.Background(), topic)
	require.NoError(s.t, err)
	left := int64(0)
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	c, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.Dialer(s.network.DialContext), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics())
	require.NoError(s.t, err)
	defer c.Close()
	for int64(len(records)) < left {
		records = append(records, c.PollFetches(context.Background()).Records()...)
	}
	return records
}

// TestHugeRecord is the third bad record of case U35 where it is not bad: 20 MiB are a row, whatever the budget of memory.
func TestHugeRecord(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, "other"), object.NewMem()
		require.NoError(t, s.cluster.CreateTopic(crateTopic, 1, map[string]string{"max.message.bytes": "33554432"}))
		big, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.Dialer(s.network.DialContext), kgo.ProducerBatchMaxBytes(32<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		require.NoError(t, err)
		defer big.Close()
		label := strings.Repeat("0123456789abcdef", 20<<16)
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		require.NoError(t, big.ProduceSync(t.Context(), &kgo.Record{Topic: crateTopic, Key: []byte(keyOf(2)), Value: []byte(envelope("c", nil, row(2, label, 1), 1))}).FirstErr())
		s.emit(crateTopic, event{key: keyOf(3), value: envelope("c", nil, row(3, "x", 1), 2)})
		cfg := s.quickly(store)
		cfg.Memory = 8 << 20
		_, err = s.drain(cfg)
		require.NoError(t, err)
		rows := rowsOf(t, store, "orchard.crate")
		require.Len(t, rows, 3)
		var got crate
		require.NoError(t, json.Unmarshal([]byte(rows[1]), &got))
		require.True(t, *got.Label == label)
	})
}
