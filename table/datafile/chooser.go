package datafile

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

// The encoding of a chunk, and for the first chunk of a column its codec, are chosen from a sample of its first page, by what the sample would cost:
//
//	bytes that come out + bytes that the codec has to go through / 6
//
// The codec takes about nine tenths of the time of encoding, so it has to save at least a sixth of what it reads:
// packed integers and noise are left alone. The same rows always give the same file.
//
// The sample is a few runs of neighbours, spread over the page: sorted rows may begin unlike they end.
const (
	sampleRuns    = 4
	runValues     = deltaBlock + 1
	sampleValues  = sampleRuns * runValues
	runBytes      = 4 << 10
	codecDivisor  = 6
	codecOverhead = 48 // bytes that the codec spends once a page, and a sample is no page

	// So little is not worth a sample: in files of many buckets with few rows each, trying costs more than writing.
	fewValues = 200
	fewBytes  = 512

	// dictionaryPenalty is what looking up a value costs in the same unit, in bytes a value.
	dictionaryPenalty = 0.25
)

// plan is how the values of a chunk are written.
type plan struct {
	encoding format.Encoding
	codec    format.CompressionCodec

	encodingChosen bool
	codecChosen    bool // for the whole file: some readers look only at a column's first chunk
	noDictionary   bool // it was tried and grew too large
}

// next is the plan for the next chunk of the file.
func (p plan) next() plan { return plan{codec: p.codec, codecChosen: p.codecChosen} }

// allows tells whether values may still be written with the codec, or without it.
func (p plan) allows(compressed bool) bool {
	return !p.codecChosen || compressed == (p.codec != format.Uncompressed)
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
	if c.values < fewValues && !c.plan.noDictionary {
		c.chooseFew(w)
		return nil
	}
	if !c.plan.noDictionary && c.leaf.physical.kind != cellBool {
		c.tryDictionary(w, &best)
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

// chooseFew chooses without a try, which would cost more than it is worth.
func (c *column) chooseFew(w *workspace) {
	p := &c.plan
	p.encodingChosen, p.encoding = true, format.Plain
	if k := c.leaf.physical.kind; k == cellInt32 || k == cellInt64 {
		p.encoding = format.DeltaBinaryPacked
	}
	if !p.codecChosen {
		p.codecChosen = true
		if p.encoding == format.Plain && c.pendingBytes() >= fewBytes {
			p.codec = w.comp.codec
		}
	}
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

// offer takes a way if it is better than the best so far and the plan allows it.
func (c *column) offer(best *candidate, encoding format.Encoding, compressed bool, cost float64) {
	if c.plan.allows(compressed) && (best.cost < 0 || cost < best.cost) {
		*best = candidate{encoding, compressed, cost}
	}
}

// tryDictionary looks at values spread over the page. Indexes are compressed unless nothing is: they are short, and often
// repeat.
func (c *column) tryDictionary(w *workspace, best *candidate) {
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
		return
	}
	cost := float64(bitWidth(uint64(distinct-1)))/8 + float64(size)/float64(c.values) + dictionaryPenalty
	c.offer(best, format.RLEDictionary, c.plan.allows(true), cost)
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

// tryValues offers PLAIN and, for integers, DELTA_BINARY_PACKED, each with and without the codec.
func (c *column) tryValues(w *workspace, best *candidate) error {
	if !c.leaf.physical.kind.words() {
		var n float64
		w.raw, n = c.sampleBody(w.raw[:0])
		return c.offerSample(w, best, format.Plain, w.raw, n)
	}
	n, runs := c.values, 1
	if n > sampleValues {
		n, runs = sampleValues, sampleRuns
	}
	packs := c.leaf.physical.kind == cellInt32 || c.leaf.physical.kind == cellInt64
	w.raw, w.pack = w.raw[:0], w.pack[:0]
	for i := range runs {
		run := c.words[i*(c.values/runs):][:n/runs]
		w.raw = c.appendPlain(w.raw, run, nil)
		if packs {
			w.pack = appendPacked(w.pack, run, c.leaf.physical.kind == cellInt32)
		}
	}
	sampled := float64(n / runs * runs)
	if err := c.offerSample(w, best, format.Plain, w.raw, sampled); err != nil || !packs {
		return err
	}
	return c.offerSample(w, best, format.DeltaBinaryPacked, w.pack, sampled)
}

// sampleBody appends runs of values of layout Bytes, the last of each perhaps cut. It returns how many values of average
// size they stand for.
func (c *column) sampleBody(dst []byte) ([]byte, float64) {
	from, between := len(dst), max(1, c.values/sampleRuns)
	size, count, room := c.leaf.physical.width, 0, 0
	for i, at := 0, 0; at < len(c.body); i++ {
		if c.leaf.physical.width == 0 {
			size = 4 + int(binary.LittleEndian.Uint32(c.body[at:]))
		}
		if i%between == 0 {
			count, room = runValues, runBytes
		}
		if count > 0 && room > 0 {
			dst = append(dst, c.body[at:at+min(size, room)]...)
			count, room = count-1, room-size
		}
		at += size
	}
	return dst, float64(len(dst)-from) * float64(c.values) / float64(len(c.body))
}

// offerSample offers an encoding by its sample of n values, alone and with the codec.
func (c *column) offerSample(w *workspace, best *candidate, encoding format.Encoding, sample []byte, n float64) error {
	size := float64(len(sample))
	c.offer(best, encoding, false, size/n)
	if w.comp.codec == format.Uncompressed || !c.plan.allows(true) {
		return nil
	}
	z, err := w.comp.compress(sample)
	if err != nil {
		return err
	}
	out := float64(max(0, len(z)-codecOverhead))
	c.offer(best, encoding, true, (out+size/codecDivisor)/n)
	return nil
}
