package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"sink/table"
	"sink/table/manifest"
)

// Start says where a stream of changes begins: at a snapshot id, or at one of the constants.
type Start int64

// Where a stream may begin. Any number above 0 is a snapshot: its changes are the first, or those of the earliest
// snapshot that is left when it has expired.
const (
	LatestFull Start = 0  // all rows of the newest snapshot, then the changes after it
	Latest     Start = -1 // the changes after the newest snapshot
	Earliest   Start = -2 // the first changes that are left
)

// ErrExpired says that a stream has fallen behind: the next changes have been removed from the table.
var ErrExpired = errors.New("the changes have expired")

// ChangeOptions say what to read of a changelog.
type ChangeOptions struct {
	Columns []string      // nil: all, in the order of the schema
	Where   Where         // which rows; nil: all. Each row of an update is judged by itself
	To      int64         // the last snapshot to read; 0: no end
	Poll    time.Duration // how often to look for the next snapshot; 0: end when there is none
}

// Change is a batch of changes of one bucket.
type Change struct {
	Snapshot int64
	Full     bool   // rows of the full read that LatestFull begins with
	Split    *Split // the bucket, and all its files in this snapshot
	Batch    *table.Batch
}

// ChangeFields returns the fields of the rows that options ask for; an error names a column that is not there.
func (t *Table) ChangeFields(o ChangeOptions) ([]table.Field, error) {
	return (&Plan{Table: t, Schema: t.schema}).Fields(Options{Columns: o.Columns})
}

// Changes returns the changes of one snapshot after the other, in batches that are good until the next one. Within a
// snapshot they come by partition and bucket, within a bucket in the order in which they are stored. After an error nothing
// follows; one that satisfies [ErrExpired] says that changes were lost to expiry.
//
// Changes of all merge engines are read, as they were written.
func (t *Table) Changes(ctx context.Context, from Start, o ChangeOptions) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		s := stream{t: t, o: o, yield: func(c Change) bool { return yield(c, nil) }}
		if err := s.run(ctx, from); err != nil && !errors.Is(err, errStopped) {
			yield(Change{}, fmt.Errorf("read changes: %w", err))
		}
	}
}

// errStopped says that nobody wants more changes.
var errStopped = errors.New("stopped")

// stream reads changes and hands them out.
type stream struct {
	t       *Table
	o       ChangeOptions
	yield   func(Change) bool
	columns *columns
	choose  *chooser
}

func (s *stream) run(ctx context.Context, from Start) error {
	want, err := positions(s.t.schema, s.o.Columns)
	if err != nil {
		return fmt.Errorf("table %s: %w", s.t.path, err)
	}
	if err := s.t.checkFiles(s.t.schema); err != nil {
		return err
	}
	if s.choose, want, err = newChooser(s.t.schema, want, s.o.Where); err != nil {
		return fmt.Errorf("table %s: %w", s.t.path, err)
	}
	if s.columns, err = newColumns(s.t.schema, want, false); err != nil {
		return fmt.Errorf("table %s: %w", s.t.path, err)
	}
	next, err := s.start(ctx, from)
	for err == nil && (s.o.To == 0 || next <= s.o.To) {
		var snapshot *manifest.Snapshot
		if snapshot, err = s.wait(ctx, next); err != nil || snapshot == nil {
			break
		}
		if err = s.read(ctx, snapshot); err != nil {
			err = s.explain(ctx, snapshot.ID, err)
		}
		next++
	}
	return err
}

// start returns the snapshot whose changes are the first, after the full read if one is wanted.
func (s *stream) start(ctx context.Context, from Start) (int64, error) {
	switch from {
	case LatestFull:
		plan, err := s.t.Plan(ctx, At{}, nil)
		if err != nil || plan.Snapshot == nil {
			return 1, err
		}
		id, stopped := plan.Snapshot.ID, false
		err = plan.eachBatch(ctx, Options{Columns: s.o.Columns, Where: s.o.Where}, func(split *Split, b *table.Batch) bool {
			stopped = !s.yield(Change{Snapshot: id, Full: true, Split: split, Batch: b})
			return !stopped
		})
		if stopped {
			return 0, errStopped
		}
		return id + 1, err
	case Latest:
		id, _, err := manifest.Latest(ctx, s.t.store, s.t.path)
		return id + 1, err
	}
	first, err := s.t.earliestChange(ctx)
	if err != nil || int64(from) <= first {
		return first, err
	}
	latest, _, err := manifest.Latest(ctx, s.t.store, s.t.path)
	if err == nil && int64(from) > latest+1 {
		err = s.t.noSnapshot(ctx, fmt.Sprintf("%d to start from", from))
	}
	return int64(from), err
}

// earliestChange returns the lowest id of a snapshot or of a long-lived changelog, 1 if there is none.
func (t *Table) earliestChange(ctx context.Context) (int64, error) {
	snapshot, have, err := manifest.Earliest(ctx, t.store, t.path)
	if err != nil {
		return 0, err
	}
	changelog, haveChangelog, err := manifest.EarliestLongLivedChangelog(ctx, t.store, t.path)
	switch {
	case err != nil:
		return 0, err
	case have && haveChangelog:
		return min(snapshot, changelog), nil
	case have:
		return snapshot, nil
	case haveChangelog:
		return changelog, nil
	}
	return 1, nil
}

// wait returns the snapshot of that id, or what is left of it. It waits for it, or returns nil where nobody wants to wait.
func (s *stream) wait(ctx context.Context, id int64) (*manifest.Snapshot, error) {
	for {
		snapshot, err := manifest.ReadChange(ctx, s.t.store, s.t.path, id)
		if !errors.Is(err, fs.ErrNotExist) {
			return snapshot, err
		}
		if again, err := s.absent(ctx, id); err != nil {
			return nil, err
		} else if again {
			continue
		}
		if s.o.Poll <= 0 {
			return nil, nil
		}
		timer := time.NewTimer(s.o.Poll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// absent tells why a snapshot is not there: nil if it is only not there yet. again says to look once more: it has come
// meanwhile.
func (s *stream) absent(ctx context.Context, id int64) (again bool, err error) {
	latest, ok, err := manifest.Latest(ctx, s.t.store, s.t.path)
	switch {
	case err != nil:
		return false, err
	case !ok && id == 1:
		return false, nil
	case !ok || latest < id-1:
		return false, fmt.Errorf("table %s: snapshot %d is to come next but the newest is %d: the table was rolled back or made anew",
			s.t.path, id, latest)
	case latest == id-1:
		return false, nil
	}
	first, err := s.t.earliestChange(ctx)
	switch {
	case err != nil:
		return false, err
	case first > id:
		return false, fmt.Errorf("table %s: %w: snapshot %d is gone, the earliest is %d", s.t.path, ErrExpired, id, first)
	case latest == id:
		return true, nil
	}
	if _, err := manifest.ReadChange(ctx, s.t.store, s.t.path, id); !errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, fmt.Errorf("table %s: snapshot %d is missing between %d and %d", s.t.path, id, first, latest)
}

// explain turns the absence of a file into ErrExpired when the snapshot that named it has gone, too.
func (s *stream) explain(ctx context.Context, id int64, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, gone := manifest.ReadChange(ctx, s.t.store, s.t.path, id); errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("table %s: %w: snapshot %d went while it was read: %w", s.t.path, ErrExpired, id, err)
	}
	return err
}

// read hands out the changes of a snapshot.
func (s *stream) read(ctx context.Context, snapshot *manifest.Snapshot) error {
	files, err := s.t.ChangeFiles(ctx, snapshot)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(files, func(f table.File) bool { return f.Bucket.Number < 0 }) {
		return s.t.unsupported("the changes of snapshot %d lie in bucket-postpone", snapshot.ID)
	}
	splits, err := s.t.splits(s.t.schema, files)
	if err != nil {
		return err
	}
	for i := range splits {
		constant := constants{row: splits[i].row}
		for j := range splits[i].Files {
			if err := s.readFile(ctx, snapshot.ID, &splits[i], &splits[i].Files[j], &constant); err != nil {
				return err
			}
		}
	}
	return nil
}

// ChangeFiles returns the files that hold the changes of a snapshot, in the order of the manifest. Tables without a changelog
// producer have them in the data files of APPEND snapshots.
func (t *Table) ChangeFiles(ctx context.Context, snapshot *manifest.Snapshot) ([]table.File, error) {
	if strings.EqualFold(t.schema.Option("changelog-producer"), "none") {
		if snapshot.CommitKind != manifest.Append {
			return nil, nil
		}
		entries, err := manifest.ReadDelta(ctx, t.store, t.path, snapshot, nil)
		var files []table.File
		for i := range entries {
			if entries[i].Kind == manifest.Add {
				files = append(files, entries[i].File)
			}
		}
		return files, err
	}
	if snapshot.CommitKind == manifest.Overwrite && strings.EqualFold(t.schema.Options["streaming-read-overwrite"], "true") {
		return nil, t.unsupported("snapshot %d is an OVERWRITE and option streaming-read-overwrite is true", snapshot.ID)
	}
	return manifest.ReadChangelog(ctx, t.store, t.path, snapshot, nil)
}

func (s *stream) readFile(ctx context.Context, id int64, split *Split, f *table.File, constant *constants) (err error) {
	if may, err := s.choose.mayHold(f, s.t.rangesOf(ctx, split), false); err != nil || !may {
		return err
	}
	r, err := s.t.openFile(ctx, f, s.columns, s.choose, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	read, rows := table.NewBatch(s.columns.readFields()), new(table.Batch)
	var seqs []int64
	for {
		read.Reset()
		seqs = seqs[:0]
		if _, err := r.Next(read, &seqs, batchRows); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		s.columns.assemble(rows, read, constant)
		chosen, err := s.choose.choose(rows)
		if err != nil {
			return err
		}
		if chosen.Len() > 0 && !s.yield(Change{Snapshot: id, Split: split, Batch: chosen}) {
			return errStopped
		}
	}
}
