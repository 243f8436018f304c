package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sink/table"
	"sink/table/manifest"
)

// seen is a snapshot file as it was read, or as it was created.
type seen struct {
	*manifest.Snapshot
	raw      []byte
	progress *table.Progress // nil: the snapshot is not of this group
	bad      error           // why the progress of a snapshot of this group cannot be read
	changes  bool            // it was read from changelog/: its base and delta lists may be gone
}

// same reports whether both are the same snapshot. Writers without a uuid (Java before 2.0) are told apart by bytes.
func (s *seen) same(other *seen) bool {
	return bytes.Equal(s.raw, other.raw) || s.UUID != "" && s.UUID == other.UUID
}

// view is what a Committer knows of the table as of one newest snapshot. It is knowledge, never a decision: each attempt
// brings it up to date before it decides.
type view struct {
	newest *seen // nil: the table has no snapshot
	ours   *seen // the newest snapshot of this group, at or before newest; nil: none
	// foreign is the highest sequence number of rows that other writers added after ours, or ever when ours is nil;
	// -1 for none.
	foreign int64
	// lost is why it cannot be told how far the table is, though Rebase may go on; nil as a rule.
	lost error
	// groups is, while ours is nil, the newest map of each other group of the sink by its name.
	groups map[string]table.Offsets

	lists   []manifest.ListEntry // the manifests of newest, base before delta
	listed  bool                 // lists is known
	buckets map[string]int32     // total buckets by partition that has live files; unknown where absent
}

// maxKnownBuckets bounds the memory of view.buckets.
const maxKnownBuckets = 1 << 16

// probeAhead is how many snapshots after the known newest one are looked for one by one before LATEST is asked.
const probeAhead = 32

// read reads the snapshot of an id; fs.ErrNotExist if there is none.
func (c *Committer) read(ctx context.Context, id int64) (*seen, error) {
	return c.readFile(ctx, c.path.Snapshot(id))
}

func (c *Committer) readFile(ctx context.Context, name string) (*seen, error) {
	raw, err := c.store.Get(ctx, name)
	return c.parseAnswer(name, answer{raw, err})
}

func (c *Committer) parseAnswer(name string, a answer) (*seen, error) {
	if a.err != nil {
		return nil, fmt.Errorf("read %s: %w", name, a.err)
	}
	return c.parse(name, a.raw)
}

// parse takes over raw.
func (c *Committer) parse(name string, raw []byte) (*seen, error) {
	snapshot, err := manifest.ParseSnapshot(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	s := &seen{Snapshot: snapshot, raw: raw}
	if snapshot.CommitUser != c.cfg.User {
		return s, nil
	}
	progress, ours, err := table.ParseProgress(snapshot.Properties)
	switch {
	case err != nil:
		s.bad = c.stateError(ErrBadProgress, hintRebase, "snapshot %d: %v", snapshot.ID, err)
	case ours:
		s.progress = &progress
	}
	return s, nil
}

// refresh brings the view up to the newest snapshot, and makes sure that what it knew is still part of the table.
func (c *Committer) refresh(ctx context.Context) error {
	old := c.view.newest
	if old == nil {
		return c.reload(ctx)
	}
	after := c.ask(ctx, c.path.Snapshot(old.ID+1))
	now, err := c.read(ctx, old.ID)
	following := <-after
	switch {
	case errors.Is(err, fs.ErrNotExist): // expired, rolled back, dropped, or not visible for a moment
		return c.reload(ctx)
	case err != nil:
		return err
	case !now.same(old) && old.progress != nil:
		return c.replaced(old, now)
	case !now.same(old):
		return c.reload(ctx)
	}
	steps, more, err := c.ahead(ctx, old.ID, following)
	if err != nil {
		return err
	}
	if more {
		return c.reload(ctx)
	}
	next := c.view
	for _, s := range steps {
		if err := c.advance(ctx, &next, s); err != nil {
			if errors.Is(err, fs.ErrNotExist) { // expired while we looked
				return c.reload(ctx)
			}
			return err
		}
	}
	c.rivals.follow(old, next.newest)
	c.view = next
	return nil
}

// answer is what the store said to a Get.
type answer struct {
	raw []byte
	err error
}

// ask begins to read an object; the answer comes in any case.
func (c *Committer) ask(ctx context.Context, name string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		raw, err := c.store.Get(ctx, name)
		got <- answer{raw, err}
	}()
	return got
}

// ahead reads the snapshots that follow id, of which the first has been asked for, and reports whether there may be more than
// it cared to read.
func (c *Committer) ahead(ctx context.Context, id int64, first answer) (steps []*seen, more bool, err error) {
	for range probeAhead {
		name := c.path.Snapshot(id + int64(len(steps)) + 1)
		if len(steps) > 0 {
			first.raw, first.err = c.store.Get(ctx, name)
		}
		s, err := c.parseAnswer(name, first)
		if errors.Is(err, fs.ErrNotExist) {
			return steps, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		steps = append(steps, s)
	}
	return steps, true, nil
}

// advance moves a view on by the snapshot that follows its newest one.
func (c *Committer) advance(ctx context.Context, v *view, s *seen) error {
	v.newest, v.lists, v.listed = s, nil, false
	if s.bad != nil {
		v.lost = s.bad
	}
	if s.progress != nil {
		v.ours, v.foreign, v.lost = s, -1, nil
		if s.CommitKind == manifest.Append {
			return nil // it only added, and its maker checked the bucket counts
		}
	}
	entries, err := manifest.ReadDelta(ctx, c.store, c.path, s.Snapshot, nil)
	if err != nil {
		return err
	}
	if s.CommitKind != manifest.Append {
		v.noteBuckets(entries)
	}
	if s.progress == nil {
		v.foreign = max(v.foreign, maxSequence(entries))
	}
	c.rivals.note(s, entries)
	return nil
}

// noteBuckets follows the bucket counts of known partitions over a snapshot that deletes files.
func (v *view) noteBuckets(entries []manifest.Entry) {
	left := map[string]int32{}
	for i := range entries {
		f := &entries[i].File
		if entries[i].Kind == manifest.Add {
			left[f.Bucket.Partition] = f.TotalBuckets
		} else if _, ok := left[f.Bucket.Partition]; !ok {
			left[f.Bucket.Partition] = 0
		}
	}
	for p, total := range left {
		delete(v.buckets, p) // looked up again, unless the snapshot says it
		if total != 0 {
			v.know(p, total)
		}
	}
}

// know notes the bucket count of a partition that has live files.
func (v *view) know(partition string, total int32) {
	if v.buckets == nil || len(v.buckets) >= maxKnownBuckets {
		v.buckets = map[string]int32{}
	}
	v.buckets[partition] = total
}

// maxSequence returns the highest sequence number of the rows in added files, -1 if there are none.
func maxSequence(entries []manifest.Entry) int64 {
	highest := int64(-1)
	for i := range entries {
		if entries[i].Kind == manifest.Add {
			highest = max(highest, entries[i].File.MaxSeq)
		}
	}
	return highest
}

// manifests returns the manifests of the newest snapshot, base before delta; none if there is no snapshot.
func (c *Committer) manifests(ctx context.Context) ([]manifest.ListEntry, error) {
	v := &c.view
	if v.newest != nil && !v.listed {
		lists, err := manifest.ReadDataList(ctx, c.store, c.path, v.newest.Snapshot)
		if err != nil {
			return nil, err
		}
		v.lists, v.listed = lists, true
	}
	return v.lists, nil
}

// reload makes the view anew from the newest snapshot back, after it has made sure that what the Committer made or
// resumed from is still part of the table.
func (c *Committer) reload(ctx context.Context) error {
	for try := 1; ; try++ {
		next, err := c.look(ctx)
		if err == nil {
			c.view = next
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try == 3 { // else it expired while we looked
			return err
		}
	}
}

// look finds the newest snapshot and makes a view of it.
func (c *Committer) look(ctx context.Context) (view, error) {
	id, ok, err := manifest.Latest(ctx, c.store, c.path)
	if err != nil {
		return view{}, err
	}
	if err := c.checkOwn(ctx, id); err != nil {
		return view{}, err
	}
	if !ok {
		return view{foreign: -1}, nil
	}
	return c.walkBack(ctx, id)
}

// checkOwn is the tripwire: the newest snapshot that this Committer made or resumed from is still there, unless it has
// expired. Where there is none to tell, the schema does: the table is the one whose files a delta names. latest is the newest id of the
// table, 0 for none.
func (c *Committer) checkOwn(ctx context.Context, latest int64) error {
	own := c.own
	if own == nil {
		return c.checkTable(ctx)
	}
	if latest < own.ID {
		if err := c.checkTable(ctx); err != nil {
			return err
		}
		return c.rolledBack(own, latest)
	}
	now, err := c.read(ctx, own.ID)
	switch {
	case err == nil && now.same(own):
		return nil
	case err == nil:
		return c.replaced(own, now)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	earliest, ok, err := manifest.Earliest(ctx, c.store, c.path)
	if err != nil {
		return err
	}
	if !ok || earliest < own.ID {
		return c.rolledBack(own, latest)
	}
	return c.checkTable(ctx)
}

func (c *Committer) rolledBack(own *seen, latest int64) error {
	return c.stateError(ErrRolledBack, hintRebase, "snapshot %d (%s) of this group is not there any more, the newest one is %d",
		own.ID, own.UUID, latest)
}

func (c *Committer) replaced(old, now *seen) error {
	return c.stateError(ErrReplaced, hintWriter, "snapshot %d was made by this group (uuid %s), and now is %s of user %q (uuid %q)",
		old.ID, old.UUID, now.CommitKind, now.CommitUser, now.UUID)
}

// walkBack makes a view of the snapshot id by reading back to the newest one of this group. Where snapshots have expired it
// goes on in the long-lived changelogs, which keep the properties.
func (c *Committer) walkBack(ctx context.Context, id int64) (view, error) {
	newest, err := c.read(ctx, id)
	if err != nil {
		return view{}, err
	}
	v := view{newest: newest, foreign: -1, groups: map[string]table.Offsets{}}
	for s := newest; ; {
		if s.progress != nil {
			v.ours, v.groups = s, nil
			break
		}
		v.noteGroup(s)
		if s.bad != nil {
			v.lost = s.bad
			break
		}
		if s.ID == 1 {
			break
		}
		prev, err := c.before(ctx, s)
		if errors.Is(err, fs.ErrNotExist) {
			if err := c.checkNoneSince(ctx, id); err != nil {
				return view{}, err
			}
			v.lost = c.stateError(ErrHistory, hintRebase, "snapshots before %d have expired, and those from %d to %d are other writers'%s",
				s.ID, s.ID, id, v.groupsText())
			break
		}
		if err != nil {
			return view{}, err
		}
		s = prev
	}
	if v.ours != newest {
		if v.foreign, err = c.foreignSequence(ctx, v.ours, newest); err != nil {
			return view{}, err
		}
	}
	return v, nil
}

// checkNoneSince tells whether this group has made no snapshot after id: ours expire when there is a newer one, and that may have come, and taken
// the older ones with it, while they were looked at. Then the error is fs.ErrNotExist.
func (c *Committer) checkNoneSince(ctx context.Context, id int64) error {
	latest, _, err := manifest.Latest(ctx, c.store, c.path)
	if err != nil {
		return err
	}
	for id++; id <= latest; id++ {
		s, err := c.read(ctx, id)
		if err != nil {
			return err
		}
		if s.progress != nil {
			return fmt.Errorf("snapshot %d has been made while those before it were looked at: %w", id, fs.ErrNotExist)
		}
	}
	return nil
}

// before reads the snapshot, or the long-lived changelog, before s. No map is taken from a snapshot of an id that has expired: a writer that
// slept, and died, has left it there.
func (c *Committer) before(ctx context.Context, s *seen) (*seen, error) {
	if !s.changes {
		prev, err := c.read(ctx, s.ID-1)
		stray := false
		if err == nil && (prev.progress != nil || prev.bad != nil) {
			stray, err = manifest.BelowEarliest(ctx, c.store, c.path, prev.ID)
		}
		if !stray && !errors.Is(err, fs.ErrNotExist) {
			return prev, err
		}
	}
	prev, err := c.readFile(ctx, c.path.Changelog(s.ID-1))
	if err != nil {
		return nil, err
	}
	prev.changes = true
	return prev, nil
}

// foreignSequence returns the highest sequence number that others added after ours: from the snapshots since, or, if ours
// is nil or too old, over everything that the table holds.
func (c *Committer) foreignSequence(ctx context.Context, ours, newest *seen) (int64, error) {
	if ours == nil || ours.changes {
		return c.scanSequence(ctx, newest)
	}
	highest := int64(-1)
	err := c.between(ctx, ours.ID, newest.ID, func(_ *seen, entries []manifest.Entry) { highest = max(highest, maxSequence(entries)) })
	if errors.Is(err, fs.ErrNotExist) { // they expire under our hands
		return c.scanSequence(ctx, newest)
	}
	return highest, err
}

// between gives what other writers changed in the snapshots after one id and up to another, in order. The error is fs.ErrNotExist if one of
// them, or what it names, is gone.
func (c *Committer) between(ctx context.Context, after, to int64, each func(*seen, []manifest.Entry)) error {
	for id := after + 1; id <= to; id++ {
		s, err := c.read(ctx, id)
		if err != nil {
			return err
		}
		if s.progress != nil {
			continue
		}
		entries, err := manifest.ReadDelta(ctx, c.store, c.path, s.Snapshot, nil)
		if err != nil {
			return err
		}
		each(s, entries)
	}
	return nil
}

// scanSequence returns the highest sequence number in all manifests of a snapshot.
func (c *Committer) scanSequence(ctx context.Context, s *seen) (int64, error) {
	lists, err := manifest.ReadDataList(ctx, c.store, c.path, s.Snapshot)
	if err != nil {
		return 0, err
	}
	highest := int64(-1)
	err = manifest.EachEntry(ctx, c.store, c.path, lists, nil, func(e *manifest.Entry) error {
		if e.Kind == manifest.Add {
			highest = max(highest, e.File.MaxSeq)
		}
		return nil
	})
	return highest, err
}
