package debezium

import "encoding/binary"

// number is a JSON number, split while it is checked. Its value is digits * 10^exp, negated if neg.
type number struct {
	raw    []byte // as it stands in the text
	digits uint64 // all digits, without leading zeros; not to be used when long
	exp    int64  // clamped to +-1<<32
	neg    bool
	long   bool // more digits than fit: read raw
	whole  bool // written without fraction and exponent
}

// maxDigits is how many digits a uint64 always holds.
const maxDigits = 19

// digitsAt reads the digits from b[i] on. The value is right for up to maxDigits of them.
func digitsAt(b []byte, i int) (value uint64, n int) {
	rest := b[i:]
	for len(rest) >= 8 {
		x := binary.LittleEndian.Uint64(rest)
		if !eightDigits(x) {
			break
		}
		value = value*1e8 + valueOf8(x)
		rest = rest[8:]
	}
	for k, c := range rest {
		if c -= '0'; c > 9 {
			return value, len(b) - i - len(rest) + k
		}
		value = value*10 + uint64(c)
	}
	return value, len(b) - i
}

// eightDigits reports whether the bytes of x are all digits.
func eightDigits(x uint64) bool {
	const high = 0xf0f0f0f0f0f0f0f0
	return x&high|(x+0x0606060606060606)&high>>4 == 0x3333333333333333
}

// valueOf8 is the number that eight digits make, the first in the lowest byte: pairs, then fours, then all.
func valueOf8(x uint64) uint64 {
	x = x & 0x0f0f0f0f0f0f0f0f * (10<<8 + 1) >> 8
	x = x & 0x00ff00ff00ff00ff * (100<<16 + 1) >> 16
	return x & 0x0000ffff0000ffff * (10000<<32 + 1) >> 32
}

// number reads a JSON number, whose first byte is at b[i].
func (s *scanner) number() (number, error) {
	b := s.b
	i := s.i + bit(b[s.i] == '-')
	value, whole := digitsAt(b, i)
	n := number{digits: value, neg: i > s.i, whole: true, long: whole > maxDigits}
	if whole == 0 || b[i] == '0' && whole > 1 {
		return n, s.fail("bad number")
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		n.whole = false
		fraction, k := digitsAt(b, i+1)
		if k == 0 {
			return n, s.fail("bad number")
		}
		if n.exp = int64(-k); value == 0 {
			whole = 0
		}
		if n.long = whole+k > maxDigits; !n.long {
			n.digits = value*pow10[k] + fraction
		}
		i += 1 + k
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		n.whole = false
		end, exp, ok := exponent(b, i+1)
		if !ok {
			return n, s.fail("bad number")
		}
		i, n.exp = end, n.exp+exp
	}
	n.raw = b[s.i:i]
	s.i = i
	return n, nil
}

// maxExponent bounds exponents, so that sums of them do not overflow.
const maxExponent = 1 << 32

// exponent reads what follows the letter e.
func exponent(b []byte, i int) (end int, exp int64, ok bool) {
	neg := false
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		neg = b[i] == '-'
		i++
	}
	first := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		exp = min(exp*10+int64(b[i]-'0'), maxExponent)
	}
	if neg {
		exp = -exp
	}
	return i, exp, i > first
}

// int64 returns the value as an integer, exactly. It is not ok when it has a fraction or does not fit.
func (n *number) int64() (int64, bool) {
	if n.digits == 0 && !n.long {
		return 0, true
	}
	if n.long || n.exp != 0 {
		var d decimal
		if !d.parse(n.raw) {
			return 0, false
		}
		return d.int64()
	}
	return signed(n.digits, n.neg)
}

// signed returns magnitude u with a sign, if an int64 holds it.
func signed(u uint64, neg bool) (int64, bool) {
	if neg {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u <= 1<<63-1
}

// zero reports whether the value is 0.
func (n *number) zero() bool {
	if !n.long {
		return n.digits == 0
	}
	var d decimal
	return d.parse(n.raw) && d.zero()
}
