package compute

import (
	"bytes"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"sink/table"
)

// timeParts are the functions that take a number out of a time.
var timeParts = map[string]timePart{
	"year":   {false, func(t time.Time) int { return t.Year() }},
	"month":  {false, func(t time.Time) int { return int(t.Month()) }},
	"day":    {false, func(t time.Time) int { return t.Day() }},
	"hour":   {true, func(t time.Time) int { return t.Hour() }},
	"minute": {true, func(t time.Time) int { return t.Minute() }},
	"second": {true, func(t time.Time) int { return t.Second() }},
}

type timePart struct {
	clock bool // of the time of day, not of the date
	of    func(t time.Time) int
}

func bindTimePart(part timePart) func(*call) (typed, error) {
	return func(c *call) (typed, error) {
		digits, err := c.digits(1)
		if err != nil {
			return typed{}, err
		}
		read, err := c.moment(!part.clock, part.clock, digits)
		if err != nil {
			return typed{}, err
		}
		return typed{typ: table.Type{Root: table.Int, NotNull: c.args[0].typ.NotNull}, node: &each{c.args[0], func(v cell) (cell, error) {
			t, err := read(v)
			return cell{word: int64(part.of(t))}, err
		}}}, nil
	}
}

func bindDateFormat(c *call) (typed, error) {
	l := c.args[1].literal
	if l == nil || l.kind != textTree {
		return typed{}, fmt.Errorf("%s: the pattern has to be text, such as 'yyyy-MM-dd'", c.tree)
	}
	p, err := parsePattern(l.text)
	if err != nil {
		return typed{}, err
	}
	digits, err := c.digits(2)
	if err != nil {
		return typed{}, err
	}
	read, err := c.moment(p.needsDate(), p.needsClock(), digits)
	if err != nil {
		return typed{}, err
	}
	out := stringType
	out.NotNull = c.args[0].typ.NotNull
	var buffer []byte
	return typed{typ: out, node: &each{c.args[0], func(v cell) (cell, error) {
		t, err := read(v)
		if err != nil {
			return cell{}, err
		}
		buffer = p.append(buffer[:0], t)
		return cell{bytes: buffer}, nil
	}}}, nil
}

// digits returns the argument that says what a number counts: 0 seconds, 3 milliseconds, 6 microseconds, 9 nanoseconds; -1
// where it is not given.
func (c *call) digits(i int) (int, error) {
	if len(c.args) <= i {
		return -1, nil
	}
	n, err := c.number(i, "the digits")
	if err == nil && n%3 != 0 || n > 9 {
		return 0, fmt.Errorf("%s: the digits are 0 for seconds, 3 for milliseconds, 6 for microseconds or 9 for nanoseconds since 1970", c.tree)
	}
	return n, err
}

// moment returns how to read the first argument as a time in UTC.
func (c *call) moment(date, clock bool, digits int) (func(cell) (time.Time, error), error) {
	t := c.args[0].typ
	if digits >= 0 && !isInteger(t) {
		return nil, fmt.Errorf("%s: digits are for whole numbers, %s is of type %s", c.tree, c.tree.args[0], t)
	}
	switch {
	case isInteger(t) && digits < 0:
		return nil, fmt.Errorf("%s: %s is a number: say what it counts with one more argument, 0 for seconds, 3 for milliseconds, 6 for microseconds, 9 for nanoseconds since 1970", c.tree, c.tree.args[0])
	case isInteger(t):
		perSecond := int64(pow10(digits))
		return func(v cell) (time.Time, error) { return ofUnits(v.word, perSecond), nil }, nil
	case t.Root == table.Date && clock:
		return nil, fmt.Errorf("%s: %s is a DATE, which has no time of day", c.tree, c.tree.args[0])
	case t.Root == table.Date:
		return func(v cell) (time.Time, error) { return time.Unix(v.word*86_400, 0).UTC(), nil }, nil
	case t.Root == table.Time && date:
		return nil, fmt.Errorf("%s: %s is a TIME, which has no date", c.tree, c.tree.args[0])
	case t.Root == table.Time:
		return func(v cell) (time.Time, error) { return time.UnixMilli(v.word).UTC(), nil }, nil
	case t.Root == table.Timestamp || t.Root == table.LocalTimestamp:
		return timestampReader(t), nil
	case isText(t):
		return func(v cell) (time.Time, error) {
			m, ok := parseMoment(v.bytes)
			if !ok {
				return m, fmt.Errorf("%s: the text %q is no date or time such as 2024-12-30 or 2024-12-30T23:59:59Z", c.tree, v.bytes)
			}
			return m, nil
		}, nil
	}
	return nil, c.wrong(0, "a date, a time, a timestamp, text in ISO form, or a number of seconds or parts of them")
}

func timestampReader(t table.Type) func(cell) (time.Time, error) {
	switch {
	case t.Precision <= 3:
		return func(v cell) (time.Time, error) { return time.UnixMilli(v.word).UTC(), nil }
	case t.Precision <= 6:
		return func(v cell) (time.Time, error) { return time.UnixMicro(v.word).UTC(), nil }
	}
	return func(v cell) (time.Time, error) {
		millis, nanos := table.SplitNanoTimestamp(v.bytes)
		return time.UnixMilli(millis).Add(time.Duration(nanos)).UTC(), nil
	}
}

// ofUnits is a number of parts of a second since 1970.
func ofUnits(n, perSecond int64) time.Time {
	seconds, rest := n/perSecond, n%perSecond
	if rest < 0 {
		seconds, rest = seconds-1, rest+perSecond
	}
	return time.Unix(seconds, rest*(1_000_000_000/perSecond)).UTC()
}

// parseMoment reads a date, or a date and a time of day with T or a space between them and perhaps an offset.
func parseMoment(b []byte) (time.Time, bool) {
	at := bytes.IndexAny(b, "T ")
	day, clock := b, []byte(nil)
	if at >= 0 {
		day, clock = b[:at], b[at+1:]
	}
	days, ok := table.ParseDate(day)
	if !ok || at < 0 {
		return time.Unix(days*86_400, 0).UTC(), ok
	}
	clock, offset, ok := cutOffset(clock)
	if !ok {
		return time.Time{}, false
	}
	nanos, ok := table.ParseClock(clock)
	return time.Unix(days*86_400-offset, nanos).UTC(), ok
}

// cutOffset takes Z, +hh or +hh:mm off the end of a time of day and returns it in seconds.
func cutOffset(b []byte) (clock []byte, offset int64, ok bool) {
	if n := len(b); n > 0 && (b[n-1] == 'Z' || b[n-1] == 'z') {
		return b[:n-1], 0, true
	}
	at := bytes.LastIndexAny(b, "+-")
	if at < 0 {
		return b, 0, true
	}
	sign, zone := int64(1), b[at+1:]
	if b[at] == '-' {
		sign = -1
	}
	if len(zone) == 2 {
		zone = append(append([]byte{}, zone...), ":00"...)
	}
	nanos, ok := table.ParseClock(zone)
	return b[:at], sign * nanos / 1_000_000_000, ok
}

// upper and lower map characters one by one, so that they depend on no language.
func upper(dst, b []byte) []byte { return mapped(dst, b, unicode.ToUpper) }
func lower(dst, b []byte) []byte { return mapped(dst, b, unicode.ToLower) }

func mapped(dst, b []byte, f func(rune) rune) []byte {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size <= 1 {
			dst = append(dst, b[0])
		} else {
			dst = utf8.AppendRune(dst, f(r))
		}
		b = b[size:]
	}
	return dst
}
