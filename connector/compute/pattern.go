package compute

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// pattern prints times as java.time.format.DateTimeFormatter does.
type pattern []patternPart

// patternPart is a run of one letter, or text.
type patternPart struct {
	letter byte // 0: text
	count  int
	text   string
}

// wrongLetters are letters that have a meaning in Java, but none that a partition should hang on, and what to write instead.
var wrongLetters = map[byte]string{
	'Y': "is the year of the week: 2024-12-30 would be in 2025; write y",
	'w': "is the week, which depends on the language",
	'W': "is the week, which depends on the language",
	'e': "is the day of the week, which depends on the language",
	'c': "is the day of the week, which depends on the language",
	'E': "is the name of the day, which depends on the language",
	'G': "is the name of the era, which depends on the language",
	'a': "is the half of the day, which depends on the language; write HH for the hour",
	'h': "is the hour of half a day, so that morning and evening are the same; write H",
	'K': "is the hour of half a day, so that morning and evening are the same; write H",
	'k': "is the hour from 1 to 24; write H",
}

// parsePattern reads a pattern, and refuses letters that Java does not have, too.
func parsePattern(text string) (pattern, error) {
	if text == "" {
		return nil, fmt.Errorf("the pattern is empty: write one such as 'yyyy-MM-dd'")
	}
	var out pattern
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("the pattern %q has a quote that does not end", text)
			}
			literal := text[i+1 : i+1+end]
			if end == 0 {
				literal = "'"
			}
			out = append(out, patternPart{text: literal})
			i += end + 2
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			n := 1
			for i+n < len(text) && text[i+n] == c {
				n++
			}
			if err := checkLetter(c, n); err != nil {
				return nil, fmt.Errorf("the pattern %q: %w", text, err)
			}
			out = append(out, patternPart{letter: c, count: n})
			i += n
		case strings.IndexByte("[]{}#", c) >= 0:
			return nil, fmt.Errorf("the pattern %q has a %c, which Java keeps for itself: put it in quotes", text, c)
		default:
			out = append(out, patternPart{text: text[i : i+1]})
			i++
		}
	}
	return out, nil
}

func checkLetter(c byte, n int) error {
	letters := strings.Repeat(string(c), n)
	if why := wrongLetters[c]; why != "" {
		return fmt.Errorf("%s %s", letters, why)
	}
	most := 2
	switch c {
	case 'y', 'u':
		most = 19
	case 'M', 'L', 'Q', 'q':
		if n > 2 {
			return fmt.Errorf("%s is a name, which depends on the language; write %c%c", letters, c, c)
		}
	case 'D':
		most = 3
	case 'S':
		most = 9
	case 'd', 'H', 'm', 's':
	default:
		return fmt.Errorf("%s is no letter of a pattern that is understood: there are y u M L Q d D H m s S, and text in quotes", letters)
	}
	if n > most {
		return fmt.Errorf("%s has more than %d letters", letters, most)
	}
	return nil
}

// needsClock reports whether a pattern prints parts of the time of day.
func (p pattern) needsClock() bool {
	for _, part := range p {
		if part.letter != 0 && strings.IndexByte("HmsS", part.letter) >= 0 {
			return true
		}
	}
	return false
}

// needsDate reports whether a pattern prints parts of the date.
func (p pattern) needsDate() bool {
	for _, part := range p {
		if part.letter != 0 && strings.IndexByte("HmsS", part.letter) < 0 {
			return true
		}
	}
	return false
}

// append prints a time.
func (p pattern) append(dst []byte, t time.Time) []byte {
	for i := range p {
		part := &p[i]
		switch part.letter {
		case 0:
			dst = append(dst, part.text...)
		case 'y', 'u':
			dst = appendYear(dst, t.Year(), part)
		case 'M', 'L':
			dst = appendPadded(dst, int(t.Month()), part.count)
		case 'Q', 'q':
			dst = appendPadded(dst, (int(t.Month())+2)/3, part.count)
		case 'd':
			dst = appendPadded(dst, t.Day(), part.count)
		case 'D':
			dst = appendPadded(dst, t.YearDay(), part.count)
		case 'H':
			dst = appendPadded(dst, t.Hour(), part.count)
		case 'm':
			dst = appendPadded(dst, t.Minute(), part.count)
		case 's':
			dst = appendPadded(dst, t.Second(), part.count)
		case 'S':
			dst = appendPadded(dst, t.Nanosecond(), 9)
			dst = dst[:len(dst)-9+part.count]
		}
	}
	return dst
}

// appendYear prints a year: y of the era, u with its sign; two letters are the last two digits, from four letters on a year
// that has more digits gets a sign.
func appendYear(dst []byte, year int, part *patternPart) []byte {
	if part.letter == 'y' && year <= 0 {
		year = 1 - year
	}
	if part.count == 2 {
		return appendPadded(dst, abs(year)%100, 2)
	}
	switch {
	case year < 0:
		dst, year = append(dst, '-'), -year
	case part.count >= 4 && year >= pow10(part.count):
		dst = append(dst, '+')
	}
	return appendPadded(dst, year, part.count)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func pow10(n int) int {
	out := 1
	for range min(n, 18) {
		out *= 10
	}
	return out
}

// appendPadded prints a number that is not negative in at least that many digits.
func appendPadded(dst []byte, n, width int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], int64(n), 10)
	for i := len(text); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}
