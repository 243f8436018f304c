package datafile

import (
	"context"

	"sink/table"
	"sink/table/object"
)

// Source is a stream of rows: a [Reader], a [Chain] of readers or a [Merger].
type Source interface {
	// Next appends up to max rows to dst and their sequence numbers to seqs. It returns how many, and io.EOF (with 0)
	// after the last.
	Next(dst *table.Batch, seqs *[]int64, max int) (int, error)
	Close() error
}

// Reader reads the rows of one file in their order. It has one owner.
type Reader struct{}

// Open opens a data or changelog file. fileSchema is the schema that file.SchemaID names; the rows come in the types of
// want, projected to columns (positions in want.Fields, in this order). A field that the file's schema does not have is
// null. Errors name the file; a missing one satisfies fs.ErrNotExist.
func Open(ctx context.Context, store object.Store, path table.Path, file *table.File, fileSchema, want *table.Schema, columns []int) (*Reader, error) {
	return &Reader{}, nil
}

// Next appends up to max rows to dst, whose columns are the projection, and their sequence numbers to seqs. It returns
// how many, at least 1 before the end, and io.EOF with 0 after the last row.
func (r *Reader) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) { return 0, nil }

// Close releases the file.
func (r *Reader) Close() error { return nil }
