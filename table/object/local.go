package object

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Local is a store in a folder of a local or mounted disk.
//
// A new object is written to a temporary file in its own folder and synced; then link(2) gives it its name, which fails
// if there is one, or rename(2), which replaces it; then the folder is synced, as it is after deletes. So a reader sees the whole object
// or none, and a power cut loses no object that was reported as stored, and brings back none that was reported as deleted: a snapshot that was
// taken back, or one that has expired, whose files may not come back with it.
//
// The temporary files of a process that was killed are removed, once they are a day old, by the next process that writes
// to their folder.
type Local struct {
	root      string
	sync      func(folder string) error // makes the entries of a folder durable
	noReflink atomic.Bool               // the file system cannot share blocks

	mu     sync.Mutex
	synced map[string]struct{} // folders known to be durable up to the root
}

const (
	// tempPrefix and tempSuffix mark temporary files. Paimon lists "snapshot/" and parses what starts with
	// "snapshot-", so a temporary name must not.
	tempPrefix, tempSuffix = ".sink-", ".tmp"
	// tempMaxAge is when a temporary file has no owner any more.
	tempMaxAge = 24 * time.Hour
	// maxSyncedFolders bounds what a store remembers of its folders.
	maxSyncedFolders = 1 << 14
	copyBufferBytes  = 1 << 20
)

// NewLocal returns the store in a folder, which is made when the first object is.
func NewLocal(root string) *Local {
	return &Local{root: filepath.Clean(root), sync: syncPath, synced: map[string]struct{}{}}
}

// String returns the URI of the root.
func (l *Local) String() string { return "file://" + filepath.ToSlash(l.root) }

// Open implements [Store].
func (l *Local) Open(ctx context.Context, name string) (Reader, error) {
	f, size, err := l.open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return &localReader{File: f, size: size}, nil
}

// Get implements [Store].
func (l *Local) Get(ctx context.Context, name string) ([]byte, error) {
	f, size, err := l.open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	defer f.Close()
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	return b, nil
}

// Put implements [Store].
func (l *Local) Put(ctx context.Context, name string, b []byte) error {
	return l.write(ctx, "put", name, b, os.Rename)
}

// Create implements [Store].
func (l *Local) Create(ctx context.Context, name string, b []byte) error {
	return l.write(ctx, "create", name, b, linkNew)
}

// Writer implements [Store]. A name in use is fs.ErrExist at Close.
func (l *Local) Writer(ctx context.Context, name string) (Writer, error) {
	if err := checkCall(ctx, name); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	f, err := l.temp(name)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, l.explain(err))
	}
	return &localWriter{l: l, ctx: ctx, name: name, f: f}, nil
}

// Copy implements [Store]: by shared blocks where the file system has them, else by a hard link (objects are never
// changed in place), else byte by byte.
func (l *Local) Copy(ctx context.Context, from, to string) error {
	if err := l.copy(ctx, from, to); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, l.explain(err))
	}
	return nil
}

func (l *Local) copy(ctx context.Context, from, to string) error {
	if err := checkCall(ctx, to); err != nil {
		return err
	}
	src, _, err := l.open(ctx, from)
	if err != nil {
		return err
	}
	defer src.Close()
	if !l.noReflink.Load() {
		done, err := l.fill(ctx, to, os.Rename, func(dst *os.File) error { return reflink(dst, src) })
		if done {
			return err
		}
		l.noReflink.Store(true)
	}
	temp, err := l.temp(to)
	if err != nil {
		return err
	}
	defer temp.Close()
	if err := os.Remove(temp.Name()); err != nil {
		return err
	}
	switch err := os.Link(src.Name(), temp.Name()); {
	case err == nil:
		err = os.Rename(temp.Name(), l.path(to))
		os.Remove(temp.Name()) // still there when both names were the same file already
		if err != nil {
			return err
		}
		return l.syncFolder(to)
	case absent(err):
		return err
	}
	_, err = l.fill(ctx, to, os.Rename, func(dst *os.File) error { return copyBytes(ctx, dst, src) })
	return err
}

// List implements [Store].
func (l *Local) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if prefix != "" && !fs.ValidPath(strings.TrimSuffix(prefix, "/")) {
			yield(Info{}, fmt.Errorf("list %q: %w", prefix, fs.ErrInvalid))
			return
		}
		folder, _ := path.Split(prefix)
		l.walk(ctx, strings.TrimSuffix(folder, "/"), prefix, yield)
	}
}

// walk yields the objects below a folder whose names start with prefix. It reports false to stop. Folders sort with
// their slash, so that the order is that of full names: "a-b" before "a/b".
func (l *Local) walk(ctx context.Context, folder, prefix string, yield func(Info, error) bool) bool {
	if err := ctx.Err(); err != nil {
		return yield(Info{}, fmt.Errorf("list %s: %w", prefix, err)) && false
	}
	entries, err := os.ReadDir(l.path(folder))
	if err != nil {
		if absent(err) {
			return true
		}
		return yield(Info{}, fmt.Errorf("list %s: %w", prefix, err)) && false
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name, isFolder := path.Join(folder, e.Name()), e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			if info, err := os.Stat(l.path(name)); err == nil {
				isFolder = info.IsDir()
			}
		}
		switch {
		case isFolder && (strings.HasPrefix(name+"/", prefix) || strings.HasPrefix(prefix, name+"/")):
			names = append(names, name+"/")
		case !isFolder && strings.HasPrefix(name, prefix) && !isTemp(e.Name()):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if sub, ok := strings.CutSuffix(name, "/"); ok {
			if !l.walk(ctx, sub, prefix, yield) {
				return false
			}
			continue
		}
		info, err := os.Stat(l.path(name))
		if err != nil {
			if absent(err) {
				continue
			}
			return yield(Info{}, fmt.Errorf("list %s: %w", prefix, err)) && false
		}
		if !yield(Info{Name: name, SizeBytes: info.Size(), Modified: info.ModTime()}, nil) {
			return false
		}
	}
	return true
}

// Delete implements [Store]. Folders stay.
func (l *Local) Delete(ctx context.Context, names ...string) error {
	folders := map[string]struct{}{}
	for _, name := range names {
		if err := checkCall(ctx, name); err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
		switch err := os.Remove(l.path(name)); {
		case err == nil:
			folders[filepath.Dir(l.path(name))] = struct{}{}
		case !absent(err):
			return fmt.Errorf("delete %s: %w", name, err)
		}
	}
	for folder := range folders {
		if err := l.sync(folder); err != nil && !absent(err) { // others remove empty folders
			return fmt.Errorf("delete in %s: %w", folder, err)
		}
	}
	return nil
}

func (l *Local) path(name string) string { return filepath.Join(l.root, filepath.FromSlash(name)) }

func (l *Local) open(ctx context.Context, name string) (*os.File, int64, error) {
	if err := checkCall(ctx, name); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(l.path(name))
	if err != nil {
		if absent(err) {
			err = fs.ErrNotExist
		}
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (l *Local) write(ctx context.Context, op, name string, b []byte, publish func(temp, name string) error) error {
	err := checkCall(ctx, name)
	if err == nil {
		_, err = l.fill(ctx, name, publish, func(f *os.File) error {
			_, err := f.Write(b)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, name, l.explain(err))
	}
	return nil
}

// fill makes an object by writing a temporary file and publishing it. It reports false when filling is not supported.
func (l *Local) fill(ctx context.Context, name string, publish func(temp, name string) error, write func(*os.File) error) (bool, error) {
	f, err := l.temp(name)
	if err != nil {
		return true, err
	}
	if err := write(f); err != nil {
		f.Close()
		os.Remove(f.Name())
		return !errors.Is(err, errors.ErrUnsupported), err
	}
	return true, l.publish(ctx, f, name, publish)
}

// publish syncs a temporary file, gives it its name and closes it.
func (l *Local) publish(ctx context.Context, f *os.File, name string, publish func(temp, name string) error) error {
	err := f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = publish(f.Name(), l.path(name))
	}
	if rerr := os.Remove(f.Name()); err == nil && rerr != nil && !absent(rerr) {
		err = rerr
	}
	if err != nil {
		return err
	}
	return l.syncFolder(name)
}

// temp makes a temporary file in the folder of name, and the folder if need be.
func (l *Local) temp(name string) (*os.File, error) {
	var random [12]byte
	_, _ = rand.Read(random[:]) // it never fails
	folder := filepath.Dir(l.path(name))
	file := filepath.Join(folder, tempPrefix+hex.EncodeToString(random[:])+tempSuffix)
	for range 10 { // others may remove an empty folder between the two calls
		if err := l.makeFolder(name); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		l.mu.Lock()
		delete(l.synced, folder)
		l.mu.Unlock()
	}
	return nil, fmt.Errorf("folder %s: %w", folder, fs.ErrNotExist)
}

// makeFolder makes the folder of name. The first time it also makes the chain of folders above durable and removes
// temporary files left there.
func (l *Local) makeFolder(name string) error {
	folder := filepath.Dir(l.path(name))
	l.mu.Lock()
	_, known := l.synced[folder]
	l.mu.Unlock()
	if known {
		return nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for dir := folder; dir != l.root; {
		dir = filepath.Dir(dir)
		if err := l.sync(dir); err != nil {
			return err
		}
	}
	if parent := filepath.Dir(l.root); parent != l.root {
		if err := l.sync(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	removeOldTemps(folder, time.Now().Add(-tempMaxAge))
	l.mu.Lock()
	if len(l.synced) >= maxSyncedFolders {
		clear(l.synced)
	}
	l.synced[folder] = struct{}{}
	l.mu.Unlock()
	return nil
}

// syncFolder makes the folder's entry of name durable.
func (l *Local) syncFolder(name string) error { return l.sync(filepath.Dir(l.path(name))) }

// explain adds the way out to errors of the disk.
func (l *Local) explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("disk full: free space or raise the quota of the file system of %s: %w", l.root, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("file system of %s is read-only: remount it or choose another warehouse: %w", l.root, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no right to write below %s: let the user of this process write there: %w", l.root, err)
	}
	return err
}

// linkNew gives a file another name, fs.ErrExist if that is in use.
func linkNew(temp, name string) error {
	err := os.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) {
		if rerr := renameNew(temp, name); !errors.Is(rerr, errors.ErrUnsupported) {
			return rerr
		}
		return fmt.Errorf("file system has neither hard links nor rename without replacement, so it cannot create atomically: %w", err)
	}
	return err
}

func copyBytes(ctx context.Context, dst, src *os.File) error {
	buf := make([]byte, copyBufferBytes)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func syncPath(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err // some network file systems cannot sync folders: theirs are durable by themselves
	}
	return nil
}

// removeOldTemps is best effort: what it cannot remove does no harm.
func removeOldTemps(folder string, before time.Time) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !isTemp(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

func isTemp(base string) bool {
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// absent reports whether an error says that there is no such file; a file in place of a folder counts.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

type localReader struct {
	*os.File
	size int64
}

func (r *localReader) Size() int64 { return r.size }

type localWriter struct {
	l    *Local
	ctx  context.Context // of the Store.Writer call: io.Writer has no room for one
	name string
	f    *os.File
	done bool
}

func (w *localWriter) Write(p []byte) (int, error) {
	if w.done {
		return 0, fmt.Errorf("write %s: %w", w.name, fs.ErrClosed)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", w.name, err)
	}
	n, err := w.f.Write(p)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", w.name, w.l.explain(err))
	}
	return n, nil
}

func (w *localWriter) Close() error {
	if w.done {
		return fmt.Errorf("close %s: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	if err := w.l.publish(w.ctx, w.f, w.name, linkNew); err != nil {
		return fmt.Errorf("close %s: %w", w.name, w.l.explain(err))
	}
	return nil
}

func (w *localWriter) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.f.Close()
	os.Remove(w.f.Name())
}
