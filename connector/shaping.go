package connector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sink/connector/compute"
	"sink/debezium"
	"sink/table"
)

// Shaping is how the rows of a table differ from those of their source. The zero value changes nothing.
type Shaping struct {
	Include  []string          // columns of the source to take; empty: all
	Exclude  []string          // columns of the source to leave out
	Rename   map[string]string // column of the source to column of the table
	Lower    bool              // names of columns become lower case: the catalog does not tell cases apart
	Computed []Computed        // columns made of others
	Filter   *compute.Filter   // the rows to keep; nil: all
}

// Computed is a column that is computed from others of the table. It may be part of the primary key or of the partition.
type Computed struct {
	Name       string
	Expression *compute.Expression
}

// column returns the name in the table of a column of the source, false for one that is left out.
func (s *Shaping) column(source string) (string, bool) {
	if len(s.Include) > 0 && !slices.Contains(s.Include, source) || slices.Contains(s.Exclude, source) {
		return source, false
	}
	if name, ok := s.Rename[source]; ok {
		return name, true
	}
	if s.Lower {
		return strings.ToLower(source), true
	}
	return source, true
}

// columns returns the names in the table of key columns; those that are left out keep theirs, for the checks to come.
func (s *Shaping) columns(sources []string) []string {
	out := make([]string, len(sources))
	for i, name := range sources {
		out[i], _ = s.column(name)
	}
	return out
}

// plain reports whether columns keep their names and all are taken.
func (s *Shaping) plain() bool {
	return len(s.Include) == 0 && len(s.Exclude) == 0 && len(s.Rename) == 0 && !s.Lower
}

// ignored returns what tells the columns that are left out; nil for none.
func (s *Shaping) ignored() func(string) bool {
	if len(s.Include) == 0 && len(s.Exclude) == 0 {
		return nil
	}
	return func(name string) bool { _, taken := s.column(name); return !taken }
}

func (s *Shaping) computedNames() []string {
	names := make([]string, len(s.Computed))
	for i, c := range s.Computed {
		names[i] = c.Name
	}
	return names
}

// fields returns the columns that a source's become. Two that would be one are refused, both named.
func (s *Shaping) fields(sources []table.Field) ([]table.Field, error) {
	if s.plain() {
		return sources, nil
	}
	var out []table.Field
	from := map[string]string{}
	var errs []error
	for _, f := range sources {
		name, taken := s.column(f.Name)
		if !taken {
			continue
		}
		if first, twice := from[name]; twice {
			errs = append(errs, fmt.Errorf("columns %s and %s of the source would both be column %s of the table: rename one of them (`rename:`), or leave it out (`exclude-columns:`)", first, f.Name, name))
			continue
		}
		from[name], f.Name = f.Name, name
		out = append(out, f)
	}
	return out, errors.Join(errs...)
}

// Fields returns the columns of the table that the mapping makes of those of the source: shaped, with those that it declares,
// metadata and computed columns. known are columns that the table has beside, which expressions may read.
func (t *Table) Fields(sources, known []table.Field) ([]table.Field, error) {
	fields, err := t.Shaping.fields(sources)
	if err != nil {
		return nil, err
	}
	for _, declared := range t.Columns {
		i := slices.IndexFunc(fields, func(f table.Field) bool { return f.Name == declared.Name })
		if i >= 0 {
			fields[i].Type = declared.Type
		} else {
			fields = append(fields, declared)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Metadata)) {
		if !hasField(fields, name) {
			fields = append(fields, table.Field{Name: name, Type: t.Metadata[name].Type()})
		}
	}
	return t.Shaping.computedFields(fields, known)
}

// KeyColumns returns the columns of the table that those of a record key become.
func (t *Table) KeyColumns(key []string) []string { return t.Shaping.columns(key) }

// CheckFilter tells whether the row filter fits a table.
func (t *Table) CheckFilter(s *table.Schema) error {
	if t.Shaping.Filter == nil {
		return nil
	}
	if _, err := t.Shaping.Filter.Bind(s); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return nil
}

// leftOut marks a column of the table that no column of the source fills. No source has such a name.
const leftOut = " (not taken from the source)"

// sourceSchema returns the table's schema with the columns called as the source calls them, which is what events are
// bound to. sources are the columns of the source where the event declares them.
func (s *Shaping) sourceSchema(schema *table.Schema, sources []table.Field, aside []string) *table.Schema {
	if s.plain() {
		return schema
	}
	back := map[string]string{}
	for source, name := range s.Rename {
		back[name] = source
	}
	for _, f := range sources {
		if name, taken := s.column(f.Name); taken {
			back[name] = f.Name
		}
	}
	call := func(name string) string {
		if source, ok := back[name]; ok {
			return source
		}
		if back, taken := s.column(name); taken && back == name || slices.Contains(aside, name) {
			return name
		}
		return name + leftOut
	}
	out := schema.Clone()
	for i := range out.Fields {
		out.Fields[i].Name = call(out.Fields[i].Name)
	}
	for _, names := range [][]string{out.PrimaryKeys, out.PartitionKeys} {
		for i := range names {
			names[i] = call(names[i])
		}
	}
	return out
}

// computedFields adds the computed columns to those of the table, or gives one that is there its type. known are columns
// that the table has beside.
func (s *Shaping) computedFields(fields, known []table.Field) ([]table.Field, error) {
	readable := fields
	for _, f := range known {
		if !hasField(readable, f.Name) {
			readable = append(slices.Clip(readable), f)
		}
	}
	var errs []error
	for _, c := range s.Computed {
		if hasField(fields, c.Name) {
			continue // declared
		}
		inputs := slices.DeleteFunc(slices.Clone(readable), func(f table.Field) bool { return slices.Contains(s.computedNames(), f.Name) })
		typ, err := c.Expression.Type(inputs)
		if err != nil {
			errs = append(errs, fmt.Errorf("computed column %s: %w", c.Name, err))
			continue
		}
		fields = append(fields, table.Field{Name: c.Name, Type: typ, Description: "computed: " + c.Expression.String()})
	}
	return fields, errors.Join(errs...)
}

func hasField(fields []table.Field, name string) bool {
	return slices.ContainsFunc(fields, func(f table.Field) bool { return f.Name == name })
}

// finisher completes the rows of events: computed columns, then the row filter. It belongs to a plan.
type finisher struct {
	programs []program
	filter   *compute.Predicate
	inFilter []int // columns that the filter reads
	inKey    []bool
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
func (s *Shaping) finisher(schema *table.Schema, key []int) (*finisher, error) {
	if len(s.Computed) == 0 && s.Filter == nil {
		return nil, nil
	}
	f := &finisher{inKey: make([]bool, len(schema.Fields)), scratch: table.NewBatch(schema.Fields)}
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

// keep takes away the rows from first on that the filter does not want, and reports whether any is left. An update that
// enters the filter is an insert to those who read the table, one that leaves it a delete. What is no more than a key is kept:
// a delete of a row that is not there does no harm.
func (f *finisher) keep(b *table.Batch, first int, known rowsKnown) (bool, error) {
	if f.filter == nil || known.keyOnly {
		return true, nil
	}
	if !f.knows(known, f.inFilter) {
		return false, errFilterUnknown
	}
	was, err := f.filter.Match(b, first)
	if err != nil {
		return false, err
	}
	if b.Len()-first == 1 {
		switch {
		case was == compute.True:
			return true, nil
		case b.Kinds[first] == table.UpdateAfter: // it may have been in the table before
			b.Kinds[first] = table.Delete
			return true, nil
		}
		b.Truncate(first)
		return false, nil
	}
	is, err := f.filter.Match(b, first+1)
	switch {
	case err != nil:
		return false, err
	case was == compute.True && is == compute.True:
	case was == compute.True:
		b.Truncate(first + 1)
		b.Kinds[first] = table.Delete
	case is == compute.True:
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

// finish completes the rows that an event has just appended and takes away those that the filter does not want. On an
// error they are gone.
func (w *worker) finish(p *plan, first int, known rowsKnown) error {
	if p.finisher == nil {
		return nil
	}
	b := w.writer.Batch()
	err := p.finisher.complete(b, first, known)
	if err == nil {
		var left bool
		if left, err = p.finisher.keep(b, first, known); !left && err == nil {
			w.skip("filtered")
		}
	}
	if err == nil {
		return nil
	}
	b.Truncate(first)
	reason := debezium.ReasonRange
	if known.keyOnly || errors.Is(err, errFilterUnknown) {
		reason = debezium.ReasonUnavailable
	}
	r := &w.intake.record
	return &debezium.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Reason: reason, Err: err}
}
