package flush

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestEveryFault lets each call of the store fail, one after the other, before and after its effect. Trying again gives
// the same files' rows, and a call that did nothing leaves nothing behind.
func TestEveryFault(t *testing.T) {
	fields := []table.Field{
		{Name: "id", Type: table.Type{Root: table.BigInt}}, {Name: "v", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
	}
	schema := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "2", "changelog-producer": "input"})
	var want []string
	for _, effect := range []object.Effect{object.FailBefore, object.FailAfter, object.Tear} {
		for n := 1; ; n++ {
			store := object.NewMem()
			f := object.NewFault(store, object.Rule{Nth: n, Effect: effect})
			w, err := New(Config{Schema: schema, Store: f, Path: "db.db/t"})
			require.NoError(t, err)
			for _, row := range []string{"+I 1 a", "-D 1 a", "+I 11 a", "+I 2 a"} {
				appendText(t, w.Batch(), row)
				require.NoError(t, w.Add())
			}
			require.NoError(t, untilDone(func() error { return w.Spill(t.Context()) }))
			appendText(t, w.Batch(), "-U 2 a")
			appendText(t, w.Batch(), "+U 2 b")
			require.NoError(t, w.Add())
			c := w.Seal()
			var delta table.Delta
			require.NoError(t, untilDone(func() (err error) { delta, err = c.Flush(t.Context()); return err }))
			var rows, names []string
			for _, list := range [][]table.File{delta.Changelog, delta.Added} {
				for i := range list {
					names = append(names, table.Path("db.db/t").DataFile("", list[i].Bucket.Number, list[i].Name))
					for _, r := range readFile(t, store, "db.db/t", schema, &list[i]) {
						rows = append(rows, r.kind.String()+" "+r.cells[0]+" "+r.cells[1])
					}
				}
			}
			if want == nil {
				want = rows
			}
			require.Equal(t, want, rows, "call %d %s", n, effect)
			left := slices.DeleteFunc(objects(t, store), func(name string) bool { return slices.Contains(names, name) })
			if effect != object.FailAfter {
				require.Empty(t, left, "call %d %s", n, effect)
			}
			if f.Fired() == 0 {
				require.Greater(t, n, 10)
				break
			}
			c.Discard(t.Context())
			require.ElementsMatch(t, left, objects(t, store), "only what nobody was told of stays")
		}
	}
}

func objects(t *testing.T, s object.Store) []string {
	var names []string
	for info, err := range s.List(t.Context(), "") {
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	return names
}

func TestFlushCanceled(t *testing.T) {
	schema := orders(t, table.BigInt)
	store := object.NewMem()
	w, err := New(Config{Schema: schema, Store: store, Path: "db.db/t"})
	require.NoError(t, err)
	var next int64
	addOrders(t, w, newRand(), 1000, 50, &next)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.Spill(ctx), context.Canceled)
	c := w.Seal()
	_, err = c.Flush(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "flush table db.db/t bucket")
	require.Empty(t, objects(t, store))
	delta, err := c.Flush(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, delta.Added)
}

func TestSealInTheMiddle(t *testing.T) {
	w, err := New(Config{Schema: orders(t, table.BigInt), Store: object.NewMem(), Path: "db.db/t"})
	require.NoError(t, err)
	appendOrder(w.Batch(), newRand(), 1, table.Insert)
	require.Panics(t, func() { w.Seal() })
	require.NoError(t, w.Add())
	require.EqualValues(t, [4]int64{1}, w.Seal().Rows())
}

// TestMemory: the account follows what is held, an early flush gives at least nearly half of it back, and an idle table
// holds next to nothing.
func TestMemory(t *testing.T) {
	w, err := New(Config{Schema: orders(t, table.BigInt), Store: object.NewMem(), Path: "db.db/t"})
	require.NoError(t, err)
	require.Zero(t, w.BufferedBytes())
	var next int64
	addOrders(t, w, newRand(), 1, 0, &next)
	require.Less(t, w.BufferedBytes(), int64(1<<10))
	addOrders(t, w, newRand(), 60_000, 1000, &next)
	before := w.BufferedBytes()
	require.Greater(t, before, int64(10<<20))
	require.NoError(t, w.Spill(t.Context()))
	require.Less(t, w.BufferedBytes(), before*6/10)
	w.Discard(t.Context())
	require.Zero(t, w.BufferedBytes())
}
