package main

import (
	"context"

	"sink/bench/internal/change"
	"sink/commit"
	"sink/debezium"
	"sink/flush"
	"sink/table"
	"sink/table/object"
)

// maker makes a table as the service does, without a broker.
type maker struct {
	decoder   *debezium.Decoder
	plan      *debezium.Plan
	frame     debezium.Frame
	writer    *flush.Writer
	committer *commit.Committer
	from      table.Offsets
}

// makeTable makes a table of many checkpoints and returns the rows of its data files, all of them of level 0.
func makeTable(o *options, dir string) (rows int64, err error) {
	columns := change.Columns(o.Columns)
	schema, err := change.Schema(columns)
	if err != nil {
		return 0, err
	}
	encoder, err := change.NewEncoder("json", columns)
	if err != nil {
		return 0, err
	}
	m := &maker{decoder: debezium.NewDecoder(debezium.Config{}), from: table.Offsets{}}
	if err := m.open(schema, dir); err != nil {
		return 0, err
	}
	if m.plan, err = debezium.Bind(schema, nil, debezium.Options{Types: debezium.Types{Decimal: debezium.DecimalString}}); err != nil {
		return 0, err
	}
	stream := change.NewStream(o.Options)
	var offset int64
	for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
		rec := debezium.Record{Topic: "orders", Offset: offset, Timestamp: ev.Millis, Key: encoder.Key(nil, &ev), Value: encoder.Value(nil, &ev)}
		if err := m.add(&rec); err != nil {
			return 0, err
		}
		if offset++; offset%int64(o.checkpoint) == 0 || offset == int64(o.Events) {
			n, err := m.commit(offset)
			if err != nil {
				return 0, err
			}
			rows += n
		}
	}
	return rows, nil
}

func (m *maker) open(schema *table.Schema, dir string) error {
	ctx, store, path := context.Background(), object.NewLocal(dir), table.NewPath("bench", "orders")
	cfg := commit.Config{Store: store, Path: path, User: "bench"}
	if _, _, err := commit.CreateTable(ctx, cfg, schema); err != nil {
		return err
	}
	var err error
	if m.committer, err = commit.Open(ctx, cfg); err != nil {
		return err
	}
	m.writer, err = flush.New(flush.Config{Schema: m.committer.Schema(), Store: store, Path: path})
	return err
}

func (m *maker) add(rec *debezium.Record) error {
	if err := m.decoder.Frame(context.Background(), rec, &m.frame); err != nil {
		return err
	}
	if _, err := m.plan.Append(&m.frame, m.writer.Batch()); err != nil {
		return err
	}
	return m.writer.Add()
}

// commit makes what was added a snapshot, and returns the rows of its data files.
func (m *maker) commit(offset int64) (rows int64, err error) {
	ctx := context.Background()
	delta, err := m.writer.Seal().Flush(ctx)
	if err != nil {
		return 0, err
	}
	to := table.Offsets{{Topic: "orders"}: {Offset: offset, Epoch: -1}}
	delta.From, delta.Progress.Offsets, m.from = m.from, to, to
	for i := range delta.Added {
		rows += delta.Added[i].Rows
	}
	_, err = m.committer.Commit(ctx, delta)
	return rows, err
}
