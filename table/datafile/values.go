package datafile

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// values are decoded values of a page or a dictionary: words for BOOLEAN, INT32, INT64, FLOAT (its bits) and DOUBLE,
// bytes for BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY and INT96.
type values struct {
	words []int64
	data  []byte   // value i is data[ends[i-1]+gap : ends[i]], from gap on for the first
	ends  []uint32 // one a value
	gap   uint32

	own []byte // memory for data
	i32 []int32
	tmp []byte
}

func (v *values) reset() { v.words, v.ends, v.data, v.gap = v.words[:0], v.ends[:0], nil, 0 }

// bytes returns value i of layout Bytes.
func (v *values) bytes(i int) []byte {
	start := v.gap
	if i > 0 {
		start += v.ends[i-1]
	}
	return v.data[start:v.ends[i]]
}

// decode decodes n values of a physical type. src may be kept.
func (v *values) decode(encoding format.Encoding, typ format.Type, width, n int, src []byte) error {
	v.reset()
	if n == 0 {
		return nil
	}
	switch encoding {
	case format.Plain:
		return v.decodePlain(typ, width, n, src)
	case format.RLE:
		if typ == format.Boolean {
			return v.decodeRunBooleans(n, src)
		}
	case format.DeltaBinaryPacked:
		return v.decodeDelta(typ, n, src)
	case format.DeltaLengthByteArray, format.DeltaByteArray:
		return v.decodeDeltaBytes(encoding, typ, width, n, src)
	case format.ByteStreamSplit:
		return v.decodeSplit(typ, width, n, src)
	}
	return damaged("encoding %s of %s values", encoding, typ)
}

func (v *values) decodePlain(typ format.Type, width, n int, src []byte) error {
	if need := plainWidth(typ, width); need > 0 && len(src)/need < n {
		return damaged("%d bytes for %d values of %s", len(src), n, typ)
	}
	switch typ {
	case format.Boolean:
		if (n+7)/8 > len(src) {
			return damaged("%d bytes for %d truth values", len(src), n)
		}
		v.words = extendWords(v.words, n)
		for i := range v.words {
			v.words[i] = int64(src[i>>3] >> (i & 7) & 1)
		}
	case format.Int32:
		v.words = extendWords(v.words, n)
		for i := range v.words {
			v.words[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case format.Float:
		v.words = extendWords(v.words, n)
		for i := range v.words {
			v.words[i] = int64(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case format.Int64, format.Double:
		v.words = extendWords(v.words, n)
		for i := range v.words {
			v.words[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
		}
	case format.ByteArray:
		return v.decodeLengths(n, src)
	default:
		v.fixed(src, plainWidth(typ, width), n)
	}
	return nil
}

// plainWidth is the bytes of a value of fixed width.
func plainWidth(typ format.Type, width int) int {
	switch typ {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return width
	}
	return 0
}

// decodeLengths finds n strings, each after its length.
func (v *values) decodeLengths(n int, src []byte) error {
	at := 0
	for range n {
		if len(src)-at < 4 {
			return damaged("a string is cut short")
		}
		size := int(binary.LittleEndian.Uint32(src[at:]))
		if at += 4; size > len(src)-at {
			return damaged("a string of %d bytes in %d", size, len(src)-at)
		}
		at += size
		v.ends = append(v.ends, uint32(at))
	}
	v.data, v.gap = src, 4
	return nil
}

// fixed takes n values of equal width.
func (v *values) fixed(src []byte, width, n int) {
	v.data = src
	for i := range n {
		v.ends = append(v.ends, uint32((i+1)*width))
	}
}

// decodeRunBooleans decodes truth values in the encoding RLE, which begins with a length.
func (v *values) decodeRunBooleans(n int, src []byte) error {
	if len(src) < 4 {
		return damaged("truth values are cut short")
	}
	h := hybrid{src: src[4:], width: 1}
	var err error
	if v.i32, err = h.values(v.i32[:0], n); err != nil {
		return err
	}
	for _, b := range v.i32 {
		v.words = append(v.words, int64(b))
	}
	return nil
}

func (v *values) decodeDelta(typ format.Type, n int, src []byte) error {
	if err := checkDeltaCount(src, n); err != nil {
		return err
	}
	var e delta.BinaryPackedEncoding
	var err error
	switch typ {
	case format.Int64:
		v.words, err = e.DecodeInt64(v.words, src)
	case format.Int32:
		v.i32, err = e.DecodeInt32(v.i32, src)
		v.words = extendWords(v.words, len(v.i32))
		for i, w := range v.i32 {
			v.words[i] = int64(w)
		}
	default:
		return damaged("encoding DELTA_BINARY_PACKED of %s values", typ)
	}
	if err != nil || len(v.words) < n {
		return damaged("packed values: %v", err)
	}
	v.words = v.words[:n]
	return nil
}

// checkDeltaCount looks at how many values a DELTA_BINARY_PACKED block announces, before memory is taken for them.
func checkDeltaCount(src []byte, n int) error {
	for i := range 3 {
		u, size := binary.Uvarint(src)
		if size <= 0 {
			return damaged("packed values are cut short")
		}
		if i == 2 && u != uint64(n) {
			return damaged("%d packed values where %d are expected", u, n)
		}
		src = src[size:]
	}
	return nil
}

// decodeDeltaBytes decodes strings of other writers: this sink never writes these encodings.
func (v *values) decodeDeltaBytes(encoding format.Encoding, typ format.Type, width, n int, src []byte) error {
	if err := checkDeltaCount(src, n); err != nil {
		return err
	}
	var offsets []uint32
	var err error
	switch {
	case typ == format.ByteArray && encoding == format.DeltaLengthByteArray:
		v.own, offsets, err = new(delta.LengthByteArrayEncoding).DecodeByteArray(v.own, src, v.ends)
	case typ == format.ByteArray:
		v.own, offsets, err = new(delta.ByteArrayEncoding).DecodeByteArray(v.own, src, v.ends)
	case typ == format.FixedLenByteArray && encoding == format.DeltaByteArray:
		v.own, err = new(delta.ByteArrayEncoding).DecodeFixedLenByteArray(v.own, src, width)
		if err == nil && len(v.own) >= n*width {
			v.fixed(v.own, width, n)
			return nil
		}
	default:
		return damaged("encoding %s of %s values", encoding, typ)
	}
	if err != nil || len(offsets) != n+1 {
		return damaged("%s: %d strings where %d are expected: %v", encoding, len(offsets)-1, n, err)
	}
	base := offsets[0]
	v.ends, v.data = v.ends[:0], v.own[base:]
	for _, o := range offsets[1:] {
		v.ends = append(v.ends, o-base)
	}
	return nil
}

// decodeSplit decodes BYTE_STREAM_SPLIT: the first bytes of all values, then the second bytes, and so on.
func (v *values) decodeSplit(typ format.Type, width, n int, src []byte) error {
	width = plainWidth(typ, width)
	if width <= 0 || typ == format.Int96 || len(src) < n*width {
		return damaged("encoding BYTE_STREAM_SPLIT of %d values of %s in %d bytes", n, typ, len(src))
	}
	v.own = room(v.own, n*width)
	for i := range n {
		for b := range width {
			v.own[i*width+b] = src[b*n+i]
		}
	}
	return v.decodePlain(typ, width, n, v.own)
}

// lookUp makes the values of a page of dictionary indexes: the bit width in a byte, then the hybrid.
func (v *values) lookUp(dict *values, words bool, n int, src []byte) error {
	v.reset()
	if n == 0 {
		return nil
	}
	if len(src) == 0 || src[0] > 32 {
		return damaged("dictionary indexes have no width")
	}
	h := hybrid{src: src[1:], width: int(src[0])}
	var err error
	if v.i32, err = h.values(v.i32[:0], n); err != nil {
		return err
	}
	if words {
		v.words = extendWords(v.words, n)
		for at, i := range v.i32 {
			if uint(i) >= uint(len(dict.words)) {
				return damaged("dictionary index %d of %d", i, len(dict.words))
			}
			v.words[at] = dict.words[i]
		}
		return nil
	}
	v.own = v.own[:0]
	for _, i := range v.i32 {
		if uint(i) >= uint(len(dict.ends)) {
			return damaged("dictionary index %d of %d", i, len(dict.ends))
		}
		v.own = append(v.own, dict.bytes(int(i))...)
		v.ends = append(v.ends, uint32(len(v.own)))
	}
	v.data = v.own
	return nil
}
