package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"sink/table"
	"sink/table/datafile"
	"sink/table/merge"
	"sink/table/object"
)

// Config tells a Compactor its table.
type Config struct {
	Schema *table.Schema // the newest: files are written with it
	// Schemas returns the schema of an id, for files that older ones wrote.
	Schemas func(ctx context.Context, id int64) (*table.Schema, error)
	Store   object.Store
	Path    table.Path // the table's root in Store

	MaxRuns int              // sorted runs that are merged at once; 0: 32
	Now     func() time.Time // for File.CreatedMillis; nil: time.Now
	NewID   func() string    // a new UUID for file names; nil: a random one
}

// What a job holds in memory, roughly: of each run the row group that is being read, and one row group being written.
const (
	defaultMaxRuns = 32
	runBytes       = 5 << 20
	writerBytes    = 16 << 20
)

// mergeRows is how many rows go from the merge to the writer at once.
const mergeRows = 8 << 10

// cleanTimeout bounds the removal of files that nobody will refer to. What it leaves behind, orphan cleaning finds.
const cleanTimeout = 30 * time.Second

// Compactor does jobs for one table and schema. It is safe for concurrent use.
type Compactor struct {
	cfg     Config
	options Options
	format  *datafile.Format
	keys    *datafile.KeyRanges
	merge   datafile.MergeConfig
	pass    datafile.MergeConfig // of some runs, whose rows will be merged with those of others
	columns []int                // all of the schema
	history *historian           // nil: compactions look at nothing before, and tell nothing
}

// New returns a Compactor. It refuses a table that the sink cannot write, with all reasons.
func New(cfg Config) (*Compactor, error) {
	c, err := newCompactor(cfg)
	if err != nil {
		return nil, fmt.Errorf("compact table %s: %w", cfg.Path, err)
	}
	return c, nil
}

func newCompactor(cfg Config) (*Compactor, error) {
	if cfg.MaxRuns < 2 {
		cfg.MaxRuns = defaultMaxRuns
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	s := cfg.Schema
	if err := s.Validate(); err != nil {
		return nil, err
	}
	c := &Compactor{cfg: cfg, keys: datafile.NewKeyRanges(s)}
	var err error
	if c.options, err = OptionsOf(s); err != nil {
		return nil, err
	}
	files, err := datafile.NewConfig(s, cfg.Store, cfg.Path, datafile.Data)
	if err != nil {
		return nil, err
	}
	files.Now = cfg.Now
	if c.format, err = datafile.NewFormat(files); err != nil {
		return nil, err
	}
	for i := range s.Fields {
		c.columns = append(c.columns, i)
	}
	if s.Append() {
		return c, nil
	}
	if c.merge, err = mergeOf(s, c.columns); err != nil {
		return nil, err
	}
	if c.pass = c.merge; !c.merge.Engine.Associative() {
		c.pass.Engine, c.pass.KeepAll = nil, true
	}
	c.history, err = c.newHistorian()
	return c, err
}

// mergeOf says how the rows of a key become one.
func mergeOf(s *table.Schema, columns []int) (datafile.MergeConfig, error) {
	m := datafile.MergeConfig{
		Fields: s.Fields, Key: s.Indexes(s.TrimmedPrimaryKeys()),
		Descending: strings.EqualFold(s.Option("sequence.field.sort-order"), "descending"),
	}
	if names := s.SequenceFields(); names != nil {
		m.SequenceFields = s.Indexes(names)
	}
	var err error
	m.Engine, err = merge.New(s, columns)
	return m, err
}

// Options returns the table's options.
func (c *Compactor) Options() Options { return c.options }

// MemoryBytes returns about how much memory a job will take: for each of the largest files that are open at once what is
// read ahead of it, unpacked, and the row group being written.
func (c *Compactor) MemoryBytes(j *Job) int64 {
	sizes := make([]int64, len(j.Files))
	for i := range j.Files {
		sizes[i] = j.Files[i].SizeBytes
	}
	slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
	n := min(writerBytes, 1<<20+4*j.SizeBytes())
	open := c.cfg.MaxRuns
	if c.options.Append {
		open = 1
	}
	for _, size := range sizes[:min(len(sizes), open)] {
		n += min(runBytes, 1<<16+4*size)
	}
	levels := map[int32]int64{} // those that are looked at: the largest file of each
	for i := range j.Below {
		levels[j.Below[i].Level] = max(levels[j.Below[i].Level], j.Below[i].SizeBytes)
	}
	for _, size := range levels {
		n += min(runBytes, 1<<16+4*size)
	}
	return n
}

// Result is what a job did: the files that go, and those that come in their place. A file that only changed its level is in
// both.
type Result struct {
	Removed, Added []table.File
	Changelog      []table.File // what became of the keys, where the table's compactions tell it
	Upgraded       int          // files of Added that were there before
	Rows           int64        // written
	RowsCopied     int64        // of them, in row groups that were copied as they are
	BytesRead      int64        // of the files that were rewritten
	BytesWritten   int64
}

// run is one job under way.
type run struct {
	*Compactor
	job    *Job
	namer  *table.Namer
	bucket table.Bucket
	total  int32
	result Result
	made   []table.File // by this job, for the case that it fails
	spread *spread      // which rows to keep; nil: all
	before *historian   // nil: a rescale, or none is needed
}

// Run does a job. When it fails it leaves no files behind, as far as the store lets it.
func (c *Compactor) Run(ctx context.Context, j Job) (Result, error) {
	r := &run{Compactor: c, job: &j, namer: table.NewNamer(c.cfg.Schema, c.cfg.NewID()), before: c.history}
	err := r.check()
	switch {
	case err != nil:
	case c.options.Append:
		err = r.concatenate(ctx, 0)
	default:
		err = r.do(ctx)
	}
	if err != nil {
		c.remove(ctx, r.made)
		return Result{}, fmt.Errorf("compact table %s bucket %d: %w", c.cfg.Path, r.bucket.Number, err)
	}
	return r.result, nil
}

// Discard deletes the files that a job made, as well as it can. It is for a result that no snapshot refers to for certain.
func (c *Compactor) Discard(ctx context.Context, r Result) {
	kept := make(map[string]struct{}, len(r.Removed))
	for i := range r.Removed {
		kept[r.Removed[i].Name] = struct{}{}
	}
	c.remove(ctx, slices.DeleteFunc(slices.Concat(r.Added, r.Changelog), func(f table.File) bool {
		_, upgraded := kept[f.Name]
		return upgraded
	}))
}

// check makes sure that the files are of one bucket, and can be moved about.
func (r *run) check() error {
	if len(r.job.Files) == 0 {
		return errors.New("a job without files")
	}
	r.bucket, r.total = r.job.Files[0].Bucket, r.job.Files[0].TotalBuckets
	for i := range r.job.Files {
		f := &r.job.Files[i]
		switch {
		case f.Bucket != r.bucket || f.TotalBuckets != r.total:
			return fmt.Errorf("file %s is of another bucket or bucket count than %s", f.Name, r.job.Files[0].Name)
		case f.ExternalPath != "":
			return fmt.Errorf("file %s lies at %s, outside of the table", f.Name, f.ExternalPath)
		}
	}
	return nil
}

// do walks through the sections in key order. What has to be rewritten is collected, so that small files become one; a
// large file that overlaps nothing ends the collection and only changes its level.
func (r *run) do(ctx context.Context) error {
	sections, err := r.keys.Sections(r.job.Files)
	if err != nil {
		return err
	}
	var waiting []datafile.Section
	for _, s := range sections {
		if len(s) > 1 {
			waiting = append(waiting, s)
			continue
		}
		for _, f := range s[0] {
			if f.SizeBytes < r.options.minUpgradeBytes() {
				waiting = append(waiting, datafile.Section{{f}})
				continue
			}
			if err := r.rewrite(ctx, waiting); err != nil {
				return err
			}
			waiting = waiting[:0]
			if err := r.upgrade(ctx, f); err != nil {
				return err
			}
		}
	}
	return r.rewrite(ctx, waiting)
}

// upgrade moves a file to the output level as it is, unless it holds retractions that can go.
func (r *run) upgrade(ctx context.Context, f *table.File) error {
	if r.job.Top && hasDeletes(*f) {
		return r.write(ctx, []datafile.Section{{{f}}})
	}
	if f.Level == r.job.OutputLevel {
		return nil
	}
	asItIs, err := r.raise(ctx, f)
	if err != nil {
		return err
	}
	if !asItIs {
		return r.write(ctx, []datafile.Section{{{f}}})
	}
	up := *f
	up.Level = r.job.OutputLevel
	r.result.Removed, r.result.Added = append(r.result.Removed, *f), append(r.result.Added, up)
	r.result.Upgraded++
	return nil
}

// rewrite makes new files of the rows of sections; a lone file is upgraded.
func (r *run) rewrite(ctx context.Context, sections []datafile.Section) error {
	switch {
	case len(sections) == 0:
		return nil
	case len(sections) == 1 && len(sections[0]) == 1:
		for _, f := range sections[0][0] {
			if err := r.upgrade(ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
	return r.write(ctx, sections)
}

// write makes new files of the rows of sections, which are in key order.
func (r *run) write(ctx context.Context, sections []datafile.Section) error {
	o := output{data: r.format.NewWriter(r.bucket, r.total, r.job.OutputLevel, table.SourceCompact, r.namer)}
	history := r.levels(sections)
	if history != nil && history.Log {
		o.log = r.before.log.NewWriter(r.bucket, r.total, r.job.OutputLevel, table.SourceAppend, r.namer)
	}
	for _, s := range sections {
		if err := r.mergeTo(ctx, o, s, history, r.job.DropDeletes); err != nil {
			o.abort(ctx)
			return err
		}
	}
	if err := r.takeLog(ctx, o); err != nil {
		return err
	}
	var read []table.File
	for _, s := range sections {
		for _, run := range s {
			for _, f := range run {
				read = append(read, *f)
			}
		}
	}
	return r.take(ctx, o.data, read)
}

// take ends a writer and puts its files in the place of those that were read.
func (r *run) take(ctx context.Context, w *datafile.Writer, read []table.File) error {
	files, err := w.Close(ctx)
	if err != nil {
		w.Abort(ctx)
		return err
	}
	r.made = append(r.made, files...)
	for i := range files {
		r.result.Rows += files[i].Rows
		r.result.BytesWritten += files[i].SizeBytes
	}
	r.result.Added = append(r.result.Added, files...)
	for i := range read {
		r.result.Removed = append(r.result.Removed, read[i])
		r.result.BytesRead += read[i].SizeBytes
	}
	return nil
}

// mergeTo appends the rows of a section, one a key. When there are too many runs to merge at once, the smallest of them
// become one first, in files that are gone afterwards. Runs that have others between them in age are merged there only
// where that does no harm: where levels count, only those of level 0.
func (r *run) mergeTo(ctx context.Context, o output, s datafile.Section, h *datafile.History, drop bool) error {
	s = slices.Clone(s)
	var high, below datafile.Section
	limit := r.cfg.MaxRuns
	if h != nil {
		var err error
		if s, high, below, err = r.byLevel(s, h.Lookup); err != nil {
			return err
		}
		limit = max(1, limit-len(high)-len(below))
	}
	var passing []table.File
	defer func() { r.remove(ctx, passing) }()
	for len(s) > limit {
		slices.SortStableFunc(s, func(a, b datafile.Run) int { return cmp.Compare(runSize(a), runSize(b)) })
		n := min(r.cfg.MaxRuns, len(s)-limit+1)
		files, err := r.passOf(ctx, s[:n])
		if err != nil {
			return err
		}
		passing = append(passing, files...)
		merged := make(datafile.Run, len(files))
		for i := range files {
			merged[i] = &files[i]
		}
		if s = s[n:]; len(merged) > 0 {
			s = append(s, merged)
		}
	}
	cfg := r.merge
	if h == nil && r.spread == nil {
		cfg.Copies = o.data.Copies
	}
	if h != nil {
		with := *h
		with.Below = len(below)
		cfg.History = &with
	}
	return r.stream(ctx, o, slices.Concat(s, high), below, cfg, drop)
}

// passOf merges runs into files of level 0 that only this job knows.
func (r *run) passOf(ctx context.Context, runs datafile.Section) ([]table.File, error) {
	o := output{data: r.format.NewWriter(r.bucket, r.total, 0, table.SourceCompact, r.namer)}
	err := r.stream(ctx, o, runs, nil, r.pass, false)
	if err == nil {
		var files []table.File
		if files, err = o.data.Close(ctx); err == nil {
			return files, nil
		}
	}
	o.abort(ctx)
	return nil, err
}

func runSize(run datafile.Run) int64 {
	var n int64
	for _, f := range run {
		n += f.SizeBytes
	}
	return n
}

// stream merges the runs of a section into an output. Those below are only looked at.
func (r *run) stream(ctx context.Context, o output, s, below datafile.Section, merge datafile.MergeConfig, drop bool) (err error) {
	var m *datafile.Merger
	sources := make([]datafile.Source, 0, len(s)+len(below))
	for _, files := range s {
		sources = append(sources, files.Open(func(f *table.File) (datafile.Source, error) { return r.open(ctx, f) }))
	}
	for _, files := range below {
		sources = append(sources, files.Open(func(f *table.File) (datafile.Source, error) {
			return r.peek(ctx, f, func() *datafile.Merger { return m })
		}))
	}
	if m, err = datafile.NewMerger(merge, sources); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for {
		rows, err := m.NextRows(mergeRows)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if g := m.Group(); g != nil {
			if err := o.data.CopyGroup(ctx, g); err != nil {
				return err
			}
			r.result.RowsCopied += g.Rows()
			continue
		}
		if drop {
			rows = withoutRetractions(rows)
		}
		if r.spread != nil {
			if rows, err = r.spread.keep(rows); err != nil {
				return err
			}
		}
		if err := o.append(ctx, rows, m.Changes()); err != nil {
			return err
		}
	}
}

func (r *run) open(ctx context.Context, f *table.File) (datafile.Source, error) {
	if f.SchemaID > r.cfg.Schema.ID {
		return nil, fmt.Errorf("file %s has schema %d: rewritten with schema %d it would lose what that does not have", f.Name, f.SchemaID, r.cfg.Schema.ID)
	}
	schema, err := r.cfg.Schemas(ctx, f.SchemaID)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", f.Name, err)
	}
	return datafile.Open(ctx, r.cfg.Store, r.cfg.Path, f, schema, r.cfg.Schema, r.columns)
}

// withoutRetractions returns the rows that are not -U or -D. It changes the slices of rows.
func withoutRetractions(rows table.Rows) table.Rows {
	n := 0
	for i := range rows.Refs {
		if !rows.Kind(i).Retracts() {
			rows.Refs[n], rows.Seqs[n] = rows.Refs[i], rows.Seqs[i]
			n++
		}
	}
	return rows.Slice(0, n)
}

// remove deletes files that are in no snapshot, as well as it can.
func (c *Compactor) remove(ctx context.Context, files []table.File) {
	if len(files) == 0 {
		return
	}
	var names []string
	for i := range files {
		if partition, err := table.PartitionPath(c.cfg.Schema, files[i].Bucket.Partition); err == nil {
			names = append(names, c.cfg.Path.DataFile(partition, files[i].Bucket.Number, files[i].Name))
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	_ = c.cfg.Store.Delete(ctx, names...)
}
