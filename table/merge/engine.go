package merge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sink/table"
)

// Engine is the merge engine of a table, for rows of some of its columns. It is never changed and may be shared.
type Engine struct {
	name         string
	fields       []table.Field // of the batches
	ignoreDelete bool
	removes      bool         // a -D removes the whole row
	aggregates   []*aggregate // one a column; nil: none
	grouped      bool         // the table has sequence groups, perhaps of columns that are not read
	groups       []group
	groupOf      []int // one a column: index in groups, -1 for none
}

// aggregate is the function of a column.
type aggregate struct {
	*table.Aggregate
	field table.Field
}

// group is a sequence group; the positions are those in the batches.
type group struct {
	sequence []int
	removing []int // those of sequence at which a -D removes the whole row
}

// New returns the merge engine of a table for rows that have the given columns, positions in s.Fields; nil stands for
// deduplicate, of which nothing has to be known: the newest row stays. The columns are closed under [Needs].
func New(s *table.Schema, columns []int) (*Engine, error) {
	e := &Engine{name: s.MergeEngine()}
	for _, c := range columns {
		e.fields = append(e.fields, s.Fields[c])
	}
	var err error
	if e.ignoreDelete, err = s.OptionBool("ignore-delete"); err != nil {
		return nil, err
	}
	switch e.name {
	case table.Deduplicate:
		if !e.ignoreDelete {
			return nil, nil
		}
		return e, nil
	case table.FirstRow:
		return e, nil
	case table.PartialUpdate:
		if e.removes, err = s.OptionBool("partial-update.remove-record-on-delete"); err != nil {
			return nil, err
		}
		return e, e.setGroups(s, columns)
	case table.Aggregation:
		if e.removes, err = s.OptionBool("aggregation.remove-record-on-delete"); err != nil {
			return nil, err
		}
		return e, e.setAggregates(s, columns, nil)
	}
	return nil, fmt.Errorf("option merge-engine is %q, which is no merge engine", e.name)
}

func (e *Engine) setGroups(s *table.Schema, columns []int) error {
	groups, err := s.SequenceGroups()
	if err != nil {
		return err
	}
	e.grouped = len(groups) > 0
	e.groupOf = slices.Repeat([]int{-1}, len(columns))
	removing := removingColumns(s)
	for _, g := range groups {
		at := positionsOf(g.Sequence, columns)
		if slices.Contains(at, -1) {
			continue // none of its columns is read
		}
		var removes []int
		for i, c := range g.Sequence {
			if slices.Contains(removing, c) {
				removes = append(removes, at[i])
			}
		}
		e.groups = append(e.groups, group{at, removes})
		for _, c := range positionsOf(append(slices.Clone(g.Columns), g.Sequence...), columns) {
			if c >= 0 {
				e.groupOf[c] = len(e.groups) - 1
			}
		}
	}
	return e.setAggregates(s, columns, groups)
}

func (e *Engine) setAggregates(s *table.Schema, columns []int, groups []table.SequenceGroup) error {
	found, problems := s.Aggregates(groups)
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for _, c := range columns {
		if found[c] == nil {
			e.aggregates = append(e.aggregates, nil)
		} else {
			e.aggregates = append(e.aggregates, &aggregate{found[c], s.Fields[c]})
		}
	}
	return nil
}

// removingColumns returns the columns of partial-update.remove-record-on-sequence-group.
func removingColumns(s *table.Schema) []int {
	names := s.Option("partial-update.remove-record-on-sequence-group")
	if names == "" {
		return nil
	}
	return s.Indexes(strings.Split(names, ","))
}

// positionsOf returns where the columns wanted are among those there are, -1 for one that is not.
func positionsOf(want, columns []int) []int {
	at := make([]int, len(want))
	for i, c := range want {
		at[i] = slices.Index(columns, c)
	}
	return at
}

func intersect(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// Needs returns the columns, positions in s.Fields, that have to be read beside the given ones so that these come out right.
func Needs(s *table.Schema, columns []int) ([]int, error) {
	if s.MergeEngine() != table.PartialUpdate {
		return nil, nil
	}
	groups, err := s.SequenceGroups()
	if err != nil {
		return nil, err
	}
	removing := removingColumns(s)
	var more []int
	for _, g := range groups {
		if !intersect(g.Columns, columns) && !intersect(g.Sequence, columns) && !intersect(g.Sequence, removing) {
			continue
		}
		for _, c := range g.Sequence {
			if !slices.Contains(columns, c) && !slices.Contains(more, c) {
				more = append(more, c)
			}
		}
	}
	return more, nil
}

// Refuses tells why the table takes no rows of a kind; nil when it does. A row that the engine cannot merge would
// otherwise lie in the table until it meets another one of its key, and then no reader could read that key.
func (e *Engine) Refuses(k table.Kind) error {
	if e == nil || !k.Retracts() || e.ignoreDelete {
		return nil
	}
	switch e.name {
	case table.FirstRow:
		return fmt.Errorf("merge-engine first-row takes no row of kind %s: set option ignore-delete", k)
	case table.PartialUpdate:
		if !e.removes && !e.grouped {
			return e.refusesRetraction(k)
		}
	case table.Aggregation:
		if e.removes && k == table.Delete {
			return nil
		}
		for _, a := range e.aggregates {
			if !a.Retracts() {
				return a.refusesRetraction(k)
			}
		}
	}
	return nil
}

func (e *Engine) refusesRetraction(k table.Kind) error {
	return fmt.Errorf("merge-engine %s takes no row of kind %s: set option ignore-delete, partial-update.remove-record-on-delete, "+
		"or fields.<sequence column>.sequence-group", e.name, k)
}

func (a *aggregate) refusesRetraction(k table.Kind) error {
	return fmt.Errorf("column %s: function %s cannot take back what a row of kind %s takes away: set option fields.%s.ignore-retract or ignore-delete",
		a.field.Name, a.Function, k, a.field.Name)
}

// Associative reports whether rows of a key may be merged in any grouping: some now, the result with others later, be they
// older or newer.
func (e *Engine) Associative() bool {
	return e == nil || e.name == table.Deduplicate || e.name == table.FirstRow
}

// What Function.Merge has done.
const (
	Made = -1 // it has appended a row
	None = -2 // nothing is left
)

// Function merges the rows of one key after the other. It has memory of its own, and one owner.
type Function interface {
	// Merge makes one row of the rows of a key, oldest first, of which there are two at least. It returns the index of the
	// row that stays as it is, or Made when it has appended one to out, whose sequence number it returns, or None. An error
	// names the column, where there is one.
	Merge(rows table.Rows, out *table.Batch) (kept int, seq int64, err error)
}

// Function returns a new Function; nil for the nil Engine.
func (e *Engine) Function() Function {
	if e == nil {
		return nil
	}
	switch e.name {
	case table.FirstRow:
		return firstRow{e}
	case table.PartialUpdate:
		return newPartialUpdate(e)
	case table.Aggregation:
		return newAggregation(e)
	}
	return lastNotDeleted{}
}
