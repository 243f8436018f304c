package flush

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sink/table"
	"sink/table/object"
)

// Config says what to write where.
type Config struct {
	Schema *table.Schema // valid, see table.Schema.Validate
	Store  object.Store
	Path   table.Path // the table's root in Store

	Encoders *Encoders // shared by all tables of a process; nil: one file a core

	Now   func() time.Time // for File.CreatedMillis; nil: time.Now
	NewID func() string    // a new UUID for file names; nil: a random one

	// ChunkRows and ChunkBytes bound a chunk of the buffer; 0: 8192 rows, 1 MiB.
	ChunkRows, ChunkBytes int
}

// Bounds of a chunk. A table with few rows holds little: chunks grow up to them.
const (
	defaultChunkRows  = 8 << 10
	defaultChunkBytes = 1 << 20
	maxChunks         = 1<<16 - 1 // what a table.Ref can address, with a batch for merged rows
)

// Writer buffers the changes of one table and schema. It has one owner.
type Writer struct {
	plan   *plan
	router *table.Router

	chunks []*table.Batch
	open   bool  // the last chunk takes rows
	routed int   // rows of the open chunk that belong to a bucket or were dropped
	cells  int64 // bytes that the cells of those rows take
	closed int64 // bytes held by the chunks before the open one

	buckets bucketIndex
	kinds   [4]int64 // rows taken since the last seal, by kind
	maxSeq  int64

	places []*bucket // of the rows being added; nil: dropped
}

// New returns an empty Writer that numbers rows from 0; see [Writer.Raise].
func New(cfg Config) (*Writer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	if cfg.ChunkRows <= 0 {
		cfg.ChunkRows = defaultChunkRows
	}
	if cfg.ChunkBytes <= 0 {
		cfg.ChunkBytes = defaultChunkBytes
	}
	router, err := table.NewRouter(cfg.Schema)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", cfg.Path, err)
	}
	p, err := newPlan(cfg, router.Buckets())
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", cfg.Path, err)
	}
	return &Writer{plan: p, router: router, buckets: newBucketIndex(max(1, int(router.Buckets()))), maxSeq: -1}, nil
}

// Batch returns the batch to append rows to, in schema order. It stays the same until the next call of a method.
func (w *Writer) Batch() *table.Batch {
	if !w.open {
		w.chunks = append(w.chunks, w.plan.newChunk(w.chunks))
		w.open, w.routed, w.cells = true, 0, 0
	}
	return w.chunks[len(w.chunks)-1]
}

// Add takes the rows appended since the last call. A +U that follows its -U in the same call belongs to it. It returns an
// error, and drops these rows, if one of them has a null in its primary key, is not +I in an append table, or is of a kind that
// the table's merge engine takes no rows of.
func (w *Writer) Add() error {
	if !w.open {
		return nil
	}
	b := w.chunks[len(w.chunks)-1]
	from, to := w.routed, b.Len()
	if from == to {
		return nil
	}
	if to > table.MaxBatchRows || len(w.chunks) > maxChunks {
		b.Truncate(from)
		return fmt.Errorf("table %s: %d rows added at once, or too many buffered: add or seal sooner", w.plan.cfg.Path, to-from)
	}
	taken, err := w.place(b, from, to)
	if err != nil || taken == 0 {
		b.Truncate(from)
		if err != nil {
			return fmt.Errorf("table %s: %w", w.plan.cfg.Path, err)
		}
		return nil
	}
	cells := cellBytes(b)
	share := (cells - w.cells) / int64(taken)
	for i, at := range w.places {
		if at != nil {
			w.buckets.append(at, table.MakeRef(len(w.chunks)-1, from+i), share)
			w.kinds[b.Kinds[from+i]]++
		}
	}
	w.routed, w.cells = to, cells
	if to >= w.plan.cfg.ChunkRows || cells >= int64(w.plan.cfg.ChunkBytes) {
		w.closed += b.SizeBytes()
		w.open = false
	}
	return nil
}

// place finds the buckets of rows and returns how many rows stay. An update that changes the primary key becomes a delete
// and an insert, as they have no merging to do with each other. What the table ignores is dropped.
func (w *Writer) place(b *table.Batch, from, to int) (int, error) {
	w.places = w.places[:0]
	taken := 0
	for i := from; i < to; i++ {
		if k := b.Kinds[i]; w.plan.order.arrival && k != table.Insert {
			return 0, fmt.Errorf("a row of kind %s in a table without primary key, which takes only new rows", k)
		}
		same := false // the row is the +U to the -U before it
		if i > from && b.Kinds[i] == table.UpdateAfter && b.Kinds[i-1] == table.UpdateBefore {
			same = w.plan.sameKey(b, i-1, i)
			if !same {
				b.Kinds[i-1], b.Kinds[i] = table.Delete, table.Insert
				if w.places[i-1-from] == nil && !w.plan.drops(table.Delete) { // dropped as a -U
					at, err := w.bucketOf(b, i-1)
					if err != nil {
						return 0, err
					}
					w.places[i-1-from] = at
					taken++
				}
			}
		}
		if w.plan.drops(b.Kinds[i]) {
			w.places = append(w.places, nil)
			continue
		}
		if err := w.plan.refuses[b.Kinds[i]]; err != nil {
			return 0, err
		}
		var at *bucket
		if same {
			at = w.places[i-1-from]
		}
		if at == nil {
			var err error
			if at, err = w.bucketOf(b, i); err != nil {
				return 0, err
			}
		}
		w.places = append(w.places, at)
		taken++
	}
	return taken, nil
}

func (w *Writer) bucketOf(b *table.Batch, row int) (*bucket, error) {
	id, err := w.router.Route(b, row)
	if err != nil {
		return nil, err
	}
	return w.buckets.at(id), nil
}

// sameKey reports whether two rows have the same primary key.
func (p *plan) sameKey(b *table.Batch, i, j int) bool {
	for _, c := range p.primary {
		v := &b.Columns[c]
		if v.Layout == table.Words {
			if v.Words[i] != v.Words[j] {
				return false
			}
		} else if !bytes.Equal(v.Bytes(i), v.Bytes(j)) {
			return false
		}
	}
	return true
}

// Empty reports whether nothing is buffered or spilled.
func (w *Writer) Empty() bool { return w.buckets.rows == 0 && w.buckets.files == 0 }

// BufferedBytes returns the memory that the buffers hold, with room not yet used.
func (w *Writer) BufferedBytes() int64 {
	n := w.closed + w.buckets.sizeBytes()
	if w.open {
		n += w.chunks[len(w.chunks)-1].SizeBytes()
	}
	return n
}

// SpilledBytes returns how much of [Writer.BufferedBytes] is what has to be known of the files that [Writer.Spill] has written: only a
// seal frees it.
func (w *Writer) SpilledBytes() int64 { return fileBytes * int64(w.buckets.files) }

// Raise lifts the number of the next row above seq.
func (w *Writer) Raise(seq int64) { w.maxSeq = max(w.maxSeq, seq) }

// MaxSequence returns the highest number that was given to a row, or raised to; -1 at first.
func (w *Writer) MaxSequence() int64 { return w.maxSeq }

// Seal numbers all that is buffered and hands it over, with what was spilled. The Writer goes on empty.
func (w *Writer) Seal() *Checkpoint {
	w.checkAdded()
	c := &Checkpoint{plan: w.plan, chunks: w.chunks, first: w.number(), kinds: w.kinds, maxSeq: w.maxSeq}
	for _, b := range w.buckets.sorted() {
		c.jobs = append(c.jobs, &job{plan: w.plan, bucket: b.id, refs: b.refs, cells: b.cells, spilled: b.files})
	}
	w.reset()
	return c
}

// Discard drops all that is buffered and deletes what was spilled, as well as it can.
func (w *Writer) Discard(ctx context.Context) {
	for _, b := range w.buckets.sorted() {
		w.plan.remove(ctx, b.id, b.files)
	}
	w.plan.recycle(w.chunks)
	w.reset()
}

func (w *Writer) reset() {
	w.chunks, w.open, w.closed, w.routed, w.cells = nil, false, 0, 0, 0
	w.buckets = newBucketIndex(w.buckets.total)
	w.kinds = [4]int64{}
}

// number gives a sequence number to every row in the order of arrival, and returns that of the first row of each chunk.
func (w *Writer) number() []int64 {
	first := make([]int64, len(w.chunks))
	for i, b := range w.chunks {
		first[i] = w.maxSeq + 1
		w.maxSeq += int64(b.Len())
	}
	return first
}

// checkAdded catches an owner that seals in the middle of a record.
func (w *Writer) checkAdded() {
	if w.open && w.chunks[len(w.chunks)-1].Len() != w.routed {
		panic("flush: rows were appended but not added")
	}
}
