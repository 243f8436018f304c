package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"sink/debezium"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is a fake Kafka with a producer.
type broker struct {
	t       *testing.T
	cluster *kfake.Cluster
	addrs   []string
	client  *kgo.Client
	admin   *kadm.Client
}

func newBroker(t *testing.T, partitions int32, topics ...string) *broker {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topics...))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return &broker{t: t, cluster: cluster, addrs: cluster.ListenAddrs(), client: client, admin: kadm.NewClient(client)}
}

// send appends a record; an empty value is a tombstone.
func (b *broker) send(topic string, partition int32, key, value string) {
	b.t.Helper()
	r := &kgo.Record{Topic: topic, Partition: partition}
	if key != "" {
		r.Key = []byte(key)
	}
	if value != "" {
		r.Value = []byte(value)
	}
	require.NoError(b.t, b.client.ProduceSync(context.Background(), r).FirstErr())
}

// group returns the group's committed offsets, -1 where there is none.
func (b *broker) group(group, topic string, partition int32) int64 {
	b.t.Helper()
	offsets, err := b.admin.FetchOffsets(context.Background(), group)
	require.NoError(b.t, err)
	if at, ok := offsets.Lookup(topic, partition); ok {
		return at.At
	}
	return -1
}

const crateTopic = "dock.orchard.crate"

// crate is a row of the cases' table; envelope is an event of it.
type crate struct {
	ID     int64   `json:"id"`
	Label  *string `json:"label"`
	Weight *int64  `json:"weight"`
}

func row(id int64, label string, weight int64) *crate { return &crate{id, &label, &weight} }

func envelope(op string, before, after *crate, offset int64) string {
	e := map[string]any{
		"op": op, "before": before, "after": after, "ts_ms": 1700000000005,
		"source": map[string]any{"connector": "mysql", "name": "dock", "db": "orchard", "table": "crate", "file": "bl.000004", "pos": 1000 + 10*offset, "row": 0, "snapshot": "false", "ts_ms": 1700000000000},
	}
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func keyOf(id int64) string { return fmt.Sprintf(`{"id":%d}`, id) }

// crateTable is the cases' mapping.
func crateTable() Table {
	columns := []table.Field{
		{Name: "id", Type: mustType("BIGINT NOT NULL")}, {Name: "label", Type: mustType("STRING")}, {Name: "weight", Type: mustType("INT")},
	}
	return Table{
		Topics: []string{crateTopic}, Name: "orchard.crate", Columns: columns, Options: map[string]string{"bucket": "2"},
		OnError: Fail, OnMissingBefore: Fail, OnTruncate: Fail, SchemaChange: Evolve,
		Decoding: debezium.Config{Format: debezium.FormatJSON},
	}
}

func mustType(text string) table.Type {
	t, err := table.ParseType(text)
	if err != nil {
		panic(err)
	}
	return t
}

// config is a run over the store to the end of the topics.
func (b *broker) config(store object.Store, tables ...Table) Config {
	log := zerolog.Nop()
	if os.Getenv("SINK_TEST_LOG") != "" {
		log = zerolog.New(zerolog.NewTestWriter(b.t))
	}
	return Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers(b.addrs...)}, Group: "ucase", Protocol: Classic, Start: Earliest, Store: store, Memory: 64 << 20,
		Checkpoint: Checkpoint{Interval: time.Hour, Bytes: 32 << 20, Records: 1 << 20}, Tables: tables, UntilEnd: true, StopWithin: 10 * time.Second, Log: log,
	}
}

// runConnector runs to the end and returns what Run and the counters said.
func runConnector(t *testing.T, cfg Config) (Stats, error) {
	t.Helper()
	c, err := New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = c.Run(ctx)
	require.NoError(t, ctx.Err(), "the run did not end")
	return c.Stats(), err
}

func TestUntilEnd(t *testing.T) {
	b := newBroker(t, 3, crateTopic)
	b.send(crateTopic, 0, keyOf(7), envelope("c", nil, row(7, "fig", 3), 0))
	b.send(crateTopic, 0, keyOf(7), envelope("u", row(7, "fig", 3), row(7, "fig", 4), 1))
	b.send(crateTopic, 1, keyOf(8), envelope("c", nil, row(8, "oat", 1), 0))
	b.send(crateTopic, 1, keyOf(8), envelope("d", row(8, "oat", 1), nil, 1))
	b.send(crateTopic, 1, keyOf(8), "")
	store := object.NewMem()

	stats, err := runConnector(t, b.config(store, crateTable()))
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":7,"label":"fig","weight":4}`}, rowsOf(t, store, "orchard.crate"))
	require.EqualValues(t, 2, b.group("ucase", crateTopic, 0))
	require.EqualValues(t, 3, b.group("ucase", crateTopic, 1))
	require.Equal(t, map[string]int64{"+I": 2, "-U": 1, "+U": 1, "-D": 1}, stats.Tables[0].Rows)
	require.Equal(t, map[string]int64{"tombstone": 1}, stats.Tables[0].Skipped)

	// A second run finds nothing to do, a third goes on.
	_, err = runConnector(t, b.config(store, crateTable()))
	require.NoError(t, err)
	b.send(crateTopic, 2, keyOf(9), envelope("c", nil, row(9, "rye", 2), 0))
	_, err = runConnector(t, b.config(store, crateTable()))
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":7,"label":"fig","weight":4}`, `{"id":9,"label":"rye","weight":2}`}, rowsOf(t, store, "orchard.crate"))
}

func TestPoisonStopsItsTableOnly(t *testing.T) {
	b := newBroker(t, 1, crateTopic, "dock.orchard.barrel")
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send(crateTopic, 0, keyOf(2), strings.Replace(envelope("c", nil, row(2, "fig", 12345), 1), "12345", `"heavy"`, 1))
	b.send(crateTopic, 0, keyOf(3), envelope("c", nil, row(3, "fig", 3), 2))
	b.send("dock.orchard.barrel", 0, keyOf(4), envelope("c", nil, row(4, "oak", 9), 0))
	store := object.NewMem()
	barrel := crateTable()
	barrel.Topics, barrel.Name = []string{"dock.orchard.barrel"}, "orchard.barrel"

	stats, err := runConnector(t, b.config(store, crateTable(), barrel))
	require.ErrorContains(t, err, "orchard.crate")
	require.ErrorContains(t, err, "topic dock.orchard.crate partition 0 offset 1")
	require.Equal(t, Stopped, stats.Tables[1].State)
	require.Equal(t, []string{`{"id":4,"label":"oak","weight":9}`}, rowsOf(t, store, "orchard.barrel"))
	require.LessOrEqual(t, b.group("ucase", crateTopic, 0), int64(1), "offsets never pass an unhandled record")

	for policy, letters := range map[Policy]int{Skip: 0, DeadLetter: 1} {
		t.Run(string(policy), func(t *testing.T) {
			store := object.NewMem()
			crates := crateTable()
			crates.OnError, crates.Letters = policy, Letters{Path: "_dead"}
			cfg := b.config(store, crates)
			cfg.Group = string(policy)
			stats, err := runConnector(t, cfg)
			require.NoError(t, err)
			require.Equal(t, []string{`{"id":1,"label":"fig","weight":3}`, `{"id":3,"label":"fig","weight":3}`}, rowsOf(t, store, "orchard.crate"))
			require.EqualValues(t, letters, stats.Tables[0].DeadLetters)
			found := 0
			for info, err := range store.List(context.Background(), "_dead/") {
				require.NoError(t, err)
				text, err := store.Get(context.Background(), info.Name)
				require.NoError(t, err)
				require.Contains(t, string(text), `"offset":1`)
				found++
			}
			require.Equal(t, letters, found)
			require.EqualValues(t, 3, b.group(string(policy), crateTopic, 0))
		})
	}
}

func TestMissingBefore(t *testing.T) {
	b := newBroker(t, 1, crateTopic)
	b.send(crateTopic, 0, keyOf(8), envelope("u", nil, row(8, "oat", 4), 0))
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, crateTable()))
	require.ErrorContains(t, err, "binlog_row_image = FULL")
	require.ErrorContains(t, err, "topic dock.orchard.crate partition 0 offset 0")

	crates := crateTable()
	crates.OnMissingBefore = Accept
	stats, err := runConnector(t, b.config(store, crates))
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Tables[0].MissingBefore)
	require.Equal(t, []string{`{"id":8,"label":"oat","weight":4}`}, rowsOf(t, store, "orchard.crate"))
}

func TestPattern(t *testing.T) {
	b := newBroker(t, 1, crateTopic, "dock.orchard.barrel", "other")
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send("dock.orchard.barrel", 0, keyOf(4), envelope("c", nil, row(4, "oak", 9), 0))
	b.send("other", 0, keyOf(4), "not ours")
	store := object.NewMem()
	all := crateTable()
	all.Topics, all.Pattern, all.Name = nil, regexp.MustCompile(`dock\.(\w+)\.(\w+)`), "${1}.${2}"
	_, err := runConnector(t, b.config(store, all))
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":4,"label":"oak","weight":9}`}, rowsOf(t, store, "orchard.barrel"))
	require.Equal(t, []string{`{"id":1,"label":"fig","weight":3}`}, rowsOf(t, store, "orchard.crate"))
}

func TestMissingTopic(t *testing.T) {
	b := newBroker(t, 1, "other")
	_, err := runConnector(t, b.config(object.NewMem(), crateTable()))
	require.ErrorContains(t, err, "topic dock.orchard.crate (table orchard.crate): is not there")
}

// rowsOf returns the rows of a table as canonical JSON, by primary key. It reads with the project's own reader, which
// integration/ compares with Paimon's.
func rowsOf(t *testing.T, store object.Store, name string) []string {
	t.Helper()
	database, tableName, _ := strings.Cut(name, ".")
	opened, err := scan.Open(context.Background(), store, table.NewPath(database, tableName))
	require.NoError(t, err)
	plan, err := opened.Plan(context.Background(), scan.At{}, nil)
	require.NoError(t, err)
	options := scan.Options{Ordered: true}
	fields, err := plan.Fields(options)
	require.NoError(t, err)
	var rows []string
	for batch, err := range plan.Rows(context.Background(), options) {
		require.NoError(t, err)
		for i := range batch.Len() {
			rows = append(rows, string(table.AppendCanonicalRow(nil, fields, batch, i)))
		}
	}
	if opened.Schema().Append() {
		slices.Sort(rows)
	}
	return rows
}

// A run that begins at the end keeps its beginning, whether the table has rows yet or not: what came in between two runs
// is not skipped.
func TestLatestIsFixed(t *testing.T) {
	for _, existing := range []bool{false, true} {
		t.Run(fmt.Sprintf("existing=%t", existing), func(t *testing.T) {
			b := newBroker(t, 1, crateTopic)
			store := object.NewMem()
			b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "old", 1), 0))
			cfg := b.config(store, crateTable())
			if existing {
				other := cfg
				other.Group = "other"
				_, err := runConnector(t, other)
				require.NoError(t, err)
			}
			cfg.Start = Latest
			_, err := runConnector(t, cfg)
			require.NoError(t, err)
			b.send(crateTopic, 0, keyOf(2), envelope("c", nil, row(2, "new", 2), 1))
			_, err = runConnector(t, cfg)
			require.NoError(t, err)
			rows := rowsOf(t, store, "orchard.crate")
			if existing {
				rows = rows[1:]
			}
			require.Equal(t, []string{`{"id":2,"label":"new","weight":2}`}, rows)
		})
	}
}

// Records that gave no row make no snapshot, but the group's offset remembers them; a reset by hand is ignored.
func TestGroupOffsets(t *testing.T) {
	b := newBroker(t, 1, crateTopic)
	store := object.NewMem()
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 1), 0))
	_, err := runConnector(t, b.config(store, crateTable()))
	require.NoError(t, err)
	b.send(crateTopic, 0, "", "")
	b.send(crateTopic, 0, "", "")
	cfg := b.config(store, crateTable())
	stats, err := runConnector(t, cfg)
	require.NoError(t, err)
	require.Zero(t, stats.Tables[0].Commits)
	require.EqualValues(t, 3, b.group("ucase", crateTopic, 0))

	stats, err = runConnector(t, cfg)
	require.NoError(t, err)
	require.Zero(t, stats.Tables[0].Records, "the skips are not read again")

	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: crateTopic, Partition: 0, At: 0, LeaderEpoch: -1})
	require.NoError(t, b.admin.CommitAllOffsets(context.Background(), "ucase", offsets))
	b.send(crateTopic, 0, keyOf(2), envelope("c", nil, row(2, "oat", 2), 3))
	_, err = runConnector(t, cfg)
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":1,"label":"fig","weight":1}`, `{"id":2,"label":"oat","weight":2}`}, rowsOf(t, store, "orchard.crate"))
	require.EqualValues(t, 4, b.group("ucase", crateTopic, 0))
}

func TestTopicsThatShareATable(t *testing.T) {
	b := newBroker(t, 1, crateTopic, "dock.orchard.barrel")
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	b.send("dock.orchard.barrel", 0, keyOf(1), envelope("c", nil, row(1, "oak", 9), 0))
	both := crateTable()
	both.Topics = []string{crateTopic, "dock.orchard.barrel"}
	_, err := runConnector(t, b.config(object.NewMem(), both))
	require.ErrorContains(t, err, "table orchard.crate is fed by topic")

	both.Metadata = map[string]debezium.Metadata{"source_topic": debezium.MetadataTopic}
	both.PrimaryKey = []string{"source_topic", "id"}
	store := object.NewMem()
	_, err = runConnector(t, b.config(store, both))
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"id":1,"label":"oak","weight":9,"source_topic":"dock.orchard.barrel"}`,
		`{"id":1,"label":"fig","weight":3,"source_topic":"dock.orchard.crate"}`,
	}, rowsOf(t, store, "orchard.crate"))
}

// U09: a truncate between inserts.
func TestTruncate(t *testing.T) {
	send := func(b *broker) {
		b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "a", 1), 0))
		b.send(crateTopic, 0, keyOf(2), envelope("c", nil, row(2, "b", 2), 1))
		b.send(crateTopic, 0, "", envelope("t", nil, nil, 2))
		b.send(crateTopic, 0, keyOf(3), envelope("c", nil, row(3, "c", 3), 3))
	}
	for policy, want := range map[Policy][]string{
		Apply:  {`{"id":3,"label":"c","weight":3}`},
		Ignore: {`{"id":1,"label":"a","weight":1}`, `{"id":2,"label":"b","weight":2}`, `{"id":3,"label":"c","weight":3}`},
	} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBroker(t, 1, crateTopic)
			send(b)
			crates := crateTable()
			crates.OnTruncate = policy
			store := object.NewMem()
			stats, err := runConnector(t, b.config(store, crates))
			require.NoError(t, err)
			require.Equal(t, want, rowsOf(t, store, "orchard.crate"))
			if policy == Apply {
				require.EqualValues(t, 2, stats.Tables[0].Rows["-D"])
			} else {
				require.EqualValues(t, 1, stats.Tables[0].Skipped["truncate"])
			}
		})
	}
	t.Run("fail", func(t *testing.T) {
		b := newBroker(t, 1, crateTopic)
		send(b)
		store := object.NewMem()
		_, err := runConnector(t, b.config(store, crateTable()))
		require.ErrorContains(t, err, "topic dock.orchard.crate partition 0 offset 2: the source table was truncated; set on-truncate")
		require.LessOrEqual(t, b.group("ucase", crateTopic, 0), int64(2))
	})
	t.Run("several partitions", func(t *testing.T) {
		b := newBroker(t, 2, crateTopic)
		send(b)
		crates := crateTable()
		crates.OnTruncate = Apply
		_, err := runConnector(t, b.config(object.NewMem(), crates))
		require.ErrorContains(t, err, "several partitions")
	})
}

// U05: Debezium sends events again after its own restart. Not dropped: other events at the same position (the delete and
// the create of a changed key), and rows of snapshots.
func TestDeduplicate(t *testing.T) {
	events := []struct {
		key, value string
	}{
		{keyOf(1), envelope("c", nil, row(1, "fig", 1), 0)},
		{keyOf(1), envelope("u", row(1, "fig", 1), row(1, "fig", 2), 1)},
		{keyOf(1), envelope("d", row(1, "fig", 2), nil, 2)},
		{keyOf(1), ""},
		{keyOf(2), envelope("c", nil, row(2, "fig", 2), 2)}, // the same position
		{keyOf(2), envelope("u", row(2, "fig", 2), row(2, "fig", 3), 3)},
	}
	for from := range events {
		for to := from + 1; to <= len(events); to++ {
			if events[from].value == "" {
				continue // a repeat begins with an event
			}
			{
				restart := (from+to)%2 == 0
				b := newBroker(t, 1, crateTopic)
				crates := crateTable()
				crates.Deduplicate = true
				store := object.NewMem()
				for _, e := range events[:to] {
					b.send(crateTopic, 0, e.key, e.value)
				}
				if restart {
					_, err := runConnector(t, b.config(store, crates))
					require.NoError(t, err)
				}
				for _, e := range events[from:] {
					b.send(crateTopic, 0, e.key, e.value)
				}
				stats, err := runConnector(t, b.config(store, crates))
				require.NoError(t, err, "from %d to %d", from, to)
				require.Equal(t, []string{`{"id":2,"label":"fig","weight":3}`}, rowsOf(t, store, "orchard.crate"))
				repeats := int64(0)
				for _, e := range events[from:to] {
					if e.value != "" {
						repeats++
					}
				}
				require.Equal(t, repeats, stats.Tables[0].Skipped["repeated"], "from %d to %d", from, to)
			}
		}
	}
}

// A snapshot that was just made may not be seen at the first look. The group's offset that comes from it is no sign of a rollback then.
func TestSnapshotNotSeenYet(t *testing.T) {
	b, store := newBroker(t, 1, crateTopic), object.NewMem()
	for id := range int64(2) {
		b.send(crateTopic, 0, keyOf(id), envelope("c", nil, row(id, "fig", 1), id))
		_, err := runConnector(t, b.config(store, crateTable()))
		require.NoError(t, err)
	}
	path := pathOf("orchard.crate")
	require.NoError(t, manifest.WriteHint(t.Context(), store, path.Latest(), 1)) // its maker died before the hint
	b.send(crateTopic, 0, keyOf(2), envelope("c", nil, row(2, "fig", 1), 2))
	hidden := object.NewFault(store, object.Rule{Ops: []object.Op{object.OpGet}, Path: path.Snapshot(2), Nth: 1, Err: fs.ErrNotExist})
	_, err := runConnector(t, b.config(hidden, crateTable()))
	require.NoError(t, err)
	require.Len(t, rowsOf(t, store, "orchard.crate"), 3)
}
