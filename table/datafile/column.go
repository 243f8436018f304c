package datafile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// limits bound the pieces of a file. A reader holds one decoded page of every column, and a writer the compressed pages
// of a row group, so neither is large; with smaller ones headers and the codec cost more.
type limits struct {
	pageRows   int
	pageBytes  int // of the values; a single one may be larger
	groupRows  int
	groupBytes int // compressed
}

var defaultLimits = limits{pageRows: 16 << 10, pageBytes: 512 << 10, groupRows: 1 << 20, groupBytes: 8 << 20}

// column collects the values of one leaf: those of the page in the making, and the finished pages of the chunk. All that
// it holds is reused for the next chunk and file.
type column struct {
	leaf   *leaf
	limits *limits

	// The page in the making.
	entries int     // level entries: values and nulls
	values  int     // values among them
	def     []uint8 // definition levels; empty while all are the highest and the leaf is not repeated
	rep     []uint8 // repetition levels of a repeated leaf
	words   []int64 // values of layout Words
	body    []byte  // values of layout Bytes, as PLAIN wants them

	// The chunk.
	plan    plan
	dict    dictionary
	pages   []byte // headers and pages after the dictionary page
	meta    chunkMeta
	raw     int64  // uncompressed bytes of pages, with headers
	plain   bool   // a page was written PLAIN
	packed  bool   // a page was written DELTA_BINARY_PACKED
	indexed bool   // a page was written with the dictionary
	bounds  bounds // of the chunk
	file    bounds // of the file's chunks so far
	nulls   int64  // of the file's chunks so far
}

// pendingBytes is the size of the page in the making.
func (c *column) pendingBytes() int { return 8*len(c.words) + len(c.body) + len(c.def)/8 }

// sizeBytes estimates the chunk's size in the file if it ended here.
func (c *column) sizeBytes() int64 {
	pages := int64(len(c.pages))
	if c.meta.values == 0 {
		return pages + int64(c.pendingBytes()/4)
	}
	return pages + pages*int64(c.entries)/c.meta.values
}

// full tells whether the page in the making has reached its bounds.
func (c *column) full() bool {
	return c.entries >= c.limits.pageRows || len(c.body) >= c.limits.pageBytes
}

// addNull adds a null at definition level def to a leaf that is not repeated.
func (c *column) addNull() {
	if len(c.def) == 0 {
		c.fillLevels()
	}
	c.def = append(c.def, 0)
	c.entries++
}

// fillLevels writes out the levels that were left implicit.
func (c *column) fillLevels() {
	for len(c.def) < c.entries {
		c.def = append(c.def, c.leaf.maxDef)
	}
}

// resetPage empties the page in the making.
func (c *column) resetPage() {
	c.entries, c.values = 0, 0
	c.def, c.rep, c.words, c.body = c.def[:0], c.rep[:0], c.words[:0], c.body[:0]
}

// resetFile makes the column ready for another file.
func (c *column) resetFile() {
	c.resetChunk()
	c.plan, c.nulls = plan{}, 0
	c.file.reset()
}

// resetChunk empties the chunk.
func (c *column) resetChunk() {
	c.resetPage()
	c.plan = c.plan.next()
	c.dict.reset()
	c.pages, c.raw = c.pages[:0], 0
	c.plain, c.packed, c.indexed = false, false, false
	c.meta = chunkMeta{encodings: c.meta.encodings[:0]}
	c.bounds.reset()
}

// workspace is what the columns of an encoder share while they encode a page.
type workspace struct {
	comp   *compressor
	raw    []byte // the page before compression
	level  []byte
	i32    []int32
	pack   []byte
	sample []int64
	thrift compact
}

// flushPage encodes the page in the making, if there is one.
func (c *column) flushPage(w *workspace) error {
	if c.entries == 0 {
		return nil
	}
	if c.entries > math.MaxInt32 || c.pendingBytes() > math.MaxInt32/2 {
		return fmt.Errorf("a page of %d values and %d bytes is too large for Parquet", c.entries, c.pendingBytes())
	}
	c.bounds.update(c)
	if err := c.choose(w); err != nil {
		return err
	}
	encoding, err := c.encodePage(w)
	if err != nil {
		return err
	}
	if err := c.writePage(w, encoding); err != nil {
		return err
	}
	c.meta.values += int64(c.entries)
	c.meta.nulls += int64(c.entries - c.values)
	c.resetPage()
	return nil
}

// encodePage puts levels and values into w.raw and returns the encoding of the values.
func (c *column) encodePage(w *workspace) (format.Encoding, error) {
	if c.plan.encoding == format.RLEDictionary && c.values > 0 {
		if ok, err := c.encodeIndexed(w); err != nil || ok {
			return format.RLEDictionary, err
		}
		if err := c.fallBack(w); err != nil {
			return 0, err
		}
	}
	w.raw = w.raw[:0]
	if err := c.encodeLevels(w); err != nil {
		return 0, err
	}
	if c.values == 0 {
		c.plain = true
		return format.Plain, nil
	}
	if c.plan.encoding == format.DeltaBinaryPacked {
		c.packed = true
		w.raw = appendPacked(w.raw, c.words, c.leaf.physical.kind == cellInt32)
		return format.DeltaBinaryPacked, nil
	}
	c.plain = true
	w.raw = c.appendPlain(w.raw, c.words, c.body)
	return format.Plain, nil
}

// encodeLevels appends repetition and definition levels, each as its length in 4 bytes and the RLE hybrid.
func (c *column) encodeLevels(w *workspace) error {
	if c.leaf.maxRep > 0 {
		if err := appendLevels(w, c.rep, c.leaf.maxRep); err != nil {
			return err
		}
	}
	if c.leaf.maxDef == 0 {
		return nil
	}
	if len(c.def) > 0 {
		return appendLevels(w, c.def, c.leaf.maxDef)
	}
	at := len(w.raw)
	w.raw = append(w.raw, 0, 0, 0, 0)
	w.raw = binary.AppendUvarint(w.raw, uint64(c.entries)<<1)
	w.raw = append(w.raw, c.leaf.maxDef)
	binary.LittleEndian.PutUint32(w.raw[at:], uint32(len(w.raw)-at-4))
	return nil
}

func appendLevels(w *workspace, levels []uint8, highest uint8) error {
	e := rle.Encoding{BitWidth: bitWidth(uint64(highest))}
	var err error
	if w.level, err = e.EncodeLevels(w.level, levels); err != nil {
		return fmt.Errorf("encode levels: %w", err)
	}
	w.raw = binary.LittleEndian.AppendUint32(w.raw, uint32(len(w.level)))
	w.raw = append(w.raw, w.level...)
	return nil
}

// appendPlain appends values in the encoding PLAIN.
func (c *column) appendPlain(dst []byte, words []int64, body []byte) []byte {
	switch c.leaf.physical.kind {
	case cellBool:
		return appendBits(dst, words)
	case cellInt32, cellFloat:
		at := len(dst)
		dst = extend(dst, 4*len(words))
		for out, i := dst[at:], 0; i < len(words); i++ {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(words[i]))
		}
		return dst
	case cellInt64, cellDouble:
		at := len(dst)
		dst = extend(dst, 8*len(words))
		for out, i := dst[at:], 0; i < len(words); i++ {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(words[i]))
		}
		return dst
	}
	return append(dst, body...)
}

// appendBits packs truth values, the first in the lowest bit.
func appendBits(dst []byte, words []int64) []byte {
	var b byte
	for i, v := range words {
		b |= byte(v&1) << (i & 7)
		if i&7 == 7 {
			dst = append(dst, b)
			b = 0
		}
	}
	if len(words)&7 != 0 {
		dst = append(dst, b)
	}
	return dst
}

// extend returns b with n more bytes, whose content is arbitrary.
func extend(b []byte, n int) []byte {
	if need := len(b) + n; need > cap(b) {
		grown := make([]byte, need, max(need, 2*cap(b)))
		copy(grown, b)
		return grown
	}
	return b[:len(b)+n]
}

// writePage compresses w.raw, if the plan says so, and appends it to the chunk's pages.
func (c *column) writePage(w *workspace, encoding format.Encoding) error {
	page := w.raw
	if c.plan.codec != format.Uncompressed {
		var err error
		if page, err = w.comp.compress(w.raw); err != nil {
			return err
		}
	}
	w.thrift.reset(c.pages)
	appendPageHeader(&w.thrift, len(w.raw), len(page), c.entries, encoding)
	header := len(w.thrift.b) - len(c.pages)
	c.pages = append(w.thrift.b, page...)
	c.raw += int64(header + len(w.raw))
	return nil
}

// encodeIndexed puts levels and indexes into the dictionary, which grows by what is new, into w.raw. It returns false if
// the dictionary would grow beyond its bounds.
func (c *column) encodeIndexed(w *workspace) (bool, error) {
	var ok bool
	if c.leaf.physical.kind.words() {
		w.i32, ok = c.dict.indexWords(w.i32[:0], c.words)
	} else {
		w.i32, ok = c.dict.indexBytes(w.i32[:0], c.body, c.leaf.physical.width)
	}
	if !ok {
		return false, nil
	}
	c.indexed = true
	w.raw = w.raw[:0]
	if err := c.encodeLevels(w); err != nil {
		return false, err
	}
	e := rle.Encoding{BitWidth: bitWidth(uint64(max(c.dict.len(), 1) - 1))}
	w.raw = append(w.raw, byte(e.BitWidth))
	var err error
	if w.pack, err = e.EncodeInt32(w.pack, w.i32); err != nil {
		return false, fmt.Errorf("encode dictionary indexes: %w", err)
	}
	w.raw = append(w.raw, w.pack...)
	return true, nil
}

// appendDictionaryPage appends the chunk's dictionary page, header first, to dst. It returns its sizes with the header.
func (c *column) appendDictionaryPage(dst []byte, w *workspace) (_ []byte, compressed, uncompressed int, err error) {
	w.raw = c.appendPlain(w.raw[:0], c.dict.words, c.dict.body)
	page := w.raw
	if c.plan.codec != format.Uncompressed {
		if page, err = w.comp.compress(w.raw); err != nil {
			return dst, 0, 0, err
		}
	}
	at := len(dst)
	w.thrift.reset(dst)
	appendDictionaryHeader(&w.thrift, len(w.raw), len(page), c.dict.len())
	header := len(w.thrift.b) - at
	return append(w.thrift.b, page...), header + len(page), header + len(w.raw), nil
}

// bitWidth is the number of bits that hold values up to highest, at least 1: some readers take no width of 0.
func bitWidth(highest uint64) int {
	n := 1
	for highest >>= 1; highest > 0; highest >>= 1 {
		n++
	}
	return n
}
