package compact

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"sink/table"
	"sink/table/datafile"
)

// historian knows how a table's compactions look at what was before: what they look up, and what they tell of it in changelog
// files (org.apache.paimon.mergetree.compact.ChangelogMergeTreeRewriter and its kinds).
type historian struct {
	looksUp  bool
	first    bool // merge engine first-row
	newest   bool // the newest row stays, whatever it is merged with
	groups   bool // of partial-update: a row that is alone may be another once it is merged, and is told as that
	compared []int
	log      *datafile.Format // nil: nothing is told
	leading  leadingKey
}

// newHistorian returns nil for a table whose compactions look at nothing before.
func (c *Compactor) newHistorian() (*historian, error) {
	s := c.cfg.Schema
	if !s.LooksUp() && !s.CompactionTells() {
		return nil, nil
	}
	h := &historian{
		looksUp: s.LooksUp(), first: s.MergeEngine() == table.FirstRow,
		newest: c.merge.Engine == nil && len(c.merge.SequenceFields) == 0, leading: newLeadingKey(s, c.merge.Key[0]),
	}
	groups, err := s.SequenceGroups()
	if err != nil {
		return nil, err
	}
	h.groups = len(groups) > 0
	if h.compared, err = s.ComparedColumns(); err != nil || !s.CompactionTells() {
		return h, err
	}
	files, err := datafile.NewConfig(s, c.cfg.Store, c.cfg.Path, datafile.Changelog)
	if err != nil {
		return nil, err
	}
	files.Now = c.cfg.Now
	h.log, err = datafile.NewFormat(files)
	return h, err
}

// levels says what the levels of a write mean; nil: nothing.
func (r *run) levels(sections []datafile.Section) *datafile.History {
	h := r.before
	if h == nil {
		return nil
	}
	raises := slices.ContainsFunc(sections, hasLevel0)
	out := &datafile.History{Lookup: h.looksUp, First: h.first, Alone: h.looksUp && raises, Top: r.job.OutputLevel, Compared: h.compared}
	switch {
	case h.looksUp:
		out.Log = h.log != nil && raises
	case r.job.Top:
		out.Log = true
	default:
		return nil
	}
	return out
}

func hasLevel0(s datafile.Section) bool {
	return slices.ContainsFunc(s, func(run datafile.Run) bool {
		return slices.ContainsFunc(run, func(f *table.File) bool { return f.Level == 0 })
	})
}

// raise moves a file to the output level as it is, and tells its rows where that makes them part of what is told. It reports
// false when the file has to be rewritten: rows of higher levels may have to be merged in, or what is told of a row would not be what stays
// of it (as it is not where Paimon moves such a file).
func (r *run) raise(ctx context.Context, f *table.File) (bool, error) {
	h := r.before
	switch {
	case h == nil || f.Level == r.job.OutputLevel:
		return true, nil
	case !h.looksUp && !r.job.Top, h.looksUp && f.Level != 0:
		return true, nil
	case h.looksUp && (h.groups || !r.job.Top && !h.newest):
		return false, nil
	case h.log == nil:
		return true, nil
	}
	o := output{log: h.log.NewWriter(r.bucket, r.total, r.job.OutputLevel, table.SourceAppend, r.namer)}
	sections := []datafile.Section{{{f}}}
	if err := r.mergeTo(ctx, o, sections[0], r.levels(sections), false); err != nil {
		o.abort(ctx)
		return false, err
	}
	r.result.BytesRead += f.SizeBytes
	return true, r.takeLog(ctx, o)
}

// takeLog ends the changelog files of a write.
func (r *run) takeLog(ctx context.Context, o output) error {
	if o.log == nil {
		return nil
	}
	files, err := o.log.Close(ctx)
	if err != nil {
		o.abort(ctx)
		return err
	}
	r.made = append(r.made, files...)
	r.result.Changelog = append(r.result.Changelog, files...)
	for i := range files {
		r.result.BytesWritten += files[i].SizeBytes
	}
	return nil
}

// output is where a merge puts rows: the data files, and the changelog files; each may be nil.
type output struct{ data, log *datafile.Writer }

func (o output) append(ctx context.Context, rows, changes table.Rows) error {
	var err error
	if o.data != nil && rows.Len() > 0 {
		err = o.data.Append(ctx, rows)
	}
	if err == nil && o.log != nil && changes.Len() > 0 {
		err = o.log.Append(ctx, changes)
	}
	return err
}

func (o output) abort(ctx context.Context) {
	for _, w := range []*datafile.Writer{o.data, o.log} {
		if w != nil {
			w.Abort(ctx)
		}
	}
}

// byLevel splits a section into the runs of level 0 and those of higher levels, one a level: a run of a section may go on from one
// level to another. With lookup it returns those that stay, too.
func (r *run) byLevel(s datafile.Section, lookup bool) (raised, high, below datafile.Section, err error) {
	levels := map[int32]datafile.Run{}
	for _, files := range s {
		var low datafile.Run
		for _, f := range files {
			if f.Level == 0 {
				low = append(low, f)
			} else {
				levels[f.Level] = append(levels[f.Level], f)
			}
		}
		if len(low) > 0 {
			raised = append(raised, low)
		}
	}
	if lookup && len(raised) > 0 {
		if below, err = r.below(s); err != nil {
			return nil, nil, nil, err
		}
	}
	high, err = r.ordered(levels)
	return raised, high, below, err
}

// ordered makes a run of the files of each level, the lowest level first.
func (r *run) ordered(levels map[int32]datafile.Run) (datafile.Section, error) {
	var out datafile.Section
	numbers := make([]int32, 0, len(levels))
	for level := range levels {
		numbers = append(numbers, level)
	}
	slices.Sort(numbers)
	for _, level := range numbers {
		files := levels[level]
		least := make(map[*table.File][]byte, len(files))
		for _, f := range files {
			keys, err := r.keys.Of(f)
			if err != nil {
				return nil, err
			}
			least[f] = keys.Min
		}
		slices.SortFunc(files, func(a, b *table.File) int { return bytes.Compare(least[a], least[b]) })
		out = append(out, files)
	}
	return out, nil
}

// below returns the runs of the levels that stay, of files that may hold keys of a section.
func (r *run) below(s datafile.Section) (datafile.Section, error) {
	if len(r.job.Below) == 0 {
		return nil, nil
	}
	var span datafile.KeyRange
	for _, files := range s {
		for _, f := range files {
			keys, err := r.keys.Of(f)
			if err != nil {
				return nil, err
			}
			if span.Min == nil || bytes.Compare(keys.Min, span.Min) < 0 {
				span.Min = keys.Min
			}
			if span.Max == nil || bytes.Compare(keys.Max, span.Max) > 0 {
				span.Max = keys.Max
			}
		}
	}
	levels := map[int32]datafile.Run{}
	for i := range r.job.Below {
		f := &r.job.Below[i]
		keys, err := r.keys.Of(f)
		if err != nil {
			return nil, err
		}
		if bytes.Compare(keys.Min, span.Max) <= 0 && bytes.Compare(keys.Max, span.Min) >= 0 {
			levels[f.Level] = append(levels[f.Level], f)
		}
	}
	return r.ordered(levels)
}

// peek opens a file of a level that stays. Row groups that end before the least key to come are not read: so a look-up costs as
// much as the row groups that may hold one of the keys.
func (r *run) peek(ctx context.Context, f *table.File, m func() *datafile.Merger) (datafile.Source, error) {
	source, err := r.open(ctx, f)
	if err != nil {
		return nil, err
	}
	reader, ok := source.(*datafile.Reader)
	if !ok {
		return nil, errors.Join(errors.New("a file that is no file"), source.Close())
	}
	reader.Keep(func(column func(i int) table.Range) bool {
		batch, row := m().Ahead()
		return batch != nil && r.before.leading.reaches(column(r.before.leading.column), batch, row)
	})
	return reader, nil
}

// leadingKey compares the first column of the key.
type leadingKey struct {
	column      int
	rows, bound *table.KeyEncoder
}

func newLeadingKey(s *table.Schema, column int) leadingKey {
	types := []table.Type{s.Fields[column].Type}
	return leadingKey{column, table.NewKeyEncoder(types, []int{column}), table.NewKeyEncoder(types, []int{0})}
}

// reaches reports whether a range may hold the value of a row, or greater ones.
func (k leadingKey) reaches(r table.Range, b *table.Batch, row int) bool {
	if r.Bounds == nil {
		return true
	}
	bounds := &table.Batch{Columns: []table.Vector{*r.Bounds}}
	return bytes.Compare(k.bound.Append(nil, bounds, 1), k.rows.Append(nil, b, row)) >= 0
}
