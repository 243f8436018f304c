package debezium

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"
)

// decimal is (hi<<64 + lo) * 10^exp, negated if neg: exact, with at most 38 significant digits where it was read from
// text and 128 bits where it was read from bytes.
type decimal struct {
	hi, lo uint64
	exp    int64
	neg    bool
}

// maxPrecision is the most digits that a DECIMAL of Paimon has.
const maxPrecision = 38

// wordPrecision is the most digits of a DECIMAL whose cells are words.
const wordPrecision = 18

// pow10 are 10^0 to 10^19: what a uint64 holds.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// pow10wide are 10^0 to 10^38 in 128 bits.
var pow10wide = func() (p [maxPrecision + 1][2]uint64) {
	d := decimal{lo: 1}
	for i := range p {
		p[i] = [2]uint64{d.hi, d.lo}
		d.mul(10, 0)
	}
	return p
}()

// mul multiplies the coefficient by m and adds a; it is not ok when that needs more than 128 bits.
func (d *decimal) mul(m, a uint64) bool {
	h1, l := bits.Mul64(d.lo, m)
	h2, m2 := bits.Mul64(d.hi, m)
	var c uint64
	d.lo, c = bits.Add64(l, a, 0)
	d.hi, c = bits.Add64(m2, h1, c)
	return h2 == 0 && c == 0
}

// div divides the coefficient by m and returns the rest.
func (d *decimal) div(m uint64) (rest uint64) {
	d.hi, rest = d.hi/m, d.hi%m
	d.lo, rest = bits.Div64(rest, d.lo, m)
	return rest
}

// trim takes zeros off the end of the coefficient.
func (d *decimal) trim() {
	if d.zero() {
		*d = decimal{}
		return
	}
	for {
		t := *d
		if t.div(10) != 0 {
			return
		}
		t.exp++
		*d = t
	}
}

func (d *decimal) zero() bool { return d.hi|d.lo == 0 }

// below reports whether the coefficient is less than 10^p.
func (d *decimal) below(p int) bool {
	w := &pow10wide[p]
	return d.hi < w[0] || d.hi == w[0] && d.lo < w[1]
}

// parse reads decimal text: an optional sign, digits with or without a point, an optional exponent. It is not ok when
// the text is something else, or has more than 38 significant digits. The coefficient has no trailing zeros.
func (d *decimal) parse(text []byte) bool {
	*d = decimal{}
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		d.neg = text[i] == '-'
		i++
	}
	count, zeros, point := 0, 0, -1 // digits seen, zeros not yet multiplied in, digits before the point
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && point < 0 {
			point = count
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		count++
		if c == '0' {
			if !d.zero() {
				zeros++
			}
			continue
		}
		if !d.push(c-'0', zeros) {
			return false
		}
		zeros = 0
	}
	if count == 0 {
		return false
	}
	if point >= 0 {
		d.exp = int64(point - count)
	}
	d.exp += int64(zeros)
	if i == len(text) {
		return true
	}
	if text[i]|0x20 != 'e' {
		return false
	}
	end, exp, ok := exponent(text, i+1)
	d.exp += exp
	return ok && end == len(text)
}

// push adds a digit after some zeros, if 38 digits hold it.
func (d *decimal) push(digit byte, zeros int) bool {
	for ; zeros >= 18; zeros -= 18 {
		if !d.mul(pow10[18], 0) {
			return false
		}
	}
	return d.mul(pow10[zeros+1], uint64(digit)) && d.below(maxPrecision)
}

// unscaled turns the coefficient into that of scale s, that is value * 10^s, exactly, and checks that it has at most
// p digits.
func (d *decimal) unscaled(p, s int) bool {
	if d.zero() {
		d.neg = false
		return true
	}
	shift := d.exp + int64(s)
	if shift > maxPrecision || shift < -2*maxPrecision {
		return false
	}
	for ; shift > 0; shift -= min(shift, 19) {
		if !d.mul(pow10[min(shift, 19)], 0) {
			return false
		}
	}
	for ; shift < 0; shift += min(-shift, 19) {
		if d.div(pow10[min(-shift, 19)]) != 0 {
			return false
		}
	}
	d.exp = int64(-s)
	return d.below(p)
}

// int64 returns the value as an integer.
func (d decimal) int64() (int64, bool) {
	if !d.unscaled(19, 0) {
		return 0, false
	}
	return signed(d.lo, d.neg)
}

// word returns the coefficient with its sign; it has at most 18 digits.
func (d *decimal) word() int64 {
	n, _ := signed(d.lo, d.neg)
	return n
}

// appendWide appends the coefficient with its sign as 16 bytes of two's complement, the cell of a DECIMAL of more than
// 18 digits.
func (d *decimal) appendWide(dst []byte) []byte {
	hi, lo := d.hi, d.lo
	if d.neg {
		var c uint64
		lo, c = bits.Add64(^lo, 1, 0)
		hi = ^hi + c
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, hi), lo)
}

// setBytes reads big-endian two's complement, as BigInteger.toByteArray writes it, as value * 10^-scale. It is not ok
// when 127 bits do not hold it.
func (d *decimal) setBytes(b []byte, scale int) bool {
	*d = decimal{exp: int64(-scale)}
	if len(b) == 0 {
		return true
	}
	var sign byte
	if b[0]&0x80 != 0 {
		sign = 0xff
	}
	for len(b) > 16 && b[0] == sign {
		b = b[1:]
	}
	if len(b) > 16 || len(b) == 16 && (b[0]^sign)&0x80 != 0 {
		return false
	}
	if sign != 0 {
		d.hi, d.lo = ^uint64(0), ^uint64(0)
	}
	for _, c := range b {
		d.hi = d.hi<<8 | d.lo>>56
		d.lo = d.lo<<8 | uint64(c)
	}
	if sign != 0 {
		var c uint64
		d.lo, c = bits.Add64(^d.lo, 1, 0)
		d.hi = ^d.hi + c
		d.neg = true
	}
	return true
}

// setInt reads an integer.
func (d *decimal) setInt(n int64) {
	*d = decimal{lo: uint64(n), neg: n < 0}
	if n < 0 {
		d.lo = -d.lo
	}
}

// appendText appends the value as plain text, without exponent, and with as many decimals as exp asks for.
func (d decimal) appendText(dst []byte) []byte {
	var buf [40]byte
	return appendPlain(dst, d.neg, d.digits(&buf), d.exp)
}

// appendScientific appends the value as coefficient and exponent: 12345e-2.
func (d decimal) appendScientific(dst []byte) []byte {
	var buf [40]byte
	dst = appendPlain(dst, d.neg, d.digits(&buf), 0)
	return strconv.AppendInt(append(dst, 'e'), d.exp, 10)
}

// digits writes the coefficient at the end of buf.
func (d decimal) digits(buf *[40]byte) []byte {
	i := len(buf)
	for {
		i--
		buf[i] = '0' + byte(d.div(10))
		if d.zero() {
			return buf[i:]
		}
	}
}

// appendPlain appends digits * 10^exp as plain text; digits have no leading zeros but one for zero.
func appendPlain(dst []byte, neg bool, digits []byte, exp int64) []byte {
	if neg {
		dst = append(dst, '-')
	}
	if exp >= 0 {
		dst = append(dst, digits...)
		for ; exp > 0 && digits[0] != '0'; exp-- {
			dst = append(dst, '0')
		}
		return dst
	}
	whole := int64(len(digits)) + exp
	if whole > 0 {
		dst = append(dst, digits[:whole]...)
		dst = append(dst, '.')
		return append(dst, digits[whole:]...)
	}
	dst = append(dst, "0."...)
	for ; whole < 0; whole++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// bigOf reads big-endian two's complement of any length.
func bigOf(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return n
}

// appendBig appends n * 10^-scale as plain text.
func appendBig(dst []byte, n *big.Int, scale int) []byte {
	digits := new(big.Int).Abs(n).Append(nil, 10)
	return appendPlain(dst, n.Sign() < 0, digits, int64(-scale))
}

// setBig reads n * 10^-scale when it is too long for setBytes but may still be a short number: zeros at its end are
// taken off.
func (d *decimal) setBig(n *big.Int, scale int) bool {
	digits := new(big.Int).Abs(n).Append(nil, 10)
	cut := len(digits)
	for cut > 1 && digits[cut-1] == '0' {
		cut--
	}
	if !d.parse(digits[:cut]) {
		return false
	}
	d.neg = n.Sign() < 0
	d.exp += int64(len(digits)-cut) - int64(scale)
	return true
}
