package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sink/commit/expire"
	"sink/connector/upkeep"
	"sink/table/manifest"
)

func (a *app) expireCommand() *cobra.Command {
	var (
		where      location
		format     outputFormat
		dry        bool
		partitions bool
		keep       retention
	)
	cmd := a.command(&cobra.Command{
		Use:   "expire TABLE",
		Short: "Remove old snapshots, changelogs, tags and partitions",
		Long: `Remove what a table's options say is old: snapshots (snapshot.num-retained.min and .max, snapshot.time-retained), long-lived
changelogs (changelog.*), tags and consumers past their time, and with --partitions also partitions (partition.expiration-*).
Nothing goes that a snapshot, a tag, a changelog, a branch or a consumer still holds.

` + "`run`" + ` does all of this by itself, unless the table has the option write-only.`,
		Example: `  sink expire shop.orders -c sink.yaml
  sink expire shop.orders -c sink.yaml --dry-run
  sink expire shop.orders -c sink.yaml --retain-max 20 --retain-min 1
  sink expire shop.orders -c sink.yaml --older-than 24h`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, path, err := where.openTable(ctx, args[0])
			if err != nil {
				return err
			}
			schema, err := manifest.LatestSchema(ctx, store, path)
			if err != nil {
				return fmt.Errorf("table %s: %w", args[0], err)
			}
			policy, err := expire.PolicyOf(schema)
			if err != nil {
				return fmt.Errorf("table %s: %w", args[0], err)
			}
			if err := keep.apply(cmd, &policy); err != nil {
				return misuse(err)
			}
			e, err := expire.NewWith(expire.Config{Store: store, Path: path, Schema: schema, DryRun: dry}, policy)
			if err != nil {
				return err
			}
			var dropped []string
			if partitions {
				if dropped, err = a.dropPartitions(ctx, e, upkeep.Config{Store: store, Path: path}, dry); err != nil {
					return err
				}
			}
			r, err := e.Run(ctx)
			for _, name := range r.Tagged {
				fmt.Fprintf(a.stderr, "sink: tag %s is due: made\n", name)
			}
			if r.Strays > 0 {
				fmt.Fprintf(a.stderr, "sink: snapshots that had expired and were made again: %d\n", r.Strays)
			}
			out := newPrinter(a.stdout, format, "snapshots", "changelogs", "tags", "consumers", "partitions", "files", "metadata")
			out.row(r.Snapshots, r.Changelogs, r.Tags, r.Consumers, orEmpty(dropped), r.Files, r.Metadata)
			return errors.Join(err, out.close())
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	f.BoolVar(&dry, "dry-run", false, "only say what would go; of snapshots and changelogs one step's worth (snapshot.expire.limit)")
	f.BoolVar(&partitions, "partitions", false, "drop partitions that are due by the table's options, too")
	f.Var((*ordinal)(&keep.min), "retain-min", "snapshots to keep at least, instead of the table's option")
	f.Var((*ordinal)(&keep.max), "retain-max", "snapshots to keep at most, instead of the table's option")
	f.Var((*span)(&keep.age), "older-than", "age from which snapshots may go, instead of the table's option")
	return cmd
}

// retention is what flags say of snapshots.
type retention struct {
	min, max int64
	age      time.Duration
}

// apply puts what was given in place of the table's options. Changelogs that have no retention of their own follow.
func (r *retention) apply(cmd *cobra.Command, p *expire.Policy) error {
	follows := p.Changelogs == p.Snapshots
	f := cmd.Flags()
	if f.Changed("retain-max") {
		p.Snapshots.Max = r.max
		p.Snapshots.Min = min(p.Snapshots.Min, r.max)
	}
	if f.Changed("retain-min") {
		p.Snapshots.Min = r.min
	}
	if least, most := p.Snapshots.Min, p.Snapshots.Max; least > most && r.max > 0 {
		return fmt.Errorf("--retain-min %d is above --retain-max %d", least, most)
	} else if least > most {
		return fmt.Errorf("--retain-min %d is above the table's snapshot.num-retained.max, %d: give --retain-max, too", least, most)
	}
	if f.Changed("older-than") {
		p.Snapshots.Time = r.age
	}
	if follows {
		p.Changelogs = p.Snapshots
	}
	return p.Check()
}

// dropPartitions drops those that are due, or only names them.
func (a *app) dropPartitions(ctx context.Context, e *expire.Expirer, cfg upkeep.Config, dry bool) ([]string, error) {
	k, err := upkeep.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var dropped, unclear []string
	if dry {
		policy, err := expire.PartitionPolicyOf(k.Schema())
		if err != nil {
			return nil, err
		}
		due, unknown, err := e.ExpiredPartitions(ctx, policy)
		if err != nil {
			return nil, err
		}
		for _, p := range due {
			dropped = append(dropped, p.Path)
		}
		unclear = unknown
	} else if dropped, unclear, err = k.ExpirePartitions(ctx); err != nil {
		return nil, err
	}
	for _, p := range unclear {
		fmt.Fprintf(a.stderr, "sink: partition %s: it stays\n", p)
	}
	return dropped, nil
}
