package debezium

import "sink/table"

// avroImage reads the record of an image into a row; there is none when it is null.
func (p *Plan) avroImage(f *Frame, dst *table.Batch, member, at, row int) (bool, error) {
	if member < 0 {
		return false, nil
	}
	s := f.value.avro
	r := avroReader{b: f.value.b, placeholder: p.reader.placeholder}
	t := r.recordAt(s.root.fields[member].typ, at)
	if t == nil {
		return false, r.err()
	}
	p.unavailable = p.unavailable[:0]
	p.hits = p.bound
	if err := p.readAvro(f, &r, t, p.fields, dst, row, false); err != nil {
		return false, err
	}
	return true, p.fill(f, dst, row)
}

// readAvro reads a record whose members are those of fields, in order. With keep, columns that have their cell already
// are left alone.
func (p *Plan) readAvro(f *Frame, r *avroReader, t *avroType, fields []field, dst *table.Batch, row int, keep bool) error {
	for i := range t.fields {
		fd := &fields[i]
		if fd.special != notSpecial {
			p.special[fd.special] = r.i
		}
		if fd.col < 0 || keep && dst.Columns[fd.col].Len() > row {
			if fd.unknown && !keep {
				p.unknownHere++
				if p.opts.FailUnknown {
					return f.blameColumn(bad(ReasonUnknown, "the table has no such column"), fd.name)
				}
			}
			r.skip(t.fields[i].typ)
			continue
		}
		v := &dst.Columns[fd.col]
		if err := r.cell(t.fields[i].typ, fd.cell, v); err != nil {
			if err = p.settle(f, fd, v, err); err != nil {
				return err
			}
		}
	}
	return r.err()
}

// appendAvro reads an event in Avro.
func (p *Plan) appendAvro(f *Frame, dst *table.Batch, ev *Event) error {
	if f.Kind == KindFlat {
		return p.appendAvroFlat(f, dst, ev)
	}
	if f.Kind != KindChange {
		return bad(ReasonNotARow, "a %s has no rows", f.Kind)
	}
	var im images
	var err error
	if f.Op == OpUpdate || f.Op == OpDelete {
		if im.before, err = p.avroImage(f, dst, f.value.avro.before, f.beforeAt, ev.First); err != nil {
			return err
		}
		p.unavailableBefore = append(p.unavailableBefore[:0], p.unavailable...)
		p.unavailable = p.unavailable[:0]
	}
	if f.Op != OpDelete {
		if im.after, err = p.avroImage(f, dst, f.value.avro.after, f.afterAt, ev.First+bit(im.before)); err != nil {
			return err
		}
	}
	return p.settleImages(f, dst, ev, &im)
}

// appendAvroFlat reads a row without envelope.
func (p *Plan) appendAvroFlat(f *Frame, dst *table.Batch, ev *Event) error {
	r := avroReader{b: f.value.b, placeholder: p.reader.placeholder}
	p.unavailable, p.special = p.unavailable[:0], [specials]int{}
	p.hits = p.bound
	t := f.value.avro.root
	if err := p.readAvro(f, &r, t, p.fields, dst, ev.First, false); err != nil {
		return err
	}
	if r.i != len(r.b) {
		r.failed = true
		return r.err()
	}
	var text [specials]string
	for i := range p.fields {
		if s := p.fields[i].special; s != notSpecial {
			a := avroReader{b: r.b, i: p.special[s]}
			typ := t.fields[i].typ
			if typ.kind == avroUnion {
				typ = a.option(typ)
			}
			if typ.kind == avroString {
				text[s] = specialValue(a.bytes())
			}
		}
	}
	return p.settleFlat(f, dst, ev, text[specialDeleted], text[specialOp])
}

// readAvroKey reads an Avro key into the columns of row that have no cell yet.
func (p *Plan) readAvroKey(f *Frame, dst *table.Batch, row int) error {
	if err := p.keys.bind(p, f.keys); err != nil {
		return err
	}
	t := f.key.avro.root
	if t.kind != avroRecord {
		return bad(ReasonKey, "record key is no record, so its columns have no names")
	}
	r := avroReader{b: f.key.b, placeholder: p.reader.placeholder}
	special := p.special
	err := p.readAvro(f, &r, t, p.keys.set.fields, dst, row, true)
	p.special = special
	if err == nil && r.i != len(r.b) {
		r.failed = true
		err = r.err()
	}
	return err
}
