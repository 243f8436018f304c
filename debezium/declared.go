package debezium

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sink/table"
)

// sort is how a value travels and what it means: what is left of Connect's types and of Debezium's semantic names once
// they are understood.
type sort uint8

const (
	sortAny          sort = iota // not declared: JSON without schema
	sortInt                      // int8 to int64
	sortUnsigned                 // an int64 that stands for a BIGINT UNSIGNED
	sortFloat                    // float32 and float64
	sortBool                     // boolean
	sortText                     // string
	sortBytes                    // bytes
	sortDecimal                  // bytes, two's complement of the unscaled value; or a JSON number
	sortVarDecimal               // struct of scale and bytes
	sortDate                     // int32, days
	sortIsoDate                  // string
	sortTime                     // int32 or int64, of a unit, since midnight
	sortIsoTime                  // string
	sortTimestamp                // int64, of a unit, since the epoch, without zone
	sortIsoTimestamp             // string, without zone (but with a Z)
	sortZoned                    // string with a zone
	sortArray
	sortMap
	sortStruct
)

// declared is what a schema says of a value.
type declared struct {
	sort      sort
	unit      int64 // sortTime, sortTimestamp: parts of a second
	bits      int   // sortInt: 8 to 64; sortFloat: 32, 64
	scale     int   // sortDecimal
	optional  bool
	name      string // name of a struct's schema, for messages
	doc       string
	precision int // sortDecimal, 0 where unknown
	column    sourceColumn
	fallback  []byte    // the default, as JSON in the form of the values; nil: none
	members   []member  // sortStruct, sortVarDecimal
	key, elem *declared // sortMap; sortArray has elem only
}

// member is a field of a struct.
type member struct {
	name string
	declared
}

// sourceColumn is what column.propagate.source.type says.
type sourceColumn struct {
	kind   string // upper case
	length int    // -1 where unknown
}

// The prefixes of semantic names.
const (
	debeziumTime = "io.debezium.time."
	debeziumData = "io.debezium.data."
	connectData  = "org.apache.kafka.connect.data."
)

// mean settles what a value of a Connect type with a semantic name is. parameters are the schema's. A name on a type that
// it does not belong to, and a name that changes nothing about the bytes (Json, Uuid, Enum, Bits, ...), mean nothing.
func (d *declared) mean(name string, parameters map[string]string) error {
	d.name = name
	d.column = sourceColumn{
		kind:   strings.ToUpper(parameters["__debezium.source.column.type"]),
		length: atoi(parameters["__debezium.source.column.length"], -1),
	}
	switch d.sort {
	case sortInt:
		d.meanInt(name)
	case sortText:
		switch name {
		case debeziumTime + "ZonedTimestamp":
			d.sort = sortZoned
		case debeziumTime + "IsoDate":
			d.sort = sortIsoDate
		case debeziumTime + "IsoTime":
			d.sort = sortIsoTime
		case debeziumTime + "IsoTimestamp":
			d.sort = sortIsoTimestamp
		}
	case sortBytes:
		if name == connectData+"Decimal" {
			d.sort = sortDecimal
			d.precision = atoi(parameters["connect.decimal.precision"], 0)
			return d.setScale(atoi(parameters["scale"], maxPlainDigits+1))
		}
	case sortStruct:
		if name == debeziumData+"VariableScaleDecimal" {
			d.sort = sortVarDecimal
		}
	}
	return nil
}

// setScale takes the scale of a decimal. Without one nobody knows what its bytes stand for.
func (d *declared) setScale(scale int) error {
	if d.scale = scale; scale < -maxPlainDigits || scale > maxPlainDigits {
		return errors.New("a decimal whose scale is missing or no number that a scale can be")
	}
	return nil
}

func (d *declared) meanInt(name string) {
	switch name {
	case debeziumTime + "Date", connectData + "Date":
		d.sort = sortDate
	case debeziumTime + "Time", connectData + "Time":
		d.sort, d.unit = sortTime, perMilli
	case debeziumTime + "MicroTime":
		d.sort, d.unit = sortTime, perMicro
	case debeziumTime + "NanoTime":
		d.sort, d.unit = sortTime, perNano
	case debeziumTime + "Timestamp", connectData + "Timestamp":
		d.sort, d.unit = sortTimestamp, perMilli
	case debeziumTime + "MicroTimestamp":
		d.sort, d.unit = sortTimestamp, perMicro
	case debeziumTime + "NanoTimestamp":
		d.sort, d.unit = sortTimestamp, perNano
	default:
		if d.bits == 64 && strings.HasPrefix(d.column.kind, "BIGINT UNSIGNED") {
			d.sort = sortUnsigned
		}
	}
}

// atoi reads a parameter; other where it is no number.
func atoi(s string, other int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return other
	}
	return n
}

// negativeScale is from where a scale cannot be one: PostgreSQL has 1000 at most, and Debezium sends numeric(5,-2) with
// the scale 2046, which is -2 in 11 bits.
const negativeScale = 1001

// natural returns the type of the column that a table made for the event gets. It is nullable when the value is optional.
func (d *declared) natural(t *Types) (table.Type, error) {
	typ, err := d.naturalType(t)
	typ.NotNull = !d.optional
	return typ, err
}

func (d *declared) naturalType(t *Types) (table.Type, error) {
	switch d.sort {
	case sortInt:
		return d.naturalInt(t), nil
	case sortUnsigned:
		return table.Type{Root: table.Decimal, Precision: 20}, nil
	case sortFloat:
		if d.bits == 32 {
			return table.Type{Root: table.Float}, nil
		}
		return table.Type{Root: table.Double}, nil
	case sortBool:
		return table.Type{Root: table.Boolean}, nil
	case sortText:
		if t.Binary != BinaryAuto && d.column.binary() {
			return bytesType, nil
		}
		return stringType, nil
	case sortBytes:
		return bytesType, nil
	case sortDecimal:
		return d.naturalDecimal(), nil
	case sortVarDecimal:
		return stringType, nil
	case sortDate, sortIsoDate:
		return table.Type{Root: table.Date}, nil
	case sortTime, sortIsoTime:
		return d.naturalTime(t.Time), nil
	case sortTimestamp:
		return table.Type{Root: table.Timestamp, Precision: digitsOf(d.unit)}, nil
	case sortIsoTimestamp:
		return table.Type{Root: table.Timestamp, Precision: 6}, nil
	case sortZoned:
		return table.Type{Root: table.LocalTimestamp, Precision: 6}, nil
	}
	return d.naturalNested(t)
}

var (
	stringType = table.Type{Root: table.VarChar, Length: table.MaxLength}
	bytesType  = table.Type{Root: table.VarBinary, Length: table.MaxLength}
)

func (d *declared) naturalInt(t *Types) table.Type {
	if t.TinyInt1 == TinyInt1Boolean && d.column.kind == "TINYINT" && d.column.length == 1 {
		return table.Type{Root: table.Boolean}
	}
	switch d.bits {
	case 8:
		return table.Type{Root: table.TinyInt}
	case 16:
		return table.Type{Root: table.SmallInt}
	case 32:
		return table.Type{Root: table.Int}
	}
	return table.Type{Root: table.BigInt}
}

// naturalDecimal: a precision that the schema does not have is the highest (money), and what Paimon cannot hold is text.
func (d *declared) naturalDecimal() table.Type {
	precision, scale := d.precision, d.scale
	if scale >= negativeScale {
		return stringType
	}
	if precision == 0 {
		precision = table.MaxDecimalPrecision
	}
	if scale < 0 {
		precision, scale = precision-scale, 0
	}
	precision = max(precision, scale)
	if precision > table.MaxDecimalPrecision {
		return stringType
	}
	return table.Type{Root: table.Decimal, Precision: precision, Scale: scale}
}

func (d *declared) naturalTime(mode TimeMode) table.Type {
	switch {
	case mode == TimeInt64, mode == TimeAuto && d.sort == sortTime && d.unit > perMilli:
		return table.Type{Root: table.BigInt}
	case mode == TimeString, mode == TimeAuto && d.sort == sortIsoTime:
		return stringType
	}
	return table.Type{Root: table.Time, Precision: 3}
}

func (d *declared) naturalNested(t *Types) (table.Type, error) {
	switch d.sort {
	case sortArray:
		elem, err := d.elem.natural(t)
		return table.Type{Root: table.Array, Element: &elem}, err
	case sortMap:
		key, err := d.key.natural(t)
		if err != nil {
			return table.Type{}, err
		}
		key.NotNull = true
		elem, err := d.elem.natural(t)
		return table.Type{Root: table.Map, Key: &key, Element: &elem}, err
	case sortStruct:
		row := table.Type{Root: table.RowType}
		if len(d.members) == 0 {
			return row, fmt.Errorf("struct %s has no members, and a ROW has one at least; leave the column out (exclude-columns)", d.name)
		}
		for i := range d.members {
			m := &d.members[i]
			typ, err := m.natural(t)
			if err != nil {
				return row, err
			}
			row.Fields = append(row.Fields, table.Field{Name: m.name, Type: typ, Description: m.doc})
		}
		return row, nil
	}
	return table.Type{}, errors.New("values of several types, or of none, have no type of a column; give it one under columns:, or leave it out (exclude-columns)")
}

// binary tells a column of bytes, which binary.handling.mode may have made text.
func (c sourceColumn) binary() bool {
	return c.kind == "BYTEA" || c.kind == "BINARY" || c.kind == "VARBINARY" || strings.HasSuffix(c.kind, "BLOB")
}

// Parts of a second.
const (
	perMilli = 1_000
	perMicro = 1_000_000
	perNano  = 1_000_000_000
)

// digitsOf returns the decimals of a second that a unit has.
func digitsOf(unit int64) int {
	switch unit {
	case perMilli:
		return 3
	case perMicro:
		return 6
	}
	return 9
}
