package compute

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"sink/table"
)

// cell is one value: a word or bytes, as a [table.Vector] holds them. The bytes are valid until the next evaluation.
type cell struct {
	null  bool
	word  int64
	bytes []byte
}

// node evaluates a bound expression for one row.
type node interface {
	eval(b *table.Batch, row int) (cell, error)
}

// typed is a node with the type of its cells; literal is set where it is a constant.
type typed struct {
	node
	typ     table.Type
	literal *tree
}

// function is one that an expression may call.
type function struct {
	usage       string
	least, most int
	raw         bool // the second argument may stand without quotes: a type or a pattern
	bind        func(f *call) (typed, error)
}

// call is a call being bound.
type call struct {
	name string
	tree *tree
	args []typed
}

var functions map[string]function

func init() { //nolint:gochecknoinits // bindCast and others look functions up, which would be a cycle
	functions = map[string]function{
		"date_format": {usage: "date_format(time, 'pattern') or date_format(number, 'pattern', digits)", least: 2, most: 3, raw: true, bind: bindDateFormat},
		"substring":   {usage: "substring(text, begin) or substring(text, begin, end), from 0, without the character at end", least: 2, most: 3, bind: bindSubstring},
		"truncate":    {usage: "truncate(value, width)", least: 2, most: 2, bind: bindTruncate},
		"cast":        {usage: "cast(value, TYPE)", least: 2, most: 2, raw: true, bind: bindCast},
		"upper":       {usage: "upper(text)", least: 1, most: 1, bind: bindText(upper)},
		"lower":       {usage: "lower(text)", least: 1, most: 1, bind: bindText(lower)},
		"trim":        {usage: "trim(text)", least: 1, most: 1, bind: bindText(trim)},
		"concat":      {usage: "concat(text, ...)", least: 1, most: 64, bind: bindConcat},
	}
	for name, part := range timeParts {
		functions[name] = function{usage: name + "(time) or " + name + "(number, digits)", least: 1, most: 2, bind: bindTimePart(part)}
	}
}

func functionNames() []string { return slices.Sorted(maps.Keys(functions)) }

var stringType = table.Type{Root: table.VarChar, Length: table.MaxLength}

func isText(t table.Type) bool { return t.Root == table.Char || t.Root == table.VarChar }

func isInteger(t table.Type) bool { return t.Root >= table.TinyInt && t.Root <= table.BigInt }

func (c *call) wrong(i int, want string) error {
	return fmt.Errorf("%s: %s is of type %s, it wants %s", c.tree, c.tree.args[i], c.args[i].typ, want)
}

// number returns an argument that has to be a whole number in the text of the expression.
func (c *call) number(i int, what string) (int, error) {
	l := c.args[i].literal
	if l == nil || l.kind != numberTree {
		return 0, fmt.Errorf("%s: %s has to be a whole number", c.tree, what)
	}
	n, err := strconv.Atoi(l.text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %s is %s, it has to be a whole number from 0", c.tree, what, l.text)
	}
	return n, nil
}

// column reads a column.
type column int

func (c column) eval(b *table.Batch, row int) (cell, error) {
	v := &b.Columns[c]
	switch {
	case v.IsNull(row):
		return cell{null: true}, nil
	case v.Layout == table.Words:
		return cell{word: v.Words[row]}, nil
	}
	return cell{bytes: v.Bytes(row)}, nil
}

// constant is a literal.
type constant cell

func (c constant) eval(*table.Batch, int) (cell, error) { return cell(c), nil }

// each applies a function to a value that is not null.
type each struct {
	arg node
	f   func(c cell) (cell, error)
}

func (e *each) eval(b *table.Batch, row int) (cell, error) {
	c, err := e.arg.eval(b, row)
	if err != nil || c.null {
		return c, err
	}
	return e.f(c)
}

// bindText makes a function from text to text.
func bindText(f func(dst, b []byte) []byte) func(*call) (typed, error) {
	return func(c *call) (typed, error) {
		if !isText(c.args[0].typ) {
			return typed{}, c.wrong(0, "text")
		}
		out := stringType
		out.NotNull = c.args[0].typ.NotNull
		var buffer []byte
		return typed{typ: out, node: &each{c.args[0], func(v cell) (cell, error) {
			buffer = f(buffer[:0], v.bytes)
			return cell{bytes: buffer}, nil
		}}}, nil
	}
}

// trim takes off the characters up to the space at both ends, as java.lang.String.trim does.
func trim(dst, b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return append(dst, b...)
}

func bindConcat(c *call) (typed, error) {
	out := stringType
	out.NotNull = true
	for i, a := range c.args {
		if !isText(a.typ) {
			return typed{}, c.wrong(i, "text; use cast(..., STRING)")
		}
		out.NotNull = out.NotNull && a.typ.NotNull
	}
	return typed{typ: out, node: &concat{args: c.args}}, nil
}

// concat is null where an argument is.
type concat struct {
	args   []typed
	buffer []byte
}

func (n *concat) eval(b *table.Batch, row int) (cell, error) {
	n.buffer = n.buffer[:0]
	for _, a := range n.args {
		c, err := a.eval(b, row)
		if err != nil || c.null {
			return c, err
		}
		n.buffer = append(n.buffer, c.bytes...)
	}
	return cell{bytes: n.buffer}, nil
}

// bindSubstring is java.lang.String.substring, by characters: positions outside the text are an error, as they are in Paimon.
func bindSubstring(c *call) (typed, error) {
	if !isText(c.args[0].typ) {
		return typed{}, c.wrong(0, "text")
	}
	begin, err := c.number(1, "the begin")
	if err != nil {
		return typed{}, err
	}
	end := math.MaxInt
	if len(c.args) == 3 {
		if end, err = c.number(2, "the end"); err == nil && end < begin {
			err = fmt.Errorf("%s: the end is before the begin", c.tree)
		}
	}
	if err != nil {
		return typed{}, err
	}
	out := stringType
	out.NotNull = c.args[0].typ.NotNull
	return typed{typ: out, node: &each{c.args[0], func(v cell) (cell, error) {
		from, ok := advance(v.bytes, begin)
		to := len(v.bytes)
		if ok && end != math.MaxInt {
			var n int
			n, ok = advance(v.bytes[from:], end-begin)
			to = from + n
		}
		if !ok {
			return cell{}, fmt.Errorf("%s: the text %q has %d characters only", c.tree, v.bytes, utf8.RuneCount(v.bytes))
		}
		return cell{bytes: v.bytes[from:to]}, nil
	}}}, nil
}

// advance returns how many bytes the first n characters take, false where there are fewer.
func advance(b []byte, n int) (int, bool) {
	at := 0
	for ; n > 0; n-- {
		if at == len(b) {
			return at, false
		}
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at, true
}

// bindTruncate rounds numbers down to a multiple of the width, and cuts text to it, as Iceberg's transform of that name.
func bindTruncate(c *call) (typed, error) {
	width, err := c.number(1, "the width")
	if err == nil && width == 0 {
		err = fmt.Errorf("%s: the width is 0", c.tree)
	}
	if err != nil {
		return typed{}, err
	}
	t := c.args[0].typ
	var f func(v cell) (cell, error)
	switch {
	case isText(t):
		f = func(v cell) (cell, error) {
			n, _ := advance(v.bytes, width)
			return cell{bytes: v.bytes[:n]}, nil
		}
		t = table.Type{Root: table.VarChar, Length: table.MaxLength, NotNull: t.NotNull}
	case isInteger(t), t.Root == table.Decimal && t.Layout() == table.Words:
		least := leastOf(t)
		f = func(v cell) (cell, error) {
			w := int64(width)
			rest := ((v.word % w) + w) % w
			if v.word < least+rest {
				return cell{}, fmt.Errorf("%s: the value is too small for a multiple of %d in %s", c.tree, width, t)
			}
			return cell{word: v.word - rest}, nil
		}
	default:
		return typed{}, c.wrong(0, "text, a whole number or a DECIMAL of up to 18 digits")
	}
	return typed{typ: t, node: &each{c.args[0], f}}, nil
}

// leastOf is the least word of a type of numbers.
func leastOf(t table.Type) int64 {
	switch t.Root {
	case table.TinyInt:
		return math.MinInt8
	case table.SmallInt:
		return math.MinInt16
	case table.Int:
		return math.MinInt32
	case table.Decimal:
		return 1 - int64(pow10(t.Precision))
	}
	return math.MinInt64
}

// errNoRoom is a number that the wanted type has no room for.
var errNoRoom = errors.New("has no room for the value")

func bindCast(c *call) (typed, error) {
	l := c.args[1].literal
	if l == nil || l.kind != textTree {
		return typed{}, fmt.Errorf("%s: the second argument is a type, such as INT or 'DECIMAL(10, 2)'", c.tree)
	}
	to, err := table.ParseType(l.text)
	if err != nil {
		return typed{}, fmt.Errorf("%s: %w", c.tree, err)
	}
	from := c.args[0].typ
	if from.Nested() || to.Nested() {
		return typed{}, fmt.Errorf("%s: nested types are not cast", c.tree)
	}
	to.NotNull = from.NotNull
	cast, err := table.NewCast(from, to)
	if err != nil {
		return typed{}, fmt.Errorf("%s: %w", c.tree, err)
	}
	back := table.CellCast(nil)
	if isInteger(to) && (isInteger(from) || from.Root == table.Decimal || from.Root == table.Float || from.Root == table.Double) {
		// Paimon lets whole numbers wrap; here they have to come back.
		if back, err = table.NewCast(to, table.Type{Root: table.Double}); err != nil {
			return typed{}, fmt.Errorf("%s: %w", c.tree, err)
		}
	}
	exact, err := exactly(from, to, back)
	if err != nil {
		return typed{}, fmt.Errorf("%s: %w", c.tree, err)
	}
	return typed{typ: to, node: &each{c.args[0], func(v cell) (cell, error) {
		w, b, null, err := cast(v.word, v.bytes)
		if err == nil && (null || exact != nil && !exact(v, w)) {
			err = fmt.Errorf("%s %w", to, errNoRoom)
		}
		if err != nil {
			return cell{}, fmt.Errorf("%s: %w", c.tree, err)
		}
		return cell{word: w, bytes: b}, nil
	}}}, nil
}

// exactly returns how to see that a number became the whole number that it is but for its fraction; nil where the cast
// itself says so.
func exactly(from, to table.Type, back table.CellCast) (func(v cell, w int64) bool, error) {
	if back == nil {
		return nil, nil
	}
	if isInteger(from) {
		return func(v cell, w int64) bool { return v.word == w }, nil
	}
	number, err := table.NewCast(from, table.Type{Root: table.Double})
	if err != nil {
		return nil, err
	}
	return func(v cell, w int64) bool {
		bits, _, null, err := number(v.word, v.bytes)
		if err != nil || null {
			return false
		}
		f := math.Float64frombits(uint64(bits))
		return math.Abs(math.Trunc(f)-float64(w)) <= math.Abs(f)*1e-15 // 0 but for whole numbers beyond 2^53
	}, nil
}
