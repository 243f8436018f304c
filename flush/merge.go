package flush

import (
	"errors"
	"fmt"

	"sink/table"
	"sink/table/merge"
)

// ErrMerge is in the errors of a flush that the rows themselves cause: the merge engine cannot make one row of those of a
// key. The same flush fails again.
var ErrMerge = errors.New("rows cannot be merged")

// ErrKind is in the error of [Writer.Add] for a row of a kind that the table's merge engine takes no rows of.
var ErrKind = errors.New("the table takes no such row")

// group are sorted rows of some keys: by key and, within a key, oldest first.
type group struct {
	rows table.Rows
	ends []int // where the rows of each key end
}

// merger makes of the rows of each key the row of the data file, by the table's merge engine. It is the memory for it.
type merger struct {
	function merge.Function // nil: the newest row stays
	made     *table.Batch   // rows that the function made
	out      table.Rows
}

// newMerger returns the merger of a table: an engine of nil is deduplicate.
func newMerger(e *merge.Engine, fields []table.Field) *merger {
	m := &merger{function: e.Function()}
	if m.function != nil {
		m.made = table.NewBatch(fields)
	}
	return m
}

// merge returns the rows of the data file, one or none a key, in key order; valid until the next call.
func (m *merger) merge(in *group) (table.Rows, error) {
	m.out.Refs, m.out.Seqs = m.out.Refs[:0], m.out.Seqs[:0]
	if m.function != nil {
		return m.out, m.mergeRows(in)
	}
	m.out.Batches = in.rows.Batches
	for _, end := range in.ends {
		m.out.Refs = append(m.out.Refs, in.rows.Refs[end-1])
		m.out.Seqs = append(m.out.Seqs, in.rows.Seqs[end-1])
	}
	return m.out, nil
}

// mergeRows gives the rows of each key to the function, unless there is only one.
func (m *merger) mergeRows(in *group) error {
	m.made.Reset()
	m.out.Batches = append(append(m.out.Batches[:0], in.rows.Batches...), m.made)
	from := 0
	for _, end := range in.ends {
		rows := in.rows.Slice(from, end)
		kept, seq := 0, int64(0)
		if len(rows.Refs) > 1 {
			var err error
			if kept, seq, err = m.function.Merge(rows, m.made); err != nil {
				return fmt.Errorf("%w: %w", ErrMerge, err)
			}
		}
		switch {
		case kept == merge.Made:
			m.out.Refs = append(m.out.Refs, table.MakeRef(len(m.out.Batches)-1, m.made.Len()-1))
			m.out.Seqs = append(m.out.Seqs, seq)
		case kept != merge.None:
			m.out.Refs, m.out.Seqs = append(m.out.Refs, rows.Refs[kept]), append(m.out.Seqs, rows.Seqs[kept])
		}
		from = end
	}
	return nil
}

// release forgets the rows but keeps the memory.
func (m *merger) release() {
	if m.function != nil {
		clear(m.out.Batches)
	}
	m.out.Batches = m.out.Batches[:0:0]
	if m.function != nil {
		m.made.Reset()
	}
}
