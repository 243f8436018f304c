//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// captured is one table of TestEncodings: a topic of a capture in one encoding.
type captured struct {
	from     *capture
	encoding string
	topic    string // as the connector named it
	source   string // "public.t_int"
	x        target
}

// cases are the names that captureDifferences uses.
func (c captured) name() string { return c.from.db + "_" + c.from.profile }

// TestEncodings replays every capture of both databases in every encoding, Avro with a real registry: two runs of the sink
// with hundreds of tables each. The second is for JSON without schema, into tables that exist as the schemas would have made
// them. Tables without a key and changing tables have tests of their own.
func TestEncodings(t *testing.T) {
	url, err := registry()
	require.NoError(t, err)
	all := captures(t, "*_*")
	schemas := map[string]json.RawMessage{}
	for i := range all {
		for id, schema := range all[i].schemas {
			schemas[id] = schema
		}
	}
	ids := post(t, url, schemas)
	l := newLake(t, disk)
	declared, bare := capturedTables(all, l)
	produceCaptured(t, append(slices.Clone(declared), bare...), ids)
	runCaptured(t, "declared", url, l, declared)
	for _, c := range bare {
		copySchema(t, l.table(tableName(c.from, "json_schema", c.topic)), c.x)
	}
	runCaptured(t, "bare", url, l, bare)

	met := map[string]bool{}
	groups := map[string][]captured{}
	for _, c := range append(declared, bare...) {
		group := c.name() + "/" + c.encoding
		groups[group] = append(groups[group], c)
	}
	seen := make(chan string, 1<<17)
	t.Run("tables", func(t *testing.T) {
		for group, tables := range groups {
			t.Run(group, func(t *testing.T) {
				t.Parallel()
				for _, c := range tables {
					requireCaptured(t, c, seen)
				}
			})
		}
	})
	close(seen)
	for why := range seen {
		met[why] = true
	}
	if !t.Failed() {
		for _, d := range captureDifferences {
			require.True(t, met[d.String()], "the known difference is none: take it off the list: %v", d)
		}
	}
}

// capturedTables are the tables of TestEncodings, those of JSON without schema apart.
func capturedTables(all []capture, l lake) (declared, bare []captured) {
	for i := range all {
		from := &all[i]
		if strings.HasPrefix(from.profile, "d_schema") {
			continue // TestEvolution
		}
		for encoding := range from.records {
			for _, topic := range from.topics(encoding, func(topic string) bool { return from.truthOf(topic) != "" }) {
				c := captured{from: from, encoding: encoding, topic: topic, source: from.truthOf(topic)}
				c.x = l.table(tableName(from, encoding, topic))
				if strings.HasPrefix(encoding, "json_schema") || encoding == "avro" {
					declared = append(declared, c)
				} else {
					bare = append(bare, c)
				}
			}
		}
	}
	return declared, bare
}

// truthOf is the source table whose rows a topic carries; empty for other topics.
func (c *capture) truthOf(topic string) string {
	_, source, _ := strings.Cut(topic, ".")
	switch {
	case strings.HasSuffix(source, ".orders_all"):
		return source
	case strings.HasSuffix(source, ".Weird_Table"):
		return strings.Replace(source, "_", " ", 1)
	case source == "shop2.elsewhere":
		return "shop2.moved"
	}
	if _, ok := c.truths[source]; ok {
		return source
	}
	return ""
}

// tableName is a table of its own for each topic of a capture in an encoding.
func tableName(c *capture, encoding, topic string) string {
	return c.db + "_" + c.profile + "_" + encoding + "." + strings.NewReplacer(".", "_", " ", "_").Replace(topic)
}

func (c captured) prefix() string { return "encodings." + c.name() + "." + c.encoding + "." }

func produceCaptured(t testing.TB, tables []captured, ids map[uint32]uint32) {
	t.Helper()
	var topics []string
	var records []record
	for _, c := range tables {
		topics = append(topics, c.prefix()+c.topic)
		records = append(records, c.from.of(t, c.encoding, c.topic, c.prefix(), ids)...)
	}
	createTopics(t, topics)
	produce(t, records)
}

// decimalModes and binaryModes are the connectors' settings, which JSON without schema does not tell.
var (
	decimalModes = map[string]string{"p2_string": "string", "p3_double": "number", "p2_hex": "string"}
	binaryModes  = map[string]string{"p3_double": "hex", "p4_isostring": "base64-url-safe", "p2_hex": "hex"}
)

func (c captured) mapping() config {
	types := config{"infinity": "null", "nan": "null"}
	profile := c.from.profile[2:] // after "b_"
	profile = profile[strings.IndexByte(profile, '_')+1:]
	if strings.HasPrefix(c.from.profile, "b_types") && profile != "p4_isostring" {
		types["time"] = "int64" // 24:00:00 and MySQL's 838:59:59
	}
	if mode := binaryModes[profile]; mode != "" {
		types["binary"] = mode
	}
	if profile == "p2_hex" {
		types["unavailable"] = "__gone"
	}
	if !strings.HasPrefix(c.encoding, "json_schema") && c.encoding != "avro" {
		types["decimal"] = "base64"
		if mode := decimalModes[profile]; mode != "" && c.source != "shop.t_int" { // bigint.unsigned.handling.mode=precise
			types["decimal"] = mode
		}
		if strings.HasSuffix(c.encoding, "_options") {
			types["decimal"] = "number"
		}
		if types["binary"] == nil {
			types["binary"] = "base64"
		}
	}
	m := table(c.prefix()+c.topic, c.x.name, config{
		"options": config{"bucket": "1"}, "types": types, "on-missing-before": "accept", "on-truncate": "apply",
	})
	switch c.source {
	case "public.t_time_special", "public.t_toast_default": // 18: beyond microseconds; 3: no value for a NOT NULL column
		m["on-error"] = "skip"
	case "public.orders_all", "shop.orders_all": // 7: a shard's id is wider
		m["columns"], m["disjoint"] = config{"id": "BIGINT NOT NULL"}, true
	}
	return m
}

func runCaptured(t testing.TB, name, url string, l lake, tables []captured) {
	t.Helper()
	mappings := make([]config, len(tables))
	for i, c := range tables {
		mappings[i] = c.mapping()
	}
	began := time.Now()
	c := newConfig(l, "encodings-"+name, mappings...).with(config{"registry": config{"url": url}, "checkpoint": config{"interval": "1m"}, "memory": "256MiB"})
	catchUp(t, c)
	t.Logf("%s: %d tables in %v", name, len(tables), time.Since(began))
}

// copySchema makes a table with the newest schema of another.
func copySchema(t testing.TB, pattern, x target) {
	t.Helper()
	names := pattern.list(t, "schema/schema-")
	require.NotEmpty(t, names, "%s has no schema", pattern.name)
	var s map[string]any
	require.NoError(t, json.Unmarshal(pattern.get(t, newest(names)), &s))
	s["id"] = 0
	require.NoError(t, os.MkdirAll(filepath.Join(x.dir(), "schema"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(x.dir(), "schema", "schema-0"), []byte(jsonText(t, s)), 0o644))
}

// requireCaptured wants a table's rows, read by the real Paimon, to be the source's, and the changelog to fold to them.
func requireCaptured(t *testing.T, c captured, seen chan<- string) {
	rows := c.x.rows(t, "paimon", 0)
	schema := c.x.schema(t)
	for _, wrong := range c.compare(t, schema, rows, seen) {
		t.Error(wrong)
	}
	changes := parseChanges(t, shared.java.must(t, c.x.java("changelog", "--mode", "earliest")...))
	requireFold(t, changes, schema.PrimaryKeys, rows)
	if c.encoding == "avro" && c.source != "public.t_time_special" { // Python's calendar
		requireSameLines(t, rows, c.x.rows(t, "pypaimon", 0), "%s: paimon and pypaimon read different rows", c.x.name)
	}
}

// compare returns what differs from the source but for captureDifferences; those met go to seen.
func (c captured) compare(t *testing.T, s schema, rows []string, seen chan<- string) []string {
	source := c.truth()
	types := map[string]json.RawMessage{}
	for _, f := range s.Fields {
		types[f.Name] = compact(t, f.Type)
	}
	var wrong []string
	report := func(column, key string, err error) {
		for _, d := range captureDifferences {
			if d.covers(c, column, key) {
				seen <- d.String()
				return
			}
		}
		wrong = append(wrong, fmt.Sprintf("%s %s %s: row %s column %s (%s, %s): %v", c.name(), c.encoding, c.source, key, column, source.Columns[column], types[column], err))
	}
	left := make([]map[string]json.RawMessage, len(rows))
	for i, row := range rows {
		require.NoError(t, json.Unmarshal([]byte(row), &left[i]))
	}
	holds := func(column string, want map[string]*string, cells map[string]json.RawMessage) error {
		if _, has := types[column]; !has {
			return fmt.Errorf("the table has no column %s", column)
		}
		return modeHolds(c.from.db, source.Columns[column], want[column], types[column], cells[column])
	}
	key := slices.DeleteFunc(slices.Clone(s.PrimaryKeys), func(name string) bool { _, ok := source.Columns[name]; return !ok })
	for _, want := range source.Rows {
		i := slices.IndexFunc(left, func(cells map[string]json.RawMessage) bool {
			return !slices.ContainsFunc(key, func(name string) bool { return holds(name, want, cells) != nil })
		})
		var id []string
		for _, name := range key {
			id = append(id, show(want[name]))
		}
		label := strings.ReplaceAll(strings.Join(id, ","), `"`, "")
		if i < 0 {
			report(wholeRow, label, fmt.Errorf("the table has no such row"))
			continue
		}
		for column := range source.Columns {
			if err := holds(column, want, left[i]); err != nil {
				report(column, label, err)
			}
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		report(extraRows, "", fmt.Errorf("%d rows that the source does not have, such as %s", len(left), jsonText(t, left[0])))
	}
	return wrong
}

// avroName is a name as field.name.adjustment.mode=avro writes it.
func avroName(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if safe[0] >= '0' && safe[0] <= '9' {
		return "_" + safe
	}
	return safe
}

// renamed has each column under another name.
func (source truth) renamed(name func(string) string) truth {
	out := truth{Columns: map[string]string{}}
	for column, kind := range source.Columns {
		out.Columns[name(column)] = kind
	}
	for _, row := range source.Rows {
		cells := map[string]*string{}
		for column, text := range row {
			cells[name(column)] = text
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// truth is the source table; the shards of one topic are one table.
func (c captured) truth() truth {
	database, name, _ := strings.Cut(c.source, ".")
	if strings.HasSuffix(c.from.profile, "_avro_names") {
		return c.from.truths[c.source].renamed(avroName)
	}
	if name != "orders_all" {
		return c.from.truths[c.source]
	}
	var all truth
	for _, shard := range []string{"orders_shard1", "orders_shard2", "orders_shard3"} {
		one := c.from.truths[database+"."+shard]
		all.Columns = one.Columns
		all.Rows = append(all.Rows, one.Rows...)
	}
	return all
}
