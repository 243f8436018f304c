package debezium

import (
	"errors"
	"fmt"
	"slices"

	"sink/table"
)

// AbsentPolicy is what a table column becomes that an event does not have.
type AbsentPolicy uint8

// The policies.
const (
	AbsentNull AbsentPolicy = iota
	AbsentFail              // a bad record
)

// Options of a [Plan].
type Options struct {
	Types  Types
	Absent AbsentPolicy
	// FailUnknown makes a field that the table does not have a bad record. Otherwise it is left out, counted in
	// Event.Unknown and listed by [Plan.Unknown].
	FailUnknown bool
	// PassNull lets a null pass under FailUnknown, untold: a column that is added later is null in this row, too.
	PassNull bool
	// Ignore names fields of the row that are left out on purpose: they are neither unknown nor read. nil: none.
	Ignore func(field string) bool
	// Metadata fills table columns from the record instead of the row: column to kind.
	Metadata map[string]Metadata
	// Computed are table columns that the caller appends itself, one cell for each row of an event, right after Append.
	Computed []string
	// Key has the columns that the record key must have, in any order; nil: not checked. A record whose key has other
	// columns, or none, is bad (ReasonKey).
	Key []string
}

// Event is what [Plan.Append] did with a record.
type Event struct {
	Op     Op
	First  int // index in the batch of the first row appended
	Rows   int // 1 or 2
	Before BeforeImage
	// Unavailable are the table columns whose value the source did not send (__debezium_unavailable_value) and which the
	// before image does not have either; they are null in the row, or the filler where they are NOT NULL. Valid until the next
	// call on the plan.
	Unavailable []int
	Unknown     int // fields of this event that the table does not have
}

// Plan turns records of one shape into rows of one table. It belongs to one goroutine at a time.
type Plan struct {
	schema *table.Schema
	shape  *Shape
	opts   Options
	types  []table.Type // of the columns
	fieldSet
	rest       []int  // columns that no field of the row fills
	inKey      []bool // columns that the record key has, or may have
	aside      []bool // columns that are metadata or the caller's
	extras     []metadataColumn
	needSource bool
	keys       keyReader

	reader  reader
	members sequence // of envelopes
	sources sequence // of source blocks
	buf     []byte

	unknown           []string
	unknownHere       int
	unavailable       []int // columns of the image being read
	unavailableBefore []int
	partial           []int // columns whose fields the before image lacks
}

// Bind compiles a plan for records of a shape (nil: JSON without schema, read by the types of the table). It returns
// all columns that cannot be bound at once, each with the way out.
func Bind(schema *table.Schema, shape *Shape, opts Options) (*Plan, error) {
	n := len(schema.Fields)
	p := &Plan{schema: schema, shape: shape, opts: opts, inKey: make([]bool, n), aside: make([]bool, n)}
	for _, f := range schema.Fields {
		p.types = append(p.types, f.Type)
	}
	p.reader.placeholder = newPlaceholder(opts.Types.Unavailable)
	errs := p.bindAside()
	if shape == nil {
		errs = append(errs, p.bindTable()...)
	} else {
		errs = append(errs, p.bindShape()...)
	}
	errs = append(errs, p.bindKey()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// bindAside finds the columns that the row does not fill.
func (p *Plan) bindAside() (errs []error) {
	for _, name := range p.opts.Computed {
		if i := p.schema.FieldIndex(name); i < 0 {
			errs = append(errs, fmt.Errorf("computed column %s is not in the table", name))
		} else {
			p.aside[i] = true
		}
	}
	for name, kind := range p.opts.Metadata {
		i := p.schema.FieldIndex(name)
		if i < 0 {
			errs = append(errs, fmt.Errorf("metadata column %s is not in the table", name))
			continue
		}
		if p.aside[i] {
			errs = append(errs, fmt.Errorf("column %s is both computed and metadata", name))
		}
		p.aside[i] = true
		c, err := newCell(kind.declared(), p.types[i], &p.opts.Types)
		if err == nil && kind.declared().sort == sortText && p.types[i].Root != table.VarChar && p.types[i].Root != table.Char {
			err = fmt.Errorf("%s is text and does not fit %s", kind, p.types[i])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("metadata column %s: %w", name, err))
		}
		p.extras = append(p.extras, metadataColumn{col: i, name: name, kind: kind, cell: c})
		p.needSource = p.needSource || kind.needsSource()
	}
	slices.SortFunc(p.extras, func(a, b metadataColumn) int { return a.col - b.col })
	return errs
}

// bindTable makes the fields of rows that declare nothing: those of the table.
func (p *Plan) bindTable() (errs []error) {
	var fields []field
	for i, f := range p.schema.Fields {
		if p.aside[i] {
			continue
		}
		fd, err := p.bindField(f.Name, i, nil)
		errs = append(errs, err)
		fields = append(fields, fd)
	}
	for _, name := range []string{"__deleted", "__op"} {
		if p.schema.FieldIndex(name) < 0 {
			fields = append(fields, field{name: name, col: -1, special: specialOf(name)})
		}
	}
	p.fieldSet = newFieldSet(fields)
	p.learns = true
	return errs
}

// bindShape makes the fields that a shape declares.
func (p *Plan) bindShape() (errs []error) {
	flat := p.shape.value.kind == KindFlat
	var fields []field
	have := make([]bool, len(p.types))
	for i := range p.shape.value.row.members {
		m := &p.shape.value.row.members[i]
		if p.ignores(m.name) {
			fields = append(fields, field{name: m.name, col: -1})
			continue
		}
		col := p.schema.FieldIndex(m.name)
		if col >= 0 && p.aside[col] {
			errs = append(errs, fmt.Errorf("column %s of the source has the name of a metadata or computed column; give that another name", m.name))
			continue
		}
		fd := field{name: m.name, col: -1, unknown: true}
		if col >= 0 {
			var err error
			if fd, err = p.bindField(m.name, col, &m.declared); err != nil {
				errs = append(errs, err)
			}
			have[col] = true
		}
		if flat {
			if fd.special = specialOf(m.name); fd.special != notSpecial {
				fd.unknown = false
			}
		}
		if fd.unknown {
			p.unknown = append(p.unknown, m.name)
		}
		fields = append(fields, fd)
	}
	for col := range p.types {
		if !have[col] && !p.aside[col] {
			p.rest = append(p.rest, col)
		}
	}
	p.fieldSet = newFieldSet(fields)
	return errs
}

func (p *Plan) ignores(name string) bool { return p.opts.Ignore != nil && p.opts.Ignore(name) }

func (p *Plan) bindField(name string, col int, d *declared) (field, error) {
	fd := field{name: name, col: col, key: p.isKey(name)}
	var err error
	if fd.cell, err = newCell(d, p.types[col], &p.opts.Types); err != nil {
		return fd, fmt.Errorf("column %s: %w", name, err)
	}
	if d == nil {
		fd.special = specialOf(name)
	} else {
		fd.fallback = fallbackOf(d, fd.cell)
	}
	return fd, nil
}

func (p *Plan) isKey(name string) bool {
	return slices.Contains(p.schema.PrimaryKeys, name) || slices.Contains(p.opts.Key, name) || p.shape != nil && slices.Contains(p.shape.Key, name)
}

// Unknown returns the fields met so far that the table does not have, in order of appearance: at once those of the
// shape, later those of plain JSON. The caller compares its length with what it has reported.
func (p *Plan) Unknown() []string { return p.unknown }

// Append reads a frame of KindChange or KindFlat, whose shape is the plan's, and appends its rows to dst, whose columns
// are those of the table schema: +I for c and r, -U and +U for u, -D for d. An update without a usable before image gives +U
// alone, a delete without one gives the row of [Plan.AppendKey]; Event.Before says so, and a caller that cannot accept it
// takes the rows back with dst.Truncate(Event.First). Of the before image of a create and the after image of a delete, which
// Debezium does not send, nothing is read. Errors are *RecordErrors, and on an error dst is as before.
func (p *Plan) Append(f *Frame, dst *table.Batch) (Event, error) {
	ev := Event{Op: f.Op, First: dst.Len()}
	p.unknownHere = 0
	p.unavailable, p.unavailableBefore = p.unavailable[:0], p.unavailableBefore[:0]
	err := p.keys.check(p, f)
	if err == nil {
		switch {
		case f.Shape != p.shape:
			err = fmt.Errorf("record of another shape than the plan's")
		case f.value.avro != nil:
			err = p.appendAvro(f, dst, &ev)
		case f.Kind == KindFlat:
			err = p.appendFlat(f, dst, &ev)
		case f.Kind == KindChange:
			err = p.appendEnvelope(f, dst, &ev)
		default:
			err = fmt.Errorf("a %s has no rows", f.Kind)
		}
	}
	if err != nil {
		dst.Truncate(ev.First)
		return Event{}, f.blame(err)
	}
	ev.Unknown = p.unknownHere
	return ev, nil
}

// AppendKey appends one row of kind -D made from the record key: for a tombstone, and in place of a before image that
// is not to be trusted. Columns that the key does not have are null; where they are NOT NULL they hold the filler of
// their type (see the package comment), which is never a plausible value. A key without all columns of the primary key
// is a bad record, because the row could be anywhere.
func (p *Plan) AppendKey(f *Frame, dst *table.Batch) (Event, error) {
	ev := Event{Op: OpDelete, First: dst.Len(), Before: BeforeKeyOnly}
	p.unavailable, p.unavailableBefore = p.unavailable[:0], p.unavailableBefore[:0]
	err := p.keys.check(p, f)
	if err == nil {
		err = p.appendKey(f, dst, ev.First)
	}
	if err == nil {
		err = p.conclude(f, dst, &ev, table.Delete)
	}
	if err != nil {
		dst.Truncate(ev.First)
		return Event{}, f.blame(err)
	}
	return ev, nil
}

// conclude ends an event whose rows are filled: metadata and kinds.
func (p *Plan) conclude(f *Frame, dst *table.Batch, ev *Event, kinds ...table.Kind) error {
	for _, kind := range kinds {
		if err := p.metadata(f, dst, kind); err != nil {
			return err
		}
	}
	dst.Kinds = append(dst.Kinds, kinds...)
	ev.Rows = len(kinds)
	return nil
}
