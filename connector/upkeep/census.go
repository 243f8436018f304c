package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"sink/flush/compact"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// census is which files live in which bucket, as of one snapshot.
type census struct {
	store object.Store
	path  table.Path

	at      *manifest.Snapshot // nil: nothing known
	buckets map[table.Bucket]map[fileKey]fileFacts
	changed map[table.Bucket]struct{} // since they were last looked at
	schema  int64                     // the id of the newest one that a file has; another writer's snapshot may say an older one
	appends int64                     // APPEND snapshots since all was compacted, as far as is known
}

// fileKey tells files of a bucket apart.
type fileKey struct {
	name  string
	level int32
}

// fileFacts is what a picker wants to know of a file.
type fileFacts struct {
	size, minSeq, maxSeq, created, deletes int64
}

// followAtMost is how many snapshots are followed one by one before all manifests are read instead.
const followAtMost = 256

// update brings the census up to the newest snapshot. It returns that; nil when the table has none.
func (c *census) update(ctx context.Context) (*manifest.Snapshot, error) {
	newest, err := manifest.LatestSnapshot(ctx, c.store, c.path)
	if err != nil || newest == nil {
		c.forget()
		return nil, err
	}
	if c.at != nil && newest.ID == c.at.ID && same(newest, c.at) {
		return newest, nil
	}
	if c.at != nil && newest.ID > c.at.ID && newest.ID-c.at.ID <= followAtMost {
		err := c.follow(ctx, newest)
		if err == nil || !errors.Is(err, errLost) && !errors.Is(err, fs.ErrNotExist) {
			return newest, err
		}
	}
	return newest, c.count(ctx, newest)
}

// forget makes the next update read everything.
func (c *census) forget() { c.at, c.buckets, c.changed, c.schema = nil, nil, nil, 0 }

// errLost says that what is known does not lead to the newest snapshot.
var errLost = errors.New("the table was rolled back or made anew")

func same(a, b *manifest.Snapshot) bool {
	return a.UUID == b.UUID && a.DeltaList == b.DeltaList && a.BaseList == b.BaseList
}

// follow applies what the snapshots since have changed.
func (c *census) follow(ctx context.Context, newest *manifest.Snapshot) error {
	still, err := manifest.ReadSnapshot(ctx, c.store, c.path, c.at.ID)
	if err != nil {
		return err
	}
	if !same(still, c.at) {
		return errLost
	}
	for id := c.at.ID + 1; id <= newest.ID; id++ {
		s, err := manifest.ReadSnapshot(ctx, c.store, c.path, id)
		if err != nil {
			return err
		}
		entries, err := manifest.ReadDelta(ctx, c.store, c.path, s, nil)
		if err != nil {
			return err
		}
		for i := range entries {
			c.apply(&entries[i])
		}
		if s.CommitKind == manifest.Append && c.appends < math.MaxInt64 {
			c.appends++
		}
		c.at = s
	}
	return nil
}

// count reads all manifests of a snapshot.
func (c *census) count(ctx context.Context, newest *manifest.Snapshot) error {
	c.forget()
	lists, err := manifest.ReadDataList(ctx, c.store, c.path, newest)
	if err != nil {
		return err
	}
	c.buckets, c.changed = map[table.Bucket]map[fileKey]fileFacts{}, map[table.Bucket]struct{}{}
	err = manifest.EachEntry(ctx, c.store, c.path, lists, nil, func(e *manifest.Entry) error {
		c.apply(e)
		return nil
	})
	if err != nil {
		c.forget()
		return fmt.Errorf("snapshot %d: %w", newest.ID, err)
	}
	c.at, c.appends = newest, math.MaxInt64
	return nil
}

func (c *census) apply(e *manifest.Entry) {
	f := &e.File
	if f.Bucket.Number < 0 {
		return
	}
	c.schema = max(c.schema, f.SchemaID)
	key := fileKey{f.Name, f.Level}
	files, ok := c.buckets[f.Bucket]
	switch {
	case e.Kind == manifest.Delete:
		if delete(files, key); len(files) == 0 {
			delete(c.buckets, f.Bucket)
		}
	case !ok:
		files = map[fileKey]fileFacts{}
		c.buckets[f.Bucket] = files
		fallthrough
	default:
		files[key] = fileFacts{f.SizeBytes, f.MinSeq, f.MaxSeq, f.CreatedMillis, f.DeleteRows}
	}
	c.changed[f.Bucket] = struct{}{}
}

// runs returns the sorted runs of a bucket. Their files are good for picking only.
func (c *census) runs(b table.Bucket) []compact.SortedRun {
	files := make([]table.File, 0, len(c.buckets[b]))
	for key, f := range c.buckets[b] {
		files = append(files, table.File{
			Bucket: b, Name: key.name, Level: key.level, SizeBytes: f.size, MinSeq: f.minSeq, MaxSeq: f.maxSeq, CreatedMillis: f.created, DeleteRows: f.deletes,
		})
	}
	return compact.Runs(files)
}

// raises reports whether a bucket that has changed has files of level 0.
func (c *census) raises() bool {
	for b := range c.changed {
		for key := range c.buckets[b] {
			if key.level == 0 {
				return true
			}
		}
	}
	return false
}

// runCount is the number of sorted runs of a bucket.
func (c *census) runCount(b table.Bucket) int {
	n := 0
	levels := map[int32]struct{}{}
	for key := range c.buckets[b] {
		if key.level == 0 {
			n++
		} else {
			levels[key.level] = struct{}{}
		}
	}
	return n + len(levels)
}
