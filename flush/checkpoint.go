package flush

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"sink/table"
	"sink/table/datafile"
)

// Checkpoint is what a Writer held at a seal, on its way to files. It has one owner.
type Checkpoint struct {
	plan   *plan
	chunks []*table.Batch
	first  []int64 // number of the first row of each chunk
	jobs   []*job  // by partition and bucket
	kinds  [4]int64
	maxSeq int64
}

// Rows returns how many rows the checkpoint holds by [table.Kind]: those that the changelog gets.
func (c *Checkpoint) Rows() [4]int64 { return c.kinds }

// MaxSequence returns the highest number of its rows.
func (c *Checkpoint) MaxSequence() int64 { return c.maxSeq }

// Flush writes the files and returns what a commit has to make visible; its offsets are the caller's to fill in. After
// an error, the files of buckets that were done are kept and Flush may be called again for the others. Once it has
// succeeded, it returns the same again.
func (c *Checkpoint) Flush(ctx context.Context) (table.Delta, error) {
	if err := c.plan.run(ctx, c.jobs, c.chunks, c.first); err != nil {
		return table.Delta{}, err
	}
	c.plan.recycle(c.chunks)
	c.chunks, c.first = nil, nil
	delta := table.Delta{Progress: table.Progress{MaxSequence: c.maxSeq}}
	for _, j := range c.jobs {
		delta.Added = append(append(delta.Added, j.spilled.data...), j.made.data...)
		delta.Changelog = append(append(delta.Changelog, j.spilled.changelog...), j.made.changelog...)
	}
	return delta, nil
}

// Discard deletes all files of the checkpoint, as well as it can. It is for a checkpoint that no snapshot refers to for
// certain.
func (c *Checkpoint) Discard(ctx context.Context) {
	for _, j := range c.jobs {
		j.spilled.add(j.made)
		c.plan.remove(ctx, j.bucket, j.spilled)
	}
	c.plan.recycle(c.chunks)
	c.chunks, c.first, c.jobs = nil, nil, nil
}

// job is to write the rows of one bucket.
type job struct {
	plan    *plan
	bucket  table.Bucket
	refs    []table.Ref
	cells   int64   // bytes that the rows take in their chunks, about
	spilled spilled // made before

	done bool
	made spilled
}

// run does the jobs that are not done, several at a time. The first error ends the others.
func (p *plan) run(ctx context.Context, jobs []*job, chunks []*table.Batch, first []int64) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, j := range jobs {
		if j.done || len(j.refs) == 0 {
			continue
		}
		release, err := p.encoders.Take(ctx, p.density.need(j.cells))
		if err != nil {
			g.Go(func() error { return fmt.Errorf("flush %s: %w", p.where(j.bucket), context.Cause(ctx)) })
			break
		}
		g.Go(func() error {
			defer release()
			if err := j.do(ctx, chunks, first); err != nil {
				return fmt.Errorf("flush %s: %w", p.where(j.bucket), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// do sorts the rows, and writes them twice: all of them to the changelog, those that are left after merging to the data.
func (j *job) do(ctx context.Context, chunks []*table.Batch, first []int64) error {
	p := j.plan
	s := p.scratch.Get().(*sorter)
	defer func() { s.release(); p.scratch.Put(s) }()
	repeats := s.sort(&p.order, chunks, j.refs)
	in := &input{sorter: s, chunks: chunks, first: first}
	namer := table.NewNamer(p.cfg.Schema, p.cfg.NewID())
	var made spilled
	var err error
	switch {
	case p.changelog == nil:
		made.data, err = j.write(ctx, p.data, namer, in, true)
	case p.copies && !repeats:
		made, err = j.writeOnce(ctx, namer, in)
	default:
		if made.changelog, err = j.write(ctx, p.changelog, namer, in, false); err == nil {
			made.data, err = j.write(ctx, p.data, namer, in, true)
		}
	}
	if err != nil {
		p.remove(ctx, j.bucket, made)
		return err
	}
	p.density.learn(j.cells, max(sizeBytes(made.data), sizeBytes(made.changelog)))
	j.made, j.done, j.refs = made, true, nil
	return nil
}

// input is where the sorted rows of a job come from.
type input struct {
	sorter *sorter
	chunks []*table.Batch
	first  []int64
}

// write makes files of the rows, merged or all of them. It leaves no file if it fails.
func (j *job) write(ctx context.Context, f *datafile.Format, namer *table.Namer, in *input, merged bool) ([]table.File, error) {
	w := f.NewWriter(j.bucket, j.plan.buckets, 0, table.SourceAppend, namer)
	files, err := in.copyTo(ctx, w, merged)
	if err != nil {
		w.Abort(ctx)
		return nil, err
	}
	return files, nil
}

func (in *input) copyTo(ctx context.Context, w *datafile.Writer, merged bool) ([]table.File, error) {
	for from := 0; ; {
		g := in.sorter.next(from, in.chunks, in.first)
		n := g.rows.Len()
		if n == 0 {
			return w.Close(ctx)
		}
		rows := g.rows
		if merged {
			var err error
			if rows, err = in.sorter.merger.merge(g); err != nil {
				return nil, err
			}
		}
		if err := w.Append(ctx, rows); errors.Is(err, datafile.ErrNull) {
			return nil, fmt.Errorf("%w: %w", ErrMerge, err)
		} else if err != nil {
			return nil, err
		}
		from += n
	}
}

// writeOnce makes the data files and copies them for the changelog.
func (j *job) writeOnce(ctx context.Context, namer *table.Namer, in *input) (made spilled, err error) {
	if made.data, err = j.write(ctx, j.plan.data, namer, in, false); err != nil {
		return made, err
	}
	for _, file := range made.data {
		copied, err := j.plan.changelog.Copy(ctx, file, namer)
		if err != nil {
			return made, err
		}
		made.changelog = append(made.changelog, copied)
	}
	return made, nil
}
