package arrowipc

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"sink/table"
)

// column takes the values of one type, be it a column or what is nested in one.
type column struct {
	typ   *table.Type
	nulls array.Builder      // any builder, for nulls
	word  func(int64)        // layout Words
	bytes func([]byte) error // layout Bytes, not nested
	open  func(bool)         // nested: begins a value
	parts []column           // nested: element; key and value; members
}

// countType is the type of a MULTISET's counts.
var countType = table.Type{Root: table.Int, NotNull: true}

// newColumn binds a type to the builder of its Arrow type.
func newColumn(t *table.Type, builder array.Builder) column {
	c := column{typ: t, nulls: builder}
	switch b := builder.(type) {
	case *array.StructBuilder:
		c.open = b.Append
		for i := range t.Fields {
			c.parts = append(c.parts, newColumn(&t.Fields[i].Type, b.FieldBuilder(i)))
		}
	case *array.MapBuilder:
		c.open = b.Append
		key, value := t.Key, t.Element
		if t.Root == table.Multiset {
			key, value = t.Element, &countType
		}
		c.parts = []column{newColumn(key, b.KeyBuilder()), newColumn(value, b.ItemBuilder())}
	case *array.ListBuilder:
		c.open = b.Append
		c.parts = []column{newColumn(t.Element, b.ValueBuilder())}
	default:
		c.word, c.bytes = atomOf(t, builder)
	}
	return c
}

// atomOf returns how a value of a type that is not nested is appended: one of the two.
func atomOf(t *table.Type, builder array.Builder) (word func(int64), bytes func([]byte) error) {
	switch b := builder.(type) {
	case *array.BooleanBuilder:
		return func(w int64) { b.Append(w != 0) }, nil
	case *array.Int8Builder:
		return func(w int64) { b.Append(int8(w)) }, nil
	case *array.Int16Builder:
		return func(w int64) { b.Append(int16(w)) }, nil
	case *array.Int32Builder:
		return func(w int64) { b.Append(int32(w)) }, nil
	case *array.Int64Builder:
		return b.Append, nil
	case *array.Float32Builder:
		return func(w int64) { b.Append(math.Float32frombits(uint32(w))) }, nil
	case *array.Float64Builder:
		return func(w int64) { b.Append(math.Float64frombits(uint64(w))) }, nil
	case *array.Date32Builder:
		return func(w int64) { b.Append(arrow.Date32(w)) }, nil
	case *array.Time32Builder:
		return func(w int64) { b.Append(arrow.Time32(w)) }, nil
	case *array.Decimal128Builder:
		return func(w int64) { b.Append(decimal128.FromI64(w)) }, func(cell []byte) error {
			b.Append(decimal128.New(int64(binary.BigEndian.Uint64(cell)), binary.BigEndian.Uint64(cell[8:])))
			return nil
		}
	case *array.TimestampBuilder:
		return func(w int64) { b.Append(arrow.Timestamp(w)) }, func(cell []byte) error { return appendNanos(b, t, cell) }
	case *array.StringBuilder:
		return nil, func(cell []byte) error {
			b.BinaryBuilder.Append(validText(cell))
			return nil
		}
	}
	b := builder.(*array.BinaryBuilder)
	return nil, func(cell []byte) error {
		b.Append(cell)
		return nil
	}
}

// nanosPerMilli is how many nanoseconds a millisecond has.
const nanosPerMilli = 1_000_000

// appendNanos appends a cell of TIMESTAMP(7) to (9). Arrow counts its nanoseconds in 64 bits, which reach from 1677 to 2262.
func appendNanos(b *array.TimestampBuilder, t *table.Type, cell []byte) error {
	millis, nanos := table.SplitNanoTimestamp(cell)
	count := millis*nanosPerMilli + int64(nanos) // wraps around what does not fit
	floor, rest := count/nanosPerMilli, count%nanosPerMilli
	if rest < 0 {
		floor, rest = floor-1, rest+nanosPerMilli
	}
	if floor != millis || rest != int64(nanos) {
		v := table.Vector{Layout: table.Bytes}
		v.AppendBytes(cell)
		return fmt.Errorf("%s is outside of what Arrow holds in nanoseconds, 1677 to 2262: leave the column out, or write another format",
			table.AppendCanonical(nil, *t, &v, 0))
	}
	b.Append(arrow.Timestamp(count))
	return nil
}

// validText replaces each byte that is no UTF-8, which Arrow does not allow in a text.
func validText(cell []byte) []byte {
	if utf8.Valid(cell) {
		return cell
	}
	return []byte(string([]rune(string(cell))))
}

// cell appends cell i of a vector.
func (c *column) cell(v *table.Vector, i int) error {
	switch {
	case v.IsNull(i):
		c.nulls.AppendNull()
		return nil
	case v.Layout == table.Words:
		c.word(v.Words[i])
		return nil
	case c.open == nil:
		return c.bytes(v.Bytes(i))
	}
	r := table.ReadNested(v.Bytes(i))
	if err := c.nested(&r); err != nil {
		return err
	}
	return r.Err()
}

// nested appends the nested value in which the reader stands.
func (c *column) nested(r *table.NestedReader) error {
	c.open(true)
	if c.typ.Root == table.RowType {
		return c.values(r)
	}
	for r.More() {
		if err := c.values(r); err != nil {
			return err
		}
	}
	return nil
}

// values appends one value of each part.
func (c *column) values(r *table.NestedReader) error {
	for i := range c.parts {
		if err := c.parts[i].value(r); err != nil {
			return err
		}
	}
	return nil
}

// value appends the next value of a nested one.
func (c *column) value(r *table.NestedReader) error {
	switch {
	case r.Null():
		c.nulls.AppendNull()
		return nil
	case c.open != nil:
		return c.nested(r)
	case c.typ.Layout() == table.Words:
		c.word(r.Word())
		return nil
	}
	return c.bytes(r.Bytes())
}
