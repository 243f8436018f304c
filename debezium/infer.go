package debezium

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"sink/table"
)

// Inferred is what the values of an event ask of a table, where the event declares nothing.
type Inferred struct {
	// Fields are columns that are not there, and columns that are there with the wider type that a value asks for, in the order
	// of the event. A field that is null asks for nothing.
	Fields []table.Field
	// Names are all fields of the event's rows.
	Names []string
}

// Infer looks at the values of a JSON event without schema (KindChange or KindFlat) and tells what columns have are short of.
// The package comment has the rules. A record of another kind asks for nothing. It allocates, and is for events that do not fit
// their table. The error is a *RecordError.
func (f *Frame) Infer(have []table.Field) (Inferred, error) {
	if f.Kind != KindChange && f.Kind != KindFlat {
		return Inferred{}, nil
	}
	n := newInference(have)
	s := scanner{b: f.value.b}
	var err error
	if f.Kind == KindFlat {
		err = n.row(&s, true)
	} else {
		err = n.envelope(&s, f.Op)
	}
	if err := f.value.finish(&s, err); err != nil {
		return Inferred{}, f.blame(err)
	}
	return n.result(), nil
}

// InferKey returns the columns of the record key with the types that it declares, or that its values ask for.
func (f *Frame) InferKey(t Types) ([]table.Field, error) {
	if f.key.null {
		return nil, nil
	}
	if f.keys != nil {
		if f.keys.row.sort != sortStruct {
			return nil, nil
		}
		return fieldsOf(f.keys.row.members, t, false)
	}
	n := newInference(nil)
	s := scanner{b: f.key.b}
	if err := f.key.finish(&s, n.row(&s, false)); err != nil {
		return nil, f.blame(fmt.Errorf("record key: %w", err))
	}
	return n.result().Fields, nil
}

// inference is the columns of a table and what values ask of them.
type inference struct {
	fields []table.Field
	index  map[string]int
	known  int   // how many are the table's
	asked  []int // indexes in fields, in the order in which they were asked for first
	names  []string
	seen   map[string]bool
}

func newInference(have []table.Field) *inference {
	n := &inference{index: map[string]int{}, known: len(have), seen: map[string]bool{}}
	for i, f := range have {
		n.index[f.Name] = i
		n.fields = append(n.fields, f)
	}
	return n
}

func (n *inference) result() Inferred {
	out := Inferred{Names: n.names}
	for _, i := range n.asked {
		out.Fields = append(out.Fields, n.fields[i])
	}
	return out
}

// envelope reads the images of an event that a plan reads, too.
func (n *inference) envelope(s *scanner, op Op) error {
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			return err
		}
		wanted := string(name) == "before" && (op == OpUpdate || op == OpDelete) || string(name) == "after" && op != OpDelete
		if wanted && s.peek() == '{' {
			err = n.row(s, false)
		} else {
			err = s.skip()
		}
		if err == nil {
			more, err = s.next('}')
		}
	}
	return err
}

// row reads an image. flat: it may have what ExtractNewRecordState adds and is no column.
func (n *inference) row(s *scanner, flat bool) error {
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			return err
		}
		if field := string(name); flat && specialOf(field) != notSpecial {
			err = s.skip()
		} else {
			err = n.member(s, field)
		}
		if err == nil {
			more, err = s.next('}')
		}
	}
	return err
}

// member reads one value and notes what it asks for.
func (n *inference) member(s *scanner, name string) error {
	if !n.seen[name] {
		n.seen[name] = true
		n.names = append(n.names, name)
	}
	v, err := s.valued()
	if err != nil || v.sort == sortAny {
		return err
	}
	i, known := n.index[name]
	if !known {
		i = len(n.fields)
		n.index[name] = i
		n.fields = append(n.fields, table.Field{Name: name, Type: v.natural()})
		n.asked = append(n.asked, i)
		return nil
	}
	typ, ok := v.joined(n.fields[i].Type)
	switch {
	case !ok && i < n.known:
		return nil // nothing that the column could become
	case !ok:
		typ = anyText
	case typ.String() == n.fields[i].Type.String():
		return nil
	case i < n.known && n.fields[i].Type.NotNull:
		typ.NotNull = true
	}
	if i < n.known && !slices.Contains(n.asked, i) {
		n.asked = append(n.asked, i)
	}
	n.fields[i].Type = typ
	return nil
}

// The types that are inferred beside BOOLEAN, BIGINT and DOUBLE.
var (
	anyText   = table.Type{Root: table.VarChar, Length: table.MaxLength}
	wholes    = table.Type{Root: table.Decimal, Precision: maxPrecision}
	fractions = table.Type{Root: table.Decimal, Precision: maxPrecision, Scale: 18}
)

// valued is a JSON value as far as its type goes.
type valued struct {
	sort   sort // sortBool, sortText, sortInt (a whole number), sortFloat (any other); sortAny: null
	length int  // characters of its text
	num    number
	dec    decimal // of a number, without zeros at the end
	exact  bool    // dec holds it
}

// valued reads a value.
func (s *scanner) valued() (v valued, err error) {
	c := s.peek()
	start := s.i
	switch {
	case c == 'n':
		return valued{sort: sortAny}, s.literal("null")
	case c == 't' || c == 'f':
		v.sort, err = sortBool, s.skip()
	case c == '"':
		var b []byte
		b, err = s.str()
		return valued{sort: sortText, length: utf8.RuneCount(b)}, err
	case c == '-' || c-'0' <= 9:
		v.num, err = s.number()
		if err == nil {
			v.sort = sortFloat
			if v.num.whole {
				v.sort = sortInt
			}
			v.dec = decimal{lo: v.num.digits, exp: v.num.exp, neg: v.num.neg}
			v.exact = !v.num.long || v.dec.parse(v.num.raw)
			v.dec.trim()
		}
	default:
		v.sort, err = sortText, s.skip()
	}
	v.length = utf8.RuneCount(s.b[start:s.i])
	return v, err
}

// natural is the type of a column that has had no value before.
func (v *valued) natural() table.Type {
	switch v.sort {
	case sortBool:
		return table.Type{Root: table.Boolean}
	case sortInt:
		if _, ok := v.num.int64(); ok {
			return table.Type{Root: table.BigInt}
		}
	case sortFloat:
		if v.num.isFloat(64) {
			return table.Type{Root: table.Double}
		}
	default:
		return anyText
	}
	if typ, ok := v.decimal(); ok {
		return typ
	}
	return anyText
}

// decimal is the DECIMAL for a number that needs one.
func (v *valued) decimal() (table.Type, bool) {
	if !v.exact {
		return table.Type{}, false
	}
	for _, typ := range []table.Type{wholes, fractions} {
		if d := v.dec; d.unscaled(typ.Precision, typ.Scale) {
			return typ, true
		}
	}
	return table.Type{}, false
}

// joined is the narrowest type that holds a column's values and this one, of those to which the sink widens. It is not ok
// where there is none.
func (v *valued) joined(have table.Type) (table.Type, bool) {
	isNumber := v.sort == sortInt || v.sort == sortFloat
	switch have.Root {
	case table.Boolean:
		return have, v.sort == sortBool
	case table.TinyInt, table.SmallInt, table.Int, table.BigInt:
		if !isNumber || !v.exact {
			return have, false
		}
		if n, ok := v.dec.int64(); ok {
			if have.Root != table.BigInt && n>>(integerBits[have.Root]-1) != n>>63 {
				have = table.Type{Root: table.BigInt}
			}
			return have, true
		}
		return v.decimal()
	case table.Decimal:
		return v.joinedDecimal(have, isNumber)
	case table.Float, table.Double:
		return have, isNumber && v.num.isFloat(map[table.Root]int{table.Float: 32, table.Double: 64}[have.Root])
	case table.Char, table.VarChar:
		if v.length > have.Length {
			have = anyText
		}
		return have, true
	}
	return have, false
}

var integerBits = map[table.Root]uint{table.TinyInt: 8, table.SmallInt: 16, table.Int: 32}

// joinedDecimal is the DECIMAL with the digits on either side of the point that a column and a number have.
func (v *valued) joinedDecimal(have table.Type, isNumber bool) (table.Type, bool) {
	if !isNumber || !v.exact {
		return have, false
	}
	if d := v.dec; d.unscaled(have.Precision, have.Scale) {
		return have, true
	}
	digits := int64(0)
	for !v.dec.below(int(digits)) {
		digits++
	}
	scale := max(int64(have.Scale), -v.dec.exp)
	precision := max(int64(have.Precision-have.Scale), digits+v.dec.exp) + scale
	if precision > maxPrecision {
		return have, false
	}
	return table.Type{Root: table.Decimal, Precision: int(precision), Scale: int(scale)}, true
}

// The most significant digits with which a FLOAT and a DOUBLE are printed.
const (
	floatDigits  = 9
	doubleDigits = 17
)

// isFloat reports whether a number may be the text of a float of so many bits: one with no more digits than such a text has, in
// range, or a float itself.
func (n *number) isFloat(bits int) bool {
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(n.raw), len(n.raw)), bits)
	if err != nil {
		return false
	}
	d := decimal{lo: n.digits, exp: n.exp}
	if n.long && !d.parse(n.raw) {
		return false
	}
	d.trim()
	d.neg = false
	if f == 0 || n.whole {
		var back decimal
		var buf [32]byte
		back.parse(strconv.AppendFloat(buf[:0], f, 'e', -1, bits))
		back.neg = false
		return back == d
	}
	if bits == 32 {
		wide, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(n.raw), len(n.raw)), 64)
		return d.below(floatDigits) || d.below(doubleDigits) && wide == f
	}
	return d.below(doubleDigits)
}
