package datafile

import (
	"io"

	"sink/table"
)

// flat appends n entries of a column that is not nested to a vector.
func (l *leafReader) flat(dst *table.Vector, n int) error {
	for n > 0 {
		if err := l.ensure(); err != nil {
			return entriesMissing(err)
		}
		k := min(n, l.entries-l.pos)
		switch {
		case dst.Layout == table.Words:
			l.flatWords(dst, k)
		default:
			l.flatBytes(dst, k)
		}
		l.pos += k
		n -= k
	}
	return nil
}

func entriesMissing(err error) error {
	if err == io.EOF {
		return damaged("a column has fewer values than its row group has rows")
	}
	return err
}

// present counts the values among the next n entries.
func (l *leafReader) present(n int) int {
	if l.def == nil {
		return n
	}
	count := 0
	for _, d := range l.def[l.pos : l.pos+n] {
		if d == l.node.def {
			count++
		}
	}
	return count
}

func (l *leafReader) flatWords(dst *table.Vector, n int) {
	if l.present(n) == n {
		dst.Words = append(dst.Words, l.values.words[l.value:l.value+n]...)
		l.value += n
		dst.Nulls = appendFalse(dst.Nulls, n)
		return
	}
	for _, d := range l.def[l.pos : l.pos+n] {
		if d != l.node.def {
			dst.AppendNull()
			continue
		}
		dst.AppendWord(l.values.words[l.value])
		l.value++
	}
}

// appendFalse extends a vector's nulls, which has them only if some cell is null.
func appendFalse(nulls []bool, n int) []bool {
	if nulls == nil {
		return nil
	}
	for range n {
		nulls = append(nulls, false)
	}
	return nulls
}

func (l *leafReader) flatBytes(dst *table.Vector, n int) {
	nulls := l.present(n) < n
	for i := range n {
		if nulls && l.def[l.pos+i] != l.node.def {
			dst.AppendNull()
			continue
		}
		dst.AppendBytes(l.values.bytes(l.value))
		l.value++
	}
}

// take passes over one entry.
func (l *leafReader) take() error {
	if err := l.ensure(); err != nil {
		return entriesMissing(err)
	}
	if l.defLevel() == l.node.def {
		l.value++
	}
	l.pos++
	return nil
}

// defLevel returns the definition level of the entry that ensure made available.
func (l *leafReader) defLevel() uint8 {
	if l.def == nil {
		return l.node.def
	}
	return l.def[l.pos]
}

// again tells whether the next entry is a further element at the repetition level.
func (l *leafReader) again(rep uint8) (bool, error) {
	switch err := l.ensure(); {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, err
	}
	return l.rep != nil && l.rep[l.pos] >= rep, nil
}

// nestedCells appends n cells of a nested column to a vector.
func (n *readNode) nestedCells(dst *table.Vector, rows int) error {
	for range rows {
		null, err := n.null()
		if err != nil {
			return err
		}
		if null {
			dst.AppendNull()
			continue
		}
		if dst.Data, err = n.cell(dst.Data); err != nil {
			return err
		}
		dst.EndCell()
	}
	return nil
}

// null tells whether the next value is null, and then passes over it.
func (n *readNode) null() (bool, error) {
	first := n.leaves[0]
	if err := first.ensure(); err != nil {
		return false, entriesMissing(err)
	}
	if first.defLevel() >= n.def {
		return false, nil
	}
	return true, n.skip()
}

// skip passes over an entry of every leaf.
func (n *readNode) skip() error {
	for _, l := range n.leaves {
		if err := l.take(); err != nil {
			return err
		}
	}
	return nil
}

// cell appends the parts of a nested cell that is not null.
func (n *readNode) cell(dst []byte) ([]byte, error) {
	var err error
	if n.typ.Root == table.RowType {
		for i := range n.children {
			if dst, err = n.children[i].value(dst); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	first := n.leaves[0]
	if first.defLevel() < n.elements {
		return table.EndNested(dst), n.skip()
	}
	for more := true; more; {
		for i := range n.children {
			if dst, err = n.children[i].value(dst); err != nil {
				return dst, err
			}
		}
		if more, err = first.again(n.rep); err != nil {
			return dst, err
		}
	}
	return table.EndNested(dst), nil
}

// value appends a value with its mark.
func (n *readNode) value(dst []byte) ([]byte, error) {
	null, err := n.null()
	if err != nil {
		return dst, err
	}
	if null {
		return table.AppendNestedNull(dst), nil
	}
	if n.typ.Nested() {
		return n.cell(table.OpenNested(dst))
	}
	l := n.leaves[0]
	if n.typ.Layout() == table.Words {
		dst = table.AppendNestedWord(dst, l.values.words[l.value])
	} else {
		dst = table.AppendNestedBytes(dst, l.values.bytes(l.value))
	}
	return dst, l.take()
}
