package debezium

import (
	"sink/table"
)

// reader reads JSON values into cells.
type reader struct {
	scanner
	placeholder *placeholder
	num         number // the last one that is not short and whole; here, so that it is not allocated
}

// value reads the value at r.i, which is not null, into one cell. It returns errUnavailable for a placeholder, having
// passed over it and appended nothing.
func (r *reader) value(c *cell, v *table.Vector) error {
	b, i := r.b, r.i
	if i >= len(b) {
		return r.fail("cut short")
	}
	switch ch := b[i]; {
	case ch == '"':
		text, err := r.str()
		if err != nil {
			return err
		}
		if r.placeholder.is(text) && !c.inside {
			return errUnavailable
		}
		if c.text == nil {
			return c.wrong(show(text))
		}
		return c.text(c, v, text)
	case ch == '-' || ch-'0' <= 9:
		return r.digits(c, v)
	case ch == 't':
		return r.boolean(c, v, "true", true)
	case ch == 'f':
		return r.boolean(c, v, "false", false)
	case ch == '{' || ch == '[':
		return r.inner(c, v, ch)
	case ch <= ' ':
		if r.peek() != 0 {
			return r.value(c, v)
		}
		return r.fail("cut short")
	}
	return r.fail("want a value")
}

// digits reads a number: short whole ones here, others by the book.
func (r *reader) digits(c *cell, v *table.Vector) error {
	b, i := r.b, r.i
	neg := b[i] == '-'
	if neg {
		i++
	}
	u, k := digitsAt(b, i)
	end := i + k
	if k == 0 || k >= maxDigits || k > 1 && b[i] == '0' || end < len(b) && (b[end] == '.' || b[end]|0x20 == 'e') {
		return r.bigNumber(c, v)
	}
	r.i = end
	n := int64(u)
	if neg {
		if n == 0 && c.float != nil {
			return r.minusZero(c, v)
		}
		n = -n
	}
	if c.integer == nil {
		return c.wrong(string(b[i:end]))
	}
	return c.integer(c, v, n)
}

// minusZero is for -0, which Jackson writes -0.0, where a float keeps the sign.
func (r *reader) minusZero(c *cell, v *table.Vector) error {
	if c.number == nil {
		return c.wrong("-0")
	}
	r.num = number{raw: r.b[r.i-2 : r.i], neg: true}
	return c.number(c, v, &r.num)
}

func (r *reader) bigNumber(c *cell, v *table.Vector) error {
	n := &r.num
	var err error
	if *n, err = r.number(); err != nil {
		return err
	}
	if n.whole && c.integer != nil && !n.long {
		if i, ok := n.int64(); ok {
			return c.integer(c, v, i)
		}
	}
	if c.number == nil {
		return c.wrong(show(n.raw))
	}
	return c.number(c, v, n)
}

func (r *reader) boolean(c *cell, v *table.Vector, word string, b bool) error {
	if err := r.literal(word); err != nil {
		return err
	}
	if c.boolean == nil {
		return c.wrong(word)
	}
	return c.boolean(c, v, b)
}

// inner reads an object or an array.
func (r *reader) inner(c *cell, v *table.Vector, ch byte) error {
	read := c.object
	if ch == '[' {
		read = c.array
	}
	if !c.inside {
		if ch == '[' && r.placeholder.array(r) || ch == '{' && r.placeholder.object(r) {
			return errUnavailable
		}
	}
	if read == nil {
		start := r.i
		if err := r.skip(); err != nil {
			return err
		}
		return c.wrong(show(r.b[start:r.i]))
	}
	return read(c, r, v)
}

// null passes over null if it is next.
func (r *reader) null() (bool, error) {
	if r.peek() != 'n' {
		return false, nil
	}
	return true, r.literal("null")
}

// scaled reads {"scale": 2, "value": text}, and nothing else.
func (r *reader) scaled() (scale int, value []byte, ok bool) {
	more, err := r.open('{')
	have := 0
	for more && err == nil {
		var name []byte
		if name, err = r.name(); err != nil {
			break
		}
		switch ch := r.peek(); {
		case string(name) == "scale" && (ch == '-' || ch-'0' <= 9):
			n, bad := r.number()
			i, whole := n.int64()
			if bad != nil || !whole || i < -maxPlainDigits || i > maxPlainDigits {
				return 0, nil, false
			}
			scale, have = int(i), have|1
		case string(name) == "value" && ch == '"':
			var text []byte
			if text, err = r.str(); err != nil {
				return 0, nil, false
			}
			value, have = append([]byte(nil), text...), have|2
		default:
			return 0, nil, false
		}
		more, err = r.next('}')
	}
	return scale, value, err == nil && have == 3
}
