package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sink/table"
	"sink/table/manifest"
	"sink/table/scan"
)

// The replay takes one bucket after the other, and of a bucket that is too large for [Options.MemoryBytes] a share of its keys at a
// time: then its files are read as many times. What the changes are, and what they must give, depends on the table:
//
//	changelog-producer            the changes are                          they must give
//	lookup, full-compaction       each row before and after                the rows of the compacted files (the highest level for
//	                                                                       full-compaction): the others are not in the changelog yet
//	input, none, or append table  what was written: the merge engine       the rows
//	                              makes rows of it (see remerge)
//
// With merge-engine deduplicate and without sequence.field what was written is also a changelog of rows, so that images which do not fit
// are seen.

// defaultReplayBytes is the memory for the rows of a replay.
const defaultReplayBytes = 256 << 20

// replayer applies the changelog to rows.
type replayer struct {
	*checker
	table   *scan.Table
	fields  []table.Field
	primary *table.KeyEncoder
	told    bool // only files that compaction has told hold what the changes give
	images  bool // changes are rows before and after: those that do not fit are warned of
	engine  bool // rows come out of the merge engine
	skips   bool // retractions change nothing (ignore-delete)

	sets     []int // see setColumns
	sorted   *table.Batch
	failedAt int64 // the snapshot of the first fault; 0: none
	warned   map[string]bool
	text     []byte
}

// replay compares the changelog with the rows: applied to nothing, when it is whole, or to the rows of the first snapshot,
// it gives the rows of each later one.
func (c *checker) replay(ctx context.Context, snapshots []*manifest.Snapshot) error {
	if c.options.Replay == ReplayNone || len(snapshots) == 0 {
		return nil
	}
	if c.schema.Options["record-level.expire-time"] != "" {
		c.report(Info, "replay", "changelog", "not replayed: with record-level.expire-time rows go that no change has taken away")
		return nil
	}
	if why := untold(c.schema); why != "" {
		c.report(Info, "replay", "changelog", "not replayed: %s", why)
		return nil
	}
	t, err := scan.Open(ctx, c.store, c.path)
	if err != nil {
		c.fault("replay", "changelog", "cannot be read: %v", err)
		return nil
	}
	s := c.schema
	primary := s.Indexes(s.PrimaryKeys)
	r := &replayer{
		checker: c, table: t, fields: s.Fields, primary: table.NewKeyEncoder(s.TypesOf(primary), primary), warned: map[string]bool{},
	}
	if err := r.choose(); err != nil {
		c.fault("replay", "changelog", "%v", err)
		return nil
	}
	return r.run(ctx, snapshots)
}

// untold tells why the changelog does not give the rows; empty when it does.
func untold(s *table.Schema) string {
	if s.Option("bucket") == "-2" {
		return "its rows are in bucket-postpone, where no reader sees them, until a compaction gives them a place"
	}
	if !s.CompactionTells() {
		return ""
	}
	if s.Option("changelog-producer.row-deduplicate-ignore-fields") != "" {
		return "changes of the columns of changelog-producer.row-deduplicate-ignore-fields are not in it"
	}
	if groups, err := s.SequenceGroups(); s.MergeEngine() == table.PartialUpdate && s.LooksUp() && err == nil && len(groups) > 0 {
		return "of a row without values in its sequence columns Paimon tells what a merge would make of it, but leaves it as it came until then"
	}
	return ""
}

// choose finds out what the changes are.
func (r *replayer) choose() error {
	s := r.schema
	if s.Append() {
		return nil
	}
	var err error
	if r.sets, err = setColumns(s); err != nil {
		return err
	}
	switch producer := s.ChangelogProducer(); producer {
	case table.ProducerLookup, table.ProducerFull:
		r.told, r.images = true, true
		return nil
	case "input":
		r.images = true
	case "none":
	default:
		return fmt.Errorf("option changelog-producer is %q, which is none", producer)
	}
	if r.engine = s.MergeEngine() != table.Deduplicate || len(s.SequenceFields()) > 0; r.engine {
		return nil
	}
	r.skips, err = s.OptionBool("ignore-delete")
	r.images = r.images && !r.skips
	return err
}

func (r *replayer) run(ctx context.Context, snapshots []*manifest.Snapshot) error {
	first := snapshots[0].ID
	start := first
	switch from := r.options.From; {
	case from > 0:
		if r.snapshots[from] == nil {
			return fmt.Errorf("there is no snapshot %d to replay from", from)
		}
		start = from
	case first == 1 || r.hasChangelog(1):
		start = 0
	}
	h := &history{replayer: r, buckets: map[table.Bucket]*timeline{}}
	compared, err := h.build(ctx, start, snapshots[len(snapshots)-1].ID)
	if err != nil {
		return err
	}
	for _, b := range h.sorted() {
		if err := r.replayBucket(ctx, b, h.buckets[b]); err != nil {
			return err
		}
	}
	for _, id := range compared {
		if r.failedAt == 0 || id < r.failedAt {
			r.summary.Replayed++
		}
	}
	return nil
}

// hasChangelog reports whether the changelog of a snapshot lives on.
func (r *replayer) hasChangelog(id int64) bool {
	_, ok := r.objects[r.path.Changelog(id)]
	return ok
}

// failed notes a fault.
func (r *replayer) failed(id int64, format string, args ...any) {
	if r.failedAt == 0 || id < r.failedAt {
		r.failedAt = id
	}
	r.fault("replay", fmt.Sprintf("snapshot %d", id), format, args...)
}

// unreadable makes a finding of an error.
func (r *replayer) unreadable(ctx context.Context, id int64, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errors.ErrUnsupported) {
		if r.failedAt == 0 || id < r.failedAt {
			r.failedAt = id
		}
		r.report(Info, "replay", fmt.Sprintf("snapshot %d", id), "not replayed: %v", err)
		return nil
	}
	r.failed(id, "cannot be read: %v", err)
	return nil
}

// keyOf returns what tells a row from others: the primary key, in an append table its text.
func (r *replayer) keyOf(dst []byte, b *table.Batch, i int) []byte {
	if r.schema.Append() {
		return table.AppendCanonicalRow(dst, r.fields, b, i)
	}
	return r.primary.Append(dst, b, i)
}

func (r *replayer) textOf(b *table.Batch, i int) string {
	b, i = r.sortSets(b, i)
	r.text = table.AppendCanonicalRow(r.text[:0], r.fields, b, i)
	return string(r.text)
}

func (r *replayer) warnOnce(code string, id int64, format string, args ...any) {
	where := fmt.Sprintf("snapshot %d", id)
	if !r.warned[code+where] {
		r.warned[code+where] = true
		r.warn(code, where, format, args...)
	}
}

// visible returns the files whose rows the changes up to now must give, and whether that can be told.
func (r *replayer) visible(files []table.File) (shown []table.File, ok bool) {
	if r.engine && r.schema.MergeEngine() == table.FirstRow { // readers do not look at level 0
		return files, !slices.ContainsFunc(files, func(f table.File) bool { return f.Level == 0 })
	}
	if !r.told {
		return files, true
	}
	level := r.schema.ToldLevel(files)
	return slices.DeleteFunc(slices.Clone(files), func(f table.File) bool { return f.Level < level }), true
}
