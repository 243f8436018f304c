package debezium

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// connectSchema is the schema part that JsonConverter writes (org.apache.kafka.connect.json.JsonSchema).
type connectSchema struct {
	Type       string            `json:"type"`
	Optional   bool              `json:"optional"`
	Name       string            `json:"name"`
	Doc        string            `json:"doc"`
	Parameters map[string]string `json:"parameters"`
	Default    json.RawMessage   `json:"default"`
	Field      string            `json:"field"`
	Fields     []connectSchema   `json:"fields"`
	Items      *connectSchema    `json:"items"`
	Keys       *connectSchema    `json:"keys"`
	Values     *connectSchema    `json:"values"`
}

// parseConnectSchema reads a schema part.
func parseConnectSchema(b []byte) (*declared, error) {
	var s connectSchema
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("schema part: %w", err)
	}
	d := new(declared)
	if err := d.setConnect(&s, 0); err != nil {
		return nil, fmt.Errorf("schema part: %w", err)
	}
	return d, nil
}

// maxSchemaDepth bounds how deep declared types may nest.
const maxSchemaDepth = 32

func (d *declared) setConnect(s *connectSchema, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("nested more than %d deep", maxSchemaDepth)
	}
	d.optional, d.doc = s.Optional, s.Doc
	if len(s.Default) > 0 && !bytes.Equal(s.Default, []byte("null")) {
		d.fallback = s.Default
	}
	switch s.Type {
	case "int8", "int16", "int32", "int64":
		d.sort, d.bits = sortInt, atoi(s.Type[3:], 0)
	case "float", "float32":
		d.sort, d.bits = sortFloat, 32
	case "double", "float64":
		d.sort, d.bits = sortFloat, 64
	case "boolean":
		d.sort = sortBool
	case "string":
		d.sort = sortText
	case "bytes":
		d.sort = sortBytes
	case "array", "map", "struct":
		if err := d.setNested(s, depth+1); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown type %s", show([]byte(s.Type)))
	}
	return d.mean(s.Name, s.Parameters)
}

func (d *declared) setNested(s *connectSchema, depth int) error {
	var parts [3]*connectSchema
	switch s.Type {
	case "array":
		d.sort, parts[0] = sortArray, s.Items
	case "map":
		d.sort, parts[0], parts[1] = sortMap, s.Values, s.Keys
	case "struct":
		d.sort = sortStruct
		return d.setMembers(s, depth)
	}
	d.elem = new(declared)
	if parts[0] == nil {
		return fmt.Errorf("%s without the type of its elements", s.Type)
	}
	if err := d.elem.setConnect(parts[0], depth); err != nil || d.sort == sortArray {
		return err
	}
	d.key = new(declared)
	if parts[1] == nil {
		return fmt.Errorf("map without the type of its keys")
	}
	return d.key.setConnect(parts[1], depth)
}

func (d *declared) setMembers(s *connectSchema, depth int) error {
	d.members = make([]member, len(s.Fields))
	seen := make(map[string]bool, len(s.Fields))
	for i := range s.Fields {
		f := &s.Fields[i]
		if seen[f.Field] {
			return fmt.Errorf("field %s occurs twice", show([]byte(f.Field)))
		}
		seen[f.Field] = true
		d.members[i].name = f.Field
		if err := d.members[i].setConnect(f, depth); err != nil {
			return fmt.Errorf("field %s: %w", show([]byte(f.Field)), err)
		}
	}
	return nil
}

// member returns a member by name, or nil.
func (d *declared) member(name string) *declared {
	for i := range d.members {
		if d.members[i].name == name {
			return &d.members[i].declared
		}
	}
	return nil
}

// valueSchema is the declaration of record values: parsed once for all records that carry the same bytes.
type valueSchema struct {
	kind Kind
	row  *declared // the row type, of KindChange and KindFlat
	avro *avroSchema
	// shapes by the declaration of the key; nil stands for a key that declares nothing
	shapes map[*keySchema]*Shape
}

// keySchema is the declaration of record keys.
type keySchema struct {
	row  *declared
	avro *avroSchema
}

// newValueSchema tells from a declaration what its records are.
func newValueSchema(d *declared) (*valueSchema, error) {
	s := &valueSchema{kind: kindOf(d), shapes: map[*keySchema]*Shape{}}
	switch s.kind {
	case KindFlat:
		s.row = d
	case KindChange:
		s.row = d.member("after")
		if s.row == nil {
			s.row = d.member("before")
		}
		if s.row == nil || s.row.sort != sortStruct {
			return nil, fmt.Errorf("envelope %s does not declare before and after as structs", d.name)
		}
	}
	return s, nil
}

// kindOf classifies a declared value. An envelope is KindChange whatever its op will be.
func kindOf(d *declared) Kind {
	if d.sort != sortStruct {
		return 0
	}
	name := d.name[strings.LastIndexByte(d.name, '.')+1:]
	switch {
	case strings.HasSuffix(name, "MessageValue"), d.member("op") != nil && d.member("message") != nil:
		return KindMessage
	case d.member("op") != nil && (d.member("after") != nil || d.member("before") != nil):
		return KindChange
	case name == "Heartbeat":
		return KindHeartbeat
	case name == "TransactionMetadataValue":
		return KindTransaction
	case name == "SchemaChangeValue", d.member("ddl") != nil && d.member("tableChanges") != nil:
		return KindSchemaChange
	case d.member("aggregate_type") != nil && d.member("additional_data") != nil:
		return KindNotification
	}
	return KindFlat
}

// shape returns the shape of records with this value and that key.
func (s *valueSchema) shape(key *keySchema) *Shape {
	if s.row == nil {
		return nil
	}
	sh := s.shapes[key]
	if sh == nil {
		sh = &Shape{value: s, key: key}
		if key != nil && key.row.sort == sortStruct {
			for i := range key.row.members {
				sh.Key = append(sh.Key, key.row.members[i].name)
			}
		}
		s.shapes[key] = sh
	}
	return sh
}
