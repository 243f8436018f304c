package debezium

import (
	"bytes"
	"encoding/base64"
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
	p := avroParser{named: map[string]*avroType{}}
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
type avroParser struct{ named map[string]*avroType }

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
	if err := p.define(t, &a, namespace, depth+1); err != nil {
		return nil, err
	}
	t.defined = true
	return t, t.mean(&a)
}

func (p *avroParser) lookup(name, namespace string) (*avroType, error) {
	if k := avroKinds[name]; k != 0 && k <= avroString {
		t := &avroType{kind: k, defined: true}
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
	return t, nil
}

// define reads what a type is made of.
func (p *avroParser) define(t *avroType, a *avroJSON, namespace string, depth int) error {
	if t.kind == avroRecord || t.kind == avroEnum || t.kind == avroFixed {
		if a.Name == "" {
			return errors.New("Avro schema: a record, enum or fixed without name")
		}
		t.name = fullName(a.Name, a.Namespace, namespace)
		p.named[t.name] = t
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

// setFallback takes the default of a field, if the type does not have one: in JSON as JsonConverter would write it.
func (m *member) setFallback(t *avroType, raw json.RawMessage) {
	if m.fallback != nil || len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return
	}
	if o, _ := t.optional(); o == nil || o.kind != avroBytes && o.kind != avroFixed {
		m.fallback = raw
		return
	}
	m.fallback = latin1(raw)
}

// latin1 turns the JSON of Avro bytes, one character a byte, into base64.
func latin1(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return nil
		}
		b = append(b, byte(r))
	}
	return json.RawMessage(`"` + base64.StdEncoding.EncodeToString(b) + `"`)
}

// mean settles what a type declares: Connect's type and semantic name, or else Avro's logical type.
func (t *avroType) mean(a *avroJSON) error {
	d := &t.means
	d.doc = a.Doc
	if a.ConnectDoc != "" {
		d.doc = a.ConnectDoc
	}
	if len(a.ConnectDefault) > 0 {
		if d.fallback = a.ConnectDefault; t.kind == avroBytes || t.kind == avroFixed {
			d.fallback = latin1(a.ConnectDefault)
		}
	}
	switch t.kind {
	case avroBoolean:
		d.sort = sortBool
	case avroInt, avroLong:
		d.sort, d.bits = sortInt, 32
		if t.kind == avroLong {
			d.bits = 64
		}
		switch a.ConnectType {
		case "int8", "int16":
			d.bits = atoi(a.ConnectType[3:], 32)
		}
	case avroFloat:
		d.sort, d.bits = sortFloat, 32
	case avroDouble:
		d.sort, d.bits = sortFloat, 64
	case avroBytes, avroFixed:
		d.sort = sortBytes
	case avroString, avroEnum:
		d.sort = sortText
	case avroArray:
		t.meanArray(a)
	case avroMap:
		d.sort, d.elem = sortMap, &t.elem.means
		d.key = &declared{sort: sortText}
	case avroRecord:
		d.sort = sortStruct
	}
	name := a.ConnectName
	if name == "" && t.name != "" {
		name = t.name
	}
	parameters := map[string]string{}
	for k, v := range a.ConnectParameters {
		parameters[k] = fmt.Sprint(v)
	}
	if a.ConnectName == "" {
		d.logical(a)
	}
	if d.sort == sortDecimal || d.unit != 0 || d.sort == sortDate {
		return nil
	}
	d.mean(name, parameters)
	if d.sort == sortDecimal && parameters["scale"] == "" {
		d.scale = a.Scale
	}
	return nil
}

// meanArray: an array of entries of key and value is a map whose keys are no strings (AvroData's MapEntry).
func (t *avroType) meanArray(a *avroJSON) {
	d, e := &t.means, t.elem
	d.sort, d.elem = sortArray, &e.means
	if e.kind == avroRecord && len(e.fields) == 2 && e.fields[0].name == "key" && e.fields[1].name == "value" &&
		(a.ConnectInternal == "MapEntry" || strings.HasSuffix(e.name, ".MapEntry")) {
		t.pairs = true
		d.sort, d.key, d.elem = sortMap, &e.means.members[0].declared, &e.means.members[1].declared
	}
}

// logical reads what plain Avro says, without Connect.
func (d *declared) logical(a *avroJSON) {
	switch a.LogicalType {
	case "decimal":
		if d.sort == sortBytes {
			d.sort, d.precision, d.scale = sortDecimal, a.Precision, a.Scale
		}
	case "date":
		d.sort = sortDate
	case "time-millis":
		d.sort, d.unit = sortTime, perMilli
	case "time-micros":
		d.sort, d.unit = sortTime, perMicro
	case "timestamp-millis", "local-timestamp-millis":
		d.sort, d.unit = sortTimestamp, perMilli
	case "timestamp-micros", "local-timestamp-micros":
		d.sort, d.unit = sortTimestamp, perMicro
	case "timestamp-nanos", "local-timestamp-nanos":
		d.sort, d.unit = sortTimestamp, perNano
	}
}
