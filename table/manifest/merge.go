package manifest

import (
	"context"

	"sink/table"
)

// MergeOptions say when manifests of a base list are merged.
type MergeOptions struct {
	TargetSizeBytes int64 // manifest.target-file-size: what a merge is to reach
	MinCount        int   // manifest.merge-min-count: so many small manifests at the end are merged
	FullSizeBytes   int64 // manifest.full-compaction-threshold-size: so much to change rewrites the list
}

// MergeOptionsOf returns the options of a table.
func MergeOptionsOf(s *table.Schema) (MergeOptions, error) {
	target, err := s.OptionSize("manifest.target-file-size")
	if err != nil {
		return MergeOptions{}, err
	}
	count, err := s.OptionInt("manifest.merge-min-count")
	if err != nil {
		return MergeOptions{}, err
	}
	full, err := s.OptionSize("manifest.full-compaction-threshold-size")
	if err != nil {
		return MergeOptions{}, err
	}
	return MergeOptions{TargetSizeBytes: target, MinCount: int(count), FullSizeBytes: full}, nil
}

// A MergePlan says what becomes of the manifests of a base list (org.apache.paimon.operation.ManifestFileMerger).
type MergePlan struct {
	// Full applies all deletes of the list and keeps only what is added and still live.
	Full bool
	// Groups are consecutive parts of the list, in its order. A group of several is merged; one alone stays as it is.
	// In a full plan there is one group.
	Groups [][]ListEntry
}

// Nothing reports whether the plan leaves the list as it is.
func (p MergePlan) Nothing() bool {
	if p.Full {
		return false
	}
	for _, g := range p.Groups {
		if len(g) > 1 {
			return false
		}
	}
	return true
}

// PlanMerge decides what to merge. It reads nothing.
//
// Full, when manifests that are small or hold deletes add up to FullSizeBytes. Else the list is cut, in order, wherever
// TargetSizeBytes is reached; what is left at the end is a group only if it has MinCount manifests. A group never reaches over
// another, so that no delete moves before its add.
func PlanMerge(list []ListEntry, o MergeOptions) MergePlan {
	var change int64
	for i := range list {
		if o.mustChange(&list[i]) {
			change += list[i].SizeBytes
		}
	}
	if change >= o.FullSizeBytes && len(list) > 1 {
		return MergePlan{Full: true, Groups: [][]ListEntry{list}}
	}
	var p MergePlan
	start, size := 0, int64(0)
	for i := range list {
		size += list[i].SizeBytes
		if size >= o.TargetSizeBytes {
			p.Groups = append(p.Groups, list[start:i+1])
			start, size = i+1, 0
		}
	}
	switch rest := list[start:]; {
	case len(rest) >= max(o.MinCount, 1):
		p.Groups = append(p.Groups, rest)
	default:
		for i := range rest {
			p.Groups = append(p.Groups, rest[i:i+1])
		}
	}
	return p
}

// mustChange reports whether a full merge rewrites a manifest for its own sake.
func (o MergeOptions) mustChange(m *ListEntry) bool {
	return m.Deleted > 0 || m.SizeBytes < o.TargetSizeBytes
}

// Merge carries out a plan. It returns the new list and those of its manifests that are new, also with an error, so that the caller
// can remove them. The manifests of the plan themselves stay: older snapshots name them.
func (w *Writer) Merge(ctx context.Context, p MergePlan, o MergeOptions) (list, written []ListEntry, err error) {
	if p.Full {
		return w.mergeFull(ctx, p.Groups[0], o)
	}
	for _, g := range p.Groups {
		if len(g) == 1 {
			list = append(list, g[0])
			continue
		}
		merged, err := w.mergeGroup(ctx, g)
		written = append(written, merged...)
		if err != nil {
			return nil, written, err
		}
		list = append(list, merged...)
	}
	return list, written, nil
}

// mergeGroup writes a group's entries anew, in order. An ADD and a later DELETE of the same file cancel each other; a
// DELETE whose ADD lies before the group is kept.
func (w *Writer) mergeGroup(ctx context.Context, group []ListEntry) ([]ListEntry, error) {
	var entries []Entry
	at := make(map[Identity]int)
	err := EachEntry(ctx, w.store, w.path, group, nil, func(e *Entry) error {
		id := IdentityOf(&e.File)
		i, seen := at[id]
		switch {
		case !seen:
			at[id] = len(entries)
			entries = append(entries, *e)
		case e.Kind == Delete && entries[i].Kind == Add:
			at[id] = deleted
			entries[i] = Entry{}
		case i == deleted && e.Kind == Add, e.Kind == Add && entries[i].Kind == Delete:
			return misfit(errAddedAgain, &e.File)
		case e.Kind == Add:
			return misfit(errAddedTwice, &e.File)
		default:
			return misfit(errDeletedTwice, &e.File)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := w.roll(ctx)
	for i := range entries {
		if entries[i].File.Name == "" {
			continue
		}
		if err := r.add(&entries[i]); err != nil {
			return r.done, err
		}
	}
	return r.close()
}

// mergeFull writes what is live, and keeps manifests that are large, hold no deletes and lose no file. The list has to be
// whole: a DELETE is dropped with its ADD.
func (w *Writer) mergeFull(ctx context.Context, list []ListEntry, o MergeOptions) (merged, written []ListEntry, err error) {
	gone, filter, err := w.deletedFiles(ctx, list)
	if err != nil {
		return nil, nil, err
	}
	r := w.roll(ctx)
	for i := range list {
		m := &list[i]
		change := o.mustChange(m)
		if !change && (len(gone) == 0 || !filter.keepsManifest(m)) {
			merged = append(merged, *m)
			continue
		}
		kept, lost, err := w.survivors(ctx, *m, gone)
		if err != nil {
			return nil, r.done, err
		}
		if !change && !lost {
			merged = append(merged, *m)
			continue
		}
		for i := range kept {
			if err := r.add(&kept[i]); err != nil {
				return nil, r.done, err
			}
		}
	}
	written, err = r.close()
	if err != nil {
		return nil, written, err
	}
	return append(merged, written...), written, nil
}

// survivors returns the ADD entries of a manifest whose files are not deleted, and whether there were others.
func (w *Writer) survivors(ctx context.Context, m ListEntry, gone map[Identity]struct{}) (kept []Entry, lost bool, err error) {
	err = EachEntry(ctx, w.store, w.path, []ListEntry{m}, nil, func(e *Entry) error {
		_, isGone := gone[IdentityOf(&e.File)]
		if e.Kind == Add && !isGone {
			kept = append(kept, *e)
		} else {
			lost = true
		}
		return nil
	})
	return kept, lost, err
}

// deletedFiles returns the files that a list deletes, and a filter of their partitions.
func (w *Writer) deletedFiles(ctx context.Context, list []ListEntry) (map[Identity]struct{}, *Filter, error) {
	var with []ListEntry
	for i := range list {
		if list[i].Deleted > 0 {
			with = append(with, list[i])
		}
	}
	gone := make(map[Identity]struct{})
	f := &Filter{columns: w.columns, partitions: make(map[string]struct{})}
	err := EachEntry(ctx, w.store, w.path, with, nil, func(e *Entry) error {
		if e.Kind != Delete {
			return nil
		}
		gone[IdentityOf(&e.File)] = struct{}{}
		p := e.File.Bucket.Partition
		if _, ok := f.partitions[p]; ok {
			return nil
		}
		b, err := w.columns.bound([]byte(p))
		if err != nil {
			return err
		}
		f.partitions[p] = struct{}{}
		f.bounds = append(f.bounds, b)
		return nil
	})
	return gone, f, err
}
