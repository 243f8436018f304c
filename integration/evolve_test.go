//go:build integration

package integration

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// evolving is d_schema of a database: one table through every kind of ALTER TABLE, renamed at the end.
type evolving struct {
	from     capture
	db       string
	topics   []string // products, goods
	encoding string
	prefix   string
}

func loadEvolving(t testing.TB, db, encoding string) evolving {
	t.Helper()
	e := evolving{from: captures(t, db+"_d_schema_*")[0], db: db, encoding: encoding, prefix: slug(t) + "." + encoding + "."}
	e.topics = []string{db + "." + schemaTable(db) + ".products", db + "." + schemaTable(db) + ".goods"}
	return e
}

// records are the first n of products, and all of goods behind.
func (e evolving) records(t testing.TB, ids map[uint32]uint32) []record {
	return append(e.from.of(t, e.encoding, e.topics[0], e.prefix, ids), e.from.of(t, e.encoding, e.topics[1], e.prefix, ids)...)
}

// mapping has a type for each column whose types at the source have none in common.
func (e evolving) mapping(more ...config) config {
	columns := config{"id": "BIGINT NOT NULL", "code": "STRING"}
	if e.db == "pg" {
		columns["extra"] = "STRING" // an INT, then a BOOLEAN
	}
	m := config{
		"topic": []string{e.prefix + e.topics[0], e.prefix + e.topics[1]}, "table": "shop.goods", "columns": columns,
		"options": config{"bucket": "1"}, "on-missing-before": "accept", "disjoint": true,
	}
	for _, c := range more {
		m = m.with(c)
	}
	return m
}

// evolvedDifferences are the cells that no event tells: rows that a statement changed without an event (33), and a row that the new
// key (id, grade) tells apart, while the table keeps its key (id).
var evolvedDifferences = map[string]differences{
	"pg": {
		"code 3,4,5,6,7,8,9,10,11,12": "33: ALTER COLUMN .. TYPE .. USING sends nothing",
		"colour 7":                    "33: RENAME COLUMN sends nothing",
		"extra 1,3,4,5,6,7,8,9,10,11,12,13,14,16,17": "33: ADD COLUMN with a default sends nothing; 17 keeps what the dropped column held",
		wholeRow + " 21": "the key grew",
	},
	"my": {
		"extra 1,3,4,5,6,7,8,9,10,11,12,13,14,17,18": "33: ADD COLUMN with a default sends nothing; 17 and 18 keep what the dropped column held",
		wholeRow + " 21": "the key grew",
	},
}

// TestEvolution replays a table whose columns are added, dropped, renamed, widened, retyped and added again, whose defaults
// and key change and that is renamed, into one table.
func TestEvolution(t *testing.T) {
	url, err := registry()
	require.NoError(t, err)
	for _, db := range []string{"pg", "my"} {
		for _, encoding := range []string{"json_schema", "avro"} {
			t.Run(db+"/"+encoding, func(t *testing.T) {
				t.Parallel()
				e := loadEvolving(t, db, encoding)
				var ids map[uint32]uint32
				if encoding == "avro" {
					ids = post(t, url, e.from.schemas)
				}
				replay(t, e.records(t, ids))
				l := newLake(t, disk)
				c := newConfig(l, slug(t), e.mapping(config{"primary-key": []string{"id"}})).with(config{"registry": config{"url": url}})
				catchUp(t, c)
				x := l.table("shop.goods")
				rows := x.agreed(t)
				source := e.from.truths[schemaTable(db)+".goods"]
				source.PrimaryKey = []string{"id"}
				source.Rows = slices.DeleteFunc(source.Rows, func(row map[string]*string) bool {
					return row["id"] != nil && *row["id"] == "21" && *row["grade"] == "2"
				})
				requireTruth(t, db, source, x.schema(t), rows, evolvedDifferences[db])
				requireFold(t, x.changes(t), []string{"id"}, rows)
				x.fsck(t, "--replay", "all")
				require.Greater(t, len(x.list(t, "schema/schema-")), 1, "the schema did not change")
			})
		}
	}
}

// TestEvolutionPolicies: what `schema-change` says of new columns and of types that do not fit. Under ignore, values that do not fit
// are bad records; under dead-letter the tombstone of a delete that was put aside deletes row 2, since on-missing-before accepts it.
func TestEvolutionPolicies(t *testing.T) {
	for _, encoding := range []string{"json_schema", "avro"} {
		t.Run(encoding, func(t *testing.T) { evolutionPolicies(t, encoding) })
	}
}

func evolutionPolicies(t *testing.T, encoding string) {
	url, err := registry()
	require.NoError(t, err)
	e := loadEvolving(t, "pg", encoding)
	var ids map[uint32]uint32
	if encoding == "avro" {
		ids = post(t, url, e.from.schemas)
	}
	replay(t, e.records(t, ids))
	plain := func(more config) config { // without the types that take both
		m := e.mapping(config{"topic": e.prefix + e.topics[0]}).with(more)
		delete(m, "columns")
		return m
	}
	for policy, test := range map[string]struct {
		says    []string // empty: the run goes well
		rows    []int    // their ids
		columns []string
		more    config
	}{
		"evolve":      {rows: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, says: []string{"products", "partition 0", "column code", "INT", "STRING"}, columns: []string{"id", "name", "qty", "price", "code", "old_note", "color", "grade", "colour"}},
		"fail":        {rows: []int{1, 2, 3, 4}, says: []string{"products", "partition 0", "offset 4", "add color", "schema-change"}, columns: []string{"id", "name", "qty", "price", "code", "old_note"}},
		"ignore":      {rows: []int{1, 3, 4, 5, 6, 7, 8, 10, 14}, more: config{"on-error": "skip"}, columns: []string{"id", "name", "qty", "price", "code", "old_note"}},
		"dead-letter": {rows: []int{1, 3, 4}, columns: []string{"id", "name", "qty", "price", "code", "old_note"}},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			l := newLake(t, disk)
			c := newConfig(l, slug(t), plain(config{"schema-change": policy}.with(test.more))).with(config{"dead-letter": config{"path": "_dead"}, "registry": config{"url": url}})
			if test.says != nil {
				code, said := refused(t, environment(), "run", "-c", c.write(t), "--until-end")
				require.Equal(t, 1, code)
				says(t, said, test.says...)
			} else {
				catchUp(t, c)
			}
			x := l.table("shop.goods")
			var columns []string
			for _, f := range x.schema(t).Fields {
				columns = append(columns, f.Name)
			}
			require.Equal(t, test.columns, columns)
			rows := x.agreed(t)
			var ids []int
			for _, row := range rows {
				var cells struct{ ID int }
				require.NoError(t, json.Unmarshal([]byte(row), &cells))
				ids = append(ids, cells.ID)
			}
			require.Equal(t, test.rows, ids)
			requireFold(t, x.changes(t), []string{"id"}, rows)
			x.fsck(t, "--replay", "all")
		})
	}
}

// TestKeyGrown: without `primary-key:` the record key is the table's, and a column more in it is refused.
func TestKeyGrown(t *testing.T) {
	t.Parallel()
	e := loadEvolving(t, "my", "json_schema")
	replay(t, e.records(t, nil))
	l := newLake(t, disk)
	c := newConfig(l, slug(t), e.mapping(config{"topic": e.prefix + e.topics[0]}))
	code, said := refused(t, environment(), "run", "-c", c.write(t), "--until-end")
	require.Equal(t, 1, code)
	says(t, said, "products", "partition 0", "[id, grade]", "primary key", "primary-key:")
	x := l.table("shop.goods")
	requireFold(t, x.changes(t), []string{"id"}, x.agreed(t))
}

// TestOldEventsAfterNewSchema: events of the first form come once more, as after a restart of the connector.
func TestOldEventsAfterNewSchema(t *testing.T) {
	t.Parallel()
	e := loadEvolving(t, "my", "json_schema")
	records := e.from.of(t, e.encoding, e.topics[0], e.prefix, nil)
	replay(t, append(slices.Clone(records), records[:3]...))
	l := newLake(t, disk)
	catchUp(t, newConfig(l, slug(t), e.mapping(config{"topic": e.prefix + e.topics[0], "primary-key": []string{"id"}})))
	x := l.table("shop.goods")
	rows := x.agreed(t)
	require.JSONEq(t, `{"id":1,"name":"bolt","qty":10,"price":"1.1000","code":"100","old_note":"a","color":null,"grade":null,"colour":null,"extra":null}`, rows[0])
	requireFold(t, x.changes(t), []string{"id"}, rows)
	x.fsck(t, "--replay", "all")
}
