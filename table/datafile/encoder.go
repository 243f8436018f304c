package datafile

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"sink/table"
	"sink/table/object"
)

// encoder writes one Parquet file at a time into an object, and is then used for the next.
type encoder struct {
	layout  *layout
	limits  limits
	columns []*column // by leaf; that of a twin is the other's
	own     []int     // the leaves that are no twins
	nested  []node    // by root; unused where it is not nested
	shred   shredder
	gather  gatherer
	work    workspace
	head    []byte // dictionary pages in the making

	out    object.Writer
	offset int64
	groups []groupMeta
	rows   int // of the row group in the making

	stats fileStats
}

// fileStats is what a file's manifest entry wants to know.
type fileStats struct {
	rows    int64
	deletes int64
	minSeq  int64
	maxSeq  int64
}

func newEncoder(l *layout, limits limits, comp *compressor) *encoder {
	e := &encoder{layout: l, limits: limits, columns: make([]*column, len(l.leaves)), nested: make([]node, len(l.roots)), work: workspace{comp: comp}}
	for i := range l.leaves {
		if twin := l.leaves[i].twin; twin >= 0 {
			e.columns[i] = e.columns[twin]
			continue
		}
		e.columns[i] = &column{leaf: &l.leaves[i], limits: &e.limits}
		e.own = append(e.own, i)
	}
	e.shred.columns = e.columns
	for i, r := range l.roots {
		if next := r.first; r.typ.Nested() {
			e.nested[i] = newNode(r.name, r.typ, !r.typ.NotNull, 0, 0, &next)
		}
	}
	return e
}

// begin starts a file.
func (e *encoder) begin(out object.Writer) error {
	e.out, e.offset, e.rows, e.groups, e.stats = out, 0, 0, e.groups[:0], fileStats{}
	for _, i := range e.own {
		e.columns[i].resetFile()
	}
	return e.write([]byte(magic))
}

func (e *encoder) write(b []byte) error {
	n, err := e.out.Write(b)
	e.offset += int64(n)
	return err
}

// append adds rows to the file.
func (e *encoder) append(rows table.Rows) error {
	for rows.Len() > 0 {
		n := min(rows.Len(), e.limits.groupRows-e.rows)
		if err := e.appendToGroup(rows.Slice(0, n)); err != nil {
			return err
		}
		rows = rows.Slice(n, rows.Len())
	}
	return nil
}

// appendToGroup adds rows to the row group in the making, and writes it if it is full then.
func (e *encoder) appendToGroup(rows table.Rows) error {
	for i := range e.layout.roots {
		r := &e.layout.roots[i]
		if e.layout.leaves[r.first].twin >= 0 {
			continue
		}
		if err := e.appendRoot(r, &e.nested[i], rows); err != nil {
			return fmt.Errorf("column %s: %w", r.name, err)
		}
	}
	e.count(rows)
	e.rows += rows.Len()
	if e.rows >= e.limits.groupRows || e.groupBytes() >= e.limits.groupBytes {
		return e.flushGroup()
	}
	return nil
}

func (e *encoder) appendRoot(r *root, n *node, rows table.Rows) error {
	c := e.columns[r.first]
	switch r.column {
	case sequenceColumn:
		return c.gatherSequences(&e.work, rows.Seqs)
	case kindColumn:
		return c.gatherKinds(&e.work, rows)
	}
	e.gather.column(rows.Batches, r.column)
	if e.gather.nulls && r.typ.NotNull {
		if err := e.gather.check(rows); err != nil {
			return err
		}
	}
	if r.typ.Nested() {
		return e.shred.gather(&e.work, n, &e.gather, rows.Refs)
	}
	return c.gather(&e.work, &e.gather, rows.Refs)
}

// count takes rows into the file's statistics.
func (e *encoder) count(rows table.Rows) {
	s := &e.stats
	for i, seq := range rows.Seqs {
		if s.rows == 0 && i == 0 {
			s.minSeq, s.maxSeq = seq, seq
		}
		s.minSeq, s.maxSeq = min(s.minSeq, seq), max(s.maxSeq, seq)
	}
	for i := range rows.Refs {
		if rows.Kind(i).Retracts() {
			s.deletes++
		}
	}
	s.rows += int64(rows.Len())
}

// groupBytes is the memory that the row group in the making holds, but for the pages in the making.
func (e *encoder) groupBytes() int {
	n := 0
	for _, i := range e.own {
		n += len(e.columns[i].pages) + len(e.columns[i].dict.body)
	}
	return n
}

// sizeBytes estimates what the file would have if it ended here.
func (e *encoder) sizeBytes() int64 {
	n := e.offset
	for _, c := range e.columns { // twins count twice
		n += c.sizeBytes()
	}
	return n
}

// flushGroup writes the row group in the making.
func (e *encoder) flushGroup() error {
	if e.rows == 0 {
		return nil
	}
	g := groupMeta{offset: e.offset, rows: int64(e.rows), chunks: make([]chunkMeta, len(e.columns))}
	for _, i := range e.own {
		if err := e.columns[i].flushPage(&e.work); err != nil {
			return err
		}
	}
	for i, c := range e.columns {
		if err := e.writeChunk(c, &g.chunks[i]); err != nil {
			return err
		}
	}
	for _, i := range e.own {
		c := e.columns[i]
		c.file.merge(&c.bounds, c.leaf.physical)
		c.nulls += c.meta.nulls
		c.resetChunk()
	}
	e.groups = append(e.groups, g)
	e.rows = 0
	return nil
}

// writeChunk writes a chunk: the dictionary page, then the data pages.
func (e *encoder) writeChunk(c *column, m *chunkMeta) error {
	*m = c.meta
	m.offset, m.codec = e.offset, c.plan.codec
	m.compressed, m.uncompressed = int64(len(c.pages)), c.raw
	m.encodings = append([]format.Encoding(nil), format.RLE)
	if c.plain || c.indexed {
		m.encodings = append(m.encodings, format.Plain)
	}
	if c.packed {
		m.encodings = append(m.encodings, format.DeltaBinaryPacked)
	}
	c.bounds.statistics(m, c.leaf)
	if c.indexed {
		m.encodings = append(m.encodings, format.RLEDictionary)
		var compressed, uncompressed int
		var err error
		if e.head, compressed, uncompressed, err = c.appendDictionaryPage(e.head[:0], &e.work); err != nil {
			return err
		}
		m.dictionary = int64(compressed)
		m.compressed += int64(compressed)
		m.uncompressed += int64(uncompressed)
		if err := e.write(e.head); err != nil {
			return err
		}
	}
	return e.write(c.pages)
}

// finish writes what is left and the footer. The object is still to be closed.
func (e *encoder) finish() error {
	if err := e.flushGroup(); err != nil {
		return err
	}
	c := &e.work.thrift
	c.reset(e.head[:0])
	appendFooter(c, e.layout, e.groups)
	n := len(c.b)
	e.head = append(c.b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	e.head = append(e.head, magic...)
	return e.write(e.head)
}
