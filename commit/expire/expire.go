package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// Config names a table.
type Config struct {
	Store  object.Store
	Path   table.Path
	Schema *table.Schema    // the newest
	Now    func() time.Time // nil: time.Now
	// DryRun only tells what would be removed.
	DryRun bool
}

// Expirer removes what a table does not need any more. It is used by one goroutine at a time.
type Expirer struct {
	cfg    Config
	store  object.Store
	path   table.Path
	policy Policy

	older *holding // of the last tag before the earliest snapshot: it changes seldom
	auto  autoTags
	sleep func(context.Context, time.Duration) error
}

// New returns an Expirer for a table, with the policy of its options.
func New(cfg Config) (*Expirer, error) {
	policy, err := PolicyOf(cfg.Schema)
	if err == nil {
		_, err = TagPolicyOf(cfg.Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("expire table %s: %w", cfg.Path, err)
	}
	return NewWith(cfg, policy)
}

// NewWith returns an Expirer with another policy than that of the table's options.
func NewWith(cfg Config, p Policy) (*Expirer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("expire table %s: %w", cfg.Path, err)
	}
	p.producesChangelog = cfg.Schema.Option("changelog-producer") != "none"
	return &Expirer{cfg: cfg, store: cfg.Store, path: cfg.Path, policy: p, sleep: sleep}, nil
}

// Policy returns what the Expirer keeps to.
func (e *Expirer) Policy() Policy { return e.policy }

// Result counts what was removed.
type Result struct {
	Snapshots  int64 // snapshots
	Strays     int64 // files of snapshots that had expired before and were made again
	Changelogs int64 // long-lived changelogs
	Tags       int64
	Consumers  int64
	Files      int64 // data and changelog files
	Metadata   int64 // manifests, lists, index files, statistics
	// Earliest is the first snapshot that is left; 0: none was.
	Earliest int64
	// Tagged are the names of tags that were made, by option tag.automatic-creation.
	Tagged []string
}

// Add adds up two results.
func (r *Result) Add(o Result) {
	r.Snapshots += o.Snapshots
	r.Strays += o.Strays
	r.Changelogs += o.Changelogs
	r.Tags += o.Tags
	r.Consumers += o.Consumers
	r.Files += o.Files
	r.Metadata += o.Metadata
	r.Earliest = max(r.Earliest, o.Earliest)
	r.Tagged = append(r.Tagged, o.Tagged...)
}

// Run does all that is due, step by step: tags that come by themselves, consumers and tags past their time, then strays and
// snapshots, then long-lived changelogs.
func (e *Expirer) Run(ctx context.Context) (Result, error) {
	made, all, err := e.AutoTags(ctx)
	all.Tagged = made
	if err == nil {
		err = e.consumers(ctx, &all)
	}
	if err == nil {
		all.Strays, err = e.removeStrays(ctx)
	}
	if err == nil {
		var tags Result
		tags, err = e.Tags(ctx)
		all.Add(tags)
	}
	for _, step := range []func(context.Context) (Result, error){e.Snapshots, e.Changelogs} {
		for err == nil {
			var r Result
			r, err = step(ctx)
			all.Add(r)
			if r.Snapshots+r.Changelogs == 0 || e.cfg.DryRun {
				break
			}
		}
	}
	return all, e.wrap(err)
}

func (e *Expirer) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("expire table %s: %w", e.path, err)
}

// consumers removes consumer files that nobody has touched for the time of the policy.
func (e *Expirer) consumers(ctx context.Context, r *Result) error {
	if e.policy.Consumers <= 0 {
		return nil
	}
	all, err := manifest.Consumers(ctx, e.store, e.path)
	if err != nil {
		return err
	}
	for _, c := range all {
		if e.cfg.Now().Sub(c.Modified) <= e.policy.Consumers {
			continue
		}
		if r.Consumers++; e.cfg.DryRun {
			continue
		}
		if err := e.store.Delete(ctx, e.path.Consumer(c.ID)); err != nil {
			return fmt.Errorf("consumer %s: %w", c.ID, err)
		}
	}
	return nil
}

// held returns the lowest snapshot that a consumer still wants to read.
func (e *Expirer) held(ctx context.Context) (int64, error) {
	all, err := manifest.Consumers(ctx, e.store, e.path)
	if err != nil {
		return 0, err
	}
	lowest := int64(math.MaxInt64)
	for _, c := range all {
		if e.policy.Consumers > 0 && e.cfg.Now().Sub(c.Modified) > e.policy.Consumers {
			continue
		}
		lowest = min(lowest, c.NextSnapshot)
	}
	return lowest, nil
}

// Snapshots removes the snapshots that are due, at most the policy's limit of them, and what only they hold.
func (e *Expirer) Snapshots(ctx context.Context) (Result, error) {
	r, err := e.snapshots(ctx)
	if errors.Is(err, errOvertaken) {
		return Result{}, nil // another process is doing the same
	}
	return r, e.wrap(err)
}

// errOvertaken says that another process removes snapshots at the same time.
var errOvertaken = errors.New("another process expires snapshots")

func (e *Expirer) snapshots(ctx context.Context) (Result, error) {
	ids, err := manifest.SnapshotIDs(ctx, e.store, e.path)
	if err != nil || len(ids) == 0 {
		return Result{}, err
	}
	first, latest := ids[0], ids[len(ids)-1]
	if err := e.checkDense(ctx, ids); err != nil {
		return Result{}, err
	}
	held, err := e.held(ctx)
	if err != nil {
		return Result{}, err
	}
	r := e.policy.Snapshots
	end, err := e.young(ctx, ids, max(latest-r.Max+1, first), r.end(first, latest, held, e.policy.Limit))
	if err != nil {
		return Result{}, err
	}
	n, ok := slices.BinarySearch(ids, end)
	switch {
	case n == 0 && end <= first:
		return Result{}, e.raiseEarliest(ctx, first)
	case !ok:
		return Result{}, fmt.Errorf("snapshot %d is missing between %d and %d", end, first, latest)
	}
	s := &sweep{Expirer: e}
	if s.gone, err = e.read(ctx, ids[:n]); err != nil {
		return Result{}, err
	}
	stay, err := e.read(ctx, ids[n:n+1])
	if err != nil {
		return Result{}, err
	}
	s.stay = stay[0]
	return s.run(ctx)
}

// young returns the first id in [from, end) that is not old enough to go, or end. A snapshot's age counts from when the next
// one took its place (as in Paimon from 2.0 on): until then it was what readers saw.
func (e *Expirer) young(ctx context.Context, ids []int64, from, end int64) (int64, error) {
	before := e.cfg.Now().Add(-e.policy.Snapshots.Time).UnixMilli()
	for id := from; id < end; id++ {
		if _, there := slices.BinarySearch(ids, id); !there {
			continue
		}
		next, err := manifest.ReadSnapshot(ctx, e.store, e.path, id+1)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, errOvertaken
		}
		if err != nil {
			return 0, err
		}
		if next.TimeMillis >= before {
			return id, nil
		}
	}
	return end, nil
}

// readAhead is how many small files are read at the same time.
const readAhead = 8

// read reads the snapshots of some ids.
func (e *Expirer) read(ctx context.Context, ids []int64) ([]*manifest.Snapshot, error) {
	out := make([]*manifest.Snapshot, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAhead)
	for i, id := range ids {
		g.Go(func() (err error) {
			out[i], err = manifest.ReadSnapshot(ctx, e.store, e.path, id)
			if errors.Is(err, fs.ErrNotExist) {
				return errOvertaken
			}
			return err
		})
	}
	return out, g.Wait()
}

// deleteAtOnce is how many objects one call of the store deletes.
const deleteAtOnce = 500

// delete removes objects, and tries a few times: what it leaves is named by nothing.
func (e *Expirer) delete(ctx context.Context, names []string) error {
	for names := range slices.Chunk(names, deleteAtOnce) {
		var err error
		for try := range 3 {
			if try > 0 {
				if err := e.sleep(ctx, time.Duration(try)*100*time.Millisecond); err != nil {
					return err
				}
			}
			if err = e.store.Delete(ctx, names...); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("files that nothing names any more are left behind, `sink orphans` finds them: %w", err)
		}
	}
	return nil
}

// sleep waits, but no longer than the context lives.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
