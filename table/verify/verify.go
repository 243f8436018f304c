package verify

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// Replay says how far the changelog is compared with the rows.
type Replay string

// The ways to replay.
const (
	ReplayAll  Replay = "all"  // with the rows of every snapshot
	ReplayLast Replay = "last" // with those of the last one
	ReplayNone Replay = "none"
)

// Options say what to check.
type Options struct {
	Replay Replay
	From   int64 // snapshot from whose rows the replay starts; 0: the first that is left, or nothing when that is the first of all
	// MemoryBytes is about what the rows of the replay may take: when a bucket does not fit, its files are read several times. 0: 256 MiB.
	MemoryBytes int64
	// Report is given each finding as it is found. It may be nil.
	Report func(Finding)
	// Progress is told how many files are read out of how many that are known so far. It may be nil.
	Progress func(read, known int)
}

// Level tells how bad a finding is.
type Level string

// The levels.
const (
	Fault   Level = "fault"
	Warning Level = "warning"
	Orphan  Level = "orphan"
	Info    Level = "info" // about the check itself
)

// Finding is something that is not as it should be.
type Finding struct {
	Level Level
	Code  string // such as "file-missing"
	Where string // a snapshot, a file by its path in the table
	What  string
}

// Summary counts what was checked and found.
type Summary struct {
	Faults, Warnings, Orphans            int
	Snapshots, Changelogs, Tags, Schemas int
	Manifests, Files, Replayed           int
	Rows                                 int64
}

// checker is one check under way.
type checker struct {
	store   object.Store
	path    table.Path
	options Options
	summary Summary

	objects map[string]int64 // all objects of the table by name: their sizes
	used    map[string]struct{}
	seen    map[Finding]struct{}

	schema    *table.Schema // the newest
	schemas   map[int64]*table.Schema
	snapshots map[int64]*manifest.Snapshot
	manifests map[string][]manifest.Entry
	files     map[string]*facts // by all that an entry says of it
	known     int
}

// Run checks a table. The error tells only that the check itself could not go on, for instance as there is no table;
// what is wrong with the table is in the findings. Nobody should expire snapshots meanwhile: what goes is found missing.
func Run(ctx context.Context, store object.Store, root table.Path, o Options) (Summary, error) {
	c := &checker{
		store: store, path: root, options: o, objects: map[string]int64{}, used: map[string]struct{}{}, seen: map[Finding]struct{}{},
		schemas: map[int64]*table.Schema{}, snapshots: map[int64]*manifest.Snapshot{}, manifests: map[string][]manifest.Entry{},
		files: map[string]*facts{},
	}
	if err := c.run(ctx); err != nil {
		return c.summary, fmt.Errorf("verify table %s: %w", root, err)
	}
	return c.summary, nil
}

func (c *checker) run(ctx context.Context) error {
	for info, err := range c.store.List(ctx, string(c.path)+"/") {
		if err != nil {
			return err
		}
		c.objects[info.Name] = info.SizeBytes
	}
	if err := c.checkSchemas(ctx); err != nil {
		return err
	}
	snapshots, err := c.load(ctx, c.path.SnapshotDir(), "snapshot-")
	if err != nil {
		return err
	}
	if snapshots, err = c.withoutStrays(ctx, snapshots); err != nil {
		return err
	}
	changelogs, err := c.load(ctx, c.path.ChangelogDir(), "changelog-")
	if err != nil {
		return err
	}
	c.checkHints(ctx, c.path.SnapshotDir(), snapshots)
	c.checkHints(ctx, c.path.ChangelogDir(), changelogs)
	c.summary.Snapshots, c.summary.Changelogs = len(snapshots), len(changelogs)
	c.checkOrder(snapshots, changelogs)
	var before *live
	for _, s := range snapshots {
		c.snapshots[s.ID] = s
		if before != nil && before.id != s.ID-1 {
			before = nil
		}
		if before, err = c.checkSnapshot(ctx, s, before); err != nil {
			return err
		}
	}
	for _, s := range changelogs {
		if err := c.checkChangelog(ctx, fmt.Sprintf("changelog %d", s.ID), s); err != nil {
			return err
		}
		c.useOtherLists(ctx, s)
	}
	if err := c.checkTags(ctx); err != nil {
		return err
	}
	c.checkOrphans()
	return c.replay(ctx, snapshots)
}

// report notes a finding, once.
func (c *checker) report(level Level, code, where, format string, args ...any) {
	f := Finding{level, code, where, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")}
	if _, twice := c.seen[f]; twice {
		return
	}
	c.seen[f] = struct{}{}
	switch level {
	case Fault:
		c.summary.Faults++
	case Warning:
		c.summary.Warnings++
	case Orphan:
		c.summary.Orphans++
	}
	if c.options.Report != nil {
		c.options.Report(f)
	}
}

func (c *checker) fault(code, where, format string, args ...any) {
	c.report(Fault, code, where, format, args...)
}

func (c *checker) warn(code, where, format string, args ...any) {
	c.report(Warning, code, where, format, args...)
}

func (c *checker) use(name string) { c.used[name] = struct{}{} }

// size returns the bytes of an object, -1 when it does not exist, and notes that something reaches it.
func (c *checker) size(name string) int64 {
	c.use(name)
	if n, ok := c.objects[name]; ok {
		return n
	}
	return -1
}

// relative is an object's path in the table.
func (c *checker) relative(name string) string { return strings.TrimPrefix(name, string(c.path)+"/") }

// othersFolders are folders whose files nothing has to reach.
var othersFolders = []string{"branch/", "consumer/", "service/", "tag/"}

// checkOrphans reports the files that nothing reaches. A table with branches keeps their files among its own, so there
// nothing is said.
func (c *checker) checkOrphans() {
	for name := range c.objects {
		if strings.HasPrefix(name, c.path.BranchDir()) {
			c.report(Info, "orphans", "branch", "the table has branches, so files that nothing reaches are not looked for")
			return
		}
	}
	var names []string
	for name := range c.objects {
		rel := c.relative(name)
		other := slices.ContainsFunc(othersFolders, func(folder string) bool { return strings.HasPrefix(rel, folder) })
		if _, ok := c.used[name]; !ok && !other {
			names = append(names, rel)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c.report(Orphan, "orphan", name, "nothing names %s", path.Base(name))
	}
}

// checkSchemas reads all schemas.
func (c *checker) checkSchemas(ctx context.Context) error {
	ids, err := manifest.SchemaIDs(ctx, c.store, c.path)
	if err != nil {
		return err
	}
	expected := int64(0)
	for _, id := range ids {
		where := fmt.Sprintf("schema %d", id)
		c.use(c.path.Schema(id))
		if id != expected {
			c.fault("schema-gap", where, "schema %d is missing", expected)
		}
		expected = id + 1
		s, err := manifest.ReadSchema(ctx, c.store, c.path, id)
		if err != nil {
			c.fault("schema-unreadable", where, "%v", err)
			continue
		}
		c.schemas[id], c.schema = s, s
		for _, f := range s.Fields {
			if f.ID > s.HighestFieldID {
				c.fault("schema-field-id", where, "field id %d is above highestFieldId %d", f.ID, s.HighestFieldID)
			}
			if slices.Contains(s.PrimaryKeys, f.Name) && !f.Type.NotNull {
				c.fault("schema-nullable-key", where, "primary key column %s is nullable", f.Name)
			}
		}
	}
	if c.schema == nil {
		return fmt.Errorf("it has no schema that can be read")
	}
	c.summary.Schemas = len(c.schemas)
	return nil
}
