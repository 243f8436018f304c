package merge

import (
	"bytes"
	"cmp"
	"math"

	"sink/table"
)

// cell is a value of a column, in the units of table.Vector. Its bytes belong to a batch or to a column.
type cell struct {
	word    int64
	bytes   []byte
	present bool
}

func cellOf(v *table.Vector, row int) cell {
	switch {
	case v.IsNull(row):
		return cell{}
	case v.Layout == table.Words:
		return cell{word: v.Words[row], present: true}
	}
	return cell{bytes: v.Bytes(row), present: true}
}

func (c cell) appendTo(v *table.Vector) {
	switch {
	case !c.present:
		v.AppendNull()
	case v.Layout == table.Words:
		v.AppendWord(c.word)
	default:
		v.AppendBytes(c.bytes)
	}
}

// compare orders values of a type, a null first (org.apache.paimon.utils.InternalRowUtils.compare).
func compare(t *table.Type, a, b cell) int {
	if !a.present || !b.present {
		switch {
		case a.present:
			return 1
		case b.present:
			return -1
		}
		return 0
	}
	switch t.Root {
	case table.Float:
		return compareFloats(float64(floatOf(a)), float64(floatOf(b)))
	case table.Double:
		return compareFloats(doubleOf(a), doubleOf(b))
	case table.Decimal:
		if t.Layout() == table.Bytes {
			if c := cmp.Compare(int8(a.bytes[0]), int8(b.bytes[0])); c != 0 {
				return c
			}
		}
	}
	if t.Layout() == table.Words {
		return cmp.Compare(a.word, b.word)
	}
	return bytes.Compare(a.bytes, b.bytes)
}

// compareFloats is Java's Double.compare: -0.0 before 0.0, NaN last.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(truth(math.IsNaN(a)), truth(math.IsNaN(b)))
	}
	return cmp.Compare(truth(math.Signbit(b)), truth(math.Signbit(a)))
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func floatOf(c cell) float32  { return math.Float32frombits(uint32(c.word)) }
func doubleOf(c cell) float64 { return math.Float64frombits(uint64(c.word)) }

func floatCell(f float32) cell  { return cell{word: int64(math.Float32bits(f)), present: true} }
func doubleCell(f float64) cell { return cell{word: int64(math.Float64bits(f)), present: true} }

// line is a row in the making.
type line []cell

// start makes the line what a row leaves of the columns that are NOT NULL; the others are null.
func (l line) start(fields []table.Field, b *table.Batch, row int) {
	for c := range l {
		l[c] = cell{}
		if fields[c].Type.NotNull {
			l[c] = cellOf(&b.Columns[c], row)
		}
	}
}

func (l line) appendTo(out *table.Batch, k table.Kind) {
	for c := range l {
		l[c].appendTo(&out.Columns[c])
	}
	out.Kinds = append(out.Kinds, k)
}
