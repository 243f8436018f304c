package commit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sink/table"
	"sink/table/manifest"
)

// changes are the manifests and lists of one delta. They say nothing of the base, so all attempts share them.
type changes struct {
	deltaList     string
	deltaListSize int64
	delta         []manifest.ListEntry

	changelogList     string // empty: no changelog files
	changelogListSize int64
}

// baseList is the base manifest list of one attempt.
type baseList struct {
	name      string
	sizeBytes int64
	entries   []manifest.ListEntry
}

// merged is a prefix of a base list before and after its manifests were merged. It holds as well for a later attempt whose
// list begins alike: what was added since comes after.
type merged struct {
	from, to []manifest.ListEntry
	written  []string
}

// entriesOf returns the manifest entries of a delta: a compaction's deletes first, each the whole record of its ADD.
func entriesOf(d *table.Delta) (data, changelog []manifest.Entry) {
	for i := range d.Removed {
		data = append(data, manifest.Entry{Kind: manifest.Delete, File: d.Removed[i]})
	}
	for i := range d.Added {
		data = append(data, manifest.Entry{Kind: manifest.Add, File: d.Added[i]})
	}
	for i := range d.Changelog {
		changelog = append(changelog, manifest.Entry{Kind: manifest.Add, File: d.Changelog[i]})
	}
	return data, changelog
}

// writeChanges writes the manifests and lists that do not depend on the base.
func (t *task) writeChanges(ctx context.Context) error {
	w, err := manifest.NewWriter(t.store, t.path, t.schema, t.names)
	if err != nil {
		return err
	}
	w.Together()
	data, changelog := entriesOf(t.delta)
	write := func(entries []manifest.Entry) (manifests []manifest.ListEntry, name string, size int64, err error) {
		manifests, err = w.Manifests(ctx, entries)
		t.shared = append(t.shared, t.manifestNames(manifests)...)
		if err != nil {
			return nil, "", 0, err
		}
		name, size, err = w.List(ctx, manifests)
		t.shared = append(t.shared, t.path.Manifest(name))
		return manifests, name, size, err
	}
	c := &t.changes
	if c.delta, c.deltaList, c.deltaListSize, err = write(data); err != nil {
		return err
	}
	if len(changelog) > 0 {
		if _, c.changelogList, c.changelogListSize, err = write(changelog); err != nil {
			return err
		}
	}
	return w.Flush(ctx)
}

func (c *Committer) manifestNames(list []manifest.ListEntry) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = c.path.Manifest(list[i].Name)
	}
	return names
}

// writeBase writes the base list: all manifests of the newest snapshot, merged where there are many small ones.
func (t *task) writeBase(ctx context.Context) (*baseList, error) {
	list, err := t.manifests(ctx)
	if err != nil {
		return nil, err
	}
	w, err := manifest.NewWriter(t.store, t.path, t.schema, t.names)
	if err != nil {
		return nil, err
	}
	if list, err = t.mergeManifests(ctx, w, list); err != nil {
		return nil, err
	}
	name, size, err := w.List(ctx, list)
	if err != nil {
		t.discard(ctx, []string{t.path.Manifest(name)})
		return nil, err
	}
	return &baseList{name: name, sizeBytes: size, entries: list}, nil
}

// mergeManifests merges the manifests of a list as the table's options ask. What an earlier attempt merged is used again, so that a
// writer that loses races does not read and write the same manifests each time.
func (t *task) mergeManifests(ctx context.Context, w *manifest.Writer, list []manifest.ListEntry) ([]manifest.ListEntry, error) {
	if m := t.mergedLists; m != nil {
		if len(list) >= len(m.from) && slices.EqualFunc(m.from, list[:len(m.from)], sameManifest) {
			return slices.Concat(m.to, list[len(m.from):]), nil
		}
		t.dropMerged(ctx)
	}
	options, err := manifest.MergeOptionsOf(t.schema)
	if err != nil {
		return nil, err
	}
	plan := manifest.PlanMerge(list, options)
	if plan.Nothing() {
		return list, nil
	}
	to, written, err := w.Merge(ctx, plan, options)
	t.mergedLists = &merged{from: list, to: to, written: t.manifestNames(written)}
	if err != nil {
		t.dropMerged(ctx)
		return nil, err
	}
	return to, nil
}

func sameManifest(a, b manifest.ListEntry) bool { return a.Name == b.Name }

// dropMerged forgets merged manifests that no list will name.
func (t *task) dropMerged(ctx context.Context) {
	if t.mergedLists != nil {
		t.discard(ctx, t.mergedLists.written)
		t.mergedLists = nil
	}
}

// build makes the snapshot of this attempt.
func (t *task) build(base *baseList) (*seen, error) {
	s := nextSnapshot(t.view.newest, t.delta, t.kind, &t.changes, base)
	s.UUID, s.SchemaID = t.cfg.NewID(), t.schema.ID
	s.CommitUser, s.CommitIdentifier = t.identity()
	s.TimeMillis = max(s.TimeMillis, t.cfg.Now().UnixMilli())
	if t.view.newest != nil && t.view.newest.SchemaID != s.SchemaID {
		s.Statistics = "" // they describe the columns of the schema before
	}
	mine := &seen{Snapshot: s}
	s.Properties = map[string]string{}
	if t.carriesMap() {
		progress := t.progress()
		mine.progress = &progress
		s.Properties = progress.EncodeProperties()
	}
	s.Properties[table.PropertyCheckpoint] = t.checkpoint
	if t.view.newest != nil {
		s.Properties[table.PropertyParent] = t.view.newest.UUID
	}
	var err error
	mine.raw, err = s.Encode()
	return mine, err
}

// nextSnapshot makes the snapshot that follows base, which is nil in a table that has none. What a snapshot inherits
// is carried over: index manifest, watermark, statistics, next row id, and the total of records.
func nextSnapshot(base *seen, d *table.Delta, kind manifest.CommitKind, c *changes, list *baseList) *manifest.Snapshot {
	s := &manifest.Snapshot{
		ID: 1, CommitKind: kind,
		BaseList: list.name, BaseListSize: list.sizeBytes,
		DeltaList: c.deltaList, DeltaListSize: c.deltaListSize,
		ChangelogList: c.changelogList, ChangelogListSize: c.changelogListSize,
		DeltaRecords: rows(d.Added) - rows(d.Removed), ChangelogRecords: rows(d.Changelog),
	}
	if base != nil {
		s.ID, s.TimeMillis, s.TotalRecords = base.ID+1, base.TimeMillis, base.TotalRecords
		s.IndexManifest, s.Statistics = base.IndexManifest, base.Statistics
		s.Watermark, s.NextRowID = base.Watermark, base.NextRowID
	}
	s.TotalRecords += s.DeltaRecords
	return s
}

func rows(files []table.File) int64 {
	var n int64
	for i := range files {
		n += files[i].Rows
	}
	return n
}

// progress is the map that the new snapshot carries: the newest one, with the partitions moved that the delta covers.
func (t *task) progress() table.Progress {
	d, v := &t.delta.Progress, &t.view
	p := table.Progress{Offsets: table.Offsets{}, MaxSequence: max(d.MaxSequence, v.foreign), Learned: map[string]string{}}
	if v.ours != nil && !t.rebase {
		p = cloneProgress(v.ours.progress)
	}
	if v.ours != nil { // of a rebase, too: what was rewritten since it began has the map that was shown, and may have higher numbers
		p.MaxSequence = max(v.ours.progress.MaxSequence, d.MaxSequence, v.foreign)
	}
	maps.Copy(p.Offsets, d.Offsets)
	maps.Copy(p.Learned, d.Learned)
	return p
}

// cloneProgress returns a copy that shares no map.
func cloneProgress(p *table.Progress) table.Progress {
	c := table.Progress{Offsets: maps.Clone(p.Offsets), MaxSequence: p.MaxSequence, Learned: maps.Clone(p.Learned)}
	if c.Offsets == nil {
		c.Offsets = table.Offsets{}
	}
	if c.Learned == nil {
		c.Learned = map[string]string{}
	}
	return c
}

// nextIdentifier is above every commit identifier that this group has used in the table, whichever instance: each of
// its snapshots is built on the newest one. Where that has expired the snapshot id is above all, since identifiers
// begin at 1 and rise by one a snapshot.
func (c *Committer) nextIdentifier() int64 {
	switch v := &c.view; {
	case v.ours != nil:
		return v.ours.CommitIdentifier + 1
	case v.lost != nil:
		return v.newest.ID + 1
	}
	return 1
}

// adopt makes a snapshot that stands the Committer's newest knowledge.
func (t *task) adopt(mine *seen, base *baseList) {
	foreign := t.view.newest != nil && t.view.newest.progress == nil
	entries, _ := entriesOf(t.delta)
	v := &t.view
	t.rivals.follow(v.newest, mine)
	v.newest = mine
	if mine.progress != nil {
		v.ours, v.foreign, v.lost = mine, -1, nil
		t.rivals.forget(t.delta.Progress.MaxSequence)
	} else {
		v.foreign = max(v.foreign, maxSequence(entries))
	}
	v.lists, v.listed = slices.Concat(base.entries, t.changes.delta), true
	v.noteBuckets(entries)
	t.own = mine
	r := &t.result
	r.SnapshotID, r.UUID, r.Kind, r.Time = mine.ID, mine.UUID, mine.CommitKind, time.UnixMilli(mine.TimeMillis)
	r.Foreign, r.Progress = foreign, table.Progress{MaxSequence: -1}
	if mine.progress != nil {
		r.Progress = cloneProgress(mine.progress)
	}
	r.DataFiles, r.RemovedFiles, r.ChangelogFiles = len(t.delta.Added), len(t.delta.Removed), len(t.delta.Changelog)
	r.TotalRecords, r.DeltaRecords, r.ChangelogRecords = mine.TotalRecords, mine.DeltaRecords, mine.ChangelogRecords
}

// String tells of a result in one line.
func (r Result) String() string {
	return fmt.Sprintf("snapshot %d (%s): %d data files, %d removed, %d changelog files",
		r.SnapshotID, r.Kind, r.DataFiles, r.RemovedFiles, r.ChangelogFiles)
}
