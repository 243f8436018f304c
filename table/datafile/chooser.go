package datafile

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// The encoding and the codec of a chunk are chosen from a sample of its first page, by what the sample would cost:
//
//	bytes that come out + bytes that the codec has to go through / 8
//
// The codec takes about nine tenths of the time of encoding, so it has to save at least an eighth of what it reads:
// packed integers and noise are left alone. The same rows always give the same file.
const (
	sampleValues  = 512
	sampleBytes   = 8 << 10
	codecDivisor  = 8
	codecOverhead = 48 // bytes that the codec spends once a page, and a sample is no page

	// dictionaryPenalty is what looking up a value costs in the same unit, in bytes a value.
	dictionaryPenalty = 0.25
)

// plan is how the values of a chunk are written.
type plan struct {
	encoding format.Encoding
	codec    format.CompressionCodec

	encodingChosen bool
	codecChosen    bool // from the first page on: a chunk has one codec
	noDictionary   bool // it was tried and grew too large
}

// choose fills in what the plan lacks, from the page in the making.
func (c *column) choose(w *workspace) error {
	if c.plan.encodingChosen {
		return nil
	}
	if c.values == 0 { // nothing to learn from
		if !c.plan.codecChosen {
			c.plan.codec, c.plan.codecChosen = w.comp.codec, true
		}
		return nil
	}
	best := candidate{encoding: format.Plain, cost: -1}
	if !c.plan.noDictionary && c.leaf.physical.kind != cellBool {
		best.offer(c.tryDictionary(w))
	}
	if err := c.tryValues(w, &best); err != nil {
		return err
	}
	c.plan.encoding, c.plan.encodingChosen = best.encoding, true
	if !c.plan.codecChosen {
		c.plan.codecChosen = true
		if best.compressed {
			c.plan.codec = w.comp.codec
		}
	}
	return nil
}

// fallBack gives up the dictionary for the rest of the chunk.
func (c *column) fallBack(w *workspace) error {
	c.plan.noDictionary, c.plan.encodingChosen = true, false
	return c.choose(w)
}

// candidate is a way to write a chunk and what it would cost for a sampled value.
type candidate struct {
	encoding   format.Encoding
	compressed bool
	cost       float64 // bytes a value; negative: none yet
}

func (best *candidate) offer(c candidate) {
	if c.cost >= 0 && (best.cost < 0 || c.cost < best.cost) {
		*best = c
	}
}

// tryDictionary looks at values spread over the page.
func (c *column) tryDictionary(w *workspace) candidate {
	step := max(1, c.values/sampleValues)
	var n, size int
	if c.leaf.physical.kind.words() {
		w.sample = w.sample[:0]
		for i := 0; i < len(c.words); i += step {
			w.sample = append(w.sample, c.words[i])
		}
		n = len(w.sample)
		c.dict.indexWords(w.i32[:0], w.sample)
		size = c.dict.len() * c.leaf.physical.width
	} else {
		w.pack, n = c.spread(w.pack[:0], step)
		c.dict.indexBytes(w.i32[:0], w.pack, c.leaf.physical.width)
		size = len(c.dict.body)
	}
	distinct := c.dict.len()
	c.dict.reset()
	if distinct > n/2 {
		return candidate{cost: -1}
	}
	bits := bitWidth(uint64(distinct - 1))
	return candidate{format.RLEDictionary, true, float64(bits)/8 + float64(size)/float64(c.values) + dictionaryPenalty}
}

// spread appends every step-th value of layout Bytes and returns how many.
func (c *column) spread(dst []byte, step int) ([]byte, int) {
	n, size := 0, c.leaf.physical.width
	for i, at := 0, 0; at < len(c.body); i++ {
		if c.leaf.physical.width == 0 {
			size = 4 + int(binary.LittleEndian.Uint32(c.body[at:]))
		}
		if i%step == 0 {
			dst = append(dst, c.body[at:at+size]...)
			n++
		}
		at += size
	}
	return dst, n
}

// tryValues offers PLAIN and, for integers, DELTA_BINARY_PACKED, each with and without the codec, from values that
// follow one another.
func (c *column) tryValues(w *workspace, best *candidate) error {
	words, body, n := c.words[:min(len(c.words), sampleValues)], c.body, min(len(c.words), sampleValues)
	if !c.leaf.physical.kind.words() {
		body, n = c.sampleBody()
	}
	w.raw = c.appendPlain(w.raw[:0], words, body)
	if err := w.offer(best, format.Plain, w.raw, n); err != nil {
		return err
	}
	if k := c.leaf.physical.kind; k == cellInt32 || k == cellInt64 {
		packed, err := c.packWords(w, words)
		if err != nil {
			return err
		}
		return w.offer(best, format.DeltaBinaryPacked, packed, n)
	}
	return nil
}

// sampleBody returns the first values of layout Bytes and how many.
func (c *column) sampleBody() ([]byte, int) {
	n, at := 0, 0
	for ; at < len(c.body) && n < sampleValues && at < sampleBytes; n++ {
		if c.leaf.physical.width > 0 {
			at += c.leaf.physical.width
		} else {
			at += 4 + int(binary.LittleEndian.Uint32(c.body[at:]))
		}
	}
	return c.body[:min(at, max(sampleBytes, 1))], n
}

// offer offers an encoding by its sample of n values, alone and with the codec.
func (w *workspace) offer(best *candidate, encoding format.Encoding, sample []byte, n int) error {
	size := float64(len(sample))
	best.offer(candidate{encoding, false, size / float64(n)})
	if w.comp.codec == format.Uncompressed {
		return nil
	}
	z, err := w.comp.compress(sample)
	if err != nil {
		return err
	}
	out := float64(max(0, len(z)-codecOverhead))
	best.offer(candidate{encoding, true, (out + size/codecDivisor) / float64(n)})
	return nil
}

// packWords returns words as DELTA_BINARY_PACKED; valid until the next call.
func (c *column) packWords(w *workspace, words []int64) ([]byte, error) {
	var e delta.BinaryPackedEncoding
	var err error
	if c.leaf.physical.kind == cellInt64 {
		w.pack, err = e.EncodeInt64(w.pack, words)
		return w.pack, err
	}
	w.i32 = w.i32[:0]
	for _, v := range words {
		w.i32 = append(w.i32, int32(v))
	}
	w.pack, err = e.EncodeInt32(w.pack, w.i32)
	return w.pack, err
}
