package table

import (
	"bytes"
	"fmt"
)

// Router finds where rows live. It has one owner; it allocates only when it meets a new partition.
//
// In an append table that tells no buckets apart all rows live in bucket 0, see [Unaware].
type Router struct {
	partition *RowEncoder // nil: not partitioned
	key       *RowEncoder
	bucket    bucketFunc
	buckets   int32
	primary   []int // columns that are not null
	names     []string

	last       []byte // the partition met last
	lastName   string
	interned   map[string]string
	partBuffer []byte
	keyBuffer  []byte
}

// maxInterned bounds what a Router remembers; beyond, it forgets all and begins anew.
const maxInterned = 1 << 16

// NewRouter returns the router of a table with a fixed number of buckets, or of an append table without. Rows have the
// schema's columns.
func NewRouter(s *Schema) (*Router, error) {
	n, err := s.Buckets()
	if err != nil {
		return nil, err
	}
	r := &Router{buckets: int32(n), primary: s.Indexes(s.PrimaryKeys), names: s.PrimaryKeys, interned: map[string]string{}}
	partition, key := s.Indexes(s.PartitionKeys), s.Indexes(s.BucketKeys())
	for i, c := range key {
		if c < 0 {
			return nil, fmt.Errorf("bucket key names a column %s that is not there", s.BucketKeys()[i])
		}
	}
	if len(partition) > 0 {
		r.partition = NewRowEncoder(s.TypesOf(partition), partition)
	}
	r.key = NewRowEncoder(s.TypesOf(key), key)
	if r.bucket, err = newBucketFunc(s.Option("bucket-function.type"), s.TypesOf(key), key); err != nil {
		return nil, err
	}
	return r, nil
}

// Buckets returns the number of buckets that rows are spread over, [Unaware] where there are none to tell apart.
func (r *Router) Buckets() int32 { return r.buckets }

// Route returns the partition and bucket of a row. It is an error if a column of the primary key is null.
func (r *Router) Route(b *Batch, row int) (Bucket, error) {
	for i := range r.primary {
		if b.Columns[r.primary[i]].IsNull(row) {
			return Bucket{}, fmt.Errorf("column %s of the primary key is null", r.names[i])
		}
	}
	out := Bucket{Partition: EmptyRow}
	if r.partition != nil {
		out.Partition = r.partitionOf(b, row)
	}
	switch {
	case r.buckets == 1 || r.buckets == Unaware:
	case r.bucket != nil:
		out.Number = r.bucket(b, row, r.buckets)
	default:
		r.keyBuffer = r.key.Append(r.keyBuffer[:0], b, row)
		out.Number = BucketOf(Hash(r.keyBuffer[rowPrefixBytes:]), r.buckets)
	}
	return out, nil
}

func (r *Router) partitionOf(b *Batch, row int) string {
	r.partBuffer = r.partition.Append(r.partBuffer[:0], b, row)
	if r.lastName != "" && bytes.Equal(r.partBuffer, r.last) {
		return r.lastName
	}
	name, ok := r.interned[string(r.partBuffer)]
	if !ok {
		if len(r.interned) >= maxInterned {
			clear(r.interned)
		}
		name = string(r.partBuffer)
		r.interned[name] = name
	}
	r.last = append(r.last[:0], r.partBuffer...)
	r.lastName = name
	return name
}
