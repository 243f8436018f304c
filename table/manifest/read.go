package manifest

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"sink/table"
	"sink/table/object"
)

// readAhead is the number of manifests that are fetched at the same time.
const readAhead = 8

// ReadManifest returns the entries of a manifest, which is given by its bare name.
func ReadManifest(ctx context.Context, store object.Store, path table.Path, name string) ([]Entry, error) {
	b, err := store.Get(ctx, path.Manifest(name))
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	entries, err := decodeEntries(b)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return entries, nil
}

// ReadList returns the entries of a manifest list, which is given by its bare name. They are in the list's order, on
// which folding rests.
func ReadList(ctx context.Context, store object.Store, path table.Path, name string) ([]ListEntry, error) {
	b, err := store.Get(ctx, path.Manifest(name))
	if err != nil {
		return nil, fmt.Errorf("read manifest list %s: %w", name, err)
	}
	list, err := decodeList(b)
	if err != nil {
		return nil, fmt.Errorf("read manifest list %s: %w", name, err)
	}
	return list, nil
}

// ReadDataList returns the manifests that make up what a snapshot holds: those of its base list, then those of its
// delta list.
func ReadDataList(ctx context.Context, store object.Store, path table.Path, s *Snapshot) ([]ListEntry, error) {
	base, err := ReadList(ctx, store, path, s.BaseList)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	delta, err := ReadList(ctx, store, path, s.DeltaList)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	return append(base, delta...), nil
}

// ReadDelta returns the entries that a snapshot added, in order.
func ReadDelta(ctx context.Context, store object.Store, path table.Path, s *Snapshot, f *Filter) ([]Entry, error) {
	list, err := ReadList(ctx, store, path, s.DeltaList)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	var all []Entry
	err = EachEntry(ctx, store, path, list, f, func(e *Entry) error {
		all = append(all, *e)
		return nil
	})
	return all, err
}

// ReadChangelog returns the changelog files of a snapshot in the order in which a streaming reader has to see them;
// none when the snapshot has no changelog.
func ReadChangelog(ctx context.Context, store object.Store, path table.Path, s *Snapshot, f *Filter) ([]table.File, error) {
	if s.ChangelogList == "" {
		return nil, nil
	}
	list, err := ReadList(ctx, store, path, s.ChangelogList)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	var files []table.File
	err = EachEntry(ctx, store, path, list, f, func(e *Entry) error {
		if e.Kind != Add {
			return fmt.Errorf("snapshot %d: changelog file %s is deleted by its own changelog list", s.ID, e.File.Name)
		}
		files = append(files, e.File)
		return nil
	})
	return files, err
}

// ReadLive returns the live files of a snapshot, in the order in which they were added.
func ReadLive(ctx context.Context, store object.Store, path table.Path, s *Snapshot, f *Filter) ([]table.File, error) {
	list, err := ReadDataList(ctx, store, path, s)
	if err != nil {
		return nil, err
	}
	var live Files
	if err := EachEntry(ctx, store, path, list, f, live.Apply); err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	return live.All(), nil
}

// EachEntry calls fn for the entries of several manifests, in order, that the filter keeps; a nil filter keeps all. The
// manifests are fetched a few at a time, and no more of them are held.
func EachEntry(ctx context.Context, store object.Store, path table.Path, list []ListEntry, f *Filter, fn func(*Entry) error) error {
	var wanted []ListEntry
	for i := range list {
		if f.keepsManifest(&list[i]) {
			wanted = append(wanted, list[i])
		}
	}
	for len(wanted) > 0 {
		next := wanted[:min(readAhead, len(wanted))]
		wanted = wanted[len(next):]
		read := make([][]Entry, len(next))
		group, gctx := errgroup.WithContext(ctx)
		for i := range next {
			group.Go(func() (err error) {
				read[i], err = ReadManifest(gctx, store, path, next[i].Name)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for i, entries := range read {
			for j := range entries {
				if !f.keepsFile(&entries[j].File) {
					continue
				}
				if err := fn(&entries[j]); err != nil {
					return fmt.Errorf("manifest %s: %w", next[i].Name, err)
				}
			}
		}
	}
	return nil
}
