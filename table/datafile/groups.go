package datafile

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

// Keep has the reader leave out the row groups of which may is false. may is told what the footer's statistics say of the wanted
// columns; it has to be true where they do not tell. Keep comes before the first Next.
func (r *Reader) Keep(may func(column func(i int) table.Range) bool) { r.may = may }

// skipGroups goes to the next row group that is not left out.
func (r *Reader) skipGroups() {
	for r.may != nil && r.group < len(r.file.meta.RowGroups) && !r.may(r.groupRange) {
		r.group++
	}
}

// groupRange returns what is known of a wanted column in the next row group.
func (r *Reader) groupRange(i int) table.Range {
	c, g := &r.columns[i], &r.file.meta.RowGroups[r.group]
	switch {
	case c.absent:
		return table.Range{Nulls: g.NumRows, Rows: g.NumRows}
	case c.constant != nil && c.constant.IsNull(0):
		return table.Range{Nulls: g.NumRows, Rows: g.NumRows}
	case c.constant != nil:
		return table.NewRange(c.constant, c.constant, 0, 0, g.NumRows)
	case c.cast || c.fileType.Nested():
		return table.Range{} // a cast may change the order of values
	}
	leaf := c.node.leaves[0]
	s := &g.Columns[leaf.node.leaf].MetaData.Statistics
	out := table.Range{Bounds: leaf.bounds(c.fileType.Layout(), s)}
	if s.NullCount > 0 { // 0 may be that nobody counted
		out.Nulls, out.Rows = s.NullCount, g.NumRows
	}
	return out
}

// bounds returns the least and the greatest value as cells of the column's type; nil where they are not known. The older fields, of an
// order that was not defined for text, are not looked at.
func (l *leafReader) bounds(layout table.Layout, s *format.Statistics) *table.Vector {
	typ, fixed := l.node.element.Type.V, int(l.node.element.TypeLength.V)
	if s.MinValue == nil || s.MaxValue == nil || typ == format.Boolean || typ == format.Int96 {
		return nil
	}
	var plain []byte
	for _, v := range [][]byte{s.MinValue, s.MaxValue} {
		if typ == format.ByteArray {
			plain = binary.LittleEndian.AppendUint32(plain, uint32(len(v)))
		} else if len(v) != plainWidth(typ, fixed) {
			return nil
		}
		plain = append(plain, v...)
	}
	var cells values
	if cells.decode(format.Plain, typ, fixed, 2, plain) != nil || l.convert(&cells) != nil {
		return nil
	}
	out := &table.Vector{Layout: layout}
	for i := range 2 {
		if layout == table.Words {
			out.AppendWord(cells.words[i])
		} else {
			out.AppendBytes(cells.bytes(i))
		}
	}
	return out
}
