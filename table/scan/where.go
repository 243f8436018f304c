package scan

import (
	"fmt"
	"slices"

	"sink/table"
	"sink/table/datafile"
)

// Where chooses rows. It reads some columns, which are read from files whether they are wanted or not.
type Where interface {
	Columns() []string
	// Bind returns the condition on rows of these fields, which hold all that Columns names.
	Bind(fields []table.Field) (Condition, error)
}

// Condition tells which rows are chosen.
type Condition interface {
	// Match reports whether a row is chosen.
	Match(b *table.Batch, row int) (bool, error)
	// MayMatch reports whether any row may be chosen where statistics tell of the columns what ranges returns. It is false
	// only for certain.
	MayMatch(ranges func(column int) table.Range) bool
}

// chooser leaves out the rows that a condition does not choose, and files and row groups that hold none that it does.
//
// A file may be left out before merging only if none of its keys can be chosen, whatever the other columns say: an older row of a
// key must not come up since the newer one was not read. So of files that are merged with others only key and
// partition columns are looked at.
type chooser struct {
	condition Condition
	fields    []table.Field // that the condition is bound to: the wanted columns, then those that it reads besides
	schema    *table.Schema
	wanted    int
	key       []bool // of fields: part of the primary key, or of the partition
	kept      *table.Batch
	view      table.Batch
	err       error
}

// newChooser returns the chooser of a read, nil where all rows are wanted, with the columns that are to be read for it: the wanted
// ones come first.
func newChooser(s *table.Schema, want []int, where Where) (*chooser, []int, error) {
	if where == nil {
		return nil, want, nil
	}
	more, err := positions(s, where.Columns())
	if err != nil {
		return nil, nil, err
	}
	all := slices.Clone(want)
	for _, i := range more {
		if !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	c := &chooser{schema: s, wanted: len(want)}
	for _, i := range all {
		f := s.Fields[i]
		c.fields = append(c.fields, f)
		c.key = append(c.key, slices.Contains(s.PrimaryKeys, f.Name) || slices.Contains(s.PartitionKeys, f.Name))
	}
	c.kept = table.NewBatch(c.fields[:c.wanted])
	if c.condition, err = where.Bind(c.fields); err != nil {
		return nil, nil, fmt.Errorf("the condition: %w", err)
	}
	return c, all, nil
}

// choose returns the wanted columns of the chosen rows of a batch, which is of the chooser's fields, and possibly more behind them.
func (c *chooser) choose(b *table.Batch) (*table.Batch, error) {
	if c == nil {
		return b, nil
	}
	c.view.Columns, c.view.Kinds = b.Columns[:c.wanted], b.Kinds
	n := b.Len()
	c.kept.Reset()
	all := true
	for i := range n {
		ok, err := c.condition.Match(b, i)
		if err != nil {
			return nil, fmt.Errorf("the condition: %w", err)
		}
		if all && !ok {
			all = false
			for j := range i {
				c.kept.AppendRow(&c.view, j)
			}
		}
		if !all && ok {
			c.kept.AppendRow(&c.view, i)
		}
	}
	if all {
		return &c.view, nil
	}
	return c.kept, nil
}

// choosing hands on only what is chosen. An error of the condition ends it, and is kept.
func (c *chooser) choosing(fn func(*Split, *table.Batch) bool) func(*Split, *table.Batch) bool {
	if c == nil {
		return fn
	}
	return func(s *Split, b *table.Batch) bool {
		chosen, err := c.choose(b)
		if err != nil {
			c.err = err
			return false
		}
		return chosen.Len() == 0 || fn(s, chosen)
	}
}

// failed returns the error that has ended choosing.
func (c *chooser) failed() error {
	if c == nil {
		return nil
	}
	return c.err
}

// keepFiles returns the files that may hold chosen keys.
func (c *chooser) keepFiles(files []table.File, ranges rangesOf) ([]table.File, error) {
	if c == nil {
		return files, nil
	}
	var kept []table.File
	for i := range files {
		may, err := c.mayHold(&files[i], ranges, true)
		if err != nil {
			return nil, err
		}
		if may {
			kept = append(kept, files[i])
		}
	}
	return kept, nil
}

// keepRun returns the files of a run that no other is merged with that may hold chosen rows.
func (c *chooser) keepRun(files datafile.Run, ranges rangesOf) (datafile.Run, error) {
	if c == nil {
		return files, nil
	}
	var kept datafile.Run
	for _, f := range files {
		may, err := c.mayHold(f, ranges, false)
		if err != nil {
			return nil, err
		}
		if may {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// mayHold reports whether a file may hold chosen rows. With keysOnly other columns are not looked at.
func (c *chooser) mayHold(f *table.File, ranges rangesOf, keysOnly bool) (bool, error) {
	if c == nil {
		return true, nil
	}
	r, err := ranges(f)
	if err != nil {
		return false, err
	}
	return c.condition.MayMatch(func(i int) table.Range {
		if keysOnly && !c.key[i] {
			return table.Range{}
		}
		return r.of(c.fields[i])
	}), nil
}

// keepGroups has a reader leave out row groups. The reader's columns are at the given positions among the chooser's fields.
func (c *chooser) keepGroups(r *datafile.Reader, columns *columns, keysOnly bool) {
	if c == nil {
		return
	}
	r.Keep(func(column func(i int) table.Range) bool {
		return c.condition.MayMatch(func(i int) table.Range {
			if out := columns.out[i]; !out.partition && (c.key[i] || !keysOnly) {
				return column(out.index)
			}
			return table.Range{}
		})
	})
}

// fileRanges tells what a file's manifest entry says of its columns.
type fileRanges struct {
	file      *table.File
	schema    *table.Schema // of the file
	partition *table.Batch
	key       *columnBounds
	value     *columnBounds
}

// columnBounds are decoded statistics.
type columnBounds struct {
	names     []string
	low, high *table.Batch
	nulls     []int64
}

func newFileRanges(f *table.File, schema *table.Schema, partition *table.Batch) *fileRanges {
	r := &fileRanges{file: f, schema: schema, partition: partition}
	names := f.ValueStatCols
	if names == nil {
		names = schema.Names()
	}
	r.key = decodeBounds(schema, schema.TrimmedPrimaryKeys(), &f.KeyStats)
	r.value = decodeBounds(schema, names, &f.ValueStats)
	return r
}

// decodeBounds returns nil for statistics that are not there or cannot be read: then nothing is known.
func decodeBounds(s *table.Schema, names []string, stats *table.Stats) *columnBounds {
	at := s.Indexes(names)
	if len(names) == 0 || len(stats.Nulls) != len(names) || slices.Contains(at, -1) {
		return nil
	}
	types := s.TypesOf(at)
	low, err := table.DecodeRow(stats.Min, types)
	if err != nil {
		return nil
	}
	high, err := table.DecodeRow(stats.Max, types)
	if err != nil {
		return nil
	}
	return &columnBounds{names, low, high, stats.Nulls}
}

func (b *columnBounds) of(name string, rows int64) table.Range {
	if b == nil {
		return table.Range{}
	}
	i := slices.Index(b.names, name)
	if i < 0 {
		return table.Range{}
	}
	return table.NewRange(&b.low.Columns[i], &b.high.Columns[i], 0, b.nulls[i], rows)
}

// of returns what is known of a column as the read has it: by its id in the schema of the file. Of one that has changed its type
// nothing is, one that the file's schema did not have is null.
func (r *fileRanges) of(f table.Field) table.Range {
	rows := r.file.Rows
	i := slices.IndexFunc(r.schema.Fields, func(have table.Field) bool { return have.ID == f.ID })
	if i < 0 {
		return table.Range{Nulls: rows, Rows: rows}
	}
	have := r.schema.Fields[i]
	if !have.Type.Nullable().Equal(f.Type.Nullable()) || f.Type.Nested() {
		return table.Range{}
	}
	if p := slices.Index(r.schema.PartitionKeys, have.Name); p >= 0 {
		cell := &r.partition.Columns[p]
		if cell.IsNull(0) {
			return table.Range{Nulls: rows, Rows: rows}
		}
		return table.NewRange(cell, cell, 0, 0, rows)
	}
	if out := r.key.of(have.Name, rows); out.Bounds != nil {
		return out
	}
	return r.value.of(have.Name, rows)
}
