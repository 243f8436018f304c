package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"sink/table"
	"sink/table/manifest"
)

// CreateTag keeps a snapshot, the newest for id 0, under a name until the tag is deleted, or for a time. The error is
// fs.ErrExist when there is a tag of that name and fs.ErrNotExist when the snapshot is not there, or expired just now.
func (e *Expirer) CreateTag(ctx context.Context, name string, id int64, retained time.Duration) (*manifest.Tag, error) {
	t, err := e.createTag(ctx, name, id, retained)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", e.path, err)
	}
	return t, nil
}

func (e *Expirer) createTag(ctx context.Context, name string, id int64, retained time.Duration) (*manifest.Tag, error) {
	if strings.TrimSpace(name) == "" || strings.Trim(name, "0123456789") == "" {
		return nil, fmt.Errorf("tag %q: Paimon takes no name of digits alone, nor an empty one", name)
	}
	var s *manifest.Snapshot
	var err error
	if id == 0 {
		s, err = manifest.LatestSnapshot(ctx, e.store, e.path)
		if err == nil && s == nil {
			err = fmt.Errorf("it has no snapshot to tag: %w", fs.ErrNotExist)
		}
	} else {
		s, err = manifest.ReadStanding(ctx, e.store, e.path, id)
	}
	if err != nil {
		return nil, err
	}
	t := &manifest.Tag{Name: name, Snapshot: s, Created: e.cfg.Now(), Retained: retained}
	if err := e.putTag(ctx, t); err != nil {
		return nil, err
	}
	return t, nil
}

// putTag writes a tag that must not be there yet, and takes it away again when its snapshot has expired meanwhile.
func (e *Expirer) putTag(ctx context.Context, t *manifest.Tag) error {
	if err := manifest.CreateTag(ctx, e.store, e.path, t); err != nil {
		return err
	}
	// Expiry deletes the snapshot before it looks for tags: one that is still there now has all its files, and keeps them.
	_, err := manifest.ReadSnapshot(ctx, e.store, e.path, t.Snapshot.ID)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("snapshot %d expired while it was tagged: %w", t.Snapshot.ID, err), e.store.Delete(ctx, e.path.Tag(t.Name)))
}

// DeleteTag deletes a tag, and the files that nothing else holds; fs.ErrNotExist if there is none of that name.
func (e *Expirer) DeleteTag(ctx context.Context, name string) (Result, error) {
	t, err := manifest.ReadTag(ctx, e.store, e.path, name)
	if err != nil {
		return Result{}, e.wrap(err)
	}
	r, err := e.deleteTag(ctx, t)
	return r, e.wrap(err)
}

// Tags deletes the tags whose time has passed.
func (e *Expirer) Tags(ctx context.Context) (Result, error) {
	var all Result
	tags, err := e.tags(ctx)
	for _, t := range tags {
		if t.Retained <= 0 || t.Created.IsZero() || !e.cfg.Now().After(t.Created.Add(t.Retained)) {
			continue
		}
		var r Result
		if r, err = e.deleteTag(ctx, t); err != nil {
			break
		}
		all.Add(r)
	}
	return all, e.wrap(err)
}

// deleteTag deletes the tag first, so that it never names files that are gone. While its snapshot is there the files
// are that one's. Else those go that neither the tag before, nor what comes next, a tag or a snapshot, holds.
func (e *Expirer) deleteTag(ctx context.Context, t *manifest.Tag) (Result, error) {
	files, metadata, err := e.heldByTagAlone(ctx, t)
	if err != nil {
		return Result{}, fmt.Errorf("tag %s: %w", t.Name, err)
	}
	r := Result{Tags: 1, Files: int64(len(files)), Metadata: int64(len(metadata))}
	if e.cfg.DryRun {
		return r, nil
	}
	if err := e.delete(ctx, []string{e.path.Tag(t.Name)}); err != nil {
		return Result{}, fmt.Errorf("tag %s: %w", t.Name, err)
	}
	names, err := e.objects(files)
	if err != nil {
		return r, err
	}
	for name := range metadata {
		names = append(names, name)
	}
	return r, e.delete(ctx, names)
}

func (e *Expirer) heldByTagAlone(ctx context.Context, t *manifest.Tag) (map[string]table.File, map[string]struct{}, error) {
	first, ok, err := manifest.Earliest(ctx, e.store, e.path)
	if err != nil || !ok || t.Snapshot.ID >= first || e.keepsDeltas() {
		return nil, nil, err
	}
	right, err := manifest.ReadSnapshot(ctx, e.store, e.path, first)
	if err != nil {
		return nil, nil, err
	}
	holders, err := e.branches(ctx)
	if err != nil {
		return nil, nil, err
	}
	tags, err := e.tags(ctx)
	if err != nil {
		return nil, nil, err
	}
	var left, next *manifest.Tag
	for _, other := range tags {
		switch {
		case other.Name == t.Name:
		case other.Snapshot.ID == t.Snapshot.ID:
			return nil, nil, nil
		case other.Snapshot.ID < t.Snapshot.ID:
			left = other
		case next == nil && other.Snapshot.ID < right.ID:
			next = other
			right = other.Snapshot
		}
	}
	around := []*manifest.Snapshot{right}
	if left != nil {
		around = append(around, left.Snapshot)
	}
	for _, s := range around {
		h, err := e.hold(ctx, fmt.Sprintf("snapshot %d", s.ID), s, false)
		if err != nil {
			return nil, nil, err
		}
		holders = append(holders, h)
	}
	return e.alone(ctx, t.Snapshot, holders)
}

// alone returns the live data files and the metadata of a snapshot that none of the holders holds.
func (e *Expirer) alone(ctx context.Context, s *manifest.Snapshot, holders []*holding) (map[string]table.File, map[string]struct{}, error) {
	live, err := manifest.ReadLive(ctx, e.store, e.path, s, nil)
	if err != nil {
		return nil, nil, err
	}
	files, metadata := map[string]table.File{}, map[string]struct{}{}
	for i := range live {
		files[live[i].Name] = live[i]
	}
	if err := e.addMetadata(ctx, s, parts{data: true, rest: true}, metadata); err != nil {
		return nil, nil, err
	}
	for _, h := range holders {
		for name := range h.metadata {
			delete(metadata, name)
		}
		held, err := e.filesOf(ctx, h)
		if err != nil {
			return nil, nil, err
		}
		for name := range held {
			delete(files, name)
		}
	}
	return files, metadata, nil
}
