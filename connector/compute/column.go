package compute

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sink/table"
)

// Expression is a computed column as it was written.
type Expression struct{ tree *tree }

// Parse reads an expression: a function of columns, such as date_format(created, 'yyyy-MM-dd'). Functions, patterns and
// counts of arguments are checked; columns and types are when it is bound.
func Parse(text string) (*Expression, error) {
	p := newParser(text)
	t, err := p.operand(0)
	if err == nil && p.kind != endToken {
		err = p.unexpected("the end")
	}
	if err != nil {
		return nil, err
	}
	if len(t.columns(nil)) == 0 && t.kind == callTree {
		return nil, fmt.Errorf("%s reads no column", t)
	}
	if err := t.checkPatterns(); err != nil {
		return nil, err
	}
	return &Expression{t}, nil
}

// checkPatterns finds bad patterns before there is a table to bind to.
func (t *tree) checkPatterns() error {
	if t.kind == callTree && t.name == "date_format" && t.args[1].kind == textTree {
		if _, err := parsePattern(t.args[1].text); err != nil {
			return err
		}
	}
	if t.kind == callTree && t.name == "cast" && t.args[1].kind == textTree {
		if _, err := table.ParseType(t.args[1].text); err != nil {
			return err
		}
	}
	for _, a := range t.args {
		if err := a.checkPatterns(); err != nil {
			return err
		}
	}
	return nil
}

// Columns returns the columns that the expression reads, in order of appearance.
func (e *Expression) Columns() []string { return e.tree.columns(nil) }

// String is the expression again.
func (e *Expression) String() string { return e.tree.String() }

// Type returns the type of the results for rows of the given columns. It is NOT NULL where all that it reads is.
func (e *Expression) Type(fields []table.Field) (table.Type, error) {
	t, err := bind(e.tree, fields)
	return t.typ, err
}

// Program computes one column of a table. It has one owner.
type Program struct {
	node
	column int
	types  table.Type
	name   string
}

// Bind compiles the expression for a column of a table whose batches have the schema's columns.
func (e *Expression) Bind(s *table.Schema, column string) (*Program, error) {
	at := s.FieldIndex(column)
	if at < 0 {
		return nil, fmt.Errorf("computed column %s is not in the table", column)
	}
	t, err := bind(e.tree, s.Fields)
	if err != nil {
		return nil, fmt.Errorf("computed column %s: %w", column, err)
	}
	p := &Program{node: t.node, column: at, types: s.Fields[at].Type, name: column}
	if !sameKind(t.typ, p.types) {
		cast, err := table.NewCast(t.typ, p.types)
		if err != nil || !widens(t.typ, p.types) {
			return nil, fmt.Errorf("computed column %s is %s in the table, but the expression gives %s: write cast(..., %s)", column, p.types, t.typ, p.types)
		}
		p.node = &each{t.node, func(c cell) (cell, error) {
			w, b, null, err := cast(c.word, c.bytes)
			return cell{null, w, b}, err
		}}
	}
	return p, nil
}

// sameKind reports whether cells of one type are those of the other.
func sameKind(a, b table.Type) bool {
	a.NotNull, b.NotNull = false, false
	return a.Equal(b) || isText(a) && b.Root == table.VarChar && b.Length == table.MaxLength
}

// widens reports whether every value of one type is one of the other.
func widens(from, to table.Type) bool {
	return isInteger(from) && isInteger(to) && from.Root <= to.Root
}

// Column is the position of the column in the table.
func (p *Program) Column() int { return p.column }

// Append computes the cell of a row, whose columns but for the computed ones are there, and appends it. A null for a
// NOT NULL column is an error; on an error nothing is appended.
func (p *Program) Append(b *table.Batch, row int) error {
	c, err := p.eval(b, row)
	if err != nil {
		return fmt.Errorf("computed column %s: %w", p.name, err)
	}
	v := &b.Columns[p.column]
	switch {
	case c.null && p.types.NotNull:
		return fmt.Errorf("computed column %s is null, and is NOT NULL in the table", p.name)
	case c.null:
		v.AppendNull()
	case v.Layout == table.Words:
		v.AppendWord(c.word)
	default:
		v.AppendBytes(c.bytes)
	}
	return nil
}

// bind gives a tree its columns and types.
func bind(t *tree, fields []table.Field) (typed, error) {
	switch t.kind {
	case columnTree:
		i := slices.IndexFunc(fields, func(f table.Field) bool { return f.Name == t.name })
		if i < 0 {
			return typed{}, fmt.Errorf("there is no column %s%s", t.name, similar(t.name, fields))
		}
		return typed{node: column(i), typ: fields[i].Type}, nil
	case textTree:
		typ := stringType
		typ.NotNull = true
		return typed{node: constant{bytes: []byte(t.text)}, typ: typ, literal: t}, nil
	case numberTree:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return typed{}, fmt.Errorf("the number %s is no whole number: write it as text, in a cast", t.text)
		}
		return typed{node: constant{word: n}, typ: table.Type{Root: table.BigInt, NotNull: true}, literal: t}, nil
	}
	c := &call{name: t.name, tree: t}
	for _, a := range t.args {
		arg, err := bind(a, fields)
		if err != nil {
			return typed{}, err
		}
		c.args = append(c.args, arg)
	}
	return functions[t.name].bind(c)
}

// mostNamed is how many columns a message names.
const mostNamed = 30

// similar names the column that differs in case only; else those there are.
func similar(name string, fields []table.Field) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return fmt.Sprintf("; there is %s", f.Name)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	names := make([]string, 0, mostNamed)
	for _, f := range fields[:min(len(fields), mostNamed)] {
		names = append(names, f.Name)
	}
	more := ""
	if n := len(fields) - mostNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("; there are: %s%s", strings.Join(names, ", "), more)
}
