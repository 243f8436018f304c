package verify

import (
	"context"
	"fmt"
	"strings"

	"sink/table"
	"sink/table/manifest"
	"sink/table/scan"
)

// replayer applies the changelog to rows.
type replayer struct {
	*checker
	table     *scan.Table
	fields    []table.Field
	primary   *table.KeyEncoder
	rows      map[string]string // by key: canonical JSON
	equal     map[string]int    // an append table: how many rows have a text
	updating  map[string]bool   // keys whose -U has come
	warned    map[string]bool   // by code and snapshot
	key, text []byte
}

// replay compares the changelog with the rows: applied to nothing, when it is whole, or to the rows of the first snapshot,
// it gives the rows of each later one.
func (c *checker) replay(ctx context.Context, snapshots []*manifest.Snapshot) error {
	s := c.schema
	if c.options.Replay == ReplayNone || len(snapshots) == 0 {
		return nil
	}
	if s.Append() {
		return c.replayWith(ctx, snapshots)
	}
	if !strings.EqualFold(s.Option("ignore-delete"), "false") || !strings.EqualFold(s.Option("merge-engine"), "deduplicate") || strings.EqualFold(s.Option("changelog-producer"), "none") ||
		s.Option("sequence.field") != "" || s.Options["record-level.expire-time"] != "" {
		c.report(Info, "replay", "changelog", "not replayed: it needs merge-engine deduplicate, a changelog producer, and neither sequence.field nor ignore-delete")
		return nil
	}
	return c.replayWith(ctx, snapshots)
}

func (c *checker) replayWith(ctx context.Context, snapshots []*manifest.Snapshot) error {
	s := c.schema
	t, err := scan.Open(ctx, c.store, c.path)
	if err != nil {
		c.fault("replay", "changelog", "cannot be read: %v", err)
		return nil
	}
	primary := s.Indexes(s.PrimaryKeys)
	r := &replayer{
		checker: c, table: t, fields: s.Fields, primary: table.NewKeyEncoder(s.TypesOf(primary), primary),
		updating: map[string]bool{}, warned: map[string]bool{},
	}
	return r.run(ctx, snapshots)
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
	var err error
	if r.rows, r.equal, err = r.rowsAt(ctx, start); err != nil {
		return r.unreadable(ctx, start, err)
	}
	last := snapshots[len(snapshots)-1].ID
	for id := start + 1; id <= last; id++ {
		s := r.snapshots[id]
		if s != nil && s.CommitKind == manifest.Overwrite {
			r.report(Info, "replay", fmt.Sprintf("snapshot %d", id), "an OVERWRITE is not in the changelog: it goes on from the rows after it")
			if r.rows, r.equal, err = r.rowsAt(ctx, id); err != nil {
				return r.unreadable(ctx, id, err)
			}
			continue
		}
		if err := r.apply(ctx, id); err != nil {
			return r.unreadable(ctx, id, err)
		}
		if s == nil || r.options.Replay == ReplayLast && id < last {
			continue
		}
		same, err := r.compare(ctx, id)
		if err != nil {
			return r.unreadable(ctx, id, err)
		}
		if !same {
			return nil
		}
		r.summary.Replayed++
	}
	return nil
}

// hasChangelog reports whether the changelog of a snapshot lives on.
func (r *replayer) hasChangelog(id int64) bool {
	_, ok := r.objects[r.path.Changelog(id)]
	return ok
}

// unreadable makes a fault of an error.
func (r *replayer) unreadable(ctx context.Context, id int64, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.fault("replay", fmt.Sprintf("snapshot %d", id), "cannot be read: %v", err)
	return nil
}

// rowsAt returns the rows of a snapshot in the columns of the newest schema, as the changelog's are; none for 0. In an append
// table it also returns how many there are of each.
func (r *replayer) rowsAt(ctx context.Context, id int64) (rows map[string]string, equal map[string]int, err error) {
	rows, equal = map[string]string{}, map[string]int{}
	if id == 0 {
		return rows, equal, nil
	}
	plan, err := r.table.Plan(ctx, scan.At{Snapshot: id}, nil)
	if err != nil {
		return nil, nil, err
	}
	plan.Schema = r.table.Schema()
	for b, err := range plan.Rows(ctx, scan.Options{}) {
		if err != nil {
			return nil, nil, err
		}
		for i := range b.Len() {
			rows[r.keyOf(b, i, equal)] = r.textOf(b, i)
		}
	}
	return rows, equal, nil
}

// keyOf returns what tells a row from others: the primary key, or its text and how many of that have come.
func (r *replayer) keyOf(b *table.Batch, i int, equal map[string]int) string {
	if r.schema.Append() {
		text := r.textOf(b, i)
		equal[text]++
		return fmt.Sprint(text, equal[text])
	}
	r.key = r.primary.Append(r.key[:0], b, i)
	return string(r.key)
}

func (r *replayer) textOf(b *table.Batch, i int) string {
	r.text = table.AppendCanonicalRow(r.text[:0], r.fields, b, i)
	return string(r.text)
}

// apply applies the changes of a snapshot. Images that do not fit the rows are legal input, so they only warn.
func (r *replayer) apply(ctx context.Context, id int64) error {
	where := fmt.Sprintf("snapshot %d", id)
	for change, err := range r.table.Changes(ctx, scan.Start(id), scan.ChangeOptions{To: id}) {
		if err != nil {
			return err
		}
		if change.Snapshot != id {
			break
		}
		for i := range change.Batch.Len() {
			r.applyRow(where, change.Batch.Kinds[i], r.keyOf(change.Batch, i, r.equal), r.textOf(change.Batch, i))
		}
	}
	return nil
}

func (r *replayer) applyRow(where string, kind table.Kind, key, row string) {
	old, there := r.rows[key]
	if kind.Retracts() {
		if old != row {
			r.warnOnce("changelog-before", where, "%s says %s, but the row was %s", kind, row, old)
		}
		delete(r.rows, key)
		if kind == table.UpdateBefore {
			r.updating[key] = true
		}
		return
	}
	r.rows[key] = row
	updates := r.updating[key]
	delete(r.updating, key)
	if kind == table.Insert && (there || updates) {
		r.warnOnce("changelog-insert", where, "+I of a key that is there: %s", row)
	}
	if kind == table.UpdateAfter && !updates {
		r.warnOnce("changelog-update", where, "+U without its -U: %s", row)
	}
}

func (r *replayer) warnOnce(code, where, format string, args ...any) {
	if !r.warned[code+where] {
		r.warned[code+where] = true
		r.warn(code, where, format, args...)
	}
}

// compare reports whether the rows are those of a snapshot.
func (r *replayer) compare(ctx context.Context, id int64) (bool, error) {
	want, _, err := r.rowsAt(ctx, id)
	if err != nil {
		return false, err
	}
	where := fmt.Sprintf("snapshot %d", id)
	for key, row := range r.rows {
		held, ok := want[key]
		switch {
		case !ok:
			r.fault("replay", where, "the changelog gives %s, which the table does not hold", row)
			return false, nil
		case held != row:
			r.fault("replay", where, "the changelog gives %s, but the table holds %s", row, held)
			return false, nil
		}
	}
	for key, row := range want {
		if _, ok := r.rows[key]; !ok {
			r.fault("replay", where, "the changelog lacks %s, which the table holds", row)
			return false, nil
		}
	}
	return true, nil
}
