package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sink/commit/expire"
	"sink/table/manifest"
	"sink/table/object"
)

func (a *app) orphansCommand() *cobra.Command {
	var (
		where     location
		format    outputFormat
		age       time.Duration
		remove    bool
		noWriters bool
	)
	cmd := a.command(&cobra.Command{
		Use:   "orphans TABLE",
		Short: "Find files that nothing names, and delete them on demand",
		Long: `Find files in a table's folders that no snapshot, tag, changelog or branch names: what writers left behind that died, or lost a
race. Without --delete they are only listed.

Files that a writer has made but not committed yet look the same, so only files older than --older-than count. The sink commits no
file older than an hour; other writers may take longer. With --delete, ages go by the clock of the store if this machine's is ahead of it.`,
		Example: `  sink orphans shop.orders -c sink.yaml
  sink orphans shop.orders -c sink.yaml --older-than 72h --delete`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if age < expire.MinOrphanAge && !noWriters {
				return misusef("--older-than %s: files that are younger than %s may be on their way into a snapshot; if nothing writes the table now, add --no-writers", age, expire.MinOrphanAge)
			}
			store, path, err := where.openTable(ctx, args[0])
			if err != nil {
				return err
			}
			schema, err := manifest.LatestSchema(ctx, store, path)
			if err != nil {
				return fmt.Errorf("table %s: %w", args[0], err)
			}
			e, err := expire.New(expire.Config{Store: store, Path: path, Schema: schema})
			if err != nil {
				return err
			}
			now := time.Now()
			if remove && !noWriters {
				// By a clock that runs ahead of the store's, what others are about to commit looks old.
				theirs, err := object.Clock(ctx, store)
				if err != nil {
					return err
				}
				if theirs.Before(now) {
					now = theirs
				}
			}
			found, err := e.Orphans(ctx, now.Add(-age))
			if err != nil {
				return err
			}
			out := newPrinter(a.stdout, format, "file", "bytes", "modified")
			for _, info := range found {
				out.row(info.Name, info.SizeBytes, timeText(info.Modified.UnixMilli()))
			}
			if err := out.close(); err != nil || !remove {
				return err
			}
			return errors.Join(e.DeleteOrphans(ctx, found))
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	age = 24 * time.Hour
	f.Var((*span)(&age), "older-than", "least age of a file, by when it was last written")
	f.BoolVar(&remove, "delete", false, "delete what was found")
	f.BoolVar(&noWriters, "no-writers", false, "nothing writes the table now, so that young files are orphans, too")
	return cmd
}
