package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// Table is a table opened for reading. It is used by one goroutine at a time.
type Table struct {
	store   object.Store
	path    table.Path
	schema  *table.Schema
	schemas *manifest.Schemas
}

// Open opens a table with its latest schema. The error satisfies fs.ErrNotExist if there is no such table.
func Open(ctx context.Context, store object.Store, path table.Path) (*Table, error) {
	schema, err := manifest.LatestSchema(ctx, store, path)
	if err != nil {
		return nil, err
	}
	return &Table{store: store, path: path, schema: schema, schemas: manifest.NewSchemas(store, path)}, nil
}

// Schema returns the latest schema when the table was opened.
func (t *Table) Schema() *table.Schema { return t.schema }

// At says which state of the table to read: the first of its members that is set, the newest snapshot when none is.
type At struct {
	Snapshot int64
	Tag      string
	Time     time.Time // the newest snapshot that was committed at this time or before
}

// Snapshot returns the snapshot that at tells; nil when it is the newest of a table without snapshots. The error says
// which snapshots there are when the wanted one is not.
func (t *Table) Snapshot(ctx context.Context, at At) (*manifest.Snapshot, error) {
	switch {
	case at.Snapshot != 0:
		s, err := manifest.ReadStanding(ctx, t.store, t.path, at.Snapshot)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, t.noSnapshot(ctx, strconv.FormatInt(at.Snapshot, 10))
		}
		return s, err
	case at.Tag != "":
		tag, err := manifest.ReadTag(ctx, t.store, t.path, at.Tag)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, t.noTag(ctx, at.Tag)
		}
		if err != nil {
			return nil, err
		}
		return tag.Snapshot, nil
	case !at.Time.IsZero():
		s, err := manifest.SnapshotAt(ctx, t.store, t.path, at.Time.UnixMilli())
		if err == nil && s == nil {
			return nil, t.noSnapshot(ctx, "as old as "+at.Time.UTC().Format(time.RFC3339Nano))
		}
		return s, err
	}
	return manifest.LatestSnapshot(ctx, t.store, t.path)
}

// notThere is what was asked for and is not in the table; it satisfies fs.ErrNotExist.
type notThere struct{ text string }

func (e *notThere) Error() string        { return e.text }
func (e *notThere) Is(target error) bool { return target == fs.ErrNotExist }

// noSnapshot tells which snapshots there are.
func (t *Table) noSnapshot(ctx context.Context, what string) error {
	ids, err := manifest.SnapshotIDs(ctx, t.store, t.path)
	if err != nil {
		return err
	}
	has := "the table has no snapshot at all"
	if len(ids) > 0 {
		has = fmt.Sprintf("the table has %d to %d", ids[0], ids[len(ids)-1])
	}
	return &notThere{fmt.Sprintf("table %s: there is no snapshot %s; %s", t.path.Name(), what, has)}
}

func (t *Table) noTag(ctx context.Context, name string) error {
	names, err := manifest.TagNames(ctx, t.store, t.path)
	if err != nil {
		return err
	}
	has := "the table has no tags"
	if len(names) > 0 {
		has = "the table has " + strings.Join(names, ", ")
	}
	return &notThere{fmt.Sprintf("table %s: there is no tag %s; %s", t.path.Name(), name, has)}
}

// A Split is a bucket of a plan.
type Split struct {
	Bucket    table.Bucket
	Partition []byte       // the partition columns as a canonical JSON object; nil for a table without
	Files     []table.File // in the order of the manifest

	row *table.Batch // the partition columns, one row
}

// Plan is what a snapshot holds.
type Plan struct {
	Table    *Table
	Snapshot *manifest.Snapshot // nil for a table without snapshots
	Schema   *table.Schema      // of the rows
	Splits   []Split            // by partition (the text), then bucket
}

// Plan reads the manifests of a snapshot. The filter, which may be nil, is made with [Table.Schema].
func (t *Table) Plan(ctx context.Context, at At, f *manifest.Filter) (*Plan, error) {
	s, err := t.Snapshot(ctx, at)
	if err != nil {
		return nil, err
	}
	p := &Plan{Table: t, Snapshot: s, Schema: t.schema}
	if s == nil {
		return p, nil
	}
	if at != (At{}) {
		if p.Schema, err = t.schemas.Get(ctx, s.SchemaID); err != nil {
			return nil, err
		}
	}
	files, err := manifest.ReadLive(ctx, t.store, t.path, s, f)
	if err != nil {
		return nil, err
	}
	p.Splits, err = t.splits(p.Schema, files)
	return p, err
}

// splits groups files by bucket. Bucket -2 holds rows that no reader sees before a compaction has given them a place.
func (t *Table) splits(schema *table.Schema, files []table.File) ([]Split, error) {
	fields := partitionFields(schema)
	types := make([]table.Type, len(fields))
	for i := range fields {
		types[i] = fields[i].Type
	}
	at := make(map[table.Bucket]int)
	var splits []Split
	for _, f := range files {
		if f.Bucket.Number < 0 {
			continue
		}
		i, ok := at[f.Bucket]
		if !ok {
			row, err := table.DecodeRow([]byte(f.Bucket.Partition), types)
			if err != nil {
				return nil, fmt.Errorf("table %s: file %s: partition: %w", t.path, f.Name, err)
			}
			i = len(splits)
			at[f.Bucket] = i
			splits = append(splits, Split{Bucket: f.Bucket, row: row})
			if len(fields) > 0 {
				splits[i].Partition = table.AppendCanonicalRow(nil, fields, row, 0)
			}
		}
		splits[i].Files = append(splits[i].Files, f)
	}
	slices.SortFunc(splits, func(a, b Split) int {
		if c := strings.Compare(string(a.Partition), string(b.Partition)); c != 0 {
			return c
		}
		return int(a.Bucket.Number) - int(b.Bucket.Number)
	})
	return splits, nil
}

func partitionFields(s *table.Schema) []table.Field {
	var fields []table.Field
	for _, i := range s.Indexes(s.PartitionKeys) {
		fields = append(fields, s.Fields[i])
	}
	return fields
}
