package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"sink/connector/upkeep"
)

// rescaleWithin is how long a rescale may take. Orphan cleaning of Paimon's jobs takes files that are a day old.
const rescaleWithin = 20 * time.Hour

func (a *app) rescaleCommand() *cobra.Command {
	var (
		where      location
		format     outputFormat
		scope      upkeep.Scope
		partitions []string
		buckets    int64
	)
	cmd := a.command(&cobra.Command{
		Use:   "rescale TABLE --buckets N",
		Short: "Give a table another number of buckets, also while it is written",
		Long: `Give a table another number of buckets: set its option bucket, and write all rows anew into as many buckets. Readers see the same
rows before and after, streaming readers no change. It is what Paimon does with INSERT OVERWRITE after ALTER TABLE, in one OVERWRITE snapshot.

` + "`run`" + ` may go on meanwhile: it waits with the last checkpoint before the end, and goes on by itself with the new number. So does another
` + "`run`" + ` that starts later; its configuration file should say the new number, too. Stop other writers of the table, such as Flink jobs, and
start them anew afterwards. The old files go with the snapshots that name them, so the table takes up to twice its space for a while.

The rows of an append table keep their order of arrival. One with bucket = -1 has no buckets, and is refused.

With --partition only partitions with these values are written anew. The others keep their number and can be read, and ` + "`run`" + ` writes to
them again once they are rescaled, too. When it is broken off nothing is lost: do it again.`,
		Example: `  sink rescale shop.orders -c sink.yaml --buckets 8
  sink rescale shop.orders --warehouse s3://lake/warehouse --buckets 16 --partition dt=2024-05-01`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			if buckets < 1 {
				return misusef("how many buckets? Give --buckets N")
			}
			if buckets > math.MaxInt32 {
				return misusef("--buckets %d is more than Paimon counts", buckets)
			}
			ctx := cmd.Context()
			k, err := keeperOf(ctx, &where, args[0], upkeep.Config{MaxDeltaAge: rescaleWithin}, partitions, &scope)
			if err != nil {
				return err
			}
			r, err := k.Rescale(ctx, int32(buckets), scope)
			if err != nil {
				return err
			}
			if r.Snapshot == 0 && format == formatTable {
				fmt.Fprintf(a.stderr, "nothing to rewrite: all that is meant has so many buckets\n")
			}
			out := newPrinter(a.stdout, format, "snapshot", "schema", "partitions", "removed", "added", "rows", "bytesRead", "bytesWritten")
			if r.Snapshot > 0 {
				out.row(r.Snapshot, r.Schema, r.Partitions, r.Removed, r.Added, r.Rows, r.BytesRead, r.BytesWritten)
			}
			return out.close()
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	f := cmd.Flags()
	f.Var((*ordinal)(&buckets), "buckets", "how many buckets, 1 or more")
	f.StringArrayVar(&partitions, "partition", nil, "only partitions with this value, as column=value; may be given for several columns")
	return cmd
}
