package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds aliases of aliases and merges of merges; both may be made to go in circles.
const maxDepth = 16

// maxShown is how many characters of a text a problem shows.
const maxShown = 60

// decoder walks the tree of a file and the struct side by side and notes every problem on the way.
type decoder struct {
	from     Source
	file     string
	dir      string // of the file, absolute
	at       map[string]position
	problems []*Problem
	depth    int
}

func (d *decoder) problem(at position, key, format string, args ...any) {
	d.problems = append(d.problems, &Problem{File: d.file, Line: at.line, Column: at.column, Key: key, Text: fmt.Sprintf(format, args...)})
}

func positionOf(n *yaml.Node) position { return position{n.Line, n.Column} }

// resolve follows aliases. It returns nil, with a problem noted, when it cannot.
func (d *decoder) resolve(n *yaml.Node, key string) *yaml.Node {
	at := positionOf(n)
	for range maxDepth {
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Style&yaml.TaggedStyle != 0:
			d.problem(positionOf(n), key, "has a YAML tag %s: remove it", n.Tag)
			return nil
		default:
			return n
		}
	}
	d.problem(at, key, "is an alias that leads in a circle")
	return nil
}

// The tags of scalars that are not text.
const (
	tagNull  = "!!null"
	tagBool  = "!!bool"
	tagInt   = "!!int"
	tagFloat = "!!float"
)

// scalarTag returns what a scalar is; empty for a mapping or a list.
func scalarTag(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.ShortTag()
}

func isNull(n *yaml.Node) bool { return scalarTag(n) == tagNull }

// decode sets dst from a node. The tag is the field's.
func (d *decoder) decode(n *yaml.Node, key string, dst reflect.Value, tag reflect.StructTag) {
	at := positionOf(n)
	if n = d.resolve(n, key); n == nil {
		return
	}
	if dst.Kind() == reflect.Pointer {
		v := reflect.New(dst.Type().Elem())
		d.decode(n, key, v.Elem(), tag)
		dst.Set(v)
		return
	}
	if s, ok := dst.Addr().Interface().(*Secret); ok {
		if text, ok := d.text(n, at, key, true); ok {
			*s = NewSecret(d.expand(text, at, key))
		}
		return
	}
	if u, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.unmarshal(n, at, key, u)
		d.checkMin(at, key, dst, tag)
		return
	}
	if named, ok := dst.Addr().Interface().(*[]Named); ok {
		*named = d.named(n, at, key, enum(tag))
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		d.mapping(n, at, key, dst)
	case reflect.Slice:
		d.list(n, at, key, dst, tag)
	case reflect.Map:
		d.textMap(n, at, key, dst, tag)
	case reflect.Bool:
		if value, err := strconv.ParseBool(n.Value); err == nil && scalarTag(n) == tagBool {
			dst.SetBool(value)
		} else {
			d.problem(at, key, "wants true or false, not %s", describe(n))
		}
	case reflect.Int64:
		if i, ok := integer(n); ok {
			dst.SetInt(i)
			d.checkMin(at, key, dst, tag)
		} else {
			d.problem(at, key, "wants a whole number, not %s", describe(n))
		}
	case reflect.String:
		d.scalar(n, at, key, dst, tag)
	default:
		panic("config: no way to decode " + dst.Type().String())
	}
}

// scalar sets a text, checking it against the tag's enum.
func (d *decoder) scalar(n *yaml.Node, at position, key string, dst reflect.Value, tag reflect.StructTag) {
	allowed := enum(tag)
	if isNull(n) && slices.Contains(allowed, "null") {
		dst.SetString("null")
		return
	}
	text, ok := d.text(n, at, key, false)
	if !ok {
		return
	}
	if tag.Get("env") != "" {
		text = d.expand(text, at, key)
	}
	if len(allowed) > 0 && !slices.Contains(allowed, text) {
		d.problem(at, key, "%q is none of %s%s", text, strings.Join(allowed, ", "), DidYouMean(text, allowed))
		return
	}
	if _, ok := dst.Interface().(Path); ok {
		text = d.absolute(text)
	}
	dst.SetString(text)
}

// text returns the text of a scalar. Numbers and booleans are text only when loose.
func (d *decoder) text(n *yaml.Node, at position, key string, loose bool) (string, bool) {
	switch scalarTag(n) {
	case "":
		d.problem(at, key, "wants text, not %s", describe(n))
	case tagNull:
		d.problem(at, key, "has no value: give one or remove the key")
	case tagInt, tagFloat, tagBool:
		if loose {
			return n.Value, true
		}
		d.problem(at, key, "wants text, not %s: put it in quotes", describe(n))
	default:
		return n.Value, true
	}
	return "", false
}

// unmarshal lets a type read a scalar itself. A whole number is good text for sizes.
func (d *decoder) unmarshal(n *yaml.Node, at position, key string, u encoding.TextUnmarshaler) {
	_, isSize := u.(*Bytes)
	if scalarTag(n) == tagInt && !isSize {
		if _, isTime := u.(*Duration); isTime {
			d.problem(at, key, "%s has no unit: write %[1]ss for seconds, %[1]sms for milliseconds", n.Value)
			return
		}
	}
	text, ok := d.text(n, at, key, isSize)
	if !ok {
		return
	}
	if err := u.UnmarshalText([]byte(text)); err != nil {
		d.problem(at, key, "%q %v", text, err)
	}
}

func (d *decoder) checkMin(at position, key string, v reflect.Value, tag reflect.StructTag) {
	text := tag.Get("min")
	if text == "" || slices.ContainsFunc(d.problems, func(p *Problem) bool { return p.Key == key }) {
		return
	}
	least, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("config: bad min tag of " + key)
	}
	if v.Int() < least {
		lowest := reflect.New(v.Type()).Elem()
		lowest.SetInt(least)
		d.problem(at, key, "%v is too little: at least %v", v.Interface(), lowest.Interface())
	}
}

// list sets a slice. One element may stand for a list of one.
func (d *decoder) list(n *yaml.Node, at position, key string, dst reflect.Value, tag reflect.StructTag) {
	elem := dst.Type().Elem()
	isStruct := elem.Kind() == reflect.Struct && !reflect.PointerTo(elem).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	var nodes []*yaml.Node
	switch {
	case n.Kind == yaml.SequenceNode:
		nodes = n.Content
	case isNull(n):
		return
	case n.Kind == yaml.MappingNode:
		d.problem(at, key, "wants a list, not %s: put a dash before each element", describe(n))
		return
	default:
		if isStruct {
			d.problem(at, key, "wants a list, not %s", describe(n))
			return
		}
		nodes = []*yaml.Node{n}
	}
	out := reflect.MakeSlice(dst.Type(), len(nodes), len(nodes))
	for i, e := range nodes {
		elemKey := fmt.Sprintf("%s[%d]", key, i)
		d.at[elemKey] = positionOf(e)
		if elem == reflect.TypeFor[Table]() {
			out.Index(i).Set(reflect.ValueOf(defaultTable()))
		}
		d.decode(e, elemKey, out.Index(i), tag)
	}
	dst.Set(out)
}

// textMap sets a map of texts by name.
func (d *decoder) textMap(n *yaml.Node, at position, key string, dst reflect.Value, tag reflect.StructTag) {
	out := map[string]string{}
	for _, e := range d.named(n, at, key, enum(tag)) {
		out[e.Name] = e.Text
	}
	if len(out) > 0 {
		dst.Set(reflect.ValueOf(out))
	}
}

// named returns the texts of a mapping in their order. Where all are allowed, numbers and booleans are taken as they are
// written.
func (d *decoder) named(n *yaml.Node, at position, key string, allowed []string) []Named {
	if isNull(n) {
		return nil
	}
	entries, ok := d.entries(n, at, key)
	if !ok {
		return nil
	}
	var out []Named
	for _, e := range entries {
		elemKey := key + "." + e.name
		d.at[elemKey] = e.at
		value := positionOf(e.value)
		node := d.resolve(e.value, elemKey)
		if node == nil {
			continue
		}
		text, ok := d.text(node, value, elemKey, len(allowed) == 0)
		if !ok {
			continue
		}
		if len(allowed) > 0 && !slices.Contains(allowed, text) {
			d.problem(value, elemKey, "%q is none of %s%s", text, strings.Join(allowed, ", "), DidYouMean(text, allowed))
			continue
		}
		out = append(out, Named{Name: e.name, Text: text})
	}
	return out
}

// enum returns the values that a tag allows; nil for any.
func enum(tag reflect.StructTag) []string {
	if s := tag.Get("enum"); s != "" {
		return strings.Split(s, ",")
	}
	return nil
}

// integer returns the value of a whole number.
func integer(n *yaml.Node) (int64, bool) {
	i, err := strconv.ParseInt(n.Value, 0, 64)
	return i, err == nil && scalarTag(n) == tagInt
}

// describe says what a node is, for "wants x, not y".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch scalarTag(n) {
	case tagNull:
		return "nothing"
	case tagInt, tagFloat:
		return "the number " + n.Value
	case tagBool:
		return n.Value
	}
	if strings.Contains(n.Value, "\n") {
		return "a text"
	}
	if r := []rune(n.Value); len(r) > maxShown {
		return fmt.Sprintf("a text that begins with %q", string(r[:maxShown]))
	}
	return fmt.Sprintf("the text %q", n.Value)
}
