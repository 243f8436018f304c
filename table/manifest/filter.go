package manifest

import (
	"bytes"
	"fmt"

	"sink/table"
)

// Filter keeps the files of some partitions and buckets. A nil Filter keeps all. It is safe for concurrent use.
type Filter struct {
	partitions map[string]struct{} // nil: all
	bounds     []bound             // one a partition
	columns    *partitionColumns
	buckets    map[int32]struct{} // nil: all
}

// bound is a partition, column by column: an order-preserving encoding of the value, nil for a null.
type bound [][]byte

// NewFilter returns a filter. Partitions are serialised BinaryRows as in [table.Bucket]; nil keeps all of them, as nil
// keeps all buckets.
func NewFilter(schema *table.Schema, partitions []string, buckets []int32) (*Filter, error) {
	f := &Filter{columns: newPartitionColumns(schema)}
	if partitions != nil {
		f.partitions = make(map[string]struct{}, len(partitions))
	}
	for _, p := range partitions {
		b, err := f.columns.bound([]byte(p))
		if err != nil {
			return nil, err
		}
		f.partitions[p] = struct{}{}
		f.bounds = append(f.bounds, b)
	}
	if buckets != nil {
		f.buckets = make(map[int32]struct{}, len(buckets))
	}
	for _, b := range buckets {
		f.buckets[b] = struct{}{}
	}
	return f, nil
}

// keepsFile reports whether the filter lets a file through.
func (f *Filter) keepsFile(file *table.File) bool {
	if f == nil {
		return true
	}
	if f.partitions != nil {
		if _, ok := f.partitions[file.Bucket.Partition]; !ok {
			return false
		}
	}
	if f.buckets != nil {
		if _, ok := f.buckets[file.Bucket.Number]; !ok {
			return false
		}
	}
	return true
}

// keepsManifest reports whether a manifest may hold a file that the filter lets through. Bounds that are not known or
// cannot be read keep the manifest.
func (f *Filter) keepsManifest(m *ListEntry) bool {
	if f == nil {
		return true
	}
	if f.buckets != nil && !f.keepsBuckets(m.Buckets) {
		return false
	}
	if f.partitions == nil {
		return true
	}
	lo, errLo := f.columns.bound(m.Partitions.Min)
	hi, errHi := f.columns.bound(m.Partitions.Max)
	if errLo != nil || errHi != nil {
		return true
	}
	for _, p := range f.bounds {
		if p.within(lo, hi, m.Partitions.Nulls) {
			return true
		}
	}
	return false
}

func (f *Filter) keepsBuckets(r Range) bool {
	for b := range f.buckets {
		if r.Contains(b) {
			return true
		}
	}
	return false
}

// within reports whether a partition may be among those that the bounds describe.
func (p bound) within(lo, hi bound, nulls []int64) bool {
	for i, v := range p {
		knownNulls := int64(-1)
		if i < len(nulls) {
			knownNulls = nulls[i]
		}
		switch {
		case v == nil && knownNulls == 0:
			return false
		case v == nil || lo[i] == nil || hi[i] == nil: // a null, or no bounds
		case bytes.Compare(v, lo[i]) < 0 || bytes.Compare(v, hi[i]) > 0:
			return false
		}
	}
	return true
}

// partitionColumns compares partitions column by column.
type partitionColumns struct {
	types    []table.Type
	encoders []*table.KeyEncoder // one a column
}

func newPartitionColumns(s *table.Schema) *partitionColumns {
	c := &partitionColumns{types: s.TypesOf(s.Indexes(s.PartitionKeys))}
	for i, t := range c.types {
		c.encoders = append(c.encoders, table.NewKeyEncoder([]table.Type{t}, []int{i}))
	}
	return c
}

// bound decodes a serialised partition.
func (c *partitionColumns) bound(partition []byte) (bound, error) {
	row, err := table.DecodeRow(partition, c.types)
	if err != nil {
		return nil, fmt.Errorf("partition %x: %w", partition, err)
	}
	return c.boundOf(row), nil
}

func (c *partitionColumns) boundOf(row *table.Batch) bound {
	b := make(bound, len(c.types))
	for i := range b {
		if !row.Columns[i].IsNull(0) {
			b[i] = c.encoders[i].Append([]byte{}, row, 0)
		}
	}
	return b
}
