package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sink/connector/compute"
	"sink/table"
	"sink/table/scan"
)

// choice is the flag --where: a condition on rows, in the grammar of filters in sink.yaml.
type choice struct {
	text   string
	filter *compute.Filter
}

// addTo adds the flag.
func (w *choice) addTo(cmd *cobra.Command) {
	cmd.Flags().Var(w, "where", "only rows for which this holds, such as \"amount > 10 and status in ('NEW', 'PAID') and not note is null\"")
}

// Set, String and Type make it a flag.
func (w *choice) Set(text string) (err error) {
	w.text = text
	w.filter, err = compute.ParseFilter(text)
	return err
}

func (w *choice) String() string { return w.text }

// Type names the kind of value in help texts.
func (w *choice) Type() string { return "condition" }

// on returns the condition for rows of a table; nil if there is none. The error is the user's to mend.
func (w *choice) on(s *table.Schema) (scan.Where, error) {
	if w.filter == nil {
		return nil, nil
	}
	for _, name := range w.filter.Columns() {
		if s.FieldIndex(name) < 0 {
			return nil, misusef("--where %q: the table has no column %s; the columns are %s", w.text, name, strings.Join(s.Names(), ", "))
		}
	}
	if _, err := w.filter.Bind(s); err != nil {
		return nil, misusef("--where %q: %w", w.text, err)
	}
	return rowsWhere{w.filter}, nil
}

// rowsWhere is a filter as a scan takes it.
type rowsWhere struct{ *compute.Filter }

func (w rowsWhere) Bind(fields []table.Field) (scan.Condition, error) {
	p, err := w.Filter.Bind(&table.Schema{Fields: fields})
	if err != nil {
		return nil, fmt.Errorf("--where: %w", err)
	}
	return rowCondition{p}, nil
}

type rowCondition struct{ *compute.Predicate }

func (c rowCondition) Match(b *table.Batch, row int) (bool, error) {
	truth, err := c.Predicate.Match(b, row)
	return truth == compute.True, err
}
