package table

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

func badText(b []byte, t string) error { return fmt.Errorf("%q is no %s", b, t) }

func isInteger(r Root) bool { return r < Root(len(integerDigits)) && integerDigits[r] > 0 }

func castToBoolean(from *Type) castFunc {
	switch {
	case isInteger(from.Root):
		return func(w int64, _ []byte) (int64, []byte, error) {
			if w != 0 {
				w = 1
			}
			return w, nil, nil
		}
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) {
			switch string(bytes.ToLower(b)) {
			case "t", "true", "y", "yes", "1":
				return 1, nil, nil
			case "f", "false", "n", "no", "0":
				return 0, nil, nil
			}
			return 0, nil, badText(b, "BOOLEAN")
		}
	}
	return nil
}

// narrow is Java's narrowing conversion to the width of an integer type.
func narrow(w int64, to Root) int64 {
	switch to {
	case TinyInt:
		return int64(int8(w))
	case SmallInt:
		return int64(int16(w))
	case Int:
		return int64(int32(w))
	}
	return w
}

func castToInteger(from, to *Type) castFunc {
	root := to.Root
	switch {
	case from.Root == Boolean || isInteger(from.Root):
		return func(w int64, _ []byte) (int64, []byte, error) { return narrow(w, root), nil, nil }
	case isFloat(from.Root):
		return func(w int64, _ []byte) (int64, []byte, error) { return javaInteger(floatOf(from, w), root), nil, nil }
	case from.Root == Decimal:
		return func(w int64, b []byte) (int64, []byte, error) {
			negative, a := decimalOf(from, w, b)
			a, _ = a.divPower(from.Scale)
			n := int64(a.lo)
			if negative {
				n = -n
			}
			return narrow(n, root), nil, nil
		}
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) { return parseInteger(b, to) }
	case isTimestamp(from.Root) && (root == Int || root == BigInt):
		return func(w int64, b []byte) (int64, []byte, error) {
			return narrow(millisOf(from, w, b)/millisPerSecond, root), nil, nil
		}
	}
	return nil
}

// floatOf returns a FLOAT or DOUBLE cell as a number.
func floatOf(t *Type, w int64) float64 {
	if t.Root == Float {
		return float64(math.Float32frombits(uint32(w)))
	}
	return math.Float64frombits(uint64(w))
}

// javaInteger converts as Java does: NaN to 0, the ends of the range for what is beyond, the narrow types by way of int.
func javaInteger(f float64, to Root) int64 {
	switch {
	case f != f:
		return 0
	case to == BigInt:
		switch {
		case f >= math.MaxInt64:
			return math.MaxInt64
		case f <= math.MinInt64:
			return math.MinInt64
		}
		return int64(f)
	}
	return narrow(int64(math.Trunc(min(max(f, math.MinInt32), math.MaxInt32))), to)
}

// parseInteger reads an integer; digits after a point are checked and left out.
func parseInteger(b []byte, to *Type) (int64, []byte, error) {
	whole, fraction, _ := bytes.Cut(b, []byte{'.'})
	for _, c := range fraction {
		if !isDigit(c) {
			return 0, nil, badText(b, to.String())
		}
	}
	bits := map[Root]int{TinyInt: 8, SmallInt: 16, Int: 32, BigInt: 64}[to.Root]
	n, err := strconv.ParseInt(string(whole), 10, bits)
	if err != nil {
		return 0, nil, badText(b, to.String())
	}
	return n, nil, nil
}

func castToFloat(from, to *Type) castFunc {
	word := func(f float64) int64 { return int64(math.Float64bits(f)) }
	bits := 64
	if to.Root == Float {
		word = func(f float64) int64 { return int64(math.Float32bits(float32(f))) }
		bits = 32
	}
	switch {
	case from.Root == Boolean || isInteger(from.Root):
		if bits == 32 {
			return func(w int64, _ []byte) (int64, []byte, error) { return int64(math.Float32bits(float32(w))), nil, nil }
		}
		return func(w int64, _ []byte) (int64, []byte, error) { return word(float64(w)), nil, nil }
	case isFloat(from.Root):
		return func(w int64, _ []byte) (int64, []byte, error) { return word(floatOf(from, w)), nil, nil }
	case from.Root == Decimal:
		return func(w int64, b []byte) (int64, []byte, error) {
			f, err := strconv.ParseFloat(string(appendDecimalCell(nil, from, w, b)), bits)
			return word(f), nil, err
		}
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) {
			f, err := parseJavaFloat(bytes.TrimFunc(b, javaTrimmed), bits)
			if err != nil {
				err = badText(b, to.String())
			}
			return word(f), nil, err
		}
	}
	return nil
}

// javaTrimmed is what java.lang.String.trim takes off.
func javaTrimmed(r rune) bool { return r <= ' ' }

// parseJavaFloat is Double.parseDouble, without hexadecimal numbers and type suffixes. A number that is too large is
// infinite.
func parseJavaFloat(b []byte, bits int) (float64, error) {
	switch string(bytes.TrimLeft(b, "+-")) {
	case "NaN", "Infinity":
		return strconv.ParseFloat(string(b), bits)
	}
	for _, c := range b {
		if !isDigit(c) && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return 0, strconv.ErrSyntax
		}
	}
	f, err := strconv.ParseFloat(string(b), bits)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return f, err
}

func castToDecimal(from, to *Type) castFunc {
	out := &Vector{Layout: to.Layout()}
	finish := func(err error) (int64, []byte, error) {
		if err != nil {
			return 0, nil, err
		}
		w, b := out.cell(0)
		return w, b, nil
	}
	switch {
	case from.Root == Boolean || isInteger(from.Root):
		return func(w int64, _ []byte) (int64, []byte, error) {
			out.Truncate(0)
			if AppendDecimalInt(out, to, w, 0) != nil {
				return 0, nil, errCastNull
			}
			return finish(nil)
		}
	case from.Root == Decimal:
		return func(w int64, b []byte) (int64, []byte, error) {
			out.Truncate(0)
			negative, a := decimalOf(from, w, b)
			return finish(appendRounded(out, to, negative, a, from.Scale))
		}
	case isFloat(from.Root):
		return func(w int64, _ []byte) (int64, []byte, error) {
			f := floatOf(from, w)
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return 0, nil, fmt.Errorf("%v is no %s", f, to)
			}
			out.Truncate(0)
			return finish(appendRoundedText(out, to, []byte(new(big.Float).SetFloat64(f).Text('f', 400))))
		}
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) {
			out.Truncate(0)
			return finish(appendRoundedText(out, to, b))
		}
	}
	return nil
}

// appendRounded appends a number rounded half up to the type's scale; too large a one is errCastNull.
func appendRounded(v *Vector, t *Type, negative bool, a uint128, scale int) error {
	if d := scale - t.Scale; d > 0 {
		a = a.roundPower(d)
		scale = t.Scale
	}
	if appendRescaled(v, t, negative, a, scale) != nil {
		return errCastNull
	}
	return nil
}

// roundPower returns a/10^n rounded half up; n is at most 38.
func (a uint128) roundPower(n int) uint128 {
	a, _ = a.divPower(n - 1)
	a, last := a.div(10)
	if last >= 5 {
		a = a.addSmall(1)
	}
	return a
}

// appendRoundedText does the same with a number in text.
func appendRoundedText(v *Vector, t *Type, text []byte) error {
	d, err := scanDecimal(text)
	if err != nil {
		return badText(text, t.String())
	}
	shift := d.exponent + int64(t.Scale) // zeros to add, or digits to take off
	keep := int64(d.digits) + shift
	switch {
	case d.digits == 0 || keep < 0:
		appendDecimal(v, t, false, uint128{})
		return nil
	case keep > MaxDecimalPrecision:
		return errCastNull
	}
	var a uint128
	roundUp := false
	for _, c := range text[d.from:d.to] {
		if c == '.' {
			continue
		}
		if keep == 0 {
			roundUp = c >= '5'
			break
		}
		a, _ = a.mul(powers[1])
		a = a.addSmall(uint64(c - '0'))
		keep--
	}
	if shift > 0 {
		a, _ = a.mul(powers[shift])
	}
	if roundUp {
		a = a.addSmall(1)
	}
	if !a.less(powers[t.Precision]) {
		return errCastNull
	}
	appendDecimal(v, t, d.negative && !a.isZero(), a)
	return nil
}
