package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// outcome is what became of a conditional create.
type outcome struct {
	won   bool
	found []byte // what is there instead; nil when won
	// unsure says that a request went out whose own answer is not known, though the name is taken by now.
	unsure bool
}

// createOnce creates an object only if there is none of that name, and settles every answer but a plain success by
// reading the object back: even fs.ErrExist may be about this very object, when something between us and the store sent the
// request twice. ours tells whether what is there is what was sent. While nothing is there the same bytes go out again
// under the same name, so that whichever request arrives is the same; after Patience, or when it is called off, it gives up with
// ErrUnsettled. Also one that is called off looks once more.
func (c *Committer) createOnce(ctx context.Context, name string, b []byte, ours func([]byte) bool) (outcome, error) {
	var o outcome
	var last error
	start := c.cfg.Now()
	after, done := linger(ctx)
	defer done()
	for try := 1; ; try++ {
		if c.cfg.SingleWriter && !o.unsure { // the store may not look by itself
			if found, err := c.store.Get(ctx, name); err == nil && !ours(found) {
				return outcome{found: found}, nil
			}
		}
		err := c.store.Create(ctx, name, b)
		if err == nil {
			return outcome{won: true, unsure: o.unsure}, nil
		}
		last = err
		o.unsure = o.unsure || !errors.Is(err, fs.ErrExist)
		found, err := c.store.Get(after, name)
		switch {
		case err == nil && ours(found):
			return outcome{won: true, unsure: o.unsure}, nil
		case err == nil:
			o.found = found
			return o, nil
		case !errors.Is(err, fs.ErrNotExist):
			last = fmt.Errorf("%w; read it back: %w", last, err)
		}
		if ctx.Err() != nil || hopeless(last) || c.cfg.Now().Sub(start) > c.cfg.Patience {
			break
		}
		if err := c.sleep(ctx, backoff(try, 100*time.Millisecond, 5*time.Second)); err != nil {
			break
		}
	}
	return o, fmt.Errorf("%w: %w", ErrUnsettled, last)
}

// lingerFor is how long a commit that is called off may still take to find out what became of its snapshot.
const lingerFor = 5 * time.Second

// linger returns a context that outlives another by lingerFor. Once a create went out it is not enough to turn away: a snapshot
// that does not count must be taken back.
func linger(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lingerFor, cancel)
		context.AfterFunc(after, func() { timer.Stop() })
	})
	return after, func() { stop(); cancel() }
}

// hopeless reports errors that waiting does not mend.
func hopeless(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, object.ErrCredentials) || errors.Is(err, object.ErrNoBucket)
}

// create tries to make the snapshot, and reports whether it is there now.
func (t *task) create(ctx context.Context, mine *seen) (bool, error) {
	o, err := t.createOnce(ctx, t.path.Snapshot(mine.ID), mine.raw, func(found []byte) bool {
		s, err := manifest.ParseSnapshot(found)
		return err == nil && s.CommitUser == mine.CommitUser && s.CommitKind == mine.CommitKind &&
			s.Properties[table.PropertyCheckpoint] == t.checkpoint && s.UUID == mine.UUID
	})
	if err != nil || o.unsure && !o.won {
		t.unsettled = true
	}
	return o.won, err
}

// confirm decides whether a snapshot that was created counts: it does if the snapshot before it is still the one that it
// was built on. Else a sleeper has made an id again that has expired, or has gone on with a table that was rolled back or
// made anew meanwhile: then the snapshot is taken away again.
func (t *task) confirm(ctx context.Context, mine *seen) (stands bool, err error) {
	start := t.cfg.Now()
	ctx, done := linger(ctx)
	defer done()
	for try := 1; ; try++ {
		stands, err = t.follows(ctx, mine)
		if err == nil && !stands {
			t.unsettled = true // it was visible: others may have read it
			err = t.undo(ctx, mine)
		}
		if err == nil {
			return stands, nil
		}
		if ctx.Err() != nil || hopeless(err) || t.cfg.Now().Sub(start) > t.cfg.Patience {
			break
		}
		if t.sleep(ctx, backoff(try, 100*time.Millisecond, 5*time.Second)) != nil {
			break
		}
	}
	t.unsettled = true
	return false, fmt.Errorf("confirm snapshot %d: %w: %w", mine.ID, ErrUnsettled, err)
}

// follows reports whether mine is the successor of the snapshot that it was built on, in a table that is still there.
func (t *task) follows(ctx context.Context, mine *seen) (bool, error) {
	base, gone := t.view.newest, false
	if base != nil {
		now, err := t.read(ctx, base.ID)
		gone = errors.Is(err, fs.ErrNotExist)
		switch {
		case err == nil && now.same(base):
			return true, nil
		case err != nil && !gone:
			return false, err
		}
	}
	// The base is gone, or there was none. That alone proves nothing: others may have gone on from mine, and have expired
	// the base since.
	next, err := t.read(ctx, mine.ID+1)
	if err == nil {
		return t.isBaseOf(ctx, mine, next)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	ids, err := manifest.SnapshotIDs(ctx, t.store, t.path)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		switch {
		case gone && id == base.ID:
			return false, fmt.Errorf("snapshot %d is listed but cannot be read", id)
		case id == mine.ID+1: // it came since
			if next, err = t.read(ctx, id); err != nil {
				return false, err
			}
			return t.isBaseOf(ctx, mine, next)
		case id != mine.ID: // newer: mine is an expired id made again; older: the table was rolled back
			return false, nil
		}
	}
	if base == nil { // the first one, unless the table was dropped and made anew: its files went with it
		err := t.checkTable(ctx)
		if errors.Is(err, ErrGone) {
			return false, nil
		}
		return err == nil, err
	}
	// Mine is alone. Either expiry took the base, or someone dropped the table: then what this task wrote before it last saw
	// the base went with it.
	_, err = t.store.Get(ctx, t.path.Manifest(t.changes.deltaList))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// isBaseOf reports whether the snapshot next was built on mine: it says so, or it holds what mine added.
func (t *task) isBaseOf(ctx context.Context, mine, next *seen) (bool, error) {
	if parent, ok := next.Properties[table.PropertyParent]; ok {
		return parent == mine.UUID, nil
	}
	list, err := manifest.ReadList(ctx, t.store, t.path, next.BaseList)
	if err != nil {
		return false, err
	}
	added := map[manifest.Identity]struct{}{}
	for i := range t.delta.Added {
		added[manifest.IdentityOf(&t.delta.Added[i])] = struct{}{}
	}
	filter, err := manifest.NewFilter(t.schema, partitionsOf(t.delta.Added), nil)
	if err != nil {
		return false, err
	}
	err = manifest.EachEntry(ctx, t.store, t.path, list, filter, func(e *manifest.Entry) error {
		if e.Kind == manifest.Add {
			delete(added, manifest.IdentityOf(&e.File))
		}
		return nil
	})
	return len(added) == 0, err
}

// undo takes a snapshot away that does not count, if it is still there and ours.
func (t *task) undo(ctx context.Context, mine *seen) error {
	now, err := t.read(ctx, mine.ID)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !now.same(mine) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.store.Delete(ctx, t.path.Snapshot(mine.ID))
}

// partitionsOf returns the partitions of files, each once.
func partitionsOf(lists ...[]table.File) []string {
	partitions := []string{}
	known := map[string]struct{}{}
	for _, files := range lists {
		for i := range files {
			p := files[i].Bucket.Partition
			if _, ok := known[p]; !ok {
				known[p] = struct{}{}
				partitions = append(partitions, p)
			}
		}
	}
	return partitions
}
