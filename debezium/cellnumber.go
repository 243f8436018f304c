package debezium

import (
	"bytes"
	"math"
	"strconv"
	"unsafe"

	"sink/table"
)

// toInteger: TINYINT to BIGINT. Anything that is a whole number in range. Dates and timestamps keep the number that was
// sent, a time of day becomes microseconds.
func (c *cell) toInteger() bool {
	shift := map[table.Root]uint{table.TinyInt: 7, table.SmallInt: 15, table.Int: 31, table.BigInt: 63}[c.typ.Root]
	c.low, c.high = -1<<shift, 1<<shift-1
	c.decimal = integerOfDecimal
	switch c.from.sort {
	case sortInt, sortDate, sortTimestamp:
		c.integer, c.number = setInteger, decimalOfNumber
	case sortUnsigned:
		c.integer, c.number = setUnsigned, decimalOfNumber
	case sortTime:
		c.integer, c.number = setMicros, decimalOfNumber
	case sortIsoTime:
		c.text = microsOfSpan
	case sortAny:
		c.integer, c.number, c.boolean, c.text = setInteger, decimalOfNumber, integerOfBoolean, decimalOfText
		c.object = decimalOfObject
	case sortFloat:
		c.integer, c.float, c.number, c.text = setInteger, integerOfFloat, decimalOfNumber, decimalOfText
	case sortBool:
		c.boolean = integerOfBoolean
	default:
		return c.ofDecimal()
	}
	return true
}

func setInteger(c *cell, v *table.Vector, n int64) error {
	if n < c.low || n > c.high {
		return c.misfit(strconv.FormatInt(n, 10))
	}
	v.AppendWord(n)
	return nil
}

func setUnsigned(c *cell, v *table.Vector, n int64) error {
	if n < 0 {
		return c.misfit(strconv.FormatUint(uint64(n), 10))
	}
	return setInteger(c, v, n)
}

func setMicros(c *cell, v *table.Vector, n int64) error {
	if c.from.unit < perMicro && (n > math.MaxInt64/1000 || n < math.MinInt64/1000) || c.from.unit > perMicro && n%1000 != 0 {
		return c.misfit(strconv.FormatInt(n, 10) + " parts of a second")
	}
	switch c.from.unit {
	case perMilli:
		n *= 1000
	case perNano:
		n /= 1000
	}
	return setInteger(c, v, n)
}

func microsOfSpan(c *cell, v *table.Vector, b []byte) error {
	nanos, ok := parseSpan(b)
	if !ok {
		return c.wrong(show(b))
	}
	if nanos%1000 != 0 {
		return c.misfit(show(b))
	}
	return setInteger(c, v, nanos/1000)
}

func integerOfBoolean(c *cell, v *table.Vector, b bool) error {
	var n int64
	if b {
		n = 1
	}
	v.AppendWord(n)
	return nil
}

// integerOfFloat: beyond the whole numbers that a float tells apart, the number is the one that it is printed as.
func integerOfFloat(c *cell, v *table.Vector, f float64) error {
	if f == math.Trunc(f) && math.Abs(f) <= 1<<24 {
		return setInteger(c, v, int64(f))
	}
	return decimalOfFloat(c, v, f)
}

func integerOfDecimal(c *cell, v *table.Vector, d decimal) error {
	n, ok := d.int64()
	if !ok {
		return c.misfit(d.show())
	}
	return setInteger(c, v, n)
}

func (d *decimal) show() string {
	if d.exp > 2*maxPrecision || d.exp < -2*maxPrecision {
		return "a number with exponent " + strconv.FormatInt(d.exp, 10)
	}
	return string(d.appendText(nil))
}

// toBoolean: true and false, 1 and 0.
func (c *cell) toBoolean() bool {
	switch c.from.sort {
	case sortBool:
		c.boolean = setBoolean
	case sortInt:
		c.integer = booleanOfInteger
	case sortAny:
		c.boolean, c.integer = setBoolean, booleanOfInteger
	default:
		return false
	}
	return true
}

func setBoolean(c *cell, v *table.Vector, b bool) error { return integerOfBoolean(c, v, b) }

func booleanOfInteger(c *cell, v *table.Vector, n int64) error {
	if n != 0 && n != 1 {
		return c.misfit(strconv.FormatInt(n, 10))
	}
	v.AppendWord(n)
	return nil
}

// toFloat: FLOAT and DOUBLE. A number that the source had as a float is read as one; any other number has to come back
// the same when it is printed with the shortest digits, so that 0.1 passes and 9007199254740993 does not.
func (c *cell) toFloat() bool {
	c.decimal = floatOfDecimal
	switch c.from.sort {
	case sortFloat:
		c.integer, c.number, c.float, c.text = floatOfInteger, floatOfNumber, setFloat, floatOfSpecial
	case sortAny:
		c.integer, c.number, c.float, c.text = floatOfInteger, floatOfNumber, setFloat, floatOfText
		c.object = decimalOfObject
	case sortInt:
		c.integer, c.number = floatOfInteger, decimalOfNumber
	case sortUnsigned:
		c.integer, c.number = decimalOfInteger, decimalOfNumber
	default:
		return c.ofDecimal()
	}
	return true
}

func (c *cell) floatBits() int {
	if c.typ.Root == table.Float {
		return 32
	}
	return 64
}

func setFloat(c *cell, v *table.Vector, f float64) error {
	if c.typ.Root == table.Double {
		v.AppendWord(int64(math.Float64bits(f)))
		return nil
	}
	g := float32(f)
	if float64(g) != f && f == f && !sameText(f, g) {
		return c.misfit(strconv.FormatFloat(f, 'g', -1, 64))
	}
	v.AppendWord(int64(math.Float32bits(g)))
	return nil
}

// sameText reports whether a DOUBLE and a FLOAT are printed with the same digits: 0.1 of the one is 0.1 of the other.
func sameText(f float64, g float32) bool {
	var wide, narrow [32]byte
	return bytes.Equal(strconv.AppendFloat(wide[:0], f, 'e', -1, 64), strconv.AppendFloat(narrow[:0], float64(g), 'e', -1, 32))
}

func floatOfInteger(c *cell, v *table.Vector, n int64) error {
	exact := int64(1) << 53
	if c.typ.Root == table.Float {
		exact = 1 << 24
	}
	if n >= -exact && n <= exact {
		return setFloat(c, v, float64(n))
	}
	var d decimal
	d.setInt(n)
	return floatOfDecimal(c, v, d)
}

// pow10float are the powers of ten that a float64 holds exactly.
var pow10float = func() (p [23]float64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// floatOfNumber reads the nearest float, as the source printed it. Whole numbers beyond the exact range were no floats at
// the source, or not certainly: they have to be exact; and nothing that was printed of a float has more digits than floats are
// printed with.
func floatOfNumber(c *cell, v *table.Vector, n *number) error {
	if n.whole && c.from.sort == sortAny {
		return decimalOfNumber(c, v, n)
	}
	if !n.long && n.digits < 1<<53 && n.exp >= -22 && n.exp <= 22 && c.typ.Root == table.Double && c.from.bits != 32 {
		f := float64(n.digits)
		if n.exp < 0 {
			f /= pow10float[-n.exp]
		} else {
			f *= pow10float[n.exp]
		}
		if n.neg {
			f = -f
		}
		v.AppendWord(int64(math.Float64bits(f)))
		return nil
	}
	bits := c.floatBits()
	if c.from.sort == sortFloat {
		bits = c.from.bits
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(n.raw), len(n.raw)), bits)
	if err != nil || c.from.sort == sortAny && !n.isFloat(bits) || f == 0 && !n.zero() {
		return c.misfit(show(n.raw))
	}
	return setFloat(c, v, f)
}

// floatOfSpecial reads what JSON has no number for.
func floatOfSpecial(c *cell, v *table.Vector, b []byte) error {
	f, ok := specialFloat(b)
	if !ok {
		return c.wrong(show(b))
	}
	return setFloat(c, v, f)
}

func floatOfText(c *cell, v *table.Vector, b []byte) error {
	if f, ok := specialFloat(b); ok {
		return setFloat(c, v, f)
	}
	return decimalOfText(c, v, b)
}

// specialFloat reads NaN and the infinities as JsonConverter and decimal.handling.mode=string write them.
func specialFloat(b []byte) (float64, bool) {
	switch string(b) {
	case "NaN", "NAN":
		return math.NaN(), true
	case "Infinity", "POSITIVE_INFINITY":
		return math.Inf(1), true
	case "-Infinity", "NEGATIVE_INFINITY":
		return math.Inf(-1), true
	}
	return 0, false
}

func floatOfDecimal(c *cell, v *table.Vector, d decimal) error {
	d.trim()
	if d.exp < -maxFloatExponent || d.exp > maxFloatExponent {
		return c.misfit(d.show())
	}
	var buf [48]byte
	text := d.appendScientific(buf[:0])
	f, err := strconv.ParseFloat(unsafe.String(&text[0], len(text)), c.floatBits())
	if err != nil {
		return c.misfit(d.show())
	}
	var back decimal
	if !back.parse(strconv.AppendFloat(buf[:0], f, 'e', -1, c.floatBits())) || back != d {
		return c.misfit(d.show())
	}
	return setFloat(c, v, f)
}

// maxFloatExponent is beyond what a DOUBLE can have, with room for the digits of the coefficient.
const maxFloatExponent = 400
