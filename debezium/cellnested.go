package debezium

import (
	"errors"
	"fmt"

	"sink/table"
)

// toNested: ARRAY, MAP and ROW. Members of a ROW are found by name; one that the row type lacks is refused, here when it
// is declared and at the record when it is not: nothing is left out in silence.
func (c *cell) toNested() error {
	var err error
	switch {
	case c.typ.Root == table.Array && (c.from.sort == sortArray || c.from.sort == sortAny):
		c.array = arrayOfArray
		c.elem, err = c.child(c.from.elem, *c.typ.Element)
	case c.typ.Root == table.Map && (c.from.sort == sortMap || c.from.sort == sortAny):
		c.object, c.array = mapOfObject, mapOfPairs
		if c.key, err = c.child(c.from.key, *c.typ.Key); err == nil {
			c.key.typ.NotNull = true
			c.elem, err = c.child(c.from.elem, *c.typ.Element)
		}
	case c.typ.Root == table.RowType && (c.from.sort == sortStruct || c.from.sort == sortVarDecimal || c.from.sort == sortAny):
		c.object = rowOfObject
		err = c.children()
	case c.from.sort == sortAny: // MULTISET: no form fits, but a column that no event has may be there
	default:
		err = fmt.Errorf("%s of the source cannot become %s; give the column another type, or leave it out", c.from, c.typ)
	}
	return err
}

// child compiles an element, a key or a member.
func (c *cell) child(d *declared, typ table.Type) (*cell, error) {
	k, err := makeCell(&cell{typ: typ, from: d, types: c.types, inside: true, inRow: c.typ.Root == table.RowType})
	if err == nil {
		k.tmp.Layout = typ.Layout()
	}
	return k, err
}

func (c *cell) children() error {
	c.names = make(map[string]int, len(c.typ.Fields))
	for i, f := range c.typ.Fields {
		c.names[f.Name] = i
		var d *declared
		for j := range c.from.members {
			if c.from.members[j].name == f.Name {
				d = &c.from.members[j].declared
			}
		}
		k, err := c.child(d, f.Type)
		if err != nil {
			return fmt.Errorf("member %s: %w", f.Name, err)
		}
		c.members = append(c.members, k)
	}
	for i := range c.from.members {
		if name := c.from.members[i].name; !c.has(name) {
			return fmt.Errorf("member %s of the source's %s is not in %s; add it to the column's type", name, c.from, c.typ)
		}
	}
	return nil
}

func (c *cell) has(member string) bool {
	_, ok := c.names[member]
	return ok
}

// read reads a value into c.tmp.
func (c *cell) read(r *reader) error {
	c.tmp.Truncate(0)
	null, err := r.null()
	switch {
	case err != nil:
		return err
	case null:
		return c.null(&c.tmp)
	}
	return r.value(c, &c.tmp)
}

// emit appends what is in c.tmp to a nested cell in the making.
func (c *cell) emit(dst []byte) []byte {
	switch {
	case c.tmp.IsNull(0):
		return table.AppendNestedNull(dst)
	case c.typ.Nested():
		return append(table.OpenNested(dst), c.tmp.Bytes(0)...)
	case c.tmp.Layout == table.Words:
		return table.AppendNestedWord(dst, c.tmp.Words[0])
	}
	return table.AppendNestedBytes(dst, c.tmp.Bytes(0))
}

func arrayOfArray(c *cell, r *reader, v *table.Vector) error {
	more, err := r.open('[')
	for more && err == nil {
		if err = c.elem.read(r); err != nil {
			break
		}
		v.Data = c.elem.emit(v.Data)
		more, err = r.next(']')
	}
	return endNested(v, err)
}

func endNested(v *table.Vector, err error) error {
	if err != nil {
		return err
	}
	v.Data = table.EndNested(v.Data)
	v.EndCell()
	return nil
}

// mapOfObject reads a map whose keys are text, which JsonConverter writes as an object.
func mapOfObject(c *cell, r *reader, v *table.Vector) error {
	c.entries.spans = c.entries.spans[:0]
	more, err := r.open('{')
	for more && err == nil {
		var name []byte
		if name, err = r.name(); err != nil {
			break
		}
		if c.key.text == nil {
			return c.key.wrong(show(name))
		}
		c.key.tmp.Truncate(0)
		if err = c.key.text(c.key, &c.key.tmp, name); err != nil {
			break
		}
		start := c.emitKey(v)
		if err = c.elem.read(r); err != nil {
			break
		}
		c.emitValue(v, start)
		more, err = r.next('}')
	}
	return c.endMap(v, err)
}

// emitKey appends the key of an entry, which is in its temporary cell, and returns where it begins.
func (c *cell) emitKey(v *table.Vector) (start int) {
	start = len(v.Data)
	v.Data = c.key.emit(v.Data)
	return start
}

// emitValue appends the value behind the key that begins at start.
func (c *cell) emitValue(v *table.Vector, start int) {
	value := len(v.Data)
	v.Data = c.elem.emit(v.Data)
	c.entries.spans = append(c.entries.spans, span{start: start, value: value, end: len(v.Data)})
}

func (c *cell) endMap(v *table.Vector, err error) error {
	if err == nil {
		c.entries.once(v)
	}
	return endNested(v, err)
}

// mapOfPairs reads any other map, which JsonConverter writes as an array of pairs.
func mapOfPairs(c *cell, r *reader, v *table.Vector) error {
	c.entries.spans = c.entries.spans[:0]
	more, err := r.open('[')
	for more && err == nil {
		if err = c.pair(r, v); err != nil {
			break
		}
		more, err = r.next(']')
	}
	return c.endMap(v, err)
}

func (c *cell) pair(r *reader, v *table.Vector) error {
	if err := r.expect('['); err != nil {
		return err
	}
	if err := c.key.read(r); err != nil {
		return err
	}
	start := c.emitKey(v)
	if err := r.expect(','); err != nil {
		return err
	}
	if err := c.elem.read(r); err != nil {
		return err
	}
	c.emitValue(v, start)
	return r.expect(']')
}

func rowOfObject(c *cell, r *reader, v *table.Vector) error {
	for _, m := range c.members {
		m.tmp.Truncate(0)
	}
	more, err := r.open('{')
	for more && err == nil {
		var name []byte
		if name, err = r.name(); err != nil {
			break
		}
		i, ok := c.names[string(name)]
		if !ok {
			return bad(ReasonUnknown, "member %s is not in %s; add it to the column's type", show(name), c.typ)
		}
		if err = c.members[i].read(r); err != nil {
			return inMember(c.typ.Fields[i].Name, err)
		}
		more, err = r.next('}')
	}
	if err != nil {
		return err
	}
	return c.endRow(v)
}

// endRow makes a ROW of the members that were read. Those that were not are null.
func (c *cell) endRow(v *table.Vector) error {
	for i, m := range c.members {
		if m.tmp.Len() == 0 {
			if err := m.null(&m.tmp); err != nil {
				return inMember(c.typ.Fields[i].Name, err)
			}
		}
		v.Data = m.emit(v.Data)
	}
	v.EndCell()
	return nil
}

// inMember says in which member of a ROW a value is wrong.
func inMember(name string, err error) error {
	if e, ok := errors.AsType[*valueError](err); ok {
		return &valueError{reason: e.reason, err: fmt.Errorf("member %s: %w", name, e.err)}
	}
	return err
}
