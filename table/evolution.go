package table

import (
	"fmt"
	"slices"
)

// ChangeKind is a kind of schema change.
type ChangeKind uint8

// The changes that Evolve makes. Others (drop, rename, reorder, narrower types) are left to people.
const (
	AddColumn      ChangeKind = iota + 1 // a new, nullable column at the end
	WidenColumn                          // to a type that holds every value of the old one
	RelaxColumn                          // NOT NULL to nullable
	DescribeColumn                       // a comment where there was none
)

// String returns a verb for logs.
func (k ChangeKind) String() string {
	switch k {
	case AddColumn:
		return "add"
	case WidenColumn:
		return "widen"
	case RelaxColumn:
		return "relax"
	case DescribeColumn:
		return "describe"
	}
	return fmt.Sprintf("ChangeKind(%d)", uint8(k))
}

// Change is one step from a schema to the next. From is the zero Type for an added column.
type Change struct {
	Kind     ChangeKind
	Column   string
	From, To Type
}

// String returns a line for logs, such as "widen amount: INT to BIGINT".
func (c Change) String() string {
	switch c.Kind {
	case AddColumn:
		return fmt.Sprintf("add %s: %s", c.Column, c.To)
	case DescribeColumn:
		return fmt.Sprintf("describe %s", c.Column)
	}
	return fmt.Sprintf("%s %s: %s to %s", c.Kind, c.Column, c.From, c.To)
}

// IncompatibleError tells that a column's type cannot be widened to hold what the source sends.
type IncompatibleError struct {
	Column     string
	Have, Want Type
	Reason     string // why not, where there is more to say than the types
}

func (e *IncompatibleError) Error() string {
	text := fmt.Sprintf("column %s is %s, which cannot take in %s", e.Column, e.Have, e.Want)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Evolve returns the schema that holds all that s holds and also rows of the wanted columns, matched by name:
//
//   - a column that s lacks is added at the end, nullable, with a new id; ids are never used again
//   - a type that is too narrow is widened: integers, the length of strings and binaries, the digits of decimals on either
//     side of the point, FLOAT to DOUBLE, the precision of times and timestamps
//   - a column that the source may leave out or send as null, and is no key, is relaxed to nullable; so is one that want
//     does not have, which otherwise stays as it is
//   - a comment is filled in where there is none
//
// Columns of the primary key and of the partition keep their types, for Paimon cannot change them. The new schema's id is
// one above s's; its TimeMillis is s's, for the caller to set. If nothing differs it is s itself, without changes. If
// a column does not fit, the error is an *IncompatibleError.
func Evolve(s *Schema, want []Field) (*Schema, []Change, error) {
	out := s.Clone()
	var changes []Change
	wanted := make(map[string]bool, len(want))
	for _, w := range want {
		if wanted[w.Name] {
			return nil, nil, fmt.Errorf("two wanted columns are named %s", w.Name)
		}
		wanted[w.Name] = true
		i := s.FieldIndex(w.Name)
		if i < 0 {
			w.Type.NotNull = false
			out.HighestFieldID = max(out.HighestFieldID, highestID(out.Fields))
			f := out.newField(w)
			out.Fields = append(out.Fields, f)
			changes = append(changes, Change{Kind: AddColumn, Column: f.Name, To: f.Type})
			continue
		}
		more, err := out.fit(&out.Fields[i], w)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, more...)
	}
	for i := range s.Fields {
		if f := &out.Fields[i]; !wanted[f.Name] {
			changes = append(changes, out.relax(f)...)
		}
	}
	if len(changes) == 0 {
		return s, nil, nil
	}
	out.ID++
	return out, changes, nil
}

// fit changes a column so that it takes in the wanted one.
func (s *Schema) fit(f *Field, w Field) (changes []Change, err error) {
	wide, ok := widen(f.Type, w.Type)
	if !ok {
		return nil, &IncompatibleError{Column: f.Name, Have: f.Type, Want: w.Type}
	}
	if !wide.sameIgnoringNull(f.Type) {
		if s.isKey(f.Name) {
			return nil, &IncompatibleError{Column: f.Name, Have: f.Type, Want: w.Type,
				Reason: "the type of a primary key or partition column cannot change; write to a new table"}
		}
		changes = append(changes, Change{Kind: WidenColumn, Column: f.Name, From: f.Type, To: wide.WithNotNull(f.Type.NotNull)})
		f.Type = wide.WithNotNull(f.Type.NotNull)
	}
	if !w.Type.NotNull {
		changes = append(changes, s.relax(f)...)
	}
	if f.Description == "" && w.Description != "" {
		f.Description = w.Description
		changes = append(changes, Change{Kind: DescribeColumn, Column: f.Name, From: f.Type, To: f.Type})
	}
	return changes, nil
}

// relax makes a column nullable unless it is a key.
func (s *Schema) relax(f *Field) []Change {
	if !f.Type.NotNull || slices.Contains(s.PrimaryKeys, f.Name) {
		return nil
	}
	from := f.Type
	f.Type.NotNull = false
	return []Change{{Kind: RelaxColumn, Column: f.Name, From: from, To: f.Type}}
}

func (s *Schema) isKey(name string) bool {
	return slices.Contains(s.PrimaryKeys, name) || slices.Contains(s.PartitionKeys, name)
}

// widen returns the narrowest type, in the family of have, that holds every value of both; NOT NULL is left out of it.
func widen(have, want Type) (Type, bool) {
	out := have
	switch {
	case have.sameIgnoringNull(want):
		return out, true
	case integerDigits[have.Root] > 0 && integerDigits[want.Root] > 0:
		if want.Root > have.Root {
			out.Root = want.Root
		}
		return out, true
	case isFloat(have.Root) && isFloat(want.Root):
		out.Root = Double
		return out, true
	case have.Root == Decimal && want.Root == Decimal:
		return widenDecimal(have, want)
	case have.Root == Decimal && integerDigits[want.Root] > 0:
		return widenDecimal(have, Type{Root: Decimal, Precision: integerDigits[want.Root]})
	case sameFamily(have.Root, want.Root, Char, VarChar), sameFamily(have.Root, want.Root, Binary, VarBinary):
		if have.Root != want.Root {
			out.Root = max(have.Root, want.Root) // VarChar, VarBinary
		}
		out.Length = max(have.Length, want.Length)
		return out, true
	case have.Root == want.Root && (have.Root == Time || have.Root == Timestamp || have.Root == LocalTimestamp):
		out.Precision = max(have.Precision, want.Precision)
		return out, true
	}
	return Type{}, false
}

// integerDigits are the decimal digits that the integer families need.
var integerDigits = [...]int{TinyInt: 3, SmallInt: 5, Int: 10, BigInt: 19, RowType: 0}

func isFloat(r Root) bool { return r == Float || r == Double }

func sameFamily(a, b, fixed, varying Root) bool {
	return (a == fixed || a == varying) && (b == fixed || b == varying)
}

// widenDecimal keeps the digits before the point and those after it of both.
func widenDecimal(have, want Type) (Type, bool) {
	scale := max(have.Scale, want.Scale)
	before := max(have.Precision-have.Scale, want.Precision-want.Scale)
	have.Scale, have.Precision = scale, before+scale
	return have, have.Precision <= MaxDecimalPrecision
}
