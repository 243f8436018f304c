package merge

import (
	"fmt"
	"math/big"

	"sink/table"
)

// column is the function of a column at work (org.apache.paimon.mergetree.compact.aggregate.FieldAggregator).
type column struct {
	*aggregate
	typ *table.Type

	add  func(c *column, acc, in cell) (cell, error)
	take func(c *column, acc, in cell) (cell, error) // nil: the function cannot take back

	begun bool      // of first_value and first_non_null_value: it has its value
	bufs  [2][]byte // values that were made; the last one is in bufs[turn]
	turn  int
	parts parts
	a, b  big.Int
}

// method is how a function works.
type method struct {
	add, take func(c *column, acc, in cell) (cell, error)
}

var methods = map[string]method{
	table.PrimaryKeyFunction: {newer, newer},
	"last_value":             {newer, nothing},
	table.LastNonNull:        {newerPresent, forget},
	"first_value":            {first, nil},
	"first_non_null_value":   {firstPresent, nil},
	"first_not_null_value":   {firstPresent, nil},
	"max":                    {greatest, nil},
	"min":                    {least, nil},
	"bool_and":               {and, nil},
	"bool_or":                {or, nil},
	"sum":                    {sum, subtract},
	"product":                {product, divide},
	"listagg":                {concatenate, nil},
	"collect":                {collect, uncollect},
	"merge_map":              {mergeMap, unmergeMap},
	"nested_update":          {updateNested, removeNested},
}

func newColumn(a *aggregate) *column {
	m := methods[a.Function]
	return &column{aggregate: a, typ: &a.field.Type, add: m.add, take: m.take}
}

// addOlder adds a value that belongs before what is there. collect only looks for what is there already, so it keeps its
// order, but not under ignore-retract, as Paimon has it.
func (c *column) addOlder(acc, in cell) (cell, error) {
	if c.Function == "collect" && !c.IgnoreRetract {
		return c.add(c, acc, in)
	}
	return c.add(c, in, acc)
}

// retract takes back what a row of kind -U or -D takes away.
func (c *column) retract(acc, in cell, k table.Kind) (cell, error) {
	switch {
	case c.IgnoreRetract:
		return acc, nil
	case c.take == nil:
		return cell{}, c.refusesRetraction(k)
	}
	return c.take(c, acc, in)
}

// room returns memory for a new value, while the last one made stays as it is.
func (c *column) room() []byte {
	c.turn = 1 - c.turn
	return c.bufs[c.turn][:0]
}

// made makes a cell of a value that was put into room.
func (c *column) made(b []byte) cell {
	c.bufs[c.turn] = b
	return cell{bytes: b, present: true}
}

// last reports whether a cell is the value made last, so that it can be added to in place.
func (c *column) last(v cell) bool {
	b := c.bufs[c.turn]
	return len(v.bytes) > 0 && len(b) == len(v.bytes) && &b[0] == &v.bytes[0]
}

// either returns the one value there is, if there are not two.
func either(acc, in cell) (cell, bool) {
	if !acc.present {
		return in, true
	}
	return acc, !in.present
}

func newer(_ *column, _, in cell) (cell, error)  { return in, nil }
func nothing(_ *column, _, _ cell) (cell, error) { return cell{}, nil }

func newerPresent(_ *column, acc, in cell) (cell, error) {
	if in.present {
		return in, nil
	}
	return acc, nil
}

func forget(_ *column, acc, in cell) (cell, error) {
	if in.present {
		return cell{}, nil
	}
	return acc, nil
}

func first(c *column, acc, in cell) (cell, error) {
	if c.begun {
		return acc, nil
	}
	c.begun = true
	return in, nil
}

func firstPresent(c *column, acc, in cell) (cell, error) {
	if c.begun || !in.present {
		return acc, nil
	}
	c.begun = true
	return in, nil
}

func greatest(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	if compare(c.typ, acc, in) < 0 {
		return in, nil
	}
	return acc, nil
}

func least(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	if compare(c.typ, acc, in) < 0 {
		return acc, nil
	}
	return in, nil
}

func and(_ *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	return cell{word: acc.word & in.word, present: true}, nil
}

func or(_ *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	return cell{word: acc.word | in.word, present: true}, nil
}

// concatenate is listagg.
func concatenate(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	if c.last(acc) {
		b := append(append(c.bufs[c.turn], c.Delimiter...), in.bytes...)
		return c.made(b), nil
	}
	b := append(append(append(c.room(), acc.bytes...), c.Delimiter...), in.bytes...)
	return c.made(b), nil
}

// overflows is the error of a result that the column cannot hold.
func (c *column) overflows() error {
	return fmt.Errorf("column %s: the %s is beyond %s: give the column a wider type", c.field.Name, c.Function, c.field.Type)
}
