package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/config"
	"sink/connector"
)

const (
	demoOrders = "shop.orders"
	demoMark   = ".sink-demo" // a folder with this file is the demo's own
	demoRate   = 200          // events/s of --keep-running
	demoTick   = 250 * time.Millisecond
)

// demoConfig is the configuration of the demo: an ordinary one, left in the folder to look at.
const demoConfig = `# The configuration of the demo. The broker was part of the demo and is gone; the tables are there.
kafka:
  brokers: [%q]
  group: demo
warehouse: file://%s
checkpoint: {interval: 2s, records: %d}
memory: 128MiB
http: %q
log: {level: warn}
tables:
  - topic: shop.public.orders
    table: shop.orders
    options: {bucket: "2"}
  - topic: shop.public.customers
    table: shop.customers
    options: {bucket: "1"}
`

func (a *app) demoCommand() *cobra.Command {
	d := demo{app: a, shop: newShop()}
	cmd := a.command(&cobra.Command{
		Use:   "demo",
		Short: "See it work, with nothing to install",
		Long: `Start a Kafka broker inside this process, put the change events of a small shop on it as Debezium would, and keep two Paimon
tables in a local folder up to date with them. At the end the tables' rows are compared with what the shop holds, and the sum over the
changelog with the sum over the rows. The tables stay, to look at.`,
		Example: `  sink demo
  sink demo --events 200000 --dir /tmp/demo
  sink demo --keep-running                 # goes on until Ctrl-C, with a status page`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.events < shopCustomers+100 {
				return misusef("--events %d is too few: at least %d", d.events, shopCustomers+100)
			}
			return d.run(cmd.Context())
		},
	})
	cmd.Flags().StringVar(&d.dir, "dir", "sink-demo", "folder for the tables; one that an earlier demo made is made anew")
	cmd.Flags().IntVar(&d.events, "events", 20_000, "how many change events")
	cmd.Flags().BoolVar(&d.keepRunning, "keep-running", false, "go on with more events until Ctrl-C")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// demo is one run of the demo.
type demo struct {
	*app
	shop        *shop
	dir         string // absolute from prepare on
	events      int
	keepRunning bool

	cluster  *kfake.Cluster
	producer *kgo.Client
	cfg      *config.Config
}

func (d *demo) run(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	defer d.cluster.Close()
	defer d.producer.Close()
	d.say("A broker in this process, at %s; tables in %s.", d.cluster.ListenAddrs()[0], d.dir)
	if err := d.produce(ctx, d.events); err != nil {
		return err
	}
	d.say("%s events of a shop are on its topics, in Debezium's form. Now the sink:", humanCount(int64(d.events)))
	began := time.Now()
	if err := d.sink(ctx, !d.keepRunning); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if d.keepRunning { // what the broker has beyond the last snapshot
		d.say("Stopped. Once more, for what was produced meanwhile:")
		if err := d.sink(ctx, true); err != nil {
			return err
		}
	} else {
		d.say("All is in the tables after %.1f s.", time.Since(began).Seconds())
	}
	return d.report(ctx)
}

// say prints a line for people.
func (d *demo) say(format string, args ...any) { _, _ = fmt.Fprintf(d.stdout, format+"\n", args...) }

// prepare makes the folder, the broker and the configuration.
func (d *demo) prepare() (err error) {
	if d.dir, err = filepath.Abs(d.dir); err != nil {
		return err
	}
	if err := claimFolder(d.dir); err != nil {
		return err
	}
	// The topics have no retention: events of a demo may be older than a broker would keep them.
	d.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, ordersTopic), kfake.SeedTopics(1, customersTopic),
		kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}))
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	address, http := d.cluster.ListenAddrs()[0], ""
	if d.keepRunning {
		http = "127.0.0.1:0"
	}
	text := fmt.Sprintf(demoConfig, address, filepath.ToSlash(d.dir), max(d.events/8, 1000), http)
	file := filepath.Join(d.dir, "sink.yaml")
	if err = os.WriteFile(file, []byte(text), 0o644); err == nil {
		d.cfg, err = config.Load(file)
	}
	if err == nil {
		d.producer, err = kgo.NewClient(kgo.SeedBrokers(address), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	}
	if err != nil {
		d.cluster.Close()
		return fmt.Errorf("prepare the demo: %w", err)
	}
	return nil
}

// claimFolder makes the demo's folder. One that an earlier demo made is emptied; any other that holds something is refused.
func claimFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the demo's folder: %w; choose another with --dir", err)
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, demoMark)); err != nil {
			return fmt.Errorf("%s holds something that is not the demo's: choose another folder with --dir", dir)
		}
		for _, name := range []string{"shop.db", "_sink-probe", "sink.yaml"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("the demo's folder: %w", err)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the demo's folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, demoMark), []byte("made by `sink demo`, which makes it anew\n"), 0o644); err != nil {
		return fmt.Errorf("the demo's folder: %w", err)
	}
	return nil
}

// produce puts some events on the topics and waits for the broker to have them.
func (d *demo) produce(ctx context.Context, events int) error {
	var failed error
	var once sync.Once
	for range events {
		for _, rec := range d.shop.next() {
			d.producer.Produce(ctx, rec, func(_ *kgo.Record, err error) {
				if err != nil {
					once.Do(func() { failed = err })
				}
			})
		}
	}
	if err := d.producer.Flush(ctx); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("produce: %w", failed)
	}
	return nil
}

// sink runs the service, until all events are in the tables or, while more are made, until the user stops it.
func (d *demo) sink(ctx context.Context, untilEnd bool) error {
	watch := &progress{out: d.stdout, live: isTerminal(d.stdout)}
	var side sync.WaitGroup
	sideCtx, stop := context.WithCancel(ctx)
	s := &service{cfg: d.cfg, untilEnd: untilEnd, log: newLogger(d.stderr, d.cfg.Log)}
	if !untilEnd {
		s.listening = func(address string) { d.say("Status page: http://%s/status; Ctrl-C stops.", address) }
	}
	s.started = func(c *connector.Connector) {
		side.Go(func() { watch.run(sideCtx, c.Stats) })
		if !untilEnd {
			side.Go(func() { d.trickle(sideCtx) })
		}
	}
	err := s.run(ctx)
	stop()
	side.Wait()
	watch.end()
	return err
}

// trickle goes on with events until the context ends.
func (d *demo) trickle(ctx context.Context) {
	tick := time.NewTicker(time.Second / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if d.produce(context.WithoutCancel(ctx), demoRate/10) != nil {
				return
			}
		}
	}
}

// progress shows how far the tables are: one line that changes on a terminal, else a line when something has changed.
type progress struct {
	out  io.Writer
	live bool
	last string
}

func (p *progress) run(ctx context.Context, stats func() connector.Stats) {
	tick := time.NewTicker(demoTick)
	defer tick.Stop()
	for {
		p.show(stats())
		select {
		case <-ctx.Done():
			p.show(stats())
			return
		case <-tick.C:
		}
	}
}

func (p *progress) show(s connector.Stats) {
	var parts []string
	for _, t := range s.Tables {
		var rows int64
		for _, n := range t.Rows {
			rows += n
		}
		parts = append(parts, fmt.Sprintf("%s: %s records, %s changes, snapshot %d", t.Table, humanCount(t.Records), humanCount(rows), t.Snapshot))
	}
	line := "  " + strings.Join(parts, " | ")
	if len(parts) == 0 || line == p.last {
		return
	}
	if p.live {
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	} else {
		_, _ = fmt.Fprintln(p.out, line)
	}
	p.last = line
}

func (p *progress) end() {
	if p.live && p.last != "" {
		_, _ = fmt.Fprintln(p.out)
	}
}
