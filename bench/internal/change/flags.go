package change

import (
	"flag"
	"fmt"
)

// Flags adds the options to a program's flags.
func (o *Options) Flags() {
	flag.IntVar(&o.Events, "n", 1_000_000, "events")
	flag.StringVar(&o.Mix, "mix", "updates", fmt.Sprint(Mixes))
	flag.IntVar(&o.Hot, "hot", 50_000, "rows that are updated again and again")
	flag.IntVar(&o.Columns, "columns", Least, "columns of the table")
	flag.IntVar(&o.Regions, "regions", 300, "distinct values of warehouse_id")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed")
}
