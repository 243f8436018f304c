package table

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Constructed values in a BinaryRow, little-endian, offsets counted from the start of the image they are in:
//
//	ROW       a row image
//	ARRAY     4 bytes n | a null bit an element, padded to 4 bytes | a slot of 1, 2, 4 or 8 bytes an element | padding to
//	          8 | variable part                                          (org.apache.paimon.data.BinaryArray)
//	MAP       4 bytes length of the keys | keys as an ARRAY | values as an ARRAY      (org.apache.paimon.data.BinaryMap)
//	MULTISET  a MAP from element to INT
//
// Keys, partitions and statistics have none; they are here so that every row has its bytes.

// appendNestedImage appends the cell in which r stands.
func appendNestedImage(dst []byte, t *Type, r *NestedReader) []byte {
	switch t.Root {
	case RowType:
		return appendRowImage(dst, t.Fields, r)
	case Map:
		return appendMapImage(dst, t.Key, t.Element, r)
	case Multiset:
		return appendMapImage(dst, t.Element, &countType, r)
	}
	var elements []NestedReader
	for r.More() {
		elements = append(elements, *r)
		r.skipValue(t.Element)
	}
	return appendArrayImage(dst, t.Element, elements)
}

func appendRowImage(dst []byte, fields []Field, r *NestedReader) []byte {
	start, header := len(dst), rowHeaderBytes(len(fields))
	dst = appendZeros(dst, header+slotBytes*len(fields))
	for i := range fields {
		t := &fields[i].Type
		kind, slot := slotOf(*t), start+header+slotBytes*i
		if r.Null() {
			dst = appendNullField(dst, start, slot, i, kind)
			continue
		}
		dst = appendNestedSlot(dst, start, slot, kind, t, r)
	}
	return dst
}

func appendNestedSlot(dst []byte, start, slot int, kind slotKind, t *Type, r *NestedReader) []byte {
	switch {
	case kind == slotNested:
		return appendSlot(dst, start, slot, kind, t, 0, r.Value(t))
	case t.Layout() == Words:
		return appendSlot(dst, start, slot, kind, t, r.Word(), nil)
	}
	return appendSlot(dst, start, slot, kind, t, 0, r.Bytes())
}

func appendMapImage(dst []byte, key, value *Type, r *NestedReader) []byte {
	var keys, values []NestedReader
	for r.More() {
		keys = append(keys, *r)
		r.skipValue(key)
		values = append(values, *r)
		r.skipValue(value)
	}
	start := len(dst)
	dst = appendArrayImage(appendZeros(dst, 4), key, keys)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return appendArrayImage(dst, value, values)
}

// elementBytes is the width of an element's slot in an array.
func elementBytes(kind slotKind) int {
	switch kind {
	case slot1:
		return 1
	case slot2:
		return 2
	case slot4, slotFloat:
		return 4
	}
	return slotBytes
}

func arrayHeaderBytes(n int) int { return 4 + (n+31)/32*4 }

func appendArrayImage(dst []byte, t *Type, elements []NestedReader) []byte {
	kind := slotOf(*t)
	start, header, width := len(dst), arrayHeaderBytes(len(elements)), elementBytes(kind)
	fixed := header + width*len(elements)
	dst = appendZeros(dst, fixed+pad8(fixed))
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(elements)))
	for i := range elements {
		r := elements[i]
		if r.Null() {
			dst[start+4+i/8] |= 1 << (i % 8)
			continue
		}
		dst = appendNestedSlot(dst, start, start+header+width*i, kind, t, &r)
	}
	return dst
}

var errNestedImage = errors.New("constructed value is cut short or damaged")

// decodeNestedImage appends the nested cell of an image.
func decodeNestedImage(dst, image []byte, t *Type, depth int) ([]byte, error) {
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxTypeDepth)
	}
	switch t.Root {
	case RowType:
		return decodeRowImage(dst, image, t.Fields, depth)
	case Map:
		return decodeMapImage(dst, image, t.Key, t.Element, depth)
	case Multiset:
		return decodeMapImage(dst, image, t.Element, &countType, depth)
	}
	n, err := arrayLength(image, t.Element)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if dst, err = decodeElement(dst, image, n, i, t.Element, depth); err != nil {
			return nil, err
		}
	}
	return EndNested(dst), nil
}

func decodeRowImage(dst, image []byte, fields []Field, depth int) ([]byte, error) {
	header := rowHeaderBytes(len(fields))
	if len(image) < header+slotBytes*len(fields) {
		return nil, errNestedImage
	}
	var err error
	for i := range fields {
		if rowIsNull(image, i) {
			dst = AppendNestedNull(dst)
		} else if dst, err = decodeNestedSlot(dst, image, header+slotBytes*i, &fields[i].Type, depth); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func decodeMapImage(dst, image []byte, key, value *Type, depth int) ([]byte, error) {
	if len(image) < 4 {
		return nil, errNestedImage
	}
	size := binary.LittleEndian.Uint32(image)
	if uint64(size) > uint64(len(image)-4) {
		return nil, errNestedImage
	}
	keys, values := image[4:4+size], image[4+size:]
	n, err := arrayLength(keys, key)
	if err != nil {
		return nil, err
	}
	if m, err := arrayLength(values, value); err != nil || m != n {
		return nil, errNestedImage
	}
	for i := range n {
		if dst, err = decodeElement(dst, keys, n, i, key, depth); err != nil {
			return nil, err
		}
		if dst, err = decodeElement(dst, values, n, i, value, depth); err != nil {
			return nil, err
		}
	}
	return EndNested(dst), nil
}

// arrayLength returns the number of elements of an array image, whose fixed part is all there.
func arrayLength(image []byte, t *Type) (int, error) {
	if len(image) < 4 {
		return 0, errNestedImage
	}
	n := int64(binary.LittleEndian.Uint32(image))
	if n > int64(len(image)) || int64(arrayHeaderBytes(int(n))+elementBytes(slotOf(*t))*int(n)) > int64(len(image)) {
		return 0, errNestedImage
	}
	return int(n), nil
}

func decodeElement(dst, image []byte, n, i int, t *Type, depth int) ([]byte, error) {
	if image[4+i/8]>>(i%8)&1 != 0 {
		return AppendNestedNull(dst), nil
	}
	return decodeNestedSlot(dst, image, arrayHeaderBytes(n)+elementBytes(slotOf(*t))*i, t, depth)
}

func decodeNestedSlot(dst, image []byte, slot int, t *Type, depth int) ([]byte, error) {
	cell := Vector{Layout: t.Layout()}
	if err := decodeSlot(&cell, image, slot, t, depth); err != nil {
		return nil, err
	}
	switch {
	case t.Nested():
		return append(OpenNested(dst), cell.Bytes(0)...), nil
	case cell.Layout == Words:
		return AppendNestedWord(dst, cell.Words[0]), nil
	}
	return AppendNestedBytes(dst, cell.Bytes(0)), nil
}
