package connector

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"sink/connector/compute"
	"sink/debezium"
	"sink/table"
)

// finisher completes the rows of events: computed columns, then the row filter. It belongs to a plan.
type finisher struct {
	programs []program
	filter   *compute.Predicate
	inFilter []int // columns that the filter reads
	inKey    []bool
	late     *lateness // nil: every row is written, whatever its partition
	images   bool      // each row is taken or not by itself: an append table keeps what was said, not what is
	scratch  *table.Batch
}

// program is a computed column with the columns that it reads.
type program struct {
	*compute.Program
	name   string
	reads  []int
	needed bool // NOT NULL: a value has to be known
}

// finisher binds what a mapping computes and filters; nil when that is nothing.
func (s *Shaping) finisher(schema *table.Schema, key []int, late *lateness) (*finisher, error) {
	if len(s.Computed) == 0 && s.Filter == nil && late == nil {
		return nil, nil
	}
	f := &finisher{inKey: make([]bool, len(schema.Fields)), scratch: table.NewBatch(schema.Fields), late: late, images: schema.Append()}
	for _, i := range key {
		f.inKey[i] = true
	}
	var errs []error
	for _, c := range s.Computed {
		p, err := c.Expression.Bind(schema, c.Name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f.programs = append(f.programs, program{p, c.Name, schema.Indexes(c.Expression.Columns()), schema.Fields[p.Column()].Type.NotNull})
	}
	if s.Filter != nil {
		var err error
		if f.filter, err = s.Filter.Bind(schema); err != nil {
			errs = append(errs, fmt.Errorf("filter: %w", err))
		}
		f.inFilter = schema.Indexes(s.Filter.Columns())
	}
	return f, errors.Join(errs...)
}

// rowsKnown says what is known of the rows of an event.
type rowsKnown struct {
	keyOnly     bool  // nothing but the record key
	unavailable []int // columns that the source did not send
	poor        bool  // it is less than what a changelog asks for, and on-missing-before accepts it
}

// knows reports whether all of some columns are known.
func (f *finisher) knows(k rowsKnown, columns []int) bool {
	for _, c := range columns {
		if k.keyOnly && !f.inKey[c] || slices.Contains(k.unavailable, c) {
			return false
		}
	}
	return true
}

// complete computes the columns of the rows from first on. A key that cannot be computed is an error.
func (f *finisher) complete(b *table.Batch, first int, known rowsKnown) error {
	for i := range f.programs {
		p := &f.programs[i]
		if f.knows(known, p.reads) {
			for row := first; row < b.Len(); row++ {
				if err := p.Append(b, row); err != nil {
					return err
				}
			}
			continue
		}
		if p.needed {
			return fmt.Errorf("computed column %s cannot be known: the event does not have all the columns that it is computed from, so that nobody can tell where the row lies", p.name)
		}
		for range b.Len() - first {
			b.Columns[p.Column()].AppendNull()
		}
	}
	return nil
}

// errFilterUnknown is a filter that cannot be decided.
var errFilterUnknown = errors.New("the row filter reads a column whose value the source did not send")

// filtered takes away the rows from first on that the filter does not want, and reports whether any is left. What is no
// more than a key is kept: a delete of a row that is not there does no harm.
func (f *finisher) filtered(b *table.Batch, first int, known rowsKnown) (bool, error) {
	switch {
	case f.filter == nil || known.keyOnly:
		return true, nil
	case !f.knows(known, f.inFilter):
		return false, errFilterUnknown
	}
	return f.keep(b, first, func(row int) (bool, error) {
		truth, err := f.filter.Match(b, row)
		return truth == compute.True, err
	})
}

// keep takes away the rows from first on that are not wanted, and reports whether any is left. An update that comes to be
// wanted is an insert to those who read the table, one that ceases to be a delete.
func (f *finisher) keep(b *table.Batch, first int, wanted func(row int) (bool, error)) (bool, error) {
	was, err := wanted(first)
	if err != nil {
		return false, err
	}
	if b.Len()-first == 1 {
		switch {
		case was:
			return true, nil
		case b.Kinds[first] == table.UpdateAfter && !f.images: // it may have been in the table before
			b.Kinds[first] = table.Delete
			return true, nil
		}
		b.Truncate(first)
		return false, nil
	}
	is, err := wanted(first + 1)
	switch {
	case err != nil:
		return false, err
	case was && is:
	case was:
		b.Truncate(first + 1)
		b.Kinds[first] = table.Delete
	case is:
		f.scratch.Reset()
		f.scratch.AppendRow(b, first+1)
		b.Truncate(first)
		b.AppendRow(f.scratch, 0)
		b.Kinds[first] = table.Insert
	default:
		b.Truncate(first)
		return false, nil
	}
	return true, nil
}

// reasonLate is a row for a partition that has expired.
const reasonLate = "late-partition"

// reasonFiltered is a record of which the filter takes no row.
const reasonFiltered = "filtered"

// errLate is a row for a partition that has expired, where such a row is refused.
var errLate = errors.New("a row for a partition that has expired (partition.expiration-time)")

// onTime drops the rows whose partition has expired, or refuses them all.
func (f *finisher) onTime(b *table.Batch, first int) (bool, error) {
	if f.late == nil {
		return true, nil
	}
	now := time.Now()
	late := func(row int) bool { return f.late.late(b, row, now) }
	switch {
	case f.late.refuses:
		for row := first; row < b.Len(); row++ {
			if late(row) {
				return false, errLate
			}
		}
		return true, nil
	case b.Len()-first == 1 && late(first):
		b.Truncate(first)
		return false, nil
	}
	return f.keep(b, first, func(row int) (bool, error) { return !late(row), nil })
}

// finish completes the rows that an event has just appended and takes away those that the table does not want; where none is
// left it returns why. On an error they are gone.
func (f *finisher) finish(b *table.Batch, first int, known rowsKnown) (dropped string, err error) {
	left := true
	if err = f.complete(b, first, known); err == nil {
		if left, err = f.onTime(b, first); !left {
			dropped = reasonLate
		}
	}
	if err == nil && left {
		if left, err = f.filtered(b, first, known); !left {
			dropped = reasonFiltered
		}
	}
	if err != nil {
		b.Truncate(first)
	}
	return dropped, err
}

// finish completes the rows of the record at hand, see [finisher.finish].
func (w *worker) finish(p *plan, first int, known rowsKnown) error {
	if p.finisher == nil {
		return nil
	}
	dropped, err := p.finisher.finish(w.writer.Batch(), first, known)
	switch {
	case errors.Is(err, errLate):
		return &refusal{reason: reasonLate, err: fmt.Errorf("%s: %w", w.at(), err)}
	case err == nil:
		w.skipIf(dropped != "", dropped)
		return nil
	}
	reason := debezium.ReasonRange
	if known.keyOnly || errors.Is(err, errFilterUnknown) {
		reason = debezium.ReasonUnavailable
	}
	r := &w.intake.record
	return &debezium.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Reason: reason, Err: err}
}
