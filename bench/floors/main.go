// Command floors measures on one core what each stage of a sink in Go costs, the sink's own beside code that knows the table
// beforehand and beside libraries: microseconds of CPU per event or row. Rounds are interleaved over all cases.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"sink/bench/internal/change"
	"sink/bench/internal/floor"
	"sink/debezium"
	"sink/flush"
	"sink/table"
	"sink/table/object"
)

// stage is one case.
type stage struct {
	name    string
	unit    string
	n       int
	prepare func() error // not measured; may be nil
	run     func() error
	cost    []float64 // microseconds per unit, by round
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 100_000, "events, after as many that make the hot rows")
	rounds := flag.Int("rounds", 5, "rounds")
	only := flag.String("only", "", "stages whose name has this in it")
	other := flag.Bool("serve", false, "be the process that the stages at both ends talk to: they start it")
	flag.Parse()
	ctx, f := context.Background(), run
	if *other {
		f = func(ctx context.Context, n, _ int, _ string) error { return serve(ctx, n) }
	}
	if err := f(ctx, *n, *rounds, *only); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, n, rounds int, only string) error {
	runtime.GOMAXPROCS(1)
	folder, err := os.MkdirTemp("", "sink-floors-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the system clears what is left
	ends, stop, err := startOutside(ctx, n)
	if err != nil {
		return err
	}
	defer stop()
	stages, err := makeStages(ctx, n)
	if err != nil {
		return err
	}
	add := func(name, unit string, n int, run func() error) *stage {
		stages = append(stages, &stage{name: name, unit: unit, n: n, run: run})
		return stages[len(stages)-1]
	}
	if err := addOutside(add, ends, n, folder); err != nil {
		return err
	}
	stages = slices.DeleteFunc(stages, func(s *stage) bool { return !strings.Contains(s.name, only) })
	for round := range rounds + 1 { // the first warms up
		for _, s := range stages {
			if s.prepare != nil {
				if err := s.prepare(); err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
			}
			runtime.GC()
			before := cpu()
			if err := s.run(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if round > 0 {
				s.cost = append(s.cost, (cpu()-before)/float64(s.n))
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tleast us\tmedian us\tper")
	for _, s := range stages {
		slices.Sort(s.cost)
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%s\n", s.name, s.cost[0], s.cost[len(s.cost)/2], s.unit)
	}
	return w.Flush()
}

// cpu is what the process has used, in microseconds.
func cpu() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		log.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e3
}

// records are events of a stream, after as many that came before.
func records(format, mix string, n int) ([]debezium.Record, error) {
	encoder, err := change.NewEncoder(format, change.Columns(change.Least))
	if err != nil {
		return nil, err
	}
	o := change.Options{Seed: 1, Events: 2 * n, Mix: mix, Hot: min(50_000, n/2), Regions: 300}
	stream := change.NewStream(o)
	var list []debezium.Record
	for i := 0; ; i++ {
		ev, ok := stream.Next()
		if !ok {
			return list, nil
		}
		if i >= n {
			list = append(list, debezium.Record{Topic: "orders", Offset: int64(i), Timestamp: ev.Millis, Key: encoder.Key(nil, &ev), Value: encoder.Value(nil, &ev)})
		}
	}
}

func makeStages(ctx context.Context, n int) ([]*stage, error) {
	var stages []*stage
	add := func(name, unit string, n int, run func() error) *stage {
		s := &stage{name: name, unit: unit, n: n, run: run}
		stages = append(stages, s)
		return s
	}
	plain, err := records("json", "updates", n)
	if err != nil {
		return nil, err
	}
	for _, other := range []struct {
		name   string
		decode func([]byte, *floor.Event) error
	}{{"by hand", floor.Decode}, {"goccy/go-json", floor.DecodeGoccy}, {"encoding/json", floor.DecodeStandard}} {
		add("decode json, "+other.name, "event", n, func() error {
			var e floor.Event
			for i := range plain {
				if err := other.decode(plain[i].Value, &e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	schema, err := change.Schema(change.Columns(change.Least))
	if err != nil {
		return nil, err
	}
	for _, format := range change.Formats {
		list, err := records(format, "updates", n)
		if err != nil {
			return nil, err
		}
		var cfg debezium.Config
		if format == "avro" {
			url, stop, err := change.ServeRegistry(ctx, change.Columns(change.Least))
			if err != nil {
				return nil, err
			}
			defer stop()
			if cfg.Registry, err = debezium.NewRegistry(debezium.RegistryConfig{URL: url}); err != nil {
				return nil, err
			}
		}
		d := &decoder{schema: schema, Decoder: debezium.NewDecoder(cfg)}
		batch := table.NewBatch(schema.Fields)
		add(fmt.Sprintf("decode %s, sink (%d bytes)", format, size(list)/len(list)), "event", n, func() error {
			for i := range list {
				if batch.Len() > 8192 {
					batch.Reset()
				}
				if err := d.append(&list[i], batch); err != nil {
					return err
				}
			}
			return nil
		})
		if format == "avro" { // the schemas are known from now on, the registry is not asked again
			if err := d.append(&list[0], batch); err != nil {
				return nil, err
			}
		}
	}
	if err := addWriting(add, plain, schema); err != nil {
		return nil, err
	}
	block := make([]byte, 64<<20)
	table := crc32.MakeTable(crc32.Castagnoli)
	add("crc32c, as of a Kafka batch", "MiB", 64, func() error { crc32.Checksum(block, table); return nil })
	add("memory copy", "MiB", 32, func() error { copy(block[:32<<20], block[32<<20:]); return nil })
	slices.SortStableFunc(stages, func(a, b *stage) int { return cmp.Compare(strings.Fields(a.name)[0], strings.Fields(b.name)[0]) })
	return stages, nil
}

func size(list []debezium.Record) (n int) {
	for i := range list {
		n += len(list[i].Value)
	}
	return n
}

// decoder is the sink's, with the plan of the one row type.
type decoder struct {
	*debezium.Decoder
	schema *table.Schema
	plan   *debezium.Plan
	frame  debezium.Frame
}

func (d *decoder) append(rec *debezium.Record, to *table.Batch) error {
	err := d.Frame(context.Background(), rec, &d.frame)
	if err != nil {
		return err
	}
	if d.plan == nil {
		if d.plan, err = debezium.Bind(d.schema, d.frame.Shape, debezium.Options{Types: debezium.Types{Decimal: debezium.DecimalString}}); err != nil {
			return err
		}
	}
	_, err = d.plan.Append(&d.frame, to)
	return err
}

// addWriting adds the stages from rows to files, of all events at once in 4 buckets.
func addWriting(add func(string, string, int, func() error) *stage, list []debezium.Record, schema *table.Schema) error {
	var buckets [4]floor.Columns
	for i := range buckets {
		buckets[i].Reset()
	}
	var seq int64
	for i := range list {
		var e floor.Event
		if err := floor.Decode(list[i].Value, &e); err != nil {
			return err
		}
		id := e.After.ID
		if !e.HasAfter {
			id = e.Before.ID
		}
		seq = buckets[floor.BucketOf(id, 4)].AddEvent(seq, &e)
	}
	rows := int(seq)
	sorted := make([][]int32, len(buckets))
	add("sort, radix on key and row", "changelog row", rows, func() error {
		for i := range buckets {
			sorted[i] = buckets[i].Sort()
		}
		return nil
	})
	for _, level := range []int{0, 1} {
		w := floor.NewWriter(level)
		add(fmt.Sprintf("write both files, arrow-go, zstd %d", level), "changelog row", rows, func() error {
			for i := range buckets {
				c := &buckets[i]
				if err := w.Write(io.Discard, c, sorted[i]); err != nil {
					return err
				}
				if err := w.Write(io.Discard, c, c.Last(sorted[i])); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := addSmall(add, list, schema); err != nil {
		return err
	}
	return addSink(add, list, schema, rows)
}

// addSink adds what the sink does with decoded rows: buffering with routing, then sorting and writing both files.
func addSink(add func(string, string, int, func() error) *stage, list []debezium.Record, schema *table.Schema, rows int) error {
	b, err := newBuffer(list, schema)
	if err != nil {
		return err
	}
	add("buffer, sink: copy, hash, route", "changelog row", rows, b.fill).prepare = b.drop
	add("write both files, sink: sort, gather, encode, zstd 1", "changelog row", rows, b.flush).prepare = b.refill
	inserts, err := records("json", "inserts", len(list))
	if err != nil {
		return err
	}
	if b, err = newBuffer(inserts, schema); err != nil {
		return err
	}
	add("write inserts, sink: one file and its copy", "row", len(inserts), b.flush).prepare = b.refill
	twice := *schema
	twice.Options = maps.Clone(schema.Options)
	twice.Options["changelog-file.stats-mode"] = "full" // written differently, so that a copy will not do
	if b, err = newBuffer(inserts, &twice); err != nil {
		return err
	}
	add("write inserts, sink: both files", "row", len(inserts), b.flush).prepare = b.refill
	return nil
}

// buffer is decoded rows, and the sink's writer to put them into.
type buffer struct {
	rows   *table.Batch
	writer *flush.Writer
}

func newBuffer(list []debezium.Record, schema *table.Schema) (*buffer, error) {
	d := &decoder{schema: schema, Decoder: debezium.NewDecoder(debezium.Config{})}
	b := &buffer{rows: table.NewBatch(schema.Fields)}
	for i := range list {
		if err := d.append(&list[i], b.rows); err != nil {
			return nil, err
		}
	}
	var err error
	b.writer, err = flush.New(flush.Config{Schema: schema, Store: object.NewMem(), Path: "bench.db/orders"})
	return b, err
}

func (b *buffer) drop() error {
	b.writer.Discard(context.Background())
	return nil
}

func (b *buffer) fill() error {
	for i := 0; i < b.rows.Len(); i++ {
		b.writer.Batch().AppendRow(b.rows, i)
		if b.rows.Kinds[i] == table.UpdateBefore {
			i++
			b.writer.Batch().AppendRow(b.rows, i)
		}
		if err := b.writer.Add(); err != nil {
			return err
		}
	}
	return nil
}

func (b *buffer) refill() error { return errors.Join(b.drop(), b.fill()) }

func (b *buffer) flush() error {
	c := b.writer.Seal()
	defer c.Discard(context.Background())
	_, err := c.Flush(context.Background())
	return err
}
