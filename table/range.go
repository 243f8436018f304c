package table

// Range is what statistics tell of the cells of one column in a file, or in a part of it. The zero Range tells nothing.
type Range struct {
	// Bounds are two cells, the least and the greatest value or one beyond: values may be cut off. A NaN may be there, too,
	// whatever they say. Nil: not known, or there is no value.
	Bounds *Vector
	// Nulls and Rows tell how many cells are null, of how many. Rows is 0 where that is not known.
	Nulls, Rows int64
}

// AllNull reports whether there is no value for certain.
func (r Range) AllNull() bool { return r.Rows > 0 && r.Nulls >= r.Rows }

// NoNull reports whether there is no null for certain.
func (r Range) NoNull() bool { return r.Rows > 0 && r.Nulls == 0 }

// NewRange returns the range that bounds and a count of nulls tell, -1 where that is not known. low and high are rows whose cells
// are null where there is no bound.
func NewRange(low, high *Vector, i int, nulls, rows int64) Range {
	var r Range
	if nulls >= 0 {
		r.Nulls, r.Rows = nulls, rows
	}
	if low == nil || high == nil || low.IsNull(i) || high.IsNull(i) {
		return r
	}
	r.Bounds = &Vector{Layout: low.Layout}
	r.Bounds.AppendCell(low, i)
	r.Bounds.AppendCell(high, i)
	return r
}
