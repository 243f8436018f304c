package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	c.notedAll()
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

// notedAll says that rows will be numbered above all that the view holds.
func (c *Committer) notedAll() {
	if c.view.newest != nil {
		c.noted = c.view.newest.ID
	}
}

// noteMissed remembers what others gave in the snapshots that this Committer has not followed one by one. Those are few: numbers are looked up
// anew when the last look is old.
func (t *task) noteMissed(ctx context.Context) error {
	for t.view.newest != nil && t.noted < t.view.newest.ID {
		id := t.noted + 1
		s, err := t.read(ctx, id)
		if err == nil && s.progress == nil {
			var entries []manifest.Entry
			entries, err = manifest.ReadDelta(ctx, t.store, t.path, s.Snapshot, nil)
			t.noteOthers(s.CommitKind, entries)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w, or may have done so: snapshot %d has expired since", ErrOvertaken, id)
		}
		if err != nil {
			return err
		}
		t.noted = id
	}
	return nil
}

// checkOvertaken tells whether another writer's rows would be taken for newer ones than the checkpoint's.
func (t *task) checkOvertaken(ctx context.Context) error {
	if len(t.delta.Added) == 0 || t.schema.Append() {
		return nil
	}
	if err := t.noteMissed(ctx); err != nil {
		return err
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
