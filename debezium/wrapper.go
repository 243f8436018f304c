package debezium

import "bytes"

// wrappers takes {"schema":..,"payload":..} apart, and remembers what schemas mean.
type wrappers[S any] struct {
	parse  func(schema []byte) (S, error)
	prefix []byte // all that came before the last payload, schema included
	last   S
	known  map[string]S // by the schema's bytes
}

// maxSchemas bounds how many schemas a decoder remembers.
const maxSchemas = 4096

// unwrap returns the payload and the schema, which is nil where there is none.
func (w *wrappers[S]) unwrap(b []byte) (p payload, schema S, err error) {
	if len(w.prefix) > 0 && len(b) > len(w.prefix) && bytes.Equal(b[:len(w.prefix)], w.prefix) {
		p = payload{b: b[len(w.prefix):], wrapped: true}
		return p, w.last, p.settle()
	}
	if bare(b) {
		p.b = b
		return p, schema, nil
	}
	parts, ok, err := splitWrapper(b)
	if err != nil {
		return p, schema, err
	}
	if !ok {
		p.b = b
		return p, schema, p.settle()
	}
	if p = parts.payload; parts.schema == nil {
		return p, schema, p.settle()
	}
	if schema, ok = w.known[string(parts.schema)]; !ok {
		if schema, err = w.parse(parts.schema); err != nil {
			return p, schema, &valueError{reason: ReasonSchema, err: err}
		}
		if w.known == nil || len(w.known) >= maxSchemas {
			w.known = map[string]S{}
		}
		w.known[string(parts.schema)] = schema
	}
	if p.wrapped {
		w.prefix, w.last = append(w.prefix[:0], b[:len(b)-len(p.b)]...), schema
	}
	return p, schema, p.settle()
}

// bare reports at a glance that b is an object without wrapper, which holds for most that have none: the first name
// begins with another letter than those of a wrapper.
func bare(b []byte) bool {
	return len(b) > 2 && b[0] == '{' && b[1] == '"' && b[2] != 's' && b[2] != 'p' && b[2] != '\\'
}

// settle finds out whether the payload is null.
func (p *payload) settle() error {
	s := scanner{b: p.b}
	if s.peek() != 'n' {
		return nil
	}
	p.null = true
	return p.finish(&s, s.literal("null"))
}

// finish checks what follows a payload that was read.
func (p *payload) finish(s *scanner, err error) error {
	if err == nil && p.wrapped {
		err = s.expect('}')
	}
	if err == nil {
		err = s.end()
	}
	return err
}

// wrapper is {"schema":..,"payload":..} taken apart; schema is nil when it is null.
type wrapper struct {
	schema []byte
	payload
}

// splitWrapper finds the parts of a wrapper. It is not ok when b is no object of these two members.
func splitWrapper(b []byte) (w wrapper, ok bool, err error) {
	s := scanner{b: b}
	if s.peek() != '{' {
		return w, false, nil
	}
	s.i++
	if s.peek() != '"' {
		return w, false, nil
	}
	name, err := s.name()
	if err != nil {
		return w, false, err
	}
	switch string(name) {
	case "schema":
		if c := s.peek(); c != '{' && c != 'n' {
			return w, false, nil
		}
		start := s.i
		if err := s.skip(); err != nil {
			return w, false, err
		}
		w.schema = schemaPart(b[start:s.i])
		if s.peek() != ',' {
			return w, false, nil
		}
		s.i++
		if name, err = s.name(); err != nil || string(name) != "payload" {
			return w, false, err
		}
		w.payload = payload{b: b[s.i:], wrapped: true}
		return w, true, nil
	case "payload":
		return splitReversed(&s)
	}
	return w, false, nil
}

// splitReversed is for a wrapper whose payload comes first.
func splitReversed(s *scanner) (w wrapper, ok bool, err error) {
	s.peek()
	start := s.i
	if err := s.skip(); err != nil {
		return w, false, err
	}
	w.payload.b = s.b[start:s.i]
	if s.peek() != ',' {
		return w, false, nil
	}
	s.i++
	name, err := s.name()
	if err != nil || string(name) != "schema" {
		return w, false, err
	}
	c := s.peek()
	start = s.i
	if err := s.skip(); err != nil {
		return w, false, err
	}
	w.schema = schemaPart(s.b[start:s.i])
	if c != '{' && c != 'n' || s.peek() != '}' {
		return w, false, nil
	}
	s.i++
	return w, true, s.end()
}

func schemaPart(b []byte) []byte {
	if string(b) == "null" {
		return nil
	}
	return b
}
