package commit

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/object/objecttest"
)

// The base may expire between the create and the confirmation, when others are fast and keep little. The snapshot
// counts: others went on from it.
func TestBaseExpiresBeforeConfirmation(t *testing.T) {
	ctx := context.Background()
	for name, after := range map[string]func(w *world, b *Committer){
		"nothing follows": func(w *world, b *Committer) {},
		"ours follows":    func(w *world, b *Committer) { w.commit(b, 1, 5) },
		"a foreign one follows": func(w *world, b *Committer) {
			w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 0, 1, 5, 0, 5)}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			h := &objecttest.Hook{Store: w.store}
			a, b := w.open(h), w.open(w.store)
			first := w.commit(a, 0, 10)
			r := w.commit(a, 0, 10)
			created := false
			h.Before = func(op object.Op, name string) error {
				if op == "get" && created && name == w.path.Snapshot(2) {
					created = false
					after(w, b)
					w.expire(3)
				}
				created = created || op == "create" && name == w.path.Snapshot(3)
				return nil
			}
			r, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
			require.NoError(t, err)
			require.EqualValues(t, 3, r.SnapshotID)
			require.Greater(t, r.SnapshotID, first.SnapshotID)
			_, err = w.store.Get(ctx, w.path.Snapshot(3))
			require.NoError(t, err)
		})
	}
}

// Another writer may go on from the snapshot while it is being confirmed, also between the look at the next id and the listing.
func TestGoneOnFromBeforeConfirmation(t *testing.T) {
	ctx := context.Background()
	for name, after := range map[string]func(w *world, b *Committer){
		"ours follows": func(w *world, b *Committer) { w.commit(b, 1, 5) },
		"a foreign one follows": func(w *world, b *Committer) {
			w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 0, 1, 5, 0, 5)}, nil)
		},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, first %v", name, first), func(t *testing.T) {
				w := newWorld(t).create(nil)
				h := &objecttest.Hook{Store: w.store}
				a, b := w.open(h), w.open(w.store)
				d, id := w.delta(0, -1, 10, -1), int64(1)
				if !first {
					d, id = w.next(w.commit(a, 0, 10).Progress, 0, 10), 2
				}
				created := false
				h.Before = func(op object.Op, name string) error {
					switch {
					case op == "create" && name == w.path.Snapshot(id):
						created = true
					case created && !first && op == "get" && name == w.path.Snapshot(1):
						require.NoError(t, w.store.Delete(ctx, name)) // the base expires
					case created && op == "list":
						created = false
						after(w, b)
					}
					return nil
				}
				r, err := a.Commit(ctx, d)
				require.NoError(t, err)
				require.EqualValues(t, id, r.SnapshotID)
				require.False(t, created, "it has listed the snapshots")
				require.Contains(t, w.names("snapshot/snapshot-"), strconv.FormatInt(id, 10))
			})
		}
	}
}
