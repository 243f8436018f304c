package object

import (
	"context"
	"io"
	"iter"
	"time"
)

// Info describes an object found by List.
type Info struct {
	Name      string
	SizeBytes int64
	Modified  time.Time
}

// Reader reads one object at random. It is safe for concurrent use.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Writer writes one new object from front to back. The object appears when Close returns nil; until then nothing is
// visible under its name. Abort gives up and frees what was stored; after Close it does nothing.
type Writer interface {
	io.WriteCloser
	Abort()
}

// Store keeps objects by name. Names are relative, slash-separated paths without "." or ".." elements. Errors satisfy
// errors.Is with [io/fs.ErrNotExist] and [io/fs.ErrExist] where stated. A Store is safe for concurrent use.
type Store interface {
	// Open opens an object for random reads; fs.ErrNotExist if there is none.
	Open(ctx context.Context, name string) (Reader, error)
	// Get reads a whole (small) object; fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// Put writes a small object, replacing any of that name.
	Put(ctx context.Context, name string, b []byte) error
	// Create writes a small object only if there is none of that name, else fs.ErrExist. It is atomic among all
	// writers of the store. It never retries by itself: any error other than fs.ErrExist leaves the outcome unknown, and even
	// fs.ErrExist may mean this very object (a proxy repeated the request); the caller reads it back.
	Create(ctx context.Context, name string, b []byte) error
	// Writer starts a new object of any size. The name must not be in use.
	Writer(ctx context.Context, name string) (Writer, error)
	// Copy makes a second, independent object of the same bytes, by the store's own means where it has any.
	Copy(ctx context.Context, from, to string) error
	// List yields the objects whose name starts with prefix, in name order. A prefix that ends in "/" lists a folder and
	// all below it.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes objects; one that is absent is not an error.
	Delete(ctx context.Context, names ...string) error
}
