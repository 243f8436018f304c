package table

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// Errors of the decimal parsers. They carry no detail, so that they cost nothing.
var (
	ErrDecimalOverflow = errors.New("the number has more digits before the point than the column")
	ErrDecimalInexact  = errors.New("the number has more digits after the point than the column")
	ErrDecimalSyntax   = errors.New("this is no decimal number")
)

const (
	maxShortPrecision = 18 // the widest DECIMAL in layout Words
	decimalBytes      = 16 // a cell of a wider one
)

// uint128 is the magnitude of a decimal: below 10^38 it fits with room.
type uint128 struct{ hi, lo uint64 }

// powers holds 10^0 to 10^38.
var powers = func() (p [MaxDecimalPrecision + 1]uint128) {
	p[0].lo = 1
	for i := 1; i < len(p); i++ {
		hi, lo := bits.Mul64(p[i-1].lo, 10)
		p[i] = uint128{p[i-1].hi*10 + hi, lo}
	}
	return p
}()

func (a uint128) less(b uint128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a uint128) isZero() bool { return a.hi|a.lo == 0 }

// mul returns a*b and whether it fits 128 bits.
func (a uint128) mul(b uint128) (uint128, bool) {
	hi, lo := bits.Mul64(a.lo, b.lo)
	h1, l1 := bits.Mul64(a.hi, b.lo)
	h2, l2 := bits.Mul64(a.lo, b.hi)
	hi, c1 := bits.Add64(hi, l1, 0)
	hi, c2 := bits.Add64(hi, l2, 0)
	return uint128{hi, lo}, h1|h2|c1|c2 == 0 && (a.hi == 0 || b.hi == 0)
}

// div returns a/d and the remainder; d is not 0.
func (a uint128) div(d uint64) (uint128, uint64) {
	hi, r := bits.Div64(0, a.hi, d)
	lo, r := bits.Div64(r, a.lo, d)
	return uint128{hi, lo}, r
}

func (a uint128) addSmall(n uint64) uint128 {
	lo, c := bits.Add64(a.lo, n, 0)
	return uint128{a.hi + c, lo}
}

func (a uint128) neg() uint128 {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	hi, _ := bits.Sub64(0, a.hi, borrow)
	return uint128{hi, lo}
}

// divPower returns a/10^n rounded down and whether nothing was lost.
func (a uint128) divPower(n int) (uint128, bool) {
	exact := true
	for n > 0 {
		step := min(n, maxShortPrecision)
		var r uint64
		a, r = a.div(powers[step].lo)
		exact = exact && r == 0
		n -= step
	}
	return a, exact
}

// appendDecimal appends a number to a vector of the DECIMAL type t.
func appendDecimal(v *Vector, t *Type, negative bool, a uint128) {
	if t.Precision <= maxShortPrecision {
		w := int64(a.lo)
		if negative {
			w = -w
		}
		v.AppendWord(w)
		return
	}
	if negative {
		a = a.neg()
	}
	v.Data = binary.BigEndian.AppendUint64(v.Data, a.hi)
	v.Data = binary.BigEndian.AppendUint64(v.Data, a.lo)
	v.EndCell()
}

// decimalOf returns sign and magnitude of a cell: its word, or its bytes.
func decimalOf(t *Type, w int64, b []byte) (negative bool, a uint128) {
	if t.Precision <= maxShortPrecision {
		if w < 0 {
			return true, uint128{lo: uint64(-w)}
		}
		return false, uint128{lo: uint64(w)}
	}
	a = uint128{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	if int64(a.hi) < 0 {
		return true, a.neg()
	}
	return false, a
}

// AppendDecimalText appends a number in text, such as "-12.50" or "1.5e3", to a vector of the DECIMAL type t. It is exact:
// digits that the type has no room for are an error, ErrDecimalOverflow or ErrDecimalInexact, and nothing is appended;
// zeros do no harm. Text that is no number is ErrDecimalSyntax.
func AppendDecimalText(v *Vector, t *Type, text []byte) error {
	if negative, n, ok := shortDecimal(text, t); ok {
		appendDecimal(v, t, negative, uint128{lo: n})
		return nil
	}
	d, err := scanDecimal(text)
	if err != nil {
		return err
	}
	if d.digits == 0 {
		appendDecimal(v, t, false, uint128{})
		return nil
	}
	shift := d.exponent + int64(t.Scale) // zeros to add to the significant digits
	switch {
	case int64(d.digits)+shift > int64(t.Precision):
		return ErrDecimalOverflow
	case shift < 0:
		return ErrDecimalInexact
	}
	var a uint128
	for _, c := range text[d.from:d.to] {
		if c != '.' {
			a, _ = a.mul(powers[1])
			a = a.addSmall(uint64(c - '0'))
		}
	}
	a, _ = a.mul(powers[shift])
	appendDecimal(v, t, d.negative, a)
	return nil
}

// shortDecimal reads a plain number of at most 18 digits, those that the scale adds included, that fits the type. It is not
// ok for all others, which take the long way.
func shortDecimal(text []byte, t *Type) (negative bool, n uint64, ok bool) {
	i := 0
	if len(text) > 0 && text[0] == '-' {
		negative = true
		i++
	}
	if len(text)-i > maxShortPrecision+1 {
		return false, 0, false
	}
	digits, point := 0, -1
	for ; i < len(text); i++ {
		c := text[i] - '0'
		switch {
		case c <= 9:
			n = n*10 + uint64(c)
			digits++
		case text[i] == '.' && point < 0:
			point = digits
		default:
			return false, 0, false
		}
	}
	more := t.Scale
	if point >= 0 {
		more -= digits - point
	}
	if digits == 0 || more < 0 || digits+more > maxShortPrecision {
		return false, 0, false
	}
	n *= powers[more].lo
	return negative, n, uint128{lo: n}.less(powers[t.Precision])
}

// scannedDecimal is a decimal number as found in text: the significant digits, without zeros before and after them,
// are text[from:to], perhaps with the point among them; the number is those digits times 10^exponent.
type scannedDecimal struct {
	negative bool
	from, to int
	digits   int
	exponent int64
}

func scanDecimal(text []byte) (d scannedDecimal, err error) {
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		d.negative = text[i] == '-'
		i++
	}
	seen, point := 0, -1
	after := 0 // digits since the last one that is not 0
	var fraction int64
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.' && point < 0:
			point = i
			continue
		case !isDigit(c):
		case c == '0' && d.digits == 0:
			seen++
			if point >= 0 {
				fraction++
			}
			continue
		default:
			seen++
			if point >= 0 {
				fraction++
			}
			if d.digits == 0 {
				d.from = i
			}
			after++
			if c != '0' {
				d.digits += after
				after = 0
				d.to = i + 1
			}
			continue
		}
		break
	}
	if seen == 0 {
		return d, ErrDecimalSyntax
	}
	d.exponent = int64(after) - fraction
	if i == len(text) {
		return d, nil
	}
	e, err := scanExponent(text[i:])
	d.exponent += e
	return d, err
}

// scanExponent reads "e-7"; an exponent beyond all use is cut to one that still is.
func scanExponent(text []byte) (int64, error) {
	if len(text) < 2 || text[0]|0x20 != 'e' {
		return 0, ErrDecimalSyntax
	}
	text = text[1:]
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, ErrDecimalSyntax
	}
	var e int64
	for _, c := range text {
		if !isDigit(c) {
			return 0, ErrDecimalSyntax
		}
		e = min(e*10+int64(c-'0'), math.MaxInt32)
	}
	if negative {
		return -e, nil
	}
	return e, nil
}

// AppendDecimalBytes appends a number given as big-endian two's complement of its unscaled value, of any length, and its
// scale, which may be negative: the form of Kafka Connect's Decimal. It is as exact as [AppendDecimalText]; no bytes at
// all are ErrDecimalSyntax.
func AppendDecimalBytes(v *Vector, t *Type, unscaled []byte, scale int) error {
	if len(unscaled) == 0 {
		return ErrDecimalSyntax
	}
	unscaled = minimalBytes(unscaled)
	if len(unscaled) > decimalBytes {
		return appendWideDecimal(v, t, unscaled, scale)
	}
	negative := unscaled[0] >= 0x80
	var a uint128
	if negative {
		a = uint128{math.MaxUint64, math.MaxUint64}
	}
	for _, c := range unscaled {
		a = uint128{a.hi<<8 | a.lo>>56, a.lo<<8 | uint64(c)}
	}
	if negative {
		a = a.neg()
	}
	return appendRescaled(v, t, negative, a, scale)
}

// AppendDecimalInt appends a number given as unscaled value and scale. It is as exact as [AppendDecimalText].
func AppendDecimalInt(v *Vector, t *Type, unscaled int64, scale int) error {
	if unscaled < 0 {
		return appendRescaled(v, t, true, uint128{lo: uint64(-unscaled)}, scale)
	}
	return appendRescaled(v, t, false, uint128{lo: uint64(unscaled)}, scale)
}

func appendRescaled(v *Vector, t *Type, negative bool, a uint128, scale int) error {
	if a.isZero() {
		appendDecimal(v, t, false, a)
		return nil
	}
	switch d := t.Scale - scale; {
	case d > MaxDecimalPrecision:
		return ErrDecimalOverflow
	case d < -MaxDecimalPrecision:
		return ErrDecimalInexact
	case d > 0:
		var ok bool
		if a, ok = a.mul(powers[d]); !ok {
			return ErrDecimalOverflow
		}
	case d < 0:
		var exact bool
		if a, exact = a.divPower(-d); !exact {
			if !a.less(powers[t.Precision]) {
				return ErrDecimalOverflow
			}
			return ErrDecimalInexact
		}
	}
	if !a.less(powers[t.Precision]) {
		return ErrDecimalOverflow
	}
	appendDecimal(v, t, negative, a)
	return nil
}

// appendWideDecimal is for numbers of more than 16 bytes, which fit only when zeros end them.
func appendWideDecimal(v *Vector, t *Type, unscaled []byte, scale int) error {
	if scale <= t.Scale {
		return ErrDecimalOverflow
	}
	if len(unscaled) > 1024 || scale-t.Scale > 2048 {
		return ErrDecimalInexact
	}
	return AppendDecimalText(v, t, AppendBigDecimal(nil, unscaled, scale))
}

// AppendBigDecimal appends plain text of any number given as big-endian two's complement of its unscaled value and its
// scale: 12345 and 2 as "123.45", 12 and -2 as "1200" (java.math.BigDecimal.toPlainString).
func AppendBigDecimal(dst, unscaled []byte, scale int) []byte {
	n := new(big.Int).SetBytes(unscaled)
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(unscaled))))
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n.Neg(n)
	}
	at := len(dst)
	dst = n.Append(dst, 10)
	if scale < 0 && n.Sign() != 0 {
		for range -scale {
			dst = append(dst, '0')
		}
	}
	return insertPoint(dst, at, scale)
}

// insertPoint puts a decimal point before the last scale digits of dst[at:], with zeros where digits are missing.
func insertPoint(dst []byte, at, scale int) []byte {
	if scale <= 0 {
		return dst
	}
	if missing := scale + 1 - (len(dst) - at); missing > 0 {
		n := len(dst)
		for range missing {
			dst = append(dst, '0')
		}
		copy(dst[at+missing:], dst[at:n])
		for i := range missing {
			dst[at+i] = '0'
		}
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

// AppendDecimal appends a DECIMAL cell as plain text with as many decimals as its scale: "-0.50".
func AppendDecimal(dst []byte, t *Type, v *Vector, row int) []byte {
	word, bytes := v.cell(row)
	return appendDecimalCell(dst, t, word, bytes)
}

func appendDecimalCell(dst []byte, t *Type, w int64, b []byte) []byte {
	negative, a := decimalOf(t, w, b)
	if negative {
		dst = append(dst, '-')
	}
	at := len(dst)
	if a.hi == 0 {
		dst = strconv.AppendUint(dst, a.lo, 10)
	} else {
		high, low := a.div(powers[maxShortPrecision].lo)
		if high.hi != 0 {
			top, middle := high.div(powers[maxShortPrecision].lo)
			dst = strconv.AppendUint(dst, top.lo, 10)
			dst = AppendDigits(dst, int64(middle), maxShortPrecision)
		} else {
			dst = strconv.AppendUint(dst, high.lo, 10)
		}
		dst = AppendDigits(dst, int64(low), maxShortPrecision)
	}
	return insertPoint(dst, at, t.Scale)
}
