// Command e2e measures the sink end to end beside the floors of the same machine, in one run: it starts a Kafka broker, fills
// topics with generated Debezium events, then runs by turns the sink (`sink run --until-end`) and the prototype (see ../prototype),
// and prints events per second, CPU seconds per million events and peak memory of each, with the ratio to the prototype.
// Compare ratios of CPU seconds: absolute figures move from machine to machine, times on the wall with what else runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"sink/bench/internal/change"
)

type options struct {
	root, work, broker, s3, registry string
	loads, stores, sinks, instances  string
	peers, memories                  string
	events, rounds                   int
	interval                         time.Duration
	keep                             bool
	only                             *regexp.Regexp
}

// peerScript runs the other writers.
func (o *options) peerScript() string { return filepath.Join(o.root, "bench/peers/run") }

// tool is the path of a program that build makes.
func (o *options) tool(name string) string { return filepath.Join(o.work, "bin", name) }

func main() {
	runtime.LockOSThread() // the programs started end with the thread that has started them: see command
	log.SetFlags(0)
	var o options
	var names, only string
	for _, l := range loads() {
		names += fmt.Sprintf("\n%-14s %s", l.name, l.about)
	}
	flag.StringVar(&o.root, "root", "..", "the project's folder")
	flag.StringVar(&o.work, "work", "", "folder for everything; empty: a temporary one")
	flag.StringVar(&o.broker, "broker", "", "a broker to use; empty: start one")
	flag.StringVar(&o.sinks, "sinks", "", "binaries of the sink to compare, comma-separated; empty: build it")
	flag.StringVar(&o.loads, "loads", "json", "comma-separated:"+names)
	flag.StringVar(&o.stores, "stores", "disk", "comma-separated: disk, s3 (a MinIO server is started), memory (with an embedded broker, on 1 and on all cores)")
	flag.StringVar(&o.instances, "instances", "1", "comma-separated: how many processes share the work")
	flag.StringVar(&o.memories, "memory", "", "comma-separated: key memory of the sink's configuration, as 64MiB; empty: its default")
	flag.StringVar(&o.peers, "peers", "", "comma-separated: paimon, flink-sql, flink-action; see peers/run")
	flag.IntVar(&o.events, "events", 1_000_000, "events of a load; those with large records take less")
	flag.IntVar(&o.rounds, "rounds", 3, "runs of each program, by turns")
	flag.DurationVar(&o.interval, "checkpoint", 10*time.Second, "checkpoint interval of the sink")
	flag.BoolVar(&o.keep, "keep", false, "keep the working folder")
	flag.StringVar(&only, "only", "", "run only the programs whose name matches")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(only); err == nil {
		err = run(&o)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(o *options) (err error) {
	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "sink-bench-"); err != nil {
			return err
		}
	}
	if o.work, err = filepath.Abs(o.work); err != nil {
		return err
	}
	if !o.keep {
		defer func() { err = errors.Join(err, os.RemoveAll(o.work)) }()
	}
	chosen, err := choose(o.loads)
	if err != nil {
		return err
	}
	if err := build(o); err != nil {
		return err
	}
	contenders, err := contenders(o, chosen)
	if err != nil {
		return err
	}
	stop, err := startServices(o, chosen)
	defer stop()
	if err != nil {
		return err
	}
	var filled []string
	for _, l := range chosen {
		if !slices.Contains(filled, l.topic()) {
			if err := l.fill(o); err != nil {
				return err
			}
			filled = append(filled, l.topic())
		}
	}
	for round := range o.rounds {
		for _, c := range contenders {
			s, err := c.run(round)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.samples = append(c.samples, s)
			fmt.Fprintf(os.Stderr, "round %d  %-34s %6.2f s wall  %6.2f s cpu  %4.0f MiB\n", round+1, c.name, s.wall, s.cpu, s.rss)
		}
	}
	return report(contenders)
}

// choose finds the loads by name.
func choose(names string) ([]load, error) {
	var chosen []load
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(loads(), func(l load) bool { return l.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no load %q; -h lists them", name)
		}
		chosen = append(chosen, loads()[i])
	}
	return chosen, nil
}

// build makes the programs; the sink is another module.
func build(o *options) error {
	programs := []string{"./gen", "./prototype"}
	if strings.Contains(o.stores, "memory") {
		programs = append(programs, "./memory")
	}
	if err := command("go", append([]string{"build", "-o", filepath.Join(o.work, "bin") + "/"}, programs...)...).Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if o.peers != "" {
		if err := command(o.peerScript(), "install").Run(); err != nil {
			return fmt.Errorf("build the peers: %w", err)
		}
	}
	if o.sinks != "" {
		return nil
	}
	o.sinks = o.tool("sink")
	c := command("go", "build", "-o", o.sinks, "./cmd/sink")
	c.Dir = o.root
	if err := c.Run(); err != nil {
		return fmt.Errorf("build the sink: %w", err)
	}
	return nil
}

// The S3 server's keys, which integration/services/s3.sh sets unless told otherwise.
const (
	s3Key    = "testkey"
	s3Secret = "testsecret"
	s3Bucket = "bench"
)

// startServices starts what the run needs; stop ends it, in any case.
func startServices(o *options, chosen []load) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range slices.Backward(stops) {
			f()
		}
	}
	start := func(script, name string) (string, error) {
		path, dir := filepath.Join(o.root, "integration/services", script), filepath.Join(o.work, name)
		port, err := freePort()
		if err != nil {
			return "", err
		}
		if err := command(path, "start", dir, port).Run(); err != nil {
			return "", fmt.Errorf("start %s: %w", name, err)
		}
		stops = append(stops, func() { _ = command(path, "stop", dir).Run() })
		return "127.0.0.1:" + port, nil
	}
	if o.broker == "" {
		if o.broker, err = start("kafka.sh", "kafka"); err != nil {
			return stop, err
		}
	}
	if strings.Contains(o.stores, "s3") {
		address, err := start("s3.sh", "s3")
		if err != nil {
			return stop, err
		}
		o.s3 = "http://" + address
		if err := os.Mkdir(filepath.Join(o.work, "s3", "data", s3Bucket), 0o755); err != nil { // a folder there is a bucket
			return stop, err
		}
	}
	if slices.ContainsFunc(chosen, func(l load) bool { return l.format == "avro" }) {
		url, end, err := change.ServeRegistry(context.Background(), change.Columns(change.Least))
		if err != nil {
			return stop, err
		}
		o.registry = url
		stops = append(stops, end)
	}
	return stop, nil
}

// freePort finds a port that is free together with the one above it, which the broker's controller takes.
func freePort() (string, error) {
	ctx := context.Background()
	var config net.ListenConfig
	for range 100 {
		l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return "", errors.Join(err, l.Close())
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return "", errors.Join(err, l.Close())
		}
		above, busy := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", n+1))
		if busy == nil {
			err = above.Close()
		}
		if err = errors.Join(err, l.Close()); err != nil || busy == nil {
			return port, err
		}
	}
	return "", errors.New("no two free ports in a row")
}
