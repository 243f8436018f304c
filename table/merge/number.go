package merge

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"sink/table"
)

// sum adds numbers (org.apache.paimon.mergetree.compact.aggregate.FieldSumAgg).
func sum(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	switch {
	case c.typ.Root == table.Float:
		return floatCell(floatOf(acc) + floatOf(in)), nil
	case c.typ.Root == table.Double:
		return doubleCell(doubleOf(acc) + doubleOf(in)), nil
	case c.typ.Layout() == table.Bytes:
		setSigned(&c.a, acc.bytes)
		return c.wide(c.a.Add(&c.a, setSigned(&c.b, in.bytes)))
	}
	n := acc.word + in.word
	if (n > acc.word) != (in.word > 0) && in.word != 0 {
		return cell{}, c.overflows()
	}
	return c.whole(n)
}

// subtract takes back a summand. Where there is no sum yet, that summand will be missing from it.
func subtract(c *column, acc, in cell) (cell, error) {
	if !in.present {
		return acc, nil
	}
	if !acc.present {
		return c.negate(in)
	}
	switch {
	case c.typ.Root == table.Float:
		return floatCell(floatOf(acc) - floatOf(in)), nil
	case c.typ.Root == table.Double:
		return doubleCell(doubleOf(acc) - doubleOf(in)), nil
	case c.typ.Layout() == table.Bytes:
		setSigned(&c.a, acc.bytes)
		return c.wide(c.a.Sub(&c.a, setSigned(&c.b, in.bytes)))
	}
	n := acc.word - in.word
	if (n < acc.word) != (in.word > 0) && in.word != 0 {
		return cell{}, c.overflows()
	}
	return c.whole(n)
}

func (c *column) negate(in cell) (cell, error) {
	switch {
	case c.typ.Root == table.Float:
		return floatCell(-floatOf(in)), nil
	case c.typ.Root == table.Double:
		return doubleCell(-doubleOf(in)), nil
	case c.typ.Layout() == table.Bytes:
		return c.wide(c.a.Neg(setSigned(&c.a, in.bytes)))
	case in.word == math.MinInt64:
		return cell{}, c.overflows()
	}
	return c.whole(-in.word)
}

// product multiplies numbers (org.apache.paimon.mergetree.compact.aggregate.FieldProductAgg).
func product(c *column, acc, in cell) (cell, error) {
	if v, ok := either(acc, in); ok {
		return v, nil
	}
	switch c.typ.Root {
	case table.Float:
		return floatCell(floatOf(acc) * floatOf(in)), nil
	case table.Double:
		return doubleCell(doubleOf(acc) * doubleOf(in)), nil
	case table.Decimal:
		c.unscaled(&c.a, acc)
		c.a.Mul(&c.a, c.unscaled(&c.b, in))
		return c.decimal(roundedQuotient(&c.a, &c.a, powerOfTen(c.typ.Scale)))
	}
	high, low := bits.Mul64(magnitude(acc.word), magnitude(in.word))
	n := acc.word * in.word
	if high != 0 || low > 1<<63 || low == 1<<63 && (acc.word < 0) == (in.word < 0) {
		return cell{}, c.overflows()
	}
	return c.whole(n)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// divide takes back a factor. Whole numbers are cut, as they are in Java; a decimal has to come out even.
func divide(c *column, acc, in cell) (cell, error) {
	if !acc.present || !in.present {
		return acc, nil
	}
	switch c.typ.Root {
	case table.Float:
		return floatCell(floatOf(acc) / floatOf(in)), nil
	case table.Double:
		return doubleCell(doubleOf(acc) / doubleOf(in)), nil
	case table.Decimal:
		return c.divideDecimal(acc, in)
	}
	if in.word == 0 {
		return cell{}, c.dividesByZero()
	}
	if acc.word == math.MinInt64 && in.word == -1 {
		return cell{}, c.overflows()
	}
	return c.whole(acc.word / in.word)
}

func (c *column) dividesByZero() error {
	return fmt.Errorf("column %s: a row takes the factor 0 back from the product, which nothing can", c.field.Name)
}

func (c *column) divideDecimal(acc, in cell) (cell, error) {
	c.unscaled(&c.a, acc)
	if c.unscaled(&c.b, in).Sign() == 0 {
		return cell{}, c.dividesByZero()
	}
	// The digits end only when the divisor, in lowest terms, has no other factors than 2 and 5.
	var rest, common big.Int
	common.GCD(nil, nil, new(big.Int).Abs(&c.a), new(big.Int).Abs(&c.b))
	rest.Quo(rest.Abs(&c.b), &common)
	for _, factor := range []*big.Int{big.NewInt(2), big.NewInt(5)} {
		for quotient, left := new(big.Int), new(big.Int); ; rest.Set(quotient) {
			if quotient.QuoRem(&rest, factor, left); left.Sign() != 0 {
				break
			}
		}
	}
	if !rest.IsInt64() || rest.Int64() != 1 {
		return cell{}, fmt.Errorf("column %s: a row takes a factor back from the product, and the digits of the quotient do not end", c.field.Name)
	}
	c.a.Mul(&c.a, powerOfTen(c.typ.Scale))
	return c.decimal(roundedQuotient(&c.a, &c.a, &c.b))
}

// whole makes a cell of a number of layout Words, if the column can hold it.
func (c *column) whole(n int64) (cell, error) {
	limit := int64(math.MaxInt64)
	switch c.typ.Root {
	case table.TinyInt:
		limit = math.MaxInt8
	case table.SmallInt:
		limit = math.MaxInt16
	case table.Int:
		limit = math.MaxInt32
	case table.Decimal:
		limit = powerOfTen(c.typ.Precision).Int64() - 1
		if n < -limit {
			return cell{}, c.overflows()
		}
	}
	if n > limit || n < -limit-1 {
		return cell{}, c.overflows()
	}
	return cell{word: n, present: true}, nil
}

// decimal makes a cell of the unscaled value of a DECIMAL.
func (c *column) decimal(n *big.Int) (cell, error) {
	if c.typ.Layout() == table.Bytes {
		return c.wide(n)
	}
	if !n.IsInt64() {
		return cell{}, c.overflows()
	}
	return c.whole(n.Int64())
}

// wide makes a cell of the unscaled value of a DECIMAL of more than 18 digits.
func (c *column) wide(n *big.Int) (cell, error) {
	if n.CmpAbs(powerOfTen(c.typ.Precision)) >= 0 {
		return cell{}, c.overflows()
	}
	return c.made(appendSigned(c.room(), n)), nil
}

// unscaled sets z to the unscaled value of a DECIMAL.
func (c *column) unscaled(z *big.Int, v cell) *big.Int {
	if c.typ.Layout() == table.Bytes {
		return setSigned(z, v.bytes)
	}
	return z.SetInt64(v.word)
}

// wideBytes is the length of a cell of a DECIMAL of more than 18 digits: big-endian two's complement.
const wideBytes = 16

var wideModulus = new(big.Int).Lsh(big.NewInt(1), 8*wideBytes)

func setSigned(z *big.Int, b []byte) *big.Int {
	z.SetBytes(b)
	if b[0] >= 0x80 {
		z.Sub(z, wideModulus)
	}
	return z
}

// appendSigned appends the cell of a number; it may change it.
func appendSigned(dst []byte, n *big.Int) []byte {
	if n.Sign() < 0 {
		n.Add(n, wideModulus)
	}
	at := len(dst)
	dst = append(dst, make([]byte, wideBytes)...)
	n.FillBytes(dst[at:])
	return dst
}

// roundedQuotient sets z to a/b, rounded half away from zero (java.math.RoundingMode.HALF_UP).
func roundedQuotient(z, a, b *big.Int) *big.Int {
	negative := a.Sign()*b.Sign() < 0
	var left big.Int
	divisor := new(big.Int).Abs(b)
	z.QuoRem(z.Abs(a), divisor, &left)
	if left.Lsh(&left, 1).Cmp(divisor) >= 0 {
		z.Add(z, big.NewInt(1))
	}
	if negative {
		z.Neg(z)
	}
	return z
}

// powers are 10^0 to 10^38.
var powers = func() (p [table.MaxDecimalPrecision + 1]*big.Int) {
	for i := range p {
		p[i] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(i)), nil)
	}
	return p
}()

func powerOfTen(n int) *big.Int { return powers[n] }
