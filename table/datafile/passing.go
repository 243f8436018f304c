package datafile

import (
	"bytes"
	"errors"
	"io"

	"sink/table"
)

// A file of many rows and a few small ones that bring new rows for some of its keys share few of its row groups. A Merger that may
// (see MergeConfig.Copies) does not begin to read a row group where it comes to one: the group stands in the tree as a row would,
// with a key that none of its rows is less than. When it is the first of all, and all other sources are beyond its last row, it is
// the caller's to copy; else it is read.

// passing is what a Merger knows of row groups.
type passing struct {
	copies func(*RowGroup) bool // nil: all are read
	order  rowOrder             // of keys alone
	key    []int                // columns
	edges  *table.Batch         // of the least and the greatest key of a row group
	of     *mergeInput          // whose group is the caller's now
}

func newPassing(cfg MergeConfig) passing {
	if cfg.Copies == nil {
		return passing{}
	}
	return passing{copies: cfg.Copies, order: newRowOrder(MergeConfig{Fields: cfg.Fields, Key: cfg.Key}), key: cfg.Key, edges: table.NewBatch(cfg.Fields)}
}

// Group returns the row group that comes before the rows of the next call of NextRows, which has returned no rows then; nil if there is
// none. It has to be copied before that call.
func (m *Merger) Group() *RowGroup {
	if m.passing.of == nil {
		return nil
	}
	return m.passing.of.group
}

// stand puts the row group that comes next, if there is one, at the head of the source. One whose bounds are not known is read
// instead.
func (s *mergeInput) stand() (bool, error) {
	p := &s.merger.passing
	source, ok := s.source.(grouped)
	if p.copies == nil || !ok {
		return false, nil
	}
	g, err := source.nextGroup()
	if g == nil || err != nil {
		if err == io.EOF {
			err = nil // as reading will tell
		}
		return false, err
	}
	p.edges.Reset()
	for _, c := range p.key {
		cells := g.bounds(c)
		if cells == nil {
			return false, nil
		}
		p.edges.Columns[c].AppendCell(cells, 0)
		p.edges.Columns[c].AppendCell(cells, 1)
	}
	p.edges.Kinds = append(p.edges.Kinds, table.Insert, table.Insert)
	before := s.key
	p.order.encode(&s.edges, p.edges)
	p.order.view(&s.key, &s.edges, 0)
	p.order.view(&s.upper, &s.edges, 1)
	if s.above = s.batch != nil && !p.order.before(before, s.key); s.above { // as the bounds of a key of several columns may be
		s.floor = append(s.floor[:0], before.key...)
		s.key = keyView{prefix: before.prefix, key: s.floor}
	}
	s.group = g
	return true, nil
}

// place is where the head comes among those of the same key: a row group that may begin with it before the rows, one that does not
// behind them.
func (s *mergeInput) place() int {
	switch {
	case s.group == nil:
		return 0
	case s.above:
		return 1
	}
	return -1
}

// before tells whether a key comes before another.
func (o *rowOrder) before(a, b keyView) bool {
	if a.prefix != b.prefix || o.words {
		return a.prefix < b.prefix
	}
	return bytes.Compare(a.key, b.key) < 0
}

// pass reports whether the rows so far, or the row group at the head, are to be returned; else the group has been opened.
func (m *Merger) pass(head *mergeInput) (bool, error) {
	if m.alone(head) {
		if len(m.out.Refs) > 0 {
			return true, nil
		}
		if m.passing.copies(head.group) {
			m.passing.of = head
			return true, nil
		}
	}
	head.group = nil
	if err := head.read(); err != nil {
		return false, err
	}
	if !head.done {
		if err := head.show(); err != nil {
			return false, err
		}
	}
	m.tree.replay(head.index)
	return false, nil
}

// alone tells whether all other sources are beyond the row group at the head.
func (m *Merger) alone(head *mergeInput) bool {
	for _, s := range m.sources {
		if s != head && !s.done && !m.passing.order.before(head.upper, s.key) {
			return false
		}
	}
	return true
}

// passed goes on behind the row group that was returned.
func (m *Merger) passed() error {
	s := m.passing.of
	if s == nil {
		return nil
	}
	if !s.group.copied {
		return errors.New("a row group was neither read nor copied")
	}
	m.passing.of, s.group = nil, nil
	if err := s.advance(); err != nil {
		return err
	}
	m.tree.replay(s.index)
	return nil
}
