package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"sink/commit/expire"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

func (a *app) tagCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tag",
		Short: "Keep snapshots under a name: create, list, delete",
		Long: `A tag keeps the rows of a snapshot under a name, however long ago the snapshot itself expired. Its changelog is not kept.

` + exitCodes,
		Example: `  sink tag create shop.orders 2024-q1 -c sink.yaml
  sink tag list shop.orders -c sink.yaml
  sink read shop.orders -c sink.yaml --tag 2024-q1
  sink tag delete shop.orders 2024-q1 -c sink.yaml`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tagCreateCommand(), a.tagListCommand(), a.tagDeleteCommand())
	return cmd
}

// tagArgs wants a table and the name of a tag.
func tagArgs(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return errors.New("name a table, as database.table, and a tag")
	}
	return nil
}

// openExpirer opens what makes and removes tags.
func (l *location) openExpirer(ctx context.Context, name string) (*expire.Expirer, object.Store, table.Path, error) {
	store, path, err := l.openTable(ctx, name)
	if err != nil {
		return nil, nil, "", err
	}
	schema, err := manifest.LatestSchema(ctx, store, path)
	if err != nil {
		return nil, nil, "", fmt.Errorf("table %s: %w", name, err)
	}
	e, err := expire.New(expire.Config{Store: store, Path: path, Schema: schema})
	return e, store, path, err
}

func (a *app) tagCreateCommand() *cobra.Command {
	var (
		where    location
		snapshot int64
		retain   time.Duration
	)
	cmd := a.command(&cobra.Command{
		Use:   "create TABLE NAME",
		Short: "Keep a snapshot under a name",
		Long:  `Keep a snapshot, the newest unless --snapshot says another, under a name.`,
		Example: `  sink tag create shop.orders 2024-q1 -c sink.yaml
  sink tag create shop.orders before-migration -c sink.yaml --snapshot 4711 --retain 30d`,
		Args: tagArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, store, path, err := where.openExpirer(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			t, err := e.CreateTag(cmd.Context(), args[1], snapshot, retain)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("table %s has a tag %s already; `sink tag delete` takes it away", args[0], args[1])
			}
			if errors.Is(err, fs.ErrNotExist) && snapshot > 0 {
				ids, listErr := manifest.SnapshotIDs(cmd.Context(), store, path)
				if listErr != nil {
					return errors.Join(err, listErr)
				}
				return fmt.Errorf("table %s: there is no snapshot %d%s", args[0], snapshot, idsText(ids))
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "tag %s keeps snapshot %d\n", t.Name, t.Snapshot.ID)
			return err
		},
	})
	where.addTo(cmd)
	cmd.Flags().Var((*ordinal)(&snapshot), "snapshot", "snapshot to keep (default the newest)")
	cmd.Flags().Var((*span)(&retain), "retain", "how long, such as 30d (default until it is deleted)")
	return cmd
}

func (a *app) tagListCommand() *cobra.Command {
	var (
		where  location
		format outputFormat
	)
	cmd := a.command(&cobra.Command{
		Use:     "list TABLE",
		Short:   "Print a table's tags",
		Long:    `Print a table's tags by name.`,
		Example: `  sink tag list shop.orders -c sink.yaml`,
		Args:    oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, store, path, err := where.openExpirer(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			names, err := manifest.TagNames(cmd.Context(), store, path)
			if err != nil {
				return fmt.Errorf("table %s: %w", args[0], err)
			}
			out := newPrinter(a.stdout, format, "tag", "snapshot", "time", "records", "created", "retained")
			for _, name := range names {
				t, err := manifest.ReadTag(cmd.Context(), store, path, name)
				if errors.Is(err, fs.ErrNotExist) {
					continue // deleted since the listing
				}
				if err != nil {
					return errors.Join(fmt.Errorf("table %s: %w", args[0], err), out.close())
				}
				var created, retained any
				if !t.Created.IsZero() {
					created = timeText(t.Created.UnixMilli())
				}
				if t.Retained > 0 {
					retained = t.Retained.String()
				}
				out.row(t.Name, t.Snapshot.ID, timeText(t.Snapshot.TimeMillis), t.Snapshot.TotalRecords, created, retained)
			}
			return out.close()
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	return cmd
}

func (a *app) tagDeleteCommand() *cobra.Command {
	var where location
	cmd := a.command(&cobra.Command{
		Use:     "delete TABLE NAME",
		Short:   "Delete a tag, and the files that only it holds",
		Long:    `Delete a tag. Files that no snapshot, other tag or branch holds go with it.`,
		Example: `  sink tag delete shop.orders 2024-q1 -c sink.yaml`,
		Args:    tagArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, _, _, err := where.openExpirer(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r, err := e.DeleteTag(cmd.Context(), args[1])
			if errors.Is(err, fs.ErrNotExist) && r.Tags == 0 {
				return fmt.Errorf("table %s has no tag %s", args[0], args[1])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "tag %s is gone, with %d data files and %d metadata files\n", args[1], r.Files, r.Metadata)
			return err
		},
	})
	where.addTo(cmd)
	return cmd
}
