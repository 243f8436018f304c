package compute

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// treeKind is what a node of a syntax tree is.
type treeKind uint8

const (
	columnTree   treeKind = iota + 1
	textTree              // 'text'
	numberTree            // 12, -1.5, 1e3
	callTree              // name(args)
	operatorTree          // a filter's: and, or, not, =, in, null, ...
)

// tree is an expression as it was written.
type tree struct {
	kind treeKind
	name string // of a column, function or operator
	text string // of a literal
	args []*tree
}

// String is the expression again, for messages.
func (t *tree) String() string {
	switch t.kind {
	case columnTree:
		if p := newParser(t.name); p.kind == wordToken && p.token == t.name {
			return t.name
		}
		return "`" + strings.ReplaceAll(t.name, "`", "``") + "`"
	case textTree:
		return "'" + strings.ReplaceAll(t.text, "'", "''") + "'"
	case numberTree:
		return t.text
	}
	args := make([]string, len(t.args))
	for i, a := range t.args {
		args[i] = a.String()
	}
	return t.name + "(" + strings.Join(args, ", ") + ")"
}

// columns adds the columns that an expression reads, each once, in order of appearance.
func (t *tree) columns(to []string) []string {
	if t.kind == columnTree && !slices.Contains(to, t.name) {
		to = append(to, t.name)
	}
	for _, a := range t.args {
		to = a.columns(to)
	}
	return to
}

// parser reads a text by tokens.
type parser struct {
	text  string
	at    int // after the token
	start int // of the token
	token string
	kind  tokenKind
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	quotedToken // `name`: a column whatever it says; token is the name
	textToken   // 'text'; token is the text
	numberToken
	symbolToken
	badToken
)

func newParser(text string) *parser {
	p := &parser{text: text}
	p.next()
	return p
}

// next reads the next token.
func (p *parser) next() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t' || p.text[p.at] == '\n' || p.text[p.at] == '\r') {
		p.at++
	}
	p.start = p.at
	rest := p.text[p.at:]
	if rest == "" {
		p.kind, p.token = endToken, ""
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'', r == '`':
		p.quoted(byte(r))
	case r >= '0' && r <= '9', (r == '-' || r == '+' || r == '.') && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		n := size
		for n < len(rest) && (isWord(rune(rest[n])) || rest[n] == '.' || (rest[n] == '-' || rest[n] == '+') && (rest[n-1] == 'e' || rest[n-1] == 'E')) {
			n++
		}
		p.take(numberToken, n)
	case isWord(r):
		n := 0
		for n < len(rest) {
			r, size := utf8.DecodeRuneInString(rest[n:])
			if !isWord(r) {
				break
			}
			n += size
		}
		p.take(wordToken, n)
	case len(rest) > 1 && slices.Contains([]string{"<=", ">=", "<>", "!=", "=="}, rest[:2]):
		p.take(symbolToken, 2)
	case strings.ContainsRune("(),=<>", r):
		p.take(symbolToken, 1)
	default:
		p.take(badToken, size)
	}
}

func isWord(r rune) bool {
	return r == '_' || r == '$' || r == '@' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func (p *parser) take(kind tokenKind, n int) {
	p.kind, p.token = kind, p.text[p.at:p.at+n]
	p.at += n
}

// quoted reads 'text' or `name`; the quote in it is written twice.
func (p *parser) quoted(quote byte) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		if p.text[i] != quote {
			b.WriteByte(p.text[i])
			continue
		}
		if i+1 < len(p.text) && p.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		p.kind, p.token, p.at = textToken, b.String(), i+1
		if quote == '`' {
			p.kind = quotedToken
		}
		return
	}
	p.take(badToken, len(p.text)-p.at)
}

// raw reads what is left of an argument as it stands, to its closing bracket or comma: a type, or a pattern without
// quotes. The token before it has been read.
func (p *parser) raw(comma bool) string {
	depth, i := 0, p.start
	for ; i < len(p.text); i++ {
		c := p.text[i]
		if c == ')' && depth == 0 || c == ',' && depth == 0 && comma {
			break
		}
		if c == '(' || c == '<' {
			depth++
		} else if c == ')' || c == '>' {
			depth--
		}
	}
	text := strings.TrimSpace(p.text[p.start:i])
	p.at = i
	p.next()
	return text
}

func (p *parser) symbol(s string) bool {
	if p.kind != symbolToken || p.token != s {
		return false
	}
	p.next()
	return true
}

func (p *parser) word(w string) bool {
	if p.kind != wordToken || !strings.EqualFold(p.token, w) {
		return false
	}
	p.next()
	return true
}

func (p *parser) unexpected(want string) error {
	switch {
	case p.kind == endToken:
		return fmt.Errorf("ends where %s is wanted", want)
	case p.kind == badToken && (p.token[0] == '\'' || p.token[0] == '`'):
		return fmt.Errorf("has a quote %c at character %d that does not end", p.token[0], p.start+1)
	}
	return fmt.Errorf("has %q at character %d where %s is wanted", p.text[p.start:p.at], p.start+1, want)
}

func (p *parser) expect(s string) error {
	if !p.symbol(s) {
		return p.unexpected(s)
	}
	return nil
}

// maxDepth bounds how deep expressions may nest.
const maxDepth = 32

// operand reads a column, a literal or a call.
func (p *parser) operand(depth int) (*tree, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	var t *tree
	switch p.kind {
	case textToken:
		t = &tree{kind: textTree, text: p.token}
	case numberToken:
		t = &tree{kind: numberTree, text: p.token}
	case quotedToken:
		t = &tree{kind: columnTree, name: p.token}
	case wordToken:
		t = &tree{kind: columnTree, name: p.token}
		p.next()
		if p.symbol("(") {
			return p.call(t.name, depth)
		}
		return t, nil
	default:
		return nil, p.unexpected("a column, a function or a value")
	}
	p.next()
	return t, nil
}

// call reads the arguments of a function, whose bracket has been opened.
func (p *parser) call(name string, depth int) (*tree, error) {
	f, ok := functions[strings.ToLower(name)]
	if !ok {
		return nil, fmt.Errorf("has an unknown function %s; there are %s", name, strings.Join(functionNames(), ", "))
	}
	t := &tree{kind: callTree, name: strings.ToLower(name)}
	for !p.symbol(")") {
		if len(t.args) > 0 && !p.symbol(",") && !(f.raw && p.word("as")) {
			return nil, p.unexpected(", or )")
		}
		var a *tree
		var err error
		if f.raw && len(t.args) == 1 && p.kind != textToken {
			a = &tree{kind: textTree, text: p.raw(t.name != "cast")}
		} else if a, err = p.operand(depth + 1); err != nil {
			return nil, err
		}
		t.args = append(t.args, a)
	}
	if n := len(t.args); n < f.least || n > f.most {
		return nil, fmt.Errorf("has %s with %d arguments: it is written %s", t.name, n, f.usage)
	}
	return t, nil
}
