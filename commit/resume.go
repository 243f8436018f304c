package commit

import (
	"context"
	"fmt"
	"time"

	"sink/table"
)

// State is how far a table is: what a writer goes on from.
type State struct {
	Schema *table.Schema

	NewestID int64 // the newest snapshot, whoever made it; 0: the table has none

	// Fresh says that the history of the table is complete and holds no snapshot of this group: where its partitions begin
	// is the user's choice (start). The other members about ours are then zero, and Progress has no offsets.
	Fresh        bool
	SnapshotID   int64 // the newest snapshot of this group
	SnapshotUUID string
	Time         time.Time // when it was committed

	Progress table.Progress // the map of that snapshot; the caller's own copy
	// ForeignMaxSequence is the highest sequence number of rows that other writers added since, or ever in a fresh table; -1
	// for none.
	ForeignMaxSequence int64
	// MaxSequence is what rows that start from this state have to be numbered above: the map's and the foreign one; -1 when
	// the table has no rows.
	MaxSequence int64

	NextCommitIdentifier int64

	groups map[string]table.Offsets // of a fresh table: the newest maps of other groups of the sink, which the Committer keeps
}

// Resume reads the table anew and returns how far it is: the newest snapshot of this group, however many of other writers
// came after it. It returns a [StateError] when the table is gone, was rolled back or replaced below what this Committer
// made, or has no snapshot of this group in a history that is not complete.
func (c *Committer) Resume(ctx context.Context) (State, error) {
	s, err := c.resume(ctx)
	if err != nil {
		return State{}, fmt.Errorf("resume table %s: %w", c.path, err)
	}
	return s, nil
}

func (c *Committer) resume(ctx context.Context) (State, error) {
	if err := c.refreshSchema(ctx, nil); err != nil {
		return State{}, err
	}
	if err := c.reload(ctx); err != nil {
		return State{}, err
	}
	v := &c.view
	if v.lost != nil {
		return State{}, v.lost
	}
	s := State{
		Schema: c.schema, Fresh: v.ours == nil, Progress: table.Progress{MaxSequence: -1},
		ForeignMaxSequence: v.foreign, NextCommitIdentifier: c.nextIdentifier(),
		groups: v.groups,
	}
	if v.newest != nil {
		s.NewestID = v.newest.ID
	}
	if v.ours != nil {
		s.SnapshotID, s.SnapshotUUID, s.Time = v.ours.ID, v.ours.UUID, time.UnixMilli(v.ours.TimeMillis)
		s.Progress = *v.ours.progress
		if !v.ours.changes {
			c.own = v.ours
		}
	}
	if !c.rivals.begun { // no row is numbered yet: all will be above what the table holds
		c.rivals.begun, c.rivals.known = true, v.newest
	}
	if err := c.catchUp(ctx); err != nil {
		return State{}, err
	}
	s.Progress = cloneProgress(&s.Progress)
	s.MaxSequence = v.highest()
	return s, nil
}
