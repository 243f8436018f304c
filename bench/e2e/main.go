// Command e2e measures the sink end to end beside the floors of the same machine, in one run: it starts a Kafka broker,
// fills a topic with generated Debezium events, then runs by turns the sink (`sink run --until-end`, to local disk or S3) and the
// prototype (see ../prototype), and prints events per second, CPU seconds per million events and peak memory of each,
// with the ratio to the prototype. Compare ratios: absolute figures move from machine to machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

type options struct {
	root, work, broker, sink string
	events, rounds           int
	interval                 time.Duration
	keep                     bool
	only                     string
}

// contender is one program to measure.
type contender struct {
	name string
	args func(round int) []string
}

// sample is one run of a contender.
type sample struct {
	wall, cpu float64 // seconds
	rss       int64   // MiB, at most
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.root, "root", "..", "the project's folder")
	flag.StringVar(&o.work, "work", "", "folder for everything; empty: a temporary one")
	flag.StringVar(&o.broker, "broker", "", "a broker to use; empty: start one")
	flag.StringVar(&o.sink, "sink", "", "the sink's binary; empty: build it")
	flag.IntVar(&o.events, "events", 1_000_000, "events to generate")
	flag.IntVar(&o.rounds, "rounds", 3, "runs of each program, by turns")
	flag.DurationVar(&o.interval, "checkpoint", 10*time.Second, "checkpoint interval of the sink")
	flag.BoolVar(&o.keep, "keep", false, "keep the working folder")
	flag.StringVar(&o.only, "only", "", "run only what has this in its name")
	flag.Parse()
	if err := run(&o); err != nil {
		log.Fatal(err)
	}
}

func run(o *options) error {
	if o.work == "" {
		dir, err := os.MkdirTemp("", "sink-bench-")
		if err != nil {
			return err
		}
		o.work = dir
	}
	if !o.keep {
		defer os.RemoveAll(o.work)
	}
	bin := filepath.Join(o.work, "bin")
	if err := build(o, bin); err != nil {
		return err
	}
	if o.broker == "" {
		stop, err := startBroker(o)
		if err != nil {
			return err
		}
		defer stop()
	}
	topic := "orders"
	if err := command(filepath.Join(bin, "gen"), "-broker", o.broker, "-topic", topic, "-n", fmt.Sprint(o.events)).Run(); err != nil {
		return fmt.Errorf("fill the topic: %w", err)
	}
	contenders := []contender{
		{"fetch only (floor)", func(int) []string {
			return []string{filepath.Join(bin, "prototype"), "-broker", o.broker, "-topic", topic, "-n", fmt.Sprint(o.events), "-mode", "consume"}
		}},
		{"fetch and decode (floor)", func(int) []string {
			return []string{filepath.Join(bin, "prototype"), "-broker", o.broker, "-topic", topic, "-n", fmt.Sprint(o.events), "-mode", "hand"}
		}},
		{"prototype, no commit", func(round int) []string {
			return []string{filepath.Join(bin, "prototype"), "-broker", o.broker, "-topic", topic, "-n", fmt.Sprint(o.events), "-mode", "full", "-dir", filepath.Join(o.work, fmt.Sprintf("prototype-%d", round))}
		}},
		{"sink, local disk", func(round int) []string {
			return []string{o.sink, "run", "-c", writeConfig(o, topic, round), "--until-end"}
		}},
	}
	if o.only != "" {
		contenders = slices.DeleteFunc(contenders, func(c contender) bool { return !strings.Contains(c.name, o.only) })
	}
	samples := map[string][]sample{}
	for round := range o.rounds {
		for _, c := range contenders {
			s, err := measure(c.args(round))
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			samples[c.name] = append(samples[c.name], s)
			fmt.Fprintf(os.Stderr, "round %d  %-26s %6.2f s wall  %6.2f s cpu  %4d MiB\n", round+1, c.name, s.wall, s.cpu, s.rss)
		}
	}
	report(o, contenders, samples)
	return nil
}

// build makes the programs; the sink is another module.
func build(o *options, bin string) error {
	if err := command("go", "build", "-o", bin+"/", "./gen", "./prototype").Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if o.sink != "" {
		return nil
	}
	o.sink = filepath.Join(bin, "sink")
	c := command("go", "build", "-o", o.sink, "./cmd/sink")
	c.Dir = o.root
	if err := c.Run(); err != nil {
		return fmt.Errorf("build the sink: %w", err)
	}
	return nil
}

func startBroker(o *options) (stop func(), err error) {
	script, dir := filepath.Join(o.root, "integration/services/kafka.sh"), filepath.Join(o.work, "kafka")
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := command(script, "start", dir, port).Run(); err != nil {
		return nil, fmt.Errorf("start kafka: %w", err)
	}
	o.broker = "127.0.0.1:" + port
	return func() { _ = command(script, "stop", dir).Run() }, nil
}

// freePort finds a port that is free together with the one above it, which the broker's controller takes.
func freePort() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		port := l.Addr().(*net.TCPAddr).Port
		above, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		l.Close()
		if err == nil {
			above.Close()
			return fmt.Sprint(port), nil
		}
	}
	return "", errors.New("no two free ports in a row")
}

// writeConfig writes a sink.yaml for one round: its own group and warehouse.
func writeConfig(o *options, topic string, round int) string {
	name := filepath.Join(o.work, fmt.Sprintf("sink-%d.yaml", round))
	text := fmt.Sprintf(`kafka: {brokers: [%q], group: bench-%d-%d, start: earliest}
warehouse: file://%s
checkpoint: {interval: %s}
http: ""
tables:
  - topic: %s
    table: bench.orders
    primary-key: [id]
    options: {bucket: "4"}
    types: {decimal: string}
    columns:
      id: BIGINT NOT NULL
      customer_id: INT
      product_id: INT
      quantity: INT
      warehouse_id: INT
      amount: DECIMAL(12, 2)
      description: STRING
      status: STRING
      created_at: TIMESTAMP(6)
      updated_at: TIMESTAMP(6) WITH LOCAL TIME ZONE
      active: BOOLEAN
      score: DOUBLE
`, o.broker, os.Getpid(), round, filepath.Join(o.work, fmt.Sprintf("warehouse-%d", round)), o.interval, topic)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	return name
}

// measure runs a program to its end.
func measure(args []string) (sample, error) {
	c := command(args[0], args[1:]...)
	began := time.Now()
	err := c.Run()
	s := sample{wall: time.Since(began).Seconds()}
	if c.ProcessState != nil {
		s.cpu = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			s.rss = usage.Maxrss >> 10
		}
	}
	return s, err
}

// command prepares a program whose output goes to stderr, and which ends with this one.
func command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if strings.HasSuffix(name, "sink") {
		c.Stderr = nil
	}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return c
}

// report prints the medians.
func report(o *options, contenders []contender, samples map[string][]sample) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "program\tevents/s\tCPU-s per 1M events\tpeak RSS MiB\tCPU over prototype")
	base := median(samples["prototype, no commit"], func(s sample) float64 { return s.cpu })
	for _, c := range contenders {
		list := samples[c.name]
		cpu := median(list, func(s sample) float64 { return s.cpu })
		ratio := "-"
		if base > 0 {
			ratio = fmt.Sprintf("%.2f", cpu/base)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.0f\t%s\n", c.name,
			float64(o.events)/median(list, func(s sample) float64 { return s.wall }), cpu*1e6/float64(o.events), median(list, func(s sample) float64 { return float64(s.rss) }), ratio)
	}
	w.Flush()
}

func median(list []sample, value func(sample) float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(list), func(a, b sample) int { return cmp.Compare(value(a), value(b)) })
	return value(sorted[len(sorted)/2])
}
