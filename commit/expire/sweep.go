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

// sweep removes the snapshots before one that stays, with what they alone hold.
type sweep struct {
	*Expirer
	gone []*manifest.Snapshot // ascending
	stay *manifest.Snapshot   // the first that stays

	dead     map[string]table.File // data files that died up to stay, by name
	logs     map[string]table.File // changelog files of gone, by name
	metadata map[string]struct{}   // object names of manifests, lists, index files and statistics of gone alone
}

func (s *sweep) run(ctx context.Context) (Result, error) {
	s.dead, s.logs, s.metadata = map[string]table.File{}, map[string]table.File{}, map[string]struct{}{}
	if err := s.collect(ctx); err != nil {
		if errors.Is(err, fs.ErrNotExist) && s.overtaken(ctx) {
			return Result{}, errOvertaken
		}
		return Result{}, err
	}
	holders, err := s.holders(ctx, s.gone[0].ID, s.stay.ID)
	if err != nil {
		return Result{}, err
	}
	if err := s.spare(ctx, holders); err != nil {
		return Result{}, err
	}
	r := Result{Snapshots: int64(len(s.gone)), Earliest: s.stay.ID}
	if !s.cfg.DryRun {
		if err := s.forget(ctx); err != nil {
			return Result{}, err
		}
		if holders, err = s.newHolders(ctx, holders, s.gone[0].ID, s.stay.ID); err != nil {
			return r, err
		}
		if err := s.spare(ctx, holders); err != nil {
			return r, err
		}
	}
	r.Files, r.Metadata = int64(len(s.dead)+len(s.logs)), int64(len(s.metadata))
	if s.cfg.DryRun {
		return r, nil
	}
	return r, s.remove(ctx)
}

// overtaken reports whether the oldest snapshot of the sweep has gone meanwhile.
func (s *sweep) overtaken(ctx context.Context) bool {
	_, err := manifest.ReadSnapshot(ctx, s.store, s.path, s.gone[0].ID)
	return errors.Is(err, fs.ErrNotExist)
}

// keepsDeltas reports whether the data files and manifests of expired snapshots live on since they are the changelog.
func (e *Expirer) keepsDeltas() bool { return e.policy.decoupled() && !e.policy.producesChangelog }

// collect finds what may go.
func (s *sweep) collect(ctx context.Context) error {
	for _, snapshot := range append(slices.Clone(s.gone[1:]), s.stay) {
		if err := s.addDead(ctx, snapshot, s.dead, s.keepsDeltas()); err != nil {
			return err
		}
	}
	for _, snapshot := range s.gone {
		if s.policy.decoupled() {
			break
		}
		files, err := manifest.ReadChangelog(ctx, s.store, s.path, snapshot, nil)
		if err != nil {
			return err
		}
		for i := range files {
			s.logs[files[i].Name] = files[i]
		}
	}
	which := parts{data: !s.keepsDeltas(), changelog: !s.policy.decoupled(), rest: true}
	for _, snapshot := range s.gone {
		if err := s.addMetadata(ctx, snapshot, which, s.metadata); err != nil {
			return err
		}
	}
	stays := map[string]struct{}{}
	if err := s.addMetadata(ctx, s.stay, parts{true, true, true}, stays); err != nil {
		return err
	}
	for name := range stays {
		delete(s.metadata, name)
	}
	return nil
}

// addDead adds the data files that a snapshot took away to dead. A file that only changed its level lives on. What new
// input had written is left out when it is the changelog.
func (e *Expirer) addDead(ctx context.Context, snapshot *manifest.Snapshot, dead map[string]table.File, keepInput bool) error {
	list, err := manifest.ReadList(ctx, e.store, e.path, snapshot.DeltaList)
	if err != nil {
		return fmt.Errorf("snapshot %d: %w", snapshot.ID, err)
	}
	if !slices.ContainsFunc(list, func(m manifest.ListEntry) bool { return m.Deleted > 0 }) {
		return nil
	}
	moved := map[string]struct{}{}
	var gone []table.File
	err = manifest.EachEntry(ctx, e.store, e.path, list, nil, func(entry *manifest.Entry) error {
		switch {
		case entry.Kind == manifest.Add:
			moved[entry.File.Name] = struct{}{}
		case !keepInput || entry.File.Source == table.SourceCompact:
			gone = append(gone, entry.File)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("snapshot %d: %w", snapshot.ID, err)
	}
	for i := range gone {
		if _, ok := moved[gone[i].Name]; !ok {
			dead[gone[i].Name] = gone[i]
		}
	}
	return nil
}

// parts says which files of a snapshot's metadata are meant.
type parts struct {
	data      bool // base and delta lists and their manifests
	changelog bool // the changelog list and its manifests
	rest      bool // index manifest, index files, statistics
}

// addMetadata adds the object names of a snapshot's metadata files to a set.
func (e *Expirer) addMetadata(ctx context.Context, s *manifest.Snapshot, which parts, names map[string]struct{}) error {
	var lists []string
	if which.data {
		lists = append(lists, s.BaseList, s.DeltaList)
	}
	if which.changelog && s.ChangelogList != "" {
		lists = append(lists, s.ChangelogList)
	}
	for _, name := range lists {
		names[e.path.Manifest(name)] = struct{}{}
		list, err := manifest.ReadList(ctx, e.store, e.path, name)
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", s.ID, err)
		}
		for i := range list {
			names[e.path.Manifest(list[i].Name)] = struct{}{}
		}
	}
	if which.rest && s.Statistics != "" {
		names[e.path.Statistics(s.Statistics)] = struct{}{}
	}
	if !which.rest || s.IndexManifest == "" {
		return nil
	}
	names[e.path.Manifest(s.IndexManifest)] = struct{}{}
	entries, err := manifest.ReadIndexManifest(ctx, e.store, e.path, s.IndexManifest)
	if err != nil {
		return fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	for i := range entries {
		name, err := entries[i].Object(e.path, e.cfg.Schema)
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", s.ID, err)
		}
		names[name] = struct{}{}
	}
	return nil
}

// forget takes the snapshots out of the table. Those whose changelog lives on are kept in the folder changelog.
func (s *sweep) forget(ctx context.Context) error {
	if s.policy.decoupled() {
		if err := s.keepChangelogs(ctx); err != nil {
			return err
		}
	}
	for _, snapshot := range s.gone {
		if err := s.delete(ctx, []string{s.path.Snapshot(snapshot.ID)}); err != nil {
			return fmt.Errorf("snapshot %d: %w", snapshot.ID, err)
		}
	}
	return manifest.WriteHint(ctx, s.store, s.path.Earliest(), s.stay.ID)
}

// keepChangelogs writes the files changelog/changelog-id.
func (s *sweep) keepChangelogs(ctx context.Context) error {
	for _, snapshot := range s.gone {
		b, err := s.store.Get(ctx, s.path.Snapshot(snapshot.ID))
		if errors.Is(err, fs.ErrNotExist) { // another process has kept it, or let it go by now
			return errOvertaken
		}
		if err != nil {
			return fmt.Errorf("keep changelog %d: %w", snapshot.ID, err)
		}
		if err := s.store.Put(ctx, s.path.Changelog(snapshot.ID), b); err != nil {
			return fmt.Errorf("keep changelog %d: %w", snapshot.ID, err)
		}
	}
	if err := manifest.WriteHint(ctx, s.store, s.path.ChangelogLatest(), s.gone[len(s.gone)-1].ID); err != nil {
		return err
	}
	_, err := s.store.Get(ctx, s.path.ChangelogEarliest())
	if errors.Is(err, fs.ErrNotExist) {
		return manifest.WriteHint(ctx, s.store, s.path.ChangelogEarliest(), s.gone[0].ID)
	}
	return err
}

// spare takes what holders hold out of what goes.
func (s *sweep) spare(ctx context.Context, holders []*holding) error {
	for _, h := range holders {
		for name := range h.metadata {
			delete(s.metadata, name)
		}
		for name := range h.logs {
			delete(s.logs, name)
		}
		held, err := s.filesOf(ctx, h)
		if err != nil {
			return err
		}
		for name := range held {
			delete(s.dead, name)
		}
	}
	return nil
}

// remove deletes the files.
func (s *sweep) remove(ctx context.Context) error {
	names, err := s.objects(s.dead, s.logs)
	if err != nil {
		return err
	}
	for name := range s.metadata {
		names = append(names, name)
	}
	slices.Sort(names)
	return s.delete(ctx, names)
}

// objects returns the object names of files, and of what belongs to them. A file outside of the table stays.
func (e *Expirer) objects(sets ...map[string]table.File) ([]string, error) {
	var names []string
	for _, files := range sets {
		for name, f := range files {
			if f.ExternalPath != "" {
				continue
			}
			partition, err := table.PartitionPath(e.cfg.Schema, f.Bucket.Partition)
			if err != nil {
				return nil, fmt.Errorf("file %s: %w", name, err)
			}
			for _, n := range append([]string{name}, f.ExtraFiles...) {
				names = append(names, e.path.DataFile(partition, f.Bucket.Number, n))
			}
		}
	}
	return names, nil
}
