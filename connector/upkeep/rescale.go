package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sink/commit"
	"sink/flush/compact"
	"sink/table"
	"sink/table/manifest"
)

// Rescaled tells what a rescale did.
type Rescaled struct {
	Snapshot     int64 // the OVERWRITE snapshot; 0: all partitions had that many buckets already
	Schema       int64 // the id of the schema whose option bucket says it
	Partitions   int
	Removed      int // files
	Added        int
	Rows         int64
	BytesRead    int64
	BytesWritten int64
}

// rescaleTries bounds how often other writers may be faster.
const rescaleTries = 100

// Rescale gives partitions another number of buckets: their rows are written anew, and one OVERWRITE snapshot puts the new
// files in the place of the old. Readers see the same rows before and after; the changelog has nothing of it, and the map
// of offsets is carried on. Of the scope only the partitions count; option bucket is set in any case.
//
// It may run while the table is written. Most is rewritten before anyone notices; then the option is set, from which on writers
// that know it wait, and what has come meanwhile is rewritten, too. A crash leaves at most unreferenced files and the
// option; to call it again is right, and finds nothing to do when all is done.
func (k *Keeper) Rescale(ctx context.Context, buckets int32, s Scope) (Rescaled, error) {
	r := &rescale{k: k, buckets: buckets, scope: s, done: map[table.Bucket]*filled{}}
	out, err := r.run(ctx)
	if err != nil {
		return Rescaled{}, fmt.Errorf("rescale table %s: %w", k.cfg.Path, err)
	}
	return out, nil
}

// rescale is one under way.
type rescale struct {
	k       *Keeper
	buckets int32
	scope   Scope
	done    map[table.Bucket]*filled // by new bucket
	out     Rescaled
}

// filled is a new bucket with what it was made of.
type filled struct {
	old, late  map[manifest.Identity]struct{}
	base, news compact.Result // of old, of late
}

func (r *rescale) run(ctx context.Context) (Rescaled, error) {
	if now, err := r.k.schema.Buckets(); err == nil && now == table.Unaware {
		return Rescaled{}, errors.New("option bucket is -1: its rows are in no buckets, so there is no number of them to change")
	}
	next := r.k.schema.Clone()
	next.Options["bucket"] = strconv.Itoa(int(r.buckets))
	if err := next.Validate(); err != nil {
		return Rescaled{}, err
	}
	var schema *table.Schema // with the option
	for try := 0; ; try++ {
		d, err := r.fill(ctx)
		if errors.Is(err, errPending) && try < rescaleTries {
			err = r.compact(ctx)
			if err == nil || errors.Is(err, commit.ErrConflict) || errors.Is(err, commit.ErrBusy) {
				continue
			}
		}
		if err != nil {
			r.discard(ctx)
			return Rescaled{}, err
		}
		if schema == nil {
			schema, err = r.k.committer.SetOption(ctx, "bucket", next.Options["bucket"])
			if err != nil {
				r.discard(ctx)
				return Rescaled{}, err
			}
			r.out.Schema = schema.ID
			continue // for what came meanwhile: from now on less does
		}
		if len(d.Removed) == 0 {
			return r.out, nil
		}
		if slices.EqualFunc(schema.Fields, r.k.schema.Fields, sameField) { // the files are as the new schema would have them
			for i := range d.Added {
				d.Added[i].SchemaID = schema.ID
			}
		}
		result, err := r.k.committer.Rescale(ctx, d)
		switch {
		case err == nil: // once more, for a partition that another writer has begun just before the option was set
			r.k.census.forget()
			r.done = map[table.Bucket]*filled{}
			r.landed(result, &d)
		case errors.Is(err, commit.ErrUnsettled):
			return Rescaled{}, err
		case try >= rescaleTries || !errors.Is(err, commit.ErrConflict) && !errors.Is(err, commit.ErrBusy):
			r.discard(ctx)
			return Rescaled{}, fmt.Errorf("option bucket is %d by now, but the files are not rescaled; do it again: %w", r.buckets, err)
		}
	}
}

// errPending says that compaction has to tell rows in the changelog before they may move, or to bring them together where it looks up.
var errPending = errors.New("rows of it wait for compaction: stop what writes it, or do it again")

// compact compacts all that is rescaled.
func (r *rescale) compact(ctx context.Context) error {
	for {
		report, err := r.k.compact(ctx, Scope{Full: true, Partitions: r.scope.Partitions})
		if err != nil || !report.More {
			return err
		}
	}
}

// waits reports whether the files of a partition have to be compacted before they are rescaled.
func (r *rescale) waits(files []table.File) bool {
	s := r.k.schema
	if !r.compactsFirst() {
		return false
	}
	buckets := map[table.Bucket][]table.File{}
	for i := range files {
		buckets[files[i].Bucket] = append(buckets[files[i].Bucket], files[i])
	}
	for _, files := range buckets {
		if s.Pending(files) {
			return true
		}
		if _, apart := r.k.Options().PickFull(compact.Runs(files)); apart && s.LooksUp() {
			return true
		}
	}
	return false
}

// compactsFirst reports whether rows are compacted before they are rescaled. They must not come to level 0 again: compaction would tell them
// twice, or look up what is older.
func (r *rescale) compactsFirst() bool { return r.k.schema.CompactionTells() || r.k.schema.LooksUp() }

// landed counts what a snapshot has made visible.
func (r *rescale) landed(result commit.Result, d *table.Delta) {
	partitions := map[string]struct{}{}
	for i := range d.Removed {
		partitions[d.Removed[i].Bucket.Partition] = struct{}{}
	}
	for i := range d.Added {
		r.out.Rows += d.Added[i].Rows
	}
	r.out.Snapshot = result.SnapshotID
	r.out.Partitions += len(partitions)
	r.out.Removed += len(d.Removed)
	r.out.Added += len(d.Added)
}

// fill brings the new buckets up to the newest snapshot, and returns what a commit has to make visible.
func (r *rescale) fill(ctx context.Context) (table.Delta, error) {
	d := table.Delta{Progress: table.Progress{MaxSequence: -1}}
	schema := r.k.schema
	if ok, err := r.k.look(ctx); err != nil || !ok {
		return d, err
	}
	if !slices.EqualFunc(schema.Fields, r.k.schema.Fields, sameField) { // what was made has other columns than files that came
		r.forgetOthers(ctx, nil)
	}
	newest := r.k.census.at
	if newest.IndexManifest != "" {
		return d, fmt.Errorf("snapshot %d has index files, which a rescale does not know", newest.ID)
	}
	files, err := manifest.ReadLive(ctx, r.k.cfg.Store, r.k.cfg.Path, newest, nil)
	if err != nil {
		return d, err
	}
	partitions := map[string][]table.File{}
	for i := range files {
		partitions[files[i].Bucket.Partition] = append(partitions[files[i].Bucket.Partition], files[i])
	}
	var due []string
	for p, files := range partitions {
		within, err := r.k.within(r.scope, table.Bucket{Partition: p})
		if err != nil {
			return d, err
		}
		if within && slices.ContainsFunc(files, func(f table.File) bool { return f.TotalBuckets != r.buckets }) {
			if r.waits(files) {
				return d, errPending
			}
			due = append(due, p)
		}
	}
	slices.SortFunc(due, strings.Compare)
	r.forgetOthers(ctx, due)
	for _, p := range due {
		for n := range r.buckets {
			f, err := r.fillBucket(ctx, table.Bucket{Partition: p, Number: n}, partitions[p])
			if err != nil {
				return d, err
			}
			d.Added = append(append(d.Added, f.base.Added...), f.news.Added...)
		}
		d.Removed = append(d.Removed, partitions[p]...)
	}
	d.Progress.MaxSequence = highest(d.Added) // rows of an append table may have got higher numbers than those of any writer
	return d, nil
}

// forgetOthers drops what was made for partitions that another rescale, or an expiry, has taken care of meanwhile.
func (r *rescale) forgetOthers(ctx context.Context, due []string) {
	for b, f := range r.done {
		if _, ok := slices.BinarySearch(due, b.Partition); !ok {
			r.k.discard(ctx, []compact.Result{f.base, f.news})
			delete(r.done, b)
		}
	}
}

// fillBucket fills a new bucket from the live files of its partition. What was made of files that are still there stays;
// those that came since are put on top.
func (r *rescale) fillBucket(ctx context.Context, to table.Bucket, files []table.File) (*filled, error) {
	var feed, news []table.File
	now := map[manifest.Identity]struct{}{}
	for i := range files {
		if files[i].Bucket.Number < 0 || files[i].TotalBuckets < 1 {
			return nil, fmt.Errorf("file %s is in bucket %d of %d, which other tables than those of fixed buckets have", files[i].Name, files[i].Bucket.Number, files[i].TotalBuckets)
		}
		if compact.Feeds(&files[i], to.Number, r.buckets) {
			feed = append(feed, files[i])
			now[manifest.IdentityOf(&files[i])] = struct{}{}
		}
	}
	f := r.done[to]
	if f != nil && (!contains(now, f.old) || len(now) > len(f.old) && r.compactsFirst()) { // compacted meanwhile
		r.k.discard(ctx, []compact.Result{f.base, f.news})
		delete(r.done, to)
		f = nil
	}
	if f == nil {
		base, err := r.spread(ctx, compact.Spread{To: to, Buckets: r.buckets, Files: feed, All: true})
		if err != nil {
			return nil, err
		}
		f = &filled{old: now, base: base}
		r.done[to] = f
		return f, nil
	}
	late := map[manifest.Identity]struct{}{}
	for i := range feed {
		if id := manifest.IdentityOf(&feed[i]); !has(f.old, id) {
			news = append(news, feed[i])
			late[id] = struct{}{}
		}
	}
	if len(late) == len(f.late) && contains(late, f.late) {
		return f, nil
	}
	r.k.discard(ctx, []compact.Result{f.news})
	f.late, f.news = nil, compact.Result{}
	made, err := r.spread(ctx, compact.Spread{To: to, Buckets: r.buckets, Files: news, From: highest(f.base.Added) + 1})
	if err != nil {
		return nil, err
	}
	f.late, f.news = late, made
	return f, nil
}

// highest returns the highest sequence number of files, -1 of none.
func highest(files []table.File) int64 {
	n := int64(-1)
	for i := range files {
		n = max(n, files[i].MaxSeq)
	}
	return n
}

// spread does a job, within the memory that it was given.
func (r *rescale) spread(ctx context.Context, s compact.Spread) (compact.Result, error) {
	if len(s.Files) == 0 {
		return compact.Result{}, nil
	}
	n := r.k.compactor.MemoryBytes(&compact.Job{Files: s.Files})
	r.k.cfg.Memory(n)
	defer r.k.cfg.Memory(-n)
	result, err := r.k.compactor.Rescale(ctx, s)
	r.out.BytesRead += result.BytesRead
	r.out.BytesWritten += result.BytesWritten
	return result, err
}

// discard deletes all files that were made.
func (r *rescale) discard(ctx context.Context) {
	for _, f := range r.done {
		r.k.discard(ctx, []compact.Result{f.base, f.news})
	}
}

func sameField(a, b table.Field) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Type.Equal(b.Type)
}

func has(set map[manifest.Identity]struct{}, id manifest.Identity) bool {
	_, ok := set[id]
	return ok
}

// contains reports whether all of part is in set.
func contains(set, part map[manifest.Identity]struct{}) bool {
	for id := range part {
		if !has(set, id) {
			return false
		}
	}
	return true
}
