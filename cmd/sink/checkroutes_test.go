package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckRoutesAgreesWithRun holds check to its word for mappings that shape rows and go by the source of records.
func TestCheckRoutesAgreesWithRun(t *testing.T) {
	b := newBroker(t)
	b.produce(300)
	require.NoError(t, b.cluster.CreateTopic("all", 1, nil))
	event := func(db, name string) string {
		return fmt.Sprintf(`{"before":null,"after":{"id":1,"day":"2024-12-30"},"source":{"db":%q,"table":%q},"op":"c","ts_ms":1}`, db, name)
	}
	b.put("all", event("d", "t"), event("d", "u"), event("e", "t"))
	for i, c := range []struct {
		mapping string // %d is a number of its own
		want    string // in the messages of check; empty: both are fine
	}{
		{`source: 'shop\.public\..*', topics: 'shop\..*', table: 'd%d.${table}'`, ""},
		{`source: '(\w+)\.public\.(.*)', topics: 'shop\..*', exclude: ['.*\.customers'], table: 'd%d.${1}_${2}', name-case: upper`, ""},
		{`topics: 'shop\..*', table: 'd%d.${schema}_${table}'`, ""},
		{`topic: all, columns: {id: BIGINT, day: STRING}, table: 'd%d.${db}_${table}'`, ""},
		{`topic: all, columns: {id: BIGINT, day: STRING}, table: 'd%d.${table}'`, "would become one"},
		{`topic: all, columns: {id: BIGINT, day: STRING}, table: 'd%d.${table}', disjoint: true`, ""},
		{`topic: all, columns: {id: BIGINT, day: STRING}, table: 'd%d.${table}', metadata: {db: source.db}, primary-key: [db, id]`, ""},
		{`topic: all, columns: {id: BIGINT, day: STRING}, table: 'd%d.${schema}_${table}'`, "is empty there (MySQL has no schema)"},
		{`topic: all, source: 'd\.t', columns: {id: BIGINT, day: STRING}, table: 'd%d.t', computed: {y: year(day)}, partition-by: y`, ""},
		{`topic: all, source: 'd\.t', columns: {id: BIGINT, day: STRING}, table: 'd%d.t', computed: {y: year(nix)}`, "computed column y: there is no column nix"},
		{`topic: all, source: 'd\.t', columns: {id: BIGINT, day: STRING}, table: 'd%d.t', filter: "id = 'a'"`, "filter: id is of type BIGINT"},
		{`topic: all, source: 'd\.t', columns: {id: BIGINT, at: STRING}, table: 'd%d.t', rename: {day: at}, filter: "at >= '2024'"`, ""},
		{`topic: shop.public.orders, table: d%d.t, rename: {customer_id: id}`, "columns id and customer_id of the source would both be column id of the table"},
		{`topic: shop.public.orders, table: d%d.t, rename: {customer_id: who}, primary-key: [id], exclude-columns: [status]`, ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b.config(fmt.Sprintf("tables: [{"+c.mapping+"}]", i))
			code, stdout, stderr := b.sink("", "check")
			ran, _, log := b.sink("", "run", "--until-end")
			require.Equal(t, ran, code, "check: %s%s\nrun: %s", stdout, stderr, log)
			if c.want == "" {
				require.Zero(t, code, stderr)
				code, stdout, stderr = b.sink("", "check") // of tables that are there
				require.Zero(t, code, stdout+stderr)
				return
			}
			require.Equal(t, 1, code, "check: %s%s\nrun: %s", stdout, stderr, log)
			require.Contains(t, stderr, c.want)
		})
	}
}

// TestRoutesAreTold looks at what check and offsets say of tables that are found by the source of records.
func TestRoutesAreTold(t *testing.T) {
	b := newBroker(t)
	b.produce(300)
	b.config(`tables: [{source: 'shop\.public\..*', table: 'lake.${table}'}]`)
	code, stdout, stderr := b.sink("", "check")
	require.Zero(t, code, stderr)
	for _, name := range []string{"lake.orders", "lake.customers"} {
		require.Regexp(t, "table "+name+" +would be made from topic shop.public.", stdout)
	}
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	code, stdout, stderr = b.sink("", "offsets")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "lake.orders")
	require.Contains(t, stdout, "lake.customers")
}

// What cannot be read in expressions is told with its key and line, at once.
func TestExpressionsAreTold(t *testing.T) {
	b := newBroker(t)
	b.config(`tables:
  - topic: shop.public.orders
    table: a.b
    computed:
      week: date_format(created, 'YYYY-MM-dd')
      now: now()
      twice: upper(week)
    filter: status like 'a'
`)
	code, _, stderr := b.sink("", "run")
	require.Equal(t, 2, code)
	for _, want := range []string{
		"tables[0].computed.week: the pattern \"YYYY-MM-dd\": YYYY is the year of the week: 2024-12-30 would be in 2025; write y",
		"tables[0].computed.now: has an unknown function now",
		"tables[0].computed.twice: reads week, which is computed itself",
		`tables[0].filter: has "like" at character 8`,
	} {
		require.Contains(t, stderr, want)
	}
	require.Equal(t, 4, strings.Count(stderr, "sink.yaml:"), stderr)
}
