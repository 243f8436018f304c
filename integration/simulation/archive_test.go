//go:build synctests

package simulation

import (
	"context"
	"iter"

	"sink/table/object"
)

// archive is the shared store. It keeps what is deleted from it, so that the judge can look at snapshots that have expired.
type archive struct {
	*object.Mem
	gone *object.Mem
}

func newArchive() *archive { return &archive{object.NewMem(), object.NewMem()} }

// Delete implements object.Store.
func (a *archive) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if b, err := a.Mem.Get(ctx, name); err == nil {
			if err := a.gone.Put(ctx, name, b); err != nil {
				return err
			}
		}
	}
	return a.Mem.Delete(ctx, names...)
}

// past is what is in the archive and what was deleted from it.
type past struct{ *archive }

func (p past) Get(ctx context.Context, name string) ([]byte, error) {
	if b, err := p.Mem.Get(ctx, name); err == nil {
		return b, nil
	}
	return p.gone.Get(ctx, name)
}

func (p past) Open(ctx context.Context, name string) (object.Reader, error) {
	if r, err := p.Mem.Open(ctx, name); err == nil {
		return r, nil
	}
	return p.gone.Open(ctx, name)
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
