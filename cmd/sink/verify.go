package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sink/table"
	"sink/table/object"
	"sink/table/verify"
)

func (a *app) verifyCommand() *cobra.Command {
	var (
		where   location
		format  outputFormat
		options verify.Options
		replay  string
		memory  string
		strict  bool
	)
	cmd := a.command(&cobra.Command{
		Use:   "verify TABLE",
		Short: "Check every file of a table, and that its changelog gives its rows",
		Long: `Check a table: that all files that its snapshots, tags and changelogs name are there and hold what is said of them (sizes, counts,
keys, order, buckets, partitions, sequence numbers, statistics), and that the changelog, replayed from the first snapshot that is left,
gives exactly the rows of each later one.

Each line is a finding: a fault, a warning (legal but seldom meant), or an orphan (a file that nothing names). It ends with 1 when there
is a fault; with --strict also for warnings and orphans. Nothing is changed. While a table is written, files that are not committed yet
show as orphans.

The replay merges the changelog as the table's merge engine does. It takes one bucket after the other and holds its rows in memory, up to
--memory: the files of a larger bucket are read several times. Without changelog producer the files of level 0 are replayed, and with
lookup or full-compaction the rows of files that are not compacted are left out: the changelog does not tell of them yet. Not replayed are
tables with record-level.expire-time, and those whose rows the sink does not read, such as those with deletion vectors; a line says so.`,
		Example: `  sink verify shop.orders -c sink.yaml
  sink verify shop.orders -c sink.yaml --replay last -o json
  sink verify shop.orders --warehouse s3://lake/warehouse --replay all --from 4711`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch options.Replay = verify.Replay(replay); options.Replay {
			case verify.ReplayAll, verify.ReplayLast, verify.ReplayNone:
			default:
				return misusef("--replay %s is none of all, last, none", replay)
			}
			var err error
			if options.MemoryBytes, err = table.ParseMemorySize(memory); err != nil || options.MemoryBytes < 1 {
				return misusef("--memory %s is no size such as 256mb", memory)
			}
			store, path, err := where.openTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.verify(cmd.Context(), store, path, options, format, strict)
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&replay, "replay", string(verify.ReplayAll), "compare the replayed changelog with the rows of: all snapshots, the last, or none")
	f.Var((*ordinal)(&options.From), "from", "snapshot whose rows the replay begins with (default the first that is left)")
	f.StringVar(&memory, "memory", "256mb", "how much the rows of the replay may take")
	f.BoolVar(&strict, "strict", false, "warnings and orphans make it fail, too")
	_ = cmd.RegisterFlagCompletionFunc("replay", cobra.FixedCompletions([]string{"all", "last", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) verify(ctx context.Context, store object.Store, path table.Path, o verify.Options, format outputFormat, strict bool) error {
	out := newPrinter(a.stdout, format, "level", "code", "where", "what")
	bar := newBar(a)
	o.Report = func(f verify.Finding) { out.row(string(f.Level), f.Code, f.Where, f.What) }
	o.Progress = bar.show
	s, err := verify.Run(ctx, store, path, o)
	bar.clear()
	summary := verified(&s)
	if err == nil && format == formatJSON {
		out.row("summary", "", "", summary)
	}
	err = errors.Join(err, out.close())
	if err != nil {
		return err
	}
	if s.Faults > 0 || strict && s.Warnings+s.Orphans > 0 {
		return errors.New(summary)
	}
	if format != formatJSON {
		fmt.Fprintln(a.stderr, summary)
	}
	return nil
}

// verified is a check in a line.
func verified(s *verify.Summary) string {
	return fmt.Sprintf("%s, %s, %s; checked %s, %s, %s, %s, %s, %s of %s; %s replayed",
		plural(s.Faults, "fault"), plural(s.Warnings, "warning"), plural(s.Orphans, "orphan"), plural(s.Snapshots, "snapshot"), plural(s.Changelogs, "changelog"),
		plural(s.Tags, "tag"), plural(s.Schemas, "schema"), plural(s.Manifests, "manifest"), plural(s.Files, "file"), plural(s.Rows, "row"), plural(s.Replayed, "snapshot"))
}

// barEvery is how often a progress bar is drawn anew.
const barEvery = 100 * time.Millisecond

// bar shows progress on a terminal, and nothing elsewhere.
type bar struct {
	a     *app
	shown bool
	drawn time.Time
	on    bool
}

func newBar(a *app) *bar {
	f, ok := a.stderr.(*os.File)
	return &bar{a: a, on: ok && term.IsTerminal(int(f.Fd()))}
}

func (b *bar) show(read, known int) {
	if !b.on || time.Since(b.drawn) < barEvery {
		return
	}
	b.drawn, b.shown = time.Now(), true
	const width = 40
	full := min(width, read*width/max(known, 1))
	fmt.Fprintf(b.a.stderr, "\r[%-*s] %d of %d files", width, "########################################"[:full], read, known)
}

func (b *bar) clear() {
	if b.shown {
		fmt.Fprint(b.a.stderr, "\r\x1b[K")
	}
}
