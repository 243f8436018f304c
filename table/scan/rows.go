package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"sink/table"
	"sink/table/datafile"
)

// batchRows is the number of rows in a batch.
const batchRows = 4096

// Options say what to read of a plan.
type Options struct {
	Columns []string // nil: all, in the order of the schema
	Ordered bool     // by primary key, over all buckets; else bucket by bucket. An append table has no such order
	Where   Where    // which rows; nil: all

	// Retractions keeps rows of kind -U and -D, too: keys of which the newest row takes away what older ones, that may still be there,
	// have said.
	Retractions bool
}

// Fields returns the fields of the rows that options ask for; an error names a column that is not there.
func (p *Plan) Fields(o Options) ([]table.Field, error) {
	at, err := positions(p.Schema, o.Columns)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", p.Table.path, err)
	}
	fields := make([]table.Field, len(at))
	for i, f := range at {
		fields[i] = p.Schema.Fields[f]
	}
	return fields, nil
}

// Rows returns the rows of the table at the plan's snapshot, of kind +I or +U, in batches that are good until the next
// one. The order is that of the splits, and of the primary key within a split; in an append table that of the files and of
// their rows. After an error nothing follows.
func (p *Plan) Rows(ctx context.Context, o Options) iter.Seq2[*table.Batch, error] {
	return func(yield func(*table.Batch, error) bool) {
		err := p.eachBatch(ctx, o, func(_ *Split, b *table.Batch) bool { return yield(b, nil) })
		if err != nil {
			yield(nil, fmt.Errorf("read rows: %w", err))
		}
	}
}

// eachBatch calls fn for every batch of rows until it returns false. With Ordered it tells no split.
func (p *Plan) eachBatch(ctx context.Context, o Options, fn func(*Split, *table.Batch) bool) error {
	want, err := positions(p.Schema, o.Columns)
	if err != nil {
		return fmt.Errorf("table %s: %w", p.Table.path, err)
	}
	if err := p.Table.checkMerge(ctx, p.Schema, p.Snapshot); err != nil {
		return err
	}
	choose, read, err := newChooser(p.Schema, want, o.Where)
	if err != nil {
		return fmt.Errorf("table %s: %w", p.Table.path, err)
	}
	if o.Ordered && !p.Schema.Append() {
		return p.ordered(ctx, read, choose, fn)
	}
	c, err := newColumns(p.Schema, read, true)
	if err != nil {
		return fmt.Errorf("table %s: %w", p.Table.path, err)
	}
	fn = choose.choosing(fn)
	for i := range p.Splits {
		r, err := p.open(ctx, &p.Splits[i], c, choose)
		if err != nil {
			return err
		}
		r.retractions = o.Retractions
		more, err := r.each(fn)
		if err = errors.Join(err, choose.failed(), r.Close()); err != nil || !more {
			return err
		}
	}
	return nil
}

// ordered merges the splits by primary key. The columns of the key are read with the wanted ones and left out at the end.
func (p *Plan) ordered(ctx context.Context, want []int, choose *chooser, fn func(*Split, *table.Batch) bool) (err error) {
	all := slices.Clone(want)
	key := make([]int, 0, len(p.Schema.PrimaryKeys))
	for _, field := range p.Schema.Indexes(p.Schema.PrimaryKeys) {
		at := slices.Index(all, field)
		if at < 0 {
			at = len(all)
			all = append(all, field)
		}
		key = append(key, at)
	}
	c, err := newColumns(p.Schema, all, true)
	if err != nil {
		return fmt.Errorf("table %s: %w", p.Table.path, err)
	}
	sources := make([]datafile.Source, 0, len(p.Splits))
	for i := range p.Splits {
		r, err := p.open(ctx, &p.Splits[i], c, choose)
		if err != nil {
			return err
		}
		sources = append(sources, r)
	}
	m, err := datafile.NewMerger(datafile.MergeConfig{Fields: c.fields, Key: key}, sources)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	b, view := table.NewBatch(c.fields), new(table.Batch)
	var seqs []int64
	for {
		b.Reset()
		seqs = seqs[:0]
		if _, err := m.Next(b, &seqs, batchRows); err != nil {
			return ignoreEOF(err)
		}
		view.Columns, view.Kinds = b.Columns[:len(want)], b.Kinds
		if !choose.choosing(fn)(nil, view) {
			return choose.failed()
		}
	}
}

// splitReader reads the rows of a split in key order. It is a [datafile.Source].
type splitReader struct {
	split    *Split
	columns  *columns
	left     []datafile.Section
	open     func(datafile.Section) (datafile.Source, error)
	current  datafile.Source // nil: between sections
	read     *table.Batch
	kept     *table.Batch // for a batch of which rows fall out
	seqs     []int64
	constant constants
	rows     table.Batch
	raw      bool
	inserts  []table.Kind

	retractions bool // are kept
}

// open returns a reader of a split. It opens no file yet.
func (p *Plan) open(ctx context.Context, s *Split, c *columns, choose *chooser) (*splitReader, error) {
	ranges := p.Table.rangesOf(ctx, s)
	merged := s.merged(p.Schema)
	files, err := choose.keepFiles(merged, ranges)
	if err != nil {
		return nil, err
	}
	sections, err := p.sections(files)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", p.Table.path, err)
	}
	fields := c.readFields()
	return &splitReader{
		split: s, columns: c, left: sections, read: table.NewBatch(fields), kept: table.NewBatch(fields),
		constant: constants{row: s.row}, raw: raw(merged),
		open: func(s datafile.Section) (datafile.Source, error) { return p.openSection(ctx, s, c, choose, ranges) },
	}, nil
}

// sections cuts the files of a split into what is merged together. The files of an append table are read one after the other
// (org.apache.paimon.table.source.AppendOnlySplitGenerator).
func (p *Plan) sections(files []table.File) ([]datafile.Section, error) {
	if !p.Schema.Append() {
		return datafile.NewKeyRanges(p.Schema).Sections(files)
	}
	out := make([]datafile.Section, len(files))
	for i := range files {
		out[i] = datafile.Section{{&files[i]}}
	}
	if len(files) > 0 && files[0].TotalBuckets != table.Unaware { // there numbers tell the order of arrival, also after a compaction
		slices.SortStableFunc(out, func(a, b datafile.Section) int { return cmp.Compare(a[0][0].MinSeq, b[0][0].MinSeq) })
	}
	return out, nil
}

// openSection returns the rows of a section, one a key. Rows of a lone run are merged with none, so that all columns tell which of its
// files are wanted.
func (p *Plan) openSection(ctx context.Context, s datafile.Section, c *columns, choose *chooser, ranges rangesOf) (datafile.Source, error) {
	merged := len(s) > 1
	open := func(files datafile.Run) datafile.Source {
		return datafile.Chain(len(files), func(i int) (datafile.Source, error) {
			return p.Table.openFile(ctx, files[i], c, choose, merged)
		})
	}
	if !merged {
		files, err := choose.keepRun(s[0], ranges)
		if err != nil {
			return nil, err
		}
		return open(files), nil
	}
	if looksUp(p.Schema) {
		return p.openLevels(s, c, open)
	}
	sources := make([]datafile.Source, len(s))
	for i, files := range s {
		sources[i] = open(files)
	}
	return datafile.NewMerger(c.merge, sources)
}

// openFile opens a file with the columns that are to be read. merged says that its rows are merged with those of other files.
func (t *Table) openFile(ctx context.Context, f *table.File, c *columns, choose *chooser, merged bool) (datafile.Source, error) {
	if f.ExternalPath != "" {
		return nil, t.unsupported("file %s lies at %s", f.Name, f.ExternalPath)
	}
	schema, err := t.schemas.Get(ctx, f.SchemaID)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", f.Name, err)
	}
	r, err := datafile.Open(ctx, t.store, t.path, f, schema, c.schema, c.read)
	if err != nil {
		return nil, err
	}
	choose.keepGroups(r, c, merged)
	return r, nil
}

// rangesOf returns what is known of the columns of a file.
type rangesOf func(f *table.File) (*fileRanges, error)

// rangesOf tells of the files of a split.
func (t *Table) rangesOf(ctx context.Context, s *Split) rangesOf {
	return func(f *table.File) (*fileRanges, error) {
		schema, err := t.schemas.Get(ctx, f.SchemaID)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Name, err)
		}
		return newFileRanges(f, schema, s.row), nil
	}
}

// next returns the next rows, at most max and at least one, that are good until the next call; io.EOF after the last.
func (r *splitReader) next(max int) (*table.Batch, error) {
	for {
		if r.current == nil {
			if len(r.left) == 0 {
				return nil, io.EOF
			}
			var err error
			if r.current, err = r.open(r.left[0]); err != nil {
				return nil, err
			}
			r.left = r.left[1:]
		}
		r.read.Reset()
		r.seqs = r.seqs[:0]
		_, err := r.current.Next(r.read, &r.seqs, max)
		if err == io.EOF {
			err = r.Close()
		} else if err == nil {
			if b := r.dropRetractions(); b.Len() > 0 {
				r.columns.assemble(&r.rows, b, &r.constant)
				if r.raw {
					r.rows.Kinds = r.allInserts(b.Len())
				}
				return &r.rows, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// merged returns the files whose rows are in the table. Those of level 0 are not in one of merge-engine first-row: only
// compaction finds out whether their keys are there already (org.apache.paimon.CoreOptions.batchScanSkipLevel0).
func (s *Split) merged(schema *table.Schema) []table.File {
	if schema.MergeEngine() != table.FirstRow {
		return s.Files
	}
	return slices.DeleteFunc(slices.Clone(s.Files), func(f table.File) bool { return f.Level == 0 })
}

// raw reports whether Paimon would read a bucket without merging: one file, or files of one level above 0, that hold no
// retractions. Its rows are then all +I, whatever kind they were written with.
func raw(files []table.File) bool {
	for i := range files {
		f := &files[i]
		if f.DeleteRows != 0 || len(files) > 1 && (f.Level == 0 || f.Level != files[0].Level) {
			return false
		}
	}
	return true
}

// allInserts returns n times +I.
func (r *splitReader) allInserts(n int) []table.Kind {
	if len(r.inserts) < n {
		r.inserts = make([]table.Kind, n)
	}
	return r.inserts[:n:n]
}

// dropRetractions returns what was read without the rows of kind -U and -D, unless they are wanted.
func (r *splitReader) dropRetractions() *table.Batch {
	if r.retractions || !slices.ContainsFunc(r.read.Kinds, table.Kind.Retracts) {
		return r.read
	}
	r.kept.Reset()
	for i, k := range r.read.Kinds {
		if !k.Retracts() {
			r.kept.AppendRow(r.read, i)
		}
	}
	return r.kept
}

// each calls fn for every batch and reports whether fn wants more.
func (r *splitReader) each(fn func(*Split, *table.Batch) bool) (more bool, err error) {
	for {
		b, err := r.next(batchRows)
		if err != nil {
			return err == io.EOF, ignoreEOF(err)
		}
		if !fn(r.split, b) {
			return false, nil
		}
	}
}

// Next implements datafile.Source. The sequence numbers are all 0: keys of different splits differ.
func (r *splitReader) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	b, err := r.next(max)
	if err != nil {
		return 0, err
	}
	for i := range b.Len() {
		dst.AppendRow(b, i)
		*seqs = append(*seqs, 0)
	}
	return b.Len(), nil
}

// Close implements datafile.Source.
func (r *splitReader) Close() error {
	if r.current == nil {
		return nil
	}
	err := r.current.Close()
	r.current = nil
	return err
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
