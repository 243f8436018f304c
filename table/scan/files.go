package scan

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"sink/table"
	"sink/table/manifest"
)

// CheckRows tells whether the rows of a snapshot can be read, with all reasons why not; the error satisfies
// [errors.ErrUnsupported] then.
func (t *Table) CheckRows(ctx context.Context, snapshot *manifest.Snapshot) error {
	return t.checkMerge(ctx, t.schema, snapshot)
}

// PlanFiles returns the plan of some files, in the columns of the latest schema. Whether the snapshot that they are of can be read
// at all is the caller's question, see [Table.CheckRows].
func (t *Table) PlanFiles(files []table.File) (*Plan, error) {
	splits, err := t.splits(t.schema, files)
	return &Plan{Table: t, Schema: t.schema, Splits: splits}, err
}

// Stored is a batch of rows as they lie in a file, with their sequence numbers.
type Stored struct {
	Batch *table.Batch
	Seqs  []int64
}

// StoredRows returns the rows of files as they are, file after file, in all columns of the latest schema and in batches that are good
// until the next one. After an error nothing follows.
func (t *Table) StoredRows(ctx context.Context, files []table.File) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		err := t.eachStored(ctx, files, func(s Stored) bool { return yield(s, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(Stored{}, fmt.Errorf("read files: %w", err))
		}
	}
}

func (t *Table) eachStored(ctx context.Context, files []table.File, yield func(Stored) bool) error {
	want, err := positions(t.schema, nil)
	if err != nil {
		return err
	}
	c, err := newColumns(t.schema, want, false)
	if err != nil {
		return err
	}
	splits, err := t.splits(t.schema, files)
	if err != nil {
		return err
	}
	for i := range splits {
		constant := constants{row: splits[i].row}
		for j := range splits[i].Files {
			if err := t.eachStoredOf(ctx, &splits[i].Files[j], c, &constant, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) eachStoredOf(ctx context.Context, f *table.File, c *columns, constant *constants, yield func(Stored) bool) (err error) {
	r, err := t.openFile(ctx, f, c, nil, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	read, rows := table.NewBatch(c.readFields()), new(table.Batch)
	var seqs []int64
	for {
		read.Reset()
		seqs = seqs[:0]
		if _, err := r.Next(read, &seqs, batchRows); err != nil {
			return ignoreEOF(err)
		}
		c.assemble(rows, read, constant)
		if !yield(Stored{rows, seqs}) {
			return errStopped
		}
	}
}
