package merge

import (
	"fmt"
	"slices"

	"sink/table"
)

// partialUpdate overwrites what a newer row knows (org.apache.paimon.mergetree.compact.PartialUpdateMergeFunction).
type partialUpdate struct {
	engine  *Engine
	columns []*column
	line    line
	empty   []bool // by group: the row has none of its sequence columns
	set     []bool // by column: a sequence column that the row has set
	filled  bool   // the columns that are NOT NULL are there
	removed bool   // by the row that was merged last
}

func newPartialUpdate(e *Engine) *partialUpdate {
	n := len(e.fields)
	return &partialUpdate{engine: e, columns: newColumns(e), line: make(line, n), empty: make([]bool, len(e.groups)), set: make([]bool, n)}
}

// Merge implements Function. The row is an insert when one of its rows is, and the newest does not remove it.
func (f *partialUpdate) Merge(rows table.Rows, out *table.Batch) (int, int64, error) {
	clear(f.line)
	for _, c := range f.columns {
		if c != nil {
			c.begun = false
		}
	}
	f.filled = false
	inserted, seq := false, int64(0)
	for i, r := range rows.Refs {
		b, row := rows.Batches[r.Batch()], r.Row()
		f.removed = false
		var err error
		if k := b.Kinds[row]; k.Retracts() {
			if !f.filled {
				f.line.fill(f.engine.fields, b, row)
				f.filled = true
			}
			if f.engine.ignoreDelete {
				continue
			}
			err = f.retract(b, row, k)
		} else {
			err = f.update(b, row)
			inserted, f.filled = true, true
		}
		if err != nil {
			return 0, 0, fmt.Errorf("merge rows of sequence number %d and older: %w", rows.Seqs[i], err)
		}
		seq = rows.Seqs[i]
	}
	kind := table.Insert
	if f.removed || !inserted {
		kind = table.Delete
	}
	f.line.appendTo(out, kind)
	return Made, seq, nil
}

// fill sets the columns that are NOT NULL.
func (l line) fill(fields []table.Field, b *table.Batch, row int) {
	for c := range l {
		if fields[c].Type.NotNull {
			l[c] = cellOf(&b.Columns[c], row)
		}
	}
}

// update merges a row of kind +I or +U.
func (f *partialUpdate) update(b *table.Batch, row int) error {
	if len(f.engine.groups) == 0 {
		for c := range f.line {
			if in := cellOf(&b.Columns[c], row); in.present {
				f.line[c] = in
			} else if f.engine.fields[c].Type.NotNull {
				return fmt.Errorf("column %s is NOT NULL, but a row has a null", f.engine.fields[c].Name)
			}
		}
		return nil
	}
	f.findEmpty(b, row)
	for c := range f.line {
		if err := f.updateColumn(c, b, row); err != nil {
			return err
		}
	}
	return nil
}

// updateColumn merges a column of a table with sequence groups.
func (f *partialUpdate) updateColumn(c int, b *table.Batch, row int) (err error) {
	in, column, at := cellOf(&b.Columns[c], row), f.columns[c], f.engine.groupOf[c]
	switch {
	case at < 0 && column != nil:
		f.line[c], err = column.add(column, f.line[c], in)
	case at < 0:
		if in.present {
			f.line[c] = in
		}
	case f.empty[at]:
	case f.older(at, b, row):
		if column != nil {
			f.line[c], err = column.addOlder(f.line[c], in)
		}
	case slices.Contains(f.engine.groups[at].sequence, c):
		for _, s := range f.engine.groups[at].sequence {
			f.line[s] = cellOf(&b.Columns[s], row)
		}
	case column != nil:
		f.line[c], err = column.add(column, f.line[c], in)
	default:
		f.line[c] = in
	}
	return err
}

// findEmpty finds the groups whose sequence columns are all null in a row: it does not change them.
func (f *partialUpdate) findEmpty(b *table.Batch, row int) {
	for i, g := range f.engine.groups {
		f.empty[i] = !slices.ContainsFunc(g.sequence, func(c int) bool { return !b.Columns[c].IsNull(row) })
	}
}

// older tells whether a group's sequence columns in a row are lower than those that are there.
func (f *partialUpdate) older(at int, b *table.Batch, row int) bool {
	for _, c := range f.engine.groups[at].sequence {
		if d := compare(&f.engine.fields[c].Type, cellOf(&b.Columns[c], row), f.line[c]); d != 0 {
			return d < 0
		}
	}
	return false
}

// retract merges a row of kind -U or -D.
func (f *partialUpdate) retract(b *table.Batch, row int, k table.Kind) error {
	switch {
	case f.engine.grouped:
	case f.engine.removes:
		if k == table.Delete {
			f.remove(b, row)
		}
		return nil
	default:
		return f.engine.refusesRetraction(k)
	}
	f.findEmpty(b, row)
	clear(f.set)
	for c := range f.line {
		at := f.engine.groupOf[c]
		if at < 0 || f.empty[at] {
			continue
		}
		if err := f.retractColumn(c, &f.engine.groups[at], f.older(at, b, row), b, row, k); err != nil || f.removed {
			return err
		}
	}
	return nil
}

// retractColumn takes back what a row had added to a column of a group.
func (f *partialUpdate) retractColumn(c int, g *group, older bool, b *table.Batch, row int, k table.Kind) (err error) {
	column := f.columns[c]
	switch {
	case older && column == nil:
	case !older && slices.Contains(g.sequence, c):
		for _, s := range g.sequence {
			if f.set[s] {
				continue
			}
			if k == table.Delete && slices.Contains(g.removing, s) {
				f.remove(b, row)
				return nil
			}
			f.line[s], f.set[s] = cellOf(&b.Columns[s], row), true
		}
	case column == nil:
		f.line[c] = cell{}
	default:
		f.line[c], err = column.retract(f.line[c], cellOf(&b.Columns[c], row), k)
	}
	return err
}

// remove makes the row one that is deleted.
func (f *partialUpdate) remove(b *table.Batch, row int) {
	f.removed = true
	f.line.start(f.engine.fields, b, row)
}
