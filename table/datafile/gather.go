package datafile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"sink/table"
)

// gatherer finds the cells of one column in the batches that rows refer to.
type gatherer struct {
	vectors []*table.Vector
	words   [][]int64
	nulls   bool // some vector has nulls
}

// column points the gatherer at a column of the batches.
func (g *gatherer) column(batches []*table.Batch, column int) {
	g.vectors, g.words, g.nulls = g.vectors[:0], g.words[:0], false
	for _, b := range batches {
		if b == nil { // none of the rows is in it
			g.vectors, g.words = append(g.vectors, nil), append(g.words, nil)
			continue
		}
		v := &b.Columns[column]
		g.vectors, g.words = append(g.vectors, v), append(g.words, v.Words)
		g.nulls = g.nulls || v.Nulls != nil
	}
}

// ErrNull is in the error of a write of rows of which one has a null where the column takes none. The same rows fail again.
var ErrNull = errors.New("it is NOT NULL")

// check tells whether the rows have no null in the column.
func (g *gatherer) check(rows table.Rows) error {
	for i, r := range rows.Refs {
		if g.vectors[r.Batch()].IsNull(r.Row()) {
			return fmt.Errorf("%w, but a row of kind %s has a null", ErrNull, rows.Kind(i))
		}
	}
	return nil
}

// gatherSequences adds the rows' sequence numbers.
func (c *column) gatherSequences(w *workspace, seqs []int64) error {
	for len(seqs) > 0 {
		n := min(len(seqs), c.limits.pageRows-c.entries)
		c.words = append(c.words, seqs[:n]...)
		c.present(n)
		if c.full() {
			if err := c.flushPage(w); err != nil {
				return err
			}
		}
		seqs = seqs[n:]
	}
	return nil
}

// gatherKinds adds the rows' kinds.
func (c *column) gatherKinds(w *workspace, rows table.Rows) error {
	for i := range rows.Refs {
		c.words = append(c.words, int64(rows.Kind(i)))
		c.present(1)
		if c.full() {
			if err := c.flushPage(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather adds the cells of rows to a column that is not nested, page after page.
func (c *column) gather(w *workspace, g *gatherer, refs []table.Ref) error {
	for len(refs) > 0 {
		n := min(len(refs), c.limits.pageRows-c.entries)
		switch words := c.leaf.physical.kind.words(); {
		case words && !g.nulls:
			c.gatherWords(g, refs[:n])
		case words:
			c.gatherNullableWords(g, refs[:n])
		case !g.nulls && c.leaf.physical.kind == cellBytes:
			n = c.gatherBytes(g, refs[:n])
		default:
			n = c.gatherCells(g, refs[:n])
		}
		if c.full() {
			if err := c.flushPage(w); err != nil {
				return err
			}
		}
		refs = refs[n:]
	}
	return nil
}

func (c *column) gatherWords(g *gatherer, refs []table.Ref) {
	at := len(c.words)
	c.words = extendWords(c.words, len(refs))
	out := c.words[at:]
	for i, r := range refs {
		out[i] = g.words[r.Batch()][r.Row()]
	}
	c.present(len(refs))
}

// present counts n values that are not null.
func (c *column) present(n int) {
	if len(c.def) > 0 {
		for range n {
			c.def = append(c.def, c.leaf.maxDef)
		}
	}
	c.entries += n
	c.values += n
}

func (c *column) gatherNullableWords(g *gatherer, refs []table.Ref) {
	if c.leaf.maxDef == 0 { // the caller has checked
		c.gatherWords(g, refs)
		return
	}
	c.fillLevels()
	for _, r := range refs {
		v, row := g.vectors[r.Batch()], r.Row()
		if v.IsNull(row) {
			c.def = append(c.def, 0)
			continue
		}
		c.def = append(c.def, c.leaf.maxDef)
		c.words = append(c.words, v.Words[row])
	}
	c.entries += len(refs)
	c.values = len(c.words)
}

// gatherBytes adds strings until the page is full and returns how many.
func (c *column) gatherBytes(g *gatherer, refs []table.Ref) int {
	n := 0
	body := c.body
	for _, r := range refs {
		v, row := g.vectors[r.Batch()], r.Row()
		start := uint32(0)
		if row > 0 {
			start = v.Ends[row-1]
		}
		cell := v.Data[start:v.Ends[row]]
		body = binary.LittleEndian.AppendUint32(body, uint32(len(cell)))
		body = append(body, cell...)
		n++
		if len(body) >= c.limits.pageBytes {
			break
		}
	}
	c.body = body
	c.present(n)
	return n
}

// gatherCells adds any cells of layout Bytes until the page is full and returns how many.
func (c *column) gatherCells(g *gatherer, refs []table.Ref) int {
	for n, r := range refs {
		v, row := g.vectors[r.Batch()], r.Row()
		if c.leaf.maxDef > 0 && v.IsNull(row) {
			c.addNull()
			continue
		}
		c.body = appendValue(c.body, v.Bytes(row), c.leaf.physical)
		c.present(1)
		if len(c.body) >= c.limits.pageBytes {
			return n + 1
		}
	}
	return len(refs)
}

func extendWords(s []int64, n int) []int64 {
	if need := len(s) + n; need > cap(s) {
		grown := make([]int64, need, max(need, 2*cap(s)))
		copy(grown, s)
		return grown
	}
	return s[:len(s)+n]
}
