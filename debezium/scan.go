package debezium

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how deep JSON arrays and objects may nest in one another.
const maxDepth = 256

// syntaxError tells where JSON text breaks off or goes wrong.
type syntaxError struct {
	pos  int
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("bad JSON at byte %d: %s", e.pos, e.what) }

// scanner reads JSON (RFC 8259) strictly, in place: every byte of the text is checked, also of what is skipped. Strings
// have to be UTF-8, and escaped surrogates come in pairs, because Paimon's strings are UTF-8.
//
// All methods begin at b[i] and leave i behind what they read.
type scanner struct {
	b       []byte
	i       int
	scratch []byte // of the last string with escapes
}

func (s *scanner) fail(what string) error { return &syntaxError{pos: s.i, what: what} }

// peek passes over white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	b, i := s.b, s.i
	for i < len(b) {
		c := b[i]
		if c > ' ' {
			s.i = i
			return c
		}
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		i++
	}
	s.i = i
	return 0
}

// end checks that nothing but white space follows.
func (s *scanner) end() error {
	if s.peek(); s.i != len(s.b) {
		return s.fail("text after the value")
	}
	return nil
}

// expect passes over white space and the byte c.
func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.missing(c)
	}
	s.i++
	return nil
}

func (s *scanner) missing(c byte) error {
	if s.i >= len(s.b) {
		return s.fail("cut short")
	}
	return s.fail(fmt.Sprintf("want %q, have %q", c, s.b[s.i]))
}

// next passes over a comma or the closing byte c of an object or array, and reports whether another member follows.
func (s *scanner) next(c byte) (more bool, err error) {
	switch s.peek() {
	case ',':
		s.i++
		if s.peek() == c {
			return false, s.fail("comma before the end")
		}
		return true, nil
	case c:
		s.i++
		return false, nil
	}
	return false, s.missing(c)
}

// open passes over the opening byte of an object or array, and reports whether it has a member.
func (s *scanner) open(c byte) (some bool, err error) {
	if err := s.expect(c); err != nil {
		return false, err
	}
	end := c + 2 // '[' and ']', '{' and '}' are two apart
	if s.peek() == end {
		s.i++
		return false, nil
	}
	return true, nil
}

// name reads the name of an object's member and the colon.
func (s *scanner) name() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.missing('"')
	}
	name, err := s.str()
	if err != nil {
		return nil, err
	}
	return name, s.expect(':')
}

const (
	eachByte = 0x0101010101010101
	eachHigh = 0x8080808080808080
)

// stops marks, in the high bit of each byte of x, the bytes that end a run of plain string bytes: quote, backslash,
// control characters. The lowest mark is exact; those above it may be false.
func stops(x uint64) uint64 {
	quote := x ^ (eachByte * '"')
	slash := x ^ (eachByte * '\\')
	return ((quote-eachByte)&^quote | (slash-eachByte)&^slash | (x-eachByte*' ')&^x) & eachHigh
}

// plain returns the length of the run of plain string bytes at the start of b, and whether a byte of it may be outside
// ASCII.
func plain(b []byte) (n int, high bool) {
	rest, marks := b, uint64(0)
	for len(rest) >= 8 {
		x := binary.LittleEndian.Uint64(rest)
		marks |= x & eachHigh
		if m := stops(x); m != 0 {
			return len(b) - len(rest) + bits.TrailingZeros64(m)>>3, marks != 0
		}
		rest = rest[8:]
	}
	for i, c := range rest {
		if c == '"' || c == '\\' || c < ' ' {
			return len(b) - len(rest) + i, marks != 0
		}
		marks |= uint64(c & 0x80)
	}
	return len(b), marks != 0
}

// str reads a string, whose opening quote is at b[i], and returns its text. The text is part of b or of scratch: it
// holds until the next string is read.
func (s *scanner) str() ([]byte, error) {
	start := s.i + 1
	rest := s.b[start:]
	n, high := plain(rest)
	if n < len(rest) && rest[n] == '"' {
		if high && !utf8.Valid(rest[:n]) {
			s.i = start
			return nil, s.fail("string is not UTF-8")
		}
		s.i = start + n + 1
		return rest[:n], nil
	}
	return s.escaped(start, start+n)
}

// escaped reads the rest of a string that begins at start and has something to look at in b[i].
func (s *scanner) escaped(start, i int) ([]byte, error) {
	out := append(s.scratch[:0], s.b[start:i]...)
	for {
		s.i = i
		if i >= len(s.b) {
			return nil, s.fail("string is cut short")
		}
		switch c := s.b[i]; {
		case c == '"':
			s.scratch = out
			if !utf8.Valid(out) {
				return nil, s.fail("string is not UTF-8")
			}
			s.i++
			return out, nil
		case c != '\\':
			return nil, s.fail("control character in a string")
		}
		var err error
		if out, err = s.escape(out); err != nil {
			return nil, err
		}
		n, _ := plain(s.b[s.i:])
		i = s.i + n
		out = append(out, s.b[s.i:i]...)
	}
}

// escape reads one escape sequence and appends what it stands for.
func (s *scanner) escape(out []byte) ([]byte, error) {
	if s.i+1 >= len(s.b) {
		return nil, s.fail("string is cut short")
	}
	switch c := s.b[s.i+1]; c {
	case '"', '\\', '/':
		out = append(out, c)
	case 'b':
		out = append(out, '\b')
	case 'f':
		out = append(out, '\f')
	case 'n':
		out = append(out, '\n')
	case 'r':
		out = append(out, '\r')
	case 't':
		out = append(out, '\t')
	case 'u':
		return s.unicode(out)
	default:
		return nil, s.fail("unknown escape")
	}
	s.i += 2
	return out, nil
}

// unicode reads \uXXXX, or two of them that are a surrogate pair.
func (s *scanner) unicode(out []byte) ([]byte, error) {
	r, ok := hex4(s.b, s.i+2)
	if !ok {
		return nil, s.fail("bad \\u escape")
	}
	n := 6
	if r >= 0xd800 && r < 0xe000 {
		low, ok := rune(0), false
		if i := s.i + 6; i+1 < len(s.b) && s.b[i] == '\\' && s.b[i+1] == 'u' {
			low, ok = hex4(s.b, i+2)
		}
		if !ok || r >= 0xdc00 || low < 0xdc00 || low > 0xdfff {
			return nil, s.fail("half a surrogate pair has no UTF-8 form")
		}
		r, n = (r-0xd800)<<10|(low-0xdc00)+0x10000, 12
	}
	s.i += n
	return utf8.AppendRune(out, r), nil
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// literal reads true, false or null.
func (s *scanner) literal(word string) error {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return s.fail("want " + word)
	}
	s.i += len(word)
	return nil
}

// skip passes over a value, whatever it is.
func (s *scanner) skip() error { return s.skipAt(0) }

func (s *scanner) skipAt(depth int) error {
	switch c := s.peek(); {
	case c == '"':
		return s.skipString()
	case c == '{' || c == '[':
		if depth >= maxDepth {
			return s.fail("nested too deep")
		}
		return s.skipInside(c, depth+1)
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		return s.skipNumber()
	case s.i >= len(s.b):
		return s.fail("cut short")
	}
	return s.fail("want a value")
}

func (s *scanner) skipInside(c byte, depth int) error {
	more, err := s.open(c)
	for more && err == nil {
		if c == '{' {
			if s.peek() != '"' {
				return s.missing('"')
			}
			if err = s.skipString(); err != nil {
				break
			}
			if s.i < len(s.b) && s.b[s.i] == ':' {
				s.i++
			} else if err = s.expect(':'); err != nil {
				break
			}
		}
		if err = s.skipAt(depth); err != nil {
			break
		}
		if s.i < len(s.b) && s.b[s.i] == ',' && s.i+1 < len(s.b) && s.b[s.i+1] == '"' {
			s.i++
			continue
		}
		more, err = s.next(c + 2)
	}
	return err
}

func (s *scanner) skipString() error {
	rest := s.b[s.i+1:]
	n, high := plain(rest)
	if n < len(rest) && rest[n] == '"' && !high {
		s.i += n + 2
		return nil
	}
	_, err := s.str()
	return err
}

// skipNumber passes over a number. What is not a plain whole one is checked by the book.
func (s *scanner) skipNumber() error {
	i := s.i + bit(s.b[s.i] == '-')
	_, n := digitsAt(s.b, i)
	end := i + n
	if n == 0 || n > 1 && s.b[i] == '0' || end < len(s.b) && (s.b[end] == '.' || s.b[end]|0x20 == 'e') {
		_, err := s.number()
		return err
	}
	s.i = end
	return nil
}

// token is the name of a member with its quotes and colon, as it stands in the text. Whatever text matches it is right.
type token struct {
	text       string
	head, tail uint64 // the first and the last eight bytes, of a text that has as many
}

func newToken(text string) token {
	t := token{text: text}
	if n := len(text); n >= 8 {
		t.head = binary.LittleEndian.Uint64([]byte(text[:8]))
		t.tail = binary.LittleEndian.Uint64([]byte(text[n-8:]))
	}
	return t
}

// at reports whether b begins with the token and goes on.
func (t *token) at(b []byte) bool {
	n := len(t.text)
	if len(b) <= n {
		return false
	}
	if n >= 8 && n <= 16 {
		return binary.LittleEndian.Uint64(b) == t.head && binary.LittleEndian.Uint64(b[n-8:]) == t.tail
	}
	return string(b[:n]) == t.text
}

// sequence learns the names of objects that have the same members in the same order.
type sequence struct {
	tokens  []token
	ids     []uint8
	lessons int
}

// maxLessons bounds how often an expected order may change, for objects that have none.
const maxLessons = 64

// next reads the name of member k of the object in s. id tells names apart; it is asked for what was not expected.
func (q *sequence) next(s *scanner, k int, id func(name []byte) uint8) (uint8, error) {
	if k < len(q.tokens) && q.tokens[k].at(s.b[s.i:]) {
		s.i += len(q.tokens[k].text)
		return q.ids[k], nil
	}
	s.peek()
	start := s.i
	name, err := s.name()
	if err != nil {
		return 0, err
	}
	n := id(name)
	if q.lessons < maxLessons && k <= len(q.tokens) && k < 256 {
		q.lessons++
		q.tokens = append(q.tokens[:k], newToken(string(s.b[start:s.i])))
		q.ids = append(q.ids[:k], n)
	}
	return n, nil
}

// skipObject passes over the object at s.i, whose names are likely those of the last one.
func (s *scanner) skipObject(q *sequence) error {
	if s.peek() != '{' {
		return s.skip()
	}
	more, err := s.open('{')
	for k := 0; more && err == nil; k++ {
		if _, err = q.next(s, k, noID); err != nil {
			break
		}
		if err = s.skipAt(1); err != nil {
			break
		}
		if i := s.i; i+1 < len(s.b) && s.b[i] == ',' && s.b[i+1] == '"' {
			s.i = i + 1
			continue
		}
		more, err = s.next('}')
	}
	return err
}

func noID([]byte) uint8 { return 0 }
