package scan

import (
	"context"
	"errors"
	"fmt"

	"sink/table"
	"sink/table/manifest"
)

// unsupported makes an error for what this package does not read.
func (t *Table) unsupported(format string, args ...any) error {
	return fmt.Errorf("table %s: %s: %w", t.path, fmt.Sprintf(format, args...), errors.ErrUnsupported)
}

// checkFiles tells whether files of a schema can be read at all, with all reasons why not.
func (t *Table) checkFiles(s *table.Schema) error {
	var problems []error
	for _, key := range []string{"row-tracking.enabled", "data-evolution.enabled"} {
		if on, err := s.OptionBool(key); err != nil || on {
			problems = append(problems, t.unsupported("option %s is %s", key, s.Option(key)))
		}
	}
	for _, key := range []string{"data-file.path-directory", "data-file.external-paths"} {
		if v := s.Option(key); v != "" {
			problems = append(problems, t.unsupported("option %s is %s, so its files are elsewhere", key, v))
		}
	}
	return errors.Join(problems...)
}

// checkMerge tells whether rows of a snapshot can be merged, with all reasons why not.
func (t *Table) checkMerge(ctx context.Context, s *table.Schema, snapshot *manifest.Snapshot) error {
	problems := []error{t.checkFiles(s)}
	for _, key := range []string{"deletion-vectors.enabled", "sequence.snapshot-ordering", "pk-clustering-override"} {
		if on, err := s.OptionBool(key); err != nil || on {
			problems = append(problems, t.unsupported("option %s is %s", key, s.Option(key)))
		}
	}
	if snapshot != nil && snapshot.IndexManifest != "" {
		entries, err := manifest.ReadIndexManifest(ctx, t.store, t.path, snapshot.IndexManifest)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type != manifest.HashIndex {
				problems = append(problems, t.unsupported("snapshot %d has an index of type %s", snapshot.ID, e.Type))
				break
			}
		}
	}
	return errors.Join(problems...)
}
