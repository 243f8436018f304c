package commit

import (
	"context"
	"errors"
	"fmt"

	"sink/table"
	"sink/table/manifest"
)

// Rescale makes a delta visible that gives whole partitions another bucket count: it removes all of their live files, and adds the
// same rows in files for as many buckets as option bucket says (see SetOption). Like INSERT OVERWRITE, as which
// Paimon rescales (org.apache.paimon.flink.action.RescaleAction), it is an OVERWRITE snapshot without a changelog; like a
// compaction it moves no offsets and carries the map on. It returns ErrConflict when the partitions have other files by now
// than those that the delta removes: those that came have to be rewritten, too.
func (c *Committer) Rescale(ctx context.Context, d table.Delta) (Result, error) {
	err := checkDelta(&d)
	if err == nil && len(d.Removed) == 0 {
		err = errors.New("it takes no file away")
	}
	if err != nil {
		return Result{}, fmt.Errorf("rescale table %s: %w", c.path, err)
	}
	t := c.newTask(&d)
	t.kind, t.rescales = manifest.Overwrite, true
	return t.run(ctx)
}

// checkRescale tells whether the delta leaves its partitions with files for one bucket count only, that of option bucket, whose
// levels hold disjoint key ranges.
func (t *task) checkRescale(ctx context.Context) error {
	option, err := t.schema.Buckets()
	if err != nil {
		return err
	}
	for i := range t.delta.Added {
		if f := &t.delta.Added[i]; int(f.TotalBuckets) != option {
			return fmt.Errorf("%w: file %s is for %d buckets, option bucket says %d", ErrConflict, f.Name, f.TotalBuckets, option)
		}
	}
	partitions := partitionsOf(t.delta.Added, t.delta.Removed)
	filter, err := manifest.NewFilter(t.schema, partitions, nil)
	if err != nil {
		return err
	}
	list, err := t.manifests(ctx)
	if err != nil {
		return err
	}
	within := make(map[string]struct{}, len(partitions))
	for _, p := range partitions {
		within[p] = struct{}{}
	}
	var live manifest.Files
	err = manifest.EachEntry(ctx, t.store, t.path, list, filter, func(e *manifest.Entry) error {
		if _, ok := within[e.File.Bucket.Partition]; !ok {
			return nil
		}
		return live.Apply(e)
	})
	if err != nil {
		return err
	}
	if err := t.apply(&live); err != nil {
		return err
	}
	if left := live.Len() - len(t.delta.Added); left > 0 {
		return fmt.Errorf("%w: the partitions have got %d files since", ErrConflict, left)
	}
	return checkLevels(t.schema, live.All(), t.delta.Added)
}

// SetOption sets one of the table's options by a new schema file, and returns the newest schema. Nothing is written when the
// option has that value already. It is an error if the table were no valid one with it.
func (c *Committer) SetOption(ctx context.Context, key, value string) (*table.Schema, error) {
	s, _, err := c.alter(ctx, func(s *table.Schema) (*table.Schema, []table.Change, error) {
		if s.Options[key] == value {
			return s, nil, nil
		}
		next := s.Clone()
		next.ID, next.Options[key] = s.ID+1, value
		return next, nil, next.Validate()
	})
	if err != nil {
		return nil, fmt.Errorf("set option %s of table %s: %w", key, c.path, err)
	}
	return s, nil
}
