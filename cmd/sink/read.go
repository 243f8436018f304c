package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sink/table"
	"sink/table/scan"
)

func (a *app) readCommand() *cobra.Command {
	var (
		where   location
		rows    choice
		format  rowsFormat
		at      scan.At
		when    string
		limit   int64
		options scan.Options
		anyhow  bool
	)
	cmd := a.command(&cobra.Command{
		Use:   "read TABLE",
		Short: "Print rows, as a batch reader sees them",
		Long: `Print the rows of a table at a snapshot, ordered by primary key, as any batch reader of Paimon sees them. A table of more than 64
buckets is printed bucket by bucket.

--where chooses rows: comparisons (= <> < <= > >=, in, is null) of columns, or functions of them, with values, joined by and, or, not and
brackets, as filters in sink.yaml. Partitions, files and parts of files that hold no such row, by their statistics, are not read.

TABLE is database.table. With -o json each line is a row: numbers and booleans as such, decimals, dates and times as text, bytes in
base64, maps as lists of pairs. -o arrow is an Arrow IPC stream that can be piped into pyarrow, DuckDB or Polars.`,
		Example: `  sink read shop.orders -c sink.yaml
  sink read shop.orders --warehouse file:///var/lake --limit 10
  sink read shop.orders --warehouse file:///var/lake --snapshot 12 --columns id,amount -o csv
  sink read shop.orders -c sink.yaml -o parquet > orders.parquet
  sink read shop.orders -c sink.yaml -o arrow | python3 -c 'import pyarrow as pa; print(pa.ipc.open_stream(open(0, "rb")).read_all())'
  sink read shop.orders --warehouse file:///var/lake --where "amount > 10 and status = 'PAID'"
  sink read shop.orders --warehouse s3://lake/warehouse --s3-endpoint http://127.0.0.1:9000 -o json | jq .amount`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			if when != "" {
				t, err := parseTime(when)
				if err != nil {
					return misusef("--at %s is %w", when, err)
				}
				at.Time = t
			}
			if err := oneOf(at); err != nil {
				return misuse(err)
			}
			options.Ordered = !anyhow
			store, path, err := where.openTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			t, err := scan.Open(cmd.Context(), store, path)
			if err != nil {
				return fmt.Errorf("table %s: %w", args[0], err)
			}
			return a.read(cmd.Context(), t, at, options, rows, limit, format.outputFormat)
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	f.Var((*ordinal)(&at.Snapshot), "snapshot", "snapshot to read (default the newest)")
	f.StringVar(&at.Tag, "tag", "", "tag to read")
	f.StringVar(&when, "at", "", "time to read at, such as 2024-05-01T12:00:00Z or 2024-05-01, or in milliseconds since 1970")
	f.StringVar(&when, "timestamp", "", "the same as --at")
	rows.addTo(cmd)
	f.Var((*count)(&limit), "limit", "how many rows to print; 0: all")
	f.StringSliceVar(&options.Columns, "columns", nil, "columns to print, in this order (default all)")
	f.BoolVar(&anyhow, "unordered", false, "bucket by bucket instead of by primary key: less memory for a table of many partitions")
	return cmd
}

// parseTime reads a time with a zone, a day, or milliseconds since 1970.
func parseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("no time: write 2024-05-01T12:00:00Z, 2024-05-01 (its begin in UTC) or milliseconds since 1970")
}

// oneOf refuses two answers to the question of what to read.
func oneOf(at scan.At) error {
	n := 0
	for _, set := range []bool{at.Snapshot != 0, at.Tag != "", !at.Time.IsZero()} {
		if set {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("--snapshot, --tag and --at all say what to read: give one")
	}
	return nil
}

// maxOrdered is how many buckets are read at once, for rows in the order of the primary key: each takes memory.
const maxOrdered = 64

func (a *app) read(ctx context.Context, t *scan.Table, at scan.At, options scan.Options, rows choice, limit int64, format outputFormat) error {
	if err := t.CheckReaders(at); err != nil {
		return err
	}
	plan, err := t.Plan(ctx, at, nil)
	if err != nil {
		return err
	}
	options.Ordered = options.Ordered && len(plan.Splits) <= maxOrdered
	if options.Where, err = rows.on(plan.Schema); err != nil {
		return err
	}
	fields, err := plan.Fields(options)
	if err != nil {
		return misuse(err)
	}
	out, err := newRowPrinter(a, format, fields, nil)
	if err != nil {
		return err
	}
	if plan.Snapshot == nil {
		return out.close()
	}
	left := limit
	for b, err := range plan.Rows(ctx, options) {
		if err != nil {
			return err
		}
		n := b.Len()
		if limit > 0 {
			n = int(min(int64(n), left))
			left -= int64(n)
		}
		for i := range n {
			out.print(b, i)
		}
		if out.err != nil || limit > 0 && left == 0 {
			break
		}
	}
	return out.close()
}

// rowPrinter prints rows of a table, behind cells that tell where they come from.
type rowPrinter struct {
	*printer
	fields []table.Field
	cell   []byte
	file   *rowFile // nil: as text
}

func newRowPrinter(a *app, format outputFormat, fields, before []table.Field) (*rowPrinter, error) {
	p := &rowPrinter{fields: fields}
	if format == formatParquet || format == formatArrow {
		p.printer = newPrinter(io.Discard, formatJSON)
		var err error
		p.file, err = newRowFile(a.stdout, format, fields, before)
		return p, err
	}
	var columns []string
	for _, f := range append(before[:len(before):len(before)], fields...) {
		columns = append(columns, f.Name)
	}
	p.printer = newPrinter(a.stdout, format, columns...)
	return p, nil
}

// print prints row i of a batch.
func (p *rowPrinter) print(b *table.Batch, i int, before ...string) {
	switch {
	case p.file != nil:
		p.keep(p.file.row(b, i))
		return
	case p.format == formatJSON:
		p.line = table.AppendCanonicalRow(p.line[:0], p.fields, b, i)
		p.jsonLine(p.line)
		return
	}
	cells := append(make([]string, 0, len(p.columns)), before...)
	for c := range p.fields {
		p.cell = table.AppendCanonical(p.cell[:0], p.fields[c].Type, &b.Columns[c], i)
		cells = append(cells, shorten(canonicalCell(p.cell, p.format), p.format))
	}
	p.cells(cells)
}

// flush prints what is there so far, for results that go on.
func (p *rowPrinter) flush() error {
	if p.file != nil {
		p.keep(p.file.flush())
	}
	return p.printer.flush()
}

// close prints the rest. It returns the first error of all.
func (p *rowPrinter) close() error {
	if p.file != nil {
		p.keep(p.file.close())
	}
	return p.printer.close()
}
