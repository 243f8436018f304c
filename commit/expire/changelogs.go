package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"sink/table"
	"sink/table/manifest"
)

// Changelogs removes the long-lived changelogs that are due, at most the policy's limit of them, and what only they hold.
func (e *Expirer) Changelogs(ctx context.Context) (Result, error) {
	r, err := e.changelogs(ctx)
	if errors.Is(err, errOvertaken) {
		return Result{}, nil // another process is doing the same
	}
	return r, e.wrap(err)
}

func (e *Expirer) changelogs(ctx context.Context) (Result, error) {
	ids, err := manifest.LongLivedChangelogIDs(ctx, e.store, e.path)
	if err != nil || len(ids) == 0 {
		return Result{}, err
	}
	latest, ok, err := manifest.Latest(ctx, e.store, e.path)
	if err != nil || !ok {
		return Result{}, err
	}
	held, err := e.held(ctx)
	if err != nil {
		return Result{}, err
	}
	r := e.policy.Changelogs
	end := min(r.end(ids[0], latest, held, e.policy.Limit), ids[len(ids)-1]+1)
	before := e.cfg.Now().Add(-r.Time).UnixMilli()
	var gone []*manifest.Snapshot
	for _, id := range ids {
		if id >= end {
			break
		}
		s, err := manifest.ReadLongLivedChangelog(ctx, e.store, e.path, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process expires them, too
		}
		if err != nil {
			return Result{}, err
		}
		if id > latest-r.Max && s.TimeMillis >= before {
			break
		}
		gone = append(gone, s)
	}
	if len(gone) == 0 {
		return Result{}, nil
	}
	return e.removeChangelogs(ctx, ids, gone)
}

// removeChangelogs removes changelogs, the oldest first. Of a table whose data files are the changelog those go that no
// snapshot held any more when the changelog was current.
func (e *Expirer) removeChangelogs(ctx context.Context, ids []int64, gone []*manifest.Snapshot) (Result, error) {
	files, metadata := map[string]table.File{}, map[string]struct{}{}
	for _, s := range gone {
		logs, err := manifest.ReadChangelog(ctx, e.store, e.path, s, nil)
		if err == nil {
			err = e.addMetadata(ctx, s, parts{changelog: true}, metadata)
		}
		if err == nil && !e.policy.producesChangelog {
			err = e.addDeltas(ctx, s, files, metadata)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // what is missing went with an earlier try
			return Result{}, err
		}
		for i := range logs {
			files[logs[i].Name] = logs[i]
		}
	}
	last := gone[len(gone)-1].ID
	if err := e.spareStaying(ctx, last, ids, files, metadata); err != nil {
		return Result{}, err
	}
	r := Result{Changelogs: int64(len(gone)), Files: int64(len(files)), Metadata: int64(len(metadata))}
	if e.cfg.DryRun {
		return r, nil
	}
	for _, s := range gone {
		if err := e.store.Delete(ctx, e.path.Changelog(s.ID)); err != nil {
			return Result{}, fmt.Errorf("changelog %d: %w", s.ID, err)
		}
	}
	if err := e.changelogHints(ctx, ids, last); err != nil {
		return Result{}, err
	}
	names, err := e.objects(files)
	if err != nil {
		return r, err
	}
	for name := range metadata {
		names = append(names, name)
	}
	slices.Sort(names)
	return r, e.delete(ctx, names)
}

// changelogHints makes EARLIEST and LATEST name the changelogs that are left, or takes them away.
func (e *Expirer) changelogHints(ctx context.Context, ids []int64, last int64) error {
	if last < ids[len(ids)-1] {
		i, _ := slices.BinarySearch(ids, last)
		return manifest.WriteHint(ctx, e.store, e.path.ChangelogEarliest(), ids[i+1])
	}
	return e.store.Delete(ctx, e.path.ChangelogEarliest(), e.path.ChangelogLatest())
}

// addDeltas adds the data files that a changelog's delta took away, and its base and delta metadata, in a table without a
// changelog producer.
func (e *Expirer) addDeltas(ctx context.Context, s *manifest.Snapshot, files map[string]table.File, metadata map[string]struct{}) error {
	if err := e.addDead(ctx, s, files, false); err != nil {
		return err
	}
	return e.addMetadata(ctx, s, parts{data: true}, metadata)
}

// spareStaying takes out what the changelog after the last that goes, the earliest snapshot, tags and branches name.
func (e *Expirer) spareStaying(ctx context.Context, last int64, ids []int64, files map[string]table.File, metadata map[string]struct{}) error {
	next, stays, err := e.stays(ctx, last)
	if err != nil {
		return err
	}
	holders, err := e.holders(ctx, ids[0], next)
	if err != nil {
		return err
	}
	for name := range stays {
		delete(metadata, name)
	}
	for _, h := range holders {
		for name := range h.metadata {
			delete(metadata, name)
		}
		for name := range h.logs {
			delete(files, name)
		}
		if e.policy.producesChangelog {
			continue
		}
		held, err := e.filesOf(ctx, h)
		if err != nil {
			return err
		}
		for name := range held {
			delete(files, name)
		}
	}
	return nil
}

// stays returns the id of the first change after the last that goes, and the object names of its metadata. What is named before and after it is named by
// it, too. Another process may take it away, too: then that is so of the next, and of the newest snapshot at the latest.
func (e *Expirer) stays(ctx context.Context, last int64) (id int64, names map[string]struct{}, err error) {
	latest, _, err := manifest.Latest(ctx, e.store, e.path)
	if err != nil {
		return 0, nil, err
	}
	for id = last + 1; id <= latest; id++ {
		var next *manifest.Snapshot
		next, err = manifest.ReadChange(ctx, e.store, e.path, id)
		names = map[string]struct{}{}
		if err == nil {
			err = e.addMetadata(ctx, next, parts{data: !e.policy.producesChangelog, changelog: true}, names)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return id, names, err
		}
	}
	return 0, nil, errOvertaken
}
