package connector

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/connector/compute"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// byValues makes a mapping whose types come from the values.
func byValues(m *Table) { m.Columns, m.Infer = nil, true }

// plainEvent is an event without schema; an image is empty where it is null.
func plainEvent(op string, id int, before, after string) event {
	null := func(image string) string { return map[bool]string{true: "null", false: image}[image == ""] }
	return event{key: keyOf(int64(id)), value: `{"before":` + null(before) + `,"after":` + null(after) + `,"op":"` + op + `","ts_ms":5}`}
}

// typesIn returns the columns of the newest schema, "name TYPE" each, and its id.
func typesIn(t *testing.T, store object.Store) ([]string, int64) {
	t.Helper()
	schema, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
	require.NoError(t, err)
	var columns []string
	for _, f := range schema.Fields {
		columns = append(columns, f.Name+" "+f.Type.String())
	}
	return columns, schema.ID
}

func wantColumns(id int64, columns ...string) func(*testing.T, *stage, *object.Mem, Config) {
	return func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
		have, newest := typesIn(t, store)
		require.Equal(t, columns, have)
		require.Equal(t, id, newest, "a schema version for each change")
	}
}

// TestInfer: a table is made and widened as the values of plain JSON ask for; what is null waits; older events come behind.
func TestInfer(t *testing.T) {
	first := `{"id":1,"n":9007199254740993,"f":0.5,"b":true,"s":"x","o":{"k": [1]},"late":null}`
	more := `{"id":2,"n":18446744073709551615,"f":1e300,"b":null,"s":7,"o":[1, 2],"late":{"scale":2,"value":"BNI="},"grade":5}`
	row := func(id, n, f, b, s, o, late, grade string) string {
		return fmt.Sprintf(`{"id":%s,"n":"%s","f":%s,"b":%s,"s":%s,"o":%s,"late":%s,"grade":%s}`, id, n, f, b, s, o, late, grade)
	}
	one := row("1", "9007199254740993", "0.5", "true", `"x"`, `"{\"k\": [1]}"`, "null", "null")
	two := row("2", "18446744073709551615", "1e+300", "null", `"7"`, `"[1, 2]"`, `"12.34"`, "5")
	old := row("3", "3", "null", "null", "null", "null", "null", "null")
	was, is := row("3", "3", "null", "null", "null", "null", "null", "null"), row("3", "3", "null", "null", "null", "null", "null", "6")
	play(t, script{
		skips: 9, table: byValues,
		events: []event{
			plainEvent("c", 1, "", first),
			plainEvent("c", 2, "", more),
			plainEvent("c", 3, "", `{"id":3,"n":3}`),
			plainEvent("u", 3, `{"id":3,"n":3,"grade":null}`, `{"id":3,"n":3,"grade":6}`),
		},
		rows: []string{one, two, is}, changes: []string{"+I " + one, "+I " + two, "+I " + old, "-U " + was, "+U " + is}, offsets: []int64{4},
		check: wantColumns(1, "id BIGINT NOT NULL", "n DECIMAL(38, 0)", "f DOUBLE", "b BOOLEAN", "s STRING", "o STRING", "late STRING", "grade BIGINT"),
	})
}

// TestInferStated: columns of the mapping and of the table come before values, metadata and computed columns stay theirs.
func TestInferStated(t *testing.T) {
	day, err := compute.Parse("date_format(ts, 'yyyy-MM-dd')")
	require.NoError(t, err)
	row := `{"id":1,"ts":"1970-01-01T00:00:00.005000","price":"1.50","more":2,"day":"1970-01-01"}`
	play(t, script{
		skips: 9,
		table: func(m *Table) {
			byValues(m)
			m.Columns = []table.Field{{Name: "ts", Type: mustType("TIMESTAMP(3)")}, {Name: "price", Type: mustType("DECIMAL(10, 2)")}}
			m.Shaping.Computed = []Computed{{Name: "day", Expression: day}}
			m.Shaping.Exclude, m.Shaping.Rename = []string{"secret"}, map[string]string{"extra": "more"}
		},
		events: []event{
			plainEvent("c", 1, "", `{"id":1,"ts":5,"price":1.50,"secret":"x","extra":2}`),
			plainEvent("c", 2, "", `{"id":2,"ts":5,"price":1.234,"secret":"x","extra":2}`),
		},
		rows: []string{row}, changes: []string{"+I " + row}, offsets: []int64{1}, fails: "offset 1: column price: 1.234 does not fit DECIMAL(10, 2) exactly",
		check: wantColumns(0, "id BIGINT NOT NULL", "ts TIMESTAMP(3)", "price DECIMAL(10, 2)", "more BIGINT", "day STRING"),
	})
}

// TestInferMisfit: a value that no widening makes fit is a bad record, and its column stays as it is.
func TestInferMisfit(t *testing.T) {
	for value, reason := range map[string]string{`"heavy"`: "type", `{"a":1}`: "type", "1e39": "range", "0.0000000000000000001": "range"} {
		play(t, script{
			skips: 9, stats: TableStats{Skipped: map[string]int64{reason: 1}},
			table: func(m *Table) { byValues(m); m.OnError = Skip },
			events: []event{
				plainEvent("c", 1, "", `{"id":1,"weight":3}`), plainEvent("c", 2, "", `{"id":2,"weight":`+value+`}`), plainEvent("c", 3, "", `{"id":3,"weight":4}`),
			},
			rows: []string{`{"id":1,"weight":3}`, `{"id":3,"weight":4}`}, changes: []string{`+I {"id":1,"weight":3}`, `+I {"id":3,"weight":4}`}, offsets: []int64{3},
			check: wantColumns(0, "id BIGINT NOT NULL", "weight BIGINT"),
		})
	}
}

// TestInferPolicies: what schema-change says of a field that is new and of a value that is too wide, with types from values or not.
func TestInferPolicies(t *testing.T) {
	one := `{"id":1,"label":"a","weight":3}`
	for name, next := range map[string]string{"new field": `{"id":2,"label":"b","weight":4,"grade":5}`, "too wide": `{"id":2,"label":"b","weight":1.5}`} {
		events := []event{plainEvent("c", 1, "", one), plainEvent("c", 2, "", next), plainEvent("c", 3, "", `{"id":3,"label":"c","weight":5,"grade":null}`)}
		three := `{"id":3,"label":"c","weight":5}`
		columns := wantColumns(0, "id BIGINT NOT NULL", "label STRING", "weight BIGINT")
		t.Run("fail/"+name, func(t *testing.T) {
			play(t, script{
				skips: 9, events: events, rows: []string{one}, changes: []string{"+I " + one}, offsets: []int64{1}, check: columns,
				table: func(m *Table) { byValues(m); m.SchemaChange = Fail },
				fails: map[string]string{"new field": "(add grade: BIGINT): set schema-change to evolve", "too wide": "(widen weight: BIGINT to DECIMAL(38, 18)): set schema-change to evolve"}[name],
			})
		})
		t.Run("dead-letter/"+name, func(t *testing.T) {
			play(t, script{
				skips: 9, events: events, rows: []string{one, three}, changes: []string{"+I " + one, "+I " + three}, offsets: []int64{3}, stats: TableStats{DeadLetters: 1},
				table: func(m *Table) { byValues(m); m.SchemaChange, m.Letters = DeadLetter, Letters{Path: "_dead"} }, check: columns,
			})
		})
	}
	two := `{"id":2,"label":"b","weight":4}`
	grown := event{key: keyOf(2), value: plainEvent("c", 2, "", `{"id":2,"label":"b","weight":4,"grade":5}`).value}
	t.Run("ignore", func(t *testing.T) {
		play(t, script{
			skips: 9, events: []event{plainEvent("c", 1, "", one), grown}, rows: []string{one, two}, changes: []string{"+I " + one, "+I " + two}, offsets: []int64{2},
			table: func(m *Table) { byValues(m); m.SchemaChange = Ignore }, check: wantColumns(0, "id BIGINT NOT NULL", "label STRING", "weight BIGINT"),
		})
	})
	t.Run("not inferred, evolve", func(t *testing.T) {
		play(t, script{
			skips: 9, events: []event{plainEvent("c", 1, "", one), grown}, rows: []string{one}, changes: []string{"+I " + one}, offsets: []int64{1},
			fails: "column grade: the table has no such column; name the column under `columns:`, or set schema-change to ignore to leave it out, or `infer: true` to add such columns",
		})
	})
	t.Run("not inferred, dead-letter", func(t *testing.T) {
		play(t, script{
			skips: 9, events: []event{plainEvent("c", 1, "", one), grown}, rows: []string{one}, changes: []string{"+I " + one}, offsets: []int64{2}, stats: TableStats{DeadLetters: 1},
			table: func(m *Table) { m.SchemaChange, m.Letters = DeadLetter, Letters{Path: "_dead"} },
		})
	})
}

// TestInferLetterCase is case U38 for events that declare nothing: their names are known from the events alone.
func TestInferLetterCase(t *testing.T) {
	lower := func(m *Table) { byValues(m); m.Shaping.Lower = true }
	t.Run("one", func(t *testing.T) {
		play(t, script{
			skips: 9, table: lower,
			events: []event{
				plainEvent("c", 1, "", `{"id":1,"Label":"a"}`), plainEvent("c", 2, "", `{"id":2}`), plainEvent("c", 3, "", `{"id":3,"Label":"c","Grade":4}`),
			},
			rows:    []string{`{"id":1,"label":"a","grade":null}`, `{"id":2,"label":null,"grade":null}`, `{"id":3,"label":"c","grade":4}`},
			changes: []string{`+I {"id":1,"label":"a","grade":null}`, `+I {"id":2,"label":null,"grade":null}`, `+I {"id":3,"label":"c","grade":4}`}, offsets: []int64{3},
			check: wantColumns(1, "id BIGINT NOT NULL", "label STRING", "grade BIGINT"),
		})
	})
	t.Run("known later", func(t *testing.T) { // by a process that begins at a record without the field
		play(t, script{
			skips: 9, table: lower,
			events: []event{plainEvent("c", 1, "", `{"id":1,"Label":"a"}`), plainEvent("d", 1, `{"id":1,"Label":"a"}`, ""), {key: keyOf(1)}, plainEvent("c", 2, "", `{"id":2}`), plainEvent("c", 3, "", `{"id":3,"Label":"c"}`)},
			rows:   []string{`{"id":2,"label":null}`, `{"id":3,"label":"c"}`}, offsets: []int64{5},
			changes: []string{`+I {"id":1,"label":"a"}`, `-D {"id":1,"label":"a"}`, `+I {"id":2,"label":null}`, `+I {"id":3,"label":"c"}`},
		})
	})
	t.Run("two", func(t *testing.T) {
		play(t, script{
			skips: 9, table: lower, events: []event{plainEvent("c", 1, "", `{"id":1,"Label":"a","label":"b"}`)}, offsets: []int64{-1},
			fails: "columns Label and label of the source would both be column label",
		})
	})
}

// TestInferKey: the key of a new table needs values, too; a column that is in the record key only is taken from there.
func TestInferKey(t *testing.T) {
	t.Run("in the record key only", func(t *testing.T) {
		e := plainEvent("c", 1, "", `{"id":1,"label":"a"}`)
		e.key = `{"shard":"eu","id":1}`
		play(t, script{
			skips: 9, table: byValues, events: []event{e}, rows: []string{`{"id":1,"label":"a","shard":"eu"}`}, changes: []string{`+I {"id":1,"label":"a","shard":"eu"}`}, offsets: []int64{1},
			check: wantColumns(0, "id BIGINT NOT NULL", "label STRING", "shard STRING NOT NULL"),
		})
	})
	t.Run("null in the partition", func(t *testing.T) {
		play(t, script{
			skips: 9, table: func(m *Table) { byValues(m); m.PartitionBy = []string{"day"} }, events: []event{plainEvent("c", 1, "", `{"id":1,"day":null}`)}, offsets: []int64{-1},
			fails: "column day has no value in the first event, and the table's key or partition needs its type: name it under `columns:`",
		})
	})
	t.Run("wider", func(t *testing.T) {
		e := plainEvent("c", 1, "", `{"id":18446744073709551615,"label":"a"}`)
		e.key = `{"id":18446744073709551615}`
		play(t, script{
			skips: 9, table: byValues, events: []event{plainEvent("c", 1, "", `{"id":1,"label":"a"}`), e}, rows: []string{`{"id":1,"label":"a"}`}, changes: []string{`+I {"id":1,"label":"a"}`}, offsets: []int64{1},
			fails: "column id: 18446744073709551615 does not fit BIGINT NOT NULL exactly",
		})
	})
}

// TestInferTwoMeet: two instances meet new fields and wider values at once, make one version for each change, and go by the first
// where they ask for different types.
func TestInferTwoMeet(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic), object.NewMem()
		mapping := crateTable()
		byValues(&mapping)
		mapping.OnError, mapping.Options["file.compression"] = Skip, "none" // its decoders would belong to one bubble
		cfg := s.config(store, mapping)
		cfg.UntilEnd, cfg.Checkpoint.Interval = false, time.Second
		emit := func(partition int32, e event) {
			e.partition = partition
			s.emit(crateTopic, e)
		}
		first, second := s.start(cfg), s.start(cfg)
		time.Sleep(20 * time.Second) // the group settles: a partition each
		for round, values := range [][2]string{{`"label":"a"`, `"label":"b"`}, {`"grade":7`, `"grade":8`}, {`"grade":1.5`, `"grade":2.5`}, {`"tag":1`, `"tag":true`}} {
			for i := range 2 {
				id := 10*round + i
				emit(int32(i), plainEvent("c", id, "", fmt.Sprintf(`{"id":%d,%s}`, id, values[i])))
			}
			time.Sleep(20 * time.Second)
		}
		for _, p := range []*process{first, second} {
			require.Len(t, p.c.Stats().Tables[0].Positions, 1, "a partition each")
			require.NoError(t, p.end())
		}
		columns, id := typesIn(t, store)
		require.Equal(t, []string{"id BIGINT NOT NULL", "label STRING", "grade DECIMAL(38, 18)"}, columns[:3])
		require.Len(t, columns, 4)
		require.EqualValues(t, 3, id, "one schema version for each change")
		rows := rowsOf(t, store, "orchard.crate")
		require.Len(t, rows, 8)
		require.Contains(t, rows[5], `"grade":"2.500000000000000000"`)
	})
}

// TestInferKeyless: a topic without record keys becomes an append table, whose columns follow the values as well.
func TestInferKeyless(t *testing.T) {
	plain := func(after string) event { return event{value: plainEvent("c", 1, "", after).value} }
	rows := []string{`{"n":"1","label":null}`, `{"n":"1","label":null}`, `{"n":"18446744073709551615","label":"a"}`}
	play(t, script{
		skips: 9, table: keyless(byValues), events: []event{plain(`{"n":1,"label":null}`), plain(`{"n":1}`), plain(`{"n":18446744073709551615,"label":"a"}`)},
		rows: rows, changes: []string{"+I " + rows[0], "+I " + rows[1], "+I " + rows[2]}, offsets: []int64{3}, check: wantColumns(1, "n DECIMAL(38, 0)", "label STRING"),
	})
}
