package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"sink/table/manifest"
	"sink/table/object"
)

// MinOrphanAge is the least age of files to be taken for orphans while somebody writes: the sink commits no file older
// than an hour, and this leaves it time to do so. Paimon's own jobs use a day.
const MinOrphanAge = 2 * time.Hour

// Orphans returns the files of the table that nothing names, and that were last written before a moment: left behind by
// writers that died, by lost races, by an expiry that did not end. It deletes nothing.
//
// It looks into the folders of metadata and of buckets; in snapshot and changelog for what has no such name. Others, such as
// a user's own, are not its business.
func (e *Expirer) Orphans(ctx context.Context, before time.Time) ([]object.Info, error) {
	found, err := e.orphans(ctx, before)
	if err != nil {
		return nil, fmt.Errorf("orphans of table %s: %w", e.path, err)
	}
	return found, nil
}

// DeleteOrphans deletes what Orphans found.
func (e *Expirer) DeleteOrphans(ctx context.Context, found []object.Info) error {
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].Name
	}
	if err := e.delete(ctx, names); err != nil {
		return fmt.Errorf("orphans of table %s: %w", e.path, err)
	}
	return nil
}

func (e *Expirer) orphans(ctx context.Context, before time.Time) ([]object.Info, error) {
	// The files first, then who names them: what is committed in between is named.
	var candidates []object.Info
	root := string(e.path) + "/"
	for info, err := range e.store.List(ctx, root) {
		if err != nil {
			return nil, err
		}
		if info.Modified.Before(before) && e.mayBeOrphan(strings.TrimPrefix(info.Name, root)) {
			candidates = append(candidates, info)
		}
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	named, err := e.named(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(candidates, func(info object.Info) bool {
		_, ok := named[path.Base(info.Name)]
		return ok
	}), nil
}

// mayBeOrphan reports whether a file, by its path in the table's folder, is one that a snapshot would have to name.
func (e *Expirer) mayBeOrphan(name string) bool {
	folder, base := path.Dir(name), path.Base(name)
	switch folder {
	case "manifest", "index", "statistics":
		return true
	case "snapshot", "changelog":
		return base != "EARLIEST" && base != "LATEST" && !strings.HasPrefix(base, folder+"-")
	}
	parts := strings.Split(folder, "/")
	if !strings.HasPrefix(parts[len(parts)-1], "bucket-") || len(parts) != len(e.cfg.Schema.PartitionKeys)+1 {
		return false
	}
	return !slices.ContainsFunc(parts[:len(parts)-1], func(p string) bool { return !strings.Contains(p, "=") })
}

// namer collects the bare names of all files that something names.
type namer struct {
	*Expirer
	names     map[string]struct{}
	manifests map[string]struct{}    // read already
	read      map[string]object.Info // the snapshots, tags and changelogs read already
	missed    map[string]struct{}    // those that were listed and not there to be read
}

// named returns the bare names of all files that any snapshot, tag, changelog or branch names; a stray is none.
//
// What goes while it is looked at may live on as something else: a snapshot as a changelog or as a tag, its files in the snapshots after it.
// So all is listed again until nothing went between its listing and its reading. Snapshots are listed first, since it is they that live on
// as others.
func (e *Expirer) named(ctx context.Context) (map[string]struct{}, error) {
	n := &namer{Expirer: e, names: map[string]struct{}{}, manifests: map[string]struct{}{}, read: map[string]object.Info{}, missed: map[string]struct{}{}}
	for {
		complete, err := n.pass(ctx)
		if complete || err != nil {
			return n.names, err
		}
	}
}

// pass adds what is there now and was not read before. It reports whether all that it listed was still there when it was read.
func (n *namer) pass(ctx context.Context) (complete bool, err error) {
	_, strays, err := manifest.Snapshots(ctx, n.store, n.path)
	if err != nil {
		return false, err
	}
	skip := map[string]struct{}{}
	for _, id := range strays {
		skip[n.path.Snapshot(id)] = struct{}{}
	}
	var unread []object.Info
	for _, folder := range []string{n.path.SnapshotDir(), n.path.ChangelogDir(), n.path.TagDir(), n.path.BranchDir()} {
		for info, err := range n.store.List(ctx, folder) {
			if err != nil {
				return false, fmt.Errorf("list %s: %w", folder, err)
			}
			before, known := n.read[info.Name]
			known = known && before.SizeBytes == info.SizeBytes && before.Modified.Equal(info.Modified)
			if _, stray := skip[info.Name]; !known && !stray && namesSnapshot(info.Name) {
				unread = append(unread, info)
			}
		}
	}
	complete = true
	for _, info := range unread {
		there, err := n.add(ctx, info.Name)
		switch {
		case err != nil:
			return false, err
		case there:
			n.read[info.Name] = info
		default:
			if _, again := n.missed[info.Name]; again {
				return false, fmt.Errorf("%s is listed by the store, again and again, but cannot be read", info.Name)
			}
			n.missed[info.Name], complete = struct{}{}, false
		}
	}
	return complete, nil
}

// add adds what one snapshot, tag or changelog names, and reports whether it is still there. Anything else that cannot be read ends the
// search.
func (n *namer) add(ctx context.Context, name string) (there bool, err error) {
	b, err := n.store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	s, err := manifest.ParseSnapshot(b)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	err = n.addSnapshot(ctx, s, strings.HasPrefix(path.Base(name), "changelog-"), strings.HasPrefix(path.Base(name), "tag-"))
	if errors.Is(err, fs.ErrNotExist) {
		_, gone := n.store.Get(ctx, name)
		if errors.Is(gone, fs.ErrNotExist) {
			return false, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// addSnapshot adds what a snapshot names. Of a long-lived changelog only the changelog list is certain to be there, and of a
// tag all but the changelog.
func (n *namer) addSnapshot(ctx context.Context, s *manifest.Snapshot, longLived, tag bool) error {
	for _, list := range []string{s.BaseList, s.DeltaList, s.ChangelogList} {
		if list == "" {
			continue
		}
		n.names[list] = struct{}{}
		optional := longLived
		if list == s.ChangelogList {
			optional = tag
		}
		if err := n.addList(ctx, list); err != nil && !(optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if s.Statistics != "" {
		n.names[s.Statistics] = struct{}{}
	}
	if s.IndexManifest == "" {
		return nil
	}
	n.names[s.IndexManifest] = struct{}{}
	entries, err := manifest.ReadIndexManifest(ctx, n.store, n.path, s.IndexManifest)
	if err != nil {
		if longLived && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for i := range entries {
		n.names[entries[i].Name] = struct{}{}
	}
	return nil
}

func (n *namer) addList(ctx context.Context, name string) error {
	list, err := manifest.ReadList(ctx, n.store, n.path, name)
	if err != nil {
		return err
	}
	var unread []manifest.ListEntry
	for i := range list {
		if _, done := n.manifests[list[i].Name]; !done {
			unread = append(unread, list[i])
		}
	}
	err = manifest.EachEntry(ctx, n.store, n.path, unread, nil, func(entry *manifest.Entry) error {
		n.names[entry.File.Name] = struct{}{}
		for _, extra := range entry.File.ExtraFiles {
			n.names[extra] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range unread {
		n.names[unread[i].Name], n.manifests[unread[i].Name] = struct{}{}, struct{}{}
	}
	return nil
}
