package datafile

import (
	"fmt"

	"sink/table"
)

// node is a value inside a nested column and what it takes to write and read it: Dremel's definition and repetition
// levels.
//
// A present value at a node has at least the definition level def; a null stands at def-1, which only an optional node
// has. The elements of an ARRAY or MAP stand at def+1 or above, with repetition level rep+1 but for the first; an empty
// one is a single entry at def. A ROW adds no level of its own.
type node struct {
	name     string
	typ      table.Type
	optional bool
	def      uint8  // definition level of a present value
	rep      uint8  // repetition level in which the node's own list is
	leaves   []int  // the file's leaves below
	children []node // ARRAY: the element; MAP, MULTISET: key, value; ROW: the members
}

// newNode builds the tree of a root. next is the first of its leaves and ends behind the last.
func newNode(name string, t table.Type, optional bool, def, rep uint8, next *int) node {
	n := node{name: name, typ: t, optional: optional, def: def, rep: rep}
	if optional {
		n.def++
	}
	from := *next
	switch t.Root {
	case table.Array:
		n.children = []node{newNode("element", *t.Element, !t.Element.NotNull, n.def+1, rep+1, next)}
	case table.Map:
		n.children = []node{
			newNode("key", *t.Key, false, n.def+1, rep+1, next),
			newNode("value", *t.Element, !t.Element.NotNull, n.def+1, rep+1, next),
		}
	case table.Multiset:
		n.children = []node{
			newNode("key", *t.Element, false, n.def+1, rep+1, next),
			newNode("value", countType, false, n.def+1, rep+1, next),
		}
	case table.RowType:
		for _, f := range t.Fields {
			n.children = append(n.children, newNode(f.Name, f.Type, !f.Type.NotNull, n.def, rep, next))
		}
	default:
		*next++
	}
	for i := from; i < *next; i++ {
		n.leaves = append(n.leaves, i)
	}
	return n
}

// shredder writes the cells of one nested column into the columns of its leaves.
type shredder struct {
	columns []*column // by leaf of the file
	reader  table.NestedReader
}

// gather adds the cells of rows.
func (s *shredder) gather(w *workspace, n *node, g *gatherer, refs []table.Ref) error {
	for _, r := range refs {
		v, row := g.vectors[r.Batch()], r.Row()
		if v.IsNull(row) {
			if err := s.null(n, 0, n.def-1); err != nil {
				return err
			}
		} else {
			s.reader = table.ReadNested(v.Bytes(row))
			if err := s.value(n, 0); err != nil {
				return err
			}
			if err := s.reader.Err(); err != nil {
				return err
			}
		}
		for _, l := range n.leaves {
			if s.columns[l].full() {
				if err := s.columns[l].flushPage(w); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// null adds a null at a node.
func (s *shredder) null(n *node, rep, def uint8) error {
	if !n.optional {
		return fmt.Errorf("%s is NOT NULL, but a row has a null there", n.name)
	}
	s.levels(n, rep, def)
	return nil
}

// levels adds an entry without a value to all leaves below a node.
func (s *shredder) levels(n *node, rep, def uint8) {
	for _, l := range n.leaves {
		s.columns[l].level(rep, def)
	}
}

// level adds an entry without a value.
func (c *column) level(rep, def uint8) {
	if c.leaf.maxRep > 0 {
		c.rep = append(c.rep, rep)
	}
	c.def = append(c.def, def)
	c.entries++
}

// value adds the value at which the reader stands: its mark was consumed and is no null.
func (s *shredder) value(n *node, rep uint8) error {
	switch n.typ.Root {
	case table.RowType:
		for i := range n.children {
			if err := s.member(&n.children[i], rep, n.def); err != nil {
				return err
			}
		}
		return nil
	case table.Array, table.Map, table.Multiset:
		first := true
		for s.reader.More() {
			for i := range n.children {
				if err := s.member(&n.children[i], rep, n.def+1); err != nil {
					return err
				}
			}
			first, rep = false, n.rep+1
		}
		if first {
			s.levels(n, rep, n.def)
		}
		return nil
	}
	c := s.columns[n.leaves[0]]
	c.level(rep, n.def)
	c.values++
	if c.leaf.physical.kind.words() {
		c.words = append(c.words, s.reader.Word())
	} else if cell := s.reader.Bytes(); s.reader.Err() == nil {
		c.body = appendValue(c.body, cell, c.leaf.physical)
	}
	return nil
}

// member adds a value with its mark; def is the level of what it is in.
func (s *shredder) member(n *node, rep, def uint8) error {
	if s.reader.Null() {
		return s.null(n, rep, def)
	}
	return s.value(n, rep)
}
