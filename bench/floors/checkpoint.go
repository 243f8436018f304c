package main

import (
	"context"

	"sink/commit"
	"sink/debezium"
	"sink/flush"
	"sink/table"
	"sink/table/object"
)

// smallCheckpoints is how many checkpoints of one row a bucket are measured.
const smallCheckpoints = 200

// addSmall adds what does not depend on how many events there are: binding the plan of a shape, and a checkpoint of hardly any
// rows, which is a commit and the least that four files of each kind cost.
func addSmall(add func(string, string, int, func() error) *stage, list []debezium.Record, schema *table.Schema) error {
	add("bind, sink: the plan of a shape", "shape", smallCheckpoints, func() error {
		for range smallCheckpoints {
			if _, err := debezium.Bind(schema, nil, debezium.Options{Types: debezium.Types{Decimal: debezium.DecimalString}}); err != nil {
				return err
			}
		}
		return nil
	})
	b, err := newBuffer(list[:16], schema)
	if err != nil {
		return err
	}
	var c *commit.Committer
	var from table.Offsets
	prepare := func() error { // a new table
		ctx, store, path := context.Background(), object.NewMem(), table.NewPath("bench", "orders")
		cfg := commit.Config{Store: store, Path: path, User: "bench"}
		made, _, err := commit.CreateTable(ctx, cfg, schema)
		if err != nil {
			return err
		}
		if c, err = commit.Open(ctx, cfg); err != nil {
			return err
		}
		from = table.Offsets{}
		b.writer, err = flush.New(flush.Config{Schema: made, Store: store, Path: path})
		return err
	}
	add("smallest checkpoint, sink: 8 files and their commit", "checkpoint", smallCheckpoints, func() error {
		ctx := context.Background()
		for i := range smallCheckpoints {
			if err := b.fill(); err != nil {
				return err
			}
			delta, err := b.writer.Seal().Flush(ctx)
			if err != nil {
				return err
			}
			to := table.Offsets{{Topic: "orders"}: {Offset: int64(i) + 1, Epoch: -1}}
			delta.From, delta.Progress.Offsets, from = from, to, to
			if _, err := c.Commit(ctx, delta); err != nil {
				return err
			}
		}
		return nil
	}).prepare = prepare
	return nil
}
