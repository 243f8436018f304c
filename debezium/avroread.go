package debezium

import (
	"fmt"
	"math"
	"unicode/utf8"

	"encoding/binary"

	"sink/table"
)

// avroReader reads Avro's binary encoding. After the first fault, failed is set, every value is zero and nothing is read
// any more.
type avroReader struct {
	b           []byte
	i           int
	counted     int64 // of arrays and maps so far
	failed      bool
	placeholder *placeholder
}

// errAvro is the error of bytes that are not what their schema says.
func (r *avroReader) err() error {
	if r.failed {
		return bad(ReasonMalformed, "Avro bytes do not fit their schema, near byte %d", r.i)
	}
	return nil
}

// long reads an int or a long. Most are of one byte: lengths, and which type of a union follows.
func (r *avroReader) long() int64 {
	if r.i < len(r.b) && r.b[r.i] < 0x80 && !r.failed {
		r.i++
		u := r.b[r.i-1]
		return int64(u>>1) ^ -int64(u&1)
	}
	return r.longer()
}

func (r *avroReader) longer() int64 {
	u, n := binary.Uvarint(r.b[r.i:])
	if n <= 0 || r.failed {
		r.failed = true
		return 0
	}
	r.i += n
	return int64(u>>1) ^ -int64(u&1)
}

// take reads n bytes.
func (r *avroReader) take(n int64) []byte {
	if r.failed || n < 0 || n > int64(len(r.b)-r.i) {
		r.failed = true
		return nil
	}
	b := r.b[r.i : r.i+int(n)]
	r.i += int(n)
	return b
}

// bytes reads bytes or a string.
func (r *avroReader) bytes() []byte { return r.take(r.long()) }

// option reads which type of a union follows.
func (r *avroReader) option(t *avroType) *avroType {
	i := r.long()
	if i < 0 || i >= int64(len(t.options)) {
		r.failed = true
		return &avroNothing
	}
	return t.options[i]
}

var avroNothing = avroType{kind: avroNull}

// block reads the head of a block of an array or map: how many items follow; 0 at the end.
func (r *avroReader) block() int64 {
	n := r.long()
	if n < 0 {
		if n = -n; n < 0 {
			r.failed = true
		}
		r.long() // its size in bytes
	}
	if r.counted += min(n, math.MaxInt32); r.counted > int64(len(r.b)) { // items of no bytes are nulls: nobody has so many
		r.failed = true
	}
	if r.failed {
		return 0
	}
	return n
}

// skip passes over a value.
func (r *avroReader) skip(t *avroType) {
	switch t.kind {
	case avroUnion:
		r.skip(r.option(t))
	case avroBoolean:
		r.take(1)
	case avroInt, avroLong, avroEnum:
		r.skipLong()
	case avroFloat:
		r.take(4)
	case avroDouble:
		r.take(8)
	case avroBytes, avroString:
		r.bytes()
	case avroFixed:
		r.take(int64(t.size))
	case avroArray:
		for n := r.block(); n > 0; n = r.block() {
			for ; n > 0 && !r.failed; n-- {
				r.skip(t.elem)
			}
		}
	case avroMap:
		for n := r.block(); n > 0; n = r.block() {
			for ; n > 0 && !r.failed; n-- {
				r.bytes()
				r.skip(t.elem)
			}
		}
	case avroRecord:
		r.skipRecord(t)
	}
}

// skipRecord passes over a record. Every event's images go through here before they are read, for the op comes last.
func (r *avroReader) skipRecord(t *avroType) {
	for i := range t.fields {
		typ := t.fields[i].typ
		if typ.kind == avroUnion {
			typ = r.option(typ)
		}
		switch typ.kind {
		case avroNull:
		case avroInt, avroLong:
			r.skipLong()
		case avroBytes, avroString:
			r.bytes()
		default:
			r.skip(typ)
		}
	}
}

// skipLong passes over an int or a long.
func (r *avroReader) skipLong() {
	for i := r.i; i < len(r.b) && i < r.i+binary.MaxVarintLen64 && !r.failed; i++ {
		if c := r.b[i]; c < 0x80 {
			r.failed = c > 1 && i == r.i+binary.MaxVarintLen64-1 // more than 64 bits
			r.i = i + 1
			return
		}
	}
	r.failed = true
}

// cell reads a value into one cell. It returns errUnavailable for a placeholder, having appended nothing.
func (r *avroReader) cell(t *avroType, c *cell, v *table.Vector) error {
	if t.kind == avroUnion {
		t = r.option(t)
	}
	switch t.kind {
	case avroNull:
		if r.failed {
			return r.err()
		}
		return c.null(v)
	case avroInt, avroLong:
		n := r.long()
		if t.kind == avroInt && n != int64(int32(n)) {
			r.failed = true
		}
		if r.failed || c.integer == nil {
			return r.refuse(c, t)
		}
		return c.integer(c, v, n)
	case avroString, avroEnum:
		return r.text(t, c, v)
	case avroBytes, avroFixed:
		return r.binary(t, c, v)
	case avroBoolean:
		b := r.take(1)
		if r.failed = r.failed || b[0] > 1; r.failed || c.boolean == nil {
			return r.refuse(c, t)
		}
		return c.boolean(c, v, b[0] != 0)
	case avroFloat, avroDouble:
		return r.float(t, c, v)
	}
	return r.nested(t, c, v)
}

// refuse says why a value cannot be read.
func (r *avroReader) refuse(c *cell, t *avroType) error {
	if r.failed {
		return r.err()
	}
	return c.wrong(t.means.String() + " of Avro")
}

func (r *avroReader) float(t *avroType, c *cell, v *table.Vector) error {
	var f float64
	if t.kind == avroFloat {
		if b := r.take(4); b != nil {
			f = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	} else if b := r.take(8); b != nil {
		f = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	if r.failed || c.float == nil {
		return r.refuse(c, t)
	}
	return c.float(c, v, f)
}

func (r *avroReader) text(t *avroType, c *cell, v *table.Vector) error {
	var b []byte
	if t.kind == avroEnum {
		i := r.long()
		if i < 0 || i >= int64(len(t.symbols)) {
			r.failed = true
		} else {
			b = append(c.buf[:0], t.symbols[i]...)
			c.buf = b
		}
	} else {
		b = r.bytes()
	}
	switch {
	case r.failed:
		return r.err()
	case !utf8.Valid(b):
		return bad(ReasonMalformed, "string is not UTF-8")
	case !c.inside && r.placeholder.is(b):
		return errUnavailable
	case c.text == nil || c.from.sort == sortBytes || c.from.sort == sortDecimal: // their text is base64, in JSON only
		return r.refuse(c, t)
	}
	return c.text(c, v, b)
}

func (r *avroReader) binary(t *avroType, c *cell, v *table.Vector) error {
	n := int64(t.size)
	if t.kind == avroBytes {
		n = r.long()
	}
	b := r.take(n)
	if r.failed || c.bytes == nil {
		return r.refuse(c, t)
	}
	if !c.inside && string(b) == r.placeholder.text {
		return errUnavailable
	}
	return c.bytes(c, v, b)
}

// nested reads an array, a map or a record.
func (r *avroReader) nested(t *avroType, c *cell, v *table.Vector) error {
	switch {
	case t.kind == avroRecord && c.from.sort == sortVarDecimal && !c.typ.Nested():
		return r.scaled(t, c, v)
	case t.kind == avroRecord && c.typ.Root == table.RowType:
		return r.row(t, c, v)
	case t.kind == avroArray && c.typ.Root == table.Array:
		if !c.inside && r.placeholder.avroArray(r, t) {
			return errUnavailable
		}
		return r.items(t, c, v)
	case t.pairs && c.typ.Root == table.Map:
		return r.pairs(t, c, v)
	case t.kind == avroMap && c.typ.Root == table.Map:
		if !c.inside && r.placeholder.avroMap(r, t) {
			return errUnavailable
		}
		return r.entries(t, c, v)
	}
	return r.refuse(c, t)
}

// scaled reads a VariableScaleDecimal.
func (r *avroReader) scaled(t *avroType, c *cell, v *table.Vector) error {
	scale, value := int64(0), []byte(nil)
	for i := range t.fields {
		switch f := &t.fields[i]; {
		case f.name == "scale" && f.typ.kind == avroInt:
			scale = r.long()
		case f.name == "value" && f.typ.kind == avroBytes:
			value = r.bytes()
		default:
			r.skip(f.typ)
		}
	}
	if r.failed {
		return r.err()
	}
	if scale < -maxPlainDigits || scale > maxPlainDigits {
		return c.misfit(fmt.Sprintf("a number of scale %d", scale))
	}
	return c.unscaledBytes(v, value, int(scale))
}

// one reads an element, a key or a member into its temporary cell.
func (r *avroReader) one(t *avroType, c *cell) error {
	c.tmp.Truncate(0)
	return r.cell(t, c, &c.tmp)
}

func (r *avroReader) items(t *avroType, c *cell, v *table.Vector) error {
	for n := r.block(); n > 0; n = r.block() {
		for ; n > 0; n-- {
			if err := r.one(t.elem, c.elem); err != nil {
				return err
			}
			v.Data = c.elem.emit(v.Data)
		}
	}
	return endNested(v, r.err())
}

// pairs reads a map that is an array of records of key and value.
func (r *avroReader) pairs(t *avroType, c *cell, v *table.Vector) error {
	c.entries.spans = c.entries.spans[:0]
	for n := r.block(); n > 0; n = r.block() {
		for ; n > 0; n-- {
			if err := r.one(t.elem.fields[0].typ, c.key); err != nil {
				return err
			}
			start := c.emitKey(v)
			if err := r.one(t.elem.fields[1].typ, c.elem); err != nil {
				return err
			}
			c.emitValue(v, start)
		}
	}
	return c.endMap(v, r.err())
}

func (r *avroReader) entries(t *avroType, c *cell, v *table.Vector) error {
	c.entries.spans = c.entries.spans[:0]
	for n := r.block(); n > 0; n = r.block() {
		for ; n > 0; n-- {
			if err := r.one(&avroText, c.key); err != nil {
				return err
			}
			start := c.emitKey(v)
			if err := r.one(t.elem, c.elem); err != nil {
				return err
			}
			c.emitValue(v, start)
		}
	}
	return c.endMap(v, r.err())
}

var avroText = avroType{kind: avroString}

func (r *avroReader) row(t *avroType, c *cell, v *table.Vector) error {
	for _, m := range c.members {
		m.tmp.Truncate(0)
	}
	for i := range t.fields {
		k, ok := c.names[t.fields[i].name]
		if !ok {
			return bad(ReasonUnknown, "member %s is not in %s; add it to the column's type", t.fields[i].name, c.typ)
		}
		if err := r.one(t.fields[i].typ, c.members[k]); err != nil {
			return inMember(t.fields[i].name, err)
		}
	}
	return c.endRow(v)
}

// avroArray reports whether the array at r.i is the placeholder, and passes over it if so.
func (p *placeholder) avroArray(r *avroReader, t *avroType) bool {
	elem, null := t.elem.optional()
	if elem == nil || elem.kind != avroString && elem.kind != avroBytes && elem.kind != avroInt && elem.kind != avroLong {
		return false
	}
	a := avroReader{b: r.b, i: r.i}
	n := a.block()
	numbers := elem.kind == avroInt || elem.kind == avroLong
	if a.failed || numbers && n != int64(len(p.text)) || !numbers && n != 1 {
		return false
	}
	for k := range int(n) {
		if null >= 0 && a.long() == null {
			return false
		}
		if numbers && a.long() != int64(p.text[k]) || !numbers && !p.isElement(a.bytes()) {
			return false
		}
	}
	if a.block() != 0 || a.failed {
		return false
	}
	r.i = a.i
	return true
}

// avroMap reports whether the map at r.i is the placeholder, and passes over it if so.
func (p *placeholder) avroMap(r *avroReader, t *avroType) bool {
	elem, null := t.elem.optional()
	if elem == nil || elem.kind != avroString {
		return false
	}
	a := avroReader{b: r.b, i: r.i}
	if a.block() != 1 || string(a.bytes()) != p.text || null >= 0 && a.long() == null || string(a.bytes()) != p.text || a.block() != 0 || a.failed {
		return false
	}
	r.i = a.i
	return true
}
