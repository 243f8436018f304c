//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Small inputs that have made other sinks fail, each with the right table and the right changelog. Each is run with all
// its events in one checkpoint and with one event per checkpoint: what is read must be the same.

// checkpoints are the two ways.
var checkpoints = map[string]config{
	"one checkpoint":   {"checkpoint": config{"interval": "1h"}},
	"many checkpoints": {"checkpoint": config{"interval": "1h", "records": 1}},
}

// cratePartitions is how many partitions a topic of crates has.
const cratePartitions = 3

// crateCase runs records of a topic of crates through both ways and looks at the result. The topic is what the function
// that makes the records gets.
func crateCase(t *testing.T, mapping config, records func(topic string) []record, look func(t *testing.T, x target, rows []string, changes []change)) {
	t.Helper()
	for name, checkpoint := range checkpoints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := slug(t)
			createTopic(t, topic, cratePartitions)
			produce(t, records(topic))
			l := newLake(t, disk)
			m := table(topic, "orchard.crate", config{"options": config{"bucket": "2"}}, mapping)
			catchUp(t, newConfig(l, slug(t), m).with(checkpoint))
			x := l.table("orchard.crate")
			rows := x.agreed(t)
			changes := x.changes(t)
			requireFold(t, changes, []string{"id"}, rows)
			require.Equal(t, map[string]map[int32]int64{topic: endOffsets(t, topic)}, x.latest(t).covered(t))
			look(t, x, rows, changes)
		})
	}
}

// history are the changes of one key, as text: "+I label 3".
func history(t testing.TB, changes []change, id int64) []string {
	t.Helper()
	var all []string
	for _, c := range changes {
		var row struct {
			ID     int64
			Label  *string
			Weight *int
		}
		require.NoError(t, json.Unmarshal(c.Row, &row))
		if row.ID != id {
			continue
		}
		text := c.Kind
		if row.Label != nil {
			text += " " + *row.Label
		}
		if row.Weight != nil {
			text += fmt.Sprint(" ", *row.Weight)
		}
		all = append(all, text)
	}
	return all
}

// TestKeyChange: a changed key arrives as delete and create in two partitions (U01).
func TestKeyChange(t *testing.T) {
	c := crate{}
	crateCase(t, nil, func(topic string) []record {
		old := c.event(topic, 0, 7, "d", image(7, "fig", 3), "null")
		old.Headers = []header{{"__debezium.newkey", ref(`{"id":70}`)}}
		moved := c.create(topic, 2, 70, "fig", 4)
		moved.Headers = []header{{"__debezium.oldkey", ref(`{"id":7}`)}}
		return []record{c.create(topic, 0, 7, "fig", 3), old, c.tombstone(topic, 0, 7), moved}
	}, func(t *testing.T, x target, rows []string, changes []change) {
		require.Equal(t, []string{`{"id":70,"label":"fig","weight":4}`}, rows)
		require.Equal(t, []string{"+I fig 3", "-D fig 3"}, history(t, changes, 7))
		require.Equal(t, []string{"+I fig 4"}, history(t, changes, 70))
		x.fsck(t)
	})
}

// TestKeyChangeOneUpdate: a changed key arrives as one update, in a topic with one partition; with more it is refused,
// since the two keys' changes have no order (U01).
func TestKeyChangeOneUpdate(t *testing.T) {
	c := crate{}
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			topic := slug(t)
			createTopic(t, topic, partitions)
			produce(t, []record{c.create(topic, 0, 7, "fig", 3), c.event(topic, 0, 70, "u", image(7, "fig", 3), image(70, "fig", 4))})
			l := newLake(t, disk)
			sinkYAML := newConfig(l, slug(t), table(topic, "orchard.crate", config{"options": config{"bucket": "2"}}))
			if partitions > 1 {
				code, said := refused(t, environment(), "run", "-c", sinkYAML.write(t), "--until-end")
				require.Equal(t, 1, code)
				says(t, said, topic, "partition 0", "offset 1")
				return
			}
			catchUp(t, sinkYAML)
			x := l.table("orchard.crate")
			require.Equal(t, []string{`{"id":70,"label":"fig","weight":4}`}, x.agreed(t))
			changes := x.changes(t)
			require.Equal(t, []string{"+I fig 3", "-D fig 3"}, history(t, changes, 7))
			require.Equal(t, []string{"+I fig 4"}, history(t, changes, 70), "never -U and +U in two buckets")
			x.fsck(t)
		})
	}
}

// TestOrder: arrival decides, not the clock, nor positions as text or number (U03).
func TestOrder(t *testing.T) {
	sources := map[string][]string{
		"same time":          {`"pos":1`, `"pos":1`, `"pos":1`},
		"binlog rolls":       {`"file":"bl.000009","pos":998877`, `"file":"bl.000010","pos":4`, `"file":"bl.000010","pos":5`},
		"binlog grows":       {`"file":"bl.999999","pos":9`, `"file":"bl.1000000","pos":4`, `"file":"bl.1000000","pos":5`},
		"one lsn":            {`"lsn":881234,"sequence":"[\"1\",\"881234\"]"`, `"lsn":881234,"sequence":"[\"2\",\"881234\"]"`, `"lsn":881234,"sequence":"[\"3\",\"881234\"]"`},
		"lsn goes backwards": {`"lsn":900`, `"lsn":800`, `"lsn":700`},
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			crateCase(t, nil, func(topic string) []record {
				at := func(i int) crate { return crate{source: source[i], at: 1700000009000 - int64(i)} }
				return []record{
					at(0).create(topic, 1, 1, "fig", 1),
					at(1).event(topic, 1, 1, "u", image(1, "fig", 1), image(1, "fig", 2)),
					at(2).event(topic, 1, 1, "u", image(1, "fig", 2), image(1, "fig", 3)),
				}
			}, func(t *testing.T, x target, rows []string, changes []change) {
				require.Equal(t, []string{`{"id":1,"label":"fig","weight":3}`}, rows)
				require.Equal(t, []string{"+I fig 1", "-U fig 1", "+U fig 2", "-U fig 2", "+U fig 3"}, history(t, changes, 1))
				x.fsck(t)
			})
		})
	}
}

// TestPoorDeletes: tombstones alone, deletes that show only the key or nothing, and a record of nothing (U06).
func TestPoorDeletes(t *testing.T) {
	c := crate{}
	crateCase(t, config{"on-missing-before": "accept"}, func(topic string) []record {
		return []record{
			c.tombstone(topic, 0, 5),
			c.create(topic, 0, 5, "pear", 1),
			c.event(topic, 0, 5, "d", `{"id":5,"label":null,"weight":null}`, "null"),
			c.tombstone(topic, 0, 5),
			c.event(topic, 0, 6, "d", "null", "null"),
			keyed(topic, 0, "", ""),
		}
	}, func(t *testing.T, x target, rows []string, changes []change) {
		require.Empty(t, rows)
		five := history(t, changes, 5)
		require.Contains(t, five, "+I pear 1")
		require.Equal(t, "-D", five[len(five)-1], "what is not known is NULL, never made up: %v", five)
		for _, text := range history(t, changes, 6) {
			require.Equal(t, "-D", text)
		}
		x.fsck(t, "--replay", "all")
	})
}

// TestTombstoneAfterRestart: a stop right between a delete and its tombstone does not make the tombstone one alone.
func TestTombstoneAfterRestart(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	c := crate{}
	l := newLake(t, disk)
	sinkYAML := newConfig(l, slug(t), table(topic, "orchard.crate", config{"options": config{"bucket": "2"}}))
	produce(t, []record{c.create(topic, 0, 1, "fig", 3), c.event(topic, 0, 1, "d", image(1, "fig", 3), "null")})
	catchUp(t, sinkYAML)
	produce(t, []record{c.tombstone(topic, 0, 1), c.create(topic, 0, 2, "oat", 1)})
	catchUp(t, sinkYAML)
	x := l.table("orchard.crate")
	require.Equal(t, []string{`{"id":2,"label":"oat","weight":1}`}, x.agreed(t))
	require.Equal(t, []string{"+I fig 3", "-D fig 3"}, history(t, x.changes(t), 1))
	x.fsck(t)
}

// TestManyChangesOfOneKey: the changelog keeps every step, the data the last (U10). Buffers spill on the way.
func TestManyChangesOfOneKey(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	c := crate{schemaless: true}
	steps := []record{
		c.create(topic, 0, 1, "a", 1),
		c.event(topic, 0, 1, "u", image(1, "a", 1), image(1, "a", 2)),
		c.event(topic, 0, 1, "u", image(1, "a", 2), image(1, "a", 3)),
		c.event(topic, 0, 1, "d", image(1, "a", 3), "null"),
		c.tombstone(topic, 0, 1),
		c.create(topic, 0, 1, "a", 4),
		c.event(topic, 0, 1, "u", image(1, "a", 4), image(1, "a", 5)),
	}
	label := strings.Repeat("wide ", 400)
	var records []record
	id := int64(100)
	for _, step := range steps {
		records = append(records, step)
		if strings.Contains(deref(step.Value), `"op":"d"`) {
			continue // its tombstone comes next
		}
		for range 10000 / len(steps) {
			records = append(records, c.create(topic, 0, id, label+fmt.Sprint(id), int(id)))
			id++
		}
	}
	produce(t, records)
	l := newLake(t, disk)
	server := newServer(t)
	path := newConfig(l, slug(t), table(topic, "orchard.crate", crateColumns)).with(config{
		"memory": "16MiB", "checkpoint": config{"interval": "1h", "bytes": "16MiB"}, "http": server.address,
	}).write(t)
	p := start(t, "run", "-c", path)
	until(t, time.Minute, func() bool {
		return server.metric("sink_records_total", "table", "orchard.crate") >= float64(len(records))
	}, "all is read")
	spills := server.metric("sink_spills_total", "table", "orchard.crate")
	x := l.table("orchard.crate")
	early := len(x.snapshots(t))
	p.terminate(t)
	require.Zero(t, p.wait(t, waitLong))
	t.Logf("%v spills, %d snapshots before the end", spills, early)
	require.Positive(t, spills+float64(early), "memory was never full")
	changes := x.changes(t)
	require.Equal(t, []string{"+I a 1", "-U a 1", "+U a 2", "-U a 2", "+U a 3", "-D a 3", "+I a 4", "-U a 4", "+U a 5"}, history(t, changes, 1))
	rows := x.agreed(t)
	require.Equal(t, `{"id":1,"label":"a","weight":5}`, rows[0])
	require.Len(t, rows, int(id-100)+1)
	x.fsck(t)
}

// TestOffsetGone: the wanted offset was deleted, which stops the table; a forgotten group does not matter (U24).
func TestOffsetGone(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	c := crate{schemaless: true}
	fill := func(from, to int64) {
		var records []record
		for id := from; id < to; id++ {
			records = append(records, c.create(topic, 0, id, "x", 1))
		}
		produce(t, records)
	}
	l := newLake(t, disk)
	x := l.table("orchard.crate")
	sinkYAML := newConfig(l, slug(t), table(topic, "orchard.crate", crateColumns))
	fill(0, 100)
	catchUp(t, sinkYAML)

	deleteGroup(t, slug(t))
	fill(100, 150)
	catchUp(t, sinkYAML)
	require.Len(t, x.agreed(t), 150)
	require.Equal(t, map[string]int{"+I": 150}, kinds(x.changes(t)), "a row came twice after the group was forgotten")

	fill(150, 400)
	deleteBefore(t, topic, 0, 250)
	code, said := refused(t, environment(), "run", "-c", sinkYAML.write(t), "--until-end")
	require.Equal(t, 1, code)
	says(t, said, topic, "partition 0", "150", "250", "100 records", "rebase")
	require.Len(t, x.agreed(t), 150, "nothing is skipped silently")
}

// TestNotRows: what a pattern also matches but is no row makes no table, is counted, and does not hold offsets back;
// what is no event at all is a bad record (U34).
func TestNotRows(t *testing.T) {
	t.Parallel()
	dock := slug(t)
	rowTopic := dock + ".orchard.crate"
	c := crate{}
	records := []record{c.create(rowTopic, 0, 1, "fig", 3)}
	for _, db := range []string{"my", "pg"} {
		for _, r := range events(t, db+"/e_events", "json", "", nil) {
			name := ""
			switch {
			case r.Topic == "my": // DDL
				name = dock
			case strings.HasPrefix(r.Topic, "__debezium-heartbeat"), r.Topic == db+".transaction", r.Topic == "pg.message":
				name = strings.Replace(r.Topic, db, dock, 1)
			default:
				continue
			}
			r.Topic, r.Offset, r.Partition = name, nil, 0
			records = append(records, r)
		}
	}
	replay(t, records)
	l := newLake(t, disk)
	sinkYAML := newConfig(l, slug(t), config{
		"topics": `(?:(__debezium-heartbeat)\.)?` + dock + `(?:\.orchard)?\.?(\w*)`, "table": "lake.t${1}_${2}",
		"options": config{"bucket": "1"},
	})
	catchUp(t, sinkYAML)
	x := l.table("lake.t_crate")
	require.Len(t, x.agreed(t), 1)
	require.Equal(t, []string{"t_crate"}, tablesOf(t, l, "lake"))
	for topic, offsets := range groupOffsets(t, slug(t)) {
		require.Equal(t, endOffsets(t, topic), offsets, "offsets of %s stay behind", topic)
	}

	produce(t, []record{keyed(rowTopic, 0, `{"id":9}`, `[1,2]`), keyed(rowTopic, 0, `{"id":9}`, `5`), c.create(rowTopic, 0, 2, "oat", 4)})
	code, said := refused(t, environment(), "run", "-c", sinkYAML.write(t), "--until-end")
	require.Equal(t, 1, code)
	says(t, said, rowTopic, "partition 0", "offset 1")
	catchUp(t, sinkYAML.with(config{"on-error": "skip"}))
	require.Len(t, x.agreed(t), 2)
}
