package debezium

import (
	"fmt"
	"slices"

	"sink/table"
)

// keyReader reads record keys into the columns of a plan's table.
type keyReader struct {
	schema *keySchema // what set was made for; nil: plain JSON
	set    *fieldSet
	good   *keySchema // the last declared key that was found to have the right columns
	spans  []bool     // by Options.Key: seen in the key being checked
	prefix string     // of a plain key with one column: {"id":
}

// bindKey finds out which columns the record key may fill.
func (p *Plan) bindKey() (errs []error) {
	names := p.schema.PrimaryKeys
	if p.shape != nil && p.shape.Key != nil {
		names = p.shape.Key
		if p.opts.Key != nil && !sameNames(names, p.opts.Key) {
			errs = append(errs, keyMismatch(names, p.opts.Key))
		}
	}
	for _, name := range names {
		if i := p.schema.FieldIndex(name); i >= 0 && !p.aside[i] {
			p.inKey[i] = true
		}
	}
	for _, name := range p.schema.PrimaryKeys {
		if i := p.schema.FieldIndex(name); p.shape != nil && slices.Contains(p.rest, i) && p.shape.Key != nil && !p.inKey[i] {
			errs = append(errs, fmt.Errorf("primary key column %s is neither in the events nor in their keys", name))
		}
	}
	p.keys.spans = make([]bool, len(p.opts.Key))
	return errs
}

func sameNames(a, b []string) bool {
	for _, name := range a {
		if !slices.Contains(b, name) {
			return false
		}
	}
	return len(a) == len(b)
}

// check compares the columns of the record key with those that the table was bound to.
func (k *keyReader) check(p *Plan, f *Frame) error {
	want := p.opts.Key
	switch {
	case want == nil:
		return nil
	case f.key.null:
		return bad(ReasonKey, "the record has no key, the table goes by %s", fmt.Sprint(want))
	case f.keys != nil:
		if f.keys == k.good {
			return nil
		}
		names, err := f.KeyNames()
		if err != nil {
			return err
		}
		if !sameNames(names, want) {
			return keyMismatch(names, want)
		}
		k.good = f.keys
		return nil
	}
	return k.checkPlain(p, f)
}

// checkPlain reads the names in a plain JSON key.
func (k *keyReader) checkPlain(p *Plan, f *Frame) error {
	s := scanner{b: f.key.b}
	if n := len(k.prefix); n > 0 && len(s.b) > n && string(s.b[:n]) == k.prefix {
		s.i = n
		if err := s.skip(); err == nil && s.i == len(s.b)-1 && s.b[s.i] == '}' {
			return nil
		}
		s.i = 0
	}
	clear(k.spans)
	seen, more, err := 0, false, error(nil)
	if s.peek() == '{' {
		more, err = s.open('{')
	}
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			break
		}
		seen++
		for i, want := range p.opts.Key {
			if string(name) == want {
				k.spans[i] = true
			}
		}
		if err = s.skip(); err == nil {
			more, err = s.next('}')
		}
	}
	if err != nil {
		return fmt.Errorf("record key: %w", err)
	}
	if seen != len(k.spans) || slices.Contains(k.spans, false) {
		names, err := f.KeyNames()
		if err != nil {
			return err
		}
		return keyMismatch(names, p.opts.Key)
	}
	if t := tokenOf(p.opts.Key[0]).text; seen == 1 {
		k.prefix = "{" + t
	}
	return nil
}

// bind makes the fields of a key. Columns of a plain key have the type that the row declares for them.
func (k *keyReader) bind(p *Plan, schema *keySchema) error {
	if k.set != nil && k.schema == schema {
		return nil
	}
	var fields []field
	add := func(name string, d *declared) error {
		fd := field{name: name, col: p.schema.FieldIndex(name)}
		if fd.col >= 0 && p.aside[fd.col] {
			fd.col = -1
		}
		if fd.col >= 0 {
			var err error
			if fd, err = p.bindField(name, fd.col, d); err != nil {
				return &valueError{reason: ReasonKey, err: fmt.Errorf("record key: %w", err)}
			}
			fd.special = notSpecial
		}
		fields = append(fields, fd)
		return nil
	}
	switch {
	case schema != nil:
		for i := range schema.row.members {
			m := &schema.row.members[i]
			if err := add(m.name, &m.declared); err != nil {
				return err
			}
		}
	default:
		for _, f := range p.schema.Fields {
			var d *declared
			if p.shape != nil {
				d = p.shape.value.row.member(f.Name)
			}
			if err := add(f.Name, d); err != nil {
				return err
			}
		}
	}
	set := newFieldSet(fields)
	set.learns, set.quiet = schema == nil, true
	k.schema, k.set = schema, &set
	return nil
}

// readKey reads the record key into the columns of row that have no cell yet.
func (p *Plan) readKey(f *Frame, dst *table.Batch, row int) error {
	if f.key.avro != nil {
		return p.readAvroKey(f, dst, row)
	}
	if err := p.keys.bind(p, f.keys); err != nil {
		return err
	}
	r := reader{scanner: scanner{b: f.key.b, scratch: p.reader.scratch}, placeholder: p.reader.placeholder}
	if r.peek() != '{' {
		return bad(ReasonKey, "record key is no object, so its columns have no names")
	}
	unknown := p.unknownHere
	err := p.keys.set.read(p, f, &r, dst, row, true)
	p.unknownHere = unknown
	if err := f.key.finish(&r.scanner, err); err != nil {
		return fmt.Errorf("record key: %w", err)
	}
	return nil
}

// appendKey makes a row of what the record key has.
func (p *Plan) appendKey(f *Frame, dst *table.Batch, row int) error {
	if f.key.null {
		return bad(ReasonKey, "the record has no key")
	}
	if err := p.readKey(f, dst, row); err != nil {
		return err
	}
	for _, name := range p.schema.PrimaryKeys {
		if i := p.schema.FieldIndex(name); dst.Columns[i].Len() <= row && !p.aside[i] {
			return f.blameColumn(bad(ReasonKey, "this column of the primary key is not in the record key, so that nobody can tell where the row lies; set REPLICA IDENTITY FULL at the source, or key the topic by it"), name)
		}
	}
	p.fillUnknown(dst, row)
	return nil
}
