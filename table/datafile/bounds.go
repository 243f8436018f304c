package datafile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"sink/table"
)

// bounds are the smallest and largest value of a column, in the order of its type: numbers by value, false before true,
// bytes unsigned, decimals signed, INT96 in time.
type bounds struct {
	set bool
	nan bool // a NaN was there: there are no bounds, because readers differ in where they sort it

	min, max int64 // layout Words

	minBytes, maxBytes   []byte // layout Bytes, as they are in the file
	minPrefix, maxPrefix uint64 // order of the first bytes
}

func (b *bounds) reset() {
	b.set, b.nan = false, false
	b.minBytes, b.maxBytes = b.minBytes[:0], b.maxBytes[:0]
}

// update takes in the values of the page in the making.
func (b *bounds) update(c *column) {
	if c.values == 0 || len(c.leaf.path) > 1 {
		return
	}
	switch k := c.leaf.physical.kind; {
	case k == cellFloat || k == cellDouble:
		b.updateFloats(c.words, k)
	case k.words():
		b.updateWords(c.words)
	default:
		b.updateBytes(c.body, c.leaf.physical)
	}
}

func (b *bounds) updateWords(words []int64) {
	lo, hi := words[0], words[0]
	if b.set {
		lo, hi = b.min, b.max
	}
	for _, v := range words {
		lo, hi = min(lo, v), max(hi, v)
	}
	b.set, b.min, b.max = true, lo, hi
}

func (b *bounds) updateFloats(words []int64, k cellKind) {
	if b.nan {
		return
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	if b.set {
		lo, hi = floatOf(b.min, k), floatOf(b.max, k)
	}
	for _, v := range words {
		f := floatOf(v, k)
		if f != f {
			b.nan, b.set = true, false
			return
		}
		lo, hi = min(lo, f), max(hi, f)
	}
	if lo == 0 { // readers differ in the order of the zeros: be wide
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	b.set, b.min, b.max = true, wordOf(lo, k), wordOf(hi, k)
}

func floatOf(word int64, k cellKind) float64 {
	if k == cellFloat {
		return float64(math.Float32frombits(uint32(word)))
	}
	return math.Float64frombits(uint64(word))
}

func wordOf(f float64, k cellKind) int64 {
	if k == cellFloat {
		return int64(math.Float32bits(float32(f)))
	}
	return int64(math.Float64bits(f))
}

func (b *bounds) updateBytes(body []byte, p physical) {
	for len(body) > 0 {
		var v []byte
		if p.width > 0 {
			v, body = body[:p.width], body[p.width:]
		} else {
			n := 4 + int(binary.LittleEndian.Uint32(body))
			v, body = body[4:n], body[n:]
		}
		prefix := prefixOf(v, p.kind)
		if !b.set {
			b.set = true
			b.setMin(v, prefix)
			b.setMax(v, prefix)
			continue
		}
		if prefix < b.minPrefix || prefix == b.minPrefix && compareRest(v, b.minBytes, p.kind) < 0 {
			b.setMin(v, prefix)
		}
		if prefix > b.maxPrefix || prefix == b.maxPrefix && compareRest(v, b.maxBytes, p.kind) > 0 {
			b.setMax(v, prefix)
		}
	}
}

func (b *bounds) setMin(v []byte, prefix uint64) {
	b.minBytes, b.minPrefix = append(b.minBytes[:0], v...), prefix
}

func (b *bounds) setMax(v []byte, prefix uint64) {
	b.maxBytes, b.maxPrefix = append(b.maxBytes[:0], v...), prefix
}

// prefixOf returns a number that orders values as far as it goes.
func prefixOf(v []byte, k cellKind) uint64 {
	switch {
	case k == cellInt96: // days, which is all that the first comparison needs
		return uint64(binary.LittleEndian.Uint32(v[8:])) ^ 1<<31
	case k == cellDecimal:
		return bigEndian8(v) ^ 1<<63
	}
	return bigEndian8(v)
}

// bigEndian8 returns the first 8 bytes as a number; what is missing counts as 0.
func bigEndian8(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	var n uint64
	for i, x := range v {
		n |= uint64(x) << (56 - 8*i)
	}
	return n
}

// compareRest compares values of the same prefix.
func compareRest(a, b []byte, k cellKind) int {
	if k == cellInt96 {
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	}
	return bytes.Compare(a, b)
}

// merge takes in the bounds of another chunk of the same column.
func (b *bounds) merge(o *bounds, p physical) {
	switch {
	case o.nan || b.nan:
		b.nan, b.set = true, false
	case !o.set:
	case !b.set:
		b.set, b.min, b.max = true, o.min, o.max
		b.setMin(o.minBytes, o.minPrefix)
		b.setMax(o.maxBytes, o.maxPrefix)
	case p.kind == cellFloat || p.kind == cellDouble:
		b.min = wordOf(min(floatOf(b.min, p.kind), floatOf(o.min, p.kind)), p.kind)
		b.max = wordOf(max(floatOf(b.max, p.kind), floatOf(o.max, p.kind)), p.kind)
	case p.kind.words():
		b.min, b.max = min(b.min, o.min), max(b.max, o.max)
	default:
		if o.minPrefix < b.minPrefix || o.minPrefix == b.minPrefix && compareRest(o.minBytes, b.minBytes, p.kind) < 0 {
			b.setMin(o.minBytes, o.minPrefix)
		}
		if o.maxPrefix > b.maxPrefix || o.maxPrefix == b.maxPrefix && compareRest(o.maxBytes, b.maxBytes, p.kind) > 0 {
			b.setMax(o.maxBytes, o.maxPrefix)
		}
	}
}

// maxStatisticBytes bounds a string in the footer; a longer one is cut to a bound that is not exact.
const maxStatisticBytes = 64

// statistics fills in what the footer says of a chunk. Without an order (INT96) or with a NaN there are no bounds.
func (b *bounds) statistics(m *chunkMeta, l *leaf) {
	p := l.physical
	if !b.set || p.kind == cellInt96 {
		return
	}
	m.minExact, m.maxExact = true, true
	switch p.kind {
	case cellBool:
		m.min, m.max = plainWord(b.min, 1), plainWord(b.max, 1)
	case cellBytes:
		m.min, m.max = append([]byte{}, b.minBytes...), append([]byte{}, b.maxBytes...)
		if len(m.min) > maxStatisticBytes {
			m.min, m.minExact = cutText(m.min, l.typ), false
		}
		if len(m.max) > maxStatisticBytes {
			m.max, m.maxExact = incremented(cutText(m.max, l.typ), l.typ), false
		}
	case cellDecimal:
		m.min, m.max = append([]byte{}, b.minBytes...), append([]byte{}, b.maxBytes...)
	default:
		m.min, m.max = plainWord(b.min, p.width), plainWord(b.max, p.width)
	}
}

func plainWord(v int64, width int) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(v))[:width]
}

// cutText returns the beginning of a value that the footer keeps, without half a character of text.
func cutText(b []byte, t table.Type) []byte {
	n := maxStatisticBytes
	if isText(t) {
		for n > maxStatisticBytes-utf8.UTFMax && !utf8.RuneStart(b[n]) {
			n--
		}
	}
	return b[:n]
}

func isText(t table.Type) bool { return t.Root == table.Char || t.Root == table.VarChar }

// incremented returns a short value above all that begin with b, nil if there is none: for text, one that is text.
func incremented(b []byte, t table.Type) []byte {
	if !isText(t) {
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] < 0xff {
				b[i]++
				return b[:i+1]
			}
		}
		return nil
	}
	for len(b) > 0 {
		r, size := utf8.DecodeLastRune(b)
		b = b[:len(b)-size]
		if r == utf8.RuneError && size == 1 {
			return nil
		}
		if r++; r == 0xd800 { // surrogates are no characters
			r = 0xe000
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(b, r)
		}
	}
	return nil
}

// appendTo appends the bounds to columns of one row each, null where not known.
func (b *bounds) appendTo(lo, hi *table.Vector, p physical) {
	switch {
	case !b.set:
		lo.AppendNull()
		hi.AppendNull()
	case p.kind.words():
		lo.AppendWord(b.min)
		hi.AppendWord(b.max)
	default:
		lo.Data = appendCell(lo.Data, b.minBytes, p.kind)
		lo.EndCell()
		hi.Data = appendCell(hi.Data, b.maxBytes, p.kind)
		hi.EndCell()
	}
}

// appendCell appends a value of the file as the cell that it came from.
func appendCell(dst, v []byte, k cellKind) []byte {
	switch k {
	case cellDecimal:
		return appendDecimal16(dst, v)
	case cellInt96:
		return appendNanoCell(dst, v)
	}
	return append(dst, v...)
}
