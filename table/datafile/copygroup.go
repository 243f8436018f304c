package datafile

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

// Small row groups are read and become part of larger ones: a copied group has at least this share of a full one, and so has the
// group that it ends.
const copiedShare = 4

// copyBytes is how much of a row group is in memory while it is copied.
const copyBytes = 1 << 20

// Copies reports whether the writer takes a row group as it is: it comes from a file that this project wrote with the same schema,
// without retractions, is not small, and does not leave a small one before it.
func (w *Writer) Copies(g *RowGroup) bool {
	large := func(rows, bytes int64) bool {
		l := &w.format.limits
		return rows >= int64(l.groupRows/copiedShare) || bytes >= int64(l.groupBytes/copiedShare)
	}
	if w.enc != nil && (!w.enc.sameCodecs(g) || w.enc.rows > 0 && !large(int64(w.enc.rows), int64(w.enc.groupBytes()))) {
		return false
	}
	return large(g.Rows(), g.sizeBytes()) && w.format.copyable(g)
}

// sameCodecs reports whether each column of a row group is compressed as it is in the file so far; see plan.
func (e *encoder) sameCodecs(g *RowGroup) bool {
	for i, c := range e.columns {
		if c.plan.codecChosen && i < len(g.meta.Columns) && c.plan.codec != g.meta.Columns[i].MetaData.Codec {
			return false
		}
	}
	return true
}

// CopyGroup appends the rows of a row group that Copies is true of, by copying its bytes. They continue the order of those before.
// After an error only Abort is left.
func (w *Writer) CopyGroup(ctx context.Context, g *RowGroup) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.enc == nil {
		if err := w.open(ctx); err != nil {
			return err
		}
	}
	ends, err := g.ends(w.format.cfg.Schema.Fields, w.format.keyCols)
	if err != nil {
		return fmt.Errorf("read %s: %w", g.reader.name, err)
	}
	batches := []*table.Batch{ends}
	if w.file.MinKey == nil {
		w.file.MinKey = w.key(nil, table.MakeRef(0, 0), batches)
	}
	w.last = w.key(w.last[:0], table.MakeRef(0, 1), batches)
	if err := w.enc.copyGroup(g); err != nil {
		return fmt.Errorf("copy rows of %s to %s: %w", g.reader.name, w.object, err)
	}
	g.copied = true
	if w.enc.sizeBytes() >= w.format.cfg.TargetFileSize {
		return w.finish()
	}
	return nil
}

// copyGroup writes a row group of another file.
func (e *encoder) copyGroup(g *RowGroup) error {
	if err := e.flushGroup(); err != nil {
		return err
	}
	out := groupMeta{offset: e.offset, rows: g.Rows(), chunks: make([]chunkMeta, len(e.columns))}
	for i := range e.columns {
		m := &g.meta.Columns[i].MetaData
		start, n := chunkSpan(m)
		out.chunks[i] = copiedChunk(m, e.offset, start)
		if err := e.copyBytes(g, start, n); err != nil {
			return err
		}
	}
	for _, i := range e.own {
		c, m := e.columns[i], &out.chunks[i]
		b := boundsOf(m, c.leaf.physical)
		if c.leaf.column == sequenceColumn {
			e.countCopied(b.min, b.max)
		}
		c.file.merge(&b, c.leaf.physical)
		c.nulls += m.nulls
		c.plan.codec, c.plan.codecChosen = m.codec, true
	}
	e.stats.rows += g.Rows()
	e.groups = append(e.groups, out)
	return nil
}

// countCopied takes sequence numbers into the file's statistics.
func (e *encoder) countCopied(lo, hi int64) {
	s := &e.stats
	if s.rows == 0 {
		s.minSeq, s.maxSeq = lo, hi
	}
	s.minSeq, s.maxSeq = min(s.minSeq, lo), max(s.maxSeq, hi)
}

// copyBytes writes bytes of another file.
func (e *encoder) copyBytes(g *RowGroup, at, n int64) error {
	for n > 0 {
		e.head = room(e.head[:0], int(min(n, copyBytes)))
		if err := readFull(g.reader.file.src, e.head, at); err != nil {
			return err
		}
		if err := e.write(e.head); err != nil {
			return err
		}
		at += int64(len(e.head))
		n -= int64(len(e.head))
	}
	return nil
}

// copiedChunk is what the footer says of a chunk that was at start and is now at offset.
func copiedChunk(m *format.ColumnMetaData, offset, start int64) chunkMeta {
	c := chunkMeta{
		offset: offset, dictionary: m.DataPageOffset - start, compressed: m.TotalCompressedSize, uncompressed: m.TotalUncompressedSize,
		values: m.NumValues, nulls: m.Statistics.NullCount, codec: m.Codec, encodings: slices.Clone(m.Encoding),
		min: slices.Clone(m.Statistics.MinValue), max: slices.Clone(m.Statistics.MaxValue),
	}
	c.minExact, c.maxExact = len(c.min) < maxStatisticBytes/2, len(c.max) < maxStatisticBytes/2 // longer ones may have been cut
	return c
}

// boundsOf returns the bounds that a chunk's statistics tell. Numbers without any have a NaN among them.
func boundsOf(m *chunkMeta, p physical) bounds {
	var b bounds
	switch isFloat := p.kind == cellFloat || p.kind == cellDouble; {
	case m.min == nil || m.max == nil:
		b.nan = isFloat && m.nulls < m.values
	case p.kind.words():
		b.set, b.min, b.max = true, wordOfPlain(m.min, p), wordOfPlain(m.max, p)
	default:
		b.set = true
		b.setMin(m.min, prefixOf(m.min, p.kind))
		b.setMax(m.max, prefixOf(m.max, p.kind))
	}
	return b
}

// wordOfPlain reads a number as the footer has it.
func wordOfPlain(v []byte, p physical) int64 {
	switch {
	case len(v) == 8:
		return int64(binary.LittleEndian.Uint64(v))
	case len(v) == 4 && p.kind == cellFloat:
		return int64(binary.LittleEndian.Uint32(v))
	case len(v) == 4:
		return int64(int32(binary.LittleEndian.Uint32(v)))
	}
	return int64(v[0])
}
