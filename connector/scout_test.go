package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/commit"
	"sink/debezium"
	"sink/table/object"
)

// of is an event of another table of the source.
func of(db, name, value string) string {
	value = strings.Replace(value, `"db":"orchard"`, fmt.Sprintf(`"db":%q`, db), 1)
	return strings.Replace(value, `"table":"crate"`, fmt.Sprintf(`"table":%q`, name), 1)
}

// bySource maps all tables of the source, in whatever topic they come.
func bySource(expression, name string) Table {
	t := crateTable()
	t.Topics, t.Source, t.Name = nil, anchored(expression), name
	t.Options["file.compression"] = "none"
	return t
}

// tables returns the names of the tables in a store.
func tablesIn(t *testing.T, store object.Store) []string {
	found := map[string]bool{}
	for info, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		if database, rest, ok := strings.Cut(info.Name, ".db/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			found[database+"."+name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func statsOf(t *testing.T, stats Stats, name string) TableStats {
	t.Helper()
	i := slices.IndexFunc(stats.Tables, func(s TableStats) bool { return s.Table == name })
	require.GreaterOrEqual(t, i, 0, "no table %s", name)
	return stats.Tables[i]
}

// One topic carries several tables, one table comes in several topics, and names that are equal but for the database
// stay apart.
func TestSources(t *testing.T) {
	b := newBroker(t, 2, "all", "more", "foreign", "sink.dead")
	b.send("all", 0, keyOf(1), of("orchard", "crate", envelope("c", nil, row(1, "fig", 3), 0)))
	b.send("all", 0, keyOf(1), of("orchard", "barrel", envelope("c", nil, row(1, "oak", 9), 1)))
	b.send("all", 0, keyOf(1), of("orchard", "barrel", envelope("d", row(1, "oak", 9), nil, 2)))
	b.send("all", 0, keyOf(1), "")
	b.send("all", 1, keyOf(2), of("harbour", "crate", envelope("c", nil, row(2, "ore", 5), 3)))
	b.send("all", 1, keyOf(5), of("orchard", "_crate_gho", envelope("c", nil, row(5, "gho", 5), 4)))
	b.send("all", 1, keyOf(5), of("orchard", "debezium_signal", envelope("c", nil, row(5, "sig", 5), 4)))
	b.send("all", 1, keyOf(5), of("orchard", "audit_log", envelope("c", nil, row(5, "aud", 5), 4)))
	b.send("all", 1, keyOf(6), of("elsewhere", "crate", envelope("c", nil, row(6, "else", 5), 4)))
	b.send("all", 1, `{"serverName":"dock"}`, `{"ts_ms":1}`)
	b.send("more", 0, keyOf(7), of("orchard", "tree", envelope("c", nil, row(7, "elm", 7), 5)))
	b.send("foreign", 0, "k", `[1,2`)
	b.send("foreign", 0, "k", `{"some":"thing"}`)
	b.send("sink.dead", 0, "k", of("orchard", "crate", envelope("c", nil, row(9, "dead", 3), 0)))
	store := object.NewMem()
	mapping := bySource(`(orchard|harbour)\..*`, "${db}.${table}_v1")
	mapping.Except, mapping.Letters = []*regexp.Regexp{anchored(`orchard\.audit_.*`)}, Letters{Topic: "sink.dead"}

	stats, err := runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{"harbour.crate_v1", "orchard.barrel_v1", "orchard.crate_v1", "orchard.tree_v1"}, tablesIn(t, store))
	require.Equal(t, []string{line("", 1, "fig", 3)}, rowsOf(t, store, "orchard.crate_v1"))
	require.Equal(t, []string{line("", 2, "ore", 5)}, rowsOf(t, store, "harbour.crate_v1"))
	require.Equal(t, []string{line("", 7, "elm", 7)}, rowsOf(t, store, "orchard.tree_v1"))
	require.Empty(t, rowsOf(t, store, "orchard.barrel_v1"))
	scout := statsOf(t, stats, "{db}.{table}_v1 (routes)")
	require.True(t, scout.Routes)
	require.Equal(t, map[string]int64{ghost: 1, signal: 1, excluded: 1, "heartbeat": 1, notWanted: 3}, scout.Skipped)
	require.Equal(t, map[string]int64{"tombstone": 1}, statsOf(t, stats, "orchard.barrel_v1").Skipped)
	for topic, offsets := range map[string][]int64{"all": {4, 6}, "more": {1}, "foreign": {2}} {
		for p, want := range offsets {
			require.Equal(t, want, b.group("ucase", topic, int32(p)), topic)
		}
	}

	// A second run reads nothing again.
	stats, err = runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Zero(t, statsOf(t, stats, "{db}.{table}_v1 (routes)").Records)

	// A table that is found later, and one that goes on.
	b.send("all", 0, keyOf(3), of("orchard", "leaf", envelope("c", nil, row(3, "new", 1), 6)))
	b.send("all", 0, keyOf(1), of("orchard", "crate", envelope("u", row(1, "fig", 3), row(1, "fig", 4), 7)))
	_, err = runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{line("", 3, "new", 1)}, rowsOf(t, store, "orchard.leaf_v1"))
	require.Equal(t, []string{line("", 1, "fig", 4)}, rowsOf(t, store, "orchard.crate_v1"))
}

// What no mapping wants stops the mapping, if asked to; the tables have what came before.
func TestUnrouted(t *testing.T) {
	b := newBroker(t, 1, "all")
	b.send("all", 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send("all", 0, keyOf(2), of("elsewhere", "crate", envelope("c", nil, row(2, "fig", 3), 1)))
	b.send("all", 0, keyOf(3), envelope("c", nil, row(3, "fig", 3), 2))
	mapping := bySource(`orchard\..*`, "lake.${table}")
	mapping.Topics, mapping.OnUnrouted = []string{"all"}, Fail
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, mapping))
	require.ErrorContains(t, err, "topic all partition 0 offset 1: no mapping takes the events of elsewhere.crate; add a mapping, name it under `exclude:`, or set on-unrouted to skip")
	require.Equal(t, []string{line("", 1, "fig", 3)}, rowsOf(t, store, "lake.crate"))
	require.EqualValues(t, 1, b.group("ucase", "all", 0))

	// With a mapping that takes them, all is well, and all of the log is theirs.
	other := bySource(`elsewhere\..*`, "other.${table}")
	other.Topics, other.OnUnrouted = []string{"all"}, Fail
	stats, err := runConnector(t, b.config(store, mapping, other))
	require.NoError(t, err)
	require.Equal(t, []string{line("", 1, "fig", 3), line("", 3, "fig", 3)}, rowsOf(t, store, "lake.crate"))
	require.Equal(t, []string{line("", 2, "fig", 3)}, rowsOf(t, store, "other.crate"))
	require.Empty(t, statsOf(t, stats, "lake.{table} (routes)").Skipped)
	require.EqualValues(t, 3, b.group("ucase", "all", 0))
}

// A record that cannot be read stops the mapping whose topic it is in, and on-error is asked.
func TestScoutBadRecord(t *testing.T) {
	b := newBroker(t, 1, "all")
	b.send("all", 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send("all", 0, keyOf(2), "{")
	b.send("all", 0, keyOf(3), envelope("c", nil, row(3, "fig", 3), 2))
	for policy, want := range map[Policy][]string{Fail: {line("", 1, "fig", 3)}, Skip: {line("", 1, "fig", 3), line("", 3, "fig", 3)}, DeadLetter: {line("", 1, "fig", 3), line("", 3, "fig", 3)}} {
		t.Run(string(policy), func(t *testing.T) {
			mapping := bySource(`orchard\..*`, "lake.${table}") // any topic, and this one has turned out to be ours
			mapping.OnError, mapping.Letters = policy, Letters{Path: "_dead"}
			store := object.NewMem()
			cfg := b.config(store, mapping)
			cfg.Group = string(policy)
			stats, err := runConnector(t, cfg)
			scout := statsOf(t, stats, "lake.{table} (routes)")
			if policy == Fail {
				require.ErrorContains(t, err, "topic all")
				require.ErrorContains(t, err, "offset 1")
				require.EqualValues(t, 1, b.group(cfg.Group, "all", 0))
			} else {
				require.NoError(t, err)
				require.EqualValues(t, 3, b.group(cfg.Group, "all", 0))
			}
			require.Equal(t, want, rowsOf(t, store, "lake.crate"))
			if policy == DeadLetter {
				require.EqualValues(t, 1, scout.DeadLetters)
				require.Equal(t, []string{"0/1"}, lettersIn(t, store, "_dead"))
			}
		})
	}
}

// A table that stops does not hold up the others, and the group's offset waits for it.
func TestStoppedTableOfAScout(t *testing.T) {
	b := newBroker(t, 1, "all")
	b.send("all", 0, keyOf(1), of("orchard", "crate", envelope("c", nil, row(1, "fig", 3), 0)))
	b.send("all", 0, keyOf(1), of("orchard", "barrel", strings.Replace(envelope("c", nil, row(1, "oak", 12345), 1), "12345", `"heavy"`, 1)))
	b.send("all", 0, keyOf(2), of("orchard", "crate", envelope("c", nil, row(2, "fig", 3), 2)))
	b.send("all", 0, keyOf(2), of("orchard", "barrel", envelope("c", nil, row(2, "oak", 3), 3)))
	mapping := bySource(`orchard\..*`, "lake.${table}")
	mapping.Topics = []string{"all"}
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, mapping))
	require.ErrorContains(t, err, "table lake.barrel: topic all partition 0 offset 1")
	require.Equal(t, []string{line("", 1, "fig", 3), line("", 2, "fig", 3)}, rowsOf(t, store, "lake.crate"))
	require.LessOrEqual(t, b.group("ucase", "all", 0), int64(1))

	mapping.OnError = Skip
	_, err = runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{line("", 2, "oak", 3)}, rowsOf(t, store, "lake.barrel"))
	require.Equal(t, []string{line("", 1, "fig", 3), line("", 2, "fig", 3)}, rowsOf(t, store, "lake.crate"))
	require.EqualValues(t, 4, b.group("ucase", "all", 0))
}

// Two sources never become one table by accident, not even when the other one comes after a restart.
func TestSourcesThatWouldMeet(t *testing.T) {
	crates := of("orchard", "crate", envelope("c", nil, row(1, "fig", 3), 0))
	others := of("harbour", "crate", envelope("c", nil, row(1, "ore", 5), 1))
	const want = "table lake.crate is made of orchard.crate and now of harbour.crate"
	for name, mapping := range map[string]Table{"by source": bySource(`.*`, "lake.${table}"), "folded": bySource(`.*`, "LAKE.${table}"), "by topic": {}} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart=%t", name, restart), func(t *testing.T) {
				b := newBroker(t, 1, "all")
				mapping.Topics = []string{"all"}
				switch name {
				case "folded":
					mapping.NameCase = LowerCase
				case "by topic":
					mapping = crateTable()
					mapping.Topics, mapping.Name = []string{"all"}, "lake.crate"
				}
				store := object.NewMem()
				b.send("all", 0, keyOf(1), crates)
				if restart {
					_, err := runConnector(t, b.config(store, mapping))
					require.NoError(t, err)
				}
				b.send("all", 0, keyOf(1), others)
				_, err := runConnector(t, b.config(store, mapping))
				require.ErrorContains(t, err, want)

				shards := mapping // with the database in the key they are one table
				shards.PrimaryKey, shards.Metadata = []string{"shard", "id"}, map[string]debezium.Metadata{"shard": debezium.MetadataSourceDB}
				store = object.NewMem()
				cfg := b.config(store, shards)
				cfg.Group = "shards"
				_, err = runConnector(t, cfg)
				require.NoError(t, err)
				require.Equal(t, []string{
					`{"id":1,"label":"ore","weight":5,"shard":"harbour"}`, `{"id":1,"label":"fig","weight":3,"shard":"orchard"}`,
				}, rowsOf(t, store, "lake.crate"))
			})
		}
	}
}

func TestMappingsThatWouldMeet(t *testing.T) {
	b := newBroker(t, 1, "all", crateTopic)
	b.send("all", 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	source := bySource(`.*`, "orchard.${table}")
	source.Topics = []string{"all"}
	_, err := runConnector(t, b.config(object.NewMem(), crateTable(), source))
	require.ErrorContains(t, err, "table orchard.crate is the target of two mappings, orchard.crate and orchard.${table}")

	pattern := crateTable()
	pattern.Topics, pattern.Pattern, pattern.Name = nil, anchored(`all`), "orchard.crate"
	_, err = runConnector(t, b.config(object.NewMem(), crateTable(), pattern))
	require.ErrorContains(t, err, "is the target of two mappings")
}

// Another rule of routing, or a group's offset that is not ours, says nothing of what a table has: the log is read again.
func TestScoutBeginsAgain(t *testing.T) {
	b := newBroker(t, 1, "all")
	b.send("all", 0, keyOf(1), of("orchard", "crate", envelope("c", nil, row(1, "fig", 3), 0)))
	b.send("all", 0, keyOf(1), of("orchard", "barrel", envelope("c", nil, row(1, "oak", 9), 1)))
	b.send("all", 0, keyOf(2), of("orchard", "crate", envelope("c", nil, row(2, "fig", 3), 2)))
	mapping := bySource(`orchard\.crate`, "lake.${table}")
	mapping.Topics = []string{"all"}
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{"lake.crate"}, tablesIn(t, store))

	mapping.Source = anchored(`orchard\..*`)
	stats, err := runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{line("", 1, "oak", 9)}, rowsOf(t, store, "lake.barrel"))
	require.Zero(t, statsOf(t, stats, "lake.crate").Rows["+I"], "it drops what it has")

	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "all", Partition: 0, At: 3, LeaderEpoch: -1})
	require.NoError(t, b.admin.CommitAllOffsets(context.Background(), "ucase", offsets)) // by hand
	b.send("all", 0, keyOf(3), of("orchard", "crate", envelope("c", nil, row(3, "fig", 3), 3)))
	stats, err = runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.EqualValues(t, 4, statsOf(t, stats, "lake.{table} (routes)").Records)
	require.Equal(t, []string{line("", 1, "fig", 3), line("", 2, "fig", 3), line("", 3, "fig", 3)}, rowsOf(t, store, "lake.crate"))
	require.EqualValues(t, 4, b.group("ucase", "all", 0))

	// A table that was dropped is made anew from the start of the log.
	for info, err := range store.List(t.Context(), "lake.db/crate/") {
		require.NoError(t, err)
		require.NoError(t, store.Delete(t.Context(), info.Name))
	}
	_, err = runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{line("", 1, "fig", 3), line("", 2, "fig", 3), line("", 3, "fig", 3)}, rowsOf(t, store, "lake.crate"))
}

// `start: latest` is where tables begin that have no snapshot; those that have one miss nothing.
func TestScoutLatest(t *testing.T) {
	b := newBroker(t, 1, "all")
	b.send("all", 0, keyOf(1), of("orchard", "crate", envelope("c", nil, row(1, "old", 3), 0)))
	mapping := bySource(`.*`, "lake.${table}")
	mapping.Topics = []string{"all"}
	store := object.NewMem()
	cfg := b.config(store, mapping)
	cfg.Start = Latest
	_, err := runConnector(t, cfg)
	require.NoError(t, err)
	require.Empty(t, tablesIn(t, store))
	require.EqualValues(t, 1, b.group("ucase", "all", 0))
	b.send("all", 0, keyOf(2), of("orchard", "crate", envelope("c", nil, row(2, "new", 3), 1)))
	_, err = runConnector(t, cfg)
	require.NoError(t, err)
	require.Equal(t, []string{line("", 2, "new", 3)}, rowsOf(t, store, "lake.crate"))

	b.send("all", 0, keyOf(3), of("orchard", "crate", envelope("c", nil, row(3, "newer", 3), 2)))
	_, err = b.admin.DeleteGroups(context.Background(), "ucase")
	require.NoError(t, err)
	_, err = runConnector(t, cfg)
	require.NoError(t, err)
	require.Equal(t, []string{line("", 2, "new", 3), line("", 3, "newer", 3)}, rowsOf(t, store, "lake.crate"))
}

// Case U32: topics of an online schema change appear; they make no table and nothing waits for them.
func TestGhostTopics(t *testing.T) {
	topics := []string{crateTopic}
	for _, name := range []string{"_crate_new", "_crate_gho", "_crate_ghc", "_crate_old"} {
		topics = append(topics, "dock.orchard."+name)
	}
	b := newBroker(t, 1, topics...)
	for _, topic := range topics {
		b.send(topic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	}
	mapping := crateTable()
	mapping.Topics, mapping.Pattern, mapping.Name = nil, anchored(`dock\.orchard\.(.*)`), "lake.${1}"
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, mapping))
	require.NoError(t, err)
	require.Equal(t, []string{"lake.crate"}, tablesIn(t, store))
}

// New topics are picked up while running.
func TestScoutNewTopic(t *testing.T) {
	b := newBroker(t, 1, "dock.orchard.crate")
	b.send("dock.orchard.crate", 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	store := object.NewMem()
	cfg := b.config(store, bySource(`orchard\..*`, "lake.${table}"))
	cfg.UntilEnd, cfg.Checkpoint.Interval = false, 50*time.Millisecond
	cfg.Kafka = append(cfg.Kafka, kgo.MetadataMinAge(50*time.Millisecond), kgo.MetadataMaxAge(200*time.Millisecond))
	sent := false
	err := runWhile(t, cfg, func() bool {
		if !sent {
			_, err := b.admin.CreateTopic(context.Background(), 1, 1, nil, "dock.orchard.barrel")
			require.NoError(t, err)
			b.send("dock.orchard.barrel", 0, keyOf(4), of("orchard", "barrel", envelope("c", nil, row(4, "oak", 9), 0)))
			sent = true
		}
		return b.group("ucase", "dock.orchard.barrel", 0) == 1 && b.group("ucase", "dock.orchard.crate", 0) == 1
	})
	require.NoError(t, err)
	require.Equal(t, []string{line("", 4, "oak", 9)}, rowsOf(t, store, "lake.barrel"))
	require.Equal(t, []string{line("", 1, "fig", 3)}, rowsOf(t, store, "lake.crate"))
}

// A topic whose cleaner removes changes is refused for the table that comes from it, not for all the others.
func TestScoutCompacted(t *testing.T) {
	b := newBroker(t, 1, "all")
	compact := "compact"
	_, err := b.admin.CreateTopic(context.Background(), 1, 1, map[string]*string{"cleanup.policy": &compact}, "small")
	require.NoError(t, err)
	b.send("all", 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send("small", 0, keyOf(1), of("orchard", "barrel", envelope("c", nil, row(1, "oak", 3), 0)))
	store := object.NewMem()
	_, err = runConnector(t, b.config(store, bySource(`.*`, "lake.${table}")))
	require.ErrorContains(t, err, "table lake.barrel: topic small has cleanup.policy=compact")
	require.Equal(t, []string{line("", 1, "fig", 3)}, rowsOf(t, store, "lake.crate"))
}

// world is a random history of several tables of the source in one topic of some partitions.
type world struct {
	names      []string
	partitions int64
	events     []event
	changes    map[string][]string
}

func newWorld(t *testing.T, partitions, count int64) *world {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{names: []string{"crate", "barrel", "tree"}, partitions: partitions, changes: map[string][]string{}}
	type rowKey struct {
		name string
		id   int64
	}
	held := map[rowKey]*crate{}
	for i := range count {
		k := rowKey{w.names[random.IntN(len(w.names))], random.Int64N(4 * partitions / 2)}
		before, after, op := held[k], row(k.id, k.name, i), "u"
		add := func(kind string, c *crate) {
			w.changes[k.name] = append(w.changes[k.name], line(kind, c.ID, *c.Label, *c.Weight))
		}
		switch {
		case before == nil:
			op = "c"
			add("+I", after)
		case random.IntN(3) == 0:
			op, after = "d", nil
			add("-D", before)
		default:
			add("-U", before)
			add("+U", after)
		}
		held[k] = after
		partition := int32(k.id % partitions)
		w.events = append(w.events, event{partition: partition, key: keyOf(k.id), value: of("orchard", k.name, envelope(op, before, after, i))})
		if op == "d" {
			w.events = append(w.events, event{partition: partition, key: keyOf(k.id)})
		}
	}
	return w
}

// judge compares each table's rows and changelog with the history, and the group's offsets with the ends.
func (w *world) judge(t *testing.T, s *stage, store object.Store, group string) {
	t.Helper()
	for _, name := range w.names {
		if w.changes[name] == nil {
			continue
		}
		rows := rowsOf(t, store, "lake."+name)
		key, have := changesOf(t, store, "lake."+name)
		require.Equal(t, byKey(t, key, w.changes[name]), byKey(t, key, have), name)
		requireFold(t, key, have, rows)
	}
	ends := make([]int64, w.partitions)
	for _, e := range w.events {
		ends[e.partition]++
	}
	for p, end := range ends {
		if end > 0 {
			require.Equal(t, end, s.group(group, "all", int32(p)), "partition %d", p)
		}
	}
}

func sharedTopic() Table {
	m := bySource(`.*`, "lake.${table}")
	m.Topics = []string{"all"}
	return m
}

// Kill the process after each step, with several tables on two partitions: each table's rows and changelog are those of a
// run without a crash.
func TestScoutKilled(t *testing.T) {
	w := newWorld(t, 2, 24)
	onStage(t, func(t *testing.T) {
		s := newStage(t, 2, "all")
		for _, e := range w.events {
			s.emit("all", e)
		}
		for _, rule := range killings {
			for fired := true; fired; {
				rule.Nth += 7
				store := object.NewMem()
				cfg := s.config(store, sharedTopic())
				cfg.Group = fmt.Sprintf("%s %d", rule.Effect, rule.Nth)
				fired = s.untilKilled(store, cfg, rule)
				p := s.start(cfg)
				<-p.ended
				t.Logf("%s call %d: %t", rule.Effect, rule.Nth, fired)
				require.NoError(t, p.err)
				w.judge(t, s, store, cfg.Group)
			}
		}
	})
}

// A table that gives up what it has, now and then and with rows in its buffers, is fed again; the others are not disturbed.
func TestScoutFeedsAgain(t *testing.T) {
	w := newWorld(t, 2, 60)
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, "all"), object.NewMem()
		cfg := s.config(store, sharedTopic())
		cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Checkpoint.Interval = false, 7, 300*time.Millisecond
		p := s.start(cfg)
		for i, e := range w.events {
			s.emit("all", e)
			time.Sleep(20 * time.Millisecond)
			if i%5 == 0 {
				for _, w := range p.c.allWorkers() {
					if w.feeder != nil {
						require.NoError(t, w.do(t.Context(), func(ctx context.Context) { w.restart(ctx) }))
					}
				}
			}
		}
		for p.running() && !s.caughtUp(cfg.Group, []string{"all"}) {
			time.Sleep(50 * time.Millisecond)
		}
		require.NoError(t, p.end())
		w.judge(t, s, store, cfg.Group)
	})
}

// Instances come, go and give up in the middle while the topic is written. In real time: a member that waits to commit while
// others join holds virtual time up.
func TestScoutInstances(t *testing.T) {
	w := newWorld(t, 4, 80)
	b, store := newBroker(t, 4, "all"), object.NewMem()
	cfg := b.config(store, sharedTopic())
	cfg.UntilEnd, cfg.Checkpoint.Records, cfg.Checkpoint.Interval = false, 3, 50*time.Millisecond
	cfg.Kafka = append(cfg.Kafka, kgo.HeartbeatInterval(50*time.Millisecond))
	type instance struct {
		c    *Connector
		stop context.CancelFunc
		done chan error
	}
	start := func() *instance {
		c, err := New(cfg)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		i := &instance{c, stop, make(chan error, 1)}
		go func() { i.done <- c.Run(ctx) }()
		return i
	}
	running := []*instance{start()}
	for i, e := range w.events {
		b.send("all", e.partition, e.key, e.value)
		time.Sleep(10 * time.Millisecond)
		switch {
		case i%20 == 5:
			running = append(running, start())
		case i%40 == 12: // all that it holds is dropped
			running[0].c.endLife(errors.New("killed"))
			running[0].stop()
			<-running[0].done
			running = append(running[1:], start())
		case i%20 == 18:
			running[0].stop()
			require.NoError(t, <-running[0].done)
			running = append(running[1:], start())
		}
	}
	s := &stage{broker: b}
	require.Eventually(t, func() bool { return s.caughtUp(cfg.Group, []string{"all"}) }, 20*time.Second, 20*time.Millisecond)
	for _, i := range running {
		i.stop()
		require.NoError(t, <-i.done)
	}
	w.judge(t, s, store, cfg.Group)
}

// Marks that are too many for an offset's metadata are left out, rules of routing last.
func TestMetadataOfManyTables(t *testing.T) {
	var marks []commit.Mark
	for i := range 500 {
		marks = append(marks, commit.Mark{Table: fmt.Sprintf("lake.t%d", i), Snapshot: int64(i), UUID: strings.Repeat("u", 36)})
	}
	require.Equal(t, "sink/1", metadataOf(slices.Clone(marks)))
	text := metadataOf(append(marks, commit.Mark{Table: routeMark + "abc", UUID: "0"}))
	require.Contains(t, text, "route%3Aabc=0:0")
	require.Greater(t, strings.Count(text, "lake.t"), 40)
}
