package table

import "encoding/json"

// Root is the family of a Paimon data type (org.apache.paimon.types.DataTypeRoot).
type Root uint8

// The families that the sink writes. Others (VARIANT, BLOB, VECTOR, ...) are refused by [ParseType].
const (
	Boolean Root = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	VarChar
	Binary
	VarBinary
	Date
	Time
	Timestamp
	LocalTimestamp // TIMESTAMP WITH LOCAL TIME ZONE
	Array
	Map
	Multiset
	RowType
)

// MaxLength is the length of a VARCHAR that prints as STRING and of a VARBINARY that prints as BYTES.
const MaxLength = 1<<31 - 1

// Type is a Paimon data type. The zero NotNull means nullable, as in Paimon.
type Type struct {
	Root      Root
	NotNull   bool
	Length    int     // CHAR, VARCHAR, BINARY, VARBINARY: 1..MaxLength
	Precision int     // DECIMAL 1..38; TIME, TIMESTAMP, LocalTimestamp 0..9
	Scale     int     // DECIMAL: 0..Precision
	Key       *Type   // MAP
	Element   *Type   // ARRAY, MULTISET; the value of a MAP
	Fields    []Field // ROW
}

// Field is a named column of a schema, or a member of a ROW.
type Field struct {
	ID          int
	Name        string
	Type        Type
	Description string
	Default     *string // defaultValue of the schema file; nil when there is none

	// Unknown are members of the schema file that the sink does not know, kept for whoever does.
	Unknown map[string]json.RawMessage
}

// Layout tells how a cell of a type is held in a [Vector].
type Layout uint8

// The two layouts; see the package comment.
const (
	Words Layout = iota + 1
	Bytes
)

// Layout returns the layout of the type's cells.
func (t Type) Layout() Layout {
	switch t.Root {
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Date, Time:
		return Words
	case Decimal:
		if t.Precision <= 18 {
			return Words
		}
	case Timestamp, LocalTimestamp:
		if t.Precision <= 6 {
			return Words
		}
	}
	return Bytes
}

// Nested reports whether the type is ARRAY, MAP, MULTISET or ROW.
func (t Type) Nested() bool { return t.Root >= Array }
