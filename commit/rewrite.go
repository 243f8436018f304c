package commit

import (
	"context"
	"errors"
	"fmt"

	"sink/table"
	"sink/table/manifest"
)

// Overwrite makes a delta visible that takes files away and their rows with them, as the expiry of a partition does: in an
// OVERWRITE snapshot. Like a compaction it moves no offsets and carries the map on. Nothing of it is told in the changelog.
// It returns ErrConflict when one of the files is not live any more, or when the table has another schema by now than the one of the
// given id, whose options ask for it.
func (c *Committer) Overwrite(ctx context.Context, d table.Delta, schema int64) (Result, error) {
	err := checkDelta(&d)
	if err == nil && len(d.Removed) == 0 {
		err = errors.New("it takes no file away")
	}
	if err != nil {
		return Result{}, fmt.Errorf("overwrite in table %s: %w", c.path, err)
	}
	t := c.newTask(&d)
	t.kind, t.asked = manifest.Overwrite, &schema
	return t.run(ctx)
}

// carriesMap reports whether the snapshot of this attempt has a map. One that only rewrites files carries the map on, where
// there is one; it never makes one up: a table that nobody knows the progress of stays so.
func (t *task) carriesMap() bool {
	return t.kind == manifest.Append || t.view.ours != nil && t.view.lost == nil
}

// rewriteUser is the commit user of snapshots that only rewrite files of a table without a map.
const rewriteUser = "sink-rewrite"

// identity is the commit user and identifier of this attempt's snapshot. Without a map it is no snapshot of the group, whose
// identifiers would have to rise from here on, and the snapshot id is what rises.
func (t *task) identity() (user string, identifier int64) {
	if t.carriesMap() || t.view.newest == nil {
		return t.cfg.User, t.nextIdentifier()
	}
	return rewriteUser, t.view.newest.ID + 1
}

// claimsMap reports whether a snapshot has a map, be it one that cannot be read.
func claimsMap(s *manifest.Snapshot) bool {
	_, ours, err := table.ParseProgress(s.Properties)
	return ours || err != nil
}

// Owner returns the commit user whose map of offsets a table carries: that of the newest snapshot with one. ok is false when
// no snapshot that is left has a map: then the table is not the sink's, or its history is lost. A job that rewrites files
// commits under this user, so that the map goes on in its snapshots.
func Owner(ctx context.Context, cfg Config) (user string, ok bool, err error) {
	cfg.setDefaults()
	ids, err := manifest.SnapshotIDs(ctx, cfg.Store, cfg.Path)
	if err != nil {
		return "", false, fmt.Errorf("table %s: %w", cfg.Path, err)
	}
	for i := len(ids) - 1; i >= 0; i-- {
		s, err := manifest.ReadSnapshot(ctx, cfg.Store, cfg.Path, ids[i])
		if err != nil {
			return "", false, fmt.Errorf("table %s: %w", cfg.Path, err)
		}
		if claimsMap(s) {
			return s.CommitUser, true, nil
		}
	}
	return "", false, nil
}
