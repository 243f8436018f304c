package datafile

import (
	"encoding/binary"
	"math/bits"
)

// The geometry of DELTA_BINARY_PACKED blocks. All readers take it: parquet-mr writes the same.
const (
	deltaBlock      = 128
	deltaMiniBlocks = 4
	deltaMini       = deltaBlock / deltaMiniBlocks
)

// appendPacked appends words in the encoding DELTA_BINARY_PACKED: the first value, then blocks of differences to the
// value before, less the smallest of the block, in as few bits as the largest of a miniblock needs. For INT32 (narrow) the
// differences wrap around at 32 bits, as readers expect.
//
// parquet-go's encoder takes what lies behind the last value for a difference, and makes the last block as wide as a
// value.
func appendPacked(dst []byte, words []int64, narrow bool) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaMiniBlocks)
	dst = binary.AppendUvarint(dst, uint64(len(words)))
	if len(words) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, words[0])
	var block [deltaBlock]uint64
	for last, rest := words[0], words[1:]; len(rest) > 0; {
		n := min(len(rest), deltaBlock)
		last = appendBlock(&dst, &block, rest[:n], last, narrow)
		rest = rest[n:]
	}
	return dst
}

// appendBlock appends a block of up to 128 values and returns the last of them.
func appendBlock(to *[]byte, block *[deltaBlock]uint64, words []int64, last int64, narrow bool) int64 {
	least := difference(words[0], last, narrow)
	for i, v := range words {
		d := difference(v, last, narrow)
		block[i], last = uint64(d), v
		least = min(least, d)
	}
	dst := binary.AppendVarint(*to, least)
	widths := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for m := 0; m*deltaMini < len(words); m++ {
		mini := block[m*deltaMini:][:deltaMini]
		n := min(deltaMini, len(words)-m*deltaMini)
		var all uint64
		for i := range mini[:n] {
			d := mini[i] - uint64(least)
			if narrow {
				d = uint64(uint32(d))
			}
			mini[i] = d
			all |= d
		}
		clear(mini[n:])
		width := bits.Len64(all)
		dst[widths+m] = byte(width)
		dst = appendBits32(dst, mini, width)
	}
	*to = dst
	return last
}

func difference(v, last int64, narrow bool) int64 {
	if narrow {
		return int64(int32(v - last))
	}
	return v - last
}

// appendBits32 appends a multiple of 32 values of the given width, the first in the lowest bits.
func appendBits32(dst []byte, values []uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	var word uint64
	used := 0
	for _, v := range values {
		word |= v << used
		if used += width; used >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			used -= 64
			word = v >> (width - used)
		}
	}
	if used > 0 { // 32 values of an odd width end within a word
		dst = binary.LittleEndian.AppendUint32(dst, uint32(word))
	}
	return dst
}
