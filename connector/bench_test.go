package connector

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rs/zerolog"

	"sink/connector/compute"
	"sink/table"
	"sink/table/object"
)

// BenchmarkApply takes records to buffered rows, as a table's worker does: without anything beside, with what the record is
// shaped by, and through a scout. A step is 256 records.
func BenchmarkApply(b *testing.B) {
	const count = 4096
	tp := table.TopicPartition{Topic: crateTopic}
	records := make([]*kgo.Record, count)
	for i := range records {
		id := int64(i)
		records[i] = &kgo.Record{
			Topic: crateTopic, Key: []byte(keyOf(id)), Value: []byte(envelope("u", row(id, "a label of some length", id), row(id, "another label of some length", id+1), id)),
		}
	}
	compiled := func(text string) *compute.Expression {
		e, err := compute.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	condition, err := compute.ParseFilter("weight >= 0 and label is not null")
	if err != nil {
		b.Fatal(err)
	}
	for name, shape := range map[string]func(*Table){
		"plain": func(*Table) {},
		"computed": func(m *Table) {
			m.Shaping.Computed = []Computed{{"tens", compiled("truncate(weight, 10)")}, {"upper", compiled("upper(label)")}}
		},
		"filter": func(m *Table) { m.Shaping.Filter = condition },
		"scout":  func(m *Table) { m.Topics, m.Source, m.Name = nil, anchored(".*"), "orchard.${table}" },
	} {
		b.Run(name, func(b *testing.B) {
			mapping := crateTable()
			shape(&mapping)
			c, err := New(Config{
				Kafka: []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}, Group: "g", Start: Earliest, Store: object.NewMem(), Memory: 1 << 30,
				Checkpoint: Checkpoint{Interval: time.Hour, Bytes: 1 << 40, Records: 1 << 40}, Tables: []Table{mapping}, Log: zerolog.Nop(),
			})
			if err != nil {
				b.Fatal(err)
			}
			defer c.client.Close()
			defer func() { c.endLife(nil); c.running.Wait() }()
			workers, err := c.route(crateTopic)
			if err != nil {
				b.Fatal(err)
			}
			w := workers[0]
			log := partitionLog{end: 1 << 40, partitions: 1}
			log.group.At = -1
			if _, err := w.assign(b.Context(), map[table.TopicPartition]partitionLog{tp: log}); err != nil {
				b.Fatal(err)
			}
			w.accept(tp, 1)
			settled := func() { // all that was handed on is applied
				for _, w := range c.allWorkers() {
					if err := w.do(b.Context(), func(ctx context.Context) {
						for w.applyNext() {
						}
						if w.writer != nil {
							w.writer.Discard(ctx)
						}
					}); err != nil {
						b.Fatal(err)
					}
				}
			}
			offset := int64(0)
			step := func() {
				batch := make([]*kgo.Record, 0, 256)
				for range 256 {
					r := *records[offset%count]
					r.Offset = offset
					offset++
					batch = append(batch, &r)
				}
				w.enqueue(run{tp: tp, generation: 1, records: batch, stable: 1 << 40})
				settled()
				settled()
			}
			step() // a scout that finds a table asks the brokers, which are not there
			begun := offset
			b.SetBytes(256 * int64(len(records[0].Value)))
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			for _, w := range c.allWorkers() {
				if err := w.problem(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(offset-begun), "ns/record")
		})
	}
}
