package commit

import (
	"context"
	"fmt"
	"maps"

	"sink/table"
)

// Rebase makes an empty snapshot whose map is exactly the given offsets, whatever the map was, also when no snapshot of
// this group is left: the way on after a [StateError], once the user has said where to go on. shown is the map that the user has
// seen, empty where none could be told: when the table has another by now the error is [ErrFenced], since an instance that runs all the same
// would be taken back behind what it has committed. What was learned of the source is learned anew.
func (c *Committer) Rebase(ctx context.Context, shown, offsets table.Offsets) (Result, error) {
	t := c.newTask(&table.Delta{Progress: table.Progress{Offsets: offsets, MaxSequence: -1}})
	t.rebase, t.shown = true, shown
	c.own, c.view = nil, view{} // the tripwire has done its work
	if err := c.reload(ctx); err != nil {
		return Result{}, fmt.Errorf("rebase table %s: %w", c.path, err)
	}
	t.delta.Progress.MaxSequence = c.view.highest()
	if c.view.newest != nil { // numbers of rolled back snapshots may live on in files: look at all
		highest, err := c.scanSequence(ctx, c.view.newest)
		if err != nil {
			return Result{}, fmt.Errorf("rebase table %s: %w", c.path, err)
		}
		t.delta.Progress.MaxSequence = max(t.delta.Progress.MaxSequence, highest)
	}
	return t.run(ctx)
}

// checkShown tells whether the table is still where the user has seen it.
func (t *task) checkShown() error {
	var now table.Offsets
	var id int64
	if ours := t.view.ours; ours != nil {
		now, id = ours.progress.Offsets, ours.ID
	}
	if maps.Equal(now, t.shown) {
		return nil
	}
	return fmt.Errorf("%w: the table has moved since it was looked at: snapshot %d has another map", ErrFenced, id)
}
