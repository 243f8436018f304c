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
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
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
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "orders"), kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}))
	if err != nil {
		return err
	}
	defer cluster.Close()
	schema, err := change.Schema(change.Columns(o.Columns))
	if err != nil {
		return err
	}
	seen := &watched{Store: object.NewMem(), delay: o.delay, sent: map[int32][]time.Time{}}
	c, err := connector.New(connector.Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()[0])}, Group: "bench", Protocol: connector.Classic, Start: connector.Earliest,
		Store: seen, Memory: 256 << 20, Checkpoint: connector.Checkpoint{Interval: o.interval, Bytes: 128 << 20, Records: 1_000_000},
		Tables: []connector.Table{{
			Topics: []string{"orders"}, Name: "bench.orders", PrimaryKey: schema.PrimaryKeys, Columns: schema.Fields, Options: schema.Options,
			OnError: connector.Fail, OnMissingBefore: connector.Fail, OnTruncate: connector.Fail, SchemaChange: connector.Evolve,
		}},
		StopWithin: 30 * time.Second, Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	err = produce(o, cluster.ListenAddrs()[0], seen)
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	return seen.report(o)
}

// produce sends events at the rate, in slices of 10 ms.
func produce(o *options, address string, seen *watched) error {
	encoder, err := change.NewEncoder("json", change.Columns(o.Columns))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	stream := change.NewStream(o.Options)
	began, sent := time.Now(), 0
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ev, ok := stream.Next(); ok; {
		for due := int(time.Since(began).Seconds() * float64(o.rate)); ok && sent < due; sent++ {
			client.Produce(context.Background(), &kgo.Record{Key: encoder.Key(nil, &ev), Value: encoder.Value(nil, &ev)}, func(r *kgo.Record, err error) {
				if err != nil {
					log.Fatal(err)
				}
				seen.acknowledged(r)
			})
			ev, ok = stream.Next()
		}
		<-tick.C
	}
	return client.Flush(context.Background())
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
