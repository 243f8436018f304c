package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sink/table"
	"sink/table/manifest"
)

// history is what happened to the buckets of a table, from a snapshot on.
type history struct {
	*replayer
	buckets map[table.Bucket]*timeline
}

// timeline is what happened to one bucket.
type timeline struct {
	start  []table.File // live in the snapshot that the replay begins with
	events []event
}

// event is a snapshot that changed a bucket.
type event struct {
	snapshot  int64
	changes   []table.File
	delta     []manifest.Entry
	live      []table.File // all live files, instead of delta, where reset
	reset     bool
	overwrite bool  // no changes tell of what it did
	compared  int64 // the snapshot with whose rows they are compared after it; 0: none
}

func (h *history) of(b table.Bucket) *timeline {
	t := h.buckets[b]
	if t == nil {
		t = &timeline{}
		h.buckets[b] = t
	}
	return t
}

// at returns a bucket's event of a snapshot, which is the newest one.
func (t *timeline) at(id int64) *event {
	if n := len(t.events); n == 0 || t.events[n-1].snapshot != id {
		t.events = append(t.events, event{snapshot: id})
	}
	return &t.events[len(t.events)-1]
}

func (h *history) sorted() []table.Bucket {
	var all []table.Bucket
	for b := range h.buckets {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b table.Bucket) int {
		return cmp.Or(strings.Compare(a.Partition, b.Partition), cmp.Compare(a.Number, b.Number))
	})
	return all
}

// build gathers what happened after snapshot start, up to last, and returns the snapshots with which the rows are compared. What cannot
// be read is a finding, and ends the history before it.
func (h *history) build(ctx context.Context, start, last int64) (compared []int64, err error) {
	if start > 0 {
		live, err := h.live(ctx, start)
		if err != nil {
			return nil, h.unreadable(ctx, start, err)
		}
		for b, files := range live {
			h.of(b).start = files
		}
	}
	for id := start + 1; id <= last; id++ {
		s := h.snapshots[id]
		if err := h.add(ctx, id, s, id == start+1 && start == 0 || h.snapshots[id-1] != nil); err != nil {
			h.drop(id)
			return compared, h.unreadable(ctx, id, err)
		}
		if s == nil || s.CommitKind == manifest.Overwrite || h.options.Replay == ReplayLast && id < last {
			continue
		}
		compared = append(compared, id)
	}
	h.mark(compared)
	return compared, nil
}

// mark says after which events of a bucket its rows are compared: those of a compared snapshot, or the last ones before it.
func (h *history) mark(compared []int64) {
	for _, t := range h.buckets {
		for i := range t.events {
			next := int64(-1)
			if i+1 < len(t.events) {
				next = t.events[i+1].snapshot
			}
			at, _ := slices.BinarySearch(compared, t.events[i].snapshot)
			if at < len(compared) && (next < 0 || compared[at] < next) {
				t.events[i].compared = compared[at]
			}
		}
	}
}

// drop forgets a snapshot that could not be read.
func (h *history) drop(id int64) {
	for _, t := range h.buckets {
		if n := len(t.events); n > 0 && t.events[n-1].snapshot == id {
			t.events = t.events[:n-1]
		}
	}
}

// live returns the live files of a snapshot by bucket.
func (h *history) live(ctx context.Context, id int64) (map[table.Bucket][]table.File, error) {
	s := h.snapshots[id]
	if err := h.table.CheckRows(ctx, s); err != nil {
		return nil, err
	}
	files, err := manifest.ReadLive(ctx, h.store, h.path, s, nil)
	buckets := map[table.Bucket][]table.File{}
	for i := range files {
		if b := files[i].Bucket; b.Number >= 0 {
			buckets[b] = append(buckets[b], files[i])
		}
	}
	return buckets, err
}

// add adds a snapshot, or what is left of it where s is nil. follows says that the one before is known.
func (h *history) add(ctx context.Context, id int64, s *manifest.Snapshot, follows bool) error {
	overwrite := s != nil && s.CommitKind == manifest.Overwrite
	if overwrite {
		h.report(Info, "replay", fmt.Sprintf("snapshot %d", id), "an OVERWRITE is not in the changelog: it goes on from the rows after it")
	} else if err := h.addChanges(ctx, id, s); err != nil {
		return err
	}
	if s == nil {
		return nil
	}
	if err := h.table.CheckRows(ctx, s); err != nil {
		return err
	}
	if !follows {
		live, err := h.live(ctx, id)
		if err != nil {
			return err
		}
		for b := range live {
			h.of(b)
		}
		for b, t := range h.buckets {
			e := t.at(id)
			e.reset, e.live, e.overwrite = true, live[b], overwrite
		}
		return nil
	}
	delta, err := manifest.ReadDelta(ctx, h.store, h.path, s, nil)
	if err != nil {
		return err
	}
	for i := range delta {
		if b := delta[i].File.Bucket; b.Number >= 0 {
			e := h.of(b).at(id)
			e.delta, e.overwrite = append(e.delta, delta[i]), overwrite
		}
	}
	return nil
}

func (h *history) addChanges(ctx context.Context, id int64, s *manifest.Snapshot) error {
	if s == nil {
		var err error
		if s, err = manifest.ReadChange(ctx, h.store, h.path, id); err != nil {
			return err
		}
	}
	files, err := h.table.ChangeFiles(ctx, s)
	if err != nil {
		return err
	}
	for i := range files {
		if b := files[i].Bucket; b.Number >= 0 {
			e := h.of(b).at(id)
			e.changes = append(e.changes, files[i])
		}
	}
	return nil
}

// after returns the live files after an event.
func (e *event) after(live []table.File) []table.File {
	if e.reset {
		return e.live
	}
	gone := map[manifest.Identity]bool{}
	var added []table.File
	for i := range e.delta {
		f := &e.delta[i].File
		if e.delta[i].Kind == manifest.Add {
			added = append(added, *f)
		} else {
			gone[manifest.IdentityOf(f)] = true
		}
	}
	var out []table.File
	for i := range live {
		if !gone[manifest.IdentityOf(&live[i])] {
			out = append(out, live[i])
		}
	}
	for i := range added {
		if !gone[manifest.IdentityOf(&added[i])] {
			out = append(out, added[i])
		}
	}
	return out
}
