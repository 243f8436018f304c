package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// TestScript runs testdata/*.txt: commits of one or two instances, with the calls to the store that they make, in order.
//
//	open NAME                        a Committer of its own
//	resume NAME                      prints the state, which the next commit goes on from
//	commit NAME p=P n=N [fault=...]  commits N records of partition P; prints the calls to the store
//	compact NAME [fault=...]         replaces the live files of bucket 0 by one of level 5
//	evolve NAME column=C             adds a column
//	foreign                          another Paimon program appends a file
//	expire below=N, rollback to=N    what other programs do
//	snapshots                        prints the snapshots
//
// A fault is op/pattern/effect, as object.Rule has them; several are joined by commas.
func TestScript(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r := &scriptRun{world: newWorld(t), committers: map[string]*Committer{}, faults: map[string]*switchable{}, progress: map[string]table.Progress{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := r.run(d)
			if err != nil {
				out += "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

// switchable is a store whose faults and log can be changed while it is in use.
type switchable struct{ object.Store }

type scriptRun struct {
	*world
	committers map[string]*Committer
	faults     map[string]*switchable
	progress   map[string]table.Progress // what each goes on from
}

func (r *scriptRun) run(d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	c := r.committers[name]
	var id int64
	switch d.Cmd {
	case "create":
		r.create(nil)
		return "", nil
	case "open":
		store := &switchable{r.store}
		c, err := r.tryOpen(store, group)
		if err == nil {
			c.cfg.Patience = 2 * time.Second
			c.sleep = func(context.Context, time.Duration) error { r.pass(time.Second); return nil }
		}
		r.committers[name], r.faults[name] = c, store
		return "", err
	case "resume":
		s, err := c.Resume(ctx)
		if err != nil {
			return "", err
		}
		r.progress[name] = table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}
		return fmt.Sprintf("newest %d, ours %d, fresh %v, %s, max sequence %d\n",
			s.NewestID, s.SnapshotID, s.Fresh, offsetsText(s.Progress.Offsets), s.MaxSequence), nil
	case "commit":
		var p, n int64
		d.ScanArgs(r.t, "p", &p)
		d.ScanArgs(r.t, "n", &n)
		return r.traced(d, name, func() (Result, error) { return c.Commit(ctx, r.next(r.progress[name], int32(p), n)) })
	case "compact":
		delta, err := r.compaction()
		if err != nil {
			return "", err
		}
		return r.traced(d, name, func() (Result, error) { return c.Commit(ctx, delta) })
	case "evolve":
		var column string
		d.ScanArgs(r.t, "column", &column)
		s, changes, err := c.Evolve(ctx, append(slices.Clone(testFields), table.Field{Name: column, Type: table.Type{Root: table.Int}}))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("schema %d, %d changes\n", s.ID, len(changes)), nil
	case "foreign":
		s := r.foreign(manifest.Append, []table.File{r.file(fmt.Sprintf("data-java-%d.parquet", r.serial()), 0, 1, 5, 1000, 1004)}, nil)
		return fmt.Sprintf("snapshot %d\n", s.ID), nil
	case "expire":
		d.ScanArgs(r.t, "below", &id)
		r.expire(id)
		return "", nil
	case "rollback":
		d.ScanArgs(r.t, "to", &id)
		r.rollback(id)
		return "", nil
	case "snapshots":
		return r.list(), nil
	}
	return "", errors.New("no such command")
}

// compaction is what a compaction of bucket 0 would hand over now.
func (r *scriptRun) compaction() (table.Delta, error) {
	all := r.snapshots()
	live, err := manifest.ReadLive(context.Background(), r.store, r.path, all[len(all)-1], nil)
	var d table.Delta
	for _, f := range live {
		if f.Bucket.Number == 0 {
			d.Removed = append(d.Removed, f)
		}
	}
	f := r.file(fmt.Sprintf("data-compacted-%d.parquet", r.serial()), 0, 0, 5_000_000, 0, 1000)
	f.Level, f.Rows, f.Source = 5, rows(d.Removed), table.SourceCompact
	d.Added = []table.File{f}
	return d, err
}

// traced runs f under the faults of the command and returns the calls it made to the store.
func (r *scriptRun) traced(d *datadriven.TestData, name string, f func() (Result, error)) (string, error) {
	fault := object.NewFault(r.store, parseRules(d)...)
	r.faults[name].Store = fault
	result, err := f()
	r.faults[name].Store = r.store
	var b strings.Builder
	for _, line := range sortCalls(fault.Log()) {
		fmt.Fprintln(&b, strings.ReplaceAll(line, string(r.path)+"/", ""))
	}
	if err == nil {
		r.progress[name] = result.Progress
		fmt.Fprintf(&b, "%s; attempts %d, lost %d, foreign %v, %s, max sequence %d\n", result, result.Attempts, result.LostRaces, result.Foreign,
			offsetsText(result.Progress.Offsets), result.Progress.MaxSequence)
	}
	return b.String(), err
}

// sortCalls sorts what is read in a row, and the manifests that are written in a row: these go out at the same time, in any order.
func sortCalls(log []string) []string {
	kind := func(line string) string {
		verb, name, _ := strings.Cut(line, " ")
		switch {
		case verb == "get", verb == "list":
			return "read"
		case verb == "put" && strings.Contains(name, "/manifest/"):
			return verb
		}
		return ""
	}
	for i, j := 0, 0; i < len(log); i = j {
		for j = i + 1; j < len(log) && kind(log[j]) != "" && kind(log[j]) == kind(log[i]); j++ {
		}
		slices.Sort(log[i:j])
	}
	return log
}

func parseRules(d *datadriven.TestData) []object.Rule {
	var rules []object.Rule
	arg, _ := d.Arg("fault")
	for _, text := range arg.Vals {
		parts := strings.Split(text, ":")
		effect := slices.Index([]string{"before", "after", "lie", "tear", "crash-before", "crash-after"}, parts[2])
		rule := object.Rule{Ops: []object.Op{object.Op(parts[0])}, Path: parts[1], Effect: object.Effect(effect)}
		if len(parts) > 3 {
			fmt.Sscan(parts[3], &rule.Nth)
		}
		rules = append(rules, rule)
	}
	return rules
}

func offsetsText(o table.Offsets) string {
	var parts []string
	for tp, c := range o {
		parts = append(parts, fmt.Sprintf("p%d@%d", tp.Partition, c.Offset))
	}
	slices.Sort(parts)
	return "[" + strings.Join(parts, " ") + "]"
}

func (r *scriptRun) list() string {
	var b strings.Builder
	for _, s := range r.snapshots() {
		progress, _, err := table.ParseProgress(s.Properties)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%d %s %s identifier %d, schema %d, records %d %+d, changelog %d, %s\n", s.ID, s.CommitKind, s.CommitUser, s.CommitIdentifier,
			s.SchemaID, s.TotalRecords, s.DeltaRecords, s.ChangelogRecords, offsetsText(progress.Offsets))
	}
	return b.String()
}
