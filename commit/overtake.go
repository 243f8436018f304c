package commit

import (
	"context"
	"fmt"
	"maps"

	"sink/table"
	"sink/table/manifest"
)

// A checkpoint numbers its rows when it is sealed, above all that the table is known to hold, and is committed later. Another writer that
// commits in between numbers its rows from the same state. Paimon leaves it open which of two such rows of one key is the newer one; here
// the one that is committed later is, as the changelog tells it. So a Committer remembers the highest number that others gave to rows of
// each bucket since its rows were numbered, and refuses a checkpoint that is not above. A compaction numbers nothing, nor does another
// instance of this group give rows to keys of this one.

// Ahead looks for new snapshots and returns the number that rows have to be numbered above for all that is in the table by now; -1 for an empty
// one. It is for tables that others write, too: what is numbered after it is overtaken less often.
func (c *Committer) Ahead(ctx context.Context) (int64, error) {
	if err := c.refresh(ctx); err != nil {
		return -1, fmt.Errorf("look at table %s: %w", c.path, err)
	}
	highest := c.view.foreign
	if c.view.ours != nil {
		highest = max(highest, c.view.ours.progress.MaxSequence)
	}
	return highest, nil
}

// noteOthers remembers the rows of another writer's snapshot.
func (c *Committer) noteOthers(kind manifest.CommitKind, entries []manifest.Entry) {
	if kind == manifest.Compact || c.schema.Append() {
		return
	}
	for i := range entries {
		f := &entries[i].File
		if entries[i].Kind != manifest.Add {
			continue
		}
		if now, ok := c.others[f.Bucket]; ok && now >= f.MaxSeq {
			continue
		}
		if c.others == nil {
			c.others = map[table.Bucket]int64{}
		}
		c.others[f.Bucket] = f.MaxSeq
	}
}

// forgetOthers drops what is below the numbers of a checkpoint that was committed: those of the next one are above.
func (c *Committer) forgetOthers(number int64) {
	maps.DeleteFunc(c.others, func(_ table.Bucket, highest int64) bool { return highest <= number })
}

// checkOvertaken tells whether another writer's rows would be taken for newer ones than the checkpoint's.
func (t *task) checkOvertaken() error {
	if len(t.others) == 0 {
		return nil
	}
	for i := range t.delta.Added {
		f := &t.delta.Added[i]
		if highest, ok := t.others[f.Bucket]; ok && f.MinSeq <= highest {
			return fmt.Errorf("%w: rows of bucket %d begin at sequence number %d, and those of another writer reach %d",
				ErrOvertaken, f.Bucket.Number, f.MinSeq, highest)
		}
	}
	return nil
}
