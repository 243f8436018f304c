package commit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object/objecttest"
)

// crowd are those who use the table beside a Committer: b, which has partition 1 and takes 0 when asked, and a stranger.
type crowd struct {
	*world
	b       *Committer
	foreign int64 // rows of the stranger
}

func (c *crowd) stranger() {
	n := strconv.Itoa(c.serial())
	c.world.foreign(manifest.Append, []table.File{c.file("data-java-"+n+".parquet", 0, 1, 5, 0, 0)}, nil)
	c.foreign += 5
}

func (c *crowd) goOn(times int) {
	for range times {
		c.commit(c.b, 1, 10)
	}
}

// alter has b add a column.
func (c *crowd) alter() {
	_, _, err := c.b.Evolve(context.Background(), append(slices.Clone(c.b.Schema().Fields), table.Field{Name: "w", Type: table.Type{Root: table.Int}}))
	require.NoError(c.t, err)
}

// expireAll expires all below the newest snapshot with a map, which is pinned.
func (c *crowd) expireAll() {
	all := c.snapshots()
	for i := len(all) - 1; i >= 0; i-- {
		if claimsMap(all[i]) {
			c.expire(all[i].ID)
			return
		}
	}
}

// TestTableGoesOnAtEveryCall: whatever the others do to the table ahead of whichever call of an operation, it succeeds or asks to be made
// again; what it says is so, the table never stops for it, and every record is there once.
func TestTableGoesOnAtEveryCall(t *testing.T) {
	ctx := t.Context()
	begun := func(c *crowd, a *Committer) {
		c.commit(a, 0, 10)
		c.goOn(1)
		_, err := a.Resume(ctx)
		require.NoError(t, err)
	}
	checkpoint := func(c *crowd, a *Committer) error {
		_, err := a.Commit(ctx, c.delta(0, 10, 20, 1000))
		return err
	}
	operations := map[string]struct {
		before  func(*crowd, *Committer) // without calls of the store that count
		do      func(*crowd, *Committer) error
		records int64 // of partition 0 when it has succeeded
	}{
		"resume": {func(c *crowd, _ *Committer) { c.goOn(2); c.stranger(); c.stranger() },
			func(_ *crowd, a *Committer) error { _, err := a.Resume(ctx); return err }, 0},
		"first checkpoint": {func(_ *crowd, a *Committer) { _, err := a.Resume(ctx); require.NoError(t, err) },
			func(c *crowd, a *Committer) error { _, err := a.Commit(ctx, c.delta(0, -1, 10, 1000)); return err }, 10},
		"checkpoint":              {begun, checkpoint, 20},
		"checkpoint, view lost":   {func(c *crowd, a *Committer) { begun(c, a); a.view = view{} }, checkpoint, 20},
		"checkpoint, all expired": {func(c *crowd, a *Committer) { begun(c, a); c.goOn(1); c.stranger(); c.expireAll() }, checkpoint, 20},
		"compaction": {begun, func(c *crowd, a *Committer) error {
			d := table.Delta{Removed: c.ofBucket(0), Added: []table.File{c.compacted("data-c1.parquet", 0, 5, 0, 1_000_009)}}
			d.Added[0].Rows = rows(d.Removed)
			_, err := a.Commit(ctx, d)
			return err
		}, 10},
	}
	events := map[string]func(*crowd){
		"a new column":             func(c *crowd) { c.alter(); c.goOn(1) },
		"stranger":                 func(c *crowd) { c.stranger() },
		"stranger, one":            func(c *crowd) { c.stranger(); c.goOn(1) },
		"two, expiry":              func(c *crowd) { c.goOn(2); c.expireAll() },
		"strangers, two, expiry":   func(c *crowd) { c.stranger(); c.stranger(); c.goOn(2); c.expireAll() },
		"very many, expiry":        func(c *crowd) { c.goOn(probeAhead + 2); c.stranger(); c.expireAll() },
		"it is taken by two, late": func(c *crowd) { c.stranger(); c.goOn(1); c.expireAll(); c.commit(c.b, 0, 10); c.stranger() },
	}
	for name, op := range operations {
		for what, happen := range events {
			t.Run(name+"/"+what, func(t *testing.T) {
				for n, happened := 0, true; happened; n++ {
					c := &crowd{world: newWorld(t).create(nil)}
					c.b = c.open(c.store)
					taken := int64(0)
					s := &objecttest.Hook{Store: c.store}
					a := c.open(s)
					op.before(c, a)
					before := c.reached()
					reached := s.Nth(n, func() {
						was := c.reached()
						happen(c)
						taken = c.reached() - was
					})
					err := op.do(c, a)
					happened = reached()
					s.Before = nil
					c.judge(a, err, n, before+taken, op.records+taken)
				}
			})
		}
	}
}

// reached returns how far partition 0 is.
func (c *crowd) reached() int64 {
	s, err := c.open(c.store).Resume(context.Background())
	require.NoError(c.t, err)
	return s.Progress.Offsets[part(0)].Offset
}

// judge compares the table with what an operation said, whose n-th call the others came before. Partition 0 is at failed if it has failed, else at done.
func (c *crowd) judge(a *Committer, err error, n int, failed, done int64) {
	c.t.Helper()
	retriable := false
	for _, e := range []error{ErrUnsettled, ErrFenced, ErrOvertaken, ErrConflict} {
		retriable = retriable || errors.Is(err, e)
	}
	require.True(c.t, err == nil || retriable, "call %d: %v", n, err)
	s, resumeErr := a.Resume(context.Background())
	require.NoError(c.t, resumeErr, "call %d, after %v", n, err)
	at := s.Progress.Offsets[part(0)].Offset
	switch {
	case err == nil:
		require.Equal(c.t, done, at, "call %d", n)
	case !errors.Is(err, ErrUnsettled):
		require.Equal(c.t, failed, at, "call %d, after %v", n, err)
	}
	c.commit(a, 0, 10)
	all := c.snapshots()
	newest := all[len(all)-1]
	progress, _, err := table.ParseProgress(newest.Properties)
	require.NoError(c.t, err)
	require.Equal(c.t, 2*(progress.Offsets[part(0)].Offset+progress.Offsets[part(1)].Offset)+c.foreign, newest.TotalRecords, "call %d: a row for each bucket a record", n)
	for i := 1; i < len(all); i++ {
		require.Equal(c.t, all[i-1].ID+1, all[i].ID, "call %d: ids are dense", n)
		require.LessOrEqual(c.t, all[i-1].SchemaID, all[i].SchemaID, "call %d: the schema never goes back", n)
	}
}
