package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// Config tells a Committer its table, and how patient it is. Zero limits mean the defaults below.
type Config struct {
	Store object.Store
	Path  table.Path
	User  string // the consumer group; it is the commit user of every snapshot, and tells ours from others'
	// SingleWriter says that nobody else commits to the table, as the user states for a store that does not honour a
	// conditional create. The name is then looked up before each create.
	SingleWriter bool

	Retries     int           // races for a snapshot id that one commit may lose
	Patience    time.Duration // how long a store that gives no answer is asked whether a snapshot is there
	MaxDeltaAge time.Duration // the age of a delta's oldest file above which it is stale
	PinEvery    time.Duration // how often the consumer file that pins our newest snapshot is written

	Now   func() time.Time // time.Now by default
	NewID func() string    // makes UUIDs; random ones by default
}

// The defaults of Config.
const (
	DefaultRetries     = 20
	DefaultPatience    = 2 * time.Minute
	DefaultMaxDeltaAge = time.Hour
	DefaultPinEvery    = time.Minute
)

func (cfg *Config) setDefaults() {
	if cfg.Retries == 0 {
		cfg.Retries = DefaultRetries
	}
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.MaxDeltaAge == 0 {
		cfg.MaxDeltaAge = DefaultMaxDeltaAge
	}
	if cfg.PinEvery == 0 {
		cfg.PinEvery = DefaultPinEvery
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
}

// Committer makes snapshots of one table for one consumer group. It belongs to one goroutine at a time; several
// Committers of one table, in one process or in many, agree through the store alone.
type Committer struct {
	cfg   Config
	store object.Store
	path  table.Path

	schema    *table.Schema
	schemaRaw []byte // the file of schema, as it was read

	own    *seen // the newest snapshot that this Committer resumed from or created; nil: none
	view   view
	rivals rivals
	pinned time.Time // when the consumer file was last written

	sleep func(context.Context, time.Duration) error
}

// Open looks up the table's newest schema. The error is fs.ErrNotExist if there is no table; see [CreateTable].
func Open(ctx context.Context, cfg Config) (*Committer, error) {
	cfg.setDefaults()
	if cfg.Store == nil || cfg.Path == "" || cfg.User == "" {
		return nil, errors.New("commit: Store, Path and User are needed")
	}
	c := &Committer{cfg: cfg, store: cfg.Store, path: cfg.Path, rivals: rivals{anywhere: -1}, sleep: sleep}
	if err := c.loadSchema(ctx); err != nil {
		return nil, fmt.Errorf("open table %s: %w", cfg.Path, err)
	}
	return c, nil
}

// Schema returns the newest schema that the Committer has seen. Commit, Resume, CheckSchema and Evolve look for newer
// ones: compare its ID after them.
func (c *Committer) Schema() *table.Schema { return c.schema }

// Result tells of a snapshot that was created.
type Result struct {
	SnapshotID int64
	UUID       string
	Kind       manifest.CommitKind
	Time       time.Time
	Attempts   int  // snapshot creates tried, or given up just before
	LostRaces  int  // of them, lost to others
	Foreign    bool // the snapshot before is another writer's, not of this group

	// Progress is the whole map of the table now. Its MaxSequence counts other writers' rows, too: number above it.
	Progress table.Progress

	DataFiles, RemovedFiles, ChangelogFiles int
	TotalRecords, DeltaRecords              int64
	ChangelogRecords                        int64

	// Hints tells what kept LATEST, EARLIEST or the consumer file from being written. The snapshot stands; readers find it by
	// listing, and the next commit writes them again.
	Hints error
}

// Commit makes the delta visible in one snapshot, or in none: APPEND, or COMPACT when it removes files. A delta without
// files makes an empty snapshot, which fixes offsets. The delta is not changed and may be given again after an error that
// is not ErrUnsettled, ErrFenced, ErrConflict, ErrRescaled, ErrAltered, ErrOvertaken or ErrStale, for instance after ErrBusy or when the
// store was not reachable.
//
// Unless the error is ErrUnsettled no snapshot names the delta's files, and the caller may delete them. After
// ErrUnsettled it calls Resume, which tells whether the delta is in the table.
func (c *Committer) Commit(ctx context.Context, d table.Delta) (Result, error) {
	if err := checkDelta(&d); err != nil {
		return Result{}, fmt.Errorf("commit to table %s: %w", c.path, err)
	}
	return c.newTask(&d).run(ctx)
}

// task is one delta on its way into one snapshot.
type task struct {
	*Committer
	delta      *table.Delta
	kind       manifest.CommitKind
	checkpoint string // the random mark by which our snapshot is told from others
	names      *table.ManifestNamer

	rebase   bool          // the delta's offsets replace the whole map
	shown    table.Offsets // which is this one
	rescales bool          // the delta gives whole partitions another bucket count
	asked    *int64        // the schema whose options ask for the delta; nil: none does

	changes     changes  // delta and changelog manifests: written once for all attempts
	shared      []string // their files
	mergedLists *merged  // manifests merged for an earlier attempt; nil: none
	missed      int      // attempts that missed a file
	// unsettled says that a create went out without a certain outcome, or was undone: nothing that it names is deleted.
	unsettled bool

	result Result
}

func (c *Committer) newTask(d *table.Delta) *task {
	t := &task{
		Committer: c, delta: d, kind: manifest.Append, checkpoint: c.cfg.NewID(),
		names: table.NewManifestNamer(c.cfg.NewID()),
	}
	if len(d.Removed) > 0 {
		t.kind = manifest.Compact
	}
	return t
}

// run tries until the snapshot stands, or there is a reason to give up.
func (t *task) run(ctx context.Context) (Result, error) {
	err := t.checkAge()
	if err == nil {
		err = t.writeChanges(ctx)
	}
	for err == nil {
		var stands bool
		t.result.Attempts++
		if stands, err = t.attempt(ctx); stands {
			t.hints(ctx)
			return t.result, nil
		}
		if err == nil {
			err = t.lost(ctx)
		} else if !t.unsettled {
			err = t.missing(ctx, err)
		}
	}
	if t.unsettled {
		t.view = view{} // what is there now is read anew
		if !errors.Is(err, ErrUnsettled) {
			err = fmt.Errorf("%w (%w)", err, ErrUnsettled)
		}
	} else {
		t.discard(ctx, t.shared)
		t.dropMerged(ctx)
	}
	return Result{}, fmt.Errorf("commit to table %s: %w", t.path, err)
}

// maxMissed is how often an attempt may miss a file that the newest snapshot names.
const maxMissed = 5

// lost waits before the next attempt, for longer the more races were lost.
func (t *task) lost(ctx context.Context) error {
	t.result.LostRaces++
	if t.result.LostRaces > t.cfg.Retries {
		return fmt.Errorf("%w: %d in a row", ErrBusy, t.result.LostRaces)
	}
	return t.sleep(ctx, backoff(t.result.LostRaces, 10*time.Millisecond, time.Second))
}

// attempt builds a snapshot on the newest one and tries to create it. It reports whether the snapshot stands; false
// without an error means that another's was there first.
func (t *task) attempt(ctx context.Context) (stands bool, err error) {
	schema := t.ask(ctx, t.path.Schema(t.schema.ID+1))
	if err := t.refresh(ctx); err != nil {
		<-schema
		return false, err
	}
	if err := t.refreshSchema(ctx, schema); err != nil {
		return false, err
	}
	if n := t.view.newest; n != nil && n.SchemaID > t.schema.ID { // that came after it was asked for
		if err := t.refreshSchema(ctx, nil); err != nil {
			return false, err
		}
	}
	if err := t.check(ctx); err != nil {
		return false, err
	}
	base, err := t.writeBase(ctx)
	if err != nil {
		return false, err
	}
	mine, err := t.build(base)
	if err != nil {
		return false, err
	}
	if err := t.checkAge(); err != nil {
		t.discard(ctx, []string{t.path.Manifest(base.name)})
		return false, err
	}
	if t.view.ours == nil && mine.progress != nil { // the first map: its pin is there before it, for who dies in between
		if err := t.pin(ctx, mine.ID); err != nil {
			t.discard(ctx, []string{t.path.Manifest(base.name)})
			return false, err
		}
	}
	won, err := t.create(ctx, mine)
	if err != nil {
		return false, err
	}
	if !won {
		t.discard(ctx, []string{t.path.Manifest(base.name)})
		return false, nil
	}
	if stands, err = t.confirm(ctx, mine); stands {
		t.adopt(mine, base)
	}
	return stands, err
}

// missing lets an attempt begin anew that missed a file which the newest snapshot names: either that has expired while we
// looked, or the file is not visible yet. It gives up when neither can be.
func (t *task) missing(ctx context.Context, err error) error {
	if t.missed++; t.missed > maxMissed || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.view = view{}
	return t.sleep(ctx, backoff(t.missed, 10*time.Millisecond, time.Second))
}

// discard deletes files that no snapshot names, as far as it can: orphan cleaning does the rest. Once a create without a
// certain outcome went out it deletes nothing. A commit that was called off still cleans up behind itself.
func (t *task) discard(ctx context.Context, names []string) {
	if !t.unsettled && len(names) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
		defer cancel()
		_ = t.store.Delete(ctx, names...)
	}
}

const discardTimeout = 10 * time.Second

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

// backoff returns how long to wait before try n, counted from 1: a random time that doubles on average, up to limit.
func backoff(n int, first, limit time.Duration) time.Duration {
	d := min(first<<min(n-1, 20), limit)
	return d/2 + rand.N(d/2+1)
}
