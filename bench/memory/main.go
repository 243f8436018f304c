// Command memory measures the sink with nothing outside its process: the records lie in an embedded broker, the tables in a
// store of memory. So it shows what the sink's own work costs, how it spreads over cores (-procs), how much it allocates and
// what it asks of the store; and it writes profiles and traces. The broker's share of the work is in the figures.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"runtime/trace"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
	"sink/connector"
	"sink/debezium"
	"sink/table"
	"sink/table/object"
)

type options struct {
	change.Options
	format, buckets      string
	procs, encoders      int
	interval             time.Duration
	records, memory      int64
	delay                time.Duration
	cpuProfile, traceOut string
	memProfile           string
}

func main() {
	log.SetFlags(0)
	var o options
	o.Options.Flags()
	flag.StringVar(&o.format, "format", "json", fmt.Sprint(change.Formats))
	flag.StringVar(&o.buckets, "buckets", "4", "buckets of the table")
	flag.IntVar(&o.procs, "procs", runtime.NumCPU(), "cores to use")
	flag.IntVar(&o.encoders, "encoders", 0, "files encoded at the same time; 0: as the service has it")
	flag.DurationVar(&o.interval, "checkpoint", 10*time.Second, "checkpoint interval")
	flag.Int64Var(&o.records, "records", 1_000_000, "records of a checkpoint, at most")
	flag.Int64Var(&o.memory, "memory", 256<<20, "the sink's budget, bytes")
	flag.DurationVar(&o.delay, "delay", 0, "time that each request to the store takes, as a distant one would")
	flag.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile")
	flag.StringVar(&o.memProfile, "memprofile", "", "write a profile of all allocations")
	flag.StringVar(&o.traceOut, "trace", "", "write a trace for go tool trace")
	flag.Parse()
	if err := run(&o); err != nil {
		log.Fatal(err)
	}
}

func run(o *options) error {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "orders"), kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}))
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := fill(o, cluster.ListenAddrs()[0]); err != nil {
		return fmt.Errorf("fill the topic: %w", err)
	}
	cfg, err := configure(o, cluster.ListenAddrs()[0])
	if err != nil {
		return err
	}
	store := &counting{Store: object.NewMem(), delay: o.delay}
	cfg.Store = store
	fetched := &firstFetch{}
	cfg.Kafka = append(cfg.Kafka, kgo.WithHooks(fetched))
	runtime.GOMAXPROCS(o.procs)
	c, err := connector.New(cfg)
	if err != nil {
		return err
	}
	runtime.GC()
	// The records of the broker are no memory of the sink's: leave the collector the room that it has in the service.
	debug.SetMemoryLimit(int64(allocated()) + o.memory*3/2 + 64<<20)
	stop, err := observe(o)
	if err != nil {
		return err
	}
	before := now()
	err = c.Run(context.Background())
	after := now()
	stop()
	if err != nil {
		return err
	}
	stats := c.Stats().Tables[0]
	n := float64(o.Events)
	work := store.last().Sub(fetched.at())
	cpu, waited := (after.cpu - before.cpu).Seconds(), (after.waited - before.waited).Seconds()
	fmt.Printf("RESULT work_s=%.3f events_per_s=%.0f wall_s=%.3f cpu_s=%.3f waited_s=%.3f idle_s=%.3f allocs_per_event=%.2f alloc_bytes_per_event=%.0f gc_cpu_s=%.2f checkpoints=%d files=%d bytes=%d requests=%d most_memory_mib=%d\n",
		work.Seconds(), n/work.Seconds(), after.wall.Sub(before.wall).Seconds(), cpu, waited, max(0, float64(o.procs)*work.Seconds()-cpu-waited), float64(after.mallocs-before.mallocs)/n, float64(after.bytes-before.bytes)/n,
		after.gc-before.gc, stats.Commits, stats.Files, stats.Bytes, store.requests.Load(), c.Stats().MemoryPeak>>20)
	return nil
}

// fill puts the records into the broker.
func fill(o *options, address string) error {
	encoder, err := change.NewEncoder(o.format, change.Columns(o.Columns))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("orders"), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MaxBufferedBytes(64<<20))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx := context.Background()
	stream := change.NewStream(o.Options)
	for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
		client.Produce(ctx, &kgo.Record{Key: encoder.Key(nil, &ev), Value: encoder.Value(nil, &ev)}, func(_ *kgo.Record, err error) {
			if err != nil {
				log.Fatal(err)
			}
		})
	}
	return client.Flush(ctx)
}

// configure returns what the service would make of a sink.yaml with the defaults.
func configure(o *options, address string) (connector.Config, error) {
	mapping := connector.Table{
		Topics: []string{"orders"}, Name: "bench.orders", PrimaryKey: []string{"id"}, Options: map[string]string{"bucket": o.buckets},
		OnError: connector.Fail, OnMissingBefore: connector.Fail, OnTruncate: connector.Fail, SchemaChange: connector.Evolve,
		Types: debezium.Types{Decimal: debezium.DecimalString},
	}
	if o.format == "json" { // the others declare their columns
		for _, column := range change.Columns(o.Columns) {
			t, err := table.ParseType(column.Paimon())
			if err != nil {
				return connector.Config{}, err
			}
			mapping.Columns = append(mapping.Columns, table.Field{Name: column.Name, Type: t})
		}
	}
	if o.format == "avro" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return connector.Config{}, err
		}
		go func() { log.Fatal(http.Serve(l, change.Registry(change.Columns(o.Columns)))) }()
		if mapping.Decoding.Registry, err = debezium.NewRegistry(debezium.RegistryConfig{URL: "http://" + l.Addr().String()}); err != nil {
			return connector.Config{}, err
		}
	}
	return connector.Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers(address), kgo.FetchMaxBytes(16 << 20), kgo.FetchMaxPartitionBytes(1 << 20)},
		Group: "bench", Protocol: connector.Classic, Start: connector.Earliest, Memory: o.memory, Encoders: o.encoders,
		Checkpoint: connector.Checkpoint{Interval: o.interval, Bytes: 128 << 20, Records: o.records},
		Tables:     []connector.Table{mapping}, UntilEnd: true, StopWithin: 30 * time.Second, Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel),
	}, nil
}

// observe starts the profiles and traces that were asked for; stop writes them.
func observe(o *options) (stop func(), err error) {
	var stops []func()
	create := func(name string) *os.File {
		if name == "" || err != nil {
			return nil
		}
		var f *os.File
		f, err = os.Create(name)
		return f
	}
	if f := create(o.cpuProfile); f != nil {
		err = pprof.StartCPUProfile(f)
		stops = append(stops, pprof.StopCPUProfile, func() { f.Close() })
	}
	if f := create(o.traceOut); f != nil {
		err = trace.Start(f)
		stops = append(stops, trace.Stop, func() { f.Close() })
	}
	if f := create(o.memProfile); f != nil {
		stops = append(stops, func() { _ = pprof.Lookup("allocs").WriteTo(f, 0); f.Close() })
	}
	return func() {
		for _, f := range stops {
			f()
		}
	}, err
}

// moment is what the process has used so far.
type moment struct {
	wall           time.Time
	cpu            time.Duration
	waited         time.Duration // of threads that could run, while the system ran other programs; 0 where it does not tell
	mallocs, bytes uint64
	gc             float64 // seconds of CPU
}

func now() moment {
	m := moment{wall: time.Now()}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
		m.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	m.waited = waited()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.mallocs, m.bytes = stats.Mallocs, stats.TotalAlloc
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample)
	m.gc = sample[0].Value.Float64()
	return m
}

// waited sums what Linux tells of each thread: time on a core, time in wait for one, how often.
func waited() (sum time.Duration) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, name := range files {
		var ran, waited time.Duration
		if text, err := os.ReadFile(name); err == nil {
			if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
				sum += waited
			}
		}
	}
	return sum
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Sys - stats.HeapReleased
}
