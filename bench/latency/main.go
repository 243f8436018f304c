// Command latency measures how long a change takes from Kafka's acknowledgement to the snapshot that makes it visible, at a steady
// rate of events: broker and store in the sink's process, so that nothing but the sink and the checkpoint interval is in it. It
// prints a histogram. A change waits for the next checkpoint, so half the interval is the mean of what is possible.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
	"sink/bench/internal/embedded"
	"sink/connector"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

type options struct {
	change.Options
	rate            int
	interval, delay time.Duration
}

func main() {
	log.SetFlags(0)
	var o options
	o.Options.Flags()
	flag.IntVar(&o.rate, "rate", 5_000, "events a second")
	flag.DurationVar(&o.interval, "checkpoint", 2*time.Second, "checkpoint interval")
	flag.DurationVar(&o.delay, "delay", 0, "time that each write to the store takes, as a distant one would")
	flag.Parse()
	if err := run(&o); err != nil {
		log.Fatal(err)
	}
}

func run(o *options) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	broker, err := embedded.NewBroker()
	if err != nil {
		return err
	}
	defer broker.Close()
	seen := &watched{Store: object.NewMem(), delay: o.delay, sent: map[int32][]time.Time{}}
	cfg, end, err := broker.Config(ctx, "json", o.Columns, "4", seen)
	if err != nil {
		return err
	}
	defer end()
	cfg.Checkpoint.Interval = o.interval
	c, err := connector.New(cfg)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	running, leave := context.WithCancel(ctx)
	defer leave()
	go func() { ended <- c.Run(running) }()
	err = broker.Fill(ctx, o.Options, "json", o.pace(), seen.acknowledged)
	leave()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	return seen.report(o)
}

// pace returns what waits until the next event is due, in steps of 10 ms.
func (o *options) pace() func(sent int) {
	began, due := time.Now(), 0
	return func(sent int) {
		for ; sent >= due; due = int(time.Since(began).Seconds() * float64(o.rate)) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// watched is a store that notes when the records become visible that snapshots cover.
type watched struct {
	object.Store
	delay time.Duration

	mu      sync.Mutex
	sent    map[int32][]time.Time // by partition and offset
	covered map[int32]int64
	took    []time.Duration
}

func (s *watched) acknowledged(r *kgo.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[r.Partition] = append(s.sent[r.Partition], time.Now()) // acknowledgements come in order
}

func (s *watched) Put(ctx context.Context, name string, b []byte) error {
	time.Sleep(s.delay)
	return s.Store.Put(ctx, name, b)
}

// Create makes an object that is not there yet: a snapshot is one, and visible from then on.
func (s *watched) Create(ctx context.Context, name string, b []byte) error {
	time.Sleep(s.delay)
	if err := s.Store.Create(ctx, name, b); err != nil || !strings.Contains(name, "/snapshot/snapshot-") {
		return err
	}
	now := time.Now()
	snapshot, err := manifest.ParseSnapshot(b)
	if err != nil {
		return err
	}
	progress, _, err := table.ParseProgress(snapshot.Properties)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.covered == nil {
		s.covered = map[int32]int64{}
	}
	for tp, to := range progress.Offsets {
		// What a snapshot covers before its acknowledgement has come counts with the next one.
		for end := min(to.Offset, int64(len(s.sent[tp.Partition]))); s.covered[tp.Partition] < end; s.covered[tp.Partition]++ {
			s.took = append(s.took, now.Sub(s.sent[tp.Partition][s.covered[tp.Partition]]))
		}
	}
	return nil
}

// report prints the histogram, in tenths of the interval.
func (s *watched) report(o *options) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.took) == 0 {
		return errors.New("no snapshot")
	}
	slices.Sort(s.took)
	at := func(q float64) time.Duration { return s.took[int(q*float64(len(s.took)-1))].Round(time.Millisecond) }
	fmt.Printf("RESULT events=%d interval=%v p50=%v p90=%v p99=%v max=%v\n", len(s.took), o.interval, at(0.5), at(0.9), at(0.99), at(1))
	step := o.interval / 10
	for from, i := time.Duration(0), 0; i < len(s.took); from += step {
		n := 0
		for ; i < len(s.took) && s.took[i] < from+step; i++ {
			n++
		}
		fmt.Printf("%8v .. %-8v %6.1f %% %s\n", from, from+step, 100*float64(n)/float64(len(s.took)), strings.Repeat("#", 200*n/len(s.took)))
	}
	return nil
}
