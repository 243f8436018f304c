package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sink/table"
	"sink/table/manifest"
)

// holding is a tag, or a snapshot of a branch, that holds files of its own.
type holding struct {
	object   string // the file that says so
	snapshot *manifest.Snapshot
	branch   bool
	metadata map[string]struct{} // object names
	logs     map[string]struct{} // changelog files, by name; tags hold none
	files    map[string]struct{} // data files, by name; nil: not read yet
}

// holders returns what holds files of the snapshots from first to before end: the tags of these, the last tag before
// them (a file that an older one holds and that died here is held by that, too), and all snapshots of branches.
func (e *Expirer) holders(ctx context.Context, first, end int64) ([]*holding, error) {
	tags, err := e.tags(ctx)
	if err != nil {
		return nil, err
	}
	var out []*holding
	var before *manifest.Tag
	for _, t := range tags {
		switch {
		case t.Snapshot.ID < first:
			before = t
		case t.Snapshot.ID < end:
			h, err := e.hold(ctx, e.path.Tag(t.Name), t.Snapshot, false)
			if err != nil {
				return nil, err
			}
			out = append(out, h)
		}
	}
	if before != nil {
		name := e.path.Tag(before.Name)
		if e.older == nil || e.older.object != name || e.older.snapshot.ID != before.Snapshot.ID || e.older.snapshot.UUID != before.Snapshot.UUID {
			if e.older, err = e.hold(ctx, name, before.Snapshot, false); err != nil {
				return nil, err
			}
		}
		out = append(out, e.older)
	}
	branches, err := e.branches(ctx)
	return append(out, branches...), err
}

// newHolders returns the holders that have come since others were read.
func (e *Expirer) newHolders(ctx context.Context, known []*holding, first, end int64) ([]*holding, error) {
	names, err := e.holderNames(ctx)
	if err != nil {
		return nil, err
	}
	isKnown := func(object string) bool {
		return slices.ContainsFunc(known, func(h *holding) bool { return h.object == object })
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !isKnown(name) }) {
		return nil, nil
	}
	now, err := e.holders(ctx, first, end)
	return slices.DeleteFunc(now, func(h *holding) bool { return isKnown(h.object) }), err
}

// holderNames returns the object names of all tags and of what lies in branches.
func (e *Expirer) holderNames(ctx context.Context) ([]string, error) {
	var names []string
	for _, folder := range []string{e.path.TagDir(), e.path.BranchDir()} {
		for info, err := range e.store.List(ctx, folder) {
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", folder, err)
			}
			names = append(names, info.Name)
		}
	}
	return names, nil
}

// tags returns all tags by the ids of their snapshots.
func (e *Expirer) tags(ctx context.Context) ([]*manifest.Tag, error) {
	names, err := manifest.TagNames(ctx, e.store, e.path)
	if err != nil {
		return nil, err
	}
	var tags []*manifest.Tag
	for _, name := range names {
		t, err := manifest.ReadTag(ctx, e.store, e.path, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the listing
		}
		if err != nil {
			return nil, err
		}
		tags = append(tags, t)
	}
	slices.SortStableFunc(tags, func(a, b *manifest.Tag) int { return int(a.Snapshot.ID - b.Snapshot.ID) })
	return tags, nil
}

// branches returns all snapshots, tags and changelogs of branches: whatever they name stays. Their manifests and data
// files lie in the table's own folders.
func (e *Expirer) branches(ctx context.Context) ([]*holding, error) {
	var out []*holding
	for info, err := range e.store.List(ctx, e.path.BranchDir()) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", e.path.BranchDir(), err)
		}
		if !namesSnapshot(info.Name) {
			continue
		}
		b, err := e.store.Get(ctx, info.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.Name, err)
		}
		s, err := manifest.ParseSnapshot(b)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.Name, err)
		}
		h, err := e.hold(ctx, info.Name, s, true)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// namesSnapshot reports whether an object below branch/ is a snapshot, a tag or a long-lived changelog.
func namesSnapshot(object string) bool {
	folder, base := path.Base(path.Dir(object)), path.Base(object)
	return slices.ContainsFunc([]string{"snapshot", "tag", "changelog"}, func(kind string) bool {
		return folder == kind && strings.HasPrefix(base, kind+"-")
	})
}

// hold reads what metadata a tag or a snapshot of a branch names. Of a tag only the state counts: its changelog goes.
func (e *Expirer) hold(ctx context.Context, object string, s *manifest.Snapshot, branch bool) (*holding, error) {
	h := &holding{object: object, snapshot: s, branch: branch, metadata: map[string]struct{}{}, logs: map[string]struct{}{}}
	err := e.addMetadata(ctx, s, parts{data: true, changelog: branch, rest: true}, h.metadata)
	if branch && err == nil {
		var logs []table.File
		logs, err = manifest.ReadChangelog(ctx, e.store, e.path, s, nil)
		for i := range logs {
			h.logs[logs[i].Name] = struct{}{}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object, err)
	}
	return h, nil
}

// filesOf returns the names of the data files that a holding holds: a tag those that are live in it, a branch all that it
// ever added.
func (e *Expirer) filesOf(ctx context.Context, h *holding) (map[string]struct{}, error) {
	if h.files != nil {
		return h.files, nil
	}
	lists, err := manifest.ReadDataList(ctx, e.store, e.path, h.snapshot)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.object, err)
	}
	times := map[string]int{} // a file is live when it was added once more than deleted, whatever its levels
	err = manifest.EachEntry(ctx, e.store, e.path, lists, nil, func(entry *manifest.Entry) error {
		switch {
		case entry.Kind == manifest.Add:
			times[entry.File.Name]++
		case !h.branch:
			times[entry.File.Name]--
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.object, err)
	}
	h.files = make(map[string]struct{}, len(times))
	for name, n := range times {
		if n > 0 {
			h.files[name] = struct{}{}
		}
	}
	return h.files, nil
}
