package connector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/connector/compute"
	"sink/debezium"
	"sink/table"
	"sink/table/object"
)

func expression(t *testing.T, text string) *compute.Expression {
	e, err := compute.Parse(text)
	require.NoError(t, err)
	return e
}

func filter(t *testing.T, text string) *compute.Filter {
	f, err := compute.ParseFilter(text)
	require.NoError(t, err)
	return f
}

func columnsOf(texts ...string) (fields []table.Field) {
	for _, text := range texts {
		name, typ, _ := strings.Cut(text, " ")
		fields = append(fields, table.Field{Name: name, Type: mustType(typ)})
	}
	return fields
}

// declared is a record with its schema part: columns are "name type", types those of Connect, optional unless "!" follows.
func declared(op, before, after string, columns ...string) string {
	var members []string
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		plain := strings.TrimSuffix(typ, "!")
		semantic := ""
		if base, meaning, ok := strings.Cut(plain, "/"); ok {
			plain, semantic = base, fmt.Sprintf(`,"name":"io.debezium.time.%s"`, meaning)
		}
		members = append(members, fmt.Sprintf(`{"type":%q,"optional":%t,"field":%q%s}`, plain, plain == typ || strings.HasSuffix(c, "?"), name, semantic))
	}
	image := func(field string) string {
		return fmt.Sprintf(`{"type":"struct","fields":[%s],"optional":true,"name":"x.Value","field":%q}`, strings.Join(members, ","), field)
	}
	return fmt.Sprintf(`{"schema":{"type":"struct","fields":[%s,%s,{"type":"string","optional":false,"field":"op"}],"optional":false,"name":"x.Envelope"},"payload":{"before":%s,"after":%s,"source":{"connector":"mysql","name":"dock","db":"orchard","table":"crate"},"op":%q}}`,
		image("before"), image("after"), before, after, op)
}

// TestComputedPartition is the second half of case U38: a partition made by date_format, in changes that stay and that move.
func TestComputedPartition(t *testing.T) {
	ts := func(id, millis int64) string { return fmt.Sprintf(`{"id":%d,"ts":%d}`, id, millis) }
	value := func(op, before, after string) string {
		return fmt.Sprintf(`{"op":%q,"before":%s,"after":%s,"source":{"connector":"mysql","name":"dock","db":"orchard","table":"crate"},"ts_ms":1}`, op, before, after)
	}
	out := func(kind string, id int64, at, day string) string {
		return strings.TrimSpace(fmt.Sprintf(`%s {"id":%d,"ts":%q,"d":%q}`, kind, id, at, day))
	}
	const first, late, next = "2024-12-30T00:00:00.000000", "2024-12-30T23:59:59.999000", "2024-12-31T00:00:00.000000"
	mapping := func(m *Table) {
		m.Columns = columnsOf("id BIGINT NOT NULL", "ts TIMESTAMP(3)")
		m.PartitionBy = []string{"d"}
		m.Shaping.Computed = []Computed{{"d", expression(t, "date_format(ts, 'yyyy-MM-dd')")}}
	}
	events := []event{
		{key: keyOf(1), value: value("c", "null", ts(1, 1735516800000))},
		{key: keyOf(1), value: value("u", ts(1, 1735516800000), ts(1, 1735603199999))},
		{key: keyOf(1), value: value("u", ts(1, 1735603199999), ts(1, 1735603200000))},
		{key: keyOf(2), value: value("c", "null", ts(2, 1735516800000))},
		{key: keyOf(2), value: value("d", ts(2, 1735516800000), "null")},
		{key: keyOf(2)},
	}
	changes := []string{
		out("+I", 1, first, "2024-12-30"), out("-U", 1, first, "2024-12-30"), out("+U", 1, late, "2024-12-30"), out("-D", 1, late, "2024-12-30"),
		out("+I", 1, next, "2024-12-31"), out("+I", 2, first, "2024-12-30"), out("-D", 2, first, "2024-12-30"),
	}
	play(t, script{
		table: mapping, partitions: 2, events: events, changes: changes, rows: []string{out("", 1, next, "2024-12-31")}, offsets: []int64{6}, skips: 2,
		stats: TableStats{Skipped: map[string]int64{"tombstone": 1}},
		check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
			key, _ := changesOf(t, store, "orchard.crate")
			require.Equal(t, []string{"d", "id"}, key, "the partition is part of the key")
		},
	})
	t.Run("a null in the partition", func(t *testing.T) {
		play(t, script{
			table: mapping, skips: 5, events: []event{events[0], {key: keyOf(3), value: value("c", "null", `{"id":3,"ts":null}`)}},
			changes: changes[:1], rows: []string{changes[0][3:]}, offsets: []int64{1}, fails: "computed column d is null, and is NOT NULL in the table",
		})
	})
	t.Run("a delete without its row", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { mapping(m); m.OnMissingBefore = Accept }, skips: 5, events: []event{events[0], {key: keyOf(1), value: value("d", "null", "null")}},
			changes: changes[:1], rows: []string{changes[0][3:]}, offsets: []int64{1},
			fails: "d", // the partition of the row cannot be known
		})
	})
	t.Run("a delete whose partition is computed from the key", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) {
				mapping(m)
				m.OnMissingBefore, m.Shaping.Computed[0].Expression = Accept, expression(t, "cast(truncate(id, 10), STRING)")
			},
			skips: 5, events: []event{events[0], {key: keyOf(1), value: value("d", "null", "null")}}, offsets: []int64{2}, stats: TableStats{MissingBefore: 1},
			changes: []string{out("+I", 1, first, "0"), `-D {"id":1,"ts":null,"d":"0"}`},
		})
	})
}

// TestLetterCase is the first half of case U38.
func TestLetterCase(t *testing.T) {
	columns := []string{"id int64!", "Label string", "label string"}
	create := event{key: keyOf(1), value: declared("c", "null", `{"id":1,"Label":"A","label":"a"}`, columns...)}
	plain := func(m *Table) { m.Columns = nil }
	t.Run("sensitive", func(t *testing.T) {
		row := `{"id":1,"Label":"A","label":"a"}`
		play(t, script{table: plain, events: []event{create}, rows: []string{row}, changes: []string{"+I " + row}, offsets: []int64{1}, skips: 5})
	})
	t.Run("insensitive", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { plain(m); m.Shaping.Lower = true }, events: []event{create}, offsets: []int64{0}, skips: 5,
			fails: "columns Label and label of the source would both be column label of the table: rename one of them (`rename:`), or leave it out (`exclude-columns:`)",
		})
	})
	t.Run("insensitive, renamed", func(t *testing.T) {
		row := `{"id":1,"title":"A","label":"a"}`
		play(t, script{
			table: func(m *Table) {
				plain(m)
				m.Shaping.Lower, m.Shaping.Rename = true, map[string]string{"Label": "title"}
			}, skips: 5,
			events: []event{create}, rows: []string{row}, changes: []string{"+I " + row}, offsets: []int64{1},
		})
	})
	t.Run("primary key as it is written", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { plain(m); m.PrimaryKey = []string{"ID"} }, events: []event{create}, offsets: []int64{0}, skips: 5, fails: "ID",
		})
	})
}

// Renamed columns fill the table under their new names, in the key too; those left out are neither columns nor unknown.
func TestRename(t *testing.T) {
	const before, after = `{"id":1,"label":"fig","weight":3}`, `{"id":1,"label":"fig","weight":4}`
	const was, is = `{"crate_id":1,"label":"fig"}`, `{"crate_id":1,"label":"fig"}`
	shaping := Shaping{Rename: map[string]string{"id": "crate_id"}, Exclude: []string{"weight"}}
	typed := []string{"id int64!", "label string", "weight int64"}
	for name, sc := range map[string]script{
		"declared": {
			table: func(m *Table) { m.Columns, m.Shaping = nil, shaping },
			events: []event{
				{key: keyOf(1), value: declared("c", "null", before, typed...)}, {key: keyOf(1), value: declared("u", before, after, typed...)},
				{key: keyOf(1), value: declared("d", after, "null", typed...)}, {key: keyOf(1)},
			},
		},
		"plain": {
			table: func(m *Table) { m.Columns, m.Shaping = columnsOf("crate_id BIGINT NOT NULL", "label STRING"), shaping },
			events: []event{
				{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 3), 0)}, {key: keyOf(1), value: envelope("u", row(1, "fig", 3), row(1, "fig", 4), 1)},
				{key: keyOf(1), value: envelope("d", row(1, "fig", 4), nil, 2)}, {key: keyOf(1)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc.partitions, sc.skips, sc.offsets = 3, 5, []int64{4}
			sc.changes = []string{"+I " + was, "-U " + was, "+U " + is, "-D " + is}
			sc.stats = TableStats{Skipped: map[string]int64{"tombstone": 1}}
			sc.check = func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
				key, _ := changesOf(t, store, "orchard.crate")
				require.Equal(t, []string{"crate_id"}, key)
			}
			play(t, sc)
		})
	}
	t.Run("an unknown field is none that is left out", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) {
				m.Columns, m.Shaping = columnsOf("id BIGINT NOT NULL"), Shaping{Exclude: []string{"weight"}}
			},
			events: []event{{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 3), 0)}}, offsets: []int64{0}, skips: 5, fails: "label",
		})
	})
	t.Run("include", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) {
				m.Columns, m.Shaping = columnsOf("id BIGINT NOT NULL"), Shaping{Include: []string{"id"}}
			},
			events: []event{{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 3), 0)}}, offsets: []int64{1}, skips: 5,
			rows: []string{`{"id":1}`}, changes: []string{`+I {"id":1}`},
		})
	})
}

// A row filter: updates that enter it are inserts, those that leave it deletes, and the changelog always adds up.
func TestRowFilter(t *testing.T) {
	heavy := func(m *Table) { m.Shaping.Filter = filter(t, "weight >= 10 and label is not null") }
	e := func(op string, before, after *crate) event {
		id := before
		if id == nil {
			id = after
		}
		return event{key: keyOf(id.ID), value: envelope(op, before, after, 0)}
	}
	unknown := &crate{ID: 9, Label: row(9, "", 0).Label} // its weight is null
	play(t, script{
		table: heavy, partitions: 2, skips: 3,
		events: []event{
			e("c", nil, row(1, "light", 5)),                    // not there
			e("u", row(1, "light", 5), row(1, "lighter", 4)),   // still not
			e("u", row(1, "lighter", 4), row(1, "heavy", 10)),  // enters
			e("u", row(1, "heavy", 10), row(1, "heavier", 11)), // stays
			e("u", row(1, "heavier", 11), row(1, "light", 9)),  // leaves
			e("d", row(1, "light", 9), nil), {key: keyOf(1)},   // was not there
			e("c", nil, row(2, "heavy", 12)),                  //
			e("d", row(2, "heavy", 12), nil), {key: keyOf(2)}, //
			e("c", nil, unknown), e("u", unknown, row(9, "x", 10)), // null is not known to be heavy
		},
		changes: []string{
			line("+I", 1, "heavy", 10), line("-U", 1, "heavy", 10), line("+U", 1, "heavier", 11), line("-D", 1, "heavier", 11),
			line("+I", 2, "heavy", 12), line("-D", 2, "heavy", 12), line("+I", 9, "x", 10),
		},
		rows: []string{line("", 9, "x", 10)}, offsets: []int64{12},
		stats: TableStats{Skipped: map[string]int64{"filtered": 4, "tombstone": 2}},
	})
	t.Run("images that are missing", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { heavy(m); m.OnMissingBefore = Accept }, skips: 5,
			events: []event{
				e("c", nil, row(1, "heavy", 12)), e("u", nil, row(1, "heavier", 13)), e("u", nil, row(1, "light", 3)), // may have been there
				e("c", nil, row(2, "heavy", 12)), {key: keyOf(2), value: envelope("d", nil, nil, 0)},
			},
			changes: []string{
				line("+I", 1, "heavy", 12), line("+U", 1, "heavier", 13), line("-D", 1, "light", 3), line("+I", 2, "heavy", 12), `-D {"id":2,"label":null,"weight":null}`,
			},
			offsets: []int64{5}, stats: TableStats{MissingBefore: 3},
		})
	})
	t.Run("on metadata and computed columns", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) {
				m.Metadata = map[string]debezium.Metadata{"db": debezium.MetadataSourceDB}
				m.Shaping.Computed = []Computed{{"tens", expression(t, "truncate(weight, 10)")}}
				m.Shaping.Filter = filter(t, "db = 'orchard' and tens = 10")
			},
			skips: 5, events: []event{e("c", nil, row(1, "a", 9)), e("c", nil, row(2, "b", 15))}, offsets: []int64{2},
			rows:    []string{`{"id":2,"label":"b","weight":15,"db":"orchard","tens":10}`},
			changes: []string{`+I {"id":2,"label":"b","weight":15,"db":"orchard","tens":10}`},
			stats:   TableStats{Skipped: map[string]int64{"filtered": 1}},
		})
	})
}

// A computed column that the configuration has and an older table has not is added.
func TestComputedColumnIsAdded(t *testing.T) {
	b := newBroker(t, 1, crateTopic)
	b.send(crateTopic, 0, keyOf(1), envelope("c", nil, row(1, "fig", 3), 0))
	store := object.NewMem()
	_, err := runConnector(t, b.config(store, crateTable()))
	require.NoError(t, err)
	b.send(crateTopic, 0, keyOf(2), envelope("c", nil, row(2, "oat", 4), 1))
	crates := crateTable()
	crates.Shaping.Computed = []Computed{{"upper", expression(t, "upper(label)")}}
	_, err = runConnector(t, b.config(store, crates))
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":1,"label":"fig","weight":3,"upper":null}`, `{"id":2,"label":"oat","weight":4,"upper":"OAT"}`}, rowsOf(t, store, "orchard.crate"))
}

// Sources that have a column of the same name as a computed one are refused.
func TestComputedColumnIsTaken(t *testing.T) {
	b := newBroker(t, 1, crateTopic)
	b.send(crateTopic, 0, keyOf(1), declared("c", "null", `{"id":1,"d":"x"}`, "id int64!", "d string"))
	crates := crateTable()
	crates.Columns = nil
	crates.Shaping.Computed = []Computed{{"d", expression(t, "cast(id, STRING)")}}
	_, err := runConnector(t, b.config(object.NewMem(), crates))
	require.ErrorContains(t, err, "column d of the source has the name of a metadata or computed column")
}

// Rows for a partition that has expired are dropped or put aside, if that is asked for; an update that comes out of one is an
// insert, one that goes into one a delete. It is 2000-01-01 on stage.
func TestLatePartition(t *testing.T) {
	value := func(op string, id int64, before, after string) event {
		image := func(day string) string {
			if day == "" {
				return "null"
			}
			return fmt.Sprintf(`{"id":%d,"day":%q}`, id, day)
		}
		return event{key: keyOf(id), value: fmt.Sprintf(`{"op":%q,"before":%s,"after":%s,"source":{"connector":"mysql","name":"dock","db":"orchard","table":"crate"},"ts_ms":1}`, op, image(before), image(after))}
	}
	const today, late = "2000-01-01", "1999-12-01"
	out := func(kind string, id int64, day string) string {
		return strings.TrimSpace(fmt.Sprintf(`%s {"id":%d,"day":%q}`, kind, id, day))
	}
	mapping := func(policy Policy) func(m *Table) {
		return func(m *Table) {
			m.Columns, m.PartitionBy, m.LatePartition = columnsOf("id BIGINT NOT NULL", "day STRING"), []string{"day"}, policy
			m.Options["partition.expiration-time"], m.Options["partition.timestamp-formatter"] = "7 d", "yyyy-MM-dd"
			m.Letters = Letters{Path: "_dead"}
		}
	}
	events := []event{
		value("c", 1, "", today), value("c", 2, "", late), value("u", 2, late, late), value("u", 2, late, today), value("u", 1, today, late), value("d", 1, late, ""),
		value("c", 3, "", "no date"),
	}
	rows := []string{out("", 2, today), out("", 3, "no date")}
	t.Run("drop", func(t *testing.T) {
		play(t, script{
			table: mapping(Skip), events: events, rows: rows, offsets: []int64{7}, skips: 3,
			changes: []string{out("+I", 1, today), out("+I", 2, today), out("-D", 1, today), out("+I", 3, "no date")},
			stats:   TableStats{Skipped: map[string]int64{reasonLate: 3}},
		})
	})
	t.Run("dead-letter", func(t *testing.T) {
		play(t, script{
			table: mapping(DeadLetter), events: events[:3], rows: []string{out("", 1, today)}, offsets: []int64{3}, skips: 3,
			changes: []string{out("+I", 1, today)}, stats: TableStats{DeadLetters: 2},
			check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
				require.Equal(t, []string{"0/1", "0/2"}, lettersIn(t, store, "_dead"))
			},
		})
	})
	t.Run("by update time", func(t *testing.T) {
		play(t, script{
			table: func(m *Table) { mapping(Skip)(m); m.Options["partition.expiration-strategy"] = "update-time" }, events: events[:1], offsets: []int64{0}, skips: 5,
			fails: "late-partition goes by the values of a partition",
		})
	})
}
