package compute

import (
	"sink/table"
)

// truths is a set of truths.
type truths uint8

const (
	mayBeFalse truths = 1 << iota
	mayBeUnknown
	mayBeTrue

	anyTruth = mayBeFalse | mayBeUnknown | mayBeTrue
)

// MayMatch reports whether the condition may hold for any row of a file, or a part of one, whose columns are as ranges tells. It
// is false only for certain.
func (p *Predicate) MayMatch(ranges func(column int) table.Range) bool {
	return p.root.within(ranges)&mayBeTrue != 0
}

// within returns the truths that may come of joined conditions.
func (j *joint) within(ranges func(int) table.Range) truths {
	out := j.parts[0].within(ranges)
	if j.operator == "not" {
		return out&mayBeUnknown | out&mayBeFalse<<2 | out&mayBeTrue>>2
	}
	for _, p := range j.parts[1:] {
		out = combine(out, p.within(ranges), j.operator == "and")
	}
	return out
}

// combine returns what may come of two conditions, each of which may be any of a set: the least of both for and, else the greatest.
func combine(a, b truths, and bool) truths {
	var out truths
	for _, x := range []truths{mayBeFalse, mayBeUnknown, mayBeTrue} {
		for _, y := range []truths{mayBeFalse, mayBeUnknown, mayBeTrue} {
			switch {
			case a&x == 0 || b&y == 0:
			case and:
				out |= min(x, y)
			default:
				out |= max(x, y)
			}
		}
	}
	return out
}

// within returns the truths that may come of a comparison. Of a function of columns nothing is known.
func (c *comparison) within(ranges func(int) table.Range) truths {
	at, ok := c.left.(column)
	if !ok {
		return anyTruth
	}
	r := ranges(int(at))
	if c.operator == "null" {
		switch {
		case r.AllNull():
			return mayBeTrue
		case r.NoNull():
			return mayBeFalse
		}
		return mayBeTrue | mayBeFalse
	}
	var out truths
	if !r.NoNull() {
		out = mayBeUnknown
	}
	if r.AllNull() {
		return out
	}
	return out | c.ofValues(r.Bounds)
}

// ofValues returns the truths for values within bounds, and for a NaN, for which nothing holds but <>.
func (c *comparison) ofValues(bounds *table.Vector) truths {
	if bounds == nil {
		return mayBeTrue | mayBeFalse
	}
	b := &table.Batch{Columns: []table.Vector{*bounds}}
	low, err := column(0).eval(b, 0)
	if err != nil {
		return mayBeTrue | mayBeFalse
	}
	high, err := column(0).eval(b, 1)
	if err != nil {
		return mayBeTrue | mayBeFalse
	}
	may := func(v cell) bool {
		switch lo, hi := c.order(low, v), c.order(high, v); {
		case lo == notComparable || hi == notComparable:
			return true
		case c.operator == "<":
			return lo < 0
		case c.operator == "<=":
			return lo <= 0
		case c.operator == ">":
			return hi > 0
		case c.operator == ">=":
			return hi >= 0
		case c.operator == "<>":
			return true // a NaN is another than any
		default: // = and in
			return lo <= 0 && hi >= 0
		}
	}
	for _, v := range c.values {
		if may(v) {
			return mayBeTrue | mayBeFalse
		}
	}
	return mayBeFalse
}
