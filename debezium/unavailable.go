package debezium

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// defaultPlaceholder is the default of unavailable.value.placeholder.
const defaultPlaceholder = "__debezium_unavailable_value"

// placeholder recognises what PostgreSQL's connector sends for a TOAST column that an update left alone, in all the
// forms that it takes (io.debezium.connector.postgresql.UnchangedToastedPlaceholder):
//
//	text, json, xml, decimals as text   the placeholder
//	bytea                               base64 of it, or hex, or the placeholder, by binary.handling.mode
//	hstore                              {"placeholder":"placeholder"}, as an object or as text
//	text[], uuid[]                      ["placeholder"], and the name-based UUID of it
//	int[], bigint[], date[]             its characters' codes
//
// A numeric under decimal.handling.mode=precise comes as null, which nobody can tell from NULL. A text that merely
// contains the placeholder is data, and so is an array with other elements beside it.
type placeholder struct {
	text    string
	forms   []string
	uuid    string
	lengths [256]bool // of the forms; those of 255 and more are counted as 255
}

func newPlaceholder(text string) *placeholder {
	if text == "" {
		text = defaultPlaceholder
	}
	quoted, _ := json.Marshal(text)
	sum := md5.Sum([]byte(text)) // UUID.nameUUIDFromBytes
	sum[6], sum[8] = sum[6]&0x0f|0x30, sum[8]&0x3f|0x80
	p := &placeholder{
		text: text,
		forms: []string{
			text,
			base64.StdEncoding.EncodeToString([]byte(text)),
			base64.URLEncoding.EncodeToString([]byte(text)),
			hex.EncodeToString([]byte(text)),
			fmt.Sprintf("{%s:%s}", quoted, quoted),
		},
		uuid: fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:]),
	}
	for _, f := range p.forms {
		p.lengths[min(len(f), 255)] = true
	}
	return p
}

// is reports whether a text is the placeholder.
func (p *placeholder) is(b []byte) bool {
	return p.lengths[min(len(b), 255)] && p.among(b)
}

func (p *placeholder) among(b []byte) bool {
	for _, f := range p.forms {
		if string(b) == f {
			return true
		}
	}
	return false
}

// isElement reports whether the only text of an array is the placeholder.
func (p *placeholder) isElement(b []byte) bool { return p.is(b) || string(b) == p.uuid }

// array reports whether the JSON array at r.i is the placeholder, and passes over it if so.
func (p *placeholder) array(r *reader) bool {
	start := r.i
	if p.sole(r) || p.codes(r) {
		return true
	}
	r.i = start
	return false
}

// sole: an array with one text.
func (p *placeholder) sole(r *reader) bool {
	r.i++
	if r.peek() != '"' {
		return false
	}
	text, err := r.str()
	if err != nil || !p.isElement(text) || r.peek() != ']' {
		return false
	}
	r.i++
	return true
}

// codes: an array of character codes. r.i is at the first element, as sole left it.
func (p *placeholder) codes(r *reader) bool {
	for k := 0; k < len(p.text); k++ {
		if c := r.peek(); c-'0' > 9 {
			return false
		}
		n, err := r.number()
		if err != nil || n.long || n.neg || n.exp != 0 && n.digits != uint64(p.text[k])*10 || n.exp == 0 && n.digits != uint64(p.text[k]) || n.exp < -1 || n.exp > 0 {
			return false
		}
		end := byte(',')
		if k == len(p.text)-1 {
			end = ']'
		}
		if r.peek() != end {
			return false
		}
		r.i++
	}
	return true
}

// object reports whether the JSON object at r.i is the placeholder, and passes over it if so.
func (p *placeholder) object(r *reader) bool {
	start := r.i
	r.i++
	if r.peek() == '"' {
		name, err := r.name()
		if err == nil && string(name) == p.text && r.peek() == '"' {
			text, err := r.str()
			if err == nil && string(text) == p.text && r.peek() == '}' {
				r.i++
				return true
			}
		}
	}
	r.i = start
	return false
}
