package connector

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/table/object"
)

// line is a row of the table of crates as canonical JSON, of a change if kind is not empty.
func line(kind string, id int64, label string, weight int64) string {
	return strings.TrimSpace(fmt.Sprintf(`%s {"id":%d,"label":%q,"weight":%d}`, kind, id, label, weight))
}

// sourced is an event with a source block of its own.
func sourced(op string, before, after *crate, source string) string {
	text := envelope(op, before, after, 0)
	i := strings.Index(text, `"source":{`)
	j := strings.Index(text[i:], "}") + i
	return text[:i] + `"source":{` + source + text[j:]
}

func headers(pairs ...string) (out []kgo.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return out
}

// TestKeyChange is case U01: a changed key comes as a delete and a create in two partitions, whichever is read first.
func TestKeyChange(t *testing.T) {
	create := event{key: keyOf(7), value: envelope("c", nil, row(7, "fig", 3), 0)}
	gone := event{key: keyOf(7), value: envelope("d", row(7, "fig", 3), nil, 1), headers: headers("__debezium.newkey", keyOf(70))}
	tombstone := event{key: keyOf(7)}
	moved := event{partition: 2, key: keyOf(70), value: envelope("c", nil, row(70, "fig", 4), 1), headers: headers("__debezium.oldkey", keyOf(7))}
	for name, events := range map[string][]event{
		"in order":             {create, gone, tombstone, moved},
		"p2 first":             {moved, create, gone, tombstone},
		"p2 between":           {create, moved, gone, tombstone},
		"before the tombstone": {create, gone, moved, tombstone},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, script{
				partitions: 3, events: events, skips: 5,
				rows:    []string{line("", 70, "fig", 4)},
				changes: []string{line("+I", 7, "fig", 3), line("-D", 7, "fig", 3), line("+I", 70, "fig", 4)},
				offsets: []int64{3, 0, 1},
				stats:   TableStats{Skipped: map[string]int64{"tombstone": 1}},
			})
		})
	}
	// As one update it has an order in a topic of one partition only. The keys lie in two buckets or in one: no matter.
	for _, id := range []int64{70, 8, 9, 10} {
		update := event{key: keyOf(id), value: envelope("u", row(7, "fig", 3), row(id, "fig", 4), 1)}
		t.Run(fmt.Sprint("one update to ", id), func(t *testing.T) {
			play(t, script{
				skips: 9, events: []event{create, update}, rows: []string{line("", id, "fig", 4)},
				changes: []string{line("+I", 7, "fig", 3), line("-D", 7, "fig", 3), line("+I", id, "fig", 4)}, offsets: []int64{2},
			})
		})
	}
	t.Run("one update in three partitions", func(t *testing.T) {
		play(t, script{
			partitions: 3, events: []event{create, {key: keyOf(70), value: envelope("u", row(7, "fig", 3), row(70, "fig", 4), 1)}},
			rows: []string{line("", 7, "fig", 3)}, changes: []string{line("+I", 7, "fig", 3)}, offsets: []int64{1},
			fails: "topic dock.orchard.crate partition 0 offset 1: an update that changes the record key itself, in a topic of 3 partitions",
		})
	})
}

// TestHeldPartition is the middle of case U01: one half of a changed key is read, the other is held back.
func TestHeldPartition(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 3, crateTopic), object.NewMem()
		cfg := s.config(store, crateTable())
		cfg.Tables[0].Options["file.compression"], cfg.UntilEnd, cfg.Checkpoint.Records = "none", false, 1
		p := s.start(cfg)
		lagOf := func(partition string) Lag { return p.c.Stats().Tables[0].Positions[crateTopic+"/"+partition] }
		s.emit(crateTopic, event{key: keyOf(7), value: envelope("c", nil, row(7, "fig", 3), 0)})
		time.Sleep(10 * time.Second)
		p.c.client.PauseFetchPartitions(map[string][]int32{crateTopic: {0}})
		time.Sleep(10 * time.Second) // the fetch under way
		s.emit(crateTopic, event{key: keyOf(7), value: envelope("d", row(7, "fig", 3), nil, 1)})
		for i := range int64(3) {
			s.emit(crateTopic, event{partition: 2, key: keyOf(70 + i), value: envelope("c", nil, row(70+i, "fig", 4), i)})
			time.Sleep(5 * time.Second)
		}
		require.Equal(t, []string{line("", 7, "fig", 3), line("", 70, "fig", 4), line("", 71, "fig", 4), line("", 72, "fig", 4)}, rowsOf(t, store, "orchard.crate"))
		require.EqualValues(t, 1, lagOf("0").Committed)
		require.EqualValues(t, 3, lagOf("2").Committed)
		p.c.client.ResumeFetchPartitions(map[string][]int32{crateTopic: {0}})
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 2, lagOf("0").Committed)
		require.NoError(t, p.end())
		require.Equal(t, []string{line("", 70, "fig", 4), line("", 71, "fig", 4), line("", 72, "fig", 4)}, rowsOf(t, store, "orchard.crate"))
	})
}

// crateSteps are a create and updates of key 1 that count its weight up, each with a source block of its own.
func crateSteps(sources ...string) (events []event, changes []string) {
	for i, source := range sources {
		w := int64(i + 1)
		if i == 0 {
			events = append(events, event{key: keyOf(1), value: sourced("c", nil, row(1, "fig", w), source)})
			changes = append(changes, line("+I", 1, "fig", w))
			continue
		}
		events = append(events, event{key: keyOf(1), value: sourced("u", row(1, "fig", w-1), row(1, "fig", w), source)})
		changes = append(changes, line("-U", 1, "fig", w-1), line("+U", 1, "fig", w))
	}
	return events, changes
}

// TestOrder is case U03: arrival decides, not clocks, nor positions as text or as numbers. Nor are events dropped where
// those that Debezium repeats are.
func TestOrder(t *testing.T) {
	const mysql, postgres = `"connector":"mysql","name":"dock","db":"orchard","table":"crate","snapshot":"false",`, `"connector":"postgresql","name":"dock","db":"orchard","schema":"public","table":"crate","snapshot":"false",`
	for name, sources := range map[string][]string{
		"same time":       {mysql + `"ts_ms":5,"file":"b.1","pos":1,"row":0`, mysql + `"ts_ms":5,"file":"b.1","pos":2,"row":0`, mysql + `"ts_ms":5,"file":"b.1","pos":2,"row":1`},
		"clock goes back": {mysql + `"ts_ms":9,"file":"b.1","pos":1,"row":0`, mysql + `"ts_ms":8,"file":"b.1","pos":2,"row":0`, mysql + `"ts_ms":7,"file":"b.1","pos":3,"row":1`},
		"binlog rolls":    {mysql + `"file":"bl.000009","pos":998877,"row":0`, mysql + `"file":"bl.000010","pos":4,"row":0`},
		"binlog grows":    {mysql + `"file":"bl.999999","pos":998877,"row":0`, mysql + `"file":"bl.1000000","pos":4,"row":0`},
		"one lsn": {
			postgres + `"txId":5,"lsn":881234,"sequence":"[\"881200\",\"881234\"]"`, postgres + `"txId":6,"lsn":881234,"sequence":"[\"881300\",\"881234\"]"`,
			postgres + `"txId":7,"lsn":881234,"sequence":"[\"881400\",\"881234\"]"`, postgres + `"txId":8,"lsn":881234,"sequence":"[\"881500\",\"881234\"]"`,
		},
		"interleaved transactions": {
			postgres + `"txId":7,"lsn":900,"sequence":"[\"100\",\"900\"]"`, postgres + `"txId":6,"lsn":800,"sequence":"[\"950\",\"800\"]"`, postgres + `"txId":8,"lsn":700,"sequence":"[\"990\",\"700\"]"`,
		},
	} {
		for _, deduplicate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/deduplicate=%t", name, deduplicate), func(t *testing.T) {
				events, changes := crateSteps(sources...)
				if strings.HasPrefix(name, "one lsn") { // a connector restart counts anew
					last := len(events) - 1
					for i := range events {
						order := map[bool]int{false: i + 1, true: 1}[i == last]
						events[i].value = strings.TrimSuffix(events[i].value, "}") + fmt.Sprintf(`,"transaction":{"id":"%d","total_order":%d,"data_collection_order":1}}`, i, order)
					}
				}
				play(t, script{
					table: func(m *Table) { m.Deduplicate = deduplicate }, events: events, changes: changes, skips: 9,
					rows: []string{line("", 1, "fig", int64(len(sources)))}, offsets: []int64{int64(len(events))},
					stats: TableStats{Skipped: map[string]int64{}},
				})
			})
		}
	}
}

// TestRepeats is case U05: Debezium sends events again after its own restart. Each Kafka record counts once, or each event.
func TestRepeats(t *testing.T) {
	events := []event{
		{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 1), 0)},
		{key: keyOf(1), value: envelope("u", row(1, "fig", 1), row(1, "fig", 2), 1)},
		{key: keyOf(1), value: envelope("u", row(1, "fig", 2), row(1, "fig", 3), 2)},
	}
	events = append(events, events[1:]...)
	once := []string{line("+I", 1, "fig", 1), line("-U", 1, "fig", 1), line("+U", 1, "fig", 2), line("-U", 1, "fig", 2), line("+U", 1, "fig", 3)}
	t.Run("records", func(t *testing.T) {
		play(t, script{events: events, rows: []string{line("", 1, "fig", 3)}, changes: append(once[:5:5], once[1:]...), offsets: []int64{5}})
	})
	t.Run("events", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.Deduplicate = true }, events: events, rows: []string{line("", 1, "fig", 3)}, changes: once, offsets: []int64{5},
			stats: TableStats{Skipped: map[string]int64{"repeated": 2}},
		})
	})
}

// TestPoorDeletes is case U06: tombstones alone, deletes that show the key or nothing, a record of nothing.
func TestPoorDeletes(t *testing.T) {
	keyOnly := strings.Replace(envelope("d", row(5, "", 0), nil, 2), `{"id":5,"label":"","weight":0}`, `{"id":5}`, 1)
	events := []event{
		{key: keyOf(5)},
		{key: keyOf(5), value: envelope("c", nil, row(5, "pear", 1), 1)},
		{key: keyOf(5), value: keyOnly},
		{key: keyOf(5)},
		{key: keyOf(6), value: envelope("d", nil, nil, 4)},
		{},
	}
	t.Run("accept", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.OnMissingBefore = Accept }, events: events, offsets: []int64{6},
			changes:  []string{line("+I", 5, "pear", 1), `-D {"id":5,"label":null,"weight":null}`, `-D {"id":6,"label":null,"weight":null}`},
			mayBegin: `-D {"id":5,"label":null,"weight":null}`,
			stats:    TableStats{Skipped: map[string]int64{"tombstone-of-nothing": 1, "tombstone": 1, "empty": 1}, MissingBefore: 2},
		})
	})
	t.Run("accept, not null", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) {
				m.OnMissingBefore = Accept
				m.Columns[1].Type, m.Columns[2].Type = mustType("STRING NOT NULL"), mustType("INT NOT NULL")
			},
			events: events, offsets: []int64{6},
			changes:  []string{line("+I", 5, "pear", 1), line("-D", 5, "(unknown)", -2147483648), line("-D", 6, "(unknown)", -2147483648)},
			mayBegin: line("-D", 5, "(unknown)", -2147483648), stats: TableStats{MissingBefore: 2},
		})
	})
	t.Run("fail", func(t *testing.T) {
		play(t, script{
			events: events[1:], offsets: []int64{1}, rows: []string{line("", 5, "pear", 1)}, changes: []string{line("+I", 5, "pear", 1)},
			fails: "topic dock.orchard.crate partition 0 offset 1: delete without a full before image",
		})
	})
	t.Run("fail at a tombstone", func(t *testing.T) {
		play(t, script{events: events, offsets: []int64{0}, fails: "topic dock.orchard.crate partition 0 offset 0: a tombstone (a key without a value) whose delete event does not come right before it"})
	})
}

// TestPartitionedDelete is case U07: the row of a partitioned table cannot be found by a record key without the partition.
func TestPartitionedDelete(t *testing.T) {
	columns := func(m *Table) {
		m.Columns = append(m.Columns, crateTable().Columns[1])
		m.Columns[3].Name = "day"
		m.PrimaryKey, m.PartitionBy, m.OnMissingBefore = []string{"id", "day"}, []string{"day"}, Accept
		m.Letters = Letters{Path: "_dead"}
	}
	const postgres = `{"op":%q,"before":%s,"after":%s,"ts_ms":5,"source":{"connector":"postgresql","name":"dock","db":"orchard","schema":"public","table":"crate","lsn":%d,"ts_ms":1,"snapshot":"false"}}`
	value := func(op, before, after string, lsn int) string { return fmt.Sprintf(postgres, op, before, after, lsn) }
	const rye, madeUp = `{"id":3,"label":"rye","weight":9,"day":"2024-05-01"}`, `{"id":3,"label":"","weight":0,"day":""}`
	create := event{key: keyOf(3), value: value("c", "null", rye, 1)}
	poor := event{key: keyOf(3), value: value("d", madeUp, "null", 2)}
	next := event{key: keyOf(4), value: value("c", "null", strings.Replace(rye, "3", "4", 1), 3)}
	four := strings.Replace(rye, "3", "4", 1)
	for name, e := range map[string]event{"made up": poor, "before missing": {key: keyOf(3), value: value("d", "null", "null", 2)}, "tombstone": {key: keyOf(3)}} {
		t.Run("fail/"+name, func(t *testing.T) {
			play(t, script{
				skips: 5,
				table: columns, events: []event{create, e, next}, rows: []string{rye}, changes: []string{"+I " + rye}, offsets: []int64{1},
				fails: "column day",
			})
		})
		t.Run("dead-letter/"+name, func(t *testing.T) {
			play(t, script{
				skips:  5,
				table:  func(m *Table) { columns(m); m.OnError = DeadLetter },
				events: []event{create, e, next}, rows: []string{rye, four}, changes: []string{"+I " + rye, "+I " + four}, offsets: []int64{3},
				stats: TableStats{DeadLetters: 1},
				check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
					require.Equal(t, []string{"0/1"}, lettersIn(t, store, "_dead"))
				},
			})
		})
	}
	key := `{"id":3,"day":"2024-05-01"}`
	t.Run("day in the key", func(t *testing.T) {
		create, poor := create, poor
		create.key, poor.key = key, key
		poor.value = value("d", `{"id":3,"label":"","weight":0,"day":"2024-05-01"}`, "null", 2)
		play(t, script{
			table: columns, events: []event{create, poor}, offsets: []int64{2}, stats: TableStats{MissingBefore: 1},
			changes: []string{"+I " + rye, `-D {"id":3,"label":null,"weight":null,"day":"2024-05-01"}`},
		})
	})
	t.Run("full images move between partitions", func(t *testing.T) {
		moved := strings.Replace(rye, "05-01", "05-02", 1)
		play(t, script{
			partitions: 3, table: columns, events: []event{create, {key: keyOf(3), value: value("u", rye, moved, 2)}}, rows: []string{moved}, offsets: []int64{2},
			changes: []string{"+I " + rye, "-D " + rye, "+I " + moved},
		})
	})
}

// TestUnplacedIsTold is the beginning of case U07: when a table is made, each column of its key that the record key does not tell is named.
func TestUnplacedIsTold(t *testing.T) {
	day := func(source string) func(*Table) {
		return func(m *Table) {
			m.Shaping.Computed, m.PartitionBy = []Computed{{"day", expression(t, "cast("+source+", STRING)")}}, []string{"day"}
		}
	}
	for name, c := range map[string]struct {
		change func(*Table)
		told   []string
	}{
		"none":           {func(*Table) {}, nil},
		"a partition":    {func(m *Table) { m.PartitionBy, m.Columns[2].Type = []string{"weight"}, mustType("INT NOT NULL") }, []string{"weight"}},
		"of other parts": {day("weight"), []string{"day"}},
		"of the key":     {day("id"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, store := newBroker(t, 1, crateTopic), object.NewMem()
			b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 1), 0))
			mapping := crateTable()
			mapping.PrimaryKey = nil
			c.change(&mapping)
			var log bytes.Buffer
			cfg := b.config(store, mapping)
			cfg.Log = zerolog.New(zerolog.SyncWriter(&log))
			_, err := runConnector(t, cfg)
			require.NoError(t, err)
			require.Equal(t, len(c.told), strings.Count(log.String(), "is part of the primary key but not of the record key"), log.String())
			for _, column := range c.told {
				require.Regexp(t, `"level":"warn","table":"orchard.crate",.*"message":"column `+column+` is part of the primary key.*REPLICA IDENTITY FULL`, log.String())
			}
		})
	}
}

// TestTruncateInBetween is case U09 in three ways; see TestTruncate for what is refused.
func TestTruncateInBetween(t *testing.T) {
	create := func(id int64) event { return event{key: keyOf(id), value: envelope("c", nil, row(id, "a", id), id)} }
	events := []event{create(1), create(2), {value: envelope("t", nil, nil, 3)}, create(3)}
	one, two, three := line("+I", 1, "a", 1), line("+I", 2, "a", 2), line("+I", 3, "a", 3)
	t.Run("apply", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.OnTruncate = Apply }, events: events, rows: []string{line("", 3, "a", 3)}, offsets: []int64{4},
			changes: []string{one, two, line("-D", 1, "a", 1), line("-D", 2, "a", 2), three},
		})
	})
	t.Run("ignore", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.OnTruncate = Ignore }, events: events, rows: []string{one[3:], two[3:], three[3:]}, offsets: []int64{4},
			changes: []string{one, two, three}, stats: TableStats{Skipped: map[string]int64{"truncate": 1}},
		})
	})
	t.Run("fail", func(t *testing.T) {
		play(t, script{
			events: events, rows: []string{one[3:], two[3:]}, offsets: []int64{2}, changes: []string{one, two},
			fails: "topic dock.orchard.crate partition 0 offset 2: the source table was truncated",
		})
	})
}

// TestManySteps is case U10: every step of a key is in the changelog, the last in the table.
func TestManySteps(t *testing.T) {
	update := func(from, to, offset int64) event {
		return event{key: keyOf(1), value: envelope("u", row(1, "a", from), row(1, "a", to), offset)}
	}
	play(t, script{
		events: []event{
			{key: keyOf(1), value: envelope("c", nil, row(1, "a", 1), 0)}, update(1, 2, 1), update(2, 3, 2),
			{key: keyOf(1), value: envelope("d", row(1, "a", 3), nil, 3)}, {key: keyOf(1)},
			{key: keyOf(1), value: envelope("c", nil, row(1, "a", 4), 5)}, update(4, 5, 6),
		},
		rows: []string{line("", 1, "a", 5)}, offsets: []int64{7},
		changes: []string{
			line("+I", 1, "a", 1), line("-U", 1, "a", 1), line("+U", 1, "a", 2), line("-U", 1, "a", 2), line("+U", 1, "a", 3), line("-D", 1, "a", 3),
			line("+I", 1, "a", 4), line("-U", 1, "a", 4), line("+U", 1, "a", 5),
		},
		stats: TableStats{Skipped: map[string]int64{"tombstone": 1}},
	})
}

// TestOddKeysOfRecords is case U14: no key, a null key, a key that is not the table's.
func TestOddKeysOfRecords(t *testing.T) {
	create := envelope("c", nil, row(1, "fig", 1), 0)
	t.Run("no key", func(t *testing.T) { // see also TestKeylessRows
		play(t, script{
			partitions: 3, events: []event{{value: create}, {value: create}}, offsets: []int64{0},
			fails: "option bucket is 2, but the table has no primary key to choose a bucket by: set bucket-key, or bucket to -1",
		})
	})
	t.Run("no key, several partitions", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.PrimaryKey = []string{"id"} }, partitions: 3, events: []event{{value: create}, {value: create}}, offsets: []int64{0},
			fails: "topic has 3 partitions and its records have no key",
		})
	})
	t.Run("another key", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { m.PrimaryKey = []string{"label"} }, partitions: 3, events: []event{{key: keyOf(1), value: create}}, offsets: []int64{0},
			fails: "the record key has column id, which is not part of the table's primary key [label]",
		})
	})
	for name, partitions := range map[string]int32{"null among keys": 3, "null among keys, one partition": 1} {
		t.Run(name, func(t *testing.T) {
			sc := script{
				skips: 5,
				table: func(m *Table) { m.OnError, m.Letters = DeadLetter, Letters{Path: "_dead"} }, partitions: partitions,
				events:  []event{{key: keyOf(1), value: create}, {value: strings.ReplaceAll(create, `"id":1`, `"id":2`)}, {key: keyOf(3), value: strings.ReplaceAll(create, `"id":1`, `"id":3`)}},
				rows:    []string{line("", 1, "fig", 1), line("", 3, "fig", 1)},
				changes: []string{line("+I", 1, "fig", 1), line("+I", 3, "fig", 1)}, offsets: []int64{3}, stats: TableStats{DeadLetters: 1},
			}
			if partitions == 1 { // arrival is the order
				sc.rows, sc.changes, sc.stats = slices.Insert(sc.rows, 1, line("", 2, "fig", 1)), append(sc.changes, line("+I", 2, "fig", 1)), TableStats{}
			}
			play(t, sc)
		})
	}
	t.Run("order of the record key", func(t *testing.T) {
		value := func(op string) string {
			return fmt.Sprintf(`{"op":%q,"before":null,"after":{"a":1,"b":2,"v":"x"},"ts_ms":1,"source":{}}`, op)
		}
		play(t, script{
			table: func(m *Table) {
				m.Columns = nil
				for _, text := range []string{"a INT", "b INT", "v STRING"} {
					name, typ, _ := strings.Cut(text, " ")
					field := crateTable().Columns[1]
					field.Name, field.Type = name, mustType(typ)
					m.Columns = append(m.Columns, field)
				}
			},
			partitions: 3, events: []event{{key: `{"b":2,"a":1}`, value: value("c")}}, rows: []string{`{"a":1,"b":2,"v":"x"}`}, changes: []string{`+I {"a":1,"b":2,"v":"x"}`},
			check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
				key, _ := changesOf(t, store, "orchard.crate")
				require.Equal(t, []string{"b", "a"}, key)
			},
		})
	})
}
