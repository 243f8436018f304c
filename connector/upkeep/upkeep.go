package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sink/commit"
	"sink/commit/expire"
	"sink/flush/compact"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// Config names a table, and says how much one round may do. Zero limits mean the defaults below.
type Config struct {
	Store object.Store
	Path  table.Path
	// User is the commit user of COMPACT snapshots: the consumer group, so that they carry its map of offsets on. Empty:
	// that of whoever wrote the table last, see commit.Owner.
	User         string
	SingleWriter bool // see commit.Config

	// MaxDeltaAge is how long a job may take from its first file to its snapshot, see commit.Config.
	MaxDeltaAge time.Duration

	RoundBytes int64         // bytes of files after which a round takes no further bucket
	RoundTime  time.Duration // the same by time
	MaxRuns    int           // see compact.Config
	// OrphansEvery is how often orphan files are looked for. Those that were orphans the last time, too, are deleted.
	OrphansEvery time.Duration
	// Memory is told what a job takes before it begins, and the negative of it afterwards. It may be nil.
	Memory func(bytes int64)

	Now   func() time.Time // time.Now by default
	NewID func() string    // makes UUIDs; random ones by default
}

// The defaults of Config.
const (
	DefaultRoundBytes   = 1 << 30
	DefaultRoundTime    = time.Minute
	DefaultOrphansEvery = 24 * time.Hour
)

// Keeper keeps one table. It is used by one goroutine at a time.
type Keeper struct {
	cfg       Config
	schemas   *manifest.Schemas
	schema    *table.Schema
	compactor *compact.Compactor
	expirer   *expire.Expirer
	committer *commit.Committer
	census    census

	partitions expire.PartitionPolicy
	checked    time.Time // when partitions were last looked at
	orphans    orphans
}

// Open opens a table with its newest schema. It refuses one that the sink cannot write, with all reasons.
func Open(ctx context.Context, cfg Config) (*Keeper, error) {
	if cfg.RoundBytes <= 0 {
		cfg.RoundBytes = DefaultRoundBytes
	}
	if cfg.RoundTime <= 0 {
		cfg.RoundTime = DefaultRoundTime
	}
	if cfg.OrphansEvery <= 0 {
		cfg.OrphansEvery = DefaultOrphansEvery
	}
	if cfg.Memory == nil {
		cfg.Memory = func(int64) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	k := &Keeper{cfg: cfg, schemas: manifest.NewSchemas(cfg.Store, cfg.Path), census: census{store: cfg.Store, path: cfg.Path}}
	k.orphans.next = cfg.Now().Add(cfg.OrphansEvery / 24)
	schema, err := manifest.LatestSchema(ctx, cfg.Store, cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", cfg.Path, err)
	}
	c := commit.Config{
		Store: cfg.Store, Path: cfg.Path, User: cfg.User, SingleWriter: cfg.SingleWriter, MaxDeltaAge: cfg.MaxDeltaAge, Now: cfg.Now, NewID: cfg.NewID,
	}
	if c.User == "" {
		user, ok, err := commit.Owner(ctx, c)
		if err != nil {
			return nil, err
		}
		if c.User = user; !ok {
			c.User = "sink"
		}
	}
	if k.committer, err = commit.Open(ctx, c); err != nil {
		return nil, err
	}
	return k, k.adopt(schema)
}

// adopt takes a schema, whose options say how the table is kept.
func (k *Keeper) adopt(s *table.Schema) error {
	compactor, err := compact.New(compact.Config{
		Schema: s, Schemas: k.schemas.Get, Store: k.cfg.Store, Path: k.cfg.Path, MaxRuns: k.cfg.MaxRuns, Now: k.cfg.Now, NewID: k.cfg.NewID,
	})
	if err != nil {
		return err
	}
	expirer, err := expire.New(expire.Config{Store: k.cfg.Store, Path: k.cfg.Path, Schema: s, Now: k.cfg.Now})
	if err != nil {
		return err
	}
	partitions, err := expire.PartitionPolicyOf(s)
	if err != nil {
		return fmt.Errorf("table %s: %w", k.cfg.Path, err)
	}
	k.schema, k.compactor, k.expirer, k.partitions = s, compactor, expirer, partitions
	return nil
}

// Options returns the table's options of compaction.
func (k *Keeper) Options() compact.Options { return k.compactor.Options() }

// Schema returns the newest schema that the Keeper has seen.
func (k *Keeper) Schema() *table.Schema { return k.schema }

// look brings the census and the schema up to date. It reports false for a table without snapshots.
func (k *Keeper) look(ctx context.Context) (bool, error) {
	newest, err := k.census.update(ctx)
	if err != nil || newest == nil {
		return false, err
	}
	if newest.SchemaID != k.schema.ID || k.census.schema > k.schema.ID {
		return true, k.renew(ctx)
	}
	return true, nil
}

// renew takes the newest schema.
func (k *Keeper) renew(ctx context.Context) error {
	s, err := manifest.LatestSchema(ctx, k.cfg.Store, k.cfg.Path)
	if err != nil || s.ID == k.schema.ID {
		return err
	}
	return k.adopt(s)
}

// MostRuns brings the Keeper up to date and returns the number of sorted runs of the bucket that has most of them. An append
// table has none that a reader would have to merge.
func (k *Keeper) MostRuns(ctx context.Context) (int, error) {
	if _, err := k.look(ctx); err != nil {
		return 0, fmt.Errorf("table %s: %w", k.cfg.Path, err)
	}
	most := 0
	if k.Options().Append {
		return most, nil
	}
	for b := range k.census.buckets {
		most = max(most, k.census.runCount(b))
	}
	return most, nil
}

// Due reports whether, as of when the Keeper was last brought up to date, the table's options ask for a compaction whatever the number
// of sorted runs: to look up what came since, or because so many commits came since all was compacted.
func (k *Keeper) Due() bool {
	return k.Options().LooksUp && k.census.raises() || k.dueFull()
}

// dueFull reports whether option full-compaction.delta-commits asks for a compaction of all. Of a table that has just been opened nobody
// knows when the last one was.
func (k *Keeper) dueFull() bool {
	every := k.Options().FullEvery
	return every > 0 && k.census.appends >= every
}

// Live returns how many data files the table has, and their bytes, as of when the Keeper was last brought up to date.
func (k *Keeper) Live() (files, bytes int64) {
	for _, bucket := range k.census.buckets {
		files += int64(len(bucket))
		for _, f := range bucket {
			bytes += f.size
		}
	}
	return files, bytes
}

// Scope says what to compact.
type Scope struct {
	Full       bool              // all of a bucket into one run, whether it needs it or not
	Partitions map[string]string // only partitions with these values, as they stand in paths; columns left out: any
}

// Report tells what a round of compaction did.
type Report struct {
	Snapshot     int64 // 0: there was nothing to do
	Buckets      int
	Removed      int // files
	Added        int
	Upgraded     int
	Rows         int64
	RowsCopied   int64 // of them, in row groups that were copied as they are
	BytesRead    int64
	BytesWritten int64
	// ChangelogRows is how many changes were told, in a table whose compactions make the changelog.
	ChangelogRows int64
	// More says that the round's share was used up before all was done.
	More bool
}

// Compact does one round: the buckets that need it, those with most runs first, in one COMPACT snapshot. When option
// full-compaction.delta-commits asks for it, these are all, as with Scope.Full. The error is commit.ErrConflict when another compaction was faster: the next round looks again.
func (k *Keeper) Compact(ctx context.Context, s Scope) (Report, error) {
	r, err := k.compact(ctx, s)
	if err != nil {
		return Report{}, fmt.Errorf("compact table %s: %w", k.cfg.Path, err)
	}
	return r, nil
}

func (k *Keeper) compact(ctx context.Context, s Scope) (Report, error) {
	ok, err := k.look(ctx)
	if err != nil || !ok {
		return Report{}, err
	}
	due := k.dueFull() && s.Partitions == nil
	s.Full = s.Full || due
	wanted, err := k.wanted(s)
	if err != nil || len(wanted) == 0 {
		if err == nil && due {
			k.census.appends = 0
		}
		return Report{}, err
	}
	chosen := k.share(wanted)
	files, err := k.liveFiles(ctx, chosen)
	if err != nil {
		return Report{}, err
	}
	made, more, err := k.compactAll(ctx, s, chosen, files)
	if err != nil {
		return Report{}, err
	}
	return k.commit(ctx, made, Report{More: more || len(chosen) < len(wanted)})
}

// compactAll does the jobs of buckets with the given files, until the round's time is over: then there are more.
func (k *Keeper) compactAll(ctx context.Context, s Scope, chosen []table.Bucket, files map[table.Bucket][]table.File) (made []compact.Result, more bool, err error) {
	start := k.cfg.Now()
	for i, bucket := range chosen {
		if i > 0 && k.cfg.Now().Sub(start) > k.cfg.RoundTime {
			return made, true, nil
		}
		job, ok := k.pick(s, compact.Runs(files[bucket]))
		if !ok {
			continue
		}
		result, err := k.do(ctx, job)
		if err != nil {
			k.discard(ctx, made)
			return nil, false, err
		}
		if len(result.Removed) > 0 {
			made = append(made, result)
		}
	}
	return made, false, nil
}

func (k *Keeper) pick(s Scope, runs []compact.SortedRun) (compact.Job, bool) {
	if s.Full {
		return k.Options().PickFull(runs)
	}
	return k.Options().Pick(runs)
}

// do does one job, within the memory that it was given.
func (k *Keeper) do(ctx context.Context, job compact.Job) (compact.Result, error) {
	n := k.compactor.MemoryBytes(&job)
	k.cfg.Memory(n)
	defer k.cfg.Memory(-n)
	return k.compactor.Run(ctx, job)
}

// wanted returns the buckets that a round would compact, those with most runs first.
func (k *Keeper) wanted(s Scope) ([]table.Bucket, error) {
	type need struct {
		bucket table.Bucket
		runs   int
	}
	var needs []need
	look := k.census.changed
	if s.Full || s.Partitions != nil {
		look = nil
		for b := range k.census.buckets {
			if look == nil {
				look = map[table.Bucket]struct{}{}
			}
			look[b] = struct{}{}
		}
	}
	for b := range look {
		within, err := k.within(s, b)
		if err != nil {
			return nil, err
		}
		if !within {
			continue
		}
		runs := k.census.runs(b)
		if _, ok := k.pick(s, runs); ok {
			needs = append(needs, need{b, len(runs)})
		} else if !s.Full {
			delete(k.census.changed, b) // nothing to do until it changes again
		}
	}
	slices.SortFunc(needs, func(a, b need) int {
		if a.runs != b.runs {
			return b.runs - a.runs
		}
		if c := strings.Compare(a.bucket.Partition, b.bucket.Partition); c != 0 {
			return c
		}
		return int(a.bucket.Number) - int(b.bucket.Number)
	})
	out := make([]table.Bucket, len(needs))
	for i := range needs {
		out[i] = needs[i].bucket
	}
	return out, nil
}

// within reports whether a bucket is one that is meant.
func (k *Keeper) within(s Scope, b table.Bucket) (bool, error) {
	if len(s.Partitions) == 0 {
		return true, nil
	}
	values, err := table.PartitionValues(k.schema, b.Partition)
	if err != nil {
		return false, err
	}
	for name, want := range s.Partitions {
		i := slices.Index(k.schema.PartitionKeys, name)
		if i < 0 {
			return false, fmt.Errorf("%q is no partition column; the table has %v", name, k.schema.PartitionKeys)
		}
		if values[i] != want {
			return false, nil
		}
	}
	return true, nil
}

// share returns as many buckets as a round may take, at least one.
func (k *Keeper) share(wanted []table.Bucket) []table.Bucket {
	var bytes int64
	for i, b := range wanted {
		for _, f := range k.census.buckets[b] {
			bytes += f.size
		}
		if bytes >= k.cfg.RoundBytes {
			return wanted[:i+1]
		}
	}
	return wanted
}

// liveFiles returns the live files of buckets with all that manifests say of them.
func (k *Keeper) liveFiles(ctx context.Context, chosen []table.Bucket) (map[table.Bucket][]table.File, error) {
	files := make(map[table.Bucket][]table.File, len(chosen))
	var partitions []string
	var numbers []int32
	for _, b := range chosen {
		files[b] = nil
		partitions, numbers = append(partitions, b.Partition), append(numbers, b.Number)
	}
	slices.Sort(partitions)
	filter, err := manifest.NewFilter(k.schema, slices.Compact(partitions), numbers)
	if err != nil {
		return nil, err
	}
	live, err := manifest.ReadLive(ctx, k.cfg.Store, k.cfg.Path, k.census.at, filter)
	if err != nil {
		return nil, err
	}
	for i := range live {
		if _, ok := files[live[i].Bucket]; ok {
			files[live[i].Bucket] = append(files[live[i].Bucket], live[i])
		}
	}
	return files, nil
}

// commit makes the results of a round visible.
func (k *Keeper) commit(ctx context.Context, made []compact.Result, r Report) (Report, error) {
	if len(made) == 0 {
		return Report{}, nil
	}
	d := table.Delta{Progress: table.Progress{MaxSequence: -1}}
	for i := range made {
		d.Removed, d.Added = append(d.Removed, made[i].Removed...), append(d.Added, made[i].Added...)
		d.Changelog = append(d.Changelog, made[i].Changelog...)
		r.Buckets++
		r.Upgraded += made[i].Upgraded
		r.Rows += made[i].Rows
		r.RowsCopied += made[i].RowsCopied
		r.BytesRead += made[i].BytesRead
		r.BytesWritten += made[i].BytesWritten
	}
	r.Removed, r.Added = len(d.Removed), len(d.Added)
	result, err := k.committer.Commit(ctx, d)
	if err != nil {
		if !errors.Is(err, commit.ErrUnsettled) {
			k.discard(ctx, made)
		}
		k.census.forget()
		return Report{}, err
	}
	r.Snapshot, r.ChangelogRows = result.SnapshotID, result.ChangelogRecords
	return r, nil
}

func (k *Keeper) discard(ctx context.Context, made []compact.Result) {
	for i := range made {
		k.compactor.Discard(ctx, made[i])
	}
}

// Expired tells what a round of expiry did.
type Expired struct {
	expire.Result
	Partitions []string // dropped
	Unclear    []string // partitions whose time cannot be told, and why
	Orphans    int      // files that nothing named, deleted
}

// Expire removes what is due: snapshots, changelogs, tags, consumers, and, as often as the table's options say, partitions. The options
// are those that the table has now: who changes them makes no snapshot that would tell.
func (k *Keeper) Expire(ctx context.Context) (Expired, error) {
	var e Expired
	err := k.renew(ctx)
	if err != nil {
		return e, err
	}
	if k.partitions.After > 0 && k.cfg.Now().Sub(k.checked) >= k.partitions.Every {
		if e.Partitions, e.Unclear, err = k.ExpirePartitions(ctx); err != nil {
			return e, err
		}
		k.checked = k.cfg.Now()
	}
	if e.Result, err = k.expirer.Run(ctx); err != nil || k.cfg.Now().Before(k.orphans.next) {
		return e, err
	}
	e.Orphans, err = k.sweepOrphans(ctx)
	return e, err
}

// ExpirePartitions drops the partitions that are due by the table's options. Another writer may take their files meanwhile, or change the
// options: then the error is commit.ErrConflict, and the next time does it.
func (k *Keeper) ExpirePartitions(ctx context.Context) (dropped, unclear []string, err error) {
	due, unclear, err := k.expirer.ExpiredPartitions(ctx, k.partitions)
	if err != nil || len(due) == 0 {
		return nil, unclear, err
	}
	if _, err := k.expirer.DropPartitions(ctx, k.committer, due); err != nil {
		return nil, unclear, err
	}
	for _, p := range due {
		dropped = append(dropped, strings.TrimSuffix(p.Path, "/"))
	}
	return dropped, unclear, nil
}
