package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// position is a place in the file; both count from 1.
type position struct{ line, column int }

// Problem is one thing wrong with a configuration file.
type Problem struct {
	File   string
	Line   int // from 1; 0 where the file as a whole is meant
	Column int // from 1
	Key    string
	Text   string // what is wrong and the way out
}

// Error returns "file:line:column: key: text".
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problem returns a problem at a key of the file, such as "tables[0].columns.amount": for checks that need more than
// this package knows. Where the file does not have the key, the nearest one above it is meant.
func (c *Config) Problem(key, format string, args ...any) error {
	at := place(c.at, key)
	return &Problem{File: c.file, Line: at.line, Column: at.column, Key: key, Text: fmt.Sprintf(format, args...)}
}

// File returns the name of the file that the configuration was read from.
func (c *Config) File() string { return c.file }

// place finds a key, or the nearest one above it.
func place(at map[string]position, key string) position {
	for key != "" {
		if p, ok := at[key]; ok {
			return p
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return position{1, 1}
}

// join returns the problems as one error, in the order of the file.
func join(problems []*Problem) error {
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}
