package datafile

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

// readNode is a value of a column in a file: what [node] is to the writer, with the levels that the file has.
type readNode struct {
	typ      table.Type
	optional bool
	def      uint8 // definition level of a present value
	rep      uint8 // repetition level of a further element; ARRAY, MAP and MULTISET
	elements uint8 // definition level from which on there is an element
	leaves   []*leafReader
	children []readNode
}

// binder finds the leaves that a column needs.
type binder struct {
	file   *parquetFile
	leaves []*leafReader
	raw    []byte // see leafReader.raw
}

// bind makes a readNode of a node of the file, which has to be of the given type.
func (b *binder) bind(t table.Type, n *fileNode) (readNode, error) {
	out := readNode{typ: t, optional: n.repeat == format.Optional, def: n.def}
	from := len(b.leaves)
	var err error
	switch t.Root {
	case table.Array:
		err = b.bindList(&out, n)
	case table.Map:
		err = b.bindMap(&out, n, *t.Key, *t.Element)
	case table.Multiset:
		err = b.bindMap(&out, n, *t.Element, countType)
	case table.RowType:
		err = b.bindRow(&out, n)
	default:
		err = b.bindLeaf(t, n)
	}
	out.leaves = b.leaves[from:len(b.leaves):len(b.leaves)]
	return out, err
}

func (b *binder) bindLeaf(t table.Type, n *fileNode) error {
	if n.children != nil {
		return fmt.Errorf("it is a group in the file, which is no %s", t)
	}
	convert, err := newConverter(t, n.element)
	if err != nil {
		return err
	}
	if w := n.element.TypeLength.V; n.element.Type.V == format.FixedLenByteArray && (w <= 0 || w > maxPageBytes) {
		return damaged("a width of %d bytes", w)
	}
	l := &leafReader{node: n, convert: convert, raw: &b.raw}
	if !l.words() {
		l.raw = new([]byte)
	}
	l.window.src = b.file.src
	b.leaves = append(b.leaves, l)
	return nil
}

// bindList takes the three levels of a LIST, and the older two, in which the repeated node is the element itself.
func (b *binder) bindList(out *readNode, n *fileNode) error {
	if len(n.children) != 1 || n.children[0].repeat != format.Repeated {
		return fmt.Errorf("it is no LIST in the file")
	}
	repeated := &n.children[0]
	out.elements, out.rep = repeated.def, repeated.rep
	element := repeated
	if len(repeated.children) == 1 && repeated.name() != "array" && repeated.name() != n.name()+"_tuple" {
		element = &repeated.children[0]
	}
	child, err := b.bind(*out.typ.Element, element)
	if element == repeated {
		child.optional = false
	}
	out.children = []readNode{child}
	return err
}

func (b *binder) bindMap(out *readNode, n *fileNode, key, value table.Type) error {
	if len(n.children) != 1 || n.children[0].repeat != format.Repeated || len(n.children[0].children) != 2 {
		return fmt.Errorf("it is no MAP in the file")
	}
	repeated := &n.children[0]
	out.elements, out.rep = repeated.def, repeated.rep
	for i, t := range []table.Type{key, value} {
		child, err := b.bind(t, &repeated.children[i])
		if err != nil {
			return err
		}
		out.children = append(out.children, child)
	}
	return nil
}

func (b *binder) bindRow(out *readNode, n *fileNode) error {
	if n.children == nil {
		return fmt.Errorf("it is no group in the file")
	}
	for _, f := range out.typ.Fields {
		member := n.child(f.Name)
		if member == nil {
			return fmt.Errorf("its member %s is not in the file", f.Name)
		}
		if member.repeat == format.Repeated {
			return fmt.Errorf("%s: a repeated member outside of a LIST or MAP is not read", f.Name)
		}
		child, err := b.bind(f.Type, member)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		out.children = append(out.children, child)
	}
	return nil
}

// bindColumn binds a top-level column by name; ok is false if the file has none.
func (b *binder) bindColumn(name string, t table.Type) (node readNode, ok bool, err error) {
	n := b.file.root.child(name)
	if n == nil {
		return readNode{}, false, nil
	}
	if n.repeat == format.Repeated {
		return readNode{}, false, fmt.Errorf("column %s: a repeated column outside of a LIST or MAP is not read", name)
	}
	node, err = b.bind(t, n)
	if err != nil {
		return readNode{}, false, fmt.Errorf("column %s: %w", name, err)
	}
	return node, true, nil
}

// formatOf returns the format of a file by what is after the last dot of its name.
func formatOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
