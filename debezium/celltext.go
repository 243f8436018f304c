package debezium

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"

	"sink/table"
)

// maxPlainDigits bounds what an exponent may unfold to in a text: PostgreSQL's numeric has 131072 digits before the
// point and 16383 after it.
const maxPlainDigits = 200_000

// toText: CHAR and VARCHAR. Text as it is; numbers as plain decimal text; dates and times in ISO form; what was sent as a
// JSON object or array as that JSON.
func (c *cell) toText() bool {
	c.decimal = textOfDecimal
	switch c.from.sort {
	case sortText, sortIsoDate, sortIsoTimestamp, sortZoned:
		c.text = setText
	case sortIsoTime:
		if c.text = setText; c.types.Time == TimeString {
			c.text = textOfSpan
		}
	case sortAny:
		c.text, c.integer, c.number, c.boolean, c.float = setText, textOfInteger, textOfNumber, textOfBoolean, textOfFloat
		c.object, c.array = textOfObject, textOfJSON
	case sortInt:
		c.integer = textOfInteger
	case sortUnsigned:
		c.integer = decimalOfUnsigned
	case sortFloat:
		c.integer, c.number, c.float, c.text = textOfInteger, textOfNumber, textOfFloat, setText
	case sortBool:
		c.boolean = textOfBoolean
	case sortDecimal:
		c.bytes, c.text, c.integer, c.number = decimalOfBytes, decimalOfBase64, textOfScaled, textOfNumber
	case sortVarDecimal:
		c.object = decimalOfObject
	case sortDate:
		c.integer = textOfDate
	case sortTime:
		c.integer = textOfTime
	case sortTimestamp:
		c.integer = textOfTimestamp
	case sortArray, sortMap, sortStruct:
		c.object, c.array = textOfJSON, textOfJSON
	default:
		return false
	}
	return true
}

func setText(c *cell, v *table.Vector, b []byte) error {
	if len(b) > c.typ.Length && utf8.RuneCount(b) > c.typ.Length {
		return c.misfit(show(b))
	}
	v.AppendBytes(b)
	return nil
}

func textOfInteger(c *cell, v *table.Vector, n int64) error {
	c.buf = strconv.AppendInt(c.buf[:0], n, 10)
	return setText(c, v, c.buf)
}

// textOfScaled gives a decimal that came as a whole number the decimals that its column has at the source.
func textOfScaled(c *cell, v *table.Vector, n int64) error {
	c.buf = strconv.AppendInt(c.buf[:0], n, 10)
	return c.scaledText(v, c.buf)
}

// textOfNumber: a decimal as plain text with the decimals that its column has at the source, other numbers as they are.
func textOfNumber(c *cell, v *table.Vector, n *number) error {
	if c.from.sort == sortDecimal {
		return c.scaledText(v, n.raw)
	}
	return setText(c, v, n.raw)
}

// scaledText turns a number with any exponent into plain text.
func (c *cell) scaledText(v *table.Vector, raw []byte) error {
	digits, exp, neg := split(raw)
	scale := c.from.scale
	if scale >= negativeScale {
		for exp < 0 && digits[len(digits)-1] == '0' {
			if exp++; len(digits) > 1 {
				digits = digits[:len(digits)-1]
			}
		}
		scale = 0
	}
	if exp > maxPlainDigits || exp < -maxPlainDigits {
		return c.misfit(show(raw))
	}
	for ; exp > int64(-scale); exp-- {
		digits = append(digits, '0')
	}
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	c.buf = appendPlain(c.buf[:0], neg, digits, exp)
	return setText(c, v, c.buf)
}

// split takes a JSON number apart, of any length.
func split(raw []byte) (digits []byte, exp int64, neg bool) {
	for i, b := range raw {
		switch {
		case b == '-':
			neg = true
		case b == '.':
			exp = -int64(len(raw) - i - 1)
		case b|0x20 == 'e':
			_, e, _ := exponent(raw, i+1)
			if exp < 0 {
				exp += int64(len(raw) - i)
			}
			return digits, exp + e, neg
		default:
			digits = append(digits, b)
		}
	}
	return digits, exp, neg
}

func textOfBoolean(c *cell, v *table.Vector, b bool) error {
	c.buf = strconv.AppendBool(c.buf[:0], b)
	return setText(c, v, c.buf)
}

// textOfFloat writes a float as Jackson does, so that a column is the same from Avro as from JSON.
func textOfFloat(c *cell, v *table.Vector, f float64) error {
	bits := 64
	if c.from.bits == 32 {
		bits = 32
	}
	c.buf = table.AppendFloatText(c.buf[:0], f, bits)
	return setText(c, v, c.buf)
}

func textOfDecimal(c *cell, v *table.Vector, d decimal) error {
	if d.exp > maxPlainDigits || d.exp < -maxPlainDigits {
		return c.misfit(d.show())
	}
	c.buf = d.appendText(c.buf[:0])
	return setText(c, v, c.buf)
}

func textOfDate(c *cell, v *table.Vector, n int64) error {
	c.buf = table.AppendDate(c.buf[:0], n)
	return setText(c, v, c.buf)
}

func textOfTime(c *cell, v *table.Vector, n int64) error {
	perUnit := perNano / c.from.unit
	if most := math.MaxInt64 / perUnit; n > most || n < -most {
		return c.misfit(strconv.FormatInt(n, 10) + " parts of a second")
	}
	c.buf = appendSpan(c.buf[:0], n*perUnit)
	return setText(c, v, c.buf)
}

func textOfSpan(c *cell, v *table.Vector, b []byte) error {
	nanos, ok := parseSpan(b)
	if !ok {
		return c.wrong(show(b))
	}
	c.buf = appendSpan(c.buf[:0], nanos)
	return setText(c, v, c.buf)
}

func textOfTimestamp(c *cell, v *table.Vector, n int64) error {
	second := floorDiv(n, c.from.unit)
	nano := (n - second*c.from.unit) * (perNano / c.from.unit)
	c.buf = appendMoment(c.buf[:0], second, nano)
	return setText(c, v, c.buf)
}

// textOfJSON takes an object or array as the text that it is.
func textOfJSON(c *cell, r *reader, v *table.Vector) error {
	start := r.i
	if err := r.skip(); err != nil {
		return err
	}
	return setText(c, v, r.b[start:r.i])
}

// textOfObject: a variable scale decimal as plain text, any other object as its JSON.
func textOfObject(c *cell, r *reader, v *table.Vector) error {
	start := r.i
	if scale, value, ok := r.scaled(); ok {
		return c.base64Decimal(v, value, scale)
	}
	r.i = start
	return textOfJSON(c, r, v)
}

// toBinary: BINARY and VARBINARY. A value may be shorter than the column, never longer.
func (c *cell) toBinary() bool {
	switch c.from.sort {
	case sortBytes:
		c.bytes, c.text = setBytes, bytesOfBase64
	case sortText, sortAny:
		c.bytes, c.text = setBytes, bytesOfText
		if c.inRow { // a geometry's wkb
			c.text = bytesOfBase64
		}
	default:
		return false
	}
	return true
}

func setBytes(c *cell, v *table.Vector, b []byte) error {
	if len(b) > c.typ.Length {
		return c.misfit(strconv.Itoa(len(b)) + " bytes")
	}
	v.AppendBytes(b)
	return nil
}

// bytesOfBase64 reads what JsonConverter makes of bytes.
func bytesOfBase64(c *cell, v *table.Vector, b []byte) error {
	b, ok := c.decode(base64.StdEncoding, b)
	if !ok {
		return c.wrong("text that is no base64")
	}
	return setBytes(c, v, b)
}

// decode reads base64 strictly: padding, no white space, no stray bits.
func (c *cell) decode(enc *base64.Encoding, b []byte) ([]byte, bool) {
	if len(b)%4 != 0 {
		return nil, false
	}
	if n := enc.DecodedLen(len(b)); cap(c.buf) < n {
		c.buf = make([]byte, n+n/2)
	}
	n, err := enc.Strict().Decode(c.buf[:cap(c.buf)], b)
	// the decoder passes over line breaks, and then the text is longer than the bytes need
	return c.buf[:n], err == nil && enc.EncodedLen(n) == len(b)
}

func (c *cell) decodeHex(b []byte) ([]byte, bool) {
	if n := hex.DecodedLen(len(b)); cap(c.buf) < n {
		c.buf = make([]byte, n+n/2)
	}
	n, err := hex.Decode(c.buf[:cap(c.buf)], b)
	return c.buf[:n], err == nil
}

// bytesOfText reads text in the mode that was stated, else in the one mode in which it can be read. The mode is that of
// columns of bytes: bit(n) and geometry are base64 under every mode, and what cannot be the stated one is read as such.
func bytesOfText(c *cell, v *table.Vector, b []byte) error {
	out, ok := []byte(nil), false
	switch c.types.Binary {
	case BinaryBase64URL:
		out, ok = c.decode(base64.URLEncoding, b)
	case BinaryHex:
		if ok = isHex(b); ok {
			out, ok = c.decodeHex(b)
		}
	case BinaryAuto:
		return c.anyBytes(v, b)
	}
	if !ok {
		if out, ok = c.decode(base64.StdEncoding, b); !ok {
			return bad(ReasonType, "%s is not what types: {binary: ...} says", show(b))
		}
	}
	return setBytes(c, v, out)
}

func (c *cell) anyBytes(v *table.Vector, b []byte) error {
	enc := base64.StdEncoding
	if bytes.ContainsAny(b, "-_") {
		enc = base64.URLEncoding
	}
	out, isBase64 := c.decode(enc, b)
	if !isBase64 && isHex(b) {
		out, _ = c.decodeHex(b)
		return setBytes(c, v, out)
	}
	if !isBase64 {
		return c.wrong(show(b))
	}
	if len(b) > 0 && isHex(b) {
		return bad(ReasonAmbiguous, "%s may be base64 or hex; say types: {binary: base64}, base64-url-safe or hex, as the connector's binary.handling.mode is (bytes is base64 in JSON)", show(b))
	}
	return setBytes(c, v, out)
}

// isHex reports whether text may be hex, whose letters Debezium writes small.
func isHex(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(b)%2 == 0
}
