package datafile

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"sink/table"
	"sink/table/object"
)

// A writer hands rows to its encoder in slices, between which it looks at the size of the file.
const (
	sliceRows    = 8 << 10
	minSliceRows = 256
	sliceBytes   = 2 << 20
)

// abortTimeout bounds the deletion of files by Abort, which goes on when its context has ended.
const abortTimeout = 30 * time.Second

// Writer writes sorted rows of one bucket into one or more files. It has one owner, and ends with Close or Abort.
type Writer struct {
	format       *Format
	bucket       table.Bucket
	totalBuckets int32
	level        int32
	source       table.FileSource
	namer        *table.Namer

	enc    *encoder      // nil while no file is open
	out    object.Writer // the open file's
	object string        // its name in the store
	file   table.File    // what is known of it
	last   []byte        // the key of the row appended last
	widths []int64       // of the batches' rows in the mean, bytes

	files []table.File // finished
	names []string     // their names in the store
}

// Append writes rows, which continue the order of those before. It may be called many times; rows, and the batches they
// refer to, are free to change once it returns. After an error only Abort is left.
func (w *Writer) Append(ctx context.Context, rows table.Rows) error {
	w.measure(rows.Batches)
	for at := 0; at < rows.Len(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.enc == nil {
			if err := w.open(ctx); err != nil {
				return err
			}
		}
		n := w.fit(rows.Refs[at:], w.slice())
		if err := w.append(rows.Slice(at, at+n)); err != nil {
			return fmt.Errorf("write %s: %w", w.object, err)
		}
		at += n
		// No new file between a -U and its +U: they belong together (I3).
		if w.enc.sizeBytes() >= w.format.cfg.TargetFileSize && rows.Kind(at-1) != table.UpdateBefore {
			if err := w.finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

// slice returns how many rows to append before the size of the file is looked at again: fewer when rows are wide or the
// file is nearly full.
func (w *Writer) slice() int {
	rows, size := w.enc.stats.rows, w.enc.sizeBytes()
	if rows == 0 {
		return minSliceRows
	}
	row := max(1, size/rows)
	room := min(sliceBytes, max(0, w.format.cfg.TargetFileSize-size))
	return int(min(sliceRows, max(minSliceRows, room/row)))
}

// measure notes how wide the rows of each batch are.
func (w *Writer) measure(batches []*table.Batch) {
	w.widths = w.widths[:0]
	for _, b := range batches {
		var size int64
		if b != nil {
			for i := range b.Columns {
				size += int64(len(b.Columns[i].Data))
			}
			size /= max(1, int64(b.Len()))
		}
		w.widths = append(w.widths, size)
	}
}

// fit returns how many of n rows to append at once: a row group grows by no more than one slice beyond its bounds, however wide
// the rows are. Wide rows lie few to a batch, so that the mean of their batch tells enough.
func (w *Writer) fit(refs []table.Ref, n int) int {
	n = min(n, len(refs))
	if slices.Max(w.widths)*int64(n) <= sliceBytes {
		return n
	}
	var size int64
	for i, r := range refs[:n] {
		if size += w.widths[r.Batch()]; size >= sliceBytes {
			return i + 1
		}
	}
	return n
}

// open starts a file.
func (w *Writer) open(ctx context.Context) error {
	w.file = table.File{Bucket: w.bucket, TotalBuckets: w.totalBuckets, Name: w.format.name(w.namer)}
	var err error
	if w.object, err = w.format.objectName(w.bucket, w.file.Name); err != nil {
		return err
	}
	enc, err := w.format.encoder()
	if err != nil {
		return err
	}
	if w.out, err = w.format.cfg.Store.Writer(ctx, w.object); err != nil {
		return fmt.Errorf("write %s: %w", w.object, err)
	}
	w.enc = enc
	if err := enc.begin(w.out); err != nil {
		return fmt.Errorf("write %s: %w", w.object, err)
	}
	return nil
}

func (w *Writer) append(rows table.Rows) error {
	if rows.Len() != len(rows.Seqs) {
		return fmt.Errorf("%d rows but %d sequence numbers", rows.Len(), len(rows.Seqs))
	}
	if w.format.cfg.Schema.Append() {
		for i := range rows.Refs {
			if k := rows.Kind(i); k != table.Insert {
				return fmt.Errorf("a row of kind %s in a table without primary key, which takes only new rows", k)
			}
		}
	}
	if w.file.MinKey == nil {
		w.file.MinKey = w.key(nil, rows.Refs[0], rows.Batches)
	}
	w.last = w.key(w.last[:0], rows.Refs[rows.Len()-1], rows.Batches)
	return w.enc.append(rows)
}

// key appends the key of a row as a BinaryRow.
func (w *Writer) key(dst []byte, ref table.Ref, batches []*table.Batch) []byte {
	return w.format.keys.Append(dst, batches[ref.Batch()], ref.Row())
}

// finish completes the open file.
func (w *Writer) finish() error {
	if err := w.enc.finish(); err != nil {
		return fmt.Errorf("write %s: %w", w.object, err)
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("write %s: %w", w.object, err)
	}
	f, s := &w.file, &w.enc.stats
	f.SizeBytes, f.Rows, f.DeleteRows = w.enc.offset, s.rows, s.deletes
	f.MinSeq, f.MaxSeq = s.minSeq, s.maxSeq
	f.MaxKey = bytes.Clone(w.last)
	f.KeyStats = w.format.keyStats(w.enc)
	f.ValueStats, f.ValueStatCols = w.format.valueStats(w.enc)
	f.SchemaID, f.Level, f.Source = w.format.cfg.Schema.ID, w.level, w.source
	f.CreatedMillis = w.format.cfg.Now().UnixMilli()
	w.files, w.names = append(w.files, w.file), append(w.names, w.object)
	w.release()
	return nil
}

// release gives the encoder back.
func (w *Writer) release() {
	w.enc.out = nil
	w.format.pool.Put(w.enc)
	w.enc, w.out = nil, nil
}

// Close finishes the last file and returns all of them in key order; none if nothing was appended. After an error only
// Abort is left.
func (w *Writer) Close(ctx context.Context) ([]table.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.enc != nil {
		if err := w.finish(); err != nil {
			return nil, err
		}
	}
	return w.files, nil
}

// Abort gives up: the unfinished file is dropped, those already finished are deleted, also when ctx has ended. It may be
// called after Close as long as nobody else knows of the files.
func (w *Writer) Abort(ctx context.Context) {
	if w.enc != nil {
		w.out.Abort()
		w.release()
	}
	if len(w.names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	// What cannot be deleted now is an unreferenced file, which orphan cleaning finds.
	_ = w.format.cfg.Store.Delete(ctx, w.names...)
	w.files, w.names = nil, nil
}
