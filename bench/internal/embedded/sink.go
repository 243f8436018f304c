package embedded

import (
	"context"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
	"sink/connector"
	"sink/debezium"
	"sink/table/object"
)

// Config returns what the service would make of a sink.yaml with the defaults for the broker's topic, with a store to write to. stop ends
// the schema registry that Avro gets.
func (b *Broker) Config(ctx context.Context, format string, columns int, buckets string, store object.Store) (cfg connector.Config, stop func(), err error) {
	schema, err := change.Schema(change.Columns(columns))
	if err != nil {
		return cfg, nil, err
	}
	mapping := connector.Table{
		Topics: []string{Topic}, Name: "bench.orders", PrimaryKey: schema.PrimaryKeys, Options: map[string]string{"bucket": buckets},
		OnError: connector.Fail, OnMissingBefore: connector.Fail, OnTruncate: connector.Fail, SchemaChange: connector.Evolve,
		Types: debezium.Types{Decimal: debezium.DecimalString},
	}
	for i, c := range change.Columns(columns) {
		if !c.Declared(format) {
			mapping.Columns = append(mapping.Columns, schema.Fields[i])
		}
	}
	stop = func() {}
	if format == "avro" {
		var url string
		if url, stop, err = change.ServeRegistry(ctx, change.Columns(columns)); err != nil {
			return cfg, nil, err
		}
		if mapping.Decoding.Registry, err = debezium.NewRegistry(debezium.RegistryConfig{URL: url}); err != nil {
			stop()
			return cfg, nil, err
		}
	}
	return connector.Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers(b.Address()), kgo.FetchMaxBytes(16 << 20), kgo.FetchMaxPartitionBytes(1 << 20)},
		Group: "bench", Protocol: connector.Classic, Start: connector.Earliest, Store: store, Memory: 256 << 20,
		Checkpoint: connector.Checkpoint{Interval: 10 * time.Second, Bytes: 128 << 20, Records: 1_000_000},
		Tables:     []connector.Table{mapping}, StopWithin: 30 * time.Second, Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel),
	}, stop, nil
}
