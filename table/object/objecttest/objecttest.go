package objecttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

// largeBytes is more than one part of an upload to S3.
const largeBytes = 20<<20 + 12345

// Run runs the suite. newStore is called once a test and returns an empty store.
func Run(t *testing.T, newStore func(t *testing.T) object.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, object.Store)
	}{
		{"PutGet", putGet},
		{"Absent", absent},
		{"Create", create},
		{"CreateRace", createRace},
		{"PutRace", putRace},
		{"Reader", reader},
		{"Writer", writer},
		{"WriterLarge", writerLarge},
		{"WriterAbort", writerAbort},
		{"WritersAtOnce", writersAtOnce},
		{"Copy", copies},
		{"List", list},
		{"ListMany", listMany},
		{"Delete", remove},
		{"Names", names},
		{"Canceled", canceled},
		{"Probe", probe},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

func putGet(t *testing.T, s object.Store) {
	ctx := t.Context()
	for _, b := range [][]byte{[]byte("one"), []byte("a longer second"), {}, bytes.Repeat([]byte("x"), 1<<20)} {
		require.NoError(t, s.Put(ctx, "db.db/t/snapshot/LATEST", b))
		got, err := s.Get(ctx, "db.db/t/snapshot/LATEST")
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, got), "%d bytes", len(b))
	}
	b := []byte("mine")
	require.NoError(t, s.Put(ctx, "x", b))
	b[0] = 'X' // the store has its own
	got, err := s.Get(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, "mine", string(got))
	got[0] = 'Y'
	got, err = s.Get(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, "mine", string(got))
}

func absent(t *testing.T, s object.Store) {
	ctx := t.Context()
	require.NoError(t, s.Put(ctx, "a/b", []byte("file")))
	for _, name := range []string{"nothing", "deep/below/nothing", "a", "a/b/c"} {
		_, err := s.Get(ctx, name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		require.ErrorContains(t, err, name)
		_, err = s.Open(ctx, name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		require.ErrorIs(t, s.Copy(ctx, name, "copy"), fs.ErrNotExist, name)
		require.NoError(t, s.Delete(ctx, "nothing"), name)
	}
	require.Empty(t, collect(t, s, "nothing/"))
	require.Equal(t, []string{"a/b"}, collect(t, s, ""))
}

func create(t *testing.T, s object.Store) {
	ctx := t.Context()
	require.NoError(t, settled(ctx, s, "snapshot/snapshot-1", []byte("first")))
	err := settled(ctx, s, "snapshot/snapshot-1", []byte("second"))
	require.ErrorIs(t, err, fs.ErrExist)
	require.NotErrorIs(t, err, fs.ErrNotExist)
	got, err := s.Get(ctx, "snapshot/snapshot-1")
	require.NoError(t, err)
	require.Equal(t, "first", string(got))
	require.NoError(t, s.Delete(ctx, "snapshot/snapshot-1"))
	require.NoError(t, settled(ctx, s, "snapshot/snapshot-1", []byte("third")))
	require.NoError(t, s.Put(ctx, "put", nil))
	require.ErrorIs(t, settled(ctx, s, "put", []byte("fourth")), fs.ErrExist)
}

// settled is Create as a commit takes it: an error other than fs.ErrExist is a question, and what is there answers it. A server
// that refuses a create before it has read the body may close the connection over its own answer.
func settled(ctx context.Context, s object.Store, name string, body []byte) (err error) {
	for range 10 {
		if err = s.Create(ctx, name, body); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		if got, e := s.Get(ctx, name); e == nil && bytes.Equal(got, body) {
			return nil
		} else if e == nil {
			return fs.ErrExist
		}
	}
	return err
}

// createRace is I6: of many creates of one name exactly one wins, and the object is the winner's.
func createRace(t *testing.T, s object.Store) {
	const racers = 50
	for round := range 3 {
		name := fmt.Sprintf("race/snapshot-%d", round)
		var (
			wg     sync.WaitGroup
			wins   atomic.Int32
			winner atomic.Int32
			start  = make(chan struct{})
			errs   = make([]error, racers)
		)
		for i := range racers {
			wg.Go(func() {
				<-start
				err := settled(t.Context(), s, name, body(i))
				if err == nil {
					wins.Add(1)
					winner.Store(int32(i))
				} else if !errors.Is(err, fs.ErrExist) {
					errs[i] = err
				}
			})
		}
		close(start)
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		require.EqualValues(t, 1, wins.Load())
		got, err := s.Get(t.Context(), name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body(int(winner.Load())), got))
	}
	require.Len(t, collect(t, s, ""), 3)
}

// putRace: readers see one whole object while others replace it.
func putRace(t *testing.T, s object.Store) {
	require.NoError(t, s.Put(t.Context(), "snapshot/LATEST", body(0)))
	var (
		wg   sync.WaitGroup
		stop atomic.Bool
		errs = make([]error, 6)
	)
	for i := range 2 {
		wg.Go(func() {
			for n := 0; !stop.Load() && errs[i] == nil; n++ {
				errs[i] = s.Put(t.Context(), "snapshot/LATEST", body(n))
			}
		})
	}
	for i := 2; i < 4; i++ {
		wg.Go(func() {
			for range 50 {
				b, err := s.Get(t.Context(), "snapshot/LATEST")
				if err == nil && (len(b) == 0 || !bytes.Equal(b, body(int(b[0])))) {
					err = fmt.Errorf("torn object of %d bytes", len(b))
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	time.AfterFunc(200*time.Millisecond, func() { stop.Store(true) })
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, []string{"snapshot/LATEST"}, collect(t, s, "snapshot/"))
}

func reader(t *testing.T, s object.Store) {
	ctx := t.Context()
	for _, size := range []int{0, 1, 1000, 64 << 10, 64<<10 + 1, 300_000} {
		want := random(size)
		require.NoError(t, s.Put(ctx, "r", want))
		r, err := s.Open(ctx, "r")
		require.NoError(t, err)
		require.EqualValues(t, size, r.Size())

		all, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, all))

		n, err := r.ReadAt(make([]byte, 10), int64(size))
		require.Zero(t, n)
		require.ErrorIs(t, err, io.EOF)
		n, err = r.ReadAt(make([]byte, size+5), 0)
		require.Equal(t, size, n)
		require.ErrorIs(t, err, io.EOF)

		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() {
				for range 5 {
					from := rand.IntN(size + 1)
					to := from + rand.IntN(size+1-from)
					got := make([]byte, to-from)
					n, err := r.ReadAt(got, int64(from))
					if err != nil && !(errors.Is(err, io.EOF) && n == len(got)) || !bytes.Equal(want[from:to], got) {
						errs[i] = errors.Join(err, fmt.Errorf("bytes %d to %d of %d", from, to, size))
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NoError(t, r.Close())
	}
}

func writer(t *testing.T, s object.Store) {
	ctx := t.Context()
	w, err := s.Writer(ctx, "bucket-0/data-1.parquet")
	require.NoError(t, err)
	var want []byte
	for range 100 {
		p := random(rand.IntN(2000))
		n, err := w.Write(p)
		require.NoError(t, err)
		require.Equal(t, len(p), n)
		want = append(want, p...)
		clear(p) // the writer has its own
	}
	_, err = s.Get(ctx, "bucket-0/data-1.parquet")
	require.ErrorIs(t, err, fs.ErrNotExist, "not visible before Close")
	require.Empty(t, collect(t, s, ""))
	require.NoError(t, w.Close())
	w.Abort() // does nothing
	require.Error(t, w.Close())
	_, err = w.Write([]byte("late"))
	require.Error(t, err)
	got, err := s.Get(ctx, "bucket-0/data-1.parquet")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	w, err = s.Writer(ctx, "empty")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got, err = s.Get(ctx, "empty")
	require.NoError(t, err)
	require.Empty(t, got)
}

func writerLarge(t *testing.T, s object.Store) {
	ctx := t.Context()
	want := random(largeBytes)
	w, err := s.Writer(ctx, "large")
	require.NoError(t, err)
	for chunk := range slices.Chunk(want, 777_777) {
		_, err := w.Write(chunk)
		require.NoError(t, err)
	}
	require.Empty(t, collect(t, s, ""))
	require.NoError(t, w.Close())
	got, err := s.Get(ctx, "large")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	require.NoError(t, s.Copy(ctx, "large", "copied/large"))
	got, err = s.Get(ctx, "copied/large")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	r, err := s.Open(ctx, "large")
	require.NoError(t, err)
	defer r.Close()
	part := make([]byte, 100_000)
	_, err = r.ReadAt(part, largeBytes-120_000)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want[largeBytes-120_000:largeBytes-20_000], part))
}

func writerAbort(t *testing.T, s object.Store) {
	ctx := t.Context()
	for _, size := range []int{0, 10, largeBytes} {
		w, err := s.Writer(ctx, "aborted")
		require.NoError(t, err)
		_, err = w.Write(random(size))
		require.NoError(t, err)
		w.Abort()
		w.Abort()
		require.Error(t, w.Close())
		require.Empty(t, collect(t, s, ""))
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.Writer(ctx, "canceled")
	require.NoError(t, err)
	_, err = w.Write([]byte("some"))
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, w.Close(), context.Canceled)
	w.Abort()
	require.Empty(t, collect(t, s, ""))
}

func writersAtOnce(t *testing.T, s object.Store) {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			w, err := s.Writer(t.Context(), fmt.Sprintf("w/%d", i))
			if err == nil {
				_, err = w.Write(body(i))
			}
			if err == nil {
				err = w.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for i := range errs {
		got, err := s.Get(t.Context(), fmt.Sprintf("w/%d", i))
		require.NoError(t, err)
		require.True(t, bytes.Equal(body(i), got))
	}
}

func copies(t *testing.T, s object.Store) {
	ctx := t.Context()
	require.NoError(t, s.Put(ctx, "b/data", []byte("rows")))
	require.NoError(t, s.Copy(ctx, "b/data", "b/changelog"))
	require.NoError(t, s.Copy(ctx, "b/data", "b/changelog"), "a repeated copy does no harm")
	require.NoError(t, s.Copy(ctx, "b/data", "new folder/changelog"))
	require.NoError(t, s.Put(ctx, "b/data", []byte("others")))
	got, err := s.Get(ctx, "b/changelog")
	require.NoError(t, err)
	require.Equal(t, "rows", string(got), "independent of its original")
	require.NoError(t, s.Delete(ctx, "b/data"))
	got, err = s.Get(ctx, "new folder/changelog")
	require.NoError(t, err)
	require.Equal(t, "rows", string(got))
	require.Equal(t, []string{"b/changelog", "new folder/changelog"}, collect(t, s, ""))
}

func list(t *testing.T, s object.Store) {
	ctx := t.Context()
	before := time.Now().Add(-5 * time.Second)
	all := []string{
		"a-b/1", "a.b", "a/1", "a/b-c", "a/b/1", "a/b/2", "a/b0", "a0", "db.db/t/dt=2024-01-01/bucket-0/data-1.parquet",
		"db.db/t/snapshot/snapshot-1", "db.db/t/snapshot/snapshot-10", "db.db/t/snapshot/snapshot-2", "ä/ö",
	}
	slices.Sort(all)
	for _, i := range rand.Perm(len(all)) {
		require.NoError(t, s.Put(ctx, all[i], make([]byte, i)))
	}
	require.Equal(t, all, collect(t, s, ""))
	for _, prefix := range []string{"a", "a/", "a/b", "a/b/", "a-", "db.db/t/snapshot/snapshot-1", "db.db/t/snap", "db", "none", "none/", "ä/"} {
		require.Equal(t, filter(all, prefix), collect(t, s, prefix), prefix)
	}
	for info, err := range s.List(ctx, "a/b/") {
		require.NoError(t, err)
		require.EqualValues(t, slices.Index(all, info.Name), info.SizeBytes)
		require.WithinRange(t, info.Modified, before, time.Now().Add(5*time.Second))
		break // a caller may stop
	}
}

func listMany(t *testing.T, s object.Store) {
	ctx := t.Context()
	const many = 1203 // more than one page, and more than one batch of deletes
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("m/%04d", i))
	}
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			for n := i; n < many && errs[i] == nil; n += len(errs) {
				errs[i] = s.Put(ctx, names[n], []byte{1})
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, s.Put(ctx, "n", nil))
	require.Equal(t, names, collect(t, s, "m/"))
	require.NoError(t, s.Delete(ctx, names...))
	require.Equal(t, []string{"n"}, collect(t, s, ""))
}

func remove(t *testing.T, s object.Store) {
	ctx := t.Context()
	require.NoError(t, s.Delete(ctx))
	for _, name := range []string{"a", "b/c", "b/d", "e"} {
		require.NoError(t, s.Put(ctx, name, []byte(name)))
	}
	require.NoError(t, s.Delete(ctx, "a", "absent", "b/c", "absent/too"))
	require.NoError(t, s.Delete(ctx, "a"))
	require.NoError(t, s.Delete(ctx, "absent"))
	require.Equal(t, []string{"b/d", "e"}, collect(t, s, ""))
	_, err := s.Get(ctx, "a")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// names holds characters that URLs, XML and partition paths make something of.
func names(t *testing.T, s object.Store) {
	ctx := t.Context()
	for _, name := range []string{
		"dt=2024-01-01/h=%3A/b", "with space/and+plus", "q?mark&amp#hash", "100%/%2F", "ünï/日本", "a'b(c)d!e~f", "$dollar,comma;semi@at",
	} {
		require.NoError(t, s.Create(ctx, name, []byte(name)), name)
		got, err := s.Get(ctx, name)
		require.NoError(t, err, name)
		require.Equal(t, name, string(got))
		require.Equal(t, []string{name}, collect(t, s, ""))
		require.NoError(t, s.Copy(ctx, name, name+"-copy"), name)
		require.NoError(t, s.Delete(ctx, name, name+"-copy"), name)
		require.Empty(t, collect(t, s, ""))
	}
	for _, name := range []string{"", ".", "/", "/a", "a/", "../a", "a/../b", "a//b", "./a"} {
		require.Error(t, s.Put(ctx, name, nil), "%q", name)
		require.Error(t, s.Create(ctx, name, nil), "%q", name)
		_, err := s.Get(ctx, name)
		require.Error(t, err, "%q", name)
		_, err = s.Open(ctx, name)
		require.Error(t, err, "%q", name)
		_, err = s.Writer(ctx, name)
		require.Error(t, err, "%q", name)
		require.Error(t, s.Delete(ctx, name), "%q", name)
	}
}

func canceled(t *testing.T, s object.Store) {
	require.NoError(t, s.Put(t.Context(), "a", []byte("a")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Put(ctx, "b", nil), context.Canceled)
	require.ErrorIs(t, s.Create(ctx, "b", nil), context.Canceled)
	require.ErrorIs(t, s.Copy(ctx, "a", "b"), context.Canceled)
	require.ErrorIs(t, s.Delete(ctx, "a"), context.Canceled)
	_, err := s.Get(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Open(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	failed := false
	for _, err := range s.List(ctx, "") {
		require.ErrorIs(t, err, context.Canceled)
		failed = true
	}
	require.True(t, failed, "an interrupted listing must not look complete")
	require.Equal(t, []string{"a"}, collect(t, s, ""))
}

func probe(t *testing.T, s object.Store) {
	require.NoError(t, object.Probe(t.Context(), s))
	require.Empty(t, collect(t, s, ""), "leaves nothing behind")
}

func collect(t *testing.T, s object.Store, prefix string) []string {
	t.Helper()
	var names []string
	for info, err := range s.List(t.Context(), prefix) {
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	require.True(t, slices.IsSorted(names))
	return names
}

func filter(names []string, prefix string) []string {
	var some []string
	for _, name := range names {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			some = append(some, name)
		}
	}
	return some
}

// body is an object that tells its number, and whether it is whole.
func body(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 10_000+i%256) }

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}
