package commit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sink/table"
	"sink/table/manifest"
)

// checkDelta tells whether a delta can be right by itself: what it breaks would be a fault of the program, and would
// break the table.
func checkDelta(d *table.Delta) error {
	if len(d.Removed) > 0 && len(d.Progress.Offsets) > 0 {
		return fmt.Errorf("a delta that removes files moves offsets, too")
	}
	names := map[string]struct{}{}
	for _, list := range []struct {
		what  string
		files []table.File
	}{{"data", d.Added}, {"changelog", d.Changelog}} {
		for i := range list.files {
			f := &list.files[i]
			if _, twice := names[f.Name]; twice {
				return fmt.Errorf("%s file %s is in the delta twice", list.what, f.Name)
			}
			names[f.Name] = struct{}{}
			switch {
			case f.Name == "" || f.Bucket.Partition == "":
				return fmt.Errorf("%s file %q has no name or no partition", list.what, f.Name)
			case !placed(f):
				return fmt.Errorf("%s file %s is in bucket %d of %d", list.what, f.Name, f.Bucket.Number, f.TotalBuckets)
			case f.Level != 0 && len(d.Removed) == 0:
				return fmt.Errorf("%s file %s has level %d, but new input has level 0", list.what, f.Name, f.Level)
			case f.SizeBytes <= 0 || f.Rows <= 0:
				return fmt.Errorf("%s file %s has %d bytes and %d rows", list.what, f.Name, f.SizeBytes, f.Rows)
			case len(d.Removed) == 0 && f.MaxSeq > d.Progress.MaxSequence:
				return fmt.Errorf("%s file %s has sequence %d, above the %d that the delta states", list.what, f.Name, f.MaxSeq, d.Progress.MaxSequence)
			}
		}
	}
	for tp, from := range d.From {
		to, ok := d.Progress.Offsets[tp]
		if !ok {
			return fmt.Errorf("%s[%d] starts at %d but goes nowhere", tp.Topic, tp.Partition, from.Offset)
		}
		if to.Offset < from.Offset && to.TopicID == from.TopicID {
			return fmt.Errorf("%s[%d] goes back from %d to %d", tp.Topic, tp.Partition, from.Offset, to.Offset)
		}
	}
	return nil
}

// placed reports whether a file's bucket is one of its partition's.
func placed(f *table.File) bool {
	if f.TotalBuckets == table.Unaware { // an append table's
		return f.Bucket.Number == 0
	}
	return f.Bucket.Number >= 0 && f.Bucket.Number < f.TotalBuckets
}

// checkAge refuses a delta whose files may have been taken for orphans by now. A file that only changes its level is in
// the table already.
func (t *task) checkAge() error {
	oldest := int64(-1)
	moved := make(map[string]struct{}, len(t.delta.Removed))
	for i := range t.delta.Removed {
		moved[t.delta.Removed[i].Name] = struct{}{}
	}
	for _, files := range [][]table.File{t.delta.Added, t.delta.Changelog} {
		for i := range files {
			if _, ok := moved[files[i].Name]; ok {
				continue
			}
			if ms := files[i].CreatedMillis; oldest < 0 || ms < oldest {
				oldest = ms
			}
		}
	}
	if oldest < 0 {
		return nil
	}
	if age := t.cfg.Now().UnixMilli() - oldest; age > t.cfg.MaxDeltaAge.Milliseconds() {
		return fmt.Errorf("%w: its oldest file was made %d s ago, and orphan cleaning may take files older than %s",
			ErrStale, age/1000, t.cfg.MaxDeltaAge)
	}
	return nil
}

// check tells whether the delta fits the table as the view has it.
func (t *task) check(ctx context.Context) error {
	v := &t.view
	switch {
	case t.rebase:
		if err := t.checkShown(); err != nil {
			return err
		}
	case t.kind == manifest.Append:
		if v.lost != nil {
			return v.lost
		}
		if err := checkFence(v.ours, t.delta); err != nil {
			return err
		}
	}
	if err := t.checkSchemas(ctx); err != nil {
		return err
	}
	if t.asked != nil && *t.asked != t.schema.ID {
		return fmt.Errorf("%w: the options of schema %d asked for it, but there is schema %d by now", ErrConflict, *t.asked, t.schema.ID)
	}
	if t.rescales {
		return t.checkRescale(ctx)
	}
	if err := t.checkBuckets(ctx); err != nil {
		return err
	}
	if t.kind != manifest.Append {
		return t.checkRewrite(ctx)
	}
	return t.checkOvertaken(ctx)
}

// checkSchemas tells whether the files that a checkpoint made fit the newest schema, see [misfit]. A compaction rewrites what is there, and
// may lose what the table does not have any more.
func (t *task) checkSchemas(ctx context.Context) error {
	seen := map[int64]bool{t.schema.ID: true}
	for _, files := range [][]table.File{t.delta.Added, t.delta.Changelog} {
		for i := range files {
			f := &files[i]
			if f.SchemaID > t.schema.ID {
				return fmt.Errorf("file %s has schema %d, but the newest is %d", f.Name, f.SchemaID, t.schema.ID)
			}
			if seen[f.SchemaID] || t.kind != manifest.Append {
				continue
			}
			seen[f.SchemaID] = true
			was, err := manifest.ReadSchema(ctx, t.store, t.path, f.SchemaID)
			if err != nil {
				return err
			}
			if why := misfit(was, t.schema); why != "" {
				return fmt.Errorf("%w: %s", ErrAltered, why)
			}
		}
	}
	return nil
}

// misfit tells why the files of a checkpoint that were made by one schema cannot be committed under a newer one; empty where they can. Of a
// column or a member of a ROW that another writer has dropped meanwhile nobody would see the values, and those of one that it has narrowed
// may not fit. Where the changelog comes from another producer by now, compaction would tell rows once more that the checkpoint's own
// changelog tells, or never those that it leaves to compaction.
func misfit(was, now *table.Schema) string {
	if a, b := was.ChangelogProducer(), now.ChangelogProducer(); a != b {
		return fmt.Sprintf("changelog-producer is %s in schema %d of the checkpoint's files, but %s in schema %d", a, was.ID, b, now.ID)
	}
	wanted := make([]table.Field, len(was.Fields)) // as they are named now
	for i, f := range was.Fields {
		at := slices.IndexFunc(now.Fields, func(n table.Field) bool { return n.ID == f.ID })
		if at < 0 {
			return fmt.Sprintf("column %s is in schema %d of the checkpoint's files, but not in schema %d", f.Name, was.ID, now.ID)
		}
		wanted[i] = table.Field{ID: f.ID, Name: now.Fields[at].Name, Type: f.Type}
	}
	_, changes, err := table.Evolve(now, wanted)
	if err != nil {
		return fmt.Sprintf("schema %d of the checkpoint's files, and schema %d: %v", was.ID, now.ID, err)
	}
	for _, c := range changes { // of a column that is new nothing is asked
		if i := slices.IndexFunc(wanted, func(f table.Field) bool { return f.Name == c.Column }); i >= 0 {
			return fmt.Sprintf("column %s is %s in schema %d of the checkpoint's files, but %s in schema %d", c.Column, wanted[i].Type, was.ID, c.From, now.ID)
		}
	}
	return ""
}

// checkFence is the compare of compare-and-set: the newest map holds, for each partition that the delta moves, the very
// cursor that the delta started from; absent is a value.
func checkFence(ours *seen, d *table.Delta) error {
	var held table.Offsets
	var id int64
	if ours != nil {
		held, id = ours.progress.Offsets, ours.ID
	}
	for tp := range d.Progress.Offsets {
		from, started := d.From[tp]
		now, known := held[tp]
		if started == known && from == now {
			continue
		}
		return fmt.Errorf("%w: %s[%d] is at %s in snapshot %d, but this checkpoint started at %s",
			ErrFenced, tp.Topic, tp.Partition, cursorText(now, known), id, cursorText(from, started))
	}
	return nil
}

func cursorText(c table.Cursor, known bool) string {
	if !known {
		return "no offset"
	}
	return fmt.Sprintf("offset %d (epoch %d, topic id %q)", c.Offset, c.Epoch, c.TopicID)
}

// checkBuckets tells whether the files are for the bucket counts that their partitions have.
func (t *task) checkBuckets(ctx context.Context) error {
	want := map[string]int32{}
	unknown := map[string]struct{}{}
	for _, files := range [][]table.File{t.delta.Added, t.delta.Changelog} {
		for i := range files {
			p, total := files[i].Bucket.Partition, files[i].TotalBuckets
			if other, ok := want[p]; ok && other != total {
				return fmt.Errorf("%w: the checkpoint has files for %d and for %d buckets of one partition", ErrConflict, other, total)
			}
			want[p] = total
			if _, ok := t.view.buckets[p]; !ok {
				unknown[p] = struct{}{}
			}
		}
	}
	if len(unknown) > 0 && t.view.newest != nil {
		if err := t.learnBuckets(ctx, unknown); err != nil {
			return err
		}
	}
	for p, total := range want {
		if err := t.checkCount(p, total); err != nil {
			return err
		}
	}
	return nil
}

// checkCount tells whether files for total buckets may go into a partition. A partition without live files has the count of
// option bucket, which may have changed since the files were made. A rewrite keeps to the partition's count, whatever the option.
func (t *task) checkCount(partition string, total int32) error {
	now, live := t.view.buckets[partition]
	option, err := t.schema.Buckets()
	if err != nil {
		option = int(total) // as foreign tables have it; this writer chose no bucket by it
	}
	if live && now == total || !live && int(total) == option {
		return nil
	}
	path, err := table.PartitionPath(t.schema, partition)
	if err != nil {
		path = fmt.Sprintf("%x", partition)
	}
	what := "the table"
	if path != "" {
		what = "partition " + strings.TrimSuffix(path, "/")
	}
	if !live {
		now = int32(option)
	}
	switch {
	case t.kind != manifest.Append:
		return fmt.Errorf("%w: %s has %d buckets now, but the files are for %d", ErrConflict, what, now, total)
	case int(total) == option:
		return fmt.Errorf("%w: %s has %d buckets, option bucket says %d: `sink rescale` with --buckets %d rewrites it, or set the option back",
			ErrNotRescaled, what, now, option, option)
	}
	return fmt.Errorf("%w: %s has %d now, but the checkpoint's files are for %d", ErrRescaled, what, now, total)
}

// learnBuckets looks up the bucket counts of partitions. It reads manifests from the newest back, and stops as soon as
// each partition has shown a live file: an ADD that nothing later deletes. So it reads one or two manifests as a
// rule, however old the table is.
func (c *Committer) learnBuckets(ctx context.Context, unknown map[string]struct{}) error {
	list, err := c.manifests(ctx)
	if err != nil {
		return err
	}
	var filter *manifest.Filter
	deleted := map[manifest.Identity]struct{}{}
	for _, m := range slices.Backward(list) {
		if filter == nil {
			if filter, err = manifest.NewFilter(c.schema, slices.Collect(maps.Keys(unknown)), nil); err != nil {
				return err
			}
		}
		var entries []manifest.Entry
		err := manifest.EachEntry(ctx, c.store, c.path, []manifest.ListEntry{m}, filter, func(e *manifest.Entry) error {
			entries = append(entries, *e)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range slices.Backward(entries) {
			f := &entries[i].File
			if _, ok := unknown[f.Bucket.Partition]; !ok {
				continue
			}
			id := manifest.IdentityOf(f)
			if entries[i].Kind == manifest.Delete {
				deleted[id] = struct{}{}
			} else if _, ok := deleted[id]; !ok {
				c.view.know(f.Bucket.Partition, f.TotalBuckets)
				delete(unknown, f.Bucket.Partition)
				filter = nil
			}
		}
		if len(unknown) == 0 {
			return nil
		}
	}
	return nil
}

// checkRewrite tells whether the files that a compaction removes are still live, what it adds is new, and the levels from
// 1 on still hold disjoint key ranges afterwards.
func (t *task) checkRewrite(ctx context.Context) error {
	live, err := t.liveFiles(ctx)
	if err != nil {
		return err
	}
	if err := t.apply(live); err != nil {
		return err
	}
	return checkLevels(t.schema, live.All(), t.delta.Added)
}

// apply takes the delta's removed files out of the live ones and puts the added ones in.
func (t *task) apply(live *manifest.Files) error {
	for i := range t.delta.Removed {
		f := &t.delta.Removed[i]
		if !live.Has(manifest.IdentityOf(f)) {
			return fmt.Errorf("%w: file %s of bucket %d level %d is to be removed but is gone", ErrConflict, f.Name, f.Bucket.Number, f.Level)
		}
		if err := live.Apply(&manifest.Entry{Kind: manifest.Delete, File: *f}); err != nil {
			return fmt.Errorf("%w: %w", ErrConflict, err)
		}
	}
	for i := range t.delta.Added {
		if err := live.Apply(&manifest.Entry{Kind: manifest.Add, File: t.delta.Added[i]}); err != nil {
			return fmt.Errorf("%w: %w", ErrConflict, err)
		}
	}
	return nil
}

// liveFiles returns the live files of the buckets that the delta touches.
func (t *task) liveFiles(ctx context.Context) (*manifest.Files, error) {
	touched := map[table.Bucket]struct{}{}
	var buckets []int32
	for _, files := range [][]table.File{t.delta.Added, t.delta.Removed} {
		for i := range files {
			if _, ok := touched[files[i].Bucket]; !ok {
				touched[files[i].Bucket] = struct{}{}
				buckets = append(buckets, files[i].Bucket.Number)
			}
		}
	}
	filter, err := manifest.NewFilter(t.schema, partitionsOf(t.delta.Added, t.delta.Removed), buckets)
	if err != nil {
		return nil, err
	}
	list, err := t.manifests(ctx)
	if err != nil {
		return nil, err
	}
	var live manifest.Files
	err = manifest.EachEntry(ctx, t.store, t.path, list, filter, func(e *manifest.Entry) error {
		if _, ok := touched[e.File.Bucket]; !ok {
			return nil
		}
		return live.Apply(e)
	})
	return &live, err
}

// checkLevels tells whether the key ranges of each level above 0 that got a file are disjoint within their bucket
// (org.apache.paimon.operation.FileStoreCommitImpl, "LSM conflicts detected").
func checkLevels(s *table.Schema, live, added []table.File) error {
	type run struct {
		bucket table.Bucket
		level  int32
	}
	type span struct {
		lo, hi []byte
		name   string
	}
	runs := map[run][]span{}
	for i := range added {
		if added[i].Level > 0 {
			runs[run{added[i].Bucket, added[i].Level}] = nil
		}
	}
	if len(runs) == 0 {
		return nil
	}
	types := s.TypesOf(s.Indexes(s.TrimmedPrimaryKeys()))
	cols := make([]int, len(types))
	for i := range cols {
		cols[i] = i
	}
	keys := table.NewKeyEncoder(types, cols)
	encode := func(key []byte) ([]byte, error) {
		row, err := table.DecodeRow(key, types)
		if err != nil {
			return nil, err
		}
		return keys.Append([]byte{}, row, 0), nil
	}
	for i := range live {
		f := &live[i]
		r := run{f.Bucket, f.Level}
		if _, ok := runs[r]; !ok {
			continue
		}
		lo, err := encode(f.MinKey)
		if err != nil {
			return fmt.Errorf("file %s: min key: %w", f.Name, err)
		}
		hi, err := encode(f.MaxKey)
		if err != nil {
			return fmt.Errorf("file %s: max key: %w", f.Name, err)
		}
		runs[r] = append(runs[r], span{lo, hi, f.Name})
	}
	for r, spans := range runs {
		slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.lo, b.lo) })
		for i := 1; i < len(spans); i++ {
			if bytes.Compare(spans[i-1].hi, spans[i].lo) >= 0 {
				return fmt.Errorf("%w: files %s and %s of bucket %d overlap in level %d", ErrConflict, spans[i-1].name, spans[i].name, r.bucket.Number, r.level)
			}
		}
	}
	return nil
}
