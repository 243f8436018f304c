package verify

import (
	"bytes"

	"sink/table"
)

// columns gathers the bounds and null counts of some columns, in the order of keys.
type columns struct {
	types    []table.Type
	encoders []*table.KeyEncoder // nil for constructed types, which have no bounds
	min, max [][]byte
	nulls    []int64
	scratch  []byte
}

// newColumns gathers the columns of batches that begin with columns of these types.
func newColumns(types []table.Type) *columns {
	c := &columns{
		types: types, encoders: encodersOf(types), min: make([][]byte, len(types)), max: make([][]byte, len(types)), nulls: make([]int64, len(types)),
	}
	return c
}

// encodersOf returns one encoder a column.
func encodersOf(types []table.Type) []*table.KeyEncoder {
	encoders := make([]*table.KeyEncoder, len(types))
	for i, t := range types {
		if !t.Nested() {
			encoders[i] = table.NewKeyEncoder([]table.Type{t.Nullable()}, []int{i})
		}
	}
	return encoders
}

// add takes the rows of a batch.
func (c *columns) add(b *table.Batch) {
	for i := range c.types {
		v := &b.Columns[i]
		for row := range v.Len() {
			if v.IsNull(row) {
				c.nulls[i]++
				continue
			}
			if c.encoders[i] == nil {
				continue
			}
			c.scratch = c.encoders[i].Append(c.scratch[:0], b, row)
			if c.min[i] == nil || bytes.Compare(c.scratch, c.min[i]) < 0 {
				c.min[i] = append(c.min[i][:0], c.scratch...)
			}
			if c.max[i] == nil || bytes.Compare(c.scratch, c.max[i]) > 0 {
				c.max[i] = append(c.max[i][:0], c.scratch...)
			}
		}
	}
}

// checkStats compares statistics with what was gathered of the columns. at says where the columns of the statistics are
// among them; nil: all of them, in order.
func (c *checker) checkStats(code, where string, s table.Stats, names []string, have *columns, at []int) {
	if at == nil {
		at = make([]int, len(names))
		for i := range at {
			at[i] = i
		}
	}
	if len(s.Nulls) == 0 && len(at) > 0 && isEmptyRow(s.Min) && isEmptyRow(s.Max) {
		return // none was kept
	}
	types := make([]table.Type, len(at))
	for i, j := range at {
		if j < 0 || j >= len(have.types) {
			c.fault(code, where, "they are of a column that is not there")
			return
		}
		types[i] = have.types[j].Nullable()
	}
	low, errLow := table.DecodeRow(s.Min, types)
	high, errHigh := table.DecodeRow(s.Max, types)
	if errLow != nil || errHigh != nil || arity(s.Min) != len(types) || arity(s.Max) != len(types) || len(s.Nulls) != len(types) && s.Nulls != nil {
		c.fault(code, where, "has %d minima, %d maxima and %d null counts for %d columns", arity(s.Min), arity(s.Max), len(s.Nulls), len(types))
		return
	}
	bounds := encodersOf(types)
	for i, j := range at {
		name := names[j]
		if s.Nulls != nil && s.Nulls[i] >= 0 && s.Nulls[i] != have.nulls[j] {
			c.fault(code, where, "%s: has %d nulls, but %d are recorded", name, have.nulls[j], s.Nulls[i])
		}
		if bounds[i] == nil || have.min[j] == nil {
			continue
		}
		if !low.Columns[i].IsNull(0) && bytes.Compare(bounds[i].Append(nil, low, 0), have.min[j]) > 0 {
			c.fault(code, where, "%s: a value is below the recorded minimum", name)
		}
		if !high.Columns[i].IsNull(0) && bytes.Compare(bounds[i].Append(nil, high, 0), have.max[j]) < 0 {
			c.fault(code, where, "%s: a value is above the recorded maximum", name)
		}
	}
}

// arity returns the number of columns of a serialised row, -1 for what is none.
func arity(row []byte) int {
	if len(row) < 4 {
		return -1
	}
	return int(int32(uint32(row[0])<<24 | uint32(row[1])<<16 | uint32(row[2])<<8 | uint32(row[3])))
}

func isEmptyRow(row []byte) bool { return arity(row) <= 0 }
