package debezium

// number is a JSON number, split while it is checked. Its value is digits * 10^exp, negated if neg.
type number struct {
	raw    []byte // as it stands in the text
	digits uint64 // all digits, without leading zeros; not to be used when long
	exp    int64  // clamped to +-1<<32
	neg    bool
	long   bool // more digits than fit: read raw
	whole  bool // written without fraction and exponent
}

// number reads a JSON number, whose first byte is at b[i].
func (s *scanner) number() (number, error) {
	b, i := s.b, s.i
	n := number{whole: true}
	if b[i] == '-' {
		n.neg = true
		i++
	}
	first := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		n.push(b[i])
	}
	if i == first || b[first] == '0' && i > first+1 {
		return n, s.fail("bad number")
	}
	if i < len(b) && b[i] == '.' {
		n.whole = false
		i++
		first = i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			n.push(b[i])
		}
		n.exp = int64(first - i)
		if i == first {
			return n, s.fail("bad number")
		}
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

func (n *number) push(c byte) {
	if n.digits >= 1e18 {
		n.long = true
		return
	}
	n.digits = n.digits*10 + uint64(c-'0')
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
