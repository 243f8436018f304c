package datafile

import (
	"encoding/binary"
)

// compact appends the Thrift compact protocol, as far as Parquet's headers and footers need it. Fields of a structure
// are written in ascending order of their ids; between openStruct and closeStruct ids count anew.
//
// parquet-go's own encoder leaves out a field id of 0, which Paimon's first column has.
type compact struct {
	b    []byte
	last int16   // id of the field before, in the structure that is open
	up   []int16 // the same of those around it
}

// The types of the compact protocol that Parquet uses.
const (
	compactTrue   = 1
	compactFalse  = 2
	compactI8     = 3
	compactI16    = 4
	compactI32    = 5
	compactI64    = 6
	compactBinary = 8
	compactList   = 9
	compactStruct = 12
)

func (c *compact) reset(b []byte) { c.b, c.last, c.up = b, 0, c.up[:0] }

func (c *compact) field(id int16, kind byte) {
	if d := id - c.last; d > 0 && d <= 15 {
		c.b = append(c.b, byte(d)<<4|kind)
	} else {
		c.b = binary.AppendUvarint(append(c.b, kind), zigzag(int64(id)))
	}
	c.last = id
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

func (c *compact) bool(id int16, v bool) {
	if v {
		c.field(id, compactTrue)
	} else {
		c.field(id, compactFalse)
	}
}

func (c *compact) int8(id int16, v int8) {
	c.field(id, compactI8)
	c.b = append(c.b, byte(v))
}

func (c *compact) int32(id int16, v int32) {
	c.field(id, compactI32)
	c.b = binary.AppendUvarint(c.b, zigzag(int64(v)))
}

func (c *compact) int64(id int16, v int64) {
	c.field(id, compactI64)
	c.b = binary.AppendUvarint(c.b, zigzag(v))
}

func (c *compact) bytes(id int16, v []byte) {
	c.field(id, compactBinary)
	c.b = append(binary.AppendUvarint(c.b, uint64(len(v))), v...)
}

func (c *compact) string(id int16, v string) {
	c.field(id, compactBinary)
	c.listString(v)
}

// openStruct begins a field that is a structure.
func (c *compact) openStruct(id int16) {
	c.field(id, compactStruct)
	c.openItem()
}

// openItem begins a structure that is an item of a list.
func (c *compact) openItem() {
	c.up = append(c.up, c.last)
	c.last = 0
}

func (c *compact) closeStruct() {
	c.b = append(c.b, 0)
	c.last = c.up[len(c.up)-1]
	c.up = c.up[:len(c.up)-1]
}

// end closes the outermost structure.
func (c *compact) end() { c.b = append(c.b, 0) }

// emptyStruct writes a structure without fields: a member of a union such as LogicalType.
func (c *compact) emptyStruct(id int16) {
	c.openStruct(id)
	c.closeStruct()
}

// list begins a list of n items, which follow.
func (c *compact) list(id int16, kind byte, n int) {
	c.field(id, compactList)
	if n < 15 {
		c.b = append(c.b, byte(n)<<4|kind)
		return
	}
	c.b = binary.AppendUvarint(append(c.b, 0xf0|kind), uint64(n))
}

func (c *compact) listInt32(v int32) { c.b = binary.AppendUvarint(c.b, zigzag(int64(v))) }

func (c *compact) listString(v string) {
	c.b = append(binary.AppendUvarint(c.b, uint64(len(v))), v...)
}
