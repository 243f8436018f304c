package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"sink/table"
	"sink/table/datafile"
	"sink/table/manifest"
)

// load reads the snapshots, or long-lived changelogs, of a folder by id.
func (c *checker) load(ctx context.Context, folder, prefix string) ([]*manifest.Snapshot, error) {
	var all []*manifest.Snapshot
	for name := range c.objects {
		digits, ok := strings.CutPrefix(name, folder+prefix)
		id, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		c.use(name)
		b, err := c.store.Get(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			c.fault("snapshot-unreadable", prefix+digits, "it went while the table was checked")
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := manifest.ParseSnapshot(b)
		if err != nil {
			c.fault("snapshot-unreadable", prefix+digits, "%v", err)
			continue
		}
		if s.ID != id {
			c.fault("snapshot-id", prefix+digits, "holds id %d", s.ID)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *manifest.Snapshot) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// checkHints checks the hints of a folder, which has these snapshots or changelogs.
func (c *checker) checkHints(ctx context.Context, folder string, all []*manifest.Snapshot) {
	if len(all) > 0 {
		c.checkHint(ctx, folder+"LATEST", all[len(all)-1].ID)
		c.checkHint(ctx, folder+"EARLIEST", all[0].ID)
	}
	c.use(folder + "LATEST")
	c.use(folder + "EARLIEST")
}

// withoutStrays reports the snapshots that are no part of the table, and returns the others.
func (c *checker) withoutStrays(ctx context.Context, all []*manifest.Snapshot) ([]*manifest.Snapshot, error) {
	_, strays, err := manifest.Snapshots(ctx, c.store, c.path)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s *manifest.Snapshot) bool {
		stray := slices.Contains(strays, s.ID)
		if stray {
			c.warn("snapshot-stray", fmt.Sprintf("snapshot %d", s.ID), "had expired and was made again by a writer that slept: no part of the table, expiry removes it")
		}
		return stray
	}), nil
}

// checkHint: a hint beyond the truth breaks readers, one behind it only makes them list.
func (c *checker) checkHint(ctx context.Context, name string, truth int64) {
	if _, there := c.objects[name]; !there {
		return
	}
	code, where := "hint-"+strings.ToLower(path.Base(name)), c.relative(path.Dir(name))
	b, err := c.store.Get(ctx, name)
	if err != nil {
		c.fault("hint-unreadable", where, "%v", err)
		return
	}
	hint, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	switch {
	case err != nil:
		c.fault("hint-unreadable", where, "%s says %q", path.Base(name), b)
	case hint > truth:
		c.fault(code, where, "%s says %d, but it is %d", path.Base(name), hint, truth)
	case hint < truth:
		c.warn(code, where, "%s says %d, but it is %d", path.Base(name), hint, truth)
	}
}

// checkOrder: ids without gaps; commit identifiers of one user that only grow, each used once a kind.
func (c *checker) checkOrder(snapshots, changelogs []*manifest.Snapshot) {
	all := slices.Clone(snapshots)
	for _, s := range changelogs {
		if slices.ContainsFunc(snapshots, func(o *manifest.Snapshot) bool { return o.ID == s.ID }) {
			c.warn("changelog-and-snapshot", fmt.Sprintf("snapshot %d", s.ID), "is there twice, as both")
		} else {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *manifest.Snapshot) int { return cmp.Compare(a.ID, b.ID) })
	last, commits := map[string]int64{}, map[string]bool{}
	for i, s := range all {
		where := fmt.Sprintf("snapshot %d", s.ID)
		if c.schemas[s.SchemaID] == nil {
			c.fault("schema-missing", where, "schema %d does not exist", s.SchemaID)
		}
		if i > 0 {
			before := all[i-1]
			if s.ID != before.ID+1 {
				c.fault("snapshot-gap", where, "follows %d", before.ID)
			}
			if s.TimeMillis < before.TimeMillis {
				c.warn("snapshot-time", where, "is older than snapshot %d", before.ID)
			}
			if s.SchemaID < before.SchemaID {
				c.warn("snapshot-schema", where, "goes back to schema %d", s.SchemaID)
			}
		}
		if s.CommitIdentifier == math.MaxInt64 {
			continue // a batch job, which numbers nothing
		}
		if l, ok := last[s.CommitUser]; ok && s.CommitIdentifier < l {
			c.fault("commit-order", where, "commit %d of user %s follows %d", s.CommitIdentifier, s.CommitUser, l)
		}
		last[s.CommitUser] = s.CommitIdentifier
		id := fmt.Sprintf("%s/%d/%s", s.CommitUser, s.CommitIdentifier, s.CommitKind)
		if commits[id] {
			c.fault("commit-twice", where, "%s commit %d of user %s again", s.CommitKind, s.CommitIdentifier, s.CommitUser)
		}
		commits[id] = true
	}
}

// live is the live files of a snapshot.
type live struct {
	id    int64
	files map[manifest.Identity]*table.File
}

// checkSnapshot checks a snapshot and all that it names. before is the one before it, nil where that is not there.
func (c *checker) checkSnapshot(ctx context.Context, s *manifest.Snapshot, before *live) (*live, error) {
	where := fmt.Sprintf("snapshot %d", s.ID)
	base := c.entries(ctx, where, s.BaseList, s.BaseListSize)
	delta := c.entries(ctx, where, s.DeltaList, s.DeltaListSize)
	l := &live{s.ID, map[manifest.Identity]*table.File{}}
	c.merge(where+" base", base, l.files)
	if before != nil {
		c.checkSame(where, before.files, l.files)
	}
	if s.CommitKind == manifest.Append {
		c.checkSequences(where, l.files, delta)
	}
	c.merge(where+" delta", delta, l.files)
	var total, deltaRows int64
	for _, f := range l.files {
		total += f.Rows
	}
	for i := range delta {
		if delta[i].Kind == manifest.Add {
			deltaRows += delta[i].File.Rows
		} else {
			deltaRows -= delta[i].File.Rows
		}
	}
	c.checkCount("total-record-count", where, "totalRecordCount", s.TotalRecords, total)
	c.checkCount("delta-record-count", where, "deltaRecordCount", s.DeltaRecords, deltaRows)
	if err := c.checkState(ctx, where, s, l.files); err != nil {
		return nil, err
	}
	if s.Statistics != "" && c.size(c.path.Statistics(s.Statistics)) < 0 {
		c.fault("statistics-missing", where, "%s", s.Statistics)
	}
	return l, c.checkChangelog(ctx, where, s)
}

// checkState checks the files of a state, its levels and its indexes.
func (c *checker) checkState(ctx context.Context, where string, s *manifest.Snapshot, files map[manifest.Identity]*table.File) error {
	for _, f := range byName(files) {
		if err := c.checkFile(ctx, where, f, false); err != nil {
			return err
		}
	}
	c.checkLevels(where, files)
	return c.checkIndexes(ctx, where, s, files)
}

// byName returns files in an order that does not change from run to run.
func byName(files map[manifest.Identity]*table.File) []*table.File {
	all := make([]*table.File, 0, len(files))
	for _, f := range files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *table.File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (c *checker) checkCount(code, where, name string, recorded, actual int64) {
	if recorded != actual {
		c.fault(code, where, "%s is %d, but the manifests hold %d", name, recorded, actual)
	}
}

func (c *checker) checkTags(ctx context.Context) error {
	names, err := manifest.TagNames(ctx, c.store, c.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := manifest.ReadTag(ctx, c.store, c.path, name)
		if err != nil {
			c.fault("tag-unreadable", "tag "+name, "%v", err)
			continue
		}
		c.summary.Tags++
		s := t.Snapshot
		where := fmt.Sprintf("tag %s (snapshot %d)", name, s.ID)
		files := map[manifest.Identity]*table.File{}
		entries := append(slices.Clone(c.entries(ctx, where, s.BaseList, s.BaseListSize)), c.entries(ctx, where, s.DeltaList, s.DeltaListSize)...)
		c.merge(where, entries, files)
		var total int64
		for _, f := range files {
			total += f.Rows
		}
		c.checkCount("total-record-count", where, "totalRecordCount", s.TotalRecords, total)
		if s.Statistics != "" {
			c.use(c.path.Statistics(s.Statistics))
		}
		if err := c.checkState(ctx, where, s, files); err != nil {
			return err
		}
	}
	return nil
}

// checkChangelog checks the changelog files of a snapshot.
func (c *checker) checkChangelog(ctx context.Context, where string, s *manifest.Snapshot) error {
	var rows int64
	if s.ChangelogList != "" {
		entries := c.entries(ctx, where, s.ChangelogList, s.ChangelogListSize)
		for i := range entries {
			e := &entries[i]
			if e.Kind != manifest.Add {
				c.fault("changelog-delete", where, "its changelog manifest deletes %s", e.File.Name)
				continue
			}
			rows += e.File.Rows
			if err := c.checkFile(ctx, where, &e.File, true); err != nil {
				return err
			}
		}
	}
	c.checkCount("changelog-record-count", where, "changelogRecordCount", s.ChangelogRecords, rows)
	return nil
}

// useOtherLists notes the lists that expiry leaves behind for a long-lived changelog where the table has no producer.
func (c *checker) useOtherLists(ctx context.Context, s *manifest.Snapshot) {
	for _, name := range []string{s.BaseList, s.DeltaList} {
		if c.size(c.path.Manifest(name)) < 0 {
			continue
		}
		list, err := manifest.ReadList(ctx, c.store, c.path, name)
		if err != nil {
			continue
		}
		for i := range list {
			entries := c.manifest(ctx, fmt.Sprintf("changelog %d", s.ID), &list[i])
			for j := range entries {
				c.use(c.objectName(&entries[j].File))
			}
		}
	}
}

// checkLevels: the key ranges of a level from 1 on do not overlap.
func (c *checker) checkLevels(where string, files map[manifest.Identity]*table.File) {
	type level struct {
		bucket table.Bucket
		number int32
	}
	type span struct {
		datafile.KeyRange
		name string
	}
	keys := datafile.NewKeyRanges(c.schema)
	levels := map[level][]span{}
	for _, f := range byName(files) {
		if f.Level == 0 {
			continue
		}
		r, err := keys.Of(f)
		if err != nil {
			c.fault("min-key", where, "%v", err)
			continue
		}
		l := level{f.Bucket, f.Level}
		levels[l] = append(levels[l], span{r, f.Name})
	}
	for l, spans := range levels {
		slices.SortFunc(spans, func(a, b span) int { return strings.Compare(string(a.Min), string(b.Min)) })
		for i := 1; i < len(spans); i++ {
			if string(spans[i-1].Max) >= string(spans[i].Min) {
				c.fault("level-overlap", where, "%s level %d: %s and %s overlap", c.bucketName(l.bucket), l.number, spans[i-1].name, spans[i].name)
			}
		}
	}
}

func (c *checker) bucketName(b table.Bucket) string {
	partition, err := table.PartitionPath(c.schema, b.Partition)
	if err != nil {
		partition = fmt.Sprintf("%x/", b.Partition)
	}
	return strings.TrimPrefix(table.Path("").BucketDir(partition, b.Number), "/")
}

func (c *checker) objectName(f *table.File) string {
	partition, err := table.PartitionPath(c.schema, f.Bucket.Partition)
	if err != nil {
		partition = fmt.Sprintf("%x/", f.Bucket.Partition)
	}
	return c.path.DataFile(partition, f.Bucket.Number, f.Name)
}
