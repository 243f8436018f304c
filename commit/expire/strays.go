package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sink/table/manifest"
)

// removeStrays deletes the files of snapshots that had expired and were made again, see [manifest.Snapshots]; and nothing of what they
// name: a snapshot that counts may name it, too, if the writer of both came to life again. What nothing else names is for [Orphans].
func (e *Expirer) removeStrays(ctx context.Context) (int64, error) {
	_, strays, err := manifest.Snapshots(ctx, e.store, e.path)
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, id := range strays {
		switch _, err := e.store.Get(ctx, e.path.Snapshot(id)); {
		case errors.Is(err, fs.ErrNotExist): // expired since the listing
			continue
		case err != nil:
			return n, fmt.Errorf("stray snapshot %d: %w", id, err)
		}
		if !e.cfg.DryRun {
			if err := e.store.Delete(ctx, e.path.Snapshot(id)); err != nil {
				return n, fmt.Errorf("stray snapshot %d: %w", id, err)
			}
		}
		n++
	}
	return n, nil
}

// checkDense tells when a snapshot is missing among the others: then it cannot be told which of them are the table.
func (e *Expirer) checkDense(ctx context.Context, ids []int64) error {
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1]+1 {
			continue
		}
		_, err := e.store.Get(ctx, e.path.Snapshot(ids[i-1]))
		if errors.Is(err, fs.ErrNotExist) {
			return errOvertaken
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("no snapshot is there between %d and %d, so nothing expires: if the older one has expired before and was made again "+
			"by a writer that slept, write %d into %s, and expiry removes it", ids[i-1], ids[i], ids[i], e.path.Earliest())
	}
	return nil
}

// raiseEarliest writes EARLIEST where an expiry died before it did. A snapshot that is made again later is told by it.
func (e *Expirer) raiseEarliest(ctx context.Context, first int64) error {
	if e.cfg.DryRun || first == 1 {
		return nil
	}
	hint, ok, err := manifest.ReadHint(ctx, e.store, e.path.Earliest())
	if err != nil || ok && hint >= first {
		return err
	}
	return manifest.WriteHint(ctx, e.store, e.path.Earliest(), first)
}
