package compute

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sink/table"
)

// Filter is a condition on rows as it was written.
type Filter struct{ tree *tree }

// ParseFilter reads a condition: comparisons of a column or a function of columns with a value (= <> < <= > >=, in, is
// null), joined by and, or, not and brackets.
func ParseFilter(text string) (*Filter, error) {
	p := newParser(text)
	t, err := p.either(0)
	if err == nil && p.kind != endToken {
		err = p.unexpected("and, or, or the end")
	}
	if err == nil {
		err = t.checkPatterns()
	}
	if err != nil {
		return nil, err
	}
	return &Filter{t}, nil
}

// Columns returns the columns that the filter reads, in order of appearance.
func (f *Filter) Columns() []string { return f.tree.columns(nil) }

// either reads conditions joined by or; both those joined by and, which bind closer.
func (p *parser) either(depth int) (*tree, error) { return p.joined("or", depth, p.both) }

func (p *parser) both(depth int) (*tree, error) { return p.joined("and", depth, p.condition) }

func (p *parser) joined(word string, depth int, part func(int) (*tree, error)) (*tree, error) {
	first, err := part(depth)
	if err != nil {
		return nil, err
	}
	t := &tree{kind: operatorTree, name: word, args: []*tree{first}}
	for p.word(word) {
		next, err := part(depth)
		if err != nil {
			return nil, err
		}
		t.args = append(t.args, next)
	}
	if len(t.args) == 1 {
		return first, nil
	}
	return t, nil
}

// condition reads one comparison, or one in brackets, or a not.
func (p *parser) condition(depth int) (*tree, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	if p.word("not") {
		t, err := p.condition(depth + 1)
		return &tree{kind: operatorTree, name: "not", args: []*tree{t}}, err
	}
	if p.symbol("(") {
		t, err := p.either(depth + 1)
		if err == nil {
			err = p.expect(")")
		}
		return t, err
	}
	left, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	return p.comparison(left, depth)
}

func (p *parser) comparison(left *tree, depth int) (*tree, error) {
	if p.word("is") {
		not := p.word("not")
		if !p.word("null") {
			return nil, p.unexpected("null")
		}
		return negated(&tree{kind: operatorTree, name: "null", args: []*tree{left}}, not), nil
	}
	not := p.word("not")
	if p.word("in") {
		t := &tree{kind: operatorTree, name: "in", args: []*tree{left}}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		for {
			value, err := p.value()
			if err != nil {
				return nil, err
			}
			t.args = append(t.args, value)
			if p.symbol(")") {
				return negated(t, not), nil
			}
			if !p.symbol(",") {
				return nil, p.unexpected(", or )")
			}
		}
	}
	if not {
		return nil, p.unexpected("in")
	}
	operators := map[string]string{"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
	name, ok := operators[p.token]
	if !ok || p.kind != symbolToken {
		return nil, p.unexpected("=, <>, <, <=, >, >=, in or is")
	}
	p.next()
	value, err := p.value()
	return &tree{kind: operatorTree, name: name, args: []*tree{left, value}}, err
}

func negated(t *tree, not bool) *tree {
	if !not {
		return t
	}
	return &tree{kind: operatorTree, name: "not", args: []*tree{t}}
}

// value reads what something is compared with: text, a number, true or false.
func (p *parser) value() (*tree, error) {
	t := &tree{text: p.token}
	switch {
	case p.kind == textToken:
		t.kind = textTree
	case p.kind == numberToken:
		t.kind = numberTree
	case p.kind == wordToken && (strings.EqualFold(p.token, "true") || strings.EqualFold(p.token, "false")):
		t.kind, t.text = numberTree, strings.ToLower(p.token)
	case p.kind == wordToken && strings.EqualFold(p.token, "null"):
		return nil, errors.New("compares with null, which is never true: write is null")
	default:
		return nil, p.unexpected("a value: text in quotes, a number, true or false")
	}
	p.next()
	return t, nil
}

// Truth is the result of a condition, as in SQL: a comparison with a null is unknown.
type Truth int8

// The truths, in the order of and (the least counts) and or (the greatest).
const (
	False Truth = iota - 1
	Unknown
	True
)

// Predicate is a Filter bound to a table. It has one owner.
type Predicate struct {
	root condition
}

// Match tells what the condition says of a row.
func (p *Predicate) Match(b *table.Batch, row int) (Truth, error) { return p.root.match(b, row) }

type condition interface {
	match(b *table.Batch, row int) (Truth, error)
	within(ranges func(column int) table.Range) truths
}

// Bind compiles the filter for batches of the schema's columns.
func (f *Filter) Bind(s *table.Schema) (*Predicate, error) {
	c, err := bindCondition(f.tree, s.Fields)
	if err != nil {
		return nil, err
	}
	return &Predicate{c}, nil
}

func bindCondition(t *tree, fields []table.Field) (condition, error) {
	switch t.name {
	case "and", "or", "not":
		j := &joint{operator: t.name}
		for _, a := range t.args {
			c, err := bindCondition(a, fields)
			if err != nil {
				return nil, err
			}
			j.parts = append(j.parts, c)
		}
		return j, nil
	}
	left, err := bind(t.args[0], fields)
	if err != nil {
		return nil, err
	}
	c := &comparison{left: left.node, operator: t.name, order: orderOf(left.typ)}
	for _, value := range t.args[1:] {
		v, err := literalOf(value, left.typ)
		if err != nil {
			return nil, fmt.Errorf("%s is of type %s: %w", t.args[0], left.typ, err)
		}
		c.values = append(c.values, v)
	}
	return c, nil
}

// joint joins conditions.
type joint struct {
	operator string
	parts    []condition
}

func (j *joint) match(b *table.Batch, row int) (Truth, error) {
	out, err := j.parts[0].match(b, row)
	if j.operator == "not" {
		return -out, err
	}
	for _, p := range j.parts[1:] {
		if err != nil || j.operator == "and" && out == False || j.operator == "or" && out == True {
			break
		}
		var next Truth
		next, err = p.match(b, row)
		if j.operator == "and" {
			out = min(out, next)
		} else {
			out = max(out, next)
		}
	}
	return out, err
}

// comparison compares a value of the row with literals of its type.
type comparison struct {
	left     node
	operator string
	values   []cell
	order    func(a, b cell) int
}

func (c *comparison) match(b *table.Batch, row int) (Truth, error) {
	left, err := c.left.eval(b, row)
	switch {
	case err != nil:
		return Unknown, err
	case c.operator == "null":
		return truth(left.null), nil
	case left.null:
		return Unknown, nil
	case c.operator == "in":
		for _, v := range c.values {
			if c.order(left, v) == 0 {
				return True, nil
			}
		}
		return False, nil
	}
	n := c.order(left, c.values[0])
	switch c.operator {
	case "=":
		return truth(n == 0), nil
	case "<>":
		return truth(n != 0), nil
	case "<":
		return truth(n == -1), nil
	case "<=":
		return truth(n == -1 || n == 0), nil
	case ">":
		return truth(n == 1), nil
	}
	return truth(n == 1 || n == 0), nil
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

// notComparable is the order of a NaN and a number: none of =, < and > holds.
const notComparable = 2

// orderOf returns how cells of a type compare: -1, 0, 1 or notComparable.
func orderOf(t table.Type) func(a, b cell) int {
	switch {
	case t.Root == table.Float:
		return func(a, b cell) int {
			return compareFloats(float64(math.Float32frombits(uint32(a.word))), float64(math.Float32frombits(uint32(b.word))))
		}
	case t.Root == table.Double:
		return func(a, b cell) int {
			return compareFloats(math.Float64frombits(uint64(a.word)), math.Float64frombits(uint64(b.word)))
		}
	case t.Layout() == table.Words:
		return func(a, b cell) int { return cmp.Compare(a.word, b.word) }
	case t.Root == table.Decimal:
		return func(a, b cell) int {
			if x, y := int8(a.bytes[0]), int8(b.bytes[0]); x != y {
				return cmp.Compare(x, y)
			}
			return bytes.Compare(a.bytes, b.bytes)
		}
	}
	return func(a, b cell) int { return bytes.Compare(a.bytes, b.bytes) }
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return notComparable
}

// literalOf turns a literal into a cell of a type, exactly.
func literalOf(t *tree, typ table.Type) (cell, error) {
	v := &table.Vector{Layout: typ.Layout()}
	text, ok := t.text, false
	switch {
	case isText(typ):
		ok = t.kind == textTree
		v.AppendBytes([]byte(text))
	case typ.Root == table.Boolean:
		ok = text == "true" || text == "false"
		v.AppendWord(map[string]int64{"true": 1}[text])
	case isInteger(typ):
		n, err := strconv.ParseInt(text, 10, 64)
		ok = err == nil && t.kind == numberTree
		v.AppendWord(n)
	case typ.Root == table.Decimal:
		ok = t.kind == numberTree && table.AppendDecimalText(v, &typ, []byte(text)) == nil
	case typ.Root == table.Double:
		n, err := strconv.ParseFloat(text, 64)
		ok = err == nil && t.kind == numberTree
		v.AppendWord(int64(math.Float64bits(n)))
	case typ.Root == table.Float:
		n, err := strconv.ParseFloat(text, 32)
		ok = err == nil && t.kind == numberTree
		v.AppendWord(int64(math.Float32bits(float32(n))))
	case typ.Root == table.Date:
		var days int64
		days, ok = table.ParseDate([]byte(text))
		v.AppendWord(days)
	case typ.Root == table.Time:
		var nanos int64
		nanos, ok = table.ParseClock([]byte(text))
		v.AppendWord(nanos / 1_000_000)
	case typ.Root == table.Timestamp || typ.Root == table.LocalTimestamp:
		at, valid := parseMoment([]byte(text))
		ok = valid && table.AppendTimestamp(v, &typ, at.Unix(), int32(at.Nanosecond())) == nil
	default:
		return cell{}, errors.New("such columns are not compared, but for is null")
	}
	if !ok || v.Len() == 0 {
		return cell{}, fmt.Errorf("%s is no value of it", t)
	}
	c, err := column(0).eval(&table.Batch{Columns: []table.Vector{*v}}, 0)
	return c, err
}
