// Package embedded is what benchmarks take that have nothing outside their process: a Kafka broker to fill with the generator's events,
// and the sink's configuration to read them.
package embedded

import (
	"context"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
)

// Topic is the one of the events, Partitions how many it has.
const (
	Topic      = "orders"
	Partitions = 4
)

// Broker is a Kafka broker in this process. It keeps its records in memory.
type Broker struct{ cluster *kfake.Cluster }

// NewBroker starts a broker whose topic is empty.
func NewBroker() (*Broker, error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(Partitions, Topic), kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}))
	if err != nil {
		return nil, err
	}
	return &Broker{cluster}, nil
}

// Close stops the broker.
func (b *Broker) Close() { b.cluster.Close() }

// Address is where the broker listens.
func (b *Broker) Address() string { return b.cluster.ListenAddrs()[0] }

// Fill sends a stream of events. Before each it calls pace with how many it has sent; acknowledged gets each record when the broker has
// it, in the order of its partition. Both may be nil.
func (b *Broker) Fill(ctx context.Context, o change.Options, format string, pace func(sent int), acknowledged func(*kgo.Record)) error {
	encoder, err := change.NewEncoder(format, change.Columns(o.Columns))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address()), kgo.DefaultProduceTopic(Topic), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MaxBufferedBytes(64<<20), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	var failed atomic.Pointer[error]
	done := func(r *kgo.Record, err error) {
		switch {
		case err != nil:
			failed.Store(&err)
		case acknowledged != nil:
			acknowledged(r)
		}
	}
	sent := 0
	stream := change.NewStream(o)
	for ev, ok := stream.Next(); ok && failed.Load() == nil; ev, ok = stream.Next() {
		if pace != nil {
			pace(sent)
		}
		client.Produce(ctx, &kgo.Record{Key: encoder.Key(nil, &ev), Value: encoder.Value(nil, &ev)}, done)
		sent++
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
