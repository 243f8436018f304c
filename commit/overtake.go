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

// A checkpoint numbers its rows when it is sealed, or earlier where files are written early, above all that the table is known to hold then, and
// is committed later. Another writer that commits in between numbers its rows from the same state. Paimon leaves it open which of two such rows
// of one key is the newer one; here the one that is committed later is, as the changelog tells it. So a Committer remembers the highest number
// that others gave to rows of each bucket since its rows were numbered, and refuses a checkpoint that is not above. A compaction numbers
// nothing, nor does another instance of this group give rows to keys of this one.

// rivals is what a Committer knows of the numbers of other writers' rows.
type rivals struct {
	begun    bool                   // rows may be numbered
	known    *seen                  // the snapshot up to which all is known; nil: none, or the table had none
	highest  map[table.Bucket]int64 // what they gave
	anywhere int64                  // what they may have given in any bucket, in snapshots that cannot be read any more; -1: nothing
}

// follow moves on to a snapshot if all is known up to the one before it.
func (r *rivals) follow(before, s *seen) {
	if r.known == before {
		r.known = s
	}
}

// note remembers the rows of a snapshot of another writer.
func (r *rivals) note(s *seen, entries []manifest.Entry) {
	if s.progress != nil || s.CommitKind == manifest.Compact {
		return
	}
	for i := range entries {
		f := &entries[i].File
		if entries[i].Kind != manifest.Add || r.reach(f.Bucket) >= f.MaxSeq {
			continue
		}
		if r.highest == nil {
			r.highest = map[table.Bucket]int64{}
		}
		r.highest[f.Bucket] = f.MaxSeq
	}
}

// reach returns the highest number that may have been given to a row of a bucket; -1 for none.
func (r *rivals) reach(b table.Bucket) int64 {
	if highest, ok := r.highest[b]; ok {
		return max(highest, r.anywhere)
	}
	return r.anywhere
}

// forget drops what is below the numbers of a checkpoint that was committed: those of the next one are above.
func (r *rivals) forget(number int64) {
	maps.DeleteFunc(r.highest, func(_ table.Bucket, highest int64) bool { return highest <= number })
	if r.anywhere <= number {
		r.anywhere = -1
	}
}

// Ahead looks for new snapshots and returns the number that rows have to be numbered above for all that is in the table by now; -1 for an empty
// one. It is for tables that others write, too: what is numbered after it is overtaken less often. Rows that are numbered already stay as they
// are, and are refused if they were overtaken.
func (c *Committer) Ahead(ctx context.Context) (int64, error) {
	err := c.refresh(ctx)
	if err == nil {
		err = c.catchUp(ctx)
	}
	if err != nil {
		return -1, fmt.Errorf("look at table %s: %w", c.path, err)
	}
	return c.view.highest(), nil
}

// highest returns the highest number of all rows of the table; -1 if there are none.
func (v *view) highest() int64 {
	if v.ours == nil {
		return v.foreign
	}
	return max(v.ours.progress.MaxSequence, v.foreign)
}

// catchUp notes the snapshots that the view has not followed one by one. Where they cannot be read any more, others may have given any number
// that the table holds.
func (c *Committer) catchUp(ctx context.Context) error {
	r, newest := &c.rivals, c.view.newest
	if newest == r.known || c.schema.Append() {
		return nil
	}
	err := c.catchUpTo(ctx, newest)
	if errors.Is(err, fs.ErrNotExist) {
		r.anywhere, err = max(r.anywhere, c.view.highest()), nil
	}
	if err == nil {
		r.known = newest
	}
	return err
}

// catchUpTo notes what lies behind the known snapshot, as long as that is still part of the table; else the error is fs.ErrNotExist.
func (c *Committer) catchUpTo(ctx context.Context, newest *seen) error {
	var from int64
	if known := c.rivals.known; known != nil {
		now, err := c.read(ctx, known.ID)
		if err != nil {
			return err
		}
		if newest == nil || newest.ID < known.ID || !now.same(known) { // rolled back, and gone on anew
			return fs.ErrNotExist
		}
		from = known.ID
	}
	if newest == nil {
		return nil
	}
	return c.between(ctx, from, newest.ID, c.rivals.note)
}

// checkOvertaken tells whether another writer's rows would be taken for newer ones than the checkpoint's.
func (t *task) checkOvertaken(ctx context.Context) error {
	if err := t.catchUp(ctx); err != nil || t.schema.Append() {
		return err
	}
	for i := range t.delta.Added {
		f := &t.delta.Added[i]
		if highest := t.rivals.reach(f.Bucket); f.MinSeq <= highest {
			return fmt.Errorf("%w: rows of bucket %d begin at sequence number %d, and another writer may have given numbers up to %d",
				ErrOvertaken, f.Bucket.Number, f.MinSeq, highest)
		}
	}
	return nil
}
