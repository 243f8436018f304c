package table

import (
	"encoding/binary"
	"fmt"
)

// The nested encoding is how a [Vector] holds a cell of ARRAY, MAP, MULTISET or ROW: its values one after the other,
// each after a mark, in one pass and to any depth. Nothing is counted in advance, so it can be written while the source
// is being read.
//
//	cell     ARRAY     value... end
//	         MULTISET  (value, value of INT)... end        the element and how often it is there
//	         MAP       (value, value)... end               key, value
//	         ROW       value, one a member, in the order of the type
//	value    0x00                       null
//	         0x01, 8 bytes              layout Words, little-endian
//	         0x01, uvarint n, n bytes   layout Bytes of a type that is not nested
//	         0x01, cell                 ARRAY, MAP, MULTISET, ROW inside another
//	end      0x02
//
// Values have the units of a Vector's cells. A cell itself has no mark: whether it is null is in Vector.Nulls. An empty
// ARRAY is one end, a ROW of two nulls is 00 00. Keys of a MAP and elements of a MULTISET are not null.
const (
	nestedNull    = 0x00
	nestedPresent = 0x01
	nestedEnd     = 0x02
)

// AppendNestedNull appends a null value to a cell in the making (append to Vector.Data, then Vector.EndCell).
func AppendNestedNull(dst []byte) []byte { return append(dst, nestedNull) }

// AppendNestedWord appends a value of layout Words.
func AppendNestedWord(dst []byte, w int64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, nestedPresent), uint64(w))
}

// AppendNestedBytes appends a value of layout Bytes whose type is not nested.
func AppendNestedBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(append(dst, nestedPresent), uint64(len(b)))
	return append(dst, b...)
}

// OpenNested begins a nested value inside another; the parts of its cell follow. The cell of a Vector itself is not
// opened.
func OpenNested(dst []byte) []byte { return append(dst, nestedPresent) }

// EndNested ends an ARRAY, MAP or MULTISET, be it the cell itself or inside. A ROW has no end: it has all its members.
func EndNested(dst []byte) []byte { return append(dst, nestedEnd) }

// NestedReader goes through a nested cell, in the order in which it was written:
//
//	r := table.ReadNested(v.Bytes(i))          // ARRAY<INT>
//	for r.More() {
//		if r.Null() {
//			...
//		} else {
//			use(r.Word())
//		}
//	}
//	if err := r.Err(); err != nil { ... }
//
// For a nested value inside, Null consumes the mark and the reader stands in its cell. After an error More is false,
// Null is true and every value is zero. Cells that this package made are correct, so a caller that does not read foreign
// bytes may leave Err out.
type NestedReader struct {
	rest []byte
	bad  bool
}

// ReadNested returns a reader of a cell. It keeps the slice.
func ReadNested(cell []byte) NestedReader { return NestedReader{rest: cell} }

// More reports whether another element or entry follows in an ARRAY, MAP or MULTISET; at the end it consumes it.
func (r *NestedReader) More() bool {
	if len(r.rest) == 0 {
		r.fail()
		return false
	}
	if r.rest[0] == nestedEnd {
		r.rest = r.rest[1:]
		return false
	}
	return true
}

// Null consumes the mark of the next value and reports whether it is null.
func (r *NestedReader) Null() bool {
	if len(r.rest) == 0 || r.rest[0] > nestedPresent {
		r.fail()
		return true
	}
	null := r.rest[0] == nestedNull
	r.rest = r.rest[1:]
	return null
}

// Word returns the value of layout Words whose mark was consumed.
func (r *NestedReader) Word() int64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	w := int64(binary.LittleEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	return w
}

// Bytes returns the value of layout Bytes whose mark was consumed. The slice belongs to the cell.
func (r *NestedReader) Bytes() []byte {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		r.fail()
		return nil
	}
	b := r.rest[size : size+int(n)]
	r.rest = r.rest[size+int(n):]
	return b
}

// Skip passes over a value, of the given type, whose mark was consumed.
func (r *NestedReader) Skip(t *Type) {
	switch {
	case t.Nested():
		r.skipCell(t)
	case t.Layout() == Words:
		r.Word()
	default:
		r.Bytes()
	}
}

// Value returns the bytes of the nested cell in which the reader stands, and passes over it.
func (r *NestedReader) Value(t *Type) []byte {
	before := r.rest
	r.skipCell(t)
	if r.bad {
		return nil
	}
	return before[:len(before)-len(r.rest)]
}

// Raw returns the bytes of the next value with its mark, and passes over it. Equal values have equal bytes, but for MAP and
// MULTISET, whose order counts.
func (r *NestedReader) Raw(t *Type) []byte {
	before := r.rest
	r.skipValue(t)
	if r.bad {
		return nil
	}
	return before[:len(before)-len(r.rest)]
}

func (r *NestedReader) skipCell(t *Type) {
	switch t.Root {
	case RowType:
		for i := range t.Fields {
			r.skipValue(&t.Fields[i].Type)
		}
	case Map:
		for r.More() {
			r.skipValue(t.Key)
			r.skipValue(t.Element)
		}
	case Multiset:
		for r.More() {
			r.skipValue(t.Element)
			r.skipValue(&countType)
		}
	default:
		for r.More() {
			r.skipValue(t.Element)
		}
	}
}

func (r *NestedReader) skipValue(t *Type) {
	if !r.Null() {
		r.Skip(t)
	}
}

// countType is the type of a MULTISET's counts.
var countType = Type{Root: Int, NotNull: true}

func (r *NestedReader) fail() { r.bad, r.rest = true, nil }

// Err returns an error if the bytes ended early or had a mark where none may be.
func (r *NestedReader) Err() error {
	if r.bad {
		return fmt.Errorf("nested value is cut short or damaged")
	}
	return nil
}

// CheckNested tells whether b is one whole cell of the type, in which no key of a MAP and no element of a MULTISET is null.
func CheckNested(b []byte, t Type) error {
	r := ReadNested(b)
	if r.check(&t, 0); r.bad {
		return fmt.Errorf("%s: nested value is cut short or damaged", t)
	}
	if len(r.rest) > 0 {
		return fmt.Errorf("%s: %d bytes after the nested value", t, len(r.rest))
	}
	return nil
}

func (r *NestedReader) check(t *Type, depth int) {
	if depth > maxTypeDepth {
		r.fail()
		return
	}
	switch t.Root {
	case RowType:
		for i := range t.Fields {
			r.checkValue(&t.Fields[i].Type, false, depth)
		}
	case Map:
		for r.More() {
			r.checkValue(t.Key, true, depth)
			r.checkValue(t.Element, false, depth)
		}
	case Multiset:
		for r.More() {
			r.checkValue(t.Element, true, depth)
			r.checkValue(&countType, true, depth)
		}
	default:
		for r.More() {
			r.checkValue(t.Element, false, depth)
		}
	}
}

func (r *NestedReader) checkValue(t *Type, never bool, depth int) {
	switch {
	case r.Null():
		if never {
			r.fail()
		}
	case t.Nested():
		r.check(t, depth+1)
	default:
		r.Skip(t)
	}
}
