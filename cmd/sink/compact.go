package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sink/commit"
	"sink/connector/upkeep"
)

// compactTries is how often a round of compaction may be in vain since another job was faster.
const compactTries = 20

func (a *app) compactCommand() *cobra.Command {
	var (
		where      location
		format     outputFormat
		scope      upkeep.Scope
		partitions []string
	)
	cmd := a.command(&cobra.Command{
		Use:   "compact TABLE",
		Short: "Merge a table's files into fewer, also while it is written",
		Long: `Merge the sorted files of a table's buckets into fewer, by the rules of Paimon's universal compaction and the table's options
(num-sorted-run.compaction-trigger, compaction.*, num-levels, target-file-size). Readers see no difference; changelog files are not touched.

` + "`run`" + ` does this by itself, unless the table has the option write-only. This command may run beside it: what one of the two has
compacted the other leaves alone. Each line that is printed is a COMPACT snapshot.`,
		Example: `  sink compact shop.orders -c sink.yaml
  sink compact shop.orders -c sink.yaml --full
  sink compact shop.orders --warehouse s3://lake/warehouse --partition dt=2024-05-01 --full`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := keeperOf(cmd.Context(), &where, args[0], upkeep.Config{}, partitions, &scope)
			if err != nil {
				return err
			}
			return a.compact(cmd.Context(), k, scope, format)
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	f.BoolVar(&scope.Full, "full", false, "make all of a bucket one sorted run, and drop deleted rows")
	f.StringArrayVar(&partitions, "partition", nil, "only partitions with this value, as column=value; may be given for several columns")
	return cmd
}

// keeperOf opens a table to be kept, and takes what --partition says.
func keeperOf(ctx context.Context, where *location, name string, cfg upkeep.Config, partitions []string, scope *upkeep.Scope) (*upkeep.Keeper, error) {
	for _, p := range partitions {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, misusef("--partition %s: write column=value", p)
		}
		if scope.Partitions == nil {
			scope.Partitions = map[string]string{}
		}
		scope.Partitions[name] = value
	}
	var err error
	if cfg.Store, cfg.Path, err = where.openTable(ctx, name); err != nil {
		return nil, err
	}
	k, err := upkeep.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	keys := k.Schema().PartitionKeys
	for name := range scope.Partitions {
		if len(keys) == 0 {
			return nil, misusef("--partition %s: the table has no partitions", name)
		}
		if !slices.Contains(keys, name) {
			return nil, misusef("--partition %s: the table is partitioned by %s", name, strings.Join(keys, ", "))
		}
	}
	return k, nil
}

// compact does rounds until there is nothing left to do.
func (a *app) compact(ctx context.Context, k *upkeep.Keeper, scope upkeep.Scope, format outputFormat) error {
	out := newPrinter(a.stdout, format, "snapshot", "buckets", "removed", "added", "moved", "rows", "copied", "bytesRead", "bytesWritten")
	for vain := 0; ; {
		r, err := k.Compact(ctx, scope)
		if errors.Is(err, commit.ErrConflict) || errors.Is(err, commit.ErrBusy) {
			if vain++; vain < compactTries {
				continue
			}
		}
		if err != nil {
			return errors.Join(err, out.close())
		}
		if r.Snapshot == 0 {
			return out.close()
		}
		out.row(r.Snapshot, r.Buckets, r.Removed, r.Added, r.Upgraded, r.Rows, r.RowsCopied, r.BytesRead, r.BytesWritten)
		if err := out.flush(); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
}
