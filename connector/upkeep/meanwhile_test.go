package upkeep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// TestExpiryMeetsNewOptions: what expires is due by the options that the table has then, whoever has changed them, and ahead of whichever call of
// the store, without having committed anything.
func TestExpiryMeetsNewOptions(t *testing.T) {
	dropped, kept := 0, 0
	for n, met := 0, true; met; n++ {
		l := &life{t: t, store: object.NewMem(), path: table.NewPath("db", "t"), now: time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)}
		s := table.NewSchema([]table.Field{{Name: "id", Type: bigint}, {Name: "dt", Type: table.Type{Root: table.VarChar, Length: 10, NotNull: true}}},
			[]string{"id", "dt"}, []string{"dt"}, map[string]string{
				"bucket": "1", "partition.expiration-time": "1 d", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1",
			})
		_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), s)
		require.NoError(t, err)
		committer, err := commit.Open(t.Context(), l.commitConfig())
		require.NoError(t, err)
		w, err := flush.New(flush.Config{Schema: committer.Schema(), Store: l.store, Path: l.path, Now: l.clock})
		require.NoError(t, err)
		for _, day := range []string{"2026-01-01", "2026-01-10"} {
			b := w.Batch()
			b.Columns[0].AppendWord(1)
			b.Columns[1].AppendBytes([]byte(day))
			b.Kinds = append(b.Kinds, table.Insert)
			require.NoError(t, w.Add())
			d, err := w.Seal().Flush(t.Context())
			require.NoError(t, err)
			_, err = committer.Commit(t.Context(), d)
			require.NoError(t, err)
		}
		between := &objecttest.Hook{Store: l.store}
		k, err := Open(t.Context(), Config{Store: between, Path: l.path, User: "group", Now: l.clock})
		require.NoError(t, err)
		_, err = k.MostRuns(t.Context())
		require.NoError(t, err)
		reached := between.Nth(n, func() {
			for option, value := range map[string]string{"partition.expiration-time": "90 d", "snapshot.num-retained.max": "9"} {
				_, err := committer.SetOption(t.Context(), option, value)
				require.NoError(t, err)
			}
		})
		_, err = k.Expire(t.Context())
		met = reached()
		if n == 0 {
			require.NoError(t, err, "the options are known by then")
		} else if err != nil {
			require.ErrorIs(t, err, commit.ErrConflict, "call %d", n)
		}
		ids, err := manifest.SnapshotIDs(t.Context(), l.store, l.path)
		require.NoError(t, err)
		newest, err := manifest.LatestSnapshot(t.Context(), l.store, l.path)
		require.NoError(t, err)
		if newest.CommitKind != manifest.Overwrite {
			kept++
			require.Equal(t, []int64{1, 2}, ids, "call %d", n)
			continue
		}
		dropped++
		schema, err := manifest.ReadSchema(t.Context(), l.store, l.path, newest.SchemaID)
		require.NoError(t, err)
		require.Equal(t, "1 d", schema.Options["partition.expiration-time"], "call %d: a partition was dropped that is to stay", n)
	}
	require.Positive(t, dropped)
	require.Positive(t, kept)
}
