//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// partitionColumns are the columns of the tables of TestOddPartitions; all but id are partition columns.
var partitionColumns = [][2]string{
	{"id", "BIGINT NOT NULL"}, {"s", "STRING"}, {"d", "DATE"}, {"t", "TIMESTAMP(3)"}, {"n", "DECIMAL(10, 2)"}, {"b", "BOOLEAN"}, {"i", "INT"},
}

// partitionCells are cells of the partition columns: as Debezium sends them, and in canonical JSON. Blank texts print in the path
// as the default partition's name does, so that different partitions share a folder; a no-break space does not, but pypaimon 2.1.0 takes
// it for blank.
func partitionCells() (sent, canonical [][]string) {
	plain := []string{`"x"`, `"2024-02-29"`, `"2024-02-29T01:02:03.004000"`, `"1.50"`, "true", "7"}
	raw := []string{`"x"`, "19782", "1709168523004", `"1.50"`, "true", "7"}
	add := func(column int, sentCell, canonicalCell string) {
		s, c := slices.Clone(raw), slices.Clone(plain)
		s[column], c[column] = sentCell, canonicalCell
		sent, canonical = append(sent, s), append(canonical, c)
	}
	for _, text := range []string{
		`""`, `" "`, "\"\u3000\"", `"__DEFAULT_PARTITION__"`, `"a/b=c"`, `"50%"`, `"%2F"`, `".."`, `"x y+z&?#"`, `"'\"\\\\{}[]^*:"`, "\"\\u0001\\t\\n\x7f\"", `"日本"`, `"😀"`,
	} {
		add(0, text, text)
	}
	for sentCell, canonicalCell := range map[string]string{"0": `"1970-01-01"`, "-1": `"1969-12-31"`, "2932896": `"9999-12-31"`} {
		add(1, sentCell, canonicalCell)
	}
	for sentCell, canonicalCell := range map[string]string{
		"0": `"1970-01-01T00:00:00.000000"`, "-1": `"1969-12-31T23:59:59.999000"`, "1709168520000": `"2024-02-29T01:02:00.000000"`,
	} {
		add(2, sentCell, canonicalCell)
	}
	for _, number := range []string{`"0.00"`, `"-0.01"`, `"99999999.99"`} {
		add(3, number, number)
	}
	add(4, "false", "false")
	add(5, "-2147483648", "-2147483648")
	return sent, canonical
}

// partitionRow is a row of partitionColumns as JSON.
func partitionRow(id int, cells []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":%d`, id)
	for i, cell := range cells {
		fmt.Fprintf(&b, `,%q:%s`, partitionColumns[i+1][0], cell)
	}
	return b.String() + "}"
}

// createPartitions are the steps that have the real Paimon make the table.
func createPartitions(t *testing.T, key []string) string {
	var columns []map[string]string
	var partition []string
	for i, c := range partitionColumns {
		columns = append(columns, map[string]string{"name": c[0], "type": c[1]})
		if i > 0 {
			partition = append(partition, c[0])
		}
	}
	options := map[string]string{"bucket": "-1"}
	if key != nil {
		options = map[string]string{"bucket": "1", "changelog-producer": "input"}
	}
	return jsonText(t, map[string]any{"op": "create", "columns": columns, "primaryKeys": key, "partitionKeys": partition, "options": options}) + "\n"
}

// folders are the folders that hold data files of the table.
func (x target) folders(t *testing.T) []string {
	var dirs []string
	for _, name := range x.list(t, "") {
		if strings.HasPrefix(path.Base(name), "data-") {
			dirs = append(dirs, path.Dir(name))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// TestOddPartitions: odd values of each type of partition column, and nulls where there is no key, lie in the folders that the
// real Paimon picks for them, and every reader gets them back. An update out of a partition is a delete there and an insert in
// the other one. Paimon compacts all of them; late rows come after it.
func TestOddPartitions(t *testing.T) {
	t.Parallel()
	sent, canonical := partitionCells()
	key := []string{"id"}
	types := config{}
	for i, c := range partitionColumns {
		types[c[0]] = c[1]
		if i > 0 {
			key = append(key, c[0])
		}
	}
	for name, key := range map[string][]string{"keyed": key, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, canonical := slices.Clone(sent), slices.Clone(canonical)
			check := func(t *testing.T, x target) { x.fsck(t) }
			if key == nil {
				check = verifies // fsck takes tables with a key
				none := slices.Repeat([]string{"null"}, len(partitionColumns)-1)
				sent, canonical = append(sent, none), append(canonical, none)
				for i := range none {
					s, c := slices.Clone(sent[0]), slices.Clone(canonical[0])
					s[i], c[i] = "null", "null"
					sent, canonical = append(sent, s), append(canonical, c)
				}
			}
			l, topic := newLake(t, disk), slug(t)
			create := createPartitions(t, key)
			ours, java := l.table("ours."+name), l.table("java."+name)
			script, rows, want := create, []string(nil), []string(nil)
			var records []record
			for id := range sent {
				rows = append(rows, partitionRow(id, canonical[id]))
				want = append(want, "+I "+rows[id])
				script += fmt.Sprintf(`{"kind":"+I","row":%s}`+"\n", rows[id])
				records = append(records, partitionEvent(topic, id, "c", "null", partitionRow(id, sent[id])))
			}
			shared.java.must(t, java.java("write", "--input", writeFile(t, "rows.jsonl", script))...)
			shared.java.must(t, ours.java("write", "--input", writeFile(t, "create.jsonl", create))...)
			replay(t, records)
			mapping := config{"columns": types, "types": config{"decimal": "string"}}
			if key != nil {
				mapping["primary-key"] = key
			}
			c := newConfig(l, topic, table(topic, ours.name, mapping))
			catchUp(t, c)
			require.Equal(t, java.folders(t), ours.folders(t))
			requireSameLines(t, sorted(rows), sorted(ours.agreed(t)), "%s", name)

			if key != nil { // each row moves to the partition of the one behind it
				last := len(sent) - 1
				var moves []record
				for id := range last {
					moves = append(moves, partitionEvent(topic, id, "u", partitionRow(id, sent[id]), partitionRow(id, sent[id+1])))
					want = append(want, "-D "+rows[id])
					rows[id] = partitionRow(id, canonical[id+1])
					want = append(want, "+I "+rows[id])
				}
				produce(t, moves)
				catchUp(t, c)
				requireChangesInPlace(t, ours, want)
			}
			shared.java.must(t, ours.java("compact", "--user", "compactor")...)
			requireSameLines(t, sorted(rows), sorted(ours.agreed(t)), "%s after a compaction by the real Paimon", name)
			check(t, ours)

			// Late: a row for each partition that is compacted by now, and back out of some.
			var late []record
			for id := range sent {
				row := partitionRow(1000+id, canonical[id])
				rows, want = append(rows, row), append(want, "+I "+row)
				late = append(late, partitionEvent(topic, 1000+id, "c", "null", partitionRow(1000+id, sent[id])))
			}
			for id := 0; id < len(sent)-1 && key != nil; id += 3 {
				late = append(late, partitionEvent(topic, id, "u", partitionRow(id, sent[id+1]), partitionRow(id, sent[id])))
				want = append(want, "-D "+rows[id])
				rows[id] = partitionRow(id, canonical[id])
				want = append(want, "+I "+rows[id])
			}
			produce(t, late)
			catchUp(t, c)
			requireSameLines(t, sorted(rows), sorted(ours.agreed(t)), "%s after late rows", name)
			requireChangesInPlace(t, ours, want)
			check(t, ours)
		})
	}
}

// requireChangesInPlace wants changes, in any order, as the real Paimon streams them, each in the partition of its own row.
func requireChangesInPlace(t *testing.T, x target, want []string) {
	t.Helper()
	var got []string
	for _, c := range x.changes(t) {
		got = append(got, c.Kind+" "+string(c.Row))
		var place, row map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(c.Partition, &place))
		require.NoError(t, json.Unmarshal(c.Row, &row))
		require.Len(t, place, len(partitionColumns)-1)
		for column, cell := range place {
			require.Equal(t, string(row[column]), string(cell), "%s of %s", column, c.Row)
		}
	}
	requireSameLines(t, sorted(want), sorted(got), "%s: changes", x.name)
}

func partitionEvent(topic string, id int, op, before, after string) record {
	return keyed(topic, 0, fmt.Sprintf(`{"id":%d}`, id), fmt.Sprintf(`{"before":%s,"after":%s,"op":%q,"ts_ms":1,"source":{}}`, before, after, op))
}

// TestPartitionExpiry: of the same rows and options the sink drops the partitions that the real Paimon drops; every reader sees
// what is left, and a streaming reader still gets all changes from the long-lived changelog.
func TestPartitionExpiry(t *testing.T) {
	t.Parallel()
	l := newLake(t, disk)
	days := []string{"2000-01-01", "2999-12-31", "no date", "2001-02-03", ""}
	var changes, rows []string
	script := `{"op":"create","columns":[{"name":"id","type":"INT"},{"name":"dt","type":"STRING"}],"primaryKeys":["dt","id"],"partitionKeys":["dt"],` +
		`"options":{"bucket":"1","changelog-producer":"input","partition.expiration-time":"7 d","partition.timestamp-formatter":"yyyy-MM-dd",` +
		`"partition.expiration-check-interval":"0 s","snapshot.num-retained.min":"1","snapshot.num-retained.max":"1",` +
		`"changelog.num-retained.max":"1000","changelog.time-retained":"10 d","write-only":"WRITEONLY"}}` + "\n"
	for i, day := range days {
		row := fmt.Sprintf(`{"id":%d,"dt":%q}`, i, day)
		script += fmt.Sprintf(`{"kind":"+I","row":%s}`+"\n"+`{"op":"commit"}`+"\n", row)
		changes = append(changes, row)
		if !strings.HasPrefix(day, "200") {
			rows = append(rows, row)
		}
	}
	paimon, ours := l.table("late.paimon"), l.table("late.ours")
	for _, x := range []target{paimon, ours} {
		text := strings.ReplaceAll(script, "WRITEONLY", fmt.Sprint(x == ours))
		shared.java.must(t, x.java("write", "--input", writeFile(t, "script.jsonl", text))...)
	}
	requireSameLines(t, sorted(rows), sorted(paimon.agreed(t)), "the real Paimon's")
	require.Len(t, ours.agreed(t), len(days))
	sink(t, ours.cli("expire", "--partitions")...)
	requireSameLines(t, sorted(rows), sorted(ours.agreed(t)), "ours")
	require.Len(t, ours.snapshots(t), 1)
	var streamed []string
	for _, c := range ours.changes(t) {
		require.Equal(t, "+I", c.Kind)
		streamed = append(streamed, string(c.Row))
	}
	requireSameLines(t, sorted(changes), sorted(streamed), "the changelog")
	ours.fsck(t, "--replay", "none") // a dropped partition sends no deletes, Paimon's neither
}
