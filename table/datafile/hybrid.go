package datafile

import (
	"encoding/binary"
	"math/bits"
)

// hybrid reads Parquet's RLE and bit-packing hybrid: levels and dictionary indexes.
type hybrid struct {
	src   []byte
	width int // bits of a value, 0 to 32
}

// run returns the next run: count values that are all value, or count values packed in bits.
func (h *hybrid) run() (count int, value uint32, packed []byte, err error) {
	u, n := binary.Uvarint(h.src)
	if n <= 0 || u>>1 > maxPageBytes {
		return 0, 0, nil, damaged("a run of levels or indexes is cut short")
	}
	h.src = h.src[n:]
	count = int(u >> 1)
	if u&1 != 0 {
		size := min(count*h.width, len(h.src)) // some writers cut the padding of the last group
		packed, h.src = h.src[:size], h.src[size:]
		return 8 * count, 0, packed, nil
	}
	size := (h.width + 7) / 8
	if size > len(h.src) {
		return 0, 0, nil, damaged("a run of levels or indexes is cut short")
	}
	for i := size - 1; i >= 0; i-- {
		value = value<<8 | uint32(h.src[i])
	}
	h.src = h.src[size:]
	return count, value, nil, nil
}

// unpack appends n values of the given width, the first in the lowest bits.
func unpack(dst []int32, packed []byte, width, n int) ([]int32, error) {
	if (n*width+7)/8 > len(packed) {
		return dst, damaged("packed values are cut short")
	}
	mask := uint64(1)<<width - 1
	at := len(dst)
	dst = extendInt32(dst, n)
	out := dst[at:]
	i := 0
	// 8 bytes at a time, as long as there are so many.
	for ; i < n && i*width/8+8 <= len(packed); i++ {
		bit := i * width
		out[i] = int32(binary.LittleEndian.Uint64(packed[bit>>3:]) >> (bit & 7) & mask)
	}
	for ; i < n; i++ {
		bit := i * width
		out[i] = int32(bigEndianTail(packed[bit>>3:]) >> (bit & 7) & mask)
	}
	return dst, nil
}

// bigEndianTail reads up to 8 bytes as a little-endian number.
func bigEndianTail(b []byte) uint64 { return bits.ReverseBytes64(bigEndian8(b)) }

// values appends n values.
func (h *hybrid) values(dst []int32, n int) ([]int32, error) {
	for n > 0 {
		count, value, packed, err := h.run()
		if err != nil {
			return dst, err
		}
		count = min(count, n)
		if packed != nil || h.width == 0 {
			if dst, err = unpack(dst, packed, h.width, count); err != nil {
				return dst, err
			}
		} else {
			at := len(dst)
			dst = extendInt32(dst, count)
			for i := range dst[at:] {
				dst[at+i] = int32(value)
			}
		}
		n -= count
	}
	return dst, nil
}

// levels reads n levels up to highest. It returns nil when all are the highest, which one run says.
func (h *hybrid) levels(dst []uint8, scratch *[]int32, n int, highest uint8) ([]uint8, error) {
	whole := h.src
	if count, value, packed, err := h.run(); err != nil || n == 0 {
		return nil, err
	} else if packed == nil && count >= n && value == uint32(highest) {
		return nil, nil
	}
	h.src = whole
	values, err := h.values((*scratch)[:0], n)
	*scratch = values
	if err != nil {
		return nil, err
	}
	dst = dst[:0]
	for _, v := range values {
		if v < 0 || v > int32(highest) {
			return nil, damaged("a level of %d above %d", v, highest)
		}
		dst = append(dst, uint8(v))
	}
	return dst, nil
}

func extendInt32(s []int32, n int) []int32 {
	if need := len(s) + n; need > cap(s) {
		grown := make([]int32, need, max(need, 2*cap(s)))
		copy(grown, s)
		return grown
	}
	return s[:len(s)+n]
}
