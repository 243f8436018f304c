package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseType reads a type as schema files and configurations spell it: "DECIMAL(10, 2) NOT NULL". Keywords have any case.
// It also takes the SQL form of constructed types ("ARRAY<INT>", "ROW<a INT, b STRING>"), whose fields then have no ids
// yet (see [NewSchema]), and a constructed type as JSON. Types that the sink does not write (VARIANT, BLOB, ...) are
// refused by name.
func ParseType(s string) (Type, error) {
	if !utf8.ValidString(s) {
		return Type{}, fmt.Errorf("type %q: not UTF-8", s) // JSON could not carry its names back unchanged
	}
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		var t Type
		if err := t.UnmarshalJSON([]byte(s)); err != nil {
			return Type{}, err
		}
		return t, nil
	}
	p := typeParser{text: s}
	p.next()
	t, err := p.parse(0)
	if err == nil && p.kind != tokenEnd {
		err = p.unexpected("the end")
	}
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", s, err)
	}
	return t, nil
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted // a name in back-quotes
	tokenNumber
	tokenSymbol // one of ( ) < > ,
	tokenBad
)

// typeParser is a recursive descent parser over the tokens of a type text.
type typeParser struct {
	text  string
	pos   int
	kind  tokenKind
	token string // word as written, number, or symbol
}

func (p *typeParser) next() {
	for p.pos < len(p.text) && isSpace(p.text[p.pos]) {
		p.pos++
	}
	if p.pos == len(p.text) {
		p.kind, p.token = tokenEnd, ""
		return
	}
	start := p.pos
	c := p.text[p.pos]
	switch {
	case strings.IndexByte("()<>,", c) >= 0:
		p.pos++
		p.kind = tokenSymbol
	case c == '`':
		p.quoted()
		return
	case isDigit(c):
		for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
			p.pos++
		}
		p.kind = tokenNumber
	case isWord(c):
		for p.pos < len(p.text) && (isWord(p.text[p.pos]) || isDigit(p.text[p.pos])) {
			p.pos++
		}
		p.kind = tokenWord
	default:
		p.pos++
		p.kind = tokenBad
	}
	p.token = p.text[start:p.pos]
}

// quoted reads a name in back-quotes; a doubled one stands for itself.
func (p *typeParser) quoted() {
	var name strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		if p.text[i] != '`' {
			name.WriteByte(p.text[i])
			continue
		}
		if i+1 < len(p.text) && p.text[i+1] == '`' {
			name.WriteByte('`')
			i++
			continue
		}
		p.kind, p.token, p.pos = tokenQuoted, name.String(), i+1
		return
	}
	p.kind, p.token, p.pos = tokenBad, p.text[p.pos:], len(p.text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (p *typeParser) unexpected(want string) error {
	if p.kind == tokenEnd {
		return fmt.Errorf("ends where %s is expected", want)
	}
	return fmt.Errorf("%q where %s is expected", p.token, want)
}

// word consumes a keyword if it comes next.
func (p *typeParser) word(w string) bool {
	if p.kind != tokenWord || !strings.EqualFold(p.token, w) {
		return false
	}
	p.next()
	return true
}

func (p *typeParser) symbol(s string) bool {
	if p.kind != tokenSymbol || p.token != s {
		return false
	}
	p.next()
	return true
}

func (p *typeParser) expect(s string) error {
	if !p.symbol(s) {
		return p.unexpected(strconv.Quote(s))
	}
	return nil
}

// keywords are the first words of a type that the sink knows.
var keywords = map[string]Root{
	"BOOLEAN": Boolean, "TINYINT": TinyInt, "SMALLINT": SmallInt, "INT": Int, "INTEGER": Int, "BIGINT": BigInt,
	"FLOAT": Float, "DOUBLE": Double, "DECIMAL": Decimal, "NUMERIC": Decimal, "DEC": Decimal, "CHAR": Char,
	"VARCHAR": VarChar, "STRING": VarChar, "BINARY": Binary, "VARBINARY": VarBinary, "BYTES": VarBinary, "DATE": Date,
	"TIME": Time, "TIMESTAMP": Timestamp, "TIMESTAMP_LTZ": LocalTimestamp, "ARRAY": Array, "MAP": Map,
	"MULTISET": Multiset, "ROW": RowType,
}

// foreign are types of Paimon that the sink does not write.
var foreign = map[string]bool{
	"VARIANT": true, "BLOB": true, "VECTOR": true, "GEOMETRY": true, "GEOGRAPHY": true,
}

func (p *typeParser) parse(depth int) (Type, error) {
	if depth > maxTypeDepth {
		return Type{}, fmt.Errorf("nested deeper than %d", maxTypeDepth)
	}
	if p.kind != tokenWord {
		return Type{}, p.unexpected("a type")
	}
	word := strings.ToUpper(p.token)
	root, ok := keywords[word]
	switch {
	case foreign[word]:
		return Type{}, fmt.Errorf("%s is not supported by the sink", word)
	case !ok:
		return Type{}, fmt.Errorf("%q is no type that Paimon has", p.token)
	}
	p.next()
	t := Type{Root: root}
	var err error
	switch {
	case word == "STRING" || word == "BYTES":
		t.Length = MaxLength
	case root == Decimal:
		err = p.decimal(&t)
	case root == Char || root == VarChar || root == Binary || root == VarBinary:
		t.Length = defaultLength
		err = p.parameter(&t.Length)
	case root == Time || root == Timestamp || root == LocalTimestamp:
		err = p.time(&t)
	case root == Double:
		p.word("PRECISION")
	case t.Nested():
		err = p.constructed(&t, depth)
	}
	if err != nil {
		return Type{}, err
	}
	if p.word("NOT") {
		if !p.word("NULL") {
			return Type{}, p.unexpected("NULL")
		}
		t.NotNull = true
	} else {
		p.word("NULL")
	}
	return t, t.check()
}

func (p *typeParser) number(n *int) error {
	if p.kind != tokenNumber {
		return p.unexpected("a number")
	}
	v, err := strconv.ParseInt(p.token, 10, 64)
	if err != nil || v > math.MaxInt32 {
		return fmt.Errorf("%s is too large", p.token)
	}
	*n = int(v)
	p.next()
	return nil
}

// parameter reads "(n)" if it is there.
func (p *typeParser) parameter(n *int) error {
	if !p.symbol("(") {
		return nil
	}
	if err := p.number(n); err != nil {
		return err
	}
	return p.expect(")")
}

func (p *typeParser) decimal(t *Type) error {
	t.Precision = defaultDecimalPrecision
	if !p.symbol("(") {
		return nil
	}
	if err := p.number(&t.Precision); err != nil {
		return err
	}
	if p.symbol(",") {
		if err := p.number(&t.Scale); err != nil {
			return err
		}
	}
	return p.expect(")")
}

func (p *typeParser) time(t *Type) error {
	if t.Root != Time {
		t.Precision = defaultTimestampPrecision
	}
	if err := p.parameter(&t.Precision); err != nil {
		return err
	}
	if t.Root == LocalTimestamp {
		return nil
	}
	switch {
	case p.word("WITHOUT"):
	case t.Root == Timestamp && p.word("WITH"):
		if !p.word("LOCAL") {
			return p.unexpected("LOCAL")
		}
		t.Root = LocalTimestamp
	default:
		return nil
	}
	if !p.word("TIME") {
		return p.unexpected("TIME")
	}
	if !p.word("ZONE") {
		return p.unexpected("ZONE")
	}
	return nil
}

func (p *typeParser) constructed(t *Type, depth int) error {
	if err := p.expect("<"); err != nil {
		return err
	}
	if t.Root == RowType {
		return p.fields(t, depth)
	}
	if t.Root == Map {
		key, err := p.parse(depth + 1)
		if err != nil {
			return err
		}
		t.Key = &key
		if err := p.expect(","); err != nil {
			return err
		}
	}
	element, err := p.parse(depth + 1)
	if err != nil {
		return err
	}
	t.Element = &element
	return p.expect(">")
}

func (p *typeParser) fields(t *Type, depth int) error {
	for !p.symbol(">") {
		if len(t.Fields) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		if p.token == "" || p.kind != tokenWord && p.kind != tokenQuoted {
			return p.unexpected("a field name")
		}
		f := Field{Name: p.token}
		p.next()
		var err error
		if f.Type, err = p.parse(depth + 1); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		t.Fields = append(t.Fields, f)
	}
	return nil
}
