package manifest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
)

// shape is the family of an Avro type.
type shape uint8

const (
	avroNull shape = iota
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
	avroUnion
	avroRecord
)

var primitives = map[string]shape{
	"null": avroNull, "boolean": avroBoolean, "int": avroInt, "long": avroLong, "float": avroFloat,
	"double": avroDouble, "bytes": avroBytes, "string": avroString,
}

func (s shape) String() string {
	for name, p := range primitives {
		if p == s {
			return name
		}
	}
	return [...]string{"fixed", "enum", "array", "map", "union", "record"}[s-avroFixed]
}

// node is a type of a writer schema. Trees of nodes have no cycles: recursive records are refused.
type node struct {
	shape    shape
	size     int64   // fixed
	items    *node   // array, map
	branches []*node // union
	fields   []field // record
}

// field is a member of a record.
type field struct {
	name string
	node *node
}

// maxSchemaDepth bounds how deep types may nest; Paimon's own nest six deep.
const maxSchemaDepth = 32

// parseSchema reads an Avro schema (Apache Avro 1.12 specification, "Schema Declaration"). Names matter only for
// references; defaults, aliases and logical types do not change how a value lies on disk.
func parseSchema(text []byte) (*node, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("avro schema: %w", err)
	}
	p := schemaParser{named: make(map[string]*node)}
	n, err := p.parse(v, 0)
	if err != nil {
		return nil, fmt.Errorf("avro schema: %w", err)
	}
	return n, nil
}

// parsed keeps schemas by their text: a process meets a handful of them, each at the head of thousands of files. Trees of nodes
// never change once parsed.
var parsed struct {
	sync.Mutex
	byText map[string]*node
}

// maxParsed bounds what parsed keeps.
const maxParsed = 64

// knownSchema is parseSchema, but for a text that was parsed before.
func knownSchema(text []byte) (*node, error) {
	parsed.Lock()
	n, ok := parsed.byText[string(text)]
	parsed.Unlock()
	if ok {
		return n, nil
	}
	n, err := parseSchema(text)
	if err != nil {
		return nil, err
	}
	parsed.Lock()
	defer parsed.Unlock()
	if parsed.byText == nil || len(parsed.byText) >= maxParsed {
		parsed.byText = make(map[string]*node)
	}
	parsed.byText[string(text)] = n
	return n, nil
}

// schemaParser knows the named types so far; one under construction is nil.
type schemaParser struct{ named map[string]*node }

func (p *schemaParser) parse(v any, depth int) (*node, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("types nest deeper than %d", maxSchemaDepth)
	}
	switch v := v.(type) {
	case string:
		return p.resolve(v)
	case []any:
		n := &node{shape: avroUnion}
		for _, b := range v {
			branch, err := p.parse(b, depth+1)
			if err != nil {
				return nil, err
			}
			n.branches = append(n.branches, branch)
		}
		return n, nil
	case map[string]any:
		return p.parseObject(v, depth)
	}
	return nil, fmt.Errorf("a type is %T, want a name, an object or a list", v)
}

func (p *schemaParser) resolve(name string) (*node, error) {
	if s, ok := primitives[name]; ok {
		return &node{shape: s}, nil
	}
	n, ok := p.named[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("unknown type %q", name)
	case n == nil:
		return nil, fmt.Errorf("type %q contains itself", name)
	}
	return n, nil
}

func (p *schemaParser) parseObject(v map[string]any, depth int) (*node, error) {
	kind, isName := v["type"].(string)
	switch {
	case !isName:
		return p.parse(v["type"], depth+1)
	case kind == "array" || kind == "map":
		items, err := p.parse(v[map[string]string{"array": "items", "map": "values"}[kind]], depth+1)
		if err != nil {
			return nil, err
		}
		if kind == "array" {
			return &node{shape: avroArray, items: items}, nil
		}
		return &node{shape: avroMap, items: items}, nil
	case kind == "record" || kind == "enum" || kind == "fixed":
		return p.parseNamed(kind, v, depth)
	}
	return p.resolve(kind)
}

func (p *schemaParser) parseNamed(kind string, v map[string]any, depth int) (*node, error) {
	name, _ := v["name"].(string)
	space, _ := v["namespace"].(string)
	p.named[name], p.named[space+"."+name] = nil, nil
	n := &node{shape: avroEnum}
	switch kind {
	case "fixed":
		size, ok := v["size"].(float64)
		if !ok || size < 1 || size > math.MaxInt32 {
			return nil, fmt.Errorf("fixed %q has size %v", name, v["size"])
		}
		n.shape, n.size = avroFixed, int64(size)
	case "record":
		n.shape = avroRecord
		members, _ := v["fields"].([]any)
		for _, m := range members {
			member, _ := m.(map[string]any)
			memberName, _ := member["name"].(string)
			t, err := p.parse(member["type"], depth+1)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", memberName, err)
			}
			n.fields = append(n.fields, field{memberName, t})
		}
	}
	p.named[name], p.named[space+"."+name] = n, n
	return n, nil
}

// errShort is an Avro value that goes on behind the end of its block.
var errShort = errors.New("block ends inside a value")

// cursor reads Avro values of a block from front to back. The first error sticks and makes all later reads return
// zero values.
type cursor struct {
	b   []byte
	err error

	texts map[string]string   // interned strings and bytes
	lists map[string][]string // interned string arrays, by their encoding
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
		c.b = nil
	}
}

// long reads an int or a long.
func (c *cursor) long() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.b = c.b[n:]
	return v
}

// int reads an int or a long that must fit an int32.
func (c *cursor) int() int32 {
	v := c.long()
	if v != int64(int32(v)) {
		c.fail(fmt.Errorf("%d does not fit an int", v))
		return 0
	}
	return int32(v)
}

// take returns the next n bytes; they share the block's memory.
func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.b)) {
		c.fail(errShort)
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

// bytes reads bytes or a string.
func (c *cursor) bytes() []byte { return c.take(c.long()) }

// text reads bytes or a string that often repeats.
func (c *cursor) text() string {
	b := c.bytes()
	s, ok := c.texts[string(b)]
	if !ok {
		if c.texts == nil {
			c.texts = make(map[string]string)
		}
		s = string(b)
		c.texts[s] = s
	}
	return s
}

// branch reads which type of a union follows; n itself when it is no union.
func (c *cursor) branch(n *node) *node {
	if n.shape != avroUnion {
		return n
	}
	i := c.long()
	if i < 0 || i >= int64(len(n.branches)) {
		c.fail(fmt.Errorf("union branch %d of %d", i, len(n.branches)))
		return &node{shape: avroNull}
	}
	return c.branch(n.branches[i])
}

// items calls each for every item of an array or pair of a map; left counts those that follow at once, this one
// included. Items take at least a byte each, so that a count cannot promise more than the block holds.
func (c *cursor) items(each func(left int64)) {
	for {
		count := c.long()
		if count < 0 {
			count = -count
			c.long() // the size of the items in bytes
		}
		if count == 0 || c.err != nil {
			return
		}
		if count < 0 || count > int64(len(c.b)) {
			c.fail(errShort)
			return
		}
		for ; count > 0 && c.err == nil; count-- {
			each(count)
		}
	}
}

// skip passes over a value.
func (c *cursor) skip(n *node) {
	n = c.branch(n)
	switch n.shape {
	case avroNull:
	case avroBoolean:
		c.take(1)
	case avroInt, avroLong, avroEnum:
		c.long()
	case avroFloat:
		c.take(4)
	case avroDouble:
		c.take(8)
	case avroBytes, avroString:
		c.bytes()
	case avroFixed:
		c.take(n.size)
	case avroArray:
		c.items(func(int64) { c.skip(n.items) })
	case avroMap:
		c.items(func(int64) { c.bytes(); c.skip(n.items) })
	case avroRecord:
		for _, f := range n.fields {
			c.skip(f.node)
		}
	}
}

func appendLong(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func appendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	return append(appendLong(dst, int64(len(b))), b...)
}

// appendPresent starts a union of null and something: it tells which follows, and returns its argument.
func appendPresent(dst []byte, present bool) []byte {
	if present {
		return append(dst, 2)
	}
	return append(dst, 0)
}

func appendStrings(dst []byte, list []string) []byte {
	if len(list) > 0 {
		dst = appendLong(dst, int64(len(list)))
		for _, s := range list {
			dst = appendBytes(dst, s)
		}
	}
	return append(dst, 0)
}
