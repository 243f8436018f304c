package commit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
)

// A checkpoint whose rows another writer has overtaken in one of its buckets is refused; rows of other buckets, lower numbers and
// compactions do not matter.
func TestOvertaken(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		kind      manifest.CommitKind
		bucket    int32
		lo, hi    int64 // numbers of the other's rows; the checkpoint's are 10 to 19
		overtaken bool
	}{
		"same number":  {manifest.Append, 0, 5, 10, true},
		"above":        {manifest.Append, 1, 500, 600, true},
		"overwrite":    {manifest.Overwrite, 0, 500, 600, true},
		"below":        {manifest.Append, 0, 0, 9, false},
		"other bucket": {manifest.Append, 1, 500, 600, false},
		"compaction":   {manifest.Compact, 0, 500, 600, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).create(nil)
			a := w.open(w.store)
			r := w.commit(a, 0, 10) // numbers 0 to 9
			w.foreign(tc.kind, []table.File{w.file("data-java-0.parquet", tc.bucket, 1, 5, tc.lo, tc.hi)}, nil)
			d := w.next(r.Progress, 0, 10)
			if !tc.overtaken {
				d.Added, d.Changelog = d.Added[:1], d.Changelog[:1] // of bucket 0
			}
			_, err := a.Commit(ctx, d)
			if !tc.overtaken {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrOvertaken)
			s, err := a.Resume(ctx)
			require.NoError(t, err)
			_, err = a.Commit(ctx, w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}, 0, 10))
			require.NoError(t, err, "numbered anew")
			_, err = a.Commit(ctx, w.next(table.Progress{Offsets: table.Offsets{part(0): at(20)}, MaxSequence: s.MaxSequence + 10}, 0, 10))
			require.NoError(t, err)
			require.Empty(t, a.rivals.highest, "nothing of the past is kept")
			w.check()
		})
	}
}

// Nor does it matter how the Committer comes to know: that another instance has committed since, its view was lost, or there is more than it
// follows one by one; nor what it does in between. What it cannot know any more is refused, too, if it may be so.
func TestOvertakenUnseen(t *testing.T) {
	ctx := context.Background()
	unseen := map[string]func(w *world, a, b *Committer){
		"followed":  func(w *world, _, b *Committer) { w.commit(b, 1, 1) },
		"lost view": func(w *world, a, b *Committer) { w.commit(b, 1, 1); a.view = view{} },
		"many commits": func(w *world, _, b *Committer) {
			for range probeAhead + 1 {
				w.commit(b, 1, 1)
			}
		},
		"expired": func(w *world, a, b *Committer) {
			w.commit(b, 1, 1)
			w.expire(3)
		},
		"rolled back, and made anew": func(w *world, a, b *Committer) {
			_, err := a.Ahead(ctx)
			require.NoError(w.t, err)
			w.rollback(1)
			w.foreign(manifest.Append, []table.File{w.file("data-java-9.parquet", 1, 1, 5, 500, 600)}, nil)
		},
	}
	then := map[string]func(w *world, a *Committer){
		"": func(*world, *Committer) {},
		", look": func(w *world, a *Committer) {
			number, err := a.Ahead(ctx)
			require.NoError(w.t, err)
			require.GreaterOrEqual(w.t, number, int64(600))
		},
		", resume": func(w *world, a *Committer) {
			_, err := a.Resume(ctx)
			require.NoError(w.t, err)
		},
		", checkpoint without rows": func(w *world, a *Committer) {
			_, err := a.Commit(ctx, table.Delta{Progress: table.Progress{Offsets: table.Offsets{part(2): at(1)}, MaxSequence: -1}})
			require.NoError(w.t, err)
		},
	}
	for name, between := range unseen {
		for after, f := range then {
			t.Run(name+after, func(t *testing.T) {
				w := newWorld(t).create(nil)
				a, b := w.open(w.store), w.open(w.store)
				r := w.commit(a, 0, 10) // numbers 0 to 9
				w.foreign(manifest.Append, []table.File{w.file("data-java-0.parquet", 0, 1, 5, 500, 600)}, nil)
				between(w, a, b)
				f(w, a)
				_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
				require.ErrorIs(t, err, ErrOvertaken)
				s, err := a.Resume(ctx)
				require.NoError(t, err)
				_, err = a.Commit(ctx, w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: s.MaxSequence}, 0, 10))
				require.NoError(t, err, "numbered anew")
			})
		}
	}
	t.Run("expired, but below", func(t *testing.T) {
		w := newWorld(t).create(nil)
		a, b := w.open(w.store), w.open(w.store)
		r := w.commit(a, 0, 10)
		for range 40 {
			s, err := b.Resume(ctx)
			require.NoError(t, err)
			d := w.next(table.Progress{Offsets: s.Progress.Offsets, MaxSequence: 3}, 1, 1) // another instance numbers for itself
			_, err = b.Commit(ctx, d)
			require.NoError(t, err)
		}
		w.expire(30)
		_, err := a.Commit(ctx, w.next(r.Progress, 0, 10))
		require.NoError(t, err, "nothing in the table is above")
	})
}
