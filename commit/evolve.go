package commit

import (
	"context"
	"fmt"

	"sink/table"
)

// Evolve makes the table's schema able to hold rows of the wanted columns, by a new schema file, and returns the newest
// schema with what was changed. Nothing is written when the newest one can hold them already, for instance because
// another instance met the same change first: of several that race for one version one wins, and the others compare
// again with what is there. It returns a *table.IncompatibleError when the change cannot be made.
func (c *Committer) Evolve(ctx context.Context, want []table.Field) (*table.Schema, []table.Change, error) {
	s, changes, err := c.alter(ctx, func(s *table.Schema) (*table.Schema, []table.Change, error) { return table.Evolve(s, want) })
	if err != nil {
		return nil, nil, fmt.Errorf("evolve table %s: %w", c.path, err)
	}
	return s, changes, nil
}

// alter writes the schema that change makes of the newest one, which may be that itself, and begins anew for as long as
// others are first.
func (c *Committer) alter(ctx context.Context, change func(*table.Schema) (*table.Schema, []table.Change, error)) (*table.Schema, []table.Change, error) {
	for range c.cfg.Retries + 1 {
		if err := c.refreshSchema(ctx, nil); err != nil {
			return nil, nil, err
		}
		next, changes, err := change(c.schema)
		if err != nil {
			return nil, nil, err
		}
		if next == c.schema {
			return c.schema, nil, nil
		}
		if next.ID != c.schema.ID+1 {
			next = next.Clone()
			next.ID = c.schema.ID + 1
		}
		next.TimeMillis = max(c.schema.TimeMillis, c.cfg.Now().UnixMilli())
		won, err := c.createSchema(ctx, next)
		if err != nil {
			return nil, nil, err
		}
		if won {
			return c.schema, changes, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: for a schema version", ErrBusy)
}
