package debezium

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

var rewrite = flag.Bool("rewrite", false, "write the table of docs/types.md")

// The table of types in docs/types.md lies between these lines.
const (
	typesFile  = "../docs/types.md"
	tableBegin = "<!-- Made of the captured events: run make rewrite. -->\n"
	tableEnd   = "<!-- The end of what is made. -->\n"
)

// TestTypesReference holds the table of docs/types.md against what the captured events become; -rewrite writes it anew.
func TestTypesReference(t *testing.T) {
	text := tableBegin
	for _, db := range []struct{ name, title string }{{"pg", "PostgreSQL"}, {"my", "MySQL and MariaDB"}} {
		text += "\n### " + db.title + "\n\n| source type | source value | Paimon type and value | with other modes |\n|---|---|---|---|\n" + renderTypes(t, db.name)
	}
	text += "\n" + tableEnd
	have, err := os.ReadFile(typesFile)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(have), tableBegin)
	require.True(t, ok, "no line %q", tableBegin)
	_, tail, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok, "no line %q", tableEnd)
	if *rewrite {
		require.NoError(t, os.WriteFile(typesFile, []byte(head+text+tail), 0o644))
		return
	}
	require.Equal(t, text, tableBegin+rest[:len(rest)-len(tail)], "docs/types.md is out of date: run make rewrite")
}

// modes are the settings of each captured run, by the family of types that they are for.
var modes = map[string]map[string]string{
	"pg_b_types_p1_default": {},
	"pg_b_types_p2_string": {
		"decimal": "`decimal.handling.mode=string`", "binary": "`binary.handling.mode=base64`", "time": "`time.precision.mode=adaptive_time_microseconds`",
		"hstore": "`hstore.handling.mode=map`", "interval": "`interval.handling.mode=string`",
	},
	"pg_b_types_p3_double":      {"decimal": "`decimal.handling.mode=double`", "binary": "`binary.handling.mode=hex`", "time": "`time.precision.mode=connect`"},
	"pg_b_types_p4_isostring":   {"binary": "`binary.handling.mode=base64-url-safe`", "time": "`time.precision.mode=isostring`"},
	"pg_b_types_p6_nanoseconds": {"time": "`time.precision.mode=nanoseconds`"},
	"my_b_types_p1_default":     {},
	"my_b_types_p2_string": {
		"decimal": "`decimal.handling.mode=string`", "binary": "`binary.handling.mode=base64`", "unsigned": "`bigint.unsigned.handling.mode=precise`",
	},
	"my_b_types_p4_isostring": {
		"binary": "`binary.handling.mode=base64-url-safe`", "time": "`time.precision.mode=isostring`", "unsigned": "`column.propagate.source.type=.*`",
	},
	"my_b_types_p5_microseconds": {"time": "`time.precision.mode=microseconds`"},
	"my_b_types_p6_nanoseconds":  {"time": "`time.precision.mode=nanoseconds`"},
	"my_b_types_p7_converters":   {"tinyint": "`TinyIntOneToBooleanConverter`"},
}

// family is the setting that decides over a source type; empty for none.
func family(kind string) string {
	kind = strings.TrimSuffix(kind, "[]")
	switch {
	case strings.HasPrefix(kind, "numeric"), strings.HasPrefix(kind, "decimal"), kind == "money":
		return "decimal"
	case kind == "bytea", strings.Contains(kind, "binary"), strings.Contains(kind, "blob"):
		return "binary"
	case kind == "hstore", kind == "interval":
		return kind
	case kind == "date", strings.HasPrefix(kind, "time"), strings.HasPrefix(kind, "datetime"):
		return "time"
	case strings.HasPrefix(kind, "bigint") && strings.Contains(kind, "unsigned"):
		return "unsigned"
	case kind == "tinyint(1)":
		return "tinyint"
	}
	return ""
}

// example is a value in the source and in the table.
type example struct{ source, typ, value string }

func renderTypes(t *testing.T, db string) string {
	byDefault := typeExamples(t, db+"_b_types_p1_default", nil)
	others := map[string][]string{}
	for _, run := range slices.Sorted(maps.Keys(modes)) {
		if !strings.HasPrefix(run, db) || len(modes[run]) == 0 {
			continue
		}
		for kind, e := range typeExamples(t, run, byDefault) {
			if setting := modes[run][family(kind)]; setting != "" && e != byDefault[kind] {
				others[kind] = append(others[kind], fmt.Sprintf("%s: `%s` `%s`", setting, e.typ, e.value))
			}
		}
	}
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(byDefault)) {
		e := byDefault[kind]
		line := fmt.Sprintf("| %s | `%s` | `%s` `%s` | %s |", kind, e.source, e.typ, e.value, strings.Join(others[kind], "; "))
		b.WriteString(strings.TrimSuffix(line, " |") + " |\n")
	}
	return b.String()
}

// typeExamples are a value for each source type of a run: the first of the stream that is not null, or that of like.
func typeExamples(t *testing.T, run string, like map[string]example) map[string]example {
	fix := loadFixture(t, run)
	types := profileTypes[run]
	types.Infinity = InfinityNull
	fo := &folder{t: t, decoder: NewDecoder(Config{}), types: types, tables: map[string]*folded{}}
	for i := range fix.records["json_schema"] {
		fo.add(&fix.records["json_schema"][i])
	}
	out := map[string]example{}
	for _, topic := range slices.Sorted(maps.Keys(fo.tables)) {
		tab := fo.tables[topic]
		want := fix.Expected[topic[strings.IndexByte(topic, '.')+1:]]
		for _, f := range tab.schema.Fields {
			kind := want.Columns[f.Name]
			for _, row := range want.Rows {
				cells, ok := tab.rows[*row["id"]+"\x00"]
				if _, done := out[kind]; done || !ok || row[f.Name] == nil || cells[f.Name] == "null" || f.Name == "id" {
					continue
				}
				e := example{shorten(*row[f.Name]), shortType(f.Type.Nullable()), shorten(cells[f.Name])}
				if like == nil || like[kind].source == e.source {
					out[kind] = e
				}
			}
		}
	}
	return out
}

// shorten makes a value fit for a cell of a table.
func shorten(s string) string {
	s = strings.NewReplacer("|", `\|`, "`", "'", "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", `\0`).Replace(s)
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// shortType writes nested types as SQL does.
func shortType(t table.Type) string {
	switch t.Root {
	case table.Array:
		return "ARRAY<" + shortType(*t.Element) + ">"
	case table.Map:
		return "MAP<" + shortType(*t.Key) + ", " + shortType(*t.Element) + ">"
	case table.RowType:
		var parts []string
		for _, f := range t.Fields {
			parts = append(parts, f.Name+" "+shortType(f.Type))
		}
		return "ROW<" + strings.Join(parts, ", ") + ">"
	}
	return strings.TrimSuffix(t.String(), " NOT NULL")
}
