package debezium

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// avroKind is a kind of Avro type.
type avroKind uint8

const (
	avroNull avroKind = iota + 1
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroArray
	avroMap
	avroRecord
	avroUnion
)

var avroKinds = map[string]avroKind{
	"null": avroNull, "boolean": avroBoolean, "int": avroInt, "long": avroLong, "float": avroFloat, "double": avroDouble,
	"bytes": avroBytes, "string": avroString, "fixed": avroFixed, "enum": avroEnum, "array": avroArray, "map": avroMap,
	"record": avroRecord, "error": avroRecord,
}

// avroType is a type of a writer's schema.
type avroType struct {
	kind    avroKind
	name    string      // of a named type, with its namespace
	size    int         // avroFixed
	symbols []string    // avroEnum
	elem    *avroType   // avroArray, avroMap
	fields  []avroField // avroRecord
	options []*avroType // avroUnion
	pairs   bool        // avroArray of records of key and value, which stands for a map
	defined bool        // false while a named type is being read: a reference to it then is recursive
	total   int         // how many types it stands for, itself counted
	depth   int         // how deep arrays, maps and records nest in it
	means   declared
}

type avroField struct {
	name  string
	bytes []byte // the name
	typ   *avroType
}

// avroSchema is a writer's schema and what it declares.
type avroSchema struct {
	root *avroType // a record; null when only nulls are written with it
	// optional: the root is a union of null and the record
	optional bool
	nullAt   int64
	// of an envelope: the index of these members, -1 where there is none
	before, after, op, source, transaction int
	row                                    *avroType // of an envelope the type of the rows, else the root
}

// parseAvroSchema reads a schema and the schemas that it refers to, which are read first.
func parseAvroSchema(text string, references []string) (*avroSchema, error) {
	p := avroParser{named: map[string]*avroType{}, texts: map[string]string{}}
	for _, ref := range references {
		if _, err := p.parse(json.RawMessage(ref), "", 0); err != nil {
			return nil, err
		}
	}
	root, err := p.parse(json.RawMessage(text), "", 0)
	if err != nil {
		return nil, err
	}
	s := &avroSchema{root: root}
	if root.kind == avroUnion {
		if s.root, s.nullAt = root.optional(); s.root == nil {
			return nil, errors.New("Avro schema: a union at the top that is not of null and one more type")
		}
		s.optional = true
	}
	s.index()
	return s, nil
}

// index finds the members of an envelope.
func (s *avroSchema) index() {
	s.before, s.after, s.op, s.source, s.transaction = -1, -1, -1, -1, -1
	s.row = s.root
	for i, f := range s.root.fields {
		switch f.name {
		case "before":
			s.before = i
		case "after":
			s.after = i
		case "op":
			s.op = i
		case "source":
			s.source = i
		case "transaction":
			s.transaction = i
		}
	}
	if s.op >= 0 && s.after >= 0 {
		if row, _ := s.root.fields[s.after].typ.optional(); row != nil {
			s.row = row
		}
	}
}

// optional returns the other type of a union with null, and where null is; of a type that is no union itself and -1; nil
// of another union.
func (t *avroType) optional() (*avroType, int64) {
	if t.kind != avroUnion {
		return t, -1
	}
	if len(t.options) == 2 {
		for i, o := range t.options {
			if o.kind == avroNull && t.options[1-i].kind != avroNull {
				return t.options[1-i], int64(i)
			}
		}
	}
	return nil, -1
}

// avroParser reads schemas that share their names.
type avroParser struct {
	named map[string]*avroType
	texts map[string]string // of the types that are named, compact
}

// maxSchemaTypes bounds how many types a schema may stand for, each name counted where it is used.
const maxSchemaTypes = 200_000

// avroJSON are the attributes of a type or a field.
type avroJSON struct {
	Type        json.RawMessage   `json:"type"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Aliases     json.RawMessage   `json:"aliases"`
	Fields      []json.RawMessage `json:"fields"`
	Symbols     []string          `json:"symbols"`
	Size        int               `json:"size"`
	Items       json.RawMessage   `json:"items"`
	Values      json.RawMessage   `json:"values"`
	Default     json.RawMessage   `json:"default"`
	Doc         string            `json:"doc"`
	LogicalType string            `json:"logicalType"`
	Precision   int               `json:"precision"`
	Scale       int               `json:"scale"`

	ConnectName       string          `json:"connect.name"`
	ConnectType       string          `json:"connect.type"`
	ConnectDoc        string          `json:"connect.doc"`
	ConnectDefault    json.RawMessage `json:"connect.default"`
	ConnectParameters map[string]any  `json:"connect.parameters"`
	ConnectInternal   string          `json:"connect.internal.type"`
}

// parse reads a type. namespace is that of the type around it.
func (p *avroParser) parse(raw json.RawMessage, namespace string, depth int) (*avroType, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case depth > maxSchemaDepth:
		return nil, fmt.Errorf("Avro schema: nested more than %d deep", maxSchemaDepth)
	case len(raw) == 0:
		return nil, errors.New("Avro schema: a type is missing")
	case raw[0] == '"':
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, fmt.Errorf("Avro schema: %w", err)
		}
		return p.lookup(name, namespace)
	case raw[0] == '[':
		return p.union(raw, namespace, depth)
	}
	var a avroJSON
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("Avro schema: %w", err)
	}
	var kind string
	if json.Unmarshal(a.Type, &kind) != nil { // {"type": {"type": ...}}
		return p.parse(a.Type, namespace, depth+1)
	}
	k, ok := avroKinds[kind]
	if !ok {
		return p.lookup(kind, namespace)
	}
	t := &avroType{kind: k}
	if err := p.define(t, &a, raw, namespace, depth+1); err != nil {
		return nil, err
	}
	t.defined = true
	if err := t.measure(); err != nil {
		return nil, err
	}
	return t, t.mean(&a)
}

func (p *avroParser) lookup(name, namespace string) (*avroType, error) {
	if k := avroKinds[name]; k != 0 && k <= avroString {
		t := &avroType{kind: k, defined: true, total: 1}
		return t, t.mean(&avroJSON{})
	}
	t := p.named[fullName(name, "", namespace)]
	if t == nil {
		t = p.named[name]
	}
	switch {
	case t == nil:
		return nil, fmt.Errorf("Avro schema: unknown type %s", show([]byte(name)))
	case !t.defined:
		return nil, fmt.Errorf("Avro schema: type %s contains itself, and no column type does", show([]byte(name)))
	}
	return t, nil
}

func fullName(name, own, namespace string) string {
	switch {
	case strings.Contains(name, "."):
		return name
	case own != "":
		return own + "." + name
	case namespace != "":
		return namespace + "." + name
	}
	return name
}

func (p *avroParser) union(raw json.RawMessage, namespace string, depth int) (*avroType, error) {
	var options []json.RawMessage
	if err := json.Unmarshal(raw, &options); err != nil {
		return nil, fmt.Errorf("Avro schema: %w", err)
	}
	if len(options) == 0 {
		return nil, errors.New("Avro schema: a union of no types")
	}
	t := &avroType{kind: avroUnion, defined: true}
	for _, o := range options {
		ot, err := p.parse(o, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		if ot.kind == avroUnion {
			return nil, errors.New("Avro schema: a union in a union")
		}
		t.options = append(t.options, ot)
	}
	if o, _ := t.optional(); o != nil {
		t.means = o.means
		t.means.optional = true
	}
	return t, t.measure()
}

// measure counts what a type stands for. A short text may stand for a lot, by names that are used twice in one another.
func (t *avroType) measure() error {
	t.total = 1
	inside := func(u *avroType, deeper int) {
		t.total, t.depth = min(t.total+u.total, maxSchemaTypes+1), max(t.depth, u.depth+deeper)
	}
	for _, o := range t.options {
		inside(o, 0)
	}
	for i := range t.fields {
		inside(t.fields[i].typ, 1)
	}
	if t.elem != nil {
		inside(t.elem, 1)
	}
	switch {
	case t.depth > maxSchemaDepth:
		return fmt.Errorf("Avro schema: nested more than %d deep", maxSchemaDepth)
	case t.total > maxSchemaTypes:
		return fmt.Errorf("Avro schema: stands for more than %d types", maxSchemaTypes)
	}
	return nil
}

// define reads what a type is made of.
func (p *avroParser) define(t *avroType, a *avroJSON, raw json.RawMessage, namespace string, depth int) error {
	if t.kind == avroRecord || t.kind == avroEnum || t.kind == avroFixed {
		if a.Name == "" {
			return errors.New("Avro schema: a record, enum or fixed without name")
		}
		t.name = fullName(a.Name, a.Namespace, namespace)
		if err := p.name(t, raw); err != nil {
			return err
		}
		namespace = t.name[:max(strings.LastIndexByte(t.name, '.'), 0)]
	}
	var err error
	switch t.kind {
	case avroEnum:
		t.symbols = a.Symbols
	case avroFixed:
		if t.size = a.Size; a.Size < 0 {
			err = errors.New("Avro schema: a fixed of negative size")
		}
	case avroArray:
		t.elem, err = p.parse(a.Items, namespace, depth)
	case avroMap:
		t.elem, err = p.parse(a.Values, namespace, depth)
	case avroRecord:
		err = p.record(t, a, namespace, depth)
	}
	return err
}

// name remembers a type by its name. A registry that puts referenced types in place may do so each time that they are used, alike.
func (p *avroParser) name(t *avroType, raw json.RawMessage) error {
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil {
		return fmt.Errorf("Avro schema: %w", err)
	}
	if p.named[t.name] != nil && p.texts[t.name] != text.String() {
		return fmt.Errorf("Avro schema: type %s is defined twice, and not alike", show([]byte(t.name)))
	}
	p.named[t.name], p.texts[t.name] = t, text.String()
	return nil
}

func (p *avroParser) record(t *avroType, a *avroJSON, namespace string, depth int) error {
	seen := map[string]bool{}
	for _, raw := range a.Fields {
		var f avroJSON
		if err := json.Unmarshal(raw, &f); err != nil {
			return fmt.Errorf("Avro schema: field of %s: %w", t.name, err)
		}
		if f.Name == "" || seen[f.Name] {
			return fmt.Errorf("Avro schema: field %s of %s has no name or occurs twice", show([]byte(f.Name)), t.name)
		}
		seen[f.Name] = true
		typ, err := p.parse(f.Type, namespace, depth)
		if err != nil {
			return fmt.Errorf("%w, in field %s of %s", err, f.Name, t.name)
		}
		m := member{name: f.Name, declared: typ.means}
		if f.Doc != "" {
			m.doc = f.Doc
		}
		m.setFallback(typ, f.Default)
		t.fields = append(t.fields, avroField{name: f.Name, bytes: []byte(f.Name), typ: typ})
		t.means.members = append(t.means.members, m)
	}
	return nil
}
