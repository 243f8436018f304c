package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sink/table"
	"sink/table/object"
)

// ReadSchema returns the schema of that id; fs.ErrNotExist if there is none.
func ReadSchema(ctx context.Context, store object.Store, path table.Path, id int64) (*table.Schema, error) {
	name := path.Schema(id)
	b, err := store.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	s, err := table.ParseSchema(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("read %s: it says that it is schema %d", name, s.ID)
	}
	return s, nil
}

// LatestSchema returns the schema of the highest id; an error that satisfies fs.ErrNotExist if there is no table.
func LatestSchema(ctx context.Context, store object.Store, path table.Path) (*table.Schema, error) {
	ids, err := SchemaIDs(ctx, store, path)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("table %s: no schema: %w", path, fs.ErrNotExist)
	}
	return ReadSchema(ctx, store, path, ids[len(ids)-1])
}

// SchemaIDs returns the ids of all schemas in ascending order; none if there is no table.
func SchemaIDs(ctx context.Context, store object.Store, path table.Path) ([]int64, error) {
	return listIDs(ctx, store, path.SchemaDir()+"schema-")
}

// CreateSchema writes a schema file if there is none of its id, else fs.ErrExist. As with any create the outcome of an
// error is settled by reading back.
func CreateSchema(ctx context.Context, store object.Store, path table.Path, s *table.Schema) error {
	b, err := s.Encode()
	if err != nil {
		return err
	}
	if err := store.Create(ctx, path.Schema(s.ID), b); err != nil {
		return fmt.Errorf("create %s: %w", path.Schema(s.ID), err)
	}
	return nil
}

// Schemas reads the schemas of a table, each once. It has one owner.
type Schemas struct {
	store object.Store
	path  table.Path
	byID  map[int64]*table.Schema
}

// NewSchemas returns an empty cache.
func NewSchemas(store object.Store, path table.Path) *Schemas {
	return &Schemas{store: store, path: path, byID: make(map[int64]*table.Schema)}
}

// Get returns the schema of that id. A schema file never changes once it exists.
func (c *Schemas) Get(ctx context.Context, id int64) (*table.Schema, error) {
	if s, ok := c.byID[id]; ok {
		return s, nil
	}
	s, err := ReadSchema(ctx, c.store, c.path, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("schema %d is named by a file but is gone: %w", id, err)
	}
	if err != nil {
		return nil, err
	}
	c.byID[id] = s
	return s, nil
}
