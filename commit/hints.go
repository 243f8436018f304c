package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"sink/table/manifest"
)

// hints writes what helps readers find the newest snapshot, and the pin. Nothing rests on them: what fails is told in
// the result. The first pin is another matter, see attempt.
func (t *task) hints(ctx context.Context) {
	id := t.result.SnapshotID
	err := t.writeLatest(ctx, id)
	if id == 1 {
		err = errors.Join(err, manifest.WriteHint(ctx, t.store, t.path.Earliest(), id))
	}
	if t.cfg.Now().Sub(t.pinned) >= t.cfg.PinEvery {
		err = errors.Join(err, t.Pin(ctx))
	}
	t.result.Hints = err
}

// hintTries bounds how often LATEST is written again since a newer snapshot has appeared meanwhile.
const hintTries = 4

// writeLatest makes LATEST name the snapshot, or a newer one: it is never lowered. A look at the next id after the write
// finds another writer that raised it in between; readers of Paimon's own take a hint without a successor at its word.
func (c *Committer) writeLatest(ctx context.Context, id int64) error {
	for range hintTries {
		now, ok, err := manifest.ReadHint(ctx, c.store, c.path.Latest())
		if err != nil || ok && now >= id {
			return err
		}
		if err := manifest.WriteHint(ctx, c.store, c.path.Latest(), id); err != nil {
			return err
		}
		_, err = c.store.Get(ctx, c.path.Snapshot(id+1))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for a snapshot after %d: %w", id, err)
		}
		newest, ok, err := manifest.Latest(ctx, c.store, c.path)
		if err != nil || !ok {
			return err
		}
		id = max(id, newest)
	}
	return nil // those who raise it write it themselves
}

// ConsumerID returns the id of the Paimon consumer that pins the newest snapshot of a group against other jobs' expiry.
func ConsumerID(user string) string {
	return "sink-" + strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, user)
}

// Pin writes the consumer file that keeps other jobs' expiry away from our newest snapshot, and so renews its age. Commit
// does it by itself, for the group's first snapshot before it is there; an idle table needs it about once an hour.
func (c *Committer) Pin(ctx context.Context) error {
	if c.own == nil || c.own.progress == nil {
		return nil
	}
	return c.pin(ctx, c.own.ID)
}

func (c *Committer) pin(ctx context.Context, id int64) error {
	if err := manifest.WriteConsumer(ctx, c.store, c.path, ConsumerID(c.cfg.User), id); err != nil {
		return err
	}
	c.pinned = c.cfg.Now()
	return nil
}
