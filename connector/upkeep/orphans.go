package upkeep

import (
	"context"
	"time"

	"sink/table/object"
)

// orphanAge is the least age of files that are taken for orphans, as in Paimon's own jobs.
const orphanAge = 24 * time.Hour

// orphans remembers what was found when orphans were last looked for.
type orphans struct {
	next  time.Time
	found map[string]int64 // sizes by name
}

// sweepOrphans looks for orphans, and deletes those that were there the last time, too: so nothing goes on a single look.
func (k *Keeper) sweepOrphans(ctx context.Context) (deleted int, err error) {
	k.orphans.next = k.cfg.Now().Add(k.cfg.OrphansEvery)
	found, err := k.expirer.Orphans(ctx, k.cfg.Now().Add(-orphanAge))
	if err != nil {
		return 0, err
	}
	var again []object.Info
	now := map[string]int64{}
	for _, info := range found {
		if size, ok := k.orphans.found[info.Name]; ok && size == info.SizeBytes {
			again = append(again, info)
		} else {
			now[info.Name] = info.SizeBytes
		}
	}
	k.orphans.found = now
	return len(again), k.expirer.DeleteOrphans(ctx, again)
}
