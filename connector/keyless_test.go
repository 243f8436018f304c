package connector

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/debezium"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
)

// keyless makes a mapping leave out what only tables with a key have.
func keyless(change ...func(*Table)) func(*Table) {
	return func(m *Table) {
		delete(m.Options, "bucket")
		m.OnKeylessChange = Fail
		for _, f := range change {
			f(m)
		}
	}
}

// schemaIs checks the table's schema at the end.
func schemaIs(check func(t *testing.T, s *table.Schema)) func(*testing.T, *stage, *object.Mem, Config) {
	return func(t *testing.T, _ *stage, store *object.Mem, cfg Config) {
		opened, err := scan.Open(t.Context(), store, pathOf(cfg.Tables[0].Name))
		require.NoError(t, err)
		check(t, opened.Schema())
	}
}

// TestKeylessRows is case U14.1: rows of a topic without keys are all kept, equal ones apart, and each is a change once, whatever
// crashes; there is neither a key nor a changelog beside the data.
func TestKeylessRows(t *testing.T) {
	one := envelope("c", nil, row(1, "fig", 1), 0)
	t.Run("several partitions", func(t *testing.T) {
		play(t, script{
			skips: 2, table: keyless(), partitions: 3,
			events:  []event{{value: one}, {partition: 1, value: one}, {value: envelope("r", nil, row(2, "", 0), 1)}, {partition: 2, value: one}},
			rows:    []string{line("", 1, "fig", 1), line("", 1, "fig", 1), line("", 1, "fig", 1), line("", 2, "", 0)},
			changes: []string{line("+I", 1, "fig", 1), line("+I", 1, "fig", 1), line("+I", 1, "fig", 1), line("+I", 2, "", 0)},
			offsets: []int64{2, 1, 1},
			check: func(t *testing.T, s *stage, store *object.Mem, cfg Config) {
				schemaIs(func(t *testing.T, s *table.Schema) {
					require.True(t, s.Append())
					require.NotContains(t, s.Options, "bucket")
					require.NotContains(t, s.Options, "changelog-producer")
				})(t, s, store, cfg)
				newest, err := manifest.LatestSnapshot(t.Context(), store, pathOf(cfg.Tables[0].Name))
				require.NoError(t, err)
				require.Empty(t, newest.ChangelogList)
			},
		})
	})
	t.Run("buckets and partitions", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(func(m *Table) {
				m.Options["bucket"], m.Options["bucket-key"], m.PartitionBy = "3", "id", []string{"label"}
			}),
			events:  []event{{value: one}, {value: one}, {value: envelope("c", nil, row(1, "rye", 1), 2)}},
			rows:    []string{line("", 1, "fig", 1), line("", 1, "fig", 1), line("", 1, "rye", 1)},
			changes: []string{line("+I", 1, "fig", 1), line("+I", 1, "fig", 1), line("+I", 1, "rye", 1)}, offsets: []int64{3},
			check: schemaIs(func(t *testing.T, s *table.Schema) {
				require.True(t, s.Append())
				require.Equal(t, []string{"label"}, s.PartitionKeys)
			}),
		})
	})
	t.Run("records have a key", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(func(m *Table) { m.Append, m.OnKeylessChange = true, Skip }), partitions: 2,
			events: []event{
				{key: keyOf(1), value: one}, {key: keyOf(1), value: envelope("d", row(1, "fig", 1), nil, 1)}, {key: keyOf(1)}, {key: keyOf(9)}, {partition: 1, key: keyOf(1), value: one},
			},
			rows:    []string{line("", 1, "fig", 1), line("", 1, "fig", 1)},
			changes: []string{line("+I", 1, "fig", 1), line("+I", 1, "fig", 1)}, offsets: []int64{4, 1},
			stats: TableStats{Skipped: map[string]int64{"keyless-change": 1, "tombstone": 2}},
		})
	})
}

// TestKeylessChanges: an update or a delete that nothing can place stops the table, or is what on-keyless-change says.
func TestKeylessChanges(t *testing.T) {
	events := []event{
		{value: envelope("c", nil, row(1, "fig", 1), 0)}, {value: envelope("u", row(1, "fig", 1), row(1, "fig", 2), 1)},
		{value: envelope("d", row(1, "fig", 2), nil, 2)}, {}, {value: envelope("c", nil, row(3, "oat", 3), 4)},
	}
	first, last := line("", 1, "fig", 1), line("", 3, "oat", 3)
	t.Run("fail", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(), events: events, rows: []string{first}, changes: []string{"+I " + first}, offsets: []int64{1},
			fails: "topic dock.orchard.crate partition 0 offset 1: an update, but the table has no primary key, so that nothing tells which of its rows is meant; " +
				"for a new table set `primary-key:` to columns that are unique, or have Debezium set a key (message.key.columns); or set on-keyless-change to append",
		})
	})
	t.Run("skip", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(func(m *Table) { m.OnKeylessChange = Skip }), events: events, rows: []string{first, last},
			changes: []string{"+I " + first, "+I " + last}, offsets: []int64{5}, stats: TableStats{Skipped: map[string]int64{"keyless-change": 2, "empty": 1}},
		})
	})
	t.Run("dead-letter", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(func(m *Table) { m.OnKeylessChange, m.Letters = DeadLetter, Letters{Path: "_dead"} }), events: events,
			rows: []string{first, last}, changes: []string{"+I " + first, "+I " + last}, offsets: []int64{5}, stats: TableStats{DeadLetters: 2},
		})
	})
	log := func(m *Table) {
		m.OnKeylessChange, m.Metadata = Append, map[string]debezium.Metadata{"change": debezium.MetadataKind}
	}
	logged := func(kind, row string) string { return row[:len(row)-1] + `,"change":"` + kind + `"}` }
	t.Run("a log", func(t *testing.T) {
		second := line("", 1, "fig", 2)
		rows := []string{logged("+I", first), logged("-U", first), logged("+U", second), logged("-D", second), logged("+I", last)}
		var changes []string
		for _, r := range rows {
			changes = append(changes, "+I "+r)
		}
		play(t, script{skips: 2, table: keyless(log), events: events, rows: rows, changes: changes, offsets: []int64{5}, stats: TableStats{Skipped: map[string]int64{"empty": 1}}})
	})
	t.Run("a log without the row before", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(log), events: []event{events[0], {value: envelope("u", nil, row(1, "fig", 2), 1)}},
			rows: []string{logged("+I", first)}, changes: []string{"+I " + logged("+I", first)}, offsets: []int64{1}, fails: "update without a full before image",
		})
	})
	t.Run("a log of some rows", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(log, func(m *Table) { m.Shaping.Filter = filter(t, "weight = 1") }), events: events,
			rows: []string{logged("+I", first), logged("-U", first)}, changes: []string{"+I " + logged("+I", first), "+I " + logged("-U", first)}, offsets: []int64{5},
		})
	})
	t.Run("truncate", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(func(m *Table) { m.OnTruncate = Apply }), events: []event{events[0], {value: envelope("t", nil, nil, 1)}},
			rows: []string{first}, changes: []string{"+I " + first}, offsets: []int64{1}, fails: "this table has no primary key and takes no deletes; set on-truncate to ignore",
		})
	})
	t.Run("a flattened row that may be new", func(t *testing.T) {
		play(t, script{
			skips: 5, table: keyless(), events: []event{{value: `{"id":1,"label":"fig","weight":1,"__op":"c"}`}, {value: `{"id":1,"label":"fig","weight":1}`}},
			rows: []string{first}, changes: []string{"+I " + first}, offsets: []int64{1}, fails: "a flattened row that does not say whether it is new (add.fields: op)",
		})
	})
}
