package compact

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"sink/table"
)

// Spread is the job to fill one bucket of a partition that gets another number of buckets.
//
// A row's old and new bucket are its hash modulo the old and the new number, so they are the same modulo their greatest common
// divisor: only old buckets of that residue hold rows of the new one. From 4 to 8 buckets, bucket 6 takes its rows from
// bucket 2 alone.
type Spread struct {
	To      table.Bucket
	Buckets int32        // the new number
	Files   []table.File // of the old buckets that may hold rows of To, see [Feeds]
	// All says that Files are all that the old buckets hold: the rows go to the highest level, without retractions. Else they
	// are newer than what was spread before, and go to level 0.
	All bool
	// From is, in an append table, the lowest number that its rows may have: one above those that are in the bucket already.
	From int64
}

// Feeds reports whether a file may hold rows of a bucket, of so many, of its partition.
func Feeds(f *table.File, bucket, buckets int32) bool {
	d := divisor(f.TotalBuckets, buckets)
	return f.Bucket.Number%d == bucket%d
}

func divisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Rescale fills a bucket. The rows of an append table keep the order of arrival. Where levels count, or compactions tell the changelog, the files are those of the highest level: all has
// been told, and the rows only move. The result removes nothing: other buckets are filled from the same files. When it fails it leaves no
// files behind, as far as the store lets it.
func (c *Compactor) Rescale(ctx context.Context, s Spread) (Result, error) {
	r := &run{Compactor: c, namer: table.NewNamer(c.cfg.Schema, c.cfg.NewID()), bucket: s.To, total: s.Buckets}
	r.job = &Job{Files: s.Files, Top: s.All, DropDeletes: s.All}
	if s.All && !c.options.Append {
		r.job.OutputLevel = int32(c.options.Levels) - 1
	}
	err := r.fill(ctx, &s)
	if err != nil {
		c.remove(ctx, r.made)
		return Result{}, fmt.Errorf("rescale table %s to bucket %d of %d: %w", c.cfg.Path, s.To.Number, s.Buckets, err)
	}
	r.result.Removed = nil
	return r.result, nil
}

func (r *run) fill(ctx context.Context, s *Spread) error {
	d := s.Buckets
	for i := range s.Files {
		f := &s.Files[i]
		switch {
		case f.Bucket.Partition != s.To.Partition || !Feeds(f, s.To.Number, s.Buckets):
			return fmt.Errorf("file %s of bucket %d of %d holds no row of it", f.Name, f.Bucket.Number, f.TotalBuckets)
		case f.ExternalPath != "":
			return fmt.Errorf("file %s lies at %s, outside of the table", f.Name, f.ExternalPath)
		}
		d = divisor(d, f.TotalBuckets)
	}
	schema := r.cfg.Schema.Clone()
	schema.Options["bucket"] = strconv.Itoa(int(s.Buckets))
	router, err := table.NewRouter(schema)
	if err != nil {
		return err
	}
	r.spread = &spread{router: router, to: s.To, divisor: d}
	if r.options.Append {
		r.job.Files = slices.Clone(s.Files)
		sortArrived(r.job.Files)
		return r.concatenate(ctx, s.From)
	}
	sections, err := r.keys.Sections(s.Files)
	if err != nil {
		return err
	}
	return r.write(ctx, sections)
}

// spread keeps the rows of one bucket.
type spread struct {
	router  *table.Router
	to      table.Bucket
	divisor int32
}

// keep returns the rows of the bucket. It changes the slices of rows. A row that no bucket would take, since it was not in its
// own before, is an error: it would be lost.
func (s *spread) keep(rows table.Rows) (table.Rows, error) {
	n := 0
	for i, ref := range rows.Refs {
		at, err := s.router.Route(rows.Batches[ref.Batch()], ref.Row())
		if err != nil {
			return rows, err
		}
		if at.Partition != s.to.Partition || at.Number%s.divisor != s.to.Number%s.divisor {
			return rows, fmt.Errorf("a row of bucket %d is in a file of another bucket or partition: `sink verify` tells which", at.Number)
		}
		if at.Number == s.to.Number {
			rows.Refs[n], rows.Seqs[n] = ref, rows.Seqs[i]
			n++
		}
	}
	return rows.Slice(0, n), nil
}
