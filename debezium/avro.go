package debezium

import (
	"context"
	"encoding/binary"
)

// schemaID names a schema in a registry.
type schemaID struct {
	id   int64
	kind idKind
}

// idKind is what an id counts. Apicurio has two counts, and says in its headers which one it means.
type idKind uint8

const (
	idDefault idKind = iota // as the registry is configured
	idGlobal
	idContent
)

// avroCache is what a decoder knows of schemas in the registry.
type avroCache struct {
	values avroSchemas[*valueSchema]
	keys   avroSchemas[*keySchema]
}

// avroSchemas are schemas by id, and by text for ids that mean the same.
type avroSchemas[S any] struct {
	lastID schemaID
	last   S
	known  map[schemaID]S
	same   map[*avroSchema]S
}

// get returns what the schema with an id means.
func (c *avroSchemas[S]) get(ctx context.Context, r *Registry, id schemaID, parse func(*avroSchema) (S, error)) (S, error) {
	if c.known != nil && id == c.lastID {
		return c.last, nil
	}
	s, ok := c.known[id]
	if !ok {
		schema, err := r.schema(ctx, id)
		if err != nil {
			return s, err
		}
		if s, ok = c.same[schema]; !ok {
			if s, err = parse(schema); err != nil {
				return s, &valueError{reason: ReasonSchema, err: err}
			}
		}
		if c.known == nil || len(c.known) >= maxSchemas {
			c.known, c.same = map[schemaID]S{}, map[*avroSchema]S{}
		}
		c.known[id], c.same[schema] = s, s
	}
	c.lastID, c.last = id, s
	return s, nil
}

// The headers in which Apicurio may put an id instead of in front of the body, as eight bytes.
const (
	headerValueGlobal  = "apicurio.value.globalId"
	headerValueContent = "apicurio.value.contentId"
	headerKeyGlobal    = "apicurio.key.globalId"
	headerKeyContent   = "apicurio.key.contentId"
)

// idHeader looks for an id in the headers.
func idHeader(f *Frame, what string) (schemaID, bool) {
	global, content := headerValueGlobal, headerValueContent
	if what == "key" {
		global, content = headerKeyGlobal, headerKeyContent
	}
	for i := range f.Record.Headers {
		h := &f.Record.Headers[i]
		if len(h.Value) != 8 || h.Key != global && h.Key != content {
			continue
		}
		kind := idGlobal
		if h.Key == content {
			kind = idContent
		}
		return schemaID{id: int64(binary.BigEndian.Uint64(h.Value)), kind: kind}, true
	}
	return schemaID{}, false
}

// avroHeader reports whether a header names the schema of a key or value.
func (d *Decoder) avroHeader(f *Frame, what string) bool {
	if d.cfg.Registry == nil || len(f.Record.Headers) == 0 {
		return false
	}
	_, ok := idHeader(f, what)
	return ok
}

// splitAvro takes the id off a key or value: byte 0, then four bytes (Confluent) or eight (Apicurio); or the id is in a
// header. Ids begin with 1, so that four zero bytes tell the eight.
func splitAvro(f *Frame, b []byte, what string) (schemaID, []byte, error) {
	if id, ok := idHeader(f, what); ok {
		return id, b, nil
	}
	if len(b) < 5 {
		return schemaID{}, nil, bad(ReasonMalformed, "%s is cut short: no schema id", what)
	}
	if id := binary.BigEndian.Uint32(b[1:]); id != 0 {
		return schemaID{id: int64(id)}, b[5:], nil
	}
	if len(b) < 9 {
		return schemaID{}, nil, bad(ReasonMalformed, "%s has schema id 0", what)
	}
	return schemaID{id: int64(binary.BigEndian.Uint32(b[5:]))}, b[9:], nil
}

// avroValue frames a value in Avro.
func (d *Decoder) avroValue(ctx context.Context, f *Frame, b []byte) (*valueSchema, error) {
	id, body, err := splitAvro(f, b, "value")
	if err != nil {
		return nil, err
	}
	s, err := d.avro.values.get(ctx, d.cfg.Registry, id, newAvroValue)
	if err != nil {
		return nil, err
	}
	f.value = payload{b: body, avro: s.avro}
	return s, f.value.avroNull()
}

func newAvroValue(a *avroSchema) (*valueSchema, error) {
	s, err := newValueSchema(&a.root.means)
	if err != nil {
		return nil, err
	}
	s.avro = a
	if s.kind == KindChange {
		return s, a.checkRows()
	}
	return s, nil
}

// avroKey frames a key in Avro.
func (d *Decoder) avroKey(ctx context.Context, f *Frame, b []byte) error {
	id, body, err := splitAvro(f, b, "key")
	if err != nil {
		return err
	}
	s, err := d.avro.keys.get(ctx, d.cfg.Registry, id, func(a *avroSchema) (*keySchema, error) {
		return &keySchema{row: &a.root.means, avro: a}, nil
	})
	if err != nil {
		return err
	}
	f.key, f.keys = payload{b: body, avro: s.avro}, s
	return f.key.avroNull()
}

// avroNull passes over the mark of an optional root, and finds out whether the payload is null.
func (p *payload) avroNull() error {
	if p.null = p.avro.root.kind == avroNull; p.null || !p.avro.optional {
		return nil
	}
	r := avroReader{b: p.b}
	n := r.long()
	p.null, p.b = n == p.avro.nullAt, p.b[r.i:]
	if n < 0 || n > 1 {
		r.failed = true
	}
	return r.err()
}

// checkRows makes sure that before and after have one type.
func (s *avroSchema) checkRows() error {
	for _, i := range [...]int{s.before, s.after} {
		if i < 0 {
			continue
		}
		if row, _ := s.root.fields[i].typ.optional(); row != s.row || row.kind != avroRecord {
			return bad(ReasonSchema, "before and after of %s are not of one record type", s.root.name)
		}
	}
	return nil
}

// classifyAvro settles kind and op, and where the parts of an envelope are.
func (d *Decoder) classifyAvro(f *Frame) error {
	switch f.Kind {
	case KindChange:
		return f.avroEnvelope()
	case KindMessage:
		f.Op = OpMessage
	case 0:
		return bad(ReasonNotARow, "an Avro %s is no change event", f.value.avro.root.means.String())
	}
	return nil
}

func (f *Frame) avroEnvelope() error {
	s := f.value.avro
	r := avroReader{b: f.value.b}
	var op []byte
	for i := range s.root.fields {
		typ := s.root.fields[i].typ
		switch i {
		case s.before:
			f.beforeAt = r.i
		case s.after:
			f.afterAt = r.i
		case s.source:
			f.sourceAt = r.i
		case s.transaction:
			f.transactionAt = r.i
		case s.op:
			if typ.kind == avroUnion {
				typ = r.option(typ)
			}
			if typ.kind == avroString {
				op = r.bytes()
				continue
			}
		}
		r.skip(typ)
	}
	if r.i != len(r.b) {
		r.failed = true
	}
	if r.failed {
		return r.err()
	}
	if len(op) != 1 {
		return bad(ReasonNotARow, "unknown op %s", show(op))
	}
	return f.setOp(Op(op[0]))
}

// avroRecordAt goes to the record of a member, and returns its type; nil when it is null.
func (r *avroReader) recordAt(t *avroType, at int) *avroType {
	r.i = at
	if t.kind == avroUnion {
		t = r.option(t)
	}
	if t.kind != avroRecord {
		return nil
	}
	return t
}

// avroSource reads the source block.
func (f *Frame) avroSource(src *Source) error {
	s := f.value.avro
	r := avroReader{b: f.value.b}
	t, rename := s.root, flatName
	if f.Kind != KindFlat {
		if s.source < 0 {
			return nil
		}
		if f.sourceAt == 0 {
			for i := range s.source {
				r.skip(s.root.fields[i].typ)
			}
			f.sourceAt = r.i
		}
		rename = func(b []byte) []byte { return b }
		if t = r.recordAt(s.root.fields[s.source].typ, f.sourceAt); t == nil {
			return r.err()
		}
	}
	for i := range t.fields {
		slot := src.slot(rename(t.fields[i].bytes), &f.decoder.source)
		typ := t.fields[i].typ
		if typ.kind == avroUnion {
			typ = r.option(typ)
		}
		switch {
		case slot.text != nil && typ.kind == avroString:
			if b := r.bytes(); !r.failed {
				slot.text(src, &f.decoder.source, b)
			}
		case slot.number != nil && (typ.kind == avroInt || typ.kind == avroLong):
			*slot.number = r.long()
		default:
			r.skip(typ)
		}
	}
	return r.err()
}

// avroTransaction appends transaction.id.
func (f *Frame) avroTransaction(dst []byte) ([]byte, error) {
	s := f.value.avro
	if f.Kind != KindChange || s.transaction < 0 {
		return dst, nil
	}
	r := avroReader{b: f.value.b}
	t := r.recordAt(s.root.fields[s.transaction].typ, f.transactionAt)
	if t == nil {
		return dst, r.err()
	}
	for i := range t.fields {
		if t.fields[i].name == "id" && t.fields[i].typ.kind == avroString {
			return append(dst, r.bytes()...), r.err()
		}
		r.skip(t.fields[i].typ)
	}
	return dst, r.err()
}
