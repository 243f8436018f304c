package upkeep

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
)

// TestFileNewerThanSnapshot: a file may have a newer schema than the newest snapshot says, that of a writer who read the schema
// before. The values of its new column outlive all that rewrites it.
func TestFileNewerThanSnapshot(t *testing.T) {
	rewrites := map[string]func(*Keeper) error{
		"compaction": func(k *Keeper) error { _, err := k.Compact(t.Context(), Scope{Full: true}); return err },
		"rescale":    func(k *Keeper) error { _, err := k.Rescale(t.Context(), 3, Scope{}); return err },
	}
	for kind, keys := range map[string][]string{"primary key": {"id"}, "append": nil} {
		for name, rewrite := range rewrites {
			t.Run(kind+" "+name, func(t *testing.T) {
				l := &life{t: t, store: object.NewMem(), path: table.NewPath("db", "t"), now: time.Now()}
				s := table.NewSchema([]table.Field{{Name: "id", Type: bigint}}, keys, nil, map[string]string{"bucket": "1", "bucket-key": "id"})
				_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), s)
				require.NoError(t, err)
				k := l.keeper()
				committer, err := commit.Open(t.Context(), l.commitConfig())
				require.NoError(t, err)
				s, _, err = committer.Evolve(t.Context(), append(slices.Clone(committer.Schema().Fields), table.Field{Name: "extra", Type: table.Type{Root: table.BigInt}}))
				require.NoError(t, err)
				w, err := flush.New(flush.Config{Schema: s, Store: l.store, Path: l.path, Now: l.clock})
				require.NoError(t, err)
				want := map[int64]int64{}
				for id := range int64(4) {
					b := w.Batch()
					b.Columns[0].AppendWord(id)
					b.Columns[1].AppendWord(100 + id)
					b.Kinds = append(b.Kinds, table.Insert)
					require.NoError(t, w.Add())
					want[id] = 100 + id
					d, err := w.Seal().Flush(t.Context())
					require.NoError(t, err)
					_, err = committer.Commit(t.Context(), d)
					require.NoError(t, err)
				}
				newest, err := manifest.LatestSnapshot(t.Context(), l.store, l.path)
				require.NoError(t, err)
				newest.SchemaID = 0
				raw, err := newest.Encode()
				require.NoError(t, err)
				require.NoError(t, l.store.Put(t.Context(), l.path.Snapshot(newest.ID), raw))

				require.NoError(t, rewrite(k))
				rewritten, err := manifest.LatestSnapshot(t.Context(), l.store, l.path)
				require.NoError(t, err)
				require.Greater(t, rewritten.ID, newest.ID)
				require.NotEqual(t, manifest.Append, rewritten.CommitKind)
				tab, err := scan.Open(t.Context(), l.store, l.path)
				require.NoError(t, err)
				plan, err := tab.Plan(t.Context(), scan.At{}, nil)
				require.NoError(t, err)
				got := map[int64]int64{}
				for b, err := range plan.Rows(t.Context(), scan.Options{}) {
					require.NoError(t, err)
					for i := range b.Len() {
						got[b.Columns[0].Words[i]] = b.Columns[1].Words[i]
					}
				}
				require.Equal(t, want, got)
			})
		}
	}
}
