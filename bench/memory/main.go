// Command memory measures the sink with nothing outside its process: the records lie in an embedded broker, the tables in a
// store of memory. So it shows what the sink's own work costs, how it spreads over cores (-procs), how much it allocates and
// what it asks of the store; and it writes profiles and traces. The broker's share of the work is in the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"runtime/trace"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
	"sink/bench/internal/embedded"
	"sink/connector"
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
	ctx := context.Background()
	broker, err := embedded.NewBroker()
	if err != nil {
		return err
	}
	defer broker.Close()
	if err := broker.Fill(ctx, o.Options, o.format, nil, nil); err != nil {
		return fmt.Errorf("fill the topic: %w", err)
	}
	store := &counting{Store: object.NewMem(), delay: o.delay}
	cfg, end, err := broker.Config(ctx, o.format, o.Columns, o.buckets, store)
	if err != nil {
		return err
	}
	defer end()
	cfg.UntilEnd, cfg.Memory, cfg.Encoders = true, o.memory, o.encoders
	cfg.Checkpoint.Interval, cfg.Checkpoint.Records = o.interval, o.records
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
	err = c.Run(ctx)
	after := now()
	if err = errors.Join(err, stop()); err != nil {
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

// observe starts the profiles and traces that were asked for; stop writes them.
func observe(o *options) (stop func() error, err error) {
	var stops []func() error
	begin := func(name string, start func(io.Writer) error, end func(io.Writer) error) {
		if name == "" || err != nil {
			return
		}
		var f *os.File
		if f, err = os.Create(name); err == nil {
			err = start(f)
			stops = append(stops, func() error { return errors.Join(end(f), f.Close()) })
		}
	}
	begin(o.cpuProfile, pprof.StartCPUProfile, func(io.Writer) error { pprof.StopCPUProfile(); return nil })
	begin(o.traceOut, trace.Start, func(io.Writer) error { trace.Stop(); return nil })
	begin(o.memProfile, func(io.Writer) error { return nil }, func(w io.Writer) error { return pprof.Lookup("allocs").WriteTo(w, 0) })
	return func() (err error) {
		for _, f := range stops {
			err = errors.Join(err, f())
		}
		return err
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
