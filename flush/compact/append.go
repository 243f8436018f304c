package compact

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"sink/table"
	"sink/table/datafile"
)

// In an append table nothing is merged: small files that follow each other become one, with the rows in the order of arrival
// (org.apache.paimon.append.AppendCompactCoordinator and BucketedAppendCompactManager). There are no levels.

// arrived returns the files of runs in the order of arrival, the oldest first.
func arrived(runs []SortedRun) []table.File {
	var files []table.File
	for _, r := range runs {
		files = append(files, r.Files...)
	}
	sortArrived(files)
	return files
}

// sortArrived sorts files by the arrival of their rows.
func sortArrived(files []table.File) {
	slices.SortFunc(files, func(a, b table.File) int {
		return cmp.Or(cmp.Compare(a.MinSeq, b.MinSeq), cmp.Compare(a.CreatedMillis, b.CreatedMillis), strings.Compare(a.Name, b.Name))
	})
}

// pickAppend returns the oldest small files that follow each other and are either as many as MinFiles or as large as a file
// should be.
func (o Options) pickAppend(runs []SortedRun) (Job, bool) {
	files := arrived(runs)
	for from := 0; from < len(files); {
		to, size := from, int64(0)
		for to < len(files) && files[to].SizeBytes < o.minUpgradeBytes() && size < o.TargetFileSize {
			size += files[to].SizeBytes
			to++
		}
		if n := to - from; n >= o.MinFiles || n > 1 && size >= o.TargetFileSize {
			return Job{Files: files[from:to]}, true
		}
		from = max(to, from+1)
	}
	return Job{}, false
}

// pickAppendFull returns all files of a bucket, but for the large ones that it begins and ends with.
func (o Options) pickAppendFull(runs []SortedRun) (Job, bool) {
	files := arrived(runs)
	small := func(f table.File) bool { return f.SizeBytes < o.minUpgradeBytes() }
	for len(files) > 0 && !small(files[0]) {
		files = files[1:]
	}
	for len(files) > 0 && !small(files[len(files)-1]) {
		files = files[:len(files)-1]
	}
	return Job{Files: files}, len(files) > 1
}

// concatenate does a job of an append table: the rows of its files, which are in the order of arrival, one after the other, numbered
// from the lowest number on, but not below from.
func (r *run) concatenate(ctx context.Context, from int64) error {
	w := r.format.NewWriter(r.bucket, r.total, 0, table.SourceCompact, r.namer)
	next := max(from, r.job.Files[0].MinSeq)
	var err error
	for i := range r.job.Files {
		if next, err = r.copyRows(ctx, w, &r.job.Files[i], next); err != nil {
			w.Abort(ctx)
			return err
		}
	}
	return r.take(ctx, w, r.job.Files)
}

// copyRows appends the rows of a file that are kept to a writer, numbered from next on, and returns the number after them.
func (r *run) copyRows(ctx context.Context, w *datafile.Writer, f *table.File, next int64) (_ int64, err error) {
	source, err := r.open(ctx, f)
	if err != nil {
		return next, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	b := table.NewBatch(r.cfg.Schema.Fields)
	rows := table.Rows{Batches: []*table.Batch{b}}
	for {
		b.Reset()
		rows.Refs, rows.Seqs = rows.Refs[:0], rows.Seqs[:0]
		n, err := source.Next(b, &rows.Seqs, mergeRows)
		if err == io.EOF {
			return next, nil
		}
		if err != nil {
			return next, err
		}
		for i := range n {
			rows.Refs = append(rows.Refs, table.MakeRef(0, i))
		}
		kept := rows
		if r.spread != nil {
			if kept, err = r.spread.keep(rows); err != nil {
				return next, err
			}
		}
		for i := range kept.Seqs {
			kept.Seqs[i] = next
			next++
		}
		if err := w.Append(ctx, kept); err != nil {
			return next, err
		}
	}
}
