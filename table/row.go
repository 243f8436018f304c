package table

import (
	"encoding/binary"
	"fmt"
)

// BinaryRow (org.apache.paimon.data.BinaryRow), the form of keys, partitions and statistics in manifests:
//
//	4 bytes big-endian arity | row image, little-endian:
//	    header: byte 0 row kind (0 here), then a null bit a field, padded to a multiple of 8 bytes
//	    a slot of 8 bytes a field
//	    variable part, each piece padded to a multiple of 8
//
// A slot holds a fixed-width value, or up to 7 bytes with 0x80|length in its last byte, or offset<<32|length of a piece
// of the variable part, counted from the start of the image. A DECIMAL above 18 digits always takes 16 bytes there and
// a TIMESTAMP above 3 digits 8 (its slot holds the nanoseconds of the millisecond for a length); both take their room
// for a null, too. Bytes not used are zero: rows are compared and hashed as bytes.
const (
	rowPrefixBytes = 4
	slotBytes      = 8
	inlineBytes    = 7    // the longest string that a slot holds
	inlineMark     = 0x80 // in the last byte of such a slot
)

// rowHeaderBytes is the width of the header of a row of n fields.
func rowHeaderBytes(n int) int { return (n + 8 + 63) / 64 * 8 }

// slotKind is how a column's value lies in its slot.
type slotKind uint8

const (
	slot1 slotKind = iota + 1
	slot2
	slot4
	slot8
	slotFloat // any NaN as Java's one
	slotDouble
	slotString
	slotDecimal // 16 bytes in the variable part
	slotMicros  // 8 bytes in the variable part and nanoseconds, from microseconds
	slotNanos   // the same, from the 12 bytes of a nano timestamp
	slotNested
)

func slotOf(t Type) slotKind {
	switch t.Root {
	case Boolean, TinyInt:
		return slot1
	case SmallInt:
		return slot2
	case Int, Date, Time:
		return slot4
	case Float:
		return slotFloat
	case Double:
		return slotDouble
	case Decimal:
		if t.Precision > 18 {
			return slotDecimal
		}
	case Timestamp, LocalTimestamp:
		switch {
		case t.Precision > 6:
			return slotNanos
		case t.Precision > 3:
			return slotMicros
		}
	case Char, VarChar, Binary, VarBinary:
		return slotString
	case Array, Map, Multiset, RowType:
		return slotNested
	}
	return slot8
}

// RowEncoder writes some columns of a batch's rows as BinaryRows. It holds no state between rows and is safe for
// concurrent use.
type RowEncoder struct {
	columns []rowColumn
	header  int
	fixed   int // header and slots
}

type rowColumn struct {
	kind  slotKind
	index int // in the batch
	typ   Type
}

// NewRowEncoder returns an encoder of the batch's columns cols, whose types are types, one a column.
func NewRowEncoder(types []Type, cols []int) *RowEncoder {
	e := &RowEncoder{columns: make([]rowColumn, len(cols)), header: rowHeaderBytes(len(cols))}
	e.fixed = e.header + slotBytes*len(cols)
	for i, c := range cols {
		e.columns[i] = rowColumn{kind: slotOf(types[i]), index: c, typ: types[i]}
	}
	return e
}

// Append appends a row as a serialised BinaryRow, arity first.
func (e *RowEncoder) Append(dst []byte, b *Batch, row int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.columns)))
	start := len(dst)
	dst = appendZeros(dst, e.fixed)
	for i := range e.columns {
		c := &e.columns[i]
		dst = appendField(dst, start, e.header, i, c.kind, &c.typ, &b.Columns[c.index], row)
	}
	return dst
}

// EncodeRow appends cell row of each vector as one serialised BinaryRow, arity first.
func EncodeRow(dst []byte, types []Type, cols []*Vector, row int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(cols)))
	start, header := len(dst), rowHeaderBytes(len(cols))
	dst = appendZeros(dst, header+slotBytes*len(cols))
	for i, v := range cols {
		dst = appendField(dst, start, header, i, slotOf(types[i]), &types[i], v, row)
	}
	return dst
}

// EmptyRow is the serialised BinaryRow without fields: the partition of a table without partition columns.
const EmptyRow = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func appendZeros(dst []byte, n int) []byte {
	var zeros [64]byte
	for n > len(zeros) {
		dst = append(dst, zeros[:]...)
		n -= len(zeros)
	}
	return append(dst, zeros[:n]...)
}

// appendField writes field i of the row whose image begins at dst[start].
func appendField(dst []byte, start, header, i int, kind slotKind, t *Type, v *Vector, row int) []byte {
	slot := start + header + slotBytes*i
	if v.IsNull(row) {
		return appendNullField(dst, start, slot, i, kind)
	}
	w, b := v.cell(row)
	return appendSlot(dst, start, slot, kind, t, w, b)
}

func appendNullField(dst []byte, start, slot, i int, kind slotKind) []byte {
	dst[start+(i+8)/8] |= 1 << (i % 8)
	switch kind {
	case slotDecimal:
		return appendPiece(dst, start, slot, 0, 16)
	case slotMicros, slotNanos:
		return appendPiece(dst, start, slot, 0, 8)
	}
	return dst
}

// appendSlot fills a slot with a cell, its word or bytes, and appends what goes into the variable part.
func appendSlot(dst []byte, start, slot int, kind slotKind, t *Type, w int64, b []byte) []byte {
	switch kind {
	case slot1:
		dst[slot] = byte(w)
	case slot2:
		binary.LittleEndian.PutUint16(dst[slot:], uint16(w))
	case slot4:
		binary.LittleEndian.PutUint32(dst[slot:], uint32(w))
	case slot8:
		binary.LittleEndian.PutUint64(dst[slot:], uint64(w))
	case slotFloat:
		binary.LittleEndian.PutUint32(dst[slot:], oneNaN32(uint32(w)))
	case slotDouble:
		binary.LittleEndian.PutUint64(dst[slot:], oneNaN64(uint64(w)))
	case slotString:
		return appendString(dst, start, slot, b)
	case slotDecimal:
		b = minimalBytes(b)
		dst = appendPiece(dst, start, slot, len(b), 16)
		copy(dst[len(dst)-16:], b)
	case slotMicros:
		millis, nanos := splitMicros(w)
		dst = appendPiece(dst, start, slot, int(nanos), 8)
		binary.LittleEndian.PutUint64(dst[len(dst)-8:], uint64(millis))
	case slotNanos:
		millis, nanos := SplitNanoTimestamp(b)
		dst = appendPiece(dst, start, slot, int(nanos), 8)
		binary.LittleEndian.PutUint64(dst[len(dst)-8:], uint64(millis))
	case slotNested:
		at := len(dst)
		r := ReadNested(b)
		dst = appendNestedImage(dst, t, &r)
		binary.LittleEndian.PutUint64(dst[slot:], uint64(at-start)<<32|uint64(uint32(len(dst)-at)))
		return appendZeros(dst, pad8(len(dst)-at))
	}
	return dst
}

// appendPiece appends room of the given bytes and lets the slot point to it, with the given length.
func appendPiece(dst []byte, start, slot, length, room int) []byte {
	offset := len(dst) - start
	binary.LittleEndian.PutUint64(dst[slot:], uint64(offset)<<32|uint64(uint32(length)))
	return appendZeros(dst, room)
}

// pad8 is what n lacks to a multiple of 8.
func pad8(n int) int { return -n & 7 }

func appendString(dst []byte, start, slot int, s []byte) []byte {
	if len(s) <= inlineBytes {
		copy(dst[slot:], s)
		dst[slot+7] = inlineMark | byte(len(s))
		return dst
	}
	binary.LittleEndian.PutUint64(dst[slot:], uint64(len(dst)-start)<<32|uint64(uint32(len(s))))
	dst = append(dst, s...)
	return appendZeros(dst, pad8(len(s)))
}

// oneNaN32 and oneNaN64 turn any NaN into the one that Java makes, so that equal keys have equal bytes.
func oneNaN32(bits uint32) uint32 {
	if bits&^(1<<31) > 0x7f800000 {
		return 0x7fc00000
	}
	return bits
}

func oneNaN64(bits uint64) uint64 {
	if bits&^(1<<63) > 0x7ff0<<48 {
		return 0x7ff8 << 48
	}
	return bits
}

// minimalBytes cuts leading bytes of a big-endian two's complement that say nothing but the sign.
func minimalBytes(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// splitMicros splits microseconds into milliseconds, rounded down, and the nanoseconds of that millisecond.
func splitMicros(micros int64) (millis int64, nanos int32) {
	millis = micros / 1000
	rest := micros % 1000
	if rest < 0 {
		millis--
		rest += 1000
	}
	return millis, int32(rest * 1000)
}

// DecodeRow reads a serialised BinaryRow of the given types into a batch of one row of kind +I. Bytes that are no such row
// are an error.
func DecodeRow(b []byte, types []Type) (*Batch, error) {
	out := &Batch{Columns: make([]Vector, len(types)), Kinds: []Kind{Insert}}
	for i := range types {
		out.Columns[i].Layout = types[i].Layout()
	}
	if len(b) < rowPrefixBytes {
		return nil, fmt.Errorf("row of %d bytes is cut short", len(b))
	}
	if n := binary.BigEndian.Uint32(b); int64(n) != int64(len(types)) {
		return nil, fmt.Errorf("row has %d fields, but %d are expected", n, len(types))
	}
	image := b[rowPrefixBytes:]
	header := rowHeaderBytes(len(types))
	if len(image) < header+slotBytes*len(types) {
		return nil, fmt.Errorf("row of %d bytes is too short for %d fields", len(b), len(types))
	}
	for i := range types {
		v := &out.Columns[i]
		if rowIsNull(image, i) {
			v.AppendNull()
			continue
		}
		if err := decodeSlot(v, image, header+slotBytes*i, &types[i], 0); err != nil {
			return nil, fmt.Errorf("row field %d (%s): %w", i, types[i], err)
		}
	}
	return out, nil
}

func rowIsNull(image []byte, i int) bool { return image[(i+8)/8]>>(i%8)&1 != 0 }

// decodeSlot appends the value of a slot, which is not null, to a vector.
func decodeSlot(v *Vector, image []byte, slot int, t *Type, depth int) error {
	word := slotWord(image[slot:])
	switch kind := slotOf(*t); kind {
	case slot1:
		v.AppendWord(int64(int8(word)))
	case slot2:
		v.AppendWord(int64(int16(word)))
	case slot4:
		v.AppendWord(int64(int32(word)))
	case slotFloat:
		v.AppendWord(int64(uint32(word)))
	case slot8, slotDouble:
		v.AppendWord(int64(word))
	case slotString:
		if word>>56&inlineMark != 0 {
			n := int(word >> 56 &^ inlineMark)
			if n > inlineBytes {
				return fmt.Errorf("%d bytes in a slot", n)
			}
			v.AppendBytes(image[slot : slot+n])
			return nil
		}
		piece, err := pieceOf(image, word, int(uint32(word)))
		if err != nil {
			return err
		}
		v.AppendBytes(piece)
	case slotDecimal:
		return decodeWideDecimal(v, image, word)
	case slotMicros, slotNanos:
		return decodeTimestamp(v, image, word, kind)
	case slotNested:
		piece, err := pieceOf(image, word, int(uint32(word)))
		if err != nil {
			return err
		}
		if v.Data, err = decodeNestedImage(v.Data, piece, t, depth+1); err != nil {
			return err
		}
		v.EndCell()
	}
	return nil
}

// slotWord reads a slot, which may be narrower than 8 bytes at the end of an array.
func slotWord(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// pieceOf returns n bytes of the variable part at the slot's offset.
func pieceOf(image []byte, word uint64, n int) ([]byte, error) {
	offset := int(word >> 32)
	if offset > len(image) || n > len(image)-offset {
		return nil, fmt.Errorf("%d bytes at %d are outside of the row's %d", n, offset, len(image))
	}
	return image[offset : offset+n], nil
}

func decodeWideDecimal(v *Vector, image []byte, word uint64) error {
	n := int(uint32(word))
	if n < 1 || n > 16 {
		return fmt.Errorf("decimal of %d bytes", n)
	}
	piece, err := pieceOf(image, word, n)
	if err != nil {
		return err
	}
	v.Data = appendSigned16(v.Data, piece)
	v.EndCell()
	return nil
}

// appendSigned16 appends big-endian two's complement of at most 16 bytes, widened to 16.
func appendSigned16(dst, b []byte) []byte {
	sign := byte(0)
	if len(b) > 0 && b[0] >= 0x80 {
		sign = 0xff
	}
	for range 16 - len(b) {
		dst = append(dst, sign)
	}
	return append(dst, b...)
}

func decodeTimestamp(v *Vector, image []byte, word uint64, kind slotKind) error {
	piece, err := pieceOf(image, word, 8)
	if err != nil {
		return err
	}
	millis, nanos := int64(binary.LittleEndian.Uint64(piece)), uint32(word)
	if nanos >= nanosPerMilli {
		return fmt.Errorf("%d nanoseconds in a millisecond", nanos)
	}
	if kind == slotNanos {
		v.Data = AppendNanoTimestamp(v.Data, millis, int32(nanos))
		v.EndCell()
		return nil
	}
	micros, ok := mulAdd(millis, 1000, int64(nanos/1000))
	if !ok {
		return fmt.Errorf("timestamp of %d ms does not fit microseconds", millis)
	}
	v.AppendWord(micros)
	return nil
}
