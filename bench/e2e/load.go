package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sink/bench/internal/change"
)

// load is what is on the topics, and the tables that it becomes.
type load struct {
	name    string
	about   string
	format  string // of change.Formats
	mix     string // of change.Mixes
	share   int    // of the events asked for, percent: wide rows are fewer
	columns int
	tables  int
	buckets int
	dated   bool // partitioned by warehouse_id, of 300 values
}

// plain is the load that all others differ from by one thing.
var plain = load{name: "json", about: "JSON without schema; 12 columns, 70 % updates, one table of 4 buckets", format: "json", mix: "updates", share: 100, columns: change.Least, tables: 1, buckets: 4}

// loads returns all that can be asked for.
func loads() []load {
	vary := func(name, about string, f func(*load)) load {
		l := plain
		l.name, l.about = name, about
		f(&l)
		return l
	}
	return []load{
		plain,
		vary("json-schema", "JSON with the schema in each record", func(l *load) { l.format = "json-schema" }),
		vary("avro", "Avro and a schema registry", func(l *load) { l.format = "avro" }),
		vary("inserts", "nothing but inserts", func(l *load) { l.mix = "inserts" }),
		vary("inserts-twice", "the same, but both files are encoded", func(l *load) { l.mix = "inserts" }),
		vary("deletes", "as many deletes as inserts", func(l *load) { l.mix = "deletes" }),
		vary("columns-50", "50 columns", func(l *load) { l.columns, l.share = 50, 40 }),
		vary("columns-100", "100 columns", func(l *load) { l.columns, l.share = 100, 20 }),
		vary("wide", "200 columns", func(l *load) { l.columns, l.share = 200, 10 }),
		vary("partitions", "a table of 300 partitions, 1 bucket each", func(l *load) { l.dated, l.buckets = true, 1 }),
		vary("buckets-1", "1 bucket", func(l *load) { l.buckets = 1 }),
		vary("buckets-16", "16 buckets", func(l *load) { l.buckets = 16 }),
		vary("buckets-64", "64 buckets", func(l *load) { l.buckets = 64 }),
		vary("buckets-256", "256 buckets", func(l *load) { l.buckets = 256 }),
		vary("tables-10", "10 tables of 1 bucket", func(l *load) { l.tables, l.buckets = 10, 1 }),
		vary("tables-100", "100 tables of 1 bucket", func(l *load) { l.tables, l.buckets = 100, 1 }),
		vary("tables-1000", "1,000 tables of 1 bucket", func(l *load) { l.tables, l.buckets = 1000, 1 }),
	}
}

// events is how many the load has.
func (l *load) events(o *options) int { return o.events * l.share / 100 }

// rows is how many changelog rows the events are.
func (l *load) rows(o *options) (n int) {
	stream := change.NewStream(change.Options{Seed: 1, Events: l.events(o), Mix: l.mix, Hot: 50_000, Columns: l.columns, Regions: 300})
	for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
		n += ev.Rows()
	}
	return n
}

// topic is the topic, or the part before the table's number. Loads of the same records share it.
func (l *load) topic() string {
	return fmt.Sprintf("orders-%s-%s-%d-%d", l.format, l.mix, l.columns, l.tables)
}

// fill makes the topics of the load.
func (l *load) fill(o *options) error {
	partitions := 4
	if l.tables > 1 {
		partitions = 1
	}
	err := command(o.tool("gen"), "-broker", o.broker, "-topic", l.topic(), "-n", fmt.Sprint(l.events(o)), "-format", l.format, "-mix", l.mix,
		"-columns", fmt.Sprint(l.columns), "-tables", fmt.Sprint(l.tables), "-partitions", fmt.Sprint(partitions)).Run()
	if err != nil {
		return fmt.Errorf("fill the topics of %s: %w", l.name, err)
	}
	return nil
}

// writeConfig writes a sink.yaml with a group and a warehouse of its own.
func (l *load) writeConfig(o *options, id, warehouse, memory string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "kafka: {brokers: [%q], group: bench-%d-%s, start: earliest}\n", o.broker, os.Getpid(), id)
	fmt.Fprintf(&b, "warehouse: %s\n", warehouse)
	if strings.HasPrefix(warehouse, "s3://") {
		fmt.Fprintf(&b, "s3: {endpoint: %q, region: us-east-1, path-style: true, access-key: %s, secret-key: %s}\n", o.s3, s3Key, s3Secret)
	}
	fmt.Fprintf(&b, "checkpoint: {interval: %s}\nhttp: \"\"\nlog: {format: json}\n", o.interval)
	if memory != "" {
		fmt.Fprintf(&b, "memory: %s\n", memory)
	}
	if l.format == "avro" {
		fmt.Fprintf(&b, "registry: {url: %q}\n", o.registry)
	}
	b.WriteString("tables:\n")
	if l.tables > 1 {
		fmt.Fprintf(&b, "  - topics: '%s\\.(.*)'\n    table: bench.orders_${1}\n", l.topic())
	} else {
		fmt.Fprintf(&b, "  - topic: %s\n    table: bench.orders\n", l.topic())
	}
	key := "[id]"
	if l.dated {
		key = "[warehouse_id, id]"
		b.WriteString("    partition-by: [warehouse_id]\n")
	}
	fmt.Fprintf(&b, "    primary-key: %s\n    options: {bucket: \"%d\"", key, l.buckets)
	if l.name == "inserts-twice" { // written differently, so that a copy will not do
		b.WriteString(", changelog-file.stats-mode: full")
	}
	b.WriteString("}\n    types: {decimal: string}\n    columns:\n")
	for _, c := range change.Columns(l.columns) {
		if !c.Declared(l.format) || l.dated && c.Name == "warehouse_id" {
			typ := c.Paimon()
			if l.dated && c.Name == "warehouse_id" {
				typ += " NOT NULL"
			}
			fmt.Fprintf(&b, "      %s: %s\n", c.Name, typ)
		}
	}
	text := strings.TrimSuffix(b.String(), "    columns:\n")
	name := filepath.Join(o.work, id+".yaml")
	return name, os.WriteFile(name, []byte(text), 0o600)
}
