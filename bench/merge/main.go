// Command merge measures merge reads and compaction, the sink's beside Paimon's Java reader and writer on the same files: a table
// of many small checkpoints, 12 columns, on the local disk, never compacted. Each program goes through equal tables one after
// the other, so that the last passes show a JVM that is warm; the figures are rows by CPU second, of the best pass.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"

	"sink/bench/internal/change"
	"sink/connector/upkeep"
	"sink/table"
	"sink/table/object"
	"sink/table/scan"
)

const buckets = 4

type options struct {
	change.Options
	checkpoint, passes int
	root, work         string
	peers              bool
	only, cpuProfile   string
}

func main() {
	log.SetFlags(0)
	var o options
	o.Options.Flags()
	flag.IntVar(&o.checkpoint, "records", 50_000, "records of a checkpoint")
	flag.IntVar(&o.passes, "passes", 5, "how often each program reads, and how many equal tables it compacts")
	flag.StringVar(&o.root, "root", "..", "the project's folder")
	flag.StringVar(&o.work, "work", "", "folder for the tables; empty: a temporary one")
	flag.BoolVar(&o.peers, "peers", true, "run Paimon Java, too; needs Maven and Java 17")
	flag.StringVar(&o.only, "only", "", "read or compact; empty: both")
	flag.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of the sink's passes")
	flag.Parse()
	if err := run(&o); err != nil {
		log.Fatal(err)
	}
}

func run(o *options) (err error) {
	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "sink-merge-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.work)) }()
	}
	original := filepath.Join(o.work, "original")
	rows, err := makeTable(o, original)
	if err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	stop := func() {}
	if o.cpuProfile != "" {
		f, err := os.Create(o.cpuProfile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		stop = func() { pprof.StopCPUProfile(); f.Close() }
	}
	own := map[string]float64{}
	for name, f := range map[string]func(string) error{"read": readTable, "compact": compactTable} {
		if o.only != "" && o.only != name {
			continue
		}
		for pass := range o.passes {
			dir, err := o.table(original, name, pass)
			if err != nil {
				return err
			}
			before := cpu()
			if err := f(dir); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			own[name] = best(own[name], cpu()-before)
		}
	}
	stop()
	fmt.Printf("%d rows in the files\n", rows)
	for name, seconds := range own {
		fmt.Printf("%-8s sink        %6.3f CPU-s  %10.0f rows/CPU-s\n", name, seconds, float64(rows)/seconds)
		if !o.peers {
			continue
		}
		other, err := o.peer(original, name)
		if err != nil {
			return err
		}
		fmt.Printf("%-8s Paimon Java %6.3f CPU-s  %10.0f rows/CPU-s  sink is %.1f times as fast\n", name, other, float64(rows)/other, other/seconds)
	}
	return nil
}

func best(a, b float64) float64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// table is a table to read, or a copy to compact.
func (o *options) table(original, name string, pass int) (string, error) {
	if name == "read" {
		return original, nil
	}
	dir := filepath.Join(o.work, fmt.Sprintf("copy-%d", pass))
	return dir, errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(original)))
}

// peer has Paimon Java do the same and returns the CPU of its best pass.
func (o *options) peer(original, name string) (float64, error) {
	args := []string{name, fmt.Sprint(buckets)}
	for pass := range o.passes {
		dir, err := o.table(original, name, pass)
		if err != nil {
			return 0, err
		}
		args = append(args, dir)
	}
	var out bytes.Buffer
	c := exec.CommandContext(context.Background(), filepath.Join(o.root, "bench/peers/run"), args...)
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("paimon %s: %w", name, err)
	}
	var least float64
	for line := range strings.Lines(out.String()) {
		var rows int64
		var seconds float64
		if _, err := fmt.Sscanf(line, "RESULT rows=%d cpu_s=%f", &rows, &seconds); err == nil {
			fmt.Fprintf(os.Stderr, "paimon %s: %.3f CPU-s\n", name, seconds)
			least = best(least, seconds)
		}
	}
	if least == 0 {
		return 0, fmt.Errorf("paimon %s: no result in %q", name, out.String())
	}
	return least, nil
}

// readTable reads every row and column.
func readTable(dir string) error {
	ctx := context.Background()
	store := object.NewLocal(dir)
	opened, err := scan.Open(ctx, store, table.NewPath("bench", "orders"))
	if err != nil {
		return err
	}
	plan, err := opened.Plan(ctx, scan.At{}, nil)
	if err != nil {
		return err
	}
	rows := 0
	for batch, err := range plan.Rows(ctx, scan.Options{}) {
		if err != nil {
			return err
		}
		rows += batch.Len()
	}
	fmt.Fprintf(os.Stderr, "sink read: %d rows left\n", rows)
	return nil
}

// compactTable makes one run of each bucket.
func compactTable(dir string) error {
	ctx := context.Background()
	store := object.NewLocal(dir)
	keeper, err := upkeep.Open(ctx, upkeep.Config{Store: store, Path: table.NewPath("bench", "orders")})
	if err != nil {
		return err
	}
	_, err = keeper.Compact(ctx, upkeep.Scope{Full: true})
	return err
}

// cpu is what the process has used, in seconds.
func cpu() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		log.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
