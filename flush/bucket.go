package flush

import (
	"cmp"
	"slices"

	"sink/table"
)

// bucket is what is buffered for one bucket.
type bucket struct {
	id    table.Bucket
	refs  []table.Ref // in order of arrival, which is the order of references
	cells int64       // bytes that the rows take in their chunks, about
	files spilled
}

// spilled are files written early, in the order of their flushes.
type spilled struct {
	data, changelog []table.File
}

func (s *spilled) add(o spilled) {
	s.data = append(s.data, o.data...)
	s.changelog = append(s.changelog, o.changelog...)
}

func sizeBytes(files []table.File) int64 {
	var n int64
	for i := range files {
		n += files[i].SizeBytes
	}
	return n
}

func (s *spilled) len() int { return len(s.data) + len(s.changelog) }

// bucketIndex finds buckets: by partition, then by number. Rows tend to come partition by partition.
type bucketIndex struct {
	total      int // buckets of a partition
	partitions map[string][]*bucket
	last       []*bucket // those of lastName
	lastName   string

	rows  int
	files int
	held  int64 // bytes of reference lists and of the index itself
}

// Memory of an index beside its reference lists, about.
const (
	bucketBytes    = 128
	partitionBytes = 128
	refBytes       = 4
	fileBytes      = 1 << 10 // a table.File with its keys and statistics
)

func newBucketIndex(total int) bucketIndex { return bucketIndex{total: total} }

func (x *bucketIndex) at(id table.Bucket) *bucket {
	if x.last == nil || id.Partition != x.lastName {
		list, ok := x.partitions[id.Partition]
		if !ok {
			list = make([]*bucket, x.total)
			if x.partitions == nil {
				x.partitions = map[string][]*bucket{}
			}
			x.partitions[id.Partition] = list
			x.held += partitionBytes + int64(len(id.Partition)+8*x.total)
		}
		x.last, x.lastName = list, id.Partition
	}
	b := x.last[id.Number]
	if b == nil {
		b = &bucket{id: id}
		x.last[id.Number] = b
		x.held += bucketBytes
	}
	return b
}

func (x *bucketIndex) append(b *bucket, ref table.Ref, cells int64) {
	before := cap(b.refs)
	b.refs = append(b.refs, ref)
	b.cells += cells
	x.rows++
	if after := cap(b.refs); after != before {
		x.held += refBytes * int64(after-before)
	}
}

// drop forgets the rows of a bucket, which are in files now.
func (x *bucketIndex) drop(b *bucket, files spilled) {
	x.rows -= len(b.refs)
	x.held -= refBytes * int64(cap(b.refs))
	x.files += files.len()
	b.refs, b.cells = nil, 0
	b.files.add(files)
}

func (x *bucketIndex) sizeBytes() int64 { return x.held + fileBytes*int64(x.files) }

// sorted returns the buckets that hold something, by partition and number.
func (x *bucketIndex) sorted() []*bucket {
	var out []*bucket
	for _, list := range x.partitions {
		for _, b := range list {
			if b != nil && (len(b.refs) > 0 || b.files.len() > 0) {
				out = append(out, b)
			}
		}
	}
	slices.SortFunc(out, func(a, b *bucket) int {
		return cmp.Or(cmp.Compare(a.id.Partition, b.id.Partition), cmp.Compare(a.id.Number, b.id.Number))
	})
	return out
}
