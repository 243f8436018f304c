package datafile

import (
	"context"

	"sink/table"
)

// Writer writes sorted rows of one bucket into one or more files. It has one owner, and ends with Close or Abort.
type Writer struct {
	format       *Format
	bucket       table.Bucket
	totalBuckets int32
	level        int32
	source       table.FileSource
	namer        *table.Namer
	files        []table.File
}

// Append writes rows, which continue the order of those before. It may be called many times; rows, and the batches they
// refer to, are free to change once it returns. After an error only Abort is left.
func (w *Writer) Append(ctx context.Context, rows table.Rows) error { return nil }

// Close finishes the last file and returns all of them in key order; none if nothing was appended.
func (w *Writer) Close(ctx context.Context) ([]table.File, error) { return w.files, nil }

// Abort gives up: the unfinished file is dropped, those already finished are deleted.
func (w *Writer) Abort(ctx context.Context) {}
