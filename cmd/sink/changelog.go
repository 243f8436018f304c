package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sink/table"
	"sink/table/scan"
)

// pollEvery is how often --follow looks for the next snapshot.
const pollEvery = time.Second

func (a *app) changelogCommand() *cobra.Command {
	var (
		where   location
		rows    choice
		format  rowsFormat
		from    string
		follow  bool
		limit   int64
		options scan.ChangeOptions
	)
	cmd := a.command(&cobra.Command{
		Use:   "changelog TABLE",
		Short: "Print changes, as a streaming reader sees them",
		Long: `Print the changes of a table, snapshot by snapshot, as any streaming reader of Paimon sees them: +I a new row, -U and +U a row
before and after an update, -D a deleted row.

--where chooses changes as for read; each row of an update is judged by itself.

TABLE is database.table. --from is a snapshot, or: earliest, the first changes that are left (the default); latest, those after the
newest snapshot; full, all rows of the newest snapshot, then the changes after it.

With -o json each line is {"snapshot":3,"phase":"changelog","bucket":0,"kind":"-U","row":{...}}, with a "partition" where the table has
partitions; "phase" is "full" for the rows that --from full begins with. With -o parquet and -o arrow the columns snapshot, partition, bucket and kind are before those of the row.`,
		Example: `  sink changelog shop.orders -c sink.yaml
  sink changelog shop.orders --warehouse file:///var/lake --from 12 --where "id = 4711"
  sink changelog shop.orders --warehouse file:///var/lake --from latest --follow -o json`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := parseStart(from)
			if err != nil {
				return misuse(err)
			}
			if options.To > 0 && int64(start) > options.To {
				return misusef("--to %d is before --from %s", options.To, from)
			}
			if follow {
				options.Poll = pollEvery
			}
			store, path, err := where.openTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			t, err := scan.Open(cmd.Context(), store, path)
			if err != nil {
				return fmt.Errorf("table %s: %w", args[0], err)
			}
			if options.Where, err = rows.on(t.Schema()); err != nil {
				return err
			}
			return a.changelog(cmd.Context(), t, start, options, limit, format.outputFormat)
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&from, "from", "earliest", "where to begin: a snapshot, earliest, latest or full")
	f.Var((*ordinal)(&options.To), "to", "last snapshot to print (default all there are)")
	f.BoolVar(&follow, "follow", false, "wait for more, until Ctrl-C")
	rows.addTo(cmd)
	f.Var((*count)(&limit), "limit", "how many changes to print; 0: all")
	f.StringSliceVar(&options.Columns, "columns", nil, "columns to print, in this order (default all)")
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"earliest", "latest", "full"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// parseStart reads --from.
func parseStart(s string) (scan.Start, error) {
	switch s {
	case "earliest":
		return scan.Earliest, nil
	case "latest":
		return scan.Latest, nil
	case "full":
		return scan.LatestFull, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--from %s is none of a snapshot, earliest, latest, full", s)
	}
	return scan.Start(n), nil
}

func (a *app) changelog(ctx context.Context, t *scan.Table, from scan.Start, options scan.ChangeOptions, limit int64, format outputFormat) error {
	fields, err := t.ChangeFields(options)
	if err != nil {
		return misuse(err)
	}
	out, err := newChangePrinter(a, format, t.Schema(), fields)
	if err != nil {
		return err
	}
	left, any := limit, false
	for c, err := range t.Changes(ctx, from, options) {
		if errors.Is(err, context.Canceled) && options.Poll > 0 {
			break // Ctrl-C is how following ends
		}
		if err != nil && !any {
			return err // a header alone is no result
		}
		if err != nil {
			return errors.Join(out.close(), err)
		}
		any = true
		n := c.Batch.Len()
		if limit > 0 {
			n = int(min(int64(n), left))
			left -= int64(n)
		}
		for i := range n {
			out.change(&c, i)
		}
		if options.Poll > 0 {
			out.keep(out.flush())
		}
		if out.err != nil || limit > 0 && left == 0 {
			break
		}
	}
	return out.close()
}

// changePrinter prints changes: where they come from, their kind and their row.
type changePrinter struct {
	*rowPrinter
	partitioned bool
}

func newChangePrinter(a *app, format outputFormat, schema *table.Schema, fields []table.Field) (*changePrinter, error) {
	p := &changePrinter{partitioned: len(schema.PartitionKeys) > 0}
	var err error
	p.rowPrinter, err = newRowPrinter(a, format, fields, changeColumns(p.partitioned))
	return p, err
}

// change prints row i of a batch of changes.
func (p *changePrinter) change(c *scan.Change, i int) {
	if p.file != nil {
		p.fileCells(c, i)
		p.print(c.Batch, i)
		return
	}
	snapshot, bucket, kind := text(c.Snapshot), text(c.Split.Bucket.Number), c.Batch.Kinds[i].String()
	if p.format != formatJSON {
		before := []string{snapshot, bucket, kind}
		if p.partitioned {
			before = []string{snapshot, string(c.Split.Partition), bucket, kind}
		}
		p.print(c.Batch, i, before...)
		return
	}
	phase := "changelog"
	if c.Full {
		phase = "full"
	}
	b := append(p.line[:0], `{"snapshot":`+snapshot+`,"phase":"`+phase+`",`...)
	if p.partitioned {
		b = append(append(append(b, `"partition":`...), c.Split.Partition...), ',')
	}
	b = append(b, `"bucket":`+bucket+`,"kind":"`+kind+`","row":`...)
	b = table.AppendCanonicalRow(b, p.fields, c.Batch, i)
	p.line = append(b, '}')
	p.jsonLine(p.line)
}

// fileCells adds the cells before those of row i.
func (p *changePrinter) fileCells(c *scan.Change, i int) {
	columns := p.file.batch.Columns
	columns[0].AppendWord(c.Snapshot)
	if p.partitioned {
		columns[1].AppendBytes(c.Split.Partition)
	}
	columns[p.file.before-2].AppendWord(int64(c.Split.Bucket.Number))
	columns[p.file.before-1].AppendBytes([]byte(c.Batch.Kinds[i].String()))
}
