package connector

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/debezium"
	"sink/table"
	"sink/table/object"
)

// toastColumns are a table with columns that PostgreSQL keeps out of line.
func toastColumns(m *Table) {
	text := func(root table.Type) *table.Type { return &root }
	m.Columns = []table.Field{
		{Name: "id", Type: mustType("BIGINT NOT NULL")}, {Name: "note", Type: mustType("STRING")}, {Name: "raw", Type: mustType("BYTES")},
		{Name: "tags", Type: table.Type{Root: table.Array, Element: text(mustType("STRING"))}},
		{Name: "codes", Type: table.Type{Root: table.Array, Element: text(mustType("INT"))}},
		{Name: "attrs", Type: table.Type{Root: table.Map, Key: text(mustType("STRING NOT NULL")), Element: text(mustType("STRING"))}},
		{Name: "n", Type: mustType("INT")},
	}
	m.Letters = Letters{Path: "_dead"}
}

// TestToast is case U11: a value that PostgreSQL did not log. Neither the placeholder nor a NULL takes the place of the
// value in the table.
func TestToast(t *testing.T) {
	const cells = `{"id":1,"note":%s,"raw":%s,"tags":%s,"codes":%s,"attrs":%s,"n":%d}`
	long := strings.Repeat("9 KB of text ", 700)
	full := []any{fmt.Sprintf("%q", long), `"AP/+gMMoCg=="`, `["a","b"]`, `[1,2]`, `{"k":"v"}`}
	value := func(op, before, after string) string {
		return fmt.Sprintf(`{"op":%q,"before":%s,"after":%s,"ts_ms":5,"source":{"connector":"postgresql","name":"dock","db":"orchard","schema":"public","table":"crate","lsn":7,"ts_ms":1,"snapshot":"false"}}`, op, before, after)
	}
	created := fmt.Sprintf(cells, append(full[:5:5], 1)...)
	row1 := strings.Replace(created, `{"k":"v"}`, `[["k","v"]]`, 1)
	create := event{key: keyOf(1), value: value("c", "null", created)}
	next := event{key: keyOf(2), value: value("c", "null", strings.Replace(created, `"id":1`, `"id":2`, 1))}
	row2 := strings.Replace(row1, `"id":1`, `"id":2`, 1)
	for _, placeholder := range []string{"", "~same~"} {
		text := placeholder
		if text == "" {
			text = "__debezium_unavailable_value"
		}
		codes := strings.ReplaceAll(fmt.Sprint([]byte(text)), " ", ",")
		quoted := fmt.Sprintf("%q", text)
		for i, column := range []struct{ name, value string }{
			{"note", quoted}, {"raw", fmt.Sprintf("%q", base64.StdEncoding.EncodeToString([]byte(text)))}, {"raw", fmt.Sprintf("%q", hex.EncodeToString([]byte(text)))},
			{"tags", "[" + quoted + "]"}, {"codes", codes}, {"attrs", "{" + quoted + ":" + quoted + "}"},
		} {
			all := append(full[:5:5], 2)
			all[[]int{0, 1, 1, 2, 3, 4}[i]] = column.value
			poor := event{key: keyOf(1), value: value("u", "null", fmt.Sprintf(cells, all...))}
			sc := script{skips: 30, events: []event{create, poor, next}}
			settings := func(policy Policy) func(*Table) {
				return func(m *Table) {
					toastColumns(m)
					m.OnMissingBefore, m.Types.Unavailable = policy, placeholder
				}
			}
			t.Run(fmt.Sprintf("fail/%s/%d", text, i), func(t *testing.T) {
				sc := sc
				sc.table, sc.rows, sc.changes, sc.offsets = settings(Fail), []string{row1}, []string{"+I " + row1}, []int64{1}
				sc.fails = "topic dock.orchard.crate partition 0 offset 1: update without the value of " + column.name
				play(t, sc)
			})
			t.Run(fmt.Sprintf("dead-letter/%s/%d", text, i), func(t *testing.T) {
				sc := sc
				sc.table, sc.rows, sc.changes, sc.offsets = settings(DeadLetter), []string{row1, row2}, []string{"+I " + row1, "+I " + row2}, []int64{3}
				sc.stats.DeadLetters = 1
				sc.check = func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
					require.Equal(t, []string{"0/1"}, lettersIn(t, store, "_dead"))
				}
				play(t, sc)
			})
		}
	}
	t.Run("known from before", func(t *testing.T) {
		all := append([]any{`"__debezium_unavailable_value"`}, full[1:5]...)
		after := fmt.Sprintf(cells, append(all, 2)...)
		updated := strings.Replace(row1, `"n":1`, `"n":2`, 1)
		play(t, script{
			table: toastColumns, events: []event{create, {key: keyOf(1), value: value("u", created, after)}}, rows: []string{updated},
			changes: []string{"+I " + row1, "-U " + row1, "+U " + updated}, offsets: []int64{2},
		})
	})
	for name, note := range map[string]string{"accept": "STRING", "accept, not null": "STRING NOT NULL"} { // what is known is written, but nothing made up
		t.Run(name, func(t *testing.T) {
			all := append([]any{`"__debezium_unavailable_value"`}, full[1:5]...)
			updated := strings.Replace(strings.Replace(row1, fmt.Sprintf("%q", long), "null", 1), `"n":1`, `"n":2`, 1)
			sc := script{
				table:  func(m *Table) { toastColumns(m); m.Columns[1].Type, m.OnMissingBefore = mustType(note), Accept },
				events: []event{create, {key: keyOf(1), value: value("u", "null", fmt.Sprintf(cells, append(all, 2)...))}},
				rows:   []string{updated}, changes: []string{"+I " + row1, "+U " + updated}, offsets: []int64{2}, stats: TableStats{MissingBefore: 1},
			}
			if strings.HasSuffix(note, "NOT NULL") {
				sc.rows, sc.changes, sc.offsets, sc.stats = []string{row1}, []string{"+I " + row1}, []int64{1}, TableStats{}
				sc.fails = "offset 1: column note"
			}
			play(t, sc)
		})
	}
	t.Run("data that mentions it", func(t *testing.T) {
		mention := strings.Replace(created, long, "see __debezium_unavailable_value", 1)
		want := strings.Replace(row1, long, "see __debezium_unavailable_value", 1)
		play(t, script{table: toastColumns, events: []event{{key: keyOf(1), value: value("c", "null", mention)}}, rows: []string{want}, changes: []string{"+I " + want}, offsets: []int64{1}})
	})
}

// TestPoorUpdates is case U13: updates that lack their before image, or columns.
func TestPoorUpdates(t *testing.T) {
	create := event{key: keyOf(8), value: envelope("c", nil, row(8, "oat", 3), 0)}
	keyOnly := strings.Replace(envelope("u", row(8, "", 0), row(8, "oat", 4), 1), `{"id":8,"label":"","weight":0}`, `{"id":8}`, 1)
	for name, update := range map[string]string{"before null": envelope("u", nil, row(8, "oat", 4), 1), "before key only": keyOnly} {
		t.Run("accept/"+name, func(t *testing.T) {
			play(t, script{
				skips: 4,
				table: func(m *Table) { m.OnMissingBefore = Accept }, events: []event{create, {key: keyOf(8), value: update}}, offsets: []int64{2},
				rows: []string{line("", 8, "oat", 4)}, changes: []string{line("+I", 8, "oat", 3), line("+U", 8, "oat", 4)}, stats: TableStats{MissingBefore: 1},
			})
		})
		t.Run("fail/"+name, func(t *testing.T) {
			play(t, script{
				skips:  4,
				events: []event{create, {key: keyOf(8), value: update}}, offsets: []int64{1}, rows: []string{line("", 8, "oat", 3)}, changes: []string{line("+I", 8, "oat", 3)},
				fails: "offset 1: update without a full before image",
			})
		})
	}
	const partial = `"after":{"id":8,"weight":5}`
	whole := envelope("u", row(8, "oat", 3), row(8, "oat", 5), 1)
	t.Run("after has the changed columns", func(t *testing.T) { // what an update does not mention has not changed
		play(t, script{
			skips:  4,
			events: []event{create, {key: keyOf(8), value: strings.Replace(whole, `"after":{"id":8,"label":"oat","weight":5}`, partial, 1)}}, offsets: []int64{2},
			rows: []string{line("", 8, "oat", 5)}, changes: []string{line("+I", 8, "oat", 3), line("-U", 8, "oat", 3), line("+U", 8, "oat", 5)},
		})
	})
	onlyChanged := strings.Replace(envelope("u", nil, row(8, "oat", 5), 1), `"after":{"id":8,"label":"oat","weight":5}`, partial, 1)
	t.Run("after has the changed columns, before null, accept", func(t *testing.T) { // what is not known is null: who sends such updates says absent: fail
		play(t, script{
			skips: 4, table: func(m *Table) { m.OnMissingBefore = Accept }, events: []event{create, {key: keyOf(8), value: onlyChanged}}, offsets: []int64{2},
			rows: []string{`{"id":8,"label":null,"weight":5}`}, changes: []string{line("+I", 8, "oat", 3), `+U {"id":8,"label":null,"weight":5}`}, stats: TableStats{MissingBefore: 1},
		})
	})
	t.Run("after has the changed columns, before null", func(t *testing.T) {
		play(t, script{
			skips:  4,
			table:  func(m *Table) { m.Absent, m.OnMissingBefore = debezium.AbsentFail, Accept },
			events: []event{create, {key: keyOf(8), value: onlyChanged}},
			rows:   []string{line("", 8, "oat", 3)}, changes: []string{line("+I", 8, "oat", 3)}, offsets: []int64{1}, fails: "column label",
		})
	})
}

// TestPartialUpdateKeeps is the end of case U13: where the merge engine is partial-update, a column that an update does not mention stays
// as it is, in one checkpoint and in two.
func TestPartialUpdateKeeps(t *testing.T) {
	create := envelope("c", nil, row(8, "oat", 3), 0)
	update := strings.Replace(envelope("u", nil, row(8, "oat", 5), 1), `"after":{"id":8,"label":"oat","weight":5}`, `"after":{"id":8,"weight":5}`, 1)
	for _, between := range []bool{false, true} {
		t.Run(fmt.Sprintf("two checkpoints=%t", between), func(t *testing.T) {
			b, store := newBroker(t, 1, crateTopic), object.NewMem()
			mapping := crateTable()
			mapping.OnMissingBefore = Accept
			mapping.Options["merge-engine"], mapping.Options["changelog-producer"] = "partial-update", "lookup"
			b.send(crateTopic, 0, keyOf(8), create)
			if between {
				_, err := runConnector(t, b.config(store, mapping))
				require.NoError(t, err)
			}
			b.send(crateTopic, 0, keyOf(8), update)
			stats, err := runConnector(t, b.config(store, mapping))
			require.NoError(t, err)
			require.EqualValues(t, 1, stats.Tables[0].MissingBefore)
			require.Equal(t, []string{line("", 8, "oat", 5)}, rowsOf(t, store, "orchard.crate"))
		})
	}
}
