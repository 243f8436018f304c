package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"

	"sink/table"
	"sink/table/object"
)

// ReadSnapshot returns the snapshot of that id; fs.ErrNotExist if there is none.
func ReadSnapshot(ctx context.Context, store object.Store, path table.Path, id int64) (*Snapshot, error) {
	return readSnapshotFile(ctx, store, path.Snapshot(id), id)
}

// ReadLongLivedChangelog returns what is left of an expired snapshot in the folder changelog; fs.ErrNotExist if there is
// nothing. Only its changelog list is certain to exist.
func ReadLongLivedChangelog(ctx context.Context, store object.Store, path table.Path, id int64) (*Snapshot, error) {
	return readSnapshotFile(ctx, store, path.Changelog(id), id)
}

// ReadChange returns what a streaming reader reads for that id: the snapshot, else what is left of it in the folder
// changelog; fs.ErrNotExist if there is neither.
func ReadChange(ctx context.Context, store object.Store, path table.Path, id int64) (*Snapshot, error) {
	s, err := ReadSnapshot(ctx, store, path, id)
	if errors.Is(err, fs.ErrNotExist) {
		return ReadLongLivedChangelog(ctx, store, path, id)
	}
	return s, err
}

func readSnapshotFile(ctx context.Context, store object.Store, name string, id int64) (*Snapshot, error) {
	b, err := store.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	s, err := ParseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("read %s: it says that it is snapshot %d", name, s.ID)
	}
	return s, nil
}

// LatestSnapshot returns the newest snapshot, nil if the table has none.
//
// The hint LATEST is taken when its snapshot is there and the next one is not; else the folder is listed. Unlike Paimon
// it is never believed about a snapshot that does not exist (format 8.1).
func LatestSnapshot(ctx context.Context, store object.Store, path table.Path) (*Snapshot, error) {
	if id, ok, err := ReadHint(ctx, store, path.Latest()); err != nil {
		return nil, err
	} else if ok {
		s, err := newestIf(ctx, store, path, id)
		if s != nil || err != nil {
			return s, err
		}
	}
	// An expiry between listing and reading can take the newest only if a newer one is there: list again.
	for range 3 {
		ids, err := listIDs(ctx, store, path.SnapshotDir()+"snapshot-")
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		s, err := ReadSnapshot(ctx, store, path, ids[len(ids)-1])
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, fmt.Errorf("%s: snapshots vanish while they are looked up", path)
}

// newestIf returns a snapshot if it is there and has no successor, else nil. The successor is looked for first: one that expires in between is
// not taken for one that was never made, since the older one has expired with it.
func newestIf(ctx context.Context, store object.Store, path table.Path, id int64) (*Snapshot, error) {
	succeeded, err := exists(ctx, store, path.Snapshot(id+1))
	if succeeded || err != nil {
		return nil, err
	}
	s, err := ReadSnapshot(ctx, store, path, id)
	return s, ignoreAbsent(err)
}

// Latest returns the id of the newest snapshot; ok is false when there is none. See [LatestSnapshot].
func Latest(ctx context.Context, store object.Store, path table.Path) (id int64, ok bool, err error) {
	s, err := LatestSnapshot(ctx, store, path)
	if s == nil || err != nil {
		return 0, false, err
	}
	return s.ID, true, nil
}

// Earliest returns the id of the oldest snapshot; ok is false when there is none. The hint EARLIEST is taken when its
// snapshot is there and the one before is not, else the folder is listed; strays do not count (see [SnapshotIDs]).
func Earliest(ctx context.Context, store object.Store, path table.Path) (id int64, ok bool, err error) {
	return earliest(ctx, store, path.Earliest(), path.Snapshot, func() ([]int64, error) { return SnapshotIDs(ctx, store, path) })
}

// EarliestLongLivedChangelog returns the lowest id in the folder changelog; ok is false when there is none.
func EarliestLongLivedChangelog(ctx context.Context, store object.Store, path table.Path) (id int64, ok bool, err error) {
	return earliest(ctx, store, path.ChangelogEarliest(), path.Changelog, func() ([]int64, error) { return LongLivedChangelogIDs(ctx, store, path) })
}

func earliest(ctx context.Context, store object.Store, hint string, name func(int64) string, list func() ([]int64, error)) (int64, bool, error) {
	id, ok, err := ReadHint(ctx, store, hint)
	if err != nil {
		return 0, false, err
	}
	if ok {
		there, err := exists(ctx, store, name(id))
		if err != nil {
			return 0, false, err
		}
		before := false
		if there && id > 1 {
			if before, err = exists(ctx, store, name(id-1)); err != nil {
				return 0, false, err
			}
		}
		if there && !before {
			return id, true, nil
		}
	}
	ids, err := list()
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	return ids[0], true, nil
}

// LongLivedChangelogIDs returns the ids in the folder changelog in ascending order.
func LongLivedChangelogIDs(ctx context.Context, store object.Store, path table.Path) ([]int64, error) {
	return listIDs(ctx, store, path.ChangelogDir()+"changelog-")
}

// SnapshotAt returns the newest snapshot that was committed at or before a time in milliseconds since the epoch;
// nil if all are later or there is none. Commit times never decrease from snapshot to snapshot.
func SnapshotAt(ctx context.Context, store object.Store, path table.Path, millis int64) (*Snapshot, error) {
	ids, err := SnapshotIDs(ctx, store, path)
	if err != nil {
		return nil, err
	}
	read := make(map[int64]*Snapshot)
	later := sort.Search(len(ids), func(i int) bool {
		if err != nil {
			return true
		}
		var s *Snapshot
		s, err = ReadSnapshot(ctx, store, path, ids[i])
		if errors.Is(err, fs.ErrNotExist) { // it expired since the listing: it was early
			err = nil
			return false
		}
		if err != nil {
			return true
		}
		read[s.ID] = s
		return s.TimeMillis > millis
	})
	if err != nil || later == 0 {
		return nil, err
	}
	return read[ids[later-1]], nil
}

// listIDs returns the numbers that follow a prefix in object names, in ascending order.
func listIDs(ctx context.Context, store object.Store, prefix string) ([]int64, error) {
	var ids []int64
	for info, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		digits := strings.TrimPrefix(info.Name, prefix)
		id, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && id >= 0 && strconv.FormatInt(id, 10) == digits {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// ReadHint reads a hint file; ok is false when there is none. What holds no number is no hint.
func ReadHint(ctx context.Context, store object.Store, name string) (id int64, ok bool, err error) {
	b, err := store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read hint %s: %w", name, err)
	}
	id, err = strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return id, err == nil && id > 0, nil
}

// WriteHint overwrites a hint file with an id.
func WriteHint(ctx context.Context, store object.Store, name string, id int64) error {
	if err := store.Put(ctx, name, strconv.AppendInt(nil, id, 10)); err != nil {
		return fmt.Errorf("write hint %s: %w", name, err)
	}
	return nil
}

// exists reports whether a small object is there.
func exists(ctx context.Context, store object.Store, name string) (bool, error) {
	_, err := store.Get(ctx, name)
	if err == nil {
		return true, nil
	}
	return false, ignoreAbsent(err)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
