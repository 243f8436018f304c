package merge

import (
	"bytes"
	"slices"

	"sink/table"
)

// part is an element of an ARRAY or an entry of a MAP, as table's nested encoding has it.
type part struct {
	key   []byte // by which parts are the same; all of an element
	bytes []byte // key and value of an entry, or an element
}

// parts is a list of parts in which one can be found.
type parts struct {
	list []part
	at   map[string]int // index in list by key
}

func (p *parts) reset() {
	p.list = p.list[:0]
	clear(p.at)
}

// put sets the part of a key: in its place, if there is one.
func (p *parts) put(x part) {
	if i, ok := p.at[string(x.key)]; ok {
		p.list[i] = x
		return
	}
	if p.at == nil {
		p.at = map[string]int{}
	}
	p.at[string(x.key)] = len(p.list)
	p.list = append(p.list, x)
}

// value makes the cell of the parts.
func (p *parts) value(c *column) cell {
	b := c.room()
	for _, x := range p.list {
		b = append(b, x.bytes...)
	}
	return c.made(table.EndNested(b))
}

// elements calls fn for the elements of an ARRAY until it returns false.
func (c *column) elements(v cell, fn func(element []byte) bool) {
	if !v.present {
		return
	}
	for r := table.ReadNested(v.bytes); r.More(); {
		if !fn(r.Raw(c.typ.Element)) {
			return
		}
	}
}

// collect appends the elements of an ARRAY (org.apache.paimon.mergetree.compact.aggregate.FieldCollectAgg).
func collect(c *column, acc, in cell) (cell, error) {
	if c.Distinct {
		if !acc.present && !in.present {
			return acc, nil
		}
		c.parts.reset()
		for _, v := range []cell{acc, in} {
			c.elements(v, func(e []byte) bool { c.parts.put(part{e, e}); return true })
		}
		return c.parts.value(c), nil
	}
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	head := acc.bytes[:len(acc.bytes)-1] // without its end
	if c.last(acc) {
		return c.made(append(c.bufs[c.turn][:len(head)], in.bytes...)), nil
	}
	return c.made(append(append(c.room(), head...), in.bytes...)), nil
}

// uncollect removes each element once for every time it is in what is taken back.
func uncollect(c *column, acc, in cell) (cell, error) {
	if !acc.present || !in.present {
		return acc, nil
	}
	left := map[string]int{}
	c.elements(in, func(e []byte) bool { left[string(e)]++; return true })
	if len(left) == 0 {
		return acc, nil
	}
	b := c.room()
	c.elements(acc, func(e []byte) bool {
		if n := left[string(e)]; n > 0 {
			left[string(e)] = n - 1
		} else {
			b = append(b, e...)
		}
		return true
	})
	return c.made(table.EndNested(b)), nil
}

// entries calls fn for the entries of a MAP.
func (c *column) entries(v cell, fn func(part)) {
	for r := table.ReadNested(v.bytes); r.More(); {
		key := r.Raw(c.typ.Key)
		value := r.Raw(c.typ.Element)
		fn(part{key, key[: len(key)+len(value) : len(key)+len(value)]}) // they lie side by side
	}
}

// mergeMap puts the entries of a MAP into another (org.apache.paimon.mergetree.compact.aggregate.FieldMergeMapAgg).
func mergeMap(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	c.parts.reset()
	c.entries(acc, c.parts.put)
	c.entries(in, c.parts.put)
	return c.parts.value(c), nil
}

// unmergeMap removes the keys of what is taken back.
func unmergeMap(c *column, acc, in cell) (cell, error) {
	if !acc.present || !in.present {
		return acc, nil
	}
	c.parts.reset()
	c.entries(in, c.parts.put)
	if len(c.parts.list) == 0 {
		return acc, nil
	}
	b := c.room()
	c.entries(acc, func(x part) {
		if _, gone := c.parts.at[string(x.key)]; !gone {
			b = append(b, x.bytes...)
		}
	})
	return c.made(table.EndNested(b)), nil
}

// nestedRows calls fn for the elements of an ARRAY of ROW that are not null, each with its key: all of it where no key is set.
func (c *column) nestedRows(v cell, fn func(part) bool) {
	c.elements(v, func(e []byte) bool {
		r := table.ReadNested(e)
		if r.Null() {
			return true
		}
		if c.NestedKey == nil {
			return fn(part{e, e})
		}
		members := make([][]byte, len(c.typ.Element.Fields))
		for i := range members {
			members[i] = r.Raw(&c.typ.Element.Fields[i].Type)
		}
		var key []byte
		for _, i := range c.NestedKey {
			key = append(key, members[i]...)
		}
		return fn(part{key, e})
	})
}

// updateNested puts rows into an ARRAY of ROW (org.apache.paimon.mergetree.compact.aggregate.FieldNestedUpdateAgg).
func updateNested(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	size := 0
	c.elements(acc, func([]byte) bool { size++; return true })
	if size >= c.CountLimit {
		return acc, nil
	}
	c.parts.reset()
	put := c.parts.put
	if c.NestedKey == nil {
		put = func(x part) { c.parts.list = append(c.parts.list, x) }
	}
	c.nestedRows(acc, func(x part) bool { put(x); return true })
	room := c.CountLimit - size
	c.nestedRows(in, func(x part) bool {
		if room == 0 {
			return false
		}
		room--
		put(x)
		return true
	})
	return c.parts.value(c), nil
}

// removeNested removes rows from an ARRAY of ROW.
func removeNested(c *column, acc, in cell) (cell, error) {
	if !acc.present || !in.present {
		return acc, nil
	}
	var gone [][]byte
	c.nestedRows(in, func(x part) bool { gone = append(gone, x.key); return true })
	c.parts.reset()
	put := c.parts.put
	if c.NestedKey == nil {
		put = func(x part) { c.parts.list = append(c.parts.list, x) }
	}
	c.nestedRows(acc, func(x part) bool {
		if !slices.ContainsFunc(gone, func(k []byte) bool { return bytes.Equal(k, x.key) }) {
			put(x)
		}
		return true
	})
	return c.parts.value(c), nil
}
