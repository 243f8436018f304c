package debezium

import (
	"encoding/json"
	"fmt"

	"sink/table"
)

// field is one member of the source's rows.
type field struct {
	name     string
	token    token
	col      int   // column of the table; -1: none
	cell     *cell // nil where col is -1
	key      bool  // a column of the record key or of the table's primary key
	unknown  bool  // not in the table, to be reported
	special  special
	fallback *table.Vector // the column's default at the source, one cell; nil: none known
}

// special marks what ExtractNewRecordState adds to a row and tells the operation.
type special uint8

const (
	notSpecial special = iota
	specialDeleted
	specialOp
	specials
)

func specialOf(name string) special {
	switch name {
	case "__deleted":
		return specialDeleted
	case "__op":
		return specialOp
	}
	return notSpecial
}

// fieldSet reads JSON objects of the same members, over and over. It expects the members in the order of the last
// object, and looks those up that come in another.
type fieldSet struct {
	fields []field
	index  map[string]int
	learns bool // members were not declared: their order is taken from the objects
	quiet  bool // members without a column are not reported: those of a record key
	bound  int  // fields that have a column

	// of the last object
	hits    int           // fields with a column that it had
	special [specials]int // where the values begin; 0: none
	lessons int
}

func newFieldSet(fields []field) fieldSet {
	w := fieldSet{fields: fields}
	w.reindex()
	return w
}

func (w *fieldSet) reindex() {
	w.index = make(map[string]int, len(w.fields))
	w.bound = 0
	for i := range w.fields {
		f := &w.fields[i]
		w.index[f.name] = i
		w.bound += bit(f.col >= 0)
		if f.token.text == "" {
			f.token = tokenOf(f.name)
		}
	}
}

// tokenOf is a member's name as JsonConverter writes it.
func tokenOf(name string) token {
	b, _ := json.Marshal(name) // which escapes <, > and &, and Jackson does not: those are looked up
	return newToken(string(b) + ":")
}

// read reads the object at r.i into row row of dst. Of a member that occurs twice the last one counts, as in Jackson. With
// keep, columns that have their cell already are left alone.
func (w *fieldSet) read(p *Plan, f *Frame, r *reader, dst *table.Batch, row int, keep bool) error {
	w.hits, w.special = 0, [specials]int{}
	start := r.i
	more, err := r.open('{')
	ordered, next := !keep, 0
	for more && err == nil {
		fd := w.expected(r, next)
		if fd != nil {
			r.i += len(fd.token.text)
			next++
		} else {
			ordered = false
			if fd, next, err = w.find(p, r, next); err != nil {
				break
			}
		}
		if fd.col >= 0 && fd.special == notSpecial && ordered {
			err = p.readCell(f, r, fd, &dst.Columns[fd.col])
			w.hits++
		} else {
			err = w.other(p, f, r, fd, dst, row, keep)
		}
		if err != nil {
			break
		}
		if i := r.i; i+1 < len(r.b) && r.b[i] == ',' && r.b[i+1] == '"' {
			r.i = i + 1
			continue
		}
		more, err = r.next('}')
	}
	if !ordered && w.learns && err == nil && !keep && w.lessons < maxLessons {
		w.lessons++
		w.learn(r, start)
	}
	return err
}

// expected returns the field whose turn it is, if it is the next member.
func (w *fieldSet) expected(r *reader, next int) *field {
	if next < len(w.fields) {
		if fd := &w.fields[next]; fd.token.at(r.b[r.i:]) {
			return fd
		}
	}
	return nil
}

// find reads the name of the next member and looks it up.
func (w *fieldSet) find(p *Plan, r *reader, next int) (*field, int, error) {
	name, err := r.name()
	if err != nil {
		return nil, next, err
	}
	i, ok := w.index[string(name)]
	if !ok {
		i = w.add(p, string(name))
	}
	if i < 0 {
		return &field{name: string(name), col: -1, unknown: !p.ignores(string(name))}, next, nil
	}
	return &w.fields[i], i + 1, nil
}

// maxUnknown bounds how many unknown members are remembered by name.
const maxUnknown = 4096

// add remembers a member that is not in the table.
func (w *fieldSet) add(p *Plan, name string) int {
	if len(w.fields)-w.bound >= maxUnknown {
		return -1
	}
	unknown := !w.quiet && !p.ignores(name)
	if unknown && !p.opts.PassNull {
		p.unknown = append(p.unknown, name)
	}
	w.fields = append(w.fields, field{name: name, token: tokenOf(name), col: -1, unknown: unknown})
	w.index[name] = len(w.fields) - 1
	return len(w.fields) - 1
}

// other reads a member out of the ordinary: out of order, perhaps a second time, special, or without a column.
func (w *fieldSet) other(p *Plan, f *Frame, r *reader, fd *field, dst *table.Batch, row int, keep bool) error {
	r.peek()
	if fd.special != notSpecial {
		w.special[fd.special] = r.i
	}
	if fd.col < 0 {
		if fd.unknown && p.opts.PassNull && r.i < len(r.b) && r.b[r.i] == 'n' {
			return r.literal("null")
		}
		if fd.unknown || fd.special != notSpecial && f.Kind != KindFlat {
			p.unknownHere++
			if p.opts.FailUnknown {
				return f.blameColumn(bad(ReasonUnknown, "the table has no such column"), fd.name)
			}
		}
		return r.skip()
	}
	v := &dst.Columns[fd.col]
	if v.Len() > row {
		if keep {
			return r.skip()
		}
		v.Truncate(row)
		w.hits--
	}
	w.hits++
	return p.readCell(f, r, fd, v)
}

// readCell reads the value at r.i into one cell.
func (p *Plan) readCell(f *Frame, r *reader, fd *field, v *table.Vector) error {
	var err error
	if r.i < len(r.b) && r.b[r.i] == 'n' || r.i < len(r.b) && r.b[r.i] <= ' ' && r.peek() == 'n' {
		if err = r.literal("null"); err == nil {
			err = fd.cell.null(v)
		}
	} else {
		err = r.value(fd.cell, v)
	}
	if err == nil {
		return nil
	}
	return p.settle(f, fd, v, err)
}

// settle takes the placeholder for an unknown value, and says of other errors in which column they are.
func (p *Plan) settle(f *Frame, fd *field, v *table.Vector, err error) error {
	if err != errUnavailable {
		return f.blameColumn(err, fd.name)
	}
	if fd.key {
		return f.blameColumn(bad(ReasonUnavailable, "the source sent the unavailable-value placeholder for a key column"), fd.name)
	}
	p.unavailable = append(p.unavailable, fd.col)
	appendFiller(v, &fd.cell.typ)
	return nil
}

// learn puts the fields in the order of the object that begins at start and was just read.
func (w *fieldSet) learn(r *reader, start int) {
	s := scanner{b: r.b, i: start}
	fields := make([]field, 0, len(w.fields))
	taken := make([]bool, len(w.fields))
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			return
		}
		if i, ok := w.index[string(name)]; ok && !taken[i] {
			taken[i] = true
			fields = append(fields, w.fields[i])
		}
		if err = s.skip(); err == nil {
			more, err = s.next('}')
		}
	}
	for i := range w.fields {
		if !taken[i] {
			fields = append(fields, w.fields[i])
		}
	}
	w.fields = fields
	w.reindex()
}

// fallbackOf reads a column's default, which the schema has in the form of the values.
func fallbackOf(d *declared, c *cell) *table.Vector {
	if d.fallback == nil {
		return nil
	}
	v := &table.Vector{Layout: c.typ.Layout()}
	r := reader{scanner: scanner{b: d.fallback}, placeholder: newPlaceholder("")}
	if r.peek() == 0 || r.value(c, v) != nil || v.Len() != 1 {
		return nil // an expression, or a default in another form: then none is known
	}
	return v
}

// keyMismatch tells that a record key has other columns than those the table was bound to.
func keyMismatch(have, want any) error {
	return bad(ReasonKey, "the record key has the columns %s, the table goes by %s: one row's changes may be spread over partitions; key the topic by these columns or change primary-key", fmt.Sprint(have), fmt.Sprint(want))
}
