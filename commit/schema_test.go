package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

func testSchema(options map[string]string) *table.Schema {
	return table.NewSchema(testFields, []string{"id"}, nil, options)
}

func TestCreateTable(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	_, err := Open(ctx, w.config(w.store, group))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "db.db/t")

	s, created, err := CreateTable(ctx, w.config(w.store, group), testSchema(map[string]string{"bucket": "2"}))
	require.NoError(t, err)
	require.True(t, created)
	require.Zero(t, s.ID)
	require.Equal(t, w.clock().UnixMilli(), s.TimeMillis)
	onDisk, err := manifest.LatestSchema(ctx, w.store, w.path)
	require.NoError(t, err)
	require.Equal(t, onDisk, s)

	other, created, err := CreateTable(ctx, w.config(w.store, group), testSchema(map[string]string{"bucket": "8"}))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, "2", other.Option("bucket"), "what is there counts")

	_, _, err = CreateTable(ctx, w.config(object.NewMem(), group), testSchema(map[string]string{"bucket": "-1"}))
	require.ErrorContains(t, err, "bucket")
}

// Several instances that meet a new table at once make one.
func TestCreateTableRace(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	var group sync.WaitGroup
	won := make([]bool, 8)
	errs := make([]error, 8)
	schemas := make([]*table.Schema, 8)
	for i := range won {
		group.Go(func() {
			cfg := w.config(w.store, "g")
			schemas[i], won[i], errs[i] = CreateTable(ctx, cfg, testSchema(map[string]string{"bucket": fmt.Sprint(i + 1)}))
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	n := 0
	for i := range won {
		require.Equal(t, schemas[0], schemas[i])
		if won[i] {
			n++
			require.Equal(t, fmt.Sprint(i+1), schemas[i].Option("bucket"))
		}
	}
	require.Equal(t, 1, n)
}

// Lost answers, for the table and for a new schema version.
func TestSchemaUnknownOutcomes(t *testing.T) {
	ctx := context.Background()
	for _, effect := range []object.Effect{object.FailBefore, object.FailAfter, object.LieExist} {
		w := newWorld(t)
		f := object.NewFault(w.store, object.Rule{Ops: []object.Op{object.OpCreate}, Path: "schema-0", Nth: 1, Effect: effect},
			object.Rule{Ops: []object.Op{object.OpCreate}, Path: "schema-1", Nth: 1, Effect: effect})
		_, created, err := CreateTable(ctx, w.config(f, group), testSchema(map[string]string{"bucket": "2"}))
		require.NoError(t, err)
		require.True(t, created)
		c := w.open(f)
		s, changes, err := c.Evolve(ctx, append(slices.Clone(testFields), table.Field{Name: "w", Type: table.Type{Root: table.Int}}))
		require.NoError(t, err)
		require.Len(t, changes, 1)
		require.EqualValues(t, 1, s.ID)
		require.Equal(t, 2, f.Fired())
	}
}

// Another writer drops a column under a checkpoint, whose values nobody would see.
func TestColumnDropped(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a := w.open(w.store)
	r, err := a.Commit(ctx, w.delta(0, -1, 10, -1))
	require.NoError(t, err)
	next := w.next(r.Progress, 0, 10)
	dropped := *a.Schema()
	dropped.ID, dropped.Fields = 1, dropped.Fields[:len(dropped.Fields)-1]
	raw, err := dropped.Encode()
	require.NoError(t, err)
	require.NoError(t, w.store.Create(ctx, w.path.Schema(1), raw))

	_, err = a.Commit(ctx, next)
	require.ErrorIs(t, err, ErrAltered)
	require.ErrorContains(t, err, testFields[len(testFields)-1].Name)
	require.EqualValues(t, 1, a.Schema().ID, "what is read again is bound to the newest schema")
	for _, files := range [][]table.File{next.Added, next.Changelog} {
		for i := range files {
			files[i].SchemaID = 1
		}
	}
	_, err = a.Commit(ctx, next)
	require.NoError(t, err)
}

// TestAltered: what another writer does to the columns or the changelog under a checkpoint.
func TestAltered(t *testing.T) {
	ctx := context.Background()
	narrow, wide := table.Type{Root: table.Int}, table.Type{Root: table.BigInt}
	member := func(names ...string) table.Type {
		fields := make([]table.Field, len(names))
		for i, name := range names {
			fields[i] = table.Field{ID: 10 + i, Name: name, Type: narrow}
		}
		return table.Type{Root: table.RowType, Fields: fields}
	}
	for name, c := range map[string]struct {
		is    table.Type
		alter func(s *table.Schema, f *table.Field)
		why   string // empty: the checkpoint is committed all the same
	}{
		"widened":          {narrow, func(_ *table.Schema, f *table.Field) { f.Type = wide }, ""},
		"renamed":          {narrow, func(_ *table.Schema, f *table.Field) { f.Name = "y" }, ""},
		"renamed, widened": {narrow, func(_ *table.Schema, f *table.Field) { f.Name, f.Type = "y", wide }, ""},
		"a new column": {narrow, func(s *table.Schema, _ *table.Field) {
			s.Fields = append(s.Fields, table.Field{ID: 20, Name: "y", Type: table.Type{Root: table.Int, NotNull: true}})
		}, ""},
		"another option": {narrow, func(s *table.Schema, _ *table.Field) { s.Options["snapshot.num-retained.min"] = "3" }, ""},
		"a new member":   {member("a"), func(_ *table.Schema, f *table.Field) { f.Type = member("a", "b") }, ""},
		"narrowed":       {wide, func(_ *table.Schema, f *table.Field) { f.Type = narrow }, "column x is BIGINT in schema 0 of the checkpoint's files, but INT in schema 1"},
		"made NOT NULL":  {wide, func(_ *table.Schema, f *table.Field) { f.Type.NotNull = true }, "but BIGINT NOT NULL in schema 1"},
		"another type":   {wide, func(_ *table.Schema, f *table.Field) { f.Type = table.Type{Root: table.Date} }, "cannot take in BIGINT"},
		"another column of its name": {narrow, func(_ *table.Schema, f *table.Field) { f.ID = 20 },
			"column x is in schema 0 of the checkpoint's files, but not in schema 1"},
		"a member dropped": {member("a", "b"), func(_ *table.Schema, f *table.Field) { f.Type = member("a") }, "column x is ROW"},
		"another changelog producer": {narrow, func(s *table.Schema, _ *table.Field) { s.Options["changelog-producer"] = "lookup" },
			"changelog-producer is input in schema 0 of the checkpoint's files, but lookup in schema 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := testSchema(map[string]string{"bucket": "2", "changelog-producer": "input"})
			s.Fields = append(slices.Clone(s.Fields), table.Field{ID: 9, Name: "x", Type: c.is})
			_, _, err := CreateTable(ctx, w.config(w.store, group), s)
			require.NoError(t, err)
			a := w.open(w.store)
			next := s.Clone()
			next.ID = 1
			c.alter(next, &next.Fields[len(s.Fields)-1])
			raw, err := next.Encode()
			require.NoError(t, err)
			require.NoError(t, w.store.Create(ctx, w.path.Schema(1), raw))
			_, err = a.Commit(ctx, w.delta(0, -1, 10, -1))
			if c.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrAltered)
			require.ErrorContains(t, err, c.why)
			require.EqualValues(t, 1, a.Schema().ID, "what is read again is bound to the newest schema")
		})
	}
}

// U30.5: two instances meet the new schema at once, and make one version of it.
func TestEvolveRace(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	wanted := append(slices.Clone(testFields), table.Field{Name: "grade", Type: table.Type{Root: table.Int}})
	h.Once("create", w.path.Schema(1), func() {
		w.pass(time.Millisecond)
		s, changes, err := b.Evolve(ctx, wanted)
		require.NoError(t, err)
		require.Len(t, changes, 1)
		require.EqualValues(t, 1, s.ID)
	})
	s, changes, err := a.Evolve(ctx, wanted)
	require.NoError(t, err)
	require.Empty(t, changes, "the other made it")
	require.EqualValues(t, 1, s.ID)
	require.Equal(t, b.Schema(), s)

	// Different changes at once: both are made, one after the other.
	h.Once("create", w.path.Schema(2), func() {
		_, _, err := b.Evolve(ctx, append(slices.Clone(wanted), table.Field{Name: "x", Type: table.Type{Root: table.Int}}))
		require.NoError(t, err)
	})
	s, changes, err = a.Evolve(ctx, append(slices.Clone(wanted), table.Field{Name: "y", Type: table.Type{Root: table.BigInt}}))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.EqualValues(t, 3, s.ID)
	require.GreaterOrEqual(t, s.FieldIndex("x"), 0)
	require.GreaterOrEqual(t, s.FieldIndex("y"), 0)

	// Many at once.
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			c, err := w.tryOpen(w.store, "g")
			if err == nil {
				_, _, err = c.Evolve(ctx, append(slices.Clone(wanted), table.Field{Name: "z", Type: table.Type{Root: table.Double}}))
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	ids, err := manifest.SchemaIDs(ctx, w.store, w.path)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2, 3, 4}, ids, "one version a change")
}

func TestEvolveIncompatible(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	_, _, err := c.Evolve(ctx, []table.Field{testFields[0], {Name: "v", Type: table.Type{Root: table.Int}}})
	var incompatible *table.IncompatibleError
	require.ErrorAs(t, err, &incompatible)
	require.Equal(t, "v", incompatible.Column)
	require.Zero(t, c.Schema().ID)
}

// A commit finds a schema that another instance made, and says so by Schema.
func TestCommitSeesNewSchema(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	a, b := w.open(w.store), w.open(w.store)
	_, _, err := b.Evolve(ctx, append(slices.Clone(testFields), table.Field{Name: "w", Type: table.Type{Root: table.Int}}))
	require.NoError(t, err)
	require.Zero(t, a.Schema().ID)
	w.commit(a, 0, 10)
	require.EqualValues(t, 1, a.Schema().ID)
	require.EqualValues(t, 1, w.mustSnapshot(1).SchemaID)
	require.Zero(t, w.ofBucket(0)[0].SchemaID, "the files keep the schema that they were written with")
}

// A newer schema that this program cannot read stops the commit, and names the file.
func TestSchemaOfTheFuture(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	c := w.open(w.store)
	require.NoError(t, w.store.Create(ctx, w.path.Schema(1), []byte(`{"version":9,"id":1}`)))
	_, err := c.Commit(ctx, w.delta(0, -1, 10, -1))
	var version *table.VersionError
	require.ErrorAs(t, err, &version)
	require.ErrorContains(t, err, "schema/schema-1")
}

// A schema that comes right after it was asked for, with a snapshot that is seen: no snapshot says an older schema than the one before it.
func TestSchemaNeverGoesBack(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t).create(nil)
	h := &objecttest.Hook{Store: w.store}
	a, b := w.open(h), w.open(w.store)
	d := w.next(w.commit(a, 0, 10).Progress, 0, 10)
	_, _, err := b.Evolve(ctx, append(slices.Clone(testFields), table.Field{Name: "w", Type: table.Type{Root: table.Int}}))
	require.NoError(t, err)
	w.commit(b, 1, 10)
	asked := false
	h.Before = func(_ object.Op, name string) error {
		if name == w.path.Schema(1) && !asked {
			asked = true
			return errAbsent
		}
		return nil
	}
	r, err := a.Commit(ctx, d)
	require.NoError(t, err)
	require.True(t, asked)
	require.EqualValues(t, 3, r.SnapshotID)
	require.EqualValues(t, 1, w.mustSnapshot(3).SchemaID)
	w.check()
}
