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

// CreateTable makes the table's schema-0 if there is none, and returns the newest schema of the table: the given one, or
// what another writer made. created tells which. Only cfg.Store, cfg.Path and the clock are used.
func CreateTable(ctx context.Context, cfg Config, s *table.Schema) (newest *table.Schema, created bool, err error) {
	cfg.setDefaults()
	c := &Committer{cfg: cfg, store: cfg.Store, path: cfg.Path, sleep: sleep}
	newest, created, err = c.createTable(ctx, s)
	if err != nil {
		return nil, false, fmt.Errorf("create table %s: %w", cfg.Path, err)
	}
	return newest, created, nil
}

func (c *Committer) createTable(ctx context.Context, s *table.Schema) (*table.Schema, bool, error) {
	switch err := c.loadSchema(ctx); {
	case err == nil:
		return c.schema, false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	s = s.Clone()
	s.ID = 0
	if s.TimeMillis == 0 {
		s.TimeMillis = c.cfg.Now().UnixMilli()
	}
	if err := s.Validate(); err != nil {
		return nil, false, err
	}
	won, err := c.createSchema(ctx, s)
	return c.schema, won, err
}

// createSchema writes a schema file that must not exist yet. Afterwards the Committer has the newest schema: this one, or
// what another writer put there first.
func (c *Committer) createSchema(ctx context.Context, s *table.Schema) (won bool, err error) {
	raw, err := s.Encode()
	if err != nil {
		return false, err
	}
	o, err := c.createOnce(ctx, c.path.Schema(s.ID), raw, func(found []byte) bool { return bytes.Equal(found, raw) })
	if err != nil {
		return false, err
	}
	if !o.won {
		return false, c.refreshSchema(ctx, nil)
	}
	return true, c.takeSchema(s.ID, raw)
}

// takeSchema makes a schema file the newest one known.
func (c *Committer) takeSchema(id int64, raw []byte) error {
	s, err := table.ParseSchema(raw)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.path.Schema(id), err)
	}
	if s.ID != id {
		return fmt.Errorf("read %s: it says that it is schema %d", c.path.Schema(id), s.ID)
	}
	c.schema, c.schemaRaw = s, raw
	return nil
}

// loadSchema looks up the newest schema by listing; fs.ErrNotExist if there is no table.
func (c *Committer) loadSchema(ctx context.Context) error {
	ids, err := manifest.SchemaIDs(ctx, c.store, c.path)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return fmt.Errorf("no schema: %w", fs.ErrNotExist)
	}
	id := ids[len(ids)-1]
	raw, err := c.store.Get(ctx, c.path.Schema(id))
	if err != nil {
		return fmt.Errorf("read %s: %w", c.path.Schema(id), err)
	}
	return c.takeSchema(id, raw)
}

// refreshSchema looks for schemas after the one that is known, the first of which may have been asked for. Ids are dense, so one
// read says that there is none.
func (c *Committer) refreshSchema(ctx context.Context, asked <-chan answer) error {
	for {
		next := int64(0)
		if c.schema != nil {
			next = c.schema.ID + 1
		}
		if asked == nil {
			asked = c.ask(ctx, c.path.Schema(next))
		}
		a := <-asked
		asked = nil
		if errors.Is(a.err, fs.ErrNotExist) && c.schema != nil {
			return nil
		}
		if a.err != nil {
			return fmt.Errorf("read %s: %w", c.path.Schema(next), a.err)
		}
		if err := c.takeSchema(next, a.raw); err != nil {
			return err
		}
	}
}

// checkTable tells whether the table is still the one that was opened: its schema file is there, byte for byte.
func (c *Committer) checkTable(ctx context.Context) error {
	name := c.path.Schema(c.schema.ID)
	const hint = "if that was meant, restart to begin anew; the table's offsets are gone with it"
	raw, err := c.store.Get(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.stateError(ErrGone, hint, "%s does not exist any more", name)
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case !bytes.Equal(raw, c.schemaRaw):
		return c.stateError(ErrGone, hint, "%s has changed: the table was dropped and made anew", name)
	}
	return nil
}
