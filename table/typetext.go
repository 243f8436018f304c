package table

import (
	"fmt"
	"strings"
)

// Limits and defaults of type parameters, as in org.apache.paimon.types.
const (
	MaxDecimalPrecision = 38 // also the scale of a DECIMAL at most
	MaxTimePrecision    = 9  // TIME, TIMESTAMP and TIMESTAMP WITH LOCAL TIME ZONE

	defaultLength             = 1
	defaultDecimalPrecision   = 10
	defaultTimestampPrecision = 6
)

// maxTypeDepth bounds how deep ParseType and UnmarshalJSON follow nested types.
const maxTypeDepth = 64

// rootNames are the keywords of the families, also the "type" of a constructed type in JSON.
var rootNames = [...]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT", Float: "FLOAT",
	Double: "DOUBLE", Decimal: "DECIMAL", Char: "CHAR", VarChar: "VARCHAR", Binary: "BINARY", VarBinary: "VARBINARY",
	Date: "DATE", Time: "TIME", Timestamp: "TIMESTAMP", LocalTimestamp: "TIMESTAMP_LTZ", Array: "ARRAY", Map: "MAP",
	Multiset: "MULTISET", RowType: "ROW",
}

// String returns the keyword of the family, such as "BIGINT".
func (r Root) String() string {
	if int(r) < len(rootNames) && rootNames[r] != "" {
		return rootNames[r]
	}
	return fmt.Sprintf("Root(%d)", uint8(r))
}

// String returns Paimon's canonical text, such as "DECIMAL(10, 2) NOT NULL". Constructed types, which schema files
// hold as JSON objects, print in SQL form: "ARRAY<STRING NOT NULL>".
func (t Type) String() string { return string(t.append(nil)) }

func (t Type) append(b []byte) []byte {
	switch t.Root {
	case Array, Multiset:
		b = fmt.Appendf(b, "%s<%s>", t.Root, t.element())
	case Map:
		b = fmt.Appendf(b, "MAP<%s, %s>", t.key(), t.element())
	case RowType:
		b = append(b, "ROW<"...)
		for i, f := range t.Fields {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = fmt.Appendf(b, "`%s` %s", strings.ReplaceAll(f.Name, "`", "``"), f.Type)
		}
		b = append(b, '>')
	default:
		b = t.appendAtomic(b)
	}
	if t.NotNull {
		b = append(b, " NOT NULL"...)
	}
	return b
}

func (t Type) appendAtomic(b []byte) []byte {
	switch t.Root {
	case Char, Binary:
		return fmt.Appendf(b, "%s(%d)", t.Root, t.Length)
	case VarChar:
		if t.Length == MaxLength {
			return append(b, "STRING"...)
		}
		return fmt.Appendf(b, "VARCHAR(%d)", t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return append(b, "BYTES"...)
		}
		return fmt.Appendf(b, "VARBINARY(%d)", t.Length)
	case Decimal:
		return fmt.Appendf(b, "DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Time, Timestamp:
		return fmt.Appendf(b, "%s(%d)", t.Root, t.Precision)
	case LocalTimestamp:
		return fmt.Appendf(b, "TIMESTAMP(%d) WITH LOCAL TIME ZONE", t.Precision)
	}
	return append(b, t.Root.String()...)
}

// key and element tolerate an incomplete type, so that String never panics on one.
func (t Type) key() Type {
	if t.Key == nil {
		return Type{}
	}
	return *t.Key
}

func (t Type) element() Type {
	if t.Element == nil {
		return Type{}
	}
	return *t.Element
}

// check tells whether the parameters are within Paimon's limits, nested types included.
func (t Type) check() error {
	switch t.Root {
	case Char, VarChar, Binary, VarBinary:
		if t.Length < 1 || t.Length > MaxLength {
			return fmt.Errorf("%s: the length is %d, but has to be 1 to %d", t.Root, t.Length, MaxLength)
		}
	case Decimal:
		if t.Precision < 1 || t.Precision > MaxDecimalPrecision {
			return fmt.Errorf("DECIMAL: the precision is %d, but has to be 1 to %d", t.Precision, MaxDecimalPrecision)
		}
		if t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("DECIMAL: the scale is %d, but has to be 0 to the precision %d", t.Scale, t.Precision)
		}
	case Time, Timestamp, LocalTimestamp:
		if t.Precision < 0 || t.Precision > MaxTimePrecision {
			return fmt.Errorf("%s: the precision is %d, but has to be 0 to %d", t.Root, t.Precision, MaxTimePrecision)
		}
	case Array, Multiset, Map:
		if t.Element == nil || (t.Root == Map && t.Key == nil) {
			return fmt.Errorf("%s: no element type", t.Root)
		}
		if t.Key != nil {
			if err := t.Key.check(); err != nil {
				return err
			}
		}
		return t.Element.check()
	case RowType:
		return checkFields(t.Fields)
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Date:
	default:
		return fmt.Errorf("%s is no type", t.Root)
	}
	return nil
}

func checkFields(fields []Field) error {
	if len(fields) == 0 {
		return fmt.Errorf("ROW: no fields")
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.Name] {
			return fmt.Errorf("ROW: two fields are named %s", f.Name)
		}
		seen[f.Name] = true
		if err := f.Type.check(); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// Equal reports whether two types are the same: family, parameters that the family has, nullability, and for
// constructed types their parts by name. Field ids, descriptions and defaults are no part of a type.
func (t Type) Equal(o Type) bool {
	return t.NotNull == o.NotNull && t.sameIgnoringNull(o)
}

func (t Type) sameIgnoringNull(o Type) bool {
	if t.Root != o.Root {
		return false
	}
	switch t.Root {
	case Char, VarChar, Binary, VarBinary:
		return t.Length == o.Length
	case Decimal:
		return t.Precision == o.Precision && t.Scale == o.Scale
	case Time, Timestamp, LocalTimestamp:
		return t.Precision == o.Precision
	case Array, Multiset:
		return t.element().Equal(o.element())
	case Map:
		return t.key().Equal(o.key()) && t.element().Equal(o.element())
	case RowType:
		if len(t.Fields) != len(o.Fields) {
			return false
		}
		for i := range t.Fields {
			if t.Fields[i].Name != o.Fields[i].Name || !t.Fields[i].Type.Equal(o.Fields[i].Type) {
				return false
			}
		}
	}
	return true
}

// Nullable returns the type without NOT NULL.
func (t Type) Nullable() Type { return t.WithNotNull(false) }

// WithNotNull returns the type with or without NOT NULL.
func (t Type) WithNotNull(notNull bool) Type {
	t.NotNull = notNull
	return t
}
