package merge

import (
	"fmt"

	"sink/table"
)

// aggregation gives each column to its function (org.apache.paimon.mergetree.compact.aggregate.AggregateMergeFunction).
type aggregation struct {
	engine  *Engine
	columns []*column
	line    line
}

func newAggregation(e *Engine) *aggregation {
	return &aggregation{engine: e, columns: newColumns(e), line: make(line, len(e.fields))}
}

// newColumns returns the functions of the columns; nil where there is none.
func newColumns(e *Engine) []*column {
	columns := make([]*column, len(e.aggregates))
	for i, a := range e.aggregates {
		if a != nil {
			columns[i] = newColumn(a)
		}
	}
	return columns
}

// Merge implements Function. The row is an insert, unless the newest row removes it.
func (f *aggregation) Merge(rows table.Rows, out *table.Batch) (int, int64, error) {
	clear(f.line)
	for _, c := range f.columns {
		c.begun = false
	}
	kind := table.Insert
	for i, r := range rows.Refs {
		b, row := rows.Batches[r.Batch()], r.Row()
		k := b.Kinds[row]
		if f.engine.removes && k == table.Delete {
			kind = table.Delete
			f.line.start(f.engine.fields, b, row)
			continue
		}
		kind = table.Insert
		for c, column := range f.columns {
			var err error
			in := cellOf(&b.Columns[c], row)
			if k.Retracts() {
				f.line[c], err = column.retract(f.line[c], in, k)
			} else {
				f.line[c], err = column.add(column, f.line[c], in)
			}
			if err != nil {
				return 0, 0, fmt.Errorf("merge rows of sequence number %d and older: %w", rows.Seqs[i], err)
			}
		}
	}
	f.line.appendTo(out, kind)
	return Made, rows.Seqs[rows.Len()-1], nil
}
