package table

import (
	"encoding/binary"
	"math"
)

// KeyEncoder writes some columns of a row as bytes whose bytes.Compare order is Paimon's key order: column after column;
// false before true; numbers, decimals, dates and times by value; strings and binary by unsigned bytes, a prefix first;
// null first. FLOAT and DOUBLE have -0.0 before 0.0 and NaN last, as Paimon 2.1 sorts them (1.3 has no order for these).
//
//	a nullable column   0x00 for null, else 0x01 and the value
//	Words               big-endian, the sign bit flipped, in the width of the type; floats with the bits turned as usual
//	CHAR .. VARBINARY   0x00 escaped as 0x00 0xFF, then 0x00 0x01; the last column that is NOT NULL as it is
//	DECIMAL(19..38)     16 bytes, the sign bit flipped
//	TIMESTAMP(7..9)     its 12 bytes
//
// A KeyEncoder holds no state between rows and is safe for concurrent use.
type KeyEncoder struct {
	columns []keyColumn
	width   int
}

type keyColumn struct {
	kind     keyKind
	index    int // in the batch
	nullable bool
}

type keyKind uint8

const (
	keyBool keyKind = iota + 1
	key1
	key2
	key4
	key8
	keyFloat
	keyDouble
	keyString
	keyTail // a string that ends the key
	keyDecimal
	keyNanos
)

// keyWidths are the encoded bytes by kind; strings have no fixed width.
var keyWidths = [...]int{
	keyBool: 1, key1: 1, key2: 2, key4: 4, key8: 8, keyFloat: 4, keyDouble: 8, keyDecimal: 16, keyNanos: nanoTimestampBytes,
}

// NewKeyEncoder returns an encoder of the batch's columns cols, whose types are types, one a column. Constructed types
// are no keys; Validate refuses them, here they panic.
func NewKeyEncoder(types []Type, cols []int) *KeyEncoder {
	e := &KeyEncoder{columns: make([]keyColumn, len(cols))}
	for i, c := range cols {
		t := types[i]
		k := keyColumn{kind: keyKindOf(t), index: c, nullable: !t.NotNull}
		if k.kind == keyString {
			e.width = -1
			if i == len(cols)-1 && t.NotNull {
				k.kind = keyTail
			}
		} else if e.width >= 0 {
			e.width += keyWidths[k.kind]
		}
		if k.nullable {
			e.width = -1
		}
		e.columns[i] = k
	}
	return e
}

func keyKindOf(t Type) keyKind {
	switch t.Root {
	case Boolean:
		return keyBool
	case TinyInt:
		return key1
	case SmallInt:
		return key2
	case Int, Date, Time:
		return key4
	case Float:
		return keyFloat
	case Double:
		return keyDouble
	case Char, VarChar, Binary, VarBinary:
		return keyString
	case Decimal:
		if t.Precision > 18 {
			return keyDecimal
		}
	case Timestamp, LocalTimestamp:
		if t.Precision > 6 {
			return keyNanos
		}
	case Array, Map, Multiset, RowType:
		panic("table: " + t.String() + " is no key")
	}
	return key8
}

// FixedWidth returns the bytes of every key if they are the same for all rows, else -1.
func (e *KeyEncoder) FixedWidth() int { return e.width }

// Append appends a row's key.
func (e *KeyEncoder) Append(dst []byte, b *Batch, row int) []byte {
	for i := range e.columns {
		c := &e.columns[i]
		v := &b.Columns[c.index]
		if c.nullable {
			if v.IsNull(row) {
				dst = append(dst, 0)
				continue
			}
			dst = append(dst, 1)
		}
		switch c.kind {
		case keyTail:
			dst = append(dst, v.Bytes(row)...)
		case keyString:
			dst = appendEscaped(dst, v.Bytes(row))
		case keyDecimal:
			at := len(dst)
			dst = append(dst, v.Bytes(row)...)
			dst[at] ^= 0x80
		case keyNanos:
			dst = append(dst, v.Bytes(row)...)
		default:
			dst = appendKeyWord(dst, c.kind, v.Words[row])
		}
	}
	return dst
}

func appendKeyWord(dst []byte, kind keyKind, w int64) []byte {
	switch kind {
	case keyBool:
		return append(dst, byte(w))
	case key1:
		return append(dst, byte(w)^0x80)
	case key2:
		return binary.BigEndian.AppendUint16(dst, uint16(w)^1<<15)
	case key4:
		return binary.BigEndian.AppendUint32(dst, uint32(w)^1<<31)
	case keyFloat:
		return binary.BigEndian.AppendUint32(dst, sortableFloat(uint32(w)))
	case keyDouble:
		return binary.BigEndian.AppendUint64(dst, sortableDouble(uint64(w)))
	}
	return binary.BigEndian.AppendUint64(dst, uint64(w)^1<<63)
}

// Uint64 returns the key as a number whose order is the keys'. It is for encoders with a FixedWidth of 1 to 8 over one
// column: a BIGINT or INT key, say. Keys of the same encoder only compare with each other.
func (e *KeyEncoder) Uint64(b *Batch, row int) uint64 {
	c := &e.columns[0]
	w := b.Columns[c.index].Words[row]
	switch c.kind {
	case keyFloat:
		return uint64(sortableFloat(uint32(w)))
	case keyDouble:
		return sortableDouble(uint64(w))
	}
	return uint64(w) ^ 1<<63
}

// IsUint64 reports whether [KeyEncoder.Uint64] may be called.
func (e *KeyEncoder) IsUint64() bool { return len(e.columns) == 1 && e.width >= 1 && e.width <= 8 }

// sortableFloat turns IEEE bits into a number that sorts as the floats do, any NaN last.
func sortableFloat(bits uint32) uint32 {
	if bits&^(1<<31) > 0x7f800000 {
		return math.MaxUint32
	}
	if bits>>31 != 0 {
		return ^bits
	}
	return bits | 1<<31
}

// sortableDouble does the same for a DOUBLE.
func sortableDouble(bits uint64) uint64 {
	if bits&^(1<<63) > 0x7ff0<<48 {
		return math.MaxUint64
	}
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// appendEscaped appends a string so that it sorts before every longer one and ends where another column begins.
func appendEscaped(dst, s []byte) []byte {
	from := 0
	for i, c := range s {
		if c == 0 {
			dst = append(dst, s[from:i+1]...)
			dst = append(dst, 0xff)
			from = i + 1
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, 0, 1)
}
