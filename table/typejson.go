package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// typeJSON is a constructed type in a schema file; "type" holds the family and the nullability.
type typeJSON struct {
	Type    string  `json:"type"`
	Element *Type   `json:"element,omitempty"`
	Key     *Type   `json:"key,omitempty"`
	Value   *Type   `json:"value,omitempty"`
	Fields  []Field `json:"fields,omitempty"`
}

// MarshalJSON writes the form of schema files: a string, or an object for constructed types
// (org.apache.paimon.types.DataType.serializeJson).
func (t Type) MarshalJSON() ([]byte, error) {
	if !t.Nested() {
		return encodeJSON(t.String())
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	j := typeJSON{Type: t.Root.String()}
	if t.NotNull {
		j.Type += " NOT NULL"
	}
	switch t.Root {
	case Map:
		j.Key, j.Value = t.Key, t.Element
	case RowType:
		j.Fields = t.Fields
	default:
		j.Element = t.Element
	}
	return encodeJSON(j)
}

// UnmarshalJSON reads what MarshalJSON writes; see [ParseType] for the text of a type.
func (t *Type) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '{' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("a type is a string or an object: %w", err)
		}
		if strings.HasPrefix(strings.TrimSpace(s), "{") {
			return fmt.Errorf("type %q: an object as text", s)
		}
		parsed, err := ParseType(s)
		if err != nil {
			return err
		}
		*t = parsed
		return nil
	}
	if depthJSON(b) > 4*maxTypeDepth {
		return fmt.Errorf("type: nested deeper than %d", maxTypeDepth)
	}
	var j typeJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	word, notNull := j.Type, false
	if fields := strings.Fields(strings.ToUpper(j.Type)); len(fields) > 0 {
		word = fields[0]
		switch rest := strings.Join(fields[1:], " "); rest {
		case "", "NULL":
		case "NOT NULL":
			notNull = true
		default:
			return fmt.Errorf("type %q: %q where NOT NULL is expected", j.Type, rest)
		}
	}
	out := Type{Root: keywords[word], NotNull: notNull}
	switch out.Root {
	case Array, Multiset:
		out.Element = j.Element
	case Map:
		out.Key, out.Element = j.Key, j.Value
	case RowType:
		out.Fields = j.Fields
	default:
		if foreign[word] {
			return fmt.Errorf("type %s is not supported by the sink", word)
		}
		return fmt.Errorf("type %q is no constructed type", j.Type)
	}
	if err := out.check(); err != nil {
		return err
	}
	*t = out
	return nil
}

// depthJSON is how deep braces and brackets nest, at most; those in strings count too.
func depthJSON(b []byte) int {
	depth, deepest := 0, 0
	for _, c := range b {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// fieldJSON is a field in the member order of org.apache.paimon.types.DataField.
type fieldJSON struct {
	ID          *int    `json:"id"`
	Name        string  `json:"name"`
	Type        *Type   `json:"type"`
	Description string  `json:"description,omitempty"`
	Default     *string `json:"defaultValue,omitempty"`
}

// MarshalJSON writes the form of schema files.
func (f Field) MarshalJSON() ([]byte, error) {
	b, err := encodeJSON(fieldJSON{ID: &f.ID, Name: f.Name, Type: &f.Type, Description: f.Description, Default: f.Default})
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", f.Name, err)
	}
	return appendUnknown(b, f.Unknown)
}

// UnmarshalJSON reads the form of schema files; members it does not know are kept in Unknown.
func (f *Field) UnmarshalJSON(b []byte) error {
	var j fieldJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	switch {
	case j.ID == nil:
		return fmt.Errorf("field %q has no id", j.Name)
	case j.Type == nil:
		return fmt.Errorf("field %q has no type", j.Name)
	case j.Name == "":
		return fmt.Errorf("field %d has no name", *j.ID)
	}
	unknown, err := unknownMembers(b, "id", "name", "type", "description", "defaultValue")
	if err != nil {
		return err
	}
	*f = Field{ID: *j.ID, Name: j.Name, Type: *j.Type, Description: j.Description, Default: j.Default, Unknown: unknown}
	return nil
}

// unknownMembers returns the members of a JSON object other than the known ones, nil if there are none.
func unknownMembers(b []byte, known ...string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	for _, k := range known {
		delete(all, k)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// appendUnknown adds members to a JSON object that is not empty.
func appendUnknown(object []byte, members map[string]json.RawMessage) ([]byte, error) {
	if len(members) == 0 {
		return object, nil
	}
	more, err := encodeJSON(members)
	if err != nil {
		return nil, err
	}
	object = append(object[:len(object)-1], ',')
	return append(object, more[1:]...), nil
}

// encodeJSON is json.Marshal without the escapes for HTML.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// indentJSON lays JSON out as Paimon's files are: two spaces a level.
func indentJSON(b []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
