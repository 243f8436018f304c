//go:build synctests

package simulation

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

// archive is the shared store. It keeps what is deleted from it, so that the judge can look at snapshots that have expired. Of a name
// that is deleted twice it keeps the first: what came under it later was a sleeper's snapshot of an id that had expired.
type archive struct {
	*object.Mem
	gone *object.Mem
}

func newArchive() *archive { return &archive{object.NewMem(), object.NewMem()} }

// Delete implements object.Store.
func (a *archive) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if b, err := a.Mem.Get(ctx, name); err == nil {
			if err := a.gone.Create(ctx, name, b); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return a.Mem.Delete(ctx, names...)
}

// past is what was deleted from the archive, and what is in it.
type past struct{ *archive }

func (p past) Get(ctx context.Context, name string) ([]byte, error) {
	if b, err := p.gone.Get(ctx, name); err == nil {
		return b, nil
	}
	return p.Mem.Get(ctx, name)
}

func (p past) Open(ctx context.Context, name string) (object.Reader, error) {
	if r, err := p.gone.Open(ctx, name); err == nil {
		return r, nil
	}
	return p.Mem.Open(ctx, name)
}

// TestArchiveKeepsTheFirst: a snapshot that a sleeper made under an expired id, and took back, is not what the judge reads.
func TestArchiveKeepsTheFirst(t *testing.T) {
	a := newArchive()
	for _, text := range []string{"true", "stray"} {
		require.NoError(t, a.Create(t.Context(), "snapshot-2", []byte(text)))
		got, err := past{a}.Get(t.Context(), "snapshot-2")
		require.NoError(t, err)
		require.Equal(t, "true", string(got))
		require.NoError(t, a.Delete(t.Context(), "snapshot-2"))
	}
	got, err := past{a}.Get(t.Context(), "snapshot-2")
	require.NoError(t, err)
	require.Equal(t, "true", string(got))
}

// List yields what was deleted first; nobody here minds the order.
func (p past) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range p.gone.List(ctx, prefix) {
			if _, there := p.Mem.Get(ctx, info.Name); there != nil && !yield(info, err) {
				return
			}
		}
		for info, err := range p.Mem.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
		}
	}
}
