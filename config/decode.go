package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxDepth bounds aliases of aliases and merges of merges; both may be made to go in circles.
const maxDepth = 16

// decoder walks the tree of a file and the struct side by side and notes every problem on the way.
type decoder struct {
	from     Source
	file     string
	dir      string // of the file, absolute
	at       map[string]position
	anchors  map[string]ast.Node
	problems []*Problem
	depth    int
}

func (d *decoder) problem(at position, key, format string, args ...any) {
	d.problems = append(d.problems, &Problem{File: d.file, Line: at.line, Column: at.column, Key: key, Text: fmt.Sprintf(format, args...)})
}

func positionOf(n ast.Node) position {
	if n == nil {
		return position{1, 1}
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{t.Position.Line, t.Position.Column}
}

// collectAnchors notes every &name of the file, so that *name may stand for it.
func (d *decoder) collectAnchors(root ast.Node) {
	ast.Walk(visitor(func(n ast.Node) {
		if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil {
			d.anchors[a.Name.GetToken().Value] = a.Value
		}
	}), root)
}

type visitor func(ast.Node)

func (v visitor) Visit(n ast.Node) ast.Visitor {
	v(n)
	return v
}

// resolve strips anchors and tags and follows aliases. It returns nil, with a problem noted, when it cannot.
func (d *decoder) resolve(n ast.Node, key string) ast.Node {
	for range maxDepth {
		switch t := n.(type) {
		case *ast.AnchorNode:
			n = t.Value
		case *ast.AliasNode:
			name := t.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.problem(positionOf(t), key, "there is no anchor &%s in the file", name)
				return nil
			}
			n = target
		case *ast.TagNode:
			d.problem(positionOf(t), key, "has a YAML tag %s: remove it", t.Start.Value)
			return nil
		default:
			return n
		}
	}
	d.problem(positionOf(n), key, "is an alias that leads in a circle")
	return nil
}

// decode sets dst from a node. The tag is the field's.
func (d *decoder) decode(n ast.Node, key string, dst reflect.Value, tag reflect.StructTag) {
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
		if b, ok := n.(*ast.BoolNode); ok {
			dst.SetBool(b.Value)
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
func (d *decoder) scalar(n ast.Node, at position, key string, dst reflect.Value, tag reflect.StructTag) {
	allowed := enum(tag)
	if _, isNull := n.(*ast.NullNode); isNull && slices.Contains(allowed, "null") {
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
		d.problem(at, key, "%q is none of %s%s", text, strings.Join(allowed, ", "), didYouMean(text, allowed))
		return
	}
	if _, ok := dst.Interface().(Path); ok {
		text = d.absolute(text)
	}
	dst.SetString(text)
}

// text returns the text of a scalar. Numbers and booleans are text only when loose.
func (d *decoder) text(n ast.Node, at position, key string, loose bool) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		return t.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		if loose {
			return n.GetToken().Value, true
		}
		d.problem(at, key, "wants text, not %s: put it in quotes", describe(n))
	case *ast.NullNode:
		d.problem(at, key, "has no value: give one or remove the key")
	default:
		d.problem(at, key, "wants text, not %s", describe(n))
	}
	return "", false
}

// unmarshal lets a type read a scalar itself. A whole number is good text for sizes.
func (d *decoder) unmarshal(n ast.Node, at position, key string, u encoding.TextUnmarshaler) {
	_, isSize := u.(*Bytes)
	if _, isInt := n.(*ast.IntegerNode); isInt && !isSize {
		if _, isTime := u.(*Duration); isTime {
			d.problem(at, key, "%s has no unit: write %[1]ss for seconds, %[1]sms for milliseconds", n.GetToken().Value)
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
func (d *decoder) list(n ast.Node, at position, key string, dst reflect.Value, tag reflect.StructTag) {
	elem := dst.Type().Elem()
	isStruct := elem.Kind() == reflect.Struct && !reflect.PointerTo(elem).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	var nodes []ast.Node
	switch t := n.(type) {
	case *ast.SequenceNode:
		nodes = t.Values
	case *ast.NullNode:
		return
	case *ast.MappingNode, *ast.MappingValueNode:
		d.problem(at, key, "wants a list, not %s: put a dash before each element", describe(n))
		return
	default:
		if isStruct {
			d.problem(at, key, "wants a list, not %s", describe(n))
			return
		}
		nodes = []ast.Node{n}
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
func (d *decoder) textMap(n ast.Node, at position, key string, dst reflect.Value, tag reflect.StructTag) {
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
func (d *decoder) named(n ast.Node, at position, key string, allowed []string) []Named {
	if _, isNull := n.(*ast.NullNode); isNull {
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
			d.problem(value, elemKey, "%q is none of %s%s", text, strings.Join(allowed, ", "), didYouMean(text, allowed))
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
func integer(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch v := i.Value.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= 1<<63-1
	}
	return 0, false
}

// describe says what a node is, for "wants x, not y".
func describe(n ast.Node) string {
	switch t := n.(type) {
	case *ast.StringNode:
		return fmt.Sprintf("the text %q", t.Value)
	case *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + n.GetToken().Value
	case *ast.BoolNode:
		return n.GetToken().Value
	case *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	return strings.ToLower(n.Type().String())
}
