package datafile

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

// Names and field ids of the columns that every file has (org.apache.paimon.table.SpecialFields).
const (
	keyPrefix    = "_KEY_"
	sequenceName = "_SEQUENCE_NUMBER"
	kindName     = "_VALUE_KIND"
	messageName  = "paimon_schema"

	keyFieldIDStart = (1<<31 - 1) / 2 // of _KEY_x: this and the id of x
	sequenceFieldID = 1<<31 - 1 - 1
	kindFieldID     = 1<<31 - 1 - 2

	nestedFieldIDStart = (1<<31 - 1) / 4 // of elements and values; see nestedID
	maxNestedDepth     = 1 << 10
)

// Types of the two columns that do not come from the table's schema.
var (
	sequenceType = table.Type{Root: table.BigInt, NotNull: true}
	kindType     = table.Type{Root: table.TinyInt, NotNull: true}
	countType    = table.Type{Root: table.Int, NotNull: true}
)

// cellKind says how the cells of a column become the values of a Parquet column.
type cellKind uint8

const (
	cellBool  cellKind = iota + 1 // Words to BOOLEAN
	cellInt32                     // Words to INT32
	cellInt64                     // Words to INT64
	cellFloat                     // Words to FLOAT
	cellDouble
	cellBytes   // Bytes to BYTE_ARRAY
	cellDecimal // 16 bytes to FIXED_LEN_BYTE_ARRAY
	cellInt96   // 12 bytes of a nano timestamp to INT96
)

// words tells the kinds that come from vectors of layout Words.
func (k cellKind) words() bool { return k <= cellDouble }

// physical is what a type looks like in a file.
type physical struct {
	kind  cellKind
	typ   format.Type
	width int // bytes of a value; 0 for BYTE_ARRAY and BOOLEAN
}

// decimalWidths are the fewest bytes that hold an unscaled value, by precision
// (org.apache.paimon.format.parquet.ParquetSchemaConverter.computeMinBytesForDecimalPrecision).
var decimalWidths = func() (widths [39]int) {
	for p := 1; p < len(widths); p++ {
		n := max(widths[p-1], 1)
		for math.Ldexp(1, 8*n-1) < math.Pow10(p) {
			n++
		}
		widths[p] = n
	}
	return widths
}()

// physicalOf returns how a type that is not nested lies in a file.
func physicalOf(t table.Type) physical {
	switch t.Root {
	case table.Boolean:
		return physical{cellBool, format.Boolean, 0}
	case table.TinyInt, table.SmallInt, table.Int, table.Date, table.Time:
		return physical{cellInt32, format.Int32, 4}
	case table.Float:
		return physical{cellFloat, format.Float, 4}
	case table.Double:
		return physical{cellDouble, format.Double, 8}
	case table.Decimal:
		switch {
		case t.Precision <= 9:
			return physical{cellInt32, format.Int32, 4}
		case t.Precision <= 18:
			return physical{cellInt64, format.Int64, 8}
		}
		return physical{cellDecimal, format.FixedLenByteArray, decimalWidths[t.Precision]}
	case table.Timestamp, table.LocalTimestamp:
		if t.Precision > 6 {
			return physical{cellInt96, format.Int96, 12}
		}
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		return physical{cellBytes, format.ByteArray, 0}
	}
	return physical{cellInt64, format.Int64, 8}
}

// element is one node of the Parquet schema, in depth-first order.
type element struct {
	name     string
	id       int32 // -1: none
	repeat   format.FieldRepetitionType
	children int        // 0: a leaf
	typ      table.Type // a leaf's; a group's ARRAY, MAP, MULTISET or ROW
	group    groupKind
}

type groupKind uint8

const (
	leafNode groupKind = iota
	rowGroupNode
	listNode
	mapNode
	repeatedList     // the "list" in a LIST
	repeatedKeyValue // the "key_value" in a MAP
)

// leaf is one Parquet column.
type leaf struct {
	path     []string
	typ      table.Type
	physical physical
	maxDef   uint8
	maxRep   uint8
	column   int // of the batch, or one of the two below
	twin     int // the leaf whose chunk this one repeats, -1 if it has its own
}

// Stand-ins for leaf.column.
const (
	sequenceColumn = -1
	kindColumn     = -2
)

// layout is the Parquet schema of a table's files.
type layout struct {
	elements []element
	leaves   []leaf
	roots    []root
}

// root is a top-level column.
type root struct {
	name   string
	typ    table.Type
	column int // as leaf.column
	first  int // its leaves are first to last-1
	last   int
}

// newLayout lays out the files of a schema. Columns of the trimmed primary key are REQUIRED whatever the schema says:
// Paimon has them NOT NULL. The files of an append table hold the schema's columns alone.
func newLayout(s *table.Schema, thin bool) (*layout, error) {
	l := &layout{elements: []element{{name: messageName, id: -1, group: rowGroupNode}}}
	twins := map[int]int{}
	if !s.Append() {
		var err error
		if twins, err = l.addKeyColumns(s, thin); err != nil {
			return nil, err
		}
	}
	for c, f := range s.Fields {
		twin, isKey := twins[c]
		f.Type.NotNull = f.Type.NotNull || isKey
		first := len(l.leaves)
		if err := l.addRoot(f.Name, int32(f.ID), f.Type, c); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		if isKey {
			l.leaves[first].twin = twin
		}
	}
	l.elements[0].children = len(l.roots)
	return l, nil
}

// addKeyColumns adds what the files of a primary-key table have before the schema's columns. It returns the leaf of each key
// column's twin, -1 where it has none.
func (l *layout) addKeyColumns(s *table.Schema, thin bool) (map[int]int, error) {
	keys := s.TrimmedPrimaryKeys()
	if len(keys) == 0 {
		return nil, fmt.Errorf("the table has no primary key besides its partition columns")
	}
	twins := make(map[int]int, len(keys))
	for _, name := range keys {
		c := s.FieldIndex(name)
		f := s.Fields[c]
		if f.Type.Nested() {
			return nil, fmt.Errorf("column %s: %s cannot be part of the primary key", name, f.Type)
		}
		f.Type.NotNull = true
		if thin {
			twins[c] = -1
			continue
		}
		twins[c] = len(l.leaves)
		if err := l.addRoot(keyPrefix+name, int32(keyFieldIDStart+f.ID), f.Type, c); err != nil {
			return nil, err
		}
	}
	return twins, errors.Join(
		l.addRoot(sequenceName, sequenceFieldID, sequenceType, sequenceColumn),
		l.addRoot(kindName, kindFieldID, kindType, kindColumn),
	)
}

func (l *layout) addRoot(name string, id int32, t table.Type, column int) error {
	r := root{name: name, typ: t, column: column, first: len(l.leaves)}
	b := layoutBuilder{l: l, column: column, id: id}
	err := b.add(name, id, t, !t.NotNull, nil, 0)
	r.last = len(l.leaves)
	l.roots = append(l.roots, r)
	return err
}

// layoutBuilder adds the elements and leaves of one column.
type layoutBuilder struct {
	l      *layout
	column int
	def    uint8
	rep    uint8
	id     int32 // of the field that elements and values inside take theirs from
}

// nestedID is the field id of an array's element or a map's value at a depth from 1 on, in the field of the given id;
// of a map's key with sign -1 (org.apache.paimon.table.SpecialFields.getArrayElementFieldId and others).
func nestedID(field int32, depth int, sign int32) int32 {
	return nestedFieldIDStart + sign*(maxNestedDepth*field+int32(depth))
}

func (b *layoutBuilder) add(name string, id int32, t table.Type, optional bool, path []string, depth int) error {
	if depth >= maxNestedDepth || b.def > 250 {
		return fmt.Errorf("type is nested too deep")
	}
	e := element{name: name, id: id, repeat: format.Required, typ: t}
	if optional {
		e.repeat = format.Optional
		b.def++
		defer func() { b.def-- }()
	}
	path = append(path[:len(path):len(path)], name)
	switch t.Root {
	case table.Array:
		e.group, e.children = listNode, 1
		b.l.elements = append(b.l.elements, e)
		return b.repeated("list", repeatedList, path, func(path []string) error {
			return b.add("element", nestedID(b.id, depth+1, 1), *t.Element, !t.Element.NotNull, path, depth+1)
		})
	case table.Map, table.Multiset:
		key, value := *t.Element, countType
		if t.Root == table.Map {
			key, value = *t.Key, *t.Element
		}
		e.group, e.children = mapNode, 1
		b.l.elements = append(b.l.elements, e)
		return b.repeated("key_value", repeatedKeyValue, path, func(path []string) error {
			if err := b.add("key", nestedID(b.id, depth+1, -1), key, false, path, depth+1); err != nil {
				return err
			}
			return b.add("value", nestedID(b.id, depth+1, 1), value, !value.NotNull, path, depth+1)
		})
	case table.RowType:
		if len(t.Fields) == 0 {
			return fmt.Errorf("a ROW without fields has no form in Parquet")
		}
		e.group, e.children = rowGroupNode, len(t.Fields)
		b.l.elements = append(b.l.elements, e)
		outer := b.id
		defer func() { b.id = outer }()
		for _, f := range t.Fields {
			b.id = int32(f.ID)
			if err := b.add(f.Name, int32(f.ID), f.Type, !f.Type.NotNull, path, 0); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return nil
	}
	b.l.elements = append(b.l.elements, e)
	b.l.leaves = append(b.l.leaves, leaf{path: path, typ: t, physical: physicalOf(t), maxDef: b.def, maxRep: b.rep, column: b.column, twin: -1})
	return nil
}

// repeated adds the repeated group in the middle of a LIST or MAP, and by inside what it holds.
func (b *layoutBuilder) repeated(name string, kind groupKind, path []string, inside func(path []string) error) error {
	n := 1
	if kind == repeatedKeyValue {
		n = 2
	}
	b.l.elements = append(b.l.elements, element{name: name, id: -1, repeat: format.Repeated, children: n, group: kind})
	b.def++
	b.rep++
	err := inside(append(path[:len(path):len(path)], name))
	b.def--
	b.rep--
	return err
}
