package debezium

import (
	"errors"
	"fmt"
	"strconv"

	"sink/table"
)

// cell turns values of one source field into cells of one column. It has a function for each form in which a value may
// arrive; those that make no sense for its pair of types are nil. The functions append exactly one cell, or return an
// error and leave the vector for the caller to truncate.
//
// A form is what the encodings have in common, so that JSON and Avro share all that follows from the types: an Avro long
// and a JSON integer both arrive at integer.
type cell struct {
	typ   table.Type
	from  *declared
	types *Types

	integer func(c *cell, v *table.Vector, n int64) error
	float   func(c *cell, v *table.Vector, f float64) error
	boolean func(c *cell, v *table.Vector, b bool) error
	text    func(c *cell, v *table.Vector, b []byte) error // a JSON string, an Avro string or enum
	bytes   func(c *cell, v *table.Vector, b []byte) error // Avro bytes and fixed
	decimal func(c *cell, v *table.Vector, d decimal) error
	number  func(c *cell, v *table.Vector, n *number) error // a JSON number that is no int64
	object  func(c *cell, r *reader, v *table.Vector) error // a JSON object
	array   func(c *cell, r *reader, v *table.Vector) error // a JSON array

	low, high int64 // integers: the range; timestamps: what stands for the infinities
	mul, div  int64 // times: from the source's unit to the column's
	step      int64 // times: what the column's precision leaves of its unit
	inside    bool  // part of a nested value: a placeholder is data
	inRow     bool  // member of a ROW
	clock     clock // of text with date and time
	buf       []byte

	key, elem *cell   // MAP; ARRAY has elem only
	entries   entries // MAP
	members   []*cell
	names     map[string]int // ROW: index in members
	tmp       table.Vector   // one cell, on its way into a nested value
}

// errUnavailable says that a value is the placeholder for what the source did not send.
var errUnavailable = errors.New("value is the unavailable-value placeholder")

// valueError is an error of one value.
type valueError struct {
	reason Reason
	err    error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

func bad(reason Reason, format string, args ...any) error {
	return &valueError{reason: reason, err: fmt.Errorf(format, args...)}
}

// wrong is the error of a value of another kind than the column.
func (c *cell) wrong(value string) error {
	return bad(ReasonType, "%s cannot be read as %s", value, c.typ)
}

// misfit is the error of a value that the column cannot hold exactly.
func (c *cell) misfit(value string) error {
	return bad(ReasonRange, "%s does not fit %s exactly", value, c.typ)
}

// show returns a value for a message: quoted, and not longer than it needs to be.
func show(b []byte) string {
	const most = 60
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "..."
	}
	return strconv.Quote(string(b))
}

var notDeclared = declared{sort: sortAny, optional: true}

// newCell compiles the way from a source value to a column; d is nil where events do not declare types.
func newCell(d *declared, typ table.Type, types *Types) (*cell, error) {
	return makeCell(&cell{typ: typ, from: d, types: types})
}

// makeCell fills in a cell that has its types and its place.
func makeCell(c *cell) (*cell, error) {
	if c.from == nil {
		c.from = &notDeclared
	}
	ok := false
	switch c.typ.Root {
	case table.TinyInt, table.SmallInt, table.Int, table.BigInt:
		ok = c.toInteger()
	case table.Float, table.Double:
		ok = c.toFloat()
	case table.Decimal:
		ok = c.toDecimal()
	case table.Boolean:
		ok = c.toBoolean()
	case table.Char, table.VarChar:
		ok = c.toText()
	case table.Binary, table.VarBinary:
		ok = c.toBinary()
	case table.Date:
		ok = c.toDate()
	case table.Time:
		ok = c.toTime()
	case table.Timestamp, table.LocalTimestamp:
		ok = c.toTimestamp()
	default:
		return c, c.toNested()
	}
	if !ok {
		return nil, fmt.Errorf("%s of the source cannot become %s; give the column another type, or leave it out", c.from, c.typ)
	}
	return c, nil
}

// String names the type as the source has it, for messages.
func (d *declared) String() string {
	switch d.sort {
	case sortAny:
		return "a value without declared type"
	case sortInt:
		return fmt.Sprintf("int%d", d.bits)
	case sortUnsigned:
		return "BIGINT UNSIGNED"
	case sortFloat:
		return fmt.Sprintf("float%d", d.bits)
	case sortBool:
		return "boolean"
	case sortText:
		return "string"
	case sortBytes:
		return "bytes"
	case sortArray:
		return "array"
	case sortMap:
		return "map"
	}
	if d.name == "" {
		return "struct"
	}
	return d.name
}

// nul appends a null, if the column may hold one.
func (c *cell) null(v *table.Vector) error {
	if c.typ.NotNull {
		return bad(ReasonNull, "NULL in a column that is %s", c.typ)
	}
	v.AppendNull()
	return nil
}
