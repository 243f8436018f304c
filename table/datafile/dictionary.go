package datafile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// Bounds of a dictionary: a reader holds it whole, and one that grows to this does not pay.
const (
	maxDictionaryValues = 16 << 10
	maxDictionaryBytes  = 256 << 10
)

// dictionary numbers the distinct values of a chunk in the order in which they turn up.
type dictionary struct {
	words []int64 // values of layout Words
	body  []byte  // values of layout Bytes, as PLAIN wants them
	ends  []uint32
	slots []int32 // open addressing: the number of a value and 1; 0 is free
	shift uint    // of a hash, to the slots
	seed  maphash.Seed
}

const minDictionarySlots = 512

func (d *dictionary) len() int { return max(len(d.words), len(d.ends)) }

func (d *dictionary) reset() {
	if d.len() > 0 {
		clear(d.slots)
	}
	d.words, d.body, d.ends = d.words[:0], d.body[:0], d.ends[:0]
}

// truncate drops the values from n on and forgets how to find the others.
func (d *dictionary) truncate(n int) {
	clear(d.slots) // else reset, which has nothing to clear when none is left, would leave them for the next file
	if len(d.words) > 0 {
		d.words = d.words[:n]
		return
	}
	d.body, d.ends = d.body[:d.start(n)], d.ends[:n]
}

// start is where value i of layout Bytes begins in body.
func (d *dictionary) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return d.ends[i-1]
}

// grow makes room for one more value and finds all again.
func (d *dictionary) grow() {
	n := max(minDictionarySlots, 2*len(d.slots))
	d.slots = make([]int32, n)
	d.shift = uint(64 - bits.Len(uint(n-1)))
	if d.seed == (maphash.Seed{}) {
		d.seed = maphash.MakeSeed()
	}
	for i, v := range d.words {
		d.slots[d.freeSlot(hashWord(v))] = int32(i + 1)
	}
	for i := range d.ends {
		d.slots[d.freeSlot(maphash.Bytes(d.seed, d.body[d.start(i):d.ends[i]]))] = int32(i + 1)
	}
}

func hashWord(v int64) uint64 {
	h := uint64(v) * 0x9e3779b97f4a7c15
	return (h ^ h>>32) * 0x9e3779b97f4a7c15
}

func (d *dictionary) freeSlot(hash uint64) int {
	i := int(hash >> d.shift)
	for d.slots[i] != 0 {
		i = (i + 1) & (len(d.slots) - 1)
	}
	return i
}

// indexWords appends the number of each value to dst. It returns false if there would be too many; then the dictionary
// is as before but finds nothing any more.
func (d *dictionary) indexWords(dst []int32, words []int64) ([]int32, bool) {
	before := len(d.words)
	last, lastIndex := int64(0), int32(-1)
	for _, v := range words {
		if v != last || lastIndex < 0 {
			if 2*len(d.words) >= len(d.slots) {
				d.grow()
			}
			last, lastIndex = v, d.word(v)
			if len(d.words) > maxDictionaryValues {
				d.truncate(before)
				return dst, false
			}
		}
		dst = append(dst, lastIndex)
	}
	return dst, true
}

func (d *dictionary) word(v int64) int32 {
	mask := len(d.slots) - 1
	i := int(hashWord(v) >> d.shift)
	for {
		n := d.slots[i&mask]
		if n == 0 {
			break
		}
		if d.words[n-1] == v {
			return n - 1
		}
		i++
	}
	d.words = append(d.words, v)
	d.slots[i&mask] = int32(len(d.words))
	return int32(len(d.words) - 1)
}

// indexBytes does the same for values of layout Bytes: of the given width, or each after its length if that is 0.
func (d *dictionary) indexBytes(dst []int32, body []byte, width int) ([]int32, bool) {
	before := len(d.ends)
	var last []byte
	lastIndex := int32(-1)
	for len(body) > 0 {
		n := width
		if n == 0 {
			n = 4 + int(binary.LittleEndian.Uint32(body))
		}
		v := body[:n]
		body = body[n:]
		if lastIndex < 0 || !bytes.Equal(v, last) {
			if 2*len(d.ends) >= len(d.slots) {
				d.grow()
			}
			last, lastIndex = v, d.bytes(v)
			if len(d.ends) > maxDictionaryValues || len(d.body) > maxDictionaryBytes {
				d.truncate(before)
				return dst, false
			}
		}
		dst = append(dst, lastIndex)
	}
	return dst, true
}

func (d *dictionary) bytes(v []byte) int32 {
	mask := len(d.slots) - 1
	i := int(maphash.Bytes(d.seed, v) >> d.shift)
	for {
		n := d.slots[i&mask]
		if n == 0 {
			break
		}
		if bytes.Equal(d.body[d.start(int(n-1)):d.ends[n-1]], v) {
			return n - 1
		}
		i++
	}
	d.body = append(d.body, v...)
	d.ends = append(d.ends, uint32(len(d.body)))
	d.slots[i&mask] = int32(len(d.ends))
	return int32(len(d.ends) - 1)
}
