package datafile

import (
	"io"

	"sink/table"
)

// chain reads sources one after the other.
type chain struct {
	n    int
	open func(i int) (Source, error)
	next int
	now  Source
	run  Run // nil: not of files
}

// Open returns the rows of a run: a [Chain] that tells a [Merger] the level of each file.
func (r Run) Open(open func(f *table.File) (Source, error)) Source {
	return &chain{n: len(r), run: r, open: func(i int) (Source, error) { return open(r[i]) }}
}

// Level returns the level of the file that the last rows were of; 0 for what is no file.
func (c *chain) Level() int32 {
	if c.run == nil || c.next == 0 {
		return 0
	}
	return c.run[c.next-1].Level
}

// Chain returns the rows of n sources one after the other: a sorted run of files with disjoint keys, of which one is open
// at a time. open is called when its turn comes.
func Chain(n int, open func(i int) (Source, error)) Source { return &chain{n: n, open: open} }

func (c *chain) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	for {
		if err := c.begin(); err != nil {
			return 0, err
		}
		n, err := c.now.Next(dst, seqs, max)
		if err != io.EOF {
			return n, err
		}
		if err := c.Close(); err != nil {
			return 0, err
		}
	}
}

// begin opens the next source if none is open; io.EOF after the last one.
func (c *chain) begin() (err error) {
	if c.now != nil {
		return nil
	}
	if c.next == c.n {
		return io.EOF
	}
	if c.now, err = c.open(c.next); err != nil {
		c.now = nil
		return err
	}
	c.next++
	return nil
}

// Name returns the name of the source that is open, if it has one.
func (c *chain) Name() string {
	if n, ok := c.now.(interface{ Name() string }); ok {
		return n.Name()
	}
	return "a chain of files"
}

// Close closes the source that is open.
func (c *chain) Close() error {
	if c.now == nil {
		return nil
	}
	s := c.now
	c.now = nil
	return s.Close()
}

// AppendRows appends rows to a batch of the same columns, a column at a time.
func AppendRows(dst *table.Batch, rows table.Rows) {
	var g gatherer
	for c := range dst.Columns {
		out := &dst.Columns[c]
		g.column(rows.Batches, c)
		switch {
		case g.nulls || out.Nulls != nil:
			for _, r := range rows.Refs {
				out.AppendCell(g.vectors[r.Batch()], r.Row())
			}
		case out.Layout == table.Words:
			for _, r := range rows.Refs {
				out.Words = append(out.Words, g.words[r.Batch()][r.Row()])
			}
		default:
			for _, r := range rows.Refs {
				out.AppendBytes(g.vectors[r.Batch()].Bytes(r.Row()))
			}
		}
	}
	for i := range rows.Refs {
		dst.Kinds = append(dst.Kinds, rows.Kind(i))
	}
}
