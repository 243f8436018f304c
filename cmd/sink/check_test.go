package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// put writes records without a schema part; an empty value is a tombstone.
func (b *broker) put(topic string, values ...string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	require.NoError(b.t, err)
	defer client.Close()
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Key: []byte(`{"id":1}`)}
		if v != "" {
			r.Value = []byte(v)
		}
		require.NoError(b.t, client.ProduceSync(b.t.Context(), r).FirstErr())
	}
}

// TestCheckAgreesWithRun holds check to its word: it succeeds where run does and fails where a table would stop, for the
// mistakes of a beginner.
func TestCheckAgreesWithRun(t *testing.T) {
	b := newBroker(t)
	b.produce(500)
	for _, topic := range []string{"junk", "plain", "mixed", "tomb", "wide", "text", "update"} {
		require.NoError(t, b.cluster.CreateTopic(topic, 1, nil))
	}
	const event = `{"before":null,"after":{"id":1},"source":{"db":"d","table":"t"},"op":"c","ts_ms":1}`
	b.put("junk", "hello")
	b.put("plain", event)
	b.put("tomb", "")
	b.put("mixed", "hello", event)
	b.put("wide", event, strings.Replace(event, `"id":1`, `"id":1,"day":"2024-12-30"`, 1))
	b.put("text", strings.Replace(event, `"id":1`, `"id":1,"n":"many"`, 1))
	b.put("update", strings.Replace(event, `"op":"c"`, `"op":"u"`, 1))
	for i, c := range []struct {
		topic, keys string
		want        string // in the messages of check; empty: both are fine
	}{
		{ordersTopic, "", ""},
		{ordersTopic, "options: {bucket: -1}", "bucket is -1"},
		{ordersTopic, "options: {bucket: -2}", "bucket is -2"},
		{ordersTopic, "options: {merge-engine: newest}", "set it to deduplicate"},
		{ordersTopic, "options: {merge-engine: aggregation}", ""},
		{ordersTopic, "options: {merge-engine: aggregation, fields.status.aggregate-function: theta_sketch}",
			"option fields.status.aggregate-function is theta_sketch, which the sink does not have: leave that table to Paimon's own writers"},
		{ordersTopic, "options: {merge-engine: aggregation, fields.status.aggregate-function: count}", "which is no function of Paimon"},
		{ordersTopic, "options: {changelog-producer: lookup}", ""},
		{ordersTopic, "options: {changelog-producer: compaction}", "set it to none or input or lookup or full-compaction"},
		{ordersTopic, "options: {merge-engine: first-row}", "first-row goes with none or lookup only"},
		{ordersTopic, "options: {file.format: orc}", "set it to parquet"},
		{ordersTopic, "options: {file.format: avro}", "set it to parquet"},
		{ordersTopic, "options: {deletion-vectors.enabled: true}", "deletion-vectors.enabled"},
		{ordersTopic, "primary-key: [nosuch]", "primary-key names nosuch, which is no column; there are: id, customer_id, status"},
		{ordersTopic, "partition-by: [nosuch]", "partition-by names nosuch, which is no column"},
		{ordersTopic, "partition-by: [customer_id], primary-key: [id]", "customer_id"},
		{ordersTopic, "partition-by: [customer_id]", ""},
		{ordersTopic, "metadata: {op: op}", ""},
		{"junk", "", "set on-error to dead-letter or skip"},
		{"junk", "on-error: skip", ""},
		{"plain", "", "name its columns under `columns:`"},
		{"plain", "columns: {id: BIGINT}", ""},
		{"plain", "columns: {id: BIGINT}, primary-key: [key]", "primary-key names key"},
		{"plain", "infer: true", ""},
		{"plain", "infer: true, columns: {id: INT}", ""},
		{"plain", "infer: true, partition-by: [day]", "day"},
		{"tomb", "", "set on-missing-before to accept"},
		{"tomb", "columns: {id: BIGINT}, on-missing-before: accept", ""},
		{"wide", "columns: {id: BIGINT}", "offset 1: column day: the table has no such column; name the column under `columns:`, or set schema-change to ignore"},
		{"wide", "columns: {id: BIGINT}, exclude-columns: [day]", ""},
		{"wide", "columns: {id: BIGINT}, schema-change: ignore", ""},
		{"wide", "columns: {id: BIGINT, at: DATE}, rename: {day: at}", ""},
		{"wide", "columns: {id: BIGINT, at: DATE}", "name the column under `columns:`"},
		{"text", "columns: {id: BIGINT, n: INT}", "column n: "},
		{"text", "columns: {id: BIGINT, n: INT}, on-error: skip", ""},
		{"update", "columns: {id: BIGINT}", "set on-missing-before to accept"},
		{"update", "columns: {id: BIGINT}, on-missing-before: accept", ""},
		{"plain", "columns: {id: BIGINT}, append: true", ""},
		{"plain", "columns: {id: BIGINT}, append: true, options: {bucket: 2}", "set bucket-key, or bucket to -1"},
		{"update", "columns: {id: BIGINT}, append: true", "or set on-keyless-change to append"},
		{"update", "columns: {id: BIGINT}, append: true, on-keyless-change: skip", ""},
		{"mixed", "columns: {id: BIGINT}", "set on-error to dead-letter or skip"},
		{"mixed", "columns: {id: BIGINT}, on-error: skip", ""},
		{"mixed", "columns: {id: BIGINT}, on-error: dead-letter, dead-letter: {path: _dead}", ""},
	} {
		t.Run(fmt.Sprint(i, " ", c.topic, " ", c.keys), func(t *testing.T) {
			keys := c.keys
			if keys != "" {
				keys = ", " + keys
			}
			b.config(fmt.Sprintf("tables: [{topic: %s, table: d.t%d%s}]", c.topic, i, keys))
			code, stdout, stderr := b.sink("", "check")
			ran, _, log := b.sink("", "run", "--until-end")
			require.Equal(t, ran, code, "check: %s%s\nrun: %s", stdout, stderr, log)
			if c.want == "" {
				require.Zero(t, code)
				return
			}
			require.Equal(t, 1, code, "check: %s%s\nrun: %s", stdout, stderr, log)
			require.Contains(t, stderr, c.want)
		})
	}
}

// TestCheckFindsWhatWouldStop looks for what makes a table stop later, or as soon as it goes on.
func TestCheckFindsWhatWouldStop(t *testing.T) {
	b := newBroker(t)
	b.produce(400)

	file := "on-error: dead-letter"
	b.config(file)
	code, _, stderr := b.sink("", "check")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "topic sink.dead: is not there, but table shop.orders puts records aside there")
	require.NoError(t, b.cluster.CreateTopic("sink.dead", 1, nil))
	code, _, stderr = b.sink("", "check")
	require.Zero(t, code, stderr)

	b.config("")
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	b.produce(400)
	require.NoError(t, b.cluster.DeleteRecords(ordersTopic, 0, b.cluster.PartitionInfo(ordersTopic, 0).HighWatermark))
	code, _, stderr = b.sink("", "check")
	require.Equal(t, 1, code)
	require.Regexp(t, `table shop.orders: topic shop.public.orders partition 0: [\d,]+ records are gone from the log: .sink offsets rebase shop.orders.`, stderr)

	// A registry that does not answer: run would wait for it.
	require.NoError(t, b.cluster.CreateTopic("avro", 1, nil))
	b.put("avro", "\x00\x00\x00\x00\x01\x02")
	b.config("registry: {url: 'http://127.0.0.1:1'}\ntables: [{topic: avro, table: a.avro}]")
	code, stdout, _ := b.sink("", "check")
	require.Equal(t, 1, code)
	require.Regexp(t, `(?m)^fail +registry +schema registry http://127.0.0.1:1: .*; check registry.url, and that it is reachable from here`, stdout)
	require.Regexp(t, `(?m)^fail +table a.avro +topic avro partition 0 offset 0: its schema: schema registry http://127.0.0.1:1: `, stdout)
	// Another server at its address is no fault of the records, whatever the policy says of bad ones, and however the table is found.
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, mapping := range []string{"topic: avro, table: a.avro", "topic: avro, table: 'a.${table}'"} {
		for _, policy := range []string{"fail", "skip", "dead-letter"} {
			b.config(fmt.Sprintf("on-error: %s\ndead-letter: {path: _dead}\nregistry: {url: '%s/api'}\ntables: [{%s}]", policy, other.URL, mapping))
			code, stdout, _ := b.sink("", "check")
			require.Equal(t, 1, code, stdout)
			require.Regexp(t, `(?m)^fail +registry +schema registry http://[0-9.:]+/api: 404 Not Found: 404 page not found; there is no schema registry at this address: check registry.url, and the path in it$`, stdout)
			require.Regexp(t, `(?m)^fail +tables? a\..* topic avro partition 0 offset 0: its schema: schema registry http://[0-9.:]+/api: 404`, stdout)
			require.NotContains(t, stdout, "on-error")
		}
	}

	// An option that Paimon does not have is kept, and told of.
	b.config("tables: [{topic: shop.public.orders, table: a.b, options: {bukcet: 3}}]")
	code, stdout, stderr = b.sink("", "check")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "option bukcet is none that Paimon is known to have")
	require.Contains(t, stdout, "bucket 4 by default")
	require.Equal(t, 1, strings.Count(stdout, "note "), stdout)
}

// TestCheckUnusedRegistry: run reads JSON without a registry, and check does not ask for one then. That a mapping says Avro is enough.
func TestCheckUnusedRegistry(t *testing.T) {
	b := newBroker(t)
	b.produce(20)
	for format, want := range map[string]struct {
		code int
		says string
	}{"auto": {0, "note"}, "debezium-json": {0, "note"}, "debezium-avro": {1, "fail"}} {
		b.config("format: " + format + "\nregistry: {url: 'http://127.0.0.1:1'}")
		code, stdout, _ := b.sink("", "check")
		require.Equal(t, want.code, code, stdout)
		require.Regexp(t, `(?m)^`+want.says+` +registry +schema registry http://127.0.0.1:1: `, stdout, format)
	}
}

// TestCheckBeginsWhereRunDoes: what a table has passed, run does not read again, and check does not hold it against it. What a
// change of the mapping would do to the table, old records show.
func TestCheckBeginsWhereRunDoes(t *testing.T) {
	b := newBroker(t)
	require.NoError(t, b.cluster.CreateTopic("mixed", 1, nil))
	b.put("mixed", "hello", `{"before":null,"after":{"id":1},"source":{"db":"d","table":"t"},"op":"c","ts_ms":1}`)
	b.config("tables: [{topic: mixed, table: d.t, columns: {id: BIGINT}, on-error: skip}]")
	code, stdout, stderr := b.sink("", "check")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "1 of the 2 records looked at would be passed over, as the policies say (on-error: skip); the first: topic mixed partition 0 offset 0: bad JSON")
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `"message":"record left out"`)
	require.Contains(t, stderr, `"topic":"mixed","partition":0,"offset":0,"reason":"malformed","error":"topic mixed partition 0 offset 0: bad JSON`)

	b.config("tables: [{topic: mixed, table: d.t, columns: {id: BIGINT}}]")
	for range 2 { // caught up; then with one more to read
		code, stdout, stderr = b.sink("", "check")
		require.Zero(t, code, stdout+stderr)
		ran, _, log := b.sink("", "run", "--until-end")
		require.Zero(t, ran, log)
		b.put("mixed", `{"before":null,"after":{"id":2},"source":{"db":"d","table":"t"},"op":"c","ts_ms":1}`)
	}

	b.config("tables: [{topic: mixed, table: d.t, columns: {id: BIGINT}, computed: {y: year(nix)}}]")
	code, _, stderr = b.sink("", "check")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "computed column y: there is no column nix")
}

// TestCheckUnplaced: a column of the key that the record key does not tell is named before anything is read.
func TestCheckUnplaced(t *testing.T) {
	b := newBroker(t)
	b.produce(600)
	b.config("tables: [{topic: shop.public.orders, table: shop.orders, partition-by: [customer_id]}]")
	code, stdout, stderr := b.sink("", "check")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^note +table shop.orders +column customer_id is part of the primary key but not of the record key: .*REPLICA IDENTITY FULL`, stdout)
	require.NotContains(t, stdout, "column id is part")
	b.config("")
	_, stdout, _ = b.sink("", "check")
	require.NotContains(t, stdout, "is part of the primary key")
}
