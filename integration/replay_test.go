//go:build integration

package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Captured events of two real databases become tables that every reader sees as the source was, with a changelog that
// folds to them.

var encodings = []string{"json", "json_schema", "json_options", "json_schema_options"}

// customerColumns are the types that schemaless events do not carry.
var customerColumns = config{
	"columns": config{
		"id": "INT NOT NULL", "first_name": "STRING NOT NULL", "email": "STRING", "balance": "DECIMAL(10, 2) NOT NULL",
		"level": "INT", "created_at": "TIMESTAMP(6) NOT NULL",
	},
}

// schemaless adds columns and what the connector was told about decimals, where the events carry no schema.
func schemaless(encoding string, columns config, decimals string) config {
	if strings.HasPrefix(encoding, "json_schema") || encoding == "avro" {
		return config{}
	}
	if strings.HasSuffix(encoding, "_options") {
		decimals = "number" // decimal.format=numeric
	}
	return columns.with(config{"types": config{"decimal": decimals}})
}

func schemaTable(db string) string { return map[string]string{"pg": "public", "my": "shop"}[db] }

// nullAsDefault is a NULL that the converter sent as the column's default (fact 11).
func nullAsDefault(encoding string, cells ...string) differences {
	if strings.HasSuffix(encoding, "_options") {
		return nil
	}
	known := differences{}
	for _, cell := range cells {
		known[cell] = "11: a NULL is sent as the column's default"
	}
	return known
}

func TestReplayBasic(t *testing.T) {
	for _, db := range []string{"pg", "my"} {
		for _, encoding := range encodings {
			for _, kind := range []string{disk, s3} {
				t.Run(db+"/"+encoding+"/"+kind, func(t *testing.T) {
					t.Parallel()
					replayBasic(t, db, encoding, kind)
				})
			}
		}
	}
}

func replayBasic(t *testing.T, db, encoding, kind string) {
	topic := slug(t) + "." + db + "." + schemaTable(db) + ".customers"
	records := events(t, db+"/a_basic", encoding, slug(t)+".", func(topic string) bool { return strings.HasSuffix(topic, ".customers") })
	replay(t, records)
	mapping := table(topic, "shop.customers", config{"options": config{"bucket": "2"}}, schemaless(encoding, customerColumns, "base64"))
	if db == "pg" { // REPLICA IDENTITY DEFAULT: see TestMissingBefore
		mapping["on-missing-before"] = "accept"
	}
	l := newLake(t, kind)
	catchUp(t, newConfig(l, slug(t), mapping))

	x := l.table("shop.customers")
	rows := x.agreed(t)
	requireTruth(t, db, expected(t, db+"/a_basic")[schemaTable(db)+".customers"], x.schema(t), rows, nullAsDefault(encoding, "level 12"))
	changes := x.changes(t)
	requireFold(t, changes, []string{"id"}, rows)
	if db == "my" {
		requirePairs(t, changes, []string{"id"})
		requireTrueImages(t, changes, []string{"id"})
		require.Equal(t, map[string]int{"+I": 20, "-U": 9, "+U": 9, "-D": 8}, kinds(changes))
		x.fsck(t)
	} else {
		require.Equal(t, map[string]int{"+I": 20, "+U": 10, "-D": 8}, kinds(changes), "no -U is made up")
		x.fsck(t, "--replay", "all")
	}
	ends := endOffsets(t, topic)
	require.Equal(t, map[string]map[int32]int64{topic: ends}, x.latest(t).covered(t), "offsets in the snapshot")
	require.Equal(t, map[string]map[int32]int64{topic: ends}, groupOffsets(t, slug(t)), "offsets of the group")
}

// orderColumns are those of g_bulk; MySQL's paid is a TINYINT(1).
func orderColumns(db string) config {
	columns := config{
		"id": "INT NOT NULL", "customer_id": "INT NOT NULL", "product": "STRING NOT NULL", "quantity": "INT NOT NULL",
		"amount": "DECIMAL(12, 2) NOT NULL", "status": "STRING NOT NULL", "city": "STRING", "note": "STRING",
		"paid": "BOOLEAN NOT NULL", "created_at": "TIMESTAMP(6) NOT NULL", "updated_at": "TIMESTAMP(6) NOT NULL", "version": "INT NOT NULL",
	}
	if db == "my" {
		columns["paid"] = "SMALLINT NOT NULL"
	}
	return config{"columns": columns}
}

// bulkDecimals is how the connector of g_bulk was told to send decimals.
var bulkDecimals = map[string]string{"pg": "base64", "my": "string"}

// bulkTable maps the 240,000 records of g_bulk.
func bulkTable(db, topic string, more ...config) config {
	return table(topic, "shop.orders", append([]config{schemaless("json", orderColumns(db), bulkDecimals[db]),
		{"options": config{"bucket": "4"}}}, more...)...)
}

func ordersTopic(db string) string { return db + "." + schemaTable(db) + ".orders" }

// TestReplayBulk replays 220,000 changes, in many snapshots, whose images are all full.
func TestReplayBulk(t *testing.T) {
	for db, kind := range map[string]string{"pg": disk, "my": s3} {
		t.Run(db+"/"+kind, func(t *testing.T) {
			t.Parallel()
			replay(t, events(t, db+"/g_bulk", "json", slug(t)+".", func(topic string) bool { return topic == ordersTopic(db) }))
			topic := slug(t) + "." + ordersTopic(db)
			l := newLake(t, kind)
			catchUp(t, newConfig(l, slug(t), bulkTable(db, topic)).with(config{"checkpoint": config{"interval": "1h", "records": 30000}}))

			x := l.table("shop.orders")
			require.Greater(t, len(x.snapshots(t)), 1, "one snapshot proves little")
			rows := x.agreed(t)
			requireTruth(t, db, expected(t, db+"/g_bulk")[schemaTable(db)+".orders"], x.schema(t), rows, nil)
			changes := x.changes(t)
			requireFold(t, changes, []string{"id"}, rows)
			requirePairs(t, changes, []string{"id"})
			requireTrueImages(t, changes, []string{"id"})
			x.fsck(t)
			require.Equal(t, endOffsets(t, topic), x.latest(t).covered(t)[topic])
		})
	}
}

// TestMissingBefore replays updates without before image: refused with the way out, or accepted by configuration.
func TestMissingBefore(t *testing.T) {
	t.Parallel()
	topic := slug(t) + ".pg.public.customers"
	replay(t, events(t, "pg/a_basic", "json_schema", slug(t)+".", nil))
	l := newLake(t, disk)
	c := newConfig(l, slug(t), table(topic, "shop.customers"))
	code, said := refused(t, environment(), "run", "-c", c.write(t), "--until-end")
	require.Equal(t, 1, code)
	says(t, said, topic, "partition 0", "offset", "ALTER TABLE", "public.customers", "REPLICA IDENTITY FULL", "on-missing-before", "accept")

	x := l.table("shop.customers")
	stopped := x.latest(t).covered(t)[topic][0]
	require.Less(t, stopped, endOffsets(t, topic)[0], "offsets pass the record")
	requireFold(t, x.changes(t), []string{"id"}, x.agreed(t))

	c["tables"] = []config{table(topic, "shop.customers", config{"on-missing-before": "accept"})}
	catchUp(t, c)
	rows := x.agreed(t)
	requireTruth(t, "pg", expected(t, "pg/a_basic")["public.customers"], x.schema(t), rows, nullAsDefault("json_schema", "level 12"))
	requireFold(t, x.changes(t), []string{"id"}, rows)
	x.fsck(t, "--replay", "all")
}
