package table

import (
	"errors"
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
//   - a type that is too narrow is widened: integers, also to DECIMAL, the length of strings and binaries (CHAR to VARCHAR,
//     for Paimon pads the old values of a longer CHAR), the digits of decimals on either side of the point, FLOAT to
//     DOUBLE, the precision of timestamps; so are elements, map values and ROW members, and a ROW gets new members
//   - a column that the source may leave out or send as null, and is no key, is relaxed to nullable; so is one that want
//     does not have, which otherwise stays as it is
//   - a comment is filled in where there is none
//
// Columns of the primary key and of the partition keep their types, for Paimon cannot change them. The new schema's id is
// one above s's; its TimeMillis is s's, for the caller to set. If nothing differs it is s itself, without changes. If a
// column does not fit, the error is an *IncompatibleError; a new one that Paimon does not allow is an error, too.
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
	if problems := out.checkColumns(); len(problems) > 0 {
		return nil, nil, errors.Join(problems...)
	}
	out.ID++
	return out, changes, nil
}

// fit changes a column so that it takes in the wanted one.
func (s *Schema) fit(f *Field, w Field) (changes []Change, err error) {
	s.HighestFieldID = max(s.HighestFieldID, highestID(s.Fields))
	highest := s.HighestFieldID
	wide, ok := widen(f.Type, w.Type, &highest)
	switch {
	case !ok && f.Type.Root == Time && w.Type.Root == Time:
		return nil, &IncompatibleError{Column: f.Name, Have: f.Type, Want: w.Type, Reason: "Paimon cannot change the precision of a TIME"}
	case !ok:
		return nil, &IncompatibleError{Column: f.Name, Have: f.Type, Want: w.Type}
	case wide.sameIgnoringNull(f.Type):
	case s.isKey(f.Name):
		return nil, &IncompatibleError{Column: f.Name, Have: f.Type, Want: w.Type,
			Reason: "the type of a primary key or partition column cannot change; write to a new table"}
	default:
		s.HighestFieldID = highest
		wide.NotNull = f.Type.NotNull
		changes = append(changes, Change{Kind: WidenColumn, Column: f.Name, From: f.Type, To: wide})
		f.Type = wide
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

// widen returns a narrow type that holds every value of both, one to which Paimon casts the values of have exactly. It is
// NOT NULL only if both are. New ROW members get ids above *highest.
func widen(have, want Type, highest *int) (Type, bool) {
	out := have
	out.NotNull = have.NotNull && want.NotNull
	switch {
	case have.Nested() && have.Root == want.Root:
		return widenNested(out, want, highest)
	case have.sameIgnoringNull(want):
	case isInteger(have.Root) && isInteger(want.Root):
		out.Root = max(have.Root, want.Root)
	case isFloat(have.Root) && isFloat(want.Root):
		out.Root = Double
	case have.Root == Decimal && want.Root == Decimal:
		return widenDecimal(out, have, want)
	case have.Root == Decimal && isInteger(want.Root):
		return widenDecimal(out, have, Type{Precision: integerDigits[want.Root]})
	case isInteger(have.Root) && want.Root == Decimal:
		return widenDecimal(out, Type{Precision: integerDigits[have.Root]}, want)
	case isText(have.Root) && isText(want.Root), isBinary(have.Root) && isBinary(want.Root):
		if want.Length > have.Length || want.Root > have.Root {
			out.Root = max(have.Root, want.Root)
			if out.Root == Char || out.Root == Binary {
				out.Root++ // VarChar, VarBinary
			}
			out.Length = max(have.Length, want.Length)
		}
	case have.Root == want.Root && isTimestamp(have.Root):
		out.Precision = max(have.Precision, want.Precision)
	case have.Root == Time && want.Root == Time:
		return out, have.Precision >= want.Precision
	default:
		return Type{}, false
	}
	return out, true
}

// integerDigits are the decimal digits that the integer families need.
var integerDigits = [RowType + 1]int{TinyInt: 3, SmallInt: 5, Int: 10, BigInt: 19}

func isFloat(r Root) bool { return r == Float || r == Double }

// widenDecimal makes out a DECIMAL with the digits before the point and those after it of both.
func widenDecimal(out, a, b Type) (Type, bool) {
	out.Root = Decimal
	out.Scale = max(a.Scale, b.Scale)
	out.Precision = max(a.Precision-a.Scale, b.Precision-b.Scale) + out.Scale
	return out, out.Precision <= MaxDecimalPrecision
}

// widenNested widens the parts of out, which is of want's family. Keys of a MAP and elements of a MULTISET stay as they are.
func widenNested(out, want Type, highest *int) (Type, bool) {
	switch out.Root {
	case RowType:
		return widenRow(out, want, highest)
	case Multiset:
		return out, out.element().sameIgnoringNull(want.element())
	case Map:
		if !out.key().sameIgnoringNull(want.key()) {
			return Type{}, false
		}
	}
	element, ok := widen(out.element(), want.element(), highest)
	out.Element = &element
	return out, ok
}

func widenRow(out, want Type, highest *int) (Type, bool) {
	out.Fields = slices.Clone(out.Fields)
	for _, w := range want.Fields {
		i := slices.IndexFunc(out.Fields, func(f Field) bool { return f.Name == w.Name })
		if i < 0 {
			w.Type = w.Type.Nullable().renumber(highest)
			*highest++
			w.ID = *highest
			out.Fields = append(out.Fields, w)
			continue
		}
		var ok bool
		if out.Fields[i].Type, ok = widen(out.Fields[i].Type, w.Type, highest); !ok {
			return Type{}, false
		}
	}
	for i := range out.Fields {
		f := &out.Fields[i]
		if !slices.ContainsFunc(want.Fields, func(w Field) bool { return w.Name == f.Name }) {
			f.Type.NotNull = false
		}
	}
	return out, true
}
