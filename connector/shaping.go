package connector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sink/connector/compute"
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

// Unplaced returns the columns of a primary key, those of the partition among them, that the record key does not tell: they are
// none of its columns, under the table's names, nor made from those. A change without the whole row before it says
// not where its row lies. Without a record key there are none.
func (t *Table) Unplaced(primaryKey, key []string) (columns []string) {
	if len(key) == 0 {
		return nil
	}
	for _, column := range primaryKey {
		_, told := t.Metadata[column]
		for _, computed := range t.Shaping.Computed {
			told = told || computed.Name == column && !slices.ContainsFunc(computed.Expression.Columns(), func(input string) bool { return !slices.Contains(key, input) })
		}
		if !told && !slices.Contains(key, column) {
			columns = append(columns, column)
		}
	}
	return columns
}

// UnplacedRemedy says what a column that is [Table.Unplaced] means, and what a user can do about it.
func UnplacedRemedy(column string) string {
	return fmt.Sprintf("column %s is part of the primary key but not of the record key: an update or delete without the whole row before it cannot be placed; "+
		"let the source send whole rows (PostgreSQL: REPLICA IDENTITY FULL, MySQL: binlog_row_image=FULL), or put %[1]s into the key (message.key.columns)", column)
}
