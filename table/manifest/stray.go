package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"sink/table"
	"sink/table/object"
)

// SnapshotIDs returns the ids of all snapshots in ascending order, without strays. Other files in the folder are ignored.
func SnapshotIDs(ctx context.Context, store object.Store, path table.Path) ([]int64, error) {
	ids, _, err := Snapshots(ctx, store, path)
	return ids, err
}

// Snapshots returns the ids of all snapshots, and those of strays, both in ascending order.
//
// A stray is the file of an id that had expired and was made again: by a writer that slept, or a request that was on its way for as long,
// and nobody was left to take it back. Of the files that it names some are gone, and some may be others' by now. It lies below
// the hint EARLIEST, where readers of Paimon's own do not look (org.apache.paimon.utils.SnapshotManager.earliestSnapshotId), and no
// snapshot was built on it: ids are dense, so there is a gap after it, or the next snapshot tells of another one before it.
func Snapshots(ctx context.Context, store object.Store, path table.Path) (ids, strays []int64, err error) {
	ids, err = listIDs(ctx, store, path.SnapshotDir()+"snapshot-")
	if err != nil || len(ids) < 2 {
		return ids, nil, err
	}
	hint, ok, err := ReadHint(ctx, store, path.Earliest())
	if err != nil {
		return nil, nil, err
	}
	at, there := slices.BinarySearch(ids, hint)
	if !ok || !there {
		return ids, nil, nil
	}
	for at > 0 { // a hint that is too high hides nothing
		follows := ids[at] == ids[at-1]+1
		if follows {
			if follows, err = builtOn(ctx, store, path, ids[at]); err != nil {
				return nil, nil, err
			}
		}
		if !follows {
			break
		}
		at--
	}
	return ids[at:], ids[:at:at], nil
}

// ReadStanding is [ReadSnapshot] for an id that somebody names: a stray is not there.
func ReadStanding(ctx context.Context, store object.Store, path table.Path, id int64) (*Snapshot, error) {
	s, err := ReadSnapshot(ctx, store, path, id)
	if err != nil {
		return nil, err
	}
	first, ok, err := Earliest(ctx, store, path)
	if err != nil {
		return nil, err
	}
	if ok && id < first {
		return nil, fmt.Errorf("read %s: it has expired, and lies there by mistake: the table begins at snapshot %d: %w", path.Snapshot(id), first, fs.ErrNotExist)
	}
	return s, nil
}

// builtOn reports whether a snapshot may have been built on the one before it: it names that one, or, when it names none, the
// records that both count add up. One that is gone is nobody's base any more.
func builtOn(ctx context.Context, store object.Store, path table.Path, id int64) (bool, error) {
	before, err := ReadSnapshot(ctx, store, path, id-1)
	var after *Snapshot
	if err == nil {
		after, err = ReadSnapshot(ctx, store, path, id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if parent, ok := after.Properties[table.PropertyParent]; ok {
		return parent == before.UUID, nil
	}
	return after.TotalRecords-after.DeltaRecords == before.TotalRecords, nil
}

// BelowEarliest reports whether an id lies below the hint EARLIEST, and the snapshot that the hint tells is there: a snapshot of
// that id has expired, whatever lies in its place.
func BelowEarliest(ctx context.Context, store object.Store, path table.Path, id int64) (bool, error) {
	hint, ok, err := ReadHint(ctx, store, path.Earliest())
	if err != nil || !ok || id >= hint {
		return false, err
	}
	return exists(ctx, store, path.Snapshot(hint))
}
