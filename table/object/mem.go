package object

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mem is a store in memory: for tests, benchmarks and demonstrations. It is a real one: all that the package
// promises holds, but for a power cut.
type Mem struct {
	// Now tells the modification time of new objects. Set it before use; time.Now by default.
	Now func() time.Time

	mu      sync.Mutex
	names   []string // sorted
	objects map[string]memObject
}

// memObject is never changed once stored: an overwrite puts another in its place.
type memObject struct {
	data     []byte
	modified time.Time
}

// NewMem returns an empty store.
func NewMem() *Mem { return &Mem{Now: time.Now, objects: map[string]memObject{}} }

// Open implements [Store].
func (m *Mem) Open(ctx context.Context, name string) (Reader, error) {
	o, err := m.find(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	return memReader{bytes.NewReader(o.data)}, nil
}

// Get implements [Store].
func (m *Mem) Get(ctx context.Context, name string) ([]byte, error) {
	o, err := m.find(ctx, "get", name)
	return bytes.Clone(o.data), err
}

// Put implements [Store].
func (m *Mem) Put(ctx context.Context, name string, b []byte) error {
	return m.store(ctx, "put", name, bytes.Clone(b), true)
}

// Create implements [Store].
func (m *Mem) Create(ctx context.Context, name string, b []byte) error {
	return m.store(ctx, "create", name, bytes.Clone(b), false)
}

// Writer implements [Store]. A name in use is fs.ErrExist at Close.
func (m *Mem) Writer(ctx context.Context, name string) (Writer, error) {
	if err := checkCall(ctx, name); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &memWriter{m: m, ctx: ctx, name: name}, nil
}

// Copy implements [Store]. The copy shares memory with the original, which nobody changes.
func (m *Mem) Copy(ctx context.Context, from, to string) error {
	o, err := m.find(ctx, "copy", from)
	if err != nil {
		return err
	}
	return m.store(ctx, "copy", to, o.data, true)
}

// List implements [Store]. It yields what was there when the iteration began.
func (m *Mem) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for _, info := range m.infos(prefix) {
			if err := ctx.Err(); err != nil {
				yield(Info{}, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Info{}, fmt.Errorf("list %s: %w", prefix, err))
		}
	}
}

// Delete implements [Store].
func (m *Mem) Delete(ctx context.Context, names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		if err := checkCall(ctx, name); err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
		if i, found := slices.BinarySearch(m.names, name); found {
			m.names = slices.Delete(m.names, i, i+1)
			delete(m.objects, name)
		}
	}
	return nil
}

func (m *Mem) infos(prefix string) []Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	var infos []Info
	i, _ := slices.BinarySearch(m.names, prefix)
	for _, name := range m.names[i:] {
		if !strings.HasPrefix(name, prefix) {
			break
		}
		o := m.objects[name]
		infos = append(infos, Info{Name: name, SizeBytes: int64(len(o.data)), Modified: o.modified})
	}
	return infos
}

func (m *Mem) find(ctx context.Context, op, name string) (memObject, error) {
	if err := checkCall(ctx, name); err != nil {
		return memObject{}, fmt.Errorf("%s %s: %w", op, name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return memObject{}, fmt.Errorf("%s %s: %w", op, name, fs.ErrNotExist)
	}
	return o, nil
}

// store takes over data.
func (m *Mem) store(ctx context.Context, op, name string, data []byte, overwrite bool) error {
	if err := checkCall(ctx, name); err != nil {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	if data == nil {
		data = []byte{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := slices.BinarySearch(m.names, name)
	if found && !overwrite {
		return fmt.Errorf("%s %s: %w", op, name, fs.ErrExist)
	}
	if !found {
		m.names = slices.Insert(m.names, i, name)
	}
	m.objects[name] = memObject{data: data, modified: m.Now()}
	return nil
}

// checkCall is what every operation on a name asks first.
func checkCall(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkName(name)
}

type memReader struct{ *bytes.Reader }

func (memReader) Close() error { return nil }

type memWriter struct {
	m    *Mem
	ctx  context.Context // of the Store.Writer call: io.Writer has no room for one
	name string
	buf  []byte
	done bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	if w.done {
		return 0, fmt.Errorf("write %s: %w", w.name, fs.ErrClosed)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", w.name, err)
	}
	w.buf = append(w.buf, p...)
	return len(p), nil
}

func (w *memWriter) Close() error {
	if w.done {
		return fmt.Errorf("close %s: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	return w.m.store(w.ctx, "close", w.name, w.buf, false)
}

func (w *memWriter) Abort() { w.done, w.buf = true, nil }

var (
	_ Store       = (*Mem)(nil)
	_ io.ReaderAt = memReader{}
)
