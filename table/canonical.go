package table

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Canonical JSON is the one text of a value that this program and the tests of its tables agree on:
//
//	any null               null
//	BOOLEAN, integers      true, -7
//	FLOAT, DOUBLE          the shortest digits of that width, laid out as encoding/json does; "NaN", "Infinity", "-Infinity"
//	DECIMAL                a string, plain, with as many decimals as the scale
//	CHAR, VARCHAR          a string; only ", \ and controls below 0x20 are escaped
//	BINARY, VARBINARY      base64 with padding
//	DATE, TIME             "2024-02-29", "12:34:56.789"
//	TIMESTAMP              "2024-02-29T12:34:56.789123", 9 decimals from precision 7 on; with Z for a local time zone
//	ARRAY                  [1,null]
//	MAP, MULTISET          [[key,value],...], pairs in the order of their text
//	ROW                    an object

// AppendCanonical appends the canonical JSON of a cell.
func AppendCanonical(dst []byte, t Type, v *Vector, row int) []byte {
	return appendCanonicalCell(dst, &t, v, row)
}

// AppendCanonicalRow appends a row as a canonical JSON object, its members in the order of the fields. fields are those
// of the batch's columns.
func AppendCanonicalRow(dst []byte, fields []Field, b *Batch, row int) []byte {
	dst = append(dst, '{')
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, fields[i].Name)
		dst = append(dst, ':')
		dst = appendCanonicalCell(dst, &fields[i].Type, &b.Columns[i], row)
	}
	return append(dst, '}')
}

func appendCanonicalCell(dst []byte, t *Type, v *Vector, row int) []byte {
	if v.IsNull(row) {
		return append(dst, "null"...)
	}
	word, bytes := v.cell(row)
	if t.Nested() {
		r := ReadNested(bytes)
		return appendCanonicalNested(dst, t, &r)
	}
	return appendCanonicalAtom(dst, t, word, bytes)
}

func appendCanonicalAtom(dst []byte, t *Type, w int64, b []byte) []byte {
	switch t.Root {
	case Boolean:
		return strconv.AppendBool(dst, w != 0)
	case TinyInt, SmallInt, Int, BigInt:
		return strconv.AppendInt(dst, w, 10)
	case Float:
		return appendJSONFloat(dst, float64(math.Float32frombits(uint32(w))), 32)
	case Double:
		return appendJSONFloat(dst, math.Float64frombits(uint64(w)), 64)
	case Char, VarChar:
		return appendJSONString(dst, b)
	}
	dst = append(dst, '"')
	switch t.Root {
	case Decimal:
		dst = appendDecimalCell(dst, t, w, b)
	case Binary, VarBinary:
		dst = base64.StdEncoding.AppendEncode(dst, b)
	case Date:
		dst = AppendDate(dst, w)
	case Time:
		dst = appendClock(dst, w/millisPerSecond)
		dst = AppendDigits(append(dst, '.'), w%millisPerSecond, 3)
	case Timestamp, LocalTimestamp:
		seconds, nanos := timestampOf(t, w, b)
		digits := 6
		if t.Precision > 6 {
			digits = 9
		}
		dst = appendDateTime(dst, seconds, 'T')
		dst = appendFraction(dst, nanos, digits)
		if t.Root == LocalTimestamp {
			dst = append(dst, 'Z')
		}
	}
	return append(dst, '"')
}

// appendCanonicalNested writes the cell in which r stands.
func appendCanonicalNested(dst []byte, t *Type, r *NestedReader) []byte {
	switch t.Root {
	case RowType:
		dst = append(dst, '{')
		for i := range t.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONString(dst, t.Fields[i].Name)
			dst = append(dst, ':')
			dst = appendCanonicalValue(dst, &t.Fields[i].Type, r)
		}
		return append(dst, '}')
	case Map:
		return appendCanonicalPairs(dst, t.Key, t.Element, r)
	case Multiset:
		return appendCanonicalPairs(dst, t.Element, &countType, r)
	}
	dst = append(dst, '[')
	for first := true; r.More(); first = false {
		if !first {
			dst = append(dst, ',')
		}
		dst = appendCanonicalValue(dst, t.Element, r)
	}
	return append(dst, ']')
}

func appendCanonicalValue(dst []byte, t *Type, r *NestedReader) []byte {
	switch {
	case r.Null():
		return append(dst, "null"...)
	case t.Nested():
		return appendCanonicalNested(dst, t, r)
	case t.Layout() == Words:
		return appendCanonicalAtom(dst, t, r.Word(), nil)
	}
	return appendCanonicalAtom(dst, t, 0, r.Bytes())
}

func appendCanonicalPairs(dst []byte, key, value *Type, r *NestedReader) []byte {
	var pairs [][]byte
	for r.More() {
		pair := appendCanonicalValue([]byte{'['}, key, r)
		pair = appendCanonicalValue(append(pair, ','), value, r)
		pairs = append(pairs, append(pair, ']'))
	}
	slices.SortFunc(pairs, compareUTF16)
	dst = append(dst, '[')
	dst = append(dst, bytes.Join(pairs, []byte{','})...)
	return append(dst, ']')
}

// compareUTF16 orders UTF-8 texts by their UTF-16 units, as Java does: characters above U+FFFF come before those
// from U+E000 on.
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

// appendJSONFloat lays a float out as encoding/json does.
func appendJSONFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && (dst[n-3] == '-' || dst[n-3] == '+') && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendJSONString escapes as little as JSON asks for. Bytes that are no UTF-8 become U+FFFD.
func appendJSONString[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < 0x80 {
			i++
			continue
		}
		if c >= 0x80 {
			if n := utf8Len(s[i:]); n > 0 {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, c)
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c >= 0x80:
		return append(dst, "\ufffd"...)
	case c == '\b':
		return append(dst, `\b`...)
	case c == '\f':
		return append(dst, `\f`...)
	case c == '\n':
		return append(dst, `\n`...)
	case c == '\r':
		return append(dst, `\r`...)
	case c == '\t':
		return append(dst, `\t`...)
	}
	return append(dst, `\u00`+string([]byte{hex[c>>4], hex[c&15]})...)
}

// utf8Len returns the bytes of the first character, 0 if it is no valid UTF-8.
func utf8Len[S string | []byte](s S) int {
	r, n := utf8.DecodeRune([]byte(s[:min(len(s), utf8.UTFMax)]))
	if r == utf8.RuneError && n == 1 {
		return 0
	}
	return n
}
