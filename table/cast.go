package table

import (
	"errors"
	"fmt"
)

// CastVector turns cells of one type into cells of another, as Paimon does when it reads a file of an older schema
// (org.apache.paimon.casting.CastExecutors): a number that a DECIMAL has no room for becomes null, decimals round half
// up, integers wrap, strings are cut or padded. Text that is no value of the wanted type is an error, as it is there.
// Members of a ROW are matched by id. Where cells of both types are the same bytes the result is from itself, so neither
// may be changed afterwards.
func CastVector(from *Vector, fromType, toType Type) (*Vector, error) {
	if sameCells(&fromType, &toType) {
		return from, nil
	}
	cast, err := castOf(&fromType, &toType)
	if err != nil {
		return nil, err
	}
	out := &Vector{Layout: toType.Layout()}
	n := from.Len()
	if out.Layout == Words {
		out.Words = make([]int64, 0, n)
	} else {
		out.Ends = make([]uint32, 0, n)
	}
	for i := range n {
		if from.IsNull(i) {
			out.AppendNull()
			continue
		}
		w, b := from.cell(i)
		w, b, err = cast(w, b)
		switch {
		case errors.Is(err, errCastNull):
			out.AppendNull()
		case err != nil:
			return nil, fmt.Errorf("cast %s to %s: %w", fromType, toType, err)
		case out.Layout == Words:
			out.AppendWord(w)
		default:
			out.AppendBytes(b)
		}
	}
	return out, nil
}

// CanCast reports whether CastVector knows a way from one type to another.
func CanCast(from, to Type) bool {
	if sameCells(&from, &to) {
		return true
	}
	_, err := castOf(&from, &to)
	return err == nil
}

// castFunc turns one cell that is not null, a word or bytes, into another. The bytes it returns are valid until its next
// call.
type castFunc func(w int64, b []byte) (int64, []byte, error)

// errCastNull is what a castFunc returns where Paimon makes a null.
var errCastNull = errors.New("null")

// sameCells reports whether every cell of one type is, unchanged, the cell of the other that a cast makes.
func sameCells(from, to *Type) bool {
	if from.sameIgnoringNull(*to) {
		return !from.Nested() || sameMembers(from, to)
	}
	switch {
	case isInteger(from.Root) && isInteger(to.Root):
		return from.Root <= to.Root
	case isText(from.Root) && to.Root == VarChar, isBinary(from.Root) && to.Root == VarBinary:
		return from.Length <= to.Length || to.Length == MaxLength
	case from.Root == Time && to.Root == Time:
		return true
	case isTimestamp(from.Root) && isTimestamp(to.Root):
		return from.Precision <= to.Precision && timestampUnit(from) == timestampUnit(to)
	case from.Root == Decimal && to.Root == Decimal:
		return from.Scale == to.Scale && from.Precision <= to.Precision && from.Layout() == to.Layout()
	}
	return false
}

// sameMembers reports whether ROW members, at any depth, are the same by id too.
func sameMembers(from, to *Type) bool {
	switch from.Root {
	case RowType:
		for i := range from.Fields {
			if from.Fields[i].ID != to.Fields[i].ID || !sameMembers(&from.Fields[i].Type, &to.Fields[i].Type) {
				return false
			}
		}
	case Map:
		return sameMembers(from.Key, to.Key) && sameMembers(from.Element, to.Element)
	case Array, Multiset:
		return sameMembers(from.Element, to.Element)
	}
	return true
}

func isText(r Root) bool      { return r == Char || r == VarChar }
func isBinary(r Root) bool    { return r == Binary || r == VarBinary }
func isTimestamp(r Root) bool { return r == Timestamp || r == LocalTimestamp }

// timestampUnit tells TIMESTAMP cells apart by unit: milliseconds, microseconds, or the 12 bytes.
func timestampUnit(t *Type) int {
	switch {
	case t.Precision <= 3:
		return 3
	case t.Precision <= 6:
		return 6
	}
	return 9
}

func castOf(from, to *Type) (castFunc, error) {
	var cast castFunc
	switch {
	case from.Nested() && from.Root == to.Root:
		return castNested(from, to)
	case from.Nested() || to.Nested():
	case sameCells(from, to):
		cast = func(w int64, b []byte) (int64, []byte, error) { return w, b, nil }
	case to.Root == Boolean:
		cast = castToBoolean(from)
	case isInteger(to.Root):
		cast = castToInteger(from, to)
	case isFloat(to.Root):
		cast = castToFloat(from, to)
	case to.Root == Decimal:
		cast = castToDecimal(from, to)
	case isText(to.Root):
		cast = castToText(from, to)
	case isBinary(to.Root):
		cast = castToBinary(from, to)
	case to.Root == Date:
		cast = castToDate(from)
	case to.Root == Time:
		cast = castToTime(from)
	case isTimestamp(to.Root):
		cast = castToTimestamp(from, to)
	}
	if cast == nil {
		return nil, fmt.Errorf("cast %s to %s: Paimon has no such cast", from, to)
	}
	return cast, nil
}

// castNested casts the parts of constructed types of one family.
func castNested(from, to *Type) (castFunc, error) {
	copyCell, err := nestedCast(from, to)
	if err != nil {
		return nil, err
	}
	var buffer []byte
	return func(_ int64, b []byte) (int64, []byte, error) {
		r := ReadNested(b)
		var err error
		if buffer, err = copyCell(buffer[:0], &r); err == nil {
			err = r.Err()
		}
		return 0, buffer, err
	}, nil
}

// nestedFunc reads a value, or a cell, from r and appends what it becomes.
type nestedFunc func(dst []byte, r *NestedReader) ([]byte, error)

func nestedCast(from, to *Type) (nestedFunc, error) {
	if from.Root == RowType {
		return rowCast(from, to)
	}
	element, err := valueCast(from.Element, to.Element)
	if err != nil {
		return nil, err
	}
	first, second := element, nestedFunc(nil)
	switch from.Root {
	case Map:
		if first, err = valueCast(from.Key, to.Key); err != nil {
			return nil, err
		}
		second = element
	case Multiset:
		second, _ = valueCast(&countType, &countType)
	}
	return func(dst []byte, r *NestedReader) ([]byte, error) {
		for r.More() {
			var err error
			if dst, err = first(dst, r); err != nil {
				return dst, err
			}
			if second != nil {
				if dst, err = second(dst, r); err != nil {
					return dst, err
				}
			}
		}
		return EndNested(dst), nil
	}, nil
}

// rowCast puts the members of the wanted ROW together from those of the same id; one that is not there is null.
func rowCast(from, to *Type) (nestedFunc, error) {
	source := make([]int, len(to.Fields)) // position among from's members, -1 for none
	casts := make([]nestedFunc, len(to.Fields))
	for i, f := range to.Fields {
		source[i] = -1
		for j, old := range from.Fields {
			if old.ID != f.ID {
				continue
			}
			source[i] = j
			var err error
			if casts[i], err = valueCast(&old.Type, &f.Type); err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
	}
	values := make([]NestedReader, len(from.Fields))
	return func(dst []byte, r *NestedReader) ([]byte, error) {
		for i := range from.Fields {
			values[i] = *r
			r.skipValue(&from.Fields[i].Type)
		}
		for i := range to.Fields {
			if source[i] < 0 {
				dst = AppendNestedNull(dst)
				continue
			}
			var err error
			member := values[source[i]]
			if dst, err = casts[i](dst, &member); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}, nil
}

// valueCast casts one value of a nested cell, mark included.
func valueCast(from, to *Type) (nestedFunc, error) {
	if from.Nested() && from.Root == to.Root {
		cell, err := nestedCast(from, to)
		if err != nil {
			return nil, err
		}
		return func(dst []byte, r *NestedReader) ([]byte, error) {
			if r.Null() {
				return AppendNestedNull(dst), nil
			}
			return cell(OpenNested(dst), r)
		}, nil
	}
	cast, err := castOf(from, to)
	if err != nil {
		return nil, err
	}
	words, outWords := from.Layout() == Words, to.Layout() == Words
	return func(dst []byte, r *NestedReader) ([]byte, error) {
		if r.Null() {
			return AppendNestedNull(dst), nil
		}
		var w int64
		var b []byte
		if words {
			w = r.Word()
		} else {
			b = r.Bytes()
		}
		if err := r.Err(); err != nil {
			return dst, err
		}
		w, b, err := cast(w, b)
		switch {
		case errors.Is(err, errCastNull):
			return AppendNestedNull(dst), nil
		case err != nil:
			return dst, err
		case outWords:
			return AppendNestedWord(dst, w), nil
		}
		return AppendNestedBytes(dst, b), nil
	}, nil
}

// CellCast turns one cell that is not null, a word or bytes, into another; null where Paimon makes one of it. The bytes are
// valid until its next call.
type CellCast func(w int64, b []byte) (word int64, bytes []byte, null bool, err error)

// NewCast returns the cast of [CastVector] for single cells. It has one owner.
func NewCast(from, to Type) (CellCast, error) {
	cast, err := castOf(&from, &to)
	if err != nil {
		return nil, err
	}
	return func(w int64, b []byte) (int64, []byte, bool, error) {
		w, b, err := cast(w, b)
		if errors.Is(err, errCastNull) {
			return 0, nil, true, nil
		}
		return w, b, false, err
	}, nil
}
