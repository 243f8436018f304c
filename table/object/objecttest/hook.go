package objecttest

import (
	"context"
	"iter"
	"sync"

	"sink/table/object"
)

// Hook is a store that calls Before ahead of each call, one at a time: others may do something to the store in between, or the call
// may go wrong. What is read and written through a Reader or a Writer is no call of the store.
type Hook struct {
	object.Store
	// Before is called with the object's name: the new one of a copy, the first of a delete, the prefix of a listing. What it returns is the
	// call's error, and the call is not made; nil: it is. It may set another Before. A nil Before does nothing.
	Before func(op object.Op, name string) error

	mu sync.Mutex
}

// Once has f called ahead of the first call of that kind to that object.
func (h *Hook) Once(op object.Op, name string, f func()) {
	done := false
	h.Before = func(o object.Op, n string) error {
		if !done && o == op && n == name {
			done = true
			f()
		}
		return nil
	}
}

// Nth has f called ahead of the n-th call of any kind from now on, counted from 0. reached reports whether it was.
func (h *Hook) Nth(n int, f func()) (reached func() bool) {
	calls := 0
	h.Before = func(object.Op, string) error {
		if calls++; calls == n+1 {
			f()
		}
		return nil
	}
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return calls > n
	}
}

func (h *Hook) call(op object.Op, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Before == nil {
		return nil
	}
	return h.Before(op, name)
}

// Open implements [object.Store].
func (h *Hook) Open(ctx context.Context, name string) (object.Reader, error) {
	if err := h.call(object.OpOpen, name); err != nil {
		return nil, err
	}
	return h.Store.Open(ctx, name)
}

// Get implements [object.Store].
func (h *Hook) Get(ctx context.Context, name string) ([]byte, error) {
	if err := h.call(object.OpGet, name); err != nil {
		return nil, err
	}
	return h.Store.Get(ctx, name)
}

// Put implements [object.Store].
func (h *Hook) Put(ctx context.Context, name string, b []byte) error {
	if err := h.call(object.OpPut, name); err != nil {
		return err
	}
	return h.Store.Put(ctx, name, b)
}

// Create implements [object.Store].
func (h *Hook) Create(ctx context.Context, name string, b []byte) error {
	if err := h.call(object.OpCreate, name); err != nil {
		return err
	}
	return h.Store.Create(ctx, name, b)
}

// Writer implements [object.Store].
func (h *Hook) Writer(ctx context.Context, name string) (object.Writer, error) {
	if err := h.call(object.OpWriter, name); err != nil {
		return nil, err
	}
	return h.Store.Writer(ctx, name)
}

// Copy implements [object.Store].
func (h *Hook) Copy(ctx context.Context, from, to string) error {
	if err := h.call(object.OpCopy, to); err != nil {
		return err
	}
	return h.Store.Copy(ctx, from, to)
}

// List implements [object.Store].
func (h *Hook) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	if err := h.call(object.OpList, prefix); err != nil {
		return func(yield func(object.Info, error) bool) { yield(object.Info{}, err) }
	}
	return h.Store.List(ctx, prefix)
}

// Delete implements [object.Store].
func (h *Hook) Delete(ctx context.Context, names ...string) error {
	if len(names) > 0 {
		if err := h.call(object.OpDelete, names[0]); err != nil {
			return err
		}
	}
	return h.Store.Delete(ctx, names...)
}
