package verify

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"sink/table"
	"sink/table/manifest"
)

// entries reads all entries of a manifest list. What is missing or unreadable is a finding, and left out.
func (c *checker) entries(ctx context.Context, where, name string, recorded int64) []manifest.Entry {
	if !c.checkMetadata(where, "manifest-list", name, recorded) {
		return nil
	}
	list, err := manifest.ReadList(ctx, c.store, c.path, name)
	if err != nil {
		c.fault("manifest-list-unreadable", where, "%v", err)
		return nil
	}
	var all []manifest.Entry
	for i := range list {
		all = append(all, c.manifest(ctx, where, &list[i])...)
	}
	return all
}

// manifest reads a manifest, once, and checks what the list says of it.
func (c *checker) manifest(ctx context.Context, where string, m *manifest.ListEntry) []manifest.Entry {
	if !c.checkMetadata(where, "manifest", m.Name, m.SizeBytes) {
		return nil
	}
	entries, done := c.manifests[m.Name]
	if !done {
		var err error
		if entries, err = manifest.ReadManifest(ctx, c.store, c.path, m.Name); err != nil {
			c.fault("manifest-unreadable", where, "%v", err)
		}
		c.manifests[m.Name] = entries
		c.summary.Manifests++
		c.known += len(entries)
	}
	c.checkManifest("manifest "+m.Name, m, entries)
	return entries
}

// checkMetadata tells whether a file of the manifest folder is there, and of the size that was written down; 0 is none.
func (c *checker) checkMetadata(where, what, name string, recorded int64) bool {
	size := c.size(c.path.Manifest(name))
	if size < 0 {
		c.fault(what+"-missing", where, "%s does not exist", name)
		return false
	}
	if recorded > 0 && recorded != size {
		c.fault(what+"-size", where, "%s has %d bytes, but %d are recorded", name, size, recorded)
	}
	return true
}

// checkManifest compares what a list says of a manifest with what it holds.
func (c *checker) checkManifest(where string, m *manifest.ListEntry, entries []manifest.Entry) {
	var added, deleted int64
	facts := newColumns(c.partitionTypes())
	for i := range entries {
		e := &entries[i]
		if e.Kind == manifest.Add {
			added++
		} else {
			deleted++
		}
		if !m.Buckets.Contains(e.File.Bucket.Number) {
			c.fault("manifest-buckets", where, "records buckets %d to %d, but holds %d", m.Buckets.Min, m.Buckets.Max, e.File.Bucket.Number)
		}
		if !m.Levels.Contains(e.File.Level) {
			c.fault("manifest-levels", where, "records levels %d to %d, but holds %d", m.Levels.Min, m.Levels.Max, e.File.Level)
		}
		row, err := table.DecodeRow([]byte(e.File.Bucket.Partition), c.partitionTypes())
		if err != nil {
			c.fault("manifest-unreadable", where, "partition of %s: %v", e.File.Name, err)
			continue
		}
		facts.add(row)
	}
	if m.Added != added || m.Deleted != deleted {
		c.fault("manifest-counts", where, "records %d added and %d deleted files, but holds %d and %d", m.Added, m.Deleted, added, deleted)
	}
	if c.schemas[m.SchemaID] == nil {
		c.fault("schema-missing", where, "schema %d does not exist", m.SchemaID)
	}
	c.checkStats("manifest-partition-stats", where, m.Partitions, c.schema.PartitionKeys, facts, nil)
}

// partitionTypes returns the types of the partition columns.
func (c *checker) partitionTypes() []table.Type {
	return c.schema.TypesOf(c.schema.Indexes(c.schema.PartitionKeys))
}

// merge folds entries into live files.
func (c *checker) merge(where string, entries []manifest.Entry, files map[manifest.Identity]*table.File) {
	deleted := map[manifest.Identity]bool{}
	for i := range entries {
		e := &entries[i]
		id := manifest.IdentityOf(&e.File)
		if e.Kind == manifest.Delete {
			deleted[id] = true
			if files[id] == nil {
				c.fault("delete-unknown", where, "%s is deleted, but was not there", e.File.Name)
			}
			delete(files, id)
			continue
		}
		if files[id] != nil {
			c.fault("add-twice", where, "%s is added again", e.File.Name)
		}
		if deleted[id] {
			c.fault("add-after-delete", where, "%s is added after it was deleted: readers drop it", e.File.Name)
		}
		files[id] = &e.File
	}
}

// checkSame: the base of a snapshot is the snapshot before it.
func (c *checker) checkSame(where string, before, base map[manifest.Identity]*table.File) {
	for id, f := range before {
		switch {
		case base[id] == nil:
			c.fault("base-lost-file", where, "its base lacks %s of the snapshot before", f.Name)
		case base[id] != f && !reflect.DeepEqual(base[id], f):
			c.fault("base-changed-file", where, "its base says something else of %s than the snapshot before", f.Name)
		}
	}
	for id, f := range base {
		if before[id] == nil {
			c.fault("base-extra-file", where, "its base has %s, which the snapshot before has not", f.Name)
		}
	}
}

// checkSequences: new files come after all that is in their bucket. Several writers of one bucket, of which each has keys
// of its own, may overlap: that the order is right then shows in the replay. In an append table, and in bucket-postpone, numbers decide
// nothing, and Paimon's writers begin anew.
func (c *checker) checkSequences(where string, before map[manifest.Identity]*table.File, delta []manifest.Entry) {
	if c.schema.Append() {
		return
	}
	highest := map[table.Bucket]int64{}
	raise := func(f *table.File) {
		if now, ok := highest[f.Bucket]; !ok || f.MaxSeq > now {
			highest[f.Bucket] = f.MaxSeq
		}
	}
	for _, f := range before {
		raise(f)
	}
	var added []*table.File
	for i := range delta {
		if delta[i].Kind == manifest.Add && delta[i].File.Level == 0 && delta[i].File.Bucket.Number >= 0 {
			added = append(added, &delta[i].File)
		}
	}
	slices.SortFunc(added, func(a, b *table.File) int { return int(a.MinSeq - b.MinSeq) })
	for _, f := range added {
		if now, ok := highest[f.Bucket]; ok && f.MinSeq <= now {
			text := fmt.Sprintf("%s of %s starts at sequence %d, but %d was used before", f.Name, c.bucketName(f.Bucket), f.MinSeq, now)
			if c.severalWriters() {
				c.warn("sequence-overlap", where, "%s", text)
			} else {
				c.fault("sequence-overlap", where, "%s", text)
			}
		}
		raise(f)
	}
}

// severalWriters reports whether instances of the sink share the table: its snapshots then carry a map.
func (c *checker) severalWriters() bool {
	for _, s := range c.snapshots {
		if _, ok := s.Properties[table.PropertyOffsets]; ok {
			return true
		}
	}
	return false
}
