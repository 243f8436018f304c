package flush

import (
	"cmp"
	"context"
	"slices"

	"sink/table"
)

// Spill frees about half of the memory: it writes the fullest buckets to files that the next checkpoint takes along, and
// moves the rows of the others together. After an error nothing is lost and it may be called again.
func (w *Writer) Spill(ctx context.Context) error {
	w.checkAdded()
	buckets := w.fullest()
	if len(buckets) == 0 {
		return nil
	}
	jobs := make([]*job, len(buckets))
	for i, b := range buckets {
		jobs[i] = &job{plan: w.plan, bucket: b.id, refs: b.refs, cells: b.cells}
	}
	err := w.plan.run(ctx, jobs, w.chunks, w.number())
	for i, j := range jobs {
		if j.done {
			w.buckets.drop(buckets[i], j.made)
		}
	}
	w.moveTogether()
	return err
}

// fullest returns the buckets that hold the most, until half of all is chosen.
func (w *Writer) fullest() []*bucket {
	buckets := slices.DeleteFunc(w.buckets.sorted(), func(b *bucket) bool { return len(b.refs) == 0 })
	slices.SortStableFunc(buckets, func(a, b *bucket) int { return cmp.Compare(b.size(), a.size()) })
	var all, chosen int64
	for _, b := range buckets {
		all += b.size()
	}
	for i, b := range buckets {
		if 2*chosen >= all {
			return buckets[:i]
		}
		chosen += b.size()
	}
	return buckets
}

// size is what a bucket's rows hold, in bytes.
func (b *bucket) size() int64 { return b.cells + refBytes*int64(len(b.refs)) }

// moveTogether copies the rows that are left into as few chunks as they fit, and gives the others back. It goes chunk by
// chunk, so that it needs little memory beside, and keeps the rows of a bucket in their order.
func (w *Writer) moveTogether() {
	left := slices.DeleteFunc(w.buckets.sorted(), func(b *bucket) bool { return len(b.refs) == 0 })
	old := w.chunks
	w.chunks, w.open, w.closed, w.routed, w.cells = nil, false, 0, 0, 0
	next := make([]int, len(left)) // of each bucket's refs, the first that has not moved
	for c, from := range old {
		for i, b := range left {
			for next[i] < len(b.refs) && b.refs[next[i]].Batch() == c {
				to := w.Batch()
				to.AppendRow(from, b.refs[next[i]].Row())
				b.refs[next[i]] = table.MakeRef(len(w.chunks)-1, to.Len()-1)
				next[i]++
				w.moved(to)
			}
		}
		w.plan.recycle(old[c : c+1])
	}
	if w.open {
		w.cells = cellBytes(w.chunks[len(w.chunks)-1])
	}
}

// moved counts a row that was appended to the open chunk, and closes it when it is full. A -U and its +U stay in one
// chunk: else the next time rows of other buckets would come between them.
func (w *Writer) moved(b *table.Batch) {
	w.routed = b.Len()
	if b.Kinds[w.routed-1] == table.UpdateBefore {
		return
	}
	if w.routed >= w.plan.cfg.ChunkRows || cellBytes(b) >= int64(w.plan.cfg.ChunkBytes) {
		w.closed += b.SizeBytes()
		w.open = false
	}
}
