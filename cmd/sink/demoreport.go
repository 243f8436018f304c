package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sink/table"
	"sink/table/object"
	"sink/table/scan"
)

// totals are what a table of orders comes to.
type totals struct {
	rows int64
	sum  cents
}

// report compares the tables with the shop, shows a little of them, and says how to look further.
func (d *demo) report(ctx context.Context) error {
	store := object.NewLocal(d.dir)
	path, err := tablePath(demoOrders)
	if err != nil {
		return err
	}
	orders, err := scan.Open(ctx, store, path)
	if err != nil {
		return fmt.Errorf("table %s: %w", demoOrders, err)
	}
	d.say("\nThe first rows of %s, as a batch reader sees them:\n", demoOrders)
	if err := d.read(ctx, orders, scan.At{}, scan.Options{Ordered: true}, choice{}, 5, formatTable); err != nil {
		return err
	}
	d.say("\nIts last changes, as a streaming reader sees them (-U and +U are a row before and after an update):\n")
	if err := d.lastChanges(ctx, orders); err != nil {
		return err
	}
	rows, err := totalOfRows(ctx, orders)
	if err != nil {
		return err
	}
	changes, err := totalOfChanges(ctx, orders)
	if err != nil {
		return err
	}
	truth := totals{rows: int64(len(d.shop.orders)), sum: d.shop.total()}
	d.say("\nDoes the changelog add up? SUM(amount), and the number of orders:\n")
	out := newPrinter(d.stdout, formatTable, "where", "orders", "sum")
	out.row("the shop's own books", humanCount(truth.rows), truth.sum.String())
	out.row("rows of the table", humanCount(rows.rows), rows.sum.String())
	out.row("changelog, added up (+I +U add, -U -D subtract)", humanCount(changes.rows), changes.sum.String())
	if err := out.close(); err != nil {
		return err
	}
	if rows != truth || changes != truth {
		return errors.New("the three do not agree: this is a bug of the sink, please report it")
	}
	return d.further()
}

// lastChanges prints the newest snapshot's first changes.
func (d *demo) lastChanges(ctx context.Context, t *scan.Table) error {
	s, err := t.Snapshot(ctx, scan.At{})
	if err != nil || s == nil {
		return err
	}
	return d.changelog(ctx, t, scan.Start(s.ID), scan.ChangeOptions{To: s.ID}, 8, formatTable)
}

// totalOfRows adds up the rows of a table.
func totalOfRows(ctx context.Context, t *scan.Table) (totals, error) {
	var sum totals
	plan, err := t.Plan(ctx, scan.At{}, nil)
	if err != nil {
		return sum, err
	}
	for b, err := range plan.Rows(ctx, scan.Options{Columns: []string{"amount"}}) {
		if err != nil {
			return sum, err
		}
		for i := range b.Len() {
			sum.add(b, i, 1)
		}
	}
	return sum, nil
}

// totalOfChanges adds up the changelog.
func totalOfChanges(ctx context.Context, t *scan.Table) (totals, error) {
	var sum totals
	for c, err := range t.Changes(ctx, scan.Earliest, scan.ChangeOptions{Columns: []string{"amount"}}) {
		if err != nil {
			return sum, err
		}
		for i := range c.Batch.Len() {
			sign := int64(1)
			if c.Batch.Kinds[i].Retracts() {
				sign = -1
			}
			sum.add(c.Batch, i, sign)
		}
	}
	return sum, nil
}

// add counts row i, whose only column is a DECIMAL(12, 2): its word is in cents.
func (t *totals) add(b *table.Batch, i int, sign int64) {
	t.rows += sign
	t.sum += cents(sign * b.Columns[0].Words[i])
}

// further says how to look further.
func (d *demo) further() error {
	sink := os.Args[0]
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") { // a binary that go run keeps to itself
		sink = "go run ./cmd/sink"
	}
	dir := filepath.ToSlash(d.dir)
	_, err := fmt.Fprintf(d.stdout, `
They agree. The tables are ordinary Paimon tables in %[1]s. To look further:

  %[2]s read shop.orders --warehouse file://%[1]s --limit 20
  %[2]s changelog shop.orders --warehouse file://%[1]s --from earliest -o json
  %[2]s inspect shop.orders --warehouse file://%[1]s

With pypaimon (pip install pypaimon):

  from pypaimon import CatalogFactory
  table = CatalogFactory.create({"warehouse": "file://%[1]s"}).get_table("shop.orders")
  builder = table.new_read_builder()
  print(builder.new_read().to_pandas(builder.new_scan().plan().splits()))

With Flink SQL:

  CREATE CATALOG demo WITH ('type' = 'paimon', 'warehouse' = 'file://%[1]s');
  SET 'execution.runtime-mode' = 'streaming';
  SELECT status, COUNT(*), SUM(amount) FROM demo.shop.orders /*+ OPTIONS('scan.mode' = 'latest-full') */ GROUP BY status;
`, dir, sink)
	return err
}
