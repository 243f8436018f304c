package debezium

import (
	"bytes"
	"encoding/base64"
	"math"
	"math/big"
	"strconv"

	"sink/table"
)

// toDecimal: DECIMAL, exactly.
func (c *cell) toDecimal() bool {
	c.decimal = setDecimal
	switch c.from.sort {
	case sortAny:
		c.integer, c.number, c.text, c.object = decimalOfInteger, decimalOfNumber, decimalOfAny, decimalOfObject
		c.float = decimalOfFloat
	case sortInt:
		c.integer, c.number = decimalOfInteger, decimalOfNumber
	case sortUnsigned:
		c.integer, c.number = decimalOfUnsigned, decimalOfNumber
	case sortFloat:
		c.integer, c.number, c.float, c.text = decimalOfInteger, decimalOfNumber, decimalOfFloat, decimalOfText
	default:
		return c.ofDecimal()
	}
	return true
}

func setDecimal(c *cell, v *table.Vector, d decimal) error {
	was := d
	if !d.unscaled(c.typ.Precision, c.typ.Scale) {
		return c.misfit(was.show())
	}
	if c.typ.Precision <= wordPrecision {
		v.AppendWord(d.word())
		return nil
	}
	v.Data = d.appendWide(v.Data)
	v.EndCell()
	return nil
}

func decimalOfInteger(c *cell, v *table.Vector, n int64) error {
	var d decimal
	d.setInt(n)
	return c.decimal(c, v, d)
}

func decimalOfUnsigned(c *cell, v *table.Vector, n int64) error {
	return c.decimal(c, v, decimal{lo: uint64(n)})
}

func decimalOfNumber(c *cell, v *table.Vector, n *number) error {
	d := decimal{lo: n.digits, exp: n.exp, neg: n.neg}
	if n.long && !d.parse(n.raw) {
		return c.misfit(show(n.raw))
	}
	return c.decimal(c, v, d)
}

func decimalOfFloat(c *cell, v *table.Vector, f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return c.notANumber(v, strconv.FormatFloat(f, 'g', -1, 64))
	}
	var buf [32]byte
	var d decimal
	bits := 64
	if c.from.bits == 32 {
		bits = 32
	}
	d.parse(strconv.AppendFloat(buf[:0], f, 'e', -1, bits))
	return c.decimal(c, v, d)
}

// notANumber is for NaN and infinities in a column that has none.
func (c *cell) notANumber(v *table.Vector, value string) error {
	if c.types.NaN == NaNNull {
		return c.null(v)
	}
	return bad(ReasonRange, "%s does not fit %s; say types: {nan: null} to have NULL instead", value, c.typ)
}

// decimalOfText reads plain text.
func decimalOfText(c *cell, v *table.Vector, b []byte) error {
	if c.typ.Root == table.Decimal && c.typ.Precision <= wordPrecision {
		if n, ok := parseWord(b, c.typ.Precision, c.typ.Scale); ok {
			v.AppendWord(n)
			return nil
		}
	}
	var d decimal
	if d.parse(b) {
		return c.decimal(c, v, d)
	}
	if f, ok := specialFloat(b); ok {
		if c.typ.Root == table.Float || c.typ.Root == table.Double {
			return setFloat(c, v, f)
		}
		return c.notANumber(v, string(b))
	}
	if plainNumber(b) {
		return c.misfit(show(b))
	}
	return c.wrong(show(b))
}

// parseWord reads short plain text, such as -123.45, as the unscaled value of a DECIMAL(precision, scale). Whatever is not
// simple is not ok, and read by decimal.
func parseWord(b []byte, precision, scale int) (int64, bool) {
	i, neg := 0, false
	if len(b) > 0 && b[0] == '-' {
		i, neg = 1, true
	}
	if len(b) > wordPrecision || i == len(b) {
		return 0, false
	}
	var n uint64
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		n = n*10 + uint64(d)
	}
	decimals := 0
	if i < len(b) {
		if b[i] != '.' || i+1 == len(b) || b[i-min(i, 1)]-'0' > 9 {
			return 0, false
		}
		decimals = len(b) - i - 1
		for _, d := range b[i+1:] {
			if d -= '0'; d > 9 {
				return 0, false
			}
			n = n*10 + uint64(d)
		}
	}
	if shift := scale - decimals; shift < 0 || shift > 0 && n > pow10[precision]/pow10[shift] {
		return 0, false
	} else if n *= pow10[shift]; n >= pow10[precision] {
		return 0, false
	}
	if neg {
		return -int64(n), true
	}
	return int64(n), true
}

// plainNumber reports whether text is a decimal number, however long.
func plainNumber(b []byte) bool {
	s := scanner{b: b}
	if len(b) == 0 || b[0] != '-' && b[0]-'0' > 9 {
		return false
	}
	_, err := s.number()
	return err == nil && s.i == len(b)
}

// decimalOfBytes reads the unscaled value of a declared scale.
func decimalOfBytes(c *cell, v *table.Vector, b []byte) error {
	return c.unscaledBytes(v, b, c.from.scale)
}

func (c *cell) unscaledBytes(v *table.Vector, b []byte, scale int) error {
	if len(b) == 0 {
		return c.wrong("no byte at all") // java.math.BigInteger has at least one
	}
	var d decimal
	if d.setBytes(b, scale) {
		if scale >= negativeScale {
			d.trim()
		}
		return c.decimal(c, v, d)
	}
	n := bigOf(b)
	if c.typ.Root == table.Char || c.typ.Root == table.VarChar {
		return c.bigText(v, n, scale)
	}
	if !d.setBig(n, scale) {
		return c.misfit("a number of " + strconv.Itoa(len(b)) + " bytes")
	}
	return c.decimal(c, v, d)
}

func (c *cell) bigText(v *table.Vector, n *big.Int, scale int) error {
	var d decimal
	if scale >= negativeScale && d.setBig(n, scale) {
		return c.decimal(c, v, d)
	}
	c.buf = appendBig(c.buf[:0], n, scale)
	return setText(c, v, c.buf)
}

// decimalOfBase64 reads an unscaled value in JSON.
func decimalOfBase64(c *cell, v *table.Vector, b []byte) error {
	return c.base64Decimal(v, b, c.from.scale)
}

func (c *cell) base64Decimal(v *table.Vector, b []byte, scale int) error {
	out, ok := c.decode(base64.StdEncoding, b)
	if !ok {
		return c.wrong(show(b))
	}
	return c.unscaledBytes(v, out, scale)
}

// decimalOfAny reads text in the mode that was stated, else in the one way in which it can be read. Base64 has the scale
// of the column: JSON without schema does not say it.
func decimalOfAny(c *cell, v *table.Vector, b []byte) error {
	switch c.types.Decimal {
	case DecimalBase64:
		return c.base64Decimal(v, b, c.typ.Scale)
	case DecimalString:
		return decimalOfText(c, v, b)
	case DecimalNumber:
		return c.wrong(show(b) + ", which is text though types: {decimal: number} was said,")
	}
	if bytes.IndexByte(b, '.') >= 0 { // no letter of base64
		return decimalOfText(c, v, b)
	}
	if _, ok := specialFloat(b); ok {
		return decimalOfText(c, v, b)
	}
	if !plainNumber(b) {
		return c.base64Decimal(v, b, c.typ.Scale)
	}
	var d decimal
	out, ok := c.decode(base64.StdEncoding, b)
	if !ok || !d.setBytes(out, c.typ.Scale) || !d.unscaled(c.typ.Precision, c.typ.Scale) {
		return decimalOfText(c, v, b)
	}
	if d.parse(b) && d.unscaled(c.typ.Precision, c.typ.Scale) {
		return bad(ReasonAmbiguous, "%s may be plain text or base64 of the unscaled value; say types: {decimal: string} or {decimal: base64}, as the connector's decimal.handling.mode is (precise is base64 in JSON)", show(b))
	}
	return c.base64Decimal(v, b, c.typ.Scale)
}

// decimalOfObject reads {"scale": 2, "value": base64}, a numeric without declared scale.
func decimalOfObject(c *cell, r *reader, v *table.Vector) error {
	start := r.i
	scale, value, ok := r.scaled()
	if !ok {
		r.i = start
		if err := r.skip(); err != nil {
			return err
		}
		return c.wrong(show(r.b[start:r.i]))
	}
	return c.base64Decimal(v, value, scale)
}

// ofDecimal sets the forms of the decimal sorts and of plain text for a cell that takes decimals.
func (c *cell) ofDecimal() bool {
	switch c.from.sort {
	case sortDecimal:
		c.bytes, c.text, c.integer, c.number = decimalOfBytes, decimalOfBase64, decimalOfInteger, decimalOfNumber
	case sortVarDecimal:
		c.object = decimalOfObject
	case sortText:
		c.text = decimalOfText
	default:
		return false
	}
	return true
}
