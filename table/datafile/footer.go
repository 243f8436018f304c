package datafile

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

const (
	magic = "PAR1"

	// createdBy has the form that readers look for before they trust statistics: name, version, build.
	createdBy = "sink version 1.0 (build go)"

	formatVersion = 1 // FileMetaData.version; data pages are version 1, too
)

// chunkMeta is what the footer says of a column chunk.
type chunkMeta struct {
	offset             int64 // of the first page, from the start of the file
	dictionary         int64 // bytes of the dictionary page; 0: none
	compressed         int64 // bytes, page headers included
	uncompressed       int64
	values             int64 // level entries: nulls are counted
	nulls              int64
	codec              format.CompressionCodec
	encodings          []format.Encoding
	min, max           []byte // nil: not known
	minExact, maxExact bool
}

// groupMeta is what the footer says of a row group.
type groupMeta struct {
	offset int64
	rows   int64
	chunks []chunkMeta // one a leaf
}

// appendFooter writes the FileMetaData structure.
func appendFooter(c *compact, l *layout, groups []groupMeta) {
	var rows int64
	for i := range groups {
		rows += groups[i].rows
	}
	c.int32(1, formatVersion)
	c.list(2, compactStruct, len(l.elements))
	for i := range l.elements {
		appendElement(c, &l.elements[i], i == 0)
	}
	c.int64(3, rows)
	c.list(4, compactStruct, len(groups))
	for i := range groups {
		appendGroup(c, l, &groups[i], i)
	}
	c.string(6, createdBy)
	c.list(7, compactStruct, len(l.leaves))
	for range l.leaves {
		c.openItem() // ColumnOrder
		c.emptyStruct(1)
		c.closeStruct()
	}
	c.end()
}

// appendElement writes a SchemaElement as parquet-mr does: with the older converted type beside the logical one.
func appendElement(c *compact, e *element, isRoot bool) {
	c.openItem()
	defer c.closeStruct()
	if e.children == 0 && !isRoot {
		p := physicalOf(e.typ)
		c.int32(1, int32(p.typ))
		if p.typ == format.FixedLenByteArray {
			c.int32(2, int32(p.width))
		}
	}
	if !isRoot {
		c.int32(3, int32(e.repeat))
	}
	c.string(4, e.name)
	if e.children > 0 || isRoot {
		c.int32(5, int32(e.children))
	}
	switch {
	case e.group == leafNode:
		appendLeafType(c, e)
		return
	case e.group == listNode:
		c.int32(6, int32(deprecated.List))
	case e.group == mapNode:
		c.int32(6, int32(deprecated.Map))
	case e.group == repeatedKeyValue:
		c.int32(6, int32(deprecated.MapKeyValue))
	}
	if e.id >= 0 {
		c.int32(9, e.id)
	}
	if id := int16(3); e.group == listNode || e.group == mapNode {
		if e.group == mapNode {
			id = 2
		}
		c.openStruct(10)
		c.emptyStruct(id)
		c.closeStruct()
	}
}

// Member ids of the union LogicalType.
const (
	logicalString    = 1
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInt       = 10
)

// appendLeafType writes fields 6 to 10 of a leaf's SchemaElement.
func appendLeafType(c *compact, e *element) {
	t := e.typ
	converted, logical := int32(-1), int16(0)
	switch t.Root {
	case table.Char, table.VarChar:
		converted, logical = int32(deprecated.UTF8), logicalString
	case table.TinyInt:
		converted, logical = int32(deprecated.Int8), logicalInt
	case table.SmallInt:
		converted, logical = int32(deprecated.Int16), logicalInt
	case table.Decimal:
		converted, logical = int32(deprecated.Decimal), logicalDecimal
	case table.Date:
		converted, logical = int32(deprecated.Date), logicalDate
	case table.Time:
		converted, logical = int32(deprecated.TimeMillis), logicalTime
	case table.Timestamp, table.LocalTimestamp:
		switch {
		case t.Precision <= 3:
			converted, logical = int32(deprecated.TimestampMillis), logicalTimestamp
		case t.Precision <= 6:
			converted, logical = int32(deprecated.TimestampMicros), logicalTimestamp
		}
	}
	if converted >= 0 {
		c.int32(6, converted)
	}
	if t.Root == table.Decimal {
		c.int32(7, int32(t.Scale))
		c.int32(8, int32(t.Precision))
	}
	if e.id >= 0 {
		c.int32(9, e.id)
	}
	if logical > 0 {
		c.openStruct(10)
		appendLogicalType(c, t, logical)
		c.closeStruct()
	}
}

// appendLogicalType writes the member of the union LogicalType.
func appendLogicalType(c *compact, t table.Type, logical int16) {
	c.openStruct(logical)
	defer c.closeStruct()
	switch logical {
	case logicalDecimal:
		c.int32(1, int32(t.Scale))
		c.int32(2, int32(t.Precision))
	case logicalInt:
		bits := int8(8)
		if t.Root == table.SmallInt {
			bits = 16
		}
		c.int8(1, bits)
		c.bool(2, true)
	case logicalTime:
		appendUnit(c, true, 1)
	case logicalTimestamp:
		unit := int16(1)
		if t.Precision > 3 {
			unit = 2
		}
		appendUnit(c, t.Root == table.LocalTimestamp, unit)
	}
}

// appendUnit writes the fields of TimeType and TimestampType; the unit is 1 for milliseconds, 2 for microseconds.
func appendUnit(c *compact, utc bool, unit int16) {
	c.bool(1, utc)
	c.openStruct(2)
	c.emptyStruct(unit)
	c.closeStruct()
}

func appendGroup(c *compact, l *layout, g *groupMeta, ordinal int) {
	c.openItem()
	c.list(1, compactStruct, len(g.chunks))
	var compressed, uncompressed int64
	for i := range g.chunks {
		appendChunk(c, &l.leaves[i], &g.chunks[i])
		compressed += g.chunks[i].compressed
		uncompressed += g.chunks[i].uncompressed
	}
	c.int64(2, uncompressed)
	c.int64(3, g.rows)
	c.int64(5, g.offset)
	c.int64(6, compressed)
	if ordinal <= 1<<15-1 {
		c.field(7, compactI16)
		c.listInt32(int32(ordinal))
	}
	c.closeStruct()
}

func appendChunk(c *compact, l *leaf, m *chunkMeta) {
	c.openItem()
	c.int64(2, 0) // file_offset: deprecated, 0 as the specification asks for
	c.openStruct(3)
	c.int32(1, int32(l.physical.typ))
	c.list(2, compactI32, len(m.encodings))
	for _, e := range m.encodings {
		c.listInt32(int32(e))
	}
	c.list(3, compactBinary, len(l.path))
	for _, p := range l.path {
		c.listString(p)
	}
	c.int32(4, int32(m.codec))
	c.int64(5, m.values)
	c.int64(6, m.uncompressed)
	c.int64(7, m.compressed)
	c.int64(9, m.offset+m.dictionary)
	if m.dictionary > 0 {
		c.int64(11, m.offset)
	}
	appendStatistics(c, l, m)
	c.closeStruct()
	c.closeStruct()
}

// appendStatistics writes the Statistics of a chunk. Columns inside a nested one have none: their null count would not
// be what readers take it for.
func appendStatistics(c *compact, l *leaf, m *chunkMeta) {
	if l.maxRep > 0 || len(l.path) > 1 {
		return
	}
	c.openStruct(12)
	c.int64(3, m.nulls)
	if m.min != nil && m.max != nil {
		c.bytes(5, m.max)
		c.bytes(6, m.min)
		c.bool(7, m.maxExact)
		c.bool(8, m.minExact)
	}
	c.closeStruct()
}

// appendPageHeader writes the header of a data page, version 1.
func appendPageHeader(c *compact, uncompressed, compressed, values int, encoding format.Encoding) {
	c.int32(1, int32(format.DataPage))
	c.int32(2, int32(uncompressed))
	c.int32(3, int32(compressed))
	c.openStruct(5)
	c.int32(1, int32(values))
	c.int32(2, int32(encoding))
	c.int32(3, int32(format.RLE))
	c.int32(4, int32(format.RLE))
	c.closeStruct()
	c.end()
}

// appendDictionaryHeader writes the header of a dictionary page.
func appendDictionaryHeader(c *compact, uncompressed, compressed, values int) {
	c.int32(1, int32(format.DictionaryPage))
	c.int32(2, int32(uncompressed))
	c.int32(3, int32(compressed))
	c.openStruct(7)
	c.int32(1, int32(values))
	c.int32(2, int32(format.Plain))
	c.closeStruct()
	c.end()
}
