package datafile

import (
	"io"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

// RowGroup is a row group that a [Merger] has come to and that lies between the rows of all its other sources: it can be
// copied as it is, without a look at its rows (see [Writer.CopyGroup]). It is good until the merger's next call.
type RowGroup struct {
	reader *Reader
	meta   *format.RowGroup
	copied bool
}

// Rows returns how many rows it has.
func (g *RowGroup) Rows() int64 { return g.meta.NumRows }

// sizeBytes is what it takes in the file.
func (g *RowGroup) sizeBytes() (n int64) {
	for i := range g.meta.Columns {
		n += g.meta.Columns[i].MetaData.TotalCompressedSize
	}
	return n
}

// bounds returns the least and the greatest value of a wanted column, or wider ones; nil where they are not known.
func (g *RowGroup) bounds(column int) *table.Vector { return g.reader.groupRange(column).Bounds }

// ends reads cells of the first and the last row. Rows of the group cannot be read any more then.
func (g *RowGroup) ends(fields []table.Field, columns []int) (*table.Batch, error) {
	r := g.reader
	if err := r.openGroup(); err != nil {
		return nil, err
	}
	out := table.NewBatch(fields)
	for _, c := range columns {
		cells := table.Vector{Layout: out.Columns[c].Layout}
		for left := r.left; left > 0; left -= int64(cells.Len()) {
			first := left == r.left
			cells.Truncate(0)
			if err := r.columns[c].read(&cells, int(min(left, r.most, mergeBatchRows))); err != nil {
				return nil, err
			}
			if first {
				out.Columns[c].AppendCell(&cells, 0)
			}
		}
		out.Columns[c].AppendCell(&cells, cells.Len()-1)
	}
	out.Kinds = append(out.Kinds, table.Insert, table.Insert)
	r.left = 0
	return out, nil
}

// grouped is a source that can tell whether its next rows are a row group.
type grouped interface {
	// nextGroup returns the row group that comes next, nil in the middle of one, and io.EOF after the last row.
	nextGroup() (*RowGroup, error)
}

func (r *Reader) nextGroup() (*RowGroup, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.left > 0 || r.may != nil || r.append:
		return nil, nil
	case r.group == len(r.file.meta.RowGroups):
		return nil, io.EOF
	}
	return &RowGroup{reader: r, meta: &r.file.meta.RowGroups[r.group]}, nil
}

func (c *chain) nextGroup() (*RowGroup, error) {
	for {
		if err := c.begin(); err != nil {
			return nil, err
		}
		s, ok := c.now.(grouped)
		if !ok {
			return nil, nil
		}
		g, err := s.nextGroup()
		if err != io.EOF {
			return g, err
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
}

// copyable tells whether a row group holds what the format would write of its rows, and whether its footer tells enough of them for
// the entry of the file that it comes into.
func (f *Format) copyable(g *RowGroup) bool {
	r := g.reader
	if r.schema != f.cfg.Schema.ID || r.deletes != 0 || r.file.meta.CreatedBy != createdBy || len(r.file.leaves) != len(f.layout.leaves) {
		return false
	}
	for i := range f.layout.leaves {
		l, have := &f.layout.leaves[i], r.file.leaves[i]
		m := &g.meta.Columns[i].MetaData
		if m.Codec != f.codec && m.Codec != format.Uncompressed || l.physical.typ != m.Type || l.maxDef != have.def || l.maxRep != have.rep || !slices.Equal(l.path, m.PathInSchema) {
			return false
		}
		if l.twin < 0 && !f.tells(l, m) {
			return false
		}
	}
	return true
}

// tells reports whether the statistics of a chunk are as good as its values for those of a file.
func (f *Format) tells(l *leaf, m *format.ColumnMetaData) bool {
	s := &m.Statistics
	if l.column == sequenceColumn {
		return s.MinValue != nil && s.MaxValue != nil
	}
	if l.column < 0 || l.typ.Nested() || len(l.path) > 1 || s.NullCount == m.NumValues {
		return true
	}
	if slices.Contains(f.keyCols, l.column) && !enough(l, s, table.KeyStatsMode) {
		return false
	}
	return f.cfg.Stats == nil || enough(l, s, f.cfg.Stats[l.column])
}

// enough reports whether the bounds of a chunk, of which long ones are cut, give what a mode keeps of them.
func enough(l *leaf, s *format.Statistics, mode table.StatsMode) bool {
	switch {
	case mode.Level < table.StatsTruncate:
		return true
	case l.physical.kind == cellFloat || l.physical.kind == cellDouble:
		return true // without bounds there is a NaN
	case s.MinValue == nil || s.MaxValue == nil:
		return false
	case l.physical.kind != cellBytes:
		return true
	}
	for _, v := range [][]byte{s.MinValue, s.MaxValue} {
		cut := len(v) > maxStatisticBytes-utf8.UTFMax
		if cut && (mode.Level == table.StatsFull || utf8.RuneCount(v) <= mode.Length) {
			return false
		}
	}
	return true
}
