package scan

import (
	"fmt"
	"slices"
	"strings"

	"sink/table"
	"sink/table/datafile"
	"sink/table/merge"
)

// columns says which columns are read from files and how rows are made of them.
type columns struct {
	schema *table.Schema
	out    []source      // one a column of the rows
	fields []table.Field // of the rows
	read   []int         // positions in schema.Fields of what is read from files
	merge  datafile.MergeConfig
}

// source is where a column of the rows comes from.
type source struct {
	partition bool // from the manifest, not from the file
	index     int  // among the partition columns, or in columns.read
}

// newColumns returns the columns of rows with the given columns of a schema. With merge the columns that merging needs
// are read as well.
func newColumns(s *table.Schema, want []int, merge bool) (*columns, error) {
	c := &columns{schema: s}
	for _, i := range want {
		f := s.Fields[i]
		c.fields = append(c.fields, f)
		if at := slices.Index(s.PartitionKeys, f.Name); at >= 0 {
			c.out = append(c.out, source{partition: true, index: at})
		} else {
			c.out = append(c.out, source{index: c.add(i)})
		}
	}
	if merge {
		return c, c.prepareMerge()
	}
	return c, nil
}

// prepareMerge reads what merging needs as well, and sets how the rows of a key become one.
func (c *columns) prepareMerge() error {
	s, m := c.schema, &c.merge
	if s.Append() {
		return nil
	}
	for _, i := range s.Indexes(s.TrimmedPrimaryKeys()) {
		m.Key = append(m.Key, c.add(i))
	}
	for _, name := range s.SequenceFields() {
		i := s.FieldIndex(name)
		if i < 0 {
			return fmt.Errorf("option sequence.field names a column %q that is not there", name)
		}
		m.SequenceFields = append(m.SequenceFields, c.add(i))
	}
	switch order := s.Option("sequence.field.sort-order"); {
	case strings.EqualFold(order, "descending"):
		m.Descending = true
	case !strings.EqualFold(order, "ascending"):
		return fmt.Errorf("option sequence.field.sort-order is %q, want ascending or descending", order)
	}
	more, err := merge.Needs(s, c.read)
	if err != nil {
		return err
	}
	for _, i := range more {
		c.add(i)
	}
	m.Fields = c.readFields()
	m.Engine, err = merge.New(s, c.read)
	return err
}

// add makes sure that a column is read, and returns its position in read.
func (c *columns) add(field int) int {
	if at := slices.Index(c.read, field); at >= 0 {
		return at
	}
	c.read = append(c.read, field)
	return len(c.read) - 1
}

// readFields returns the fields of what is read from files.
func (c *columns) readFields() []table.Field {
	fields := make([]table.Field, len(c.read))
	for i, at := range c.read {
		fields[i] = c.schema.Fields[at]
	}
	return fields
}

// positions returns the positions of columns by name, all columns for nil.
func positions(s *table.Schema, names []string) ([]int, error) {
	if names == nil {
		all := make([]int, len(s.Fields))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	at := s.Indexes(names)
	for i, p := range at {
		if p < 0 {
			return nil, fmt.Errorf("no column %q; the columns are %s", names[i], strings.Join(s.Names(), ", "))
		}
	}
	return at, nil
}

// constants are the partition columns of a split as vectors that grow with the longest batch.
type constants struct {
	row  *table.Batch
	long []table.Vector
}

// assemble makes rows of what was read, without copying cells. It sets the columns and the kinds of dst.
func (c *columns) assemble(dst, read *table.Batch, partition *constants) {
	dst.Kinds = read.Kinds
	dst.Columns = dst.Columns[:0]
	for _, s := range c.out {
		if s.partition {
			dst.Columns = append(dst.Columns, partition.column(s.index, read.Len()))
		} else {
			dst.Columns = append(dst.Columns, read.Columns[s.index])
		}
	}
}

// column returns n times the value of a partition column.
func (p *constants) column(i, n int) table.Vector {
	if p.long == nil {
		p.long = make([]table.Vector, len(p.row.Columns))
		for j := range p.long {
			p.long[j].Layout = p.row.Columns[j].Layout
		}
	}
	long := &p.long[i]
	for long.Len() < n {
		long.AppendCell(&p.row.Columns[i], 0)
	}
	v := table.Vector{Layout: long.Layout, Data: long.Data}
	if long.Layout == table.Words {
		v.Words = long.Words[:n:n]
	} else {
		v.Ends = long.Ends[:n:n]
	}
	if long.Nulls != nil {
		v.Nulls = long.Nulls[:n:n]
	}
	return v
}
