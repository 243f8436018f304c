package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

const testPath = table.Path("d.db/t")

// putSnapshot writes a snapshot whose commit time is ten times its id.
func putSnapshot(t *testing.T, store object.Store, name string, id int64) {
	s := &Snapshot{ID: id, BaseList: "b", DeltaList: "d", CommitUser: "u", CommitKind: Append, TimeMillis: 10 * id}
	b, err := s.Encode()
	require.NoError(t, err)
	require.NoError(t, store.Put(t.Context(), name, b))
}

// overtakingStore lets a table go on, and its older snapshots expire, between two calls.
type overtakingStore struct {
	object.Store
	left   int // calls until then
	goesOn func()
}

func (s *overtakingStore) Get(ctx context.Context, name string) ([]byte, error) {
	if s.left--; s.left == -1 {
		s.goesOn()
	}
	return s.Store.Get(ctx, name)
}

// TestLatestNeverGoesBack: whenever others go on and expire while LATEST is looked at, what is found is not below what was there before.
func TestLatestNeverGoesBack(t *testing.T) {
	for calls := range 4 {
		mem := object.NewMem()
		for id := int64(5); id <= 6; id++ {
			putSnapshot(t, mem, testPath.Snapshot(id), id)
		}
		require.NoError(t, WriteHint(t.Context(), mem, testPath.Latest(), 5)) // its writer was slow
		store := &overtakingStore{Store: mem, left: calls, goesOn: func() {
			putSnapshot(t, mem, testPath.Snapshot(7), 7)
			putSnapshot(t, mem, testPath.Snapshot(8), 8)
			require.NoError(t, mem.Delete(t.Context(), testPath.Snapshot(5), testPath.Snapshot(6)))
		}}
		id, ok, err := Latest(t.Context(), store, testPath)
		require.NoError(t, err)
		require.True(t, ok)
		require.GreaterOrEqual(t, id, int64(6), "after %d calls", calls)
	}
}

func TestLatestAndEarliest(t *testing.T) {
	for _, c := range []struct {
		have                       string // ids
		latestHint, earliestHint   string
		wantLatest, wantEarliest   int64
		wantLatestOK, wantListings bool
	}{
		{have: "", wantListings: true},
		{have: "", latestHint: "7", earliestHint: "7", wantListings: true},
		{have: "1 2 3", wantLatest: 3, wantEarliest: 1, wantListings: true},
		{have: "1 2 3", latestHint: "3\n", earliestHint: " 1", wantLatest: 3, wantEarliest: 1},
		{have: "1 2 3", latestHint: "2", earliestHint: "2", wantLatest: 3, wantEarliest: 1, wantListings: true},
		{have: "1 2 3", latestHint: "9", earliestHint: "0", wantLatest: 3, wantEarliest: 1, wantListings: true},
		{have: "1 2 3", latestHint: "x", earliestHint: "", wantLatest: 3, wantEarliest: 1, wantListings: true},
		{have: "9 10 11", latestHint: "11", earliestHint: "9", wantLatest: 11, wantEarliest: 9},
		{have: "9 10 11", latestHint: "3", earliestHint: "3", wantLatest: 11, wantEarliest: 9, wantListings: true},
	} {
		t.Run(c.have+"/"+strings.TrimSpace(c.latestHint), func(t *testing.T) {
			store := object.NewFault(object.NewMem())
			for _, word := range strings.Fields(c.have) {
				var id int64
				fmt.Sscan(word, &id)
				putSnapshot(t, store, testPath.Snapshot(id), id)
			}
			require.NoError(t, store.Put(t.Context(), testPath.SnapshotDir()+"snapshot-5.tmp", []byte("x")))
			require.NoError(t, store.Put(t.Context(), testPath.SnapshotDir()+"snapshot-007", []byte("x")))
			require.NoError(t, store.Put(t.Context(), testPath.SnapshotDir()+".snapshot-99.tmp", []byte("x")))
			if c.latestHint != "" {
				require.NoError(t, store.Put(t.Context(), testPath.Latest(), []byte(c.latestHint)))
			}
			if c.earliestHint != "" {
				require.NoError(t, store.Put(t.Context(), testPath.Earliest(), []byte(c.earliestHint)))
			}
			counting := &listCounter{Store: store}
			id, ok, err := Latest(t.Context(), counting, testPath)
			require.NoError(t, err)
			require.Equal(t, c.wantLatest, id)
			require.Equal(t, c.have != "", ok)
			id, ok, err = Earliest(t.Context(), counting, testPath)
			require.NoError(t, err)
			require.Equal(t, c.wantEarliest, id)
			require.Equal(t, c.have != "", ok)
			require.Equal(t, c.wantListings, counting.n > 0)
		})
	}
}

// listCounter counts listings.
type listCounter struct {
	object.Store
	n int
}

func (c *listCounter) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	c.n++
	return c.Store.List(ctx, prefix)
}

func TestReadSnapshotErrors(t *testing.T) {
	store := object.NewMem()
	_, err := ReadSnapshot(t.Context(), store, testPath, 3)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "read d.db/t/snapshot/snapshot-3: ")
	putSnapshot(t, store, testPath.Snapshot(3), 4)
	_, err = ReadSnapshot(t.Context(), store, testPath, 3)
	require.EqualError(t, err, "read d.db/t/snapshot/snapshot-3: it says that it is snapshot 4")
	require.NoError(t, store.Put(t.Context(), testPath.Snapshot(3), []byte("{")))
	_, err = LatestSnapshot(t.Context(), store, testPath)
	require.ErrorContains(t, err, "read d.db/t/snapshot/snapshot-3: snapshot: ")
}

func TestReadChange(t *testing.T) {
	store := object.NewMem()
	for id := int64(3); id <= 5; id++ {
		putSnapshot(t, store, testPath.Changelog(id), id)
	}
	for id := int64(5); id <= 6; id++ {
		putSnapshot(t, store, testPath.Snapshot(id), id)
	}
	for id := int64(3); id <= 6; id++ {
		s, err := ReadChange(t.Context(), store, testPath, id)
		require.NoError(t, err)
		require.Equal(t, id, s.ID)
	}
	_, err := ReadChange(t.Context(), store, testPath, 7)
	require.ErrorIs(t, err, fs.ErrNotExist)
	id, ok, err := EarliestLongLivedChangelog(t.Context(), store, testPath)
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 3, id)
	ids, err := LongLivedChangelogIDs(t.Context(), store, testPath)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4, 5}, ids)
	require.NoError(t, WriteHint(t.Context(), store, testPath.ChangelogEarliest(), 3))
	id, _, err = EarliestLongLivedChangelog(t.Context(), store, testPath)
	require.NoError(t, err)
	require.EqualValues(t, 3, id)
}

func TestSnapshotAt(t *testing.T) {
	store := object.NewMem()
	s, err := SnapshotAt(t.Context(), store, testPath, 1000)
	require.NoError(t, err)
	require.Nil(t, s)
	for id := int64(4); id <= 30; id++ {
		putSnapshot(t, store, testPath.Snapshot(id), id)
	}
	for millis, want := range map[int64]int64{39: 0, 40: 4, 49: 4, 50: 5, 299: 29, 300: 30, 1000: 30} {
		s, err := SnapshotAt(t.Context(), store, testPath, millis)
		require.NoError(t, err)
		if want == 0 {
			require.Nil(t, s)
		} else {
			require.Equal(t, want, s.ID)
		}
	}
}

// TestLookupFaults fails every call in turn: the error is returned, never taken for absence.
func TestLookupFaults(t *testing.T) {
	mem := object.NewMem()
	for id := int64(1); id <= 3; id++ {
		putSnapshot(t, mem, testPath.Snapshot(id), id)
	}
	require.NoError(t, WriteHint(t.Context(), mem, testPath.Latest(), 2))
	require.NoError(t, WriteHint(t.Context(), mem, testPath.Earliest(), 2))
	broken := errors.New("broken")
	for name, call := range map[string]func(object.Store) (any, error){
		"latest":    func(s object.Store) (any, error) { id, _, err := Latest(t.Context(), s, testPath); return id, err },
		"earliest":  func(s object.Store) (any, error) { id, _, err := Earliest(t.Context(), s, testPath); return id, err },
		"standing":  func(s object.Store) (any, error) { return ReadStanding(t.Context(), s, testPath, 3) },
		"below":     func(s object.Store) (any, error) { return BelowEarliest(t.Context(), s, testPath, 1) },
		"at":        func(s object.Store) (any, error) { return SnapshotAt(t.Context(), s, testPath, 15) },
		"change":    func(s object.Store) (any, error) { return ReadChange(t.Context(), s, testPath, 2) },
		"schema":    func(s object.Store) (any, error) { return LatestSchema(t.Context(), s, testPath) },
		"tag":       func(s object.Store) (any, error) { return ReadTag(t.Context(), s, testPath, "x") },
		"tags":      func(s object.Store) (any, error) { return TagNames(t.Context(), s, testPath) },
		"consumers": func(s object.Store) (any, error) { return Consumers(t.Context(), s, testPath) },
	} {
		want, wantErr := call(mem)
		for n := 1; ; n++ {
			store := &failNth{Store: mem, left: n, err: broken}
			got, err := call(store)
			if store.left > 0 {
				require.Equal(t, want, got)
				require.Equal(t, wantErr, err)
				require.Greater(t, n, 1, name)
				break
			}
			require.ErrorIs(t, err, broken, "%s: call %d", name, n)
		}
	}
}

// failNth fails one call.
type failNth struct {
	object.Store
	left int
	err  error
}

func (f *failNth) fails() bool {
	f.left--
	return f.left == 0
}

func (f *failNth) Get(ctx context.Context, name string) ([]byte, error) {
	if f.fails() {
		return nil, f.err
	}
	return f.Store.Get(ctx, name)
}

func (f *failNth) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	if f.fails() {
		return func(yield func(object.Info, error) bool) { yield(object.Info{}, f.err) }
	}
	return f.Store.List(ctx, prefix)
}

func TestSchemas(t *testing.T) {
	store := object.NewMem()
	_, err := LatestSchema(t.Context(), store, testPath)
	require.ErrorIs(t, err, fs.ErrNotExist)
	s := plainSchema()
	require.NoError(t, CreateSchema(t.Context(), store, testPath, s))
	require.ErrorIs(t, CreateSchema(t.Context(), store, testPath, s), fs.ErrExist)
	got, err := LatestSchema(t.Context(), store, testPath)
	require.NoError(t, err)
	require.Equal(t, s.Fields, got.Fields)
	cache := NewSchemas(store, testPath)
	first, err := cache.Get(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, store.Delete(t.Context(), testPath.Schema(0)))
	second, err := cache.Get(t.Context(), 0)
	require.NoError(t, err)
	require.Same(t, first, second)
	_, err = cache.Get(t.Context(), 1)
	require.ErrorIs(t, err, fs.ErrNotExist)
	b, err := s.Encode()
	require.NoError(t, err)
	require.NoError(t, store.Put(t.Context(), testPath.Schema(7), b))
	_, err = LatestSchema(t.Context(), store, testPath)
	require.EqualError(t, err, "read d.db/t/schema/schema-7: it says that it is schema 0")
}

func TestTags(t *testing.T) {
	store := object.NewMem()
	snapshot := &Snapshot{ID: 3, BaseList: "b", DeltaList: "d", CommitUser: "u", CommitKind: Append, Properties: map[string]string{"k": "v"}}
	tag := &Tag{Name: "one", Snapshot: snapshot, Created: time.Date(2024, 2, 29, 1, 0, 0, 5, time.UTC), Retained: 36*time.Hour + 250*time.Millisecond}
	require.NoError(t, CreateTag(t.Context(), store, testPath, tag))
	require.ErrorIs(t, CreateTag(t.Context(), store, testPath, tag), fs.ErrExist)
	require.NoError(t, CreateTag(t.Context(), store, testPath, &Tag{Name: "plain", Snapshot: snapshot}))
	names, err := TagNames(t.Context(), store, testPath)
	require.NoError(t, err)
	require.Equal(t, []string{"one", "plain"}, names)
	got, err := ReadTag(t.Context(), store, testPath, "one")
	require.NoError(t, err)
	require.Equal(t, tag, got)

	java, err := parseTag("x", []byte(`{"tagCreateTime":[2024,2,29,1,0],"tagTimeRetained":86400.000000000,`+minimalSnapshot[1:]))
	require.NoError(t, err)
	require.Equal(t, time.Date(2024, 2, 29, 1, 0, 0, 0, time.UTC), java.Created)
	require.Equal(t, 24*time.Hour, java.Retained)

	_, err = ReadTag(t.Context(), store, testPath, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadTag(t.Context(), store, testPath, "../x")
	require.EqualError(t, err, `tag name "../x" is not a bare name`)
	_, err = parseTag("x", []byte(`{"tagCreateTime":[2024],`+minimalSnapshot[1:]))
	require.EqualError(t, err, "tagCreateTime has 1 parts")
}

func TestConsumers(t *testing.T) {
	store := object.NewMem()
	require.NoError(t, WriteConsumer(t.Context(), store, testPath, "b", 5))
	require.NoError(t, WriteConsumer(t.Context(), store, testPath, "a", 7))
	require.NoError(t, store.Put(t.Context(), testPath.ConsumerDir()+"other", []byte("x")))
	all, err := Consumers(t.Context(), store, testPath)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"a", "b"}, []string{all[0].ID, all[1].ID})
	require.Equal(t, []int64{7, 5}, []int64{all[0].NextSnapshot, all[1].NextSnapshot})
	require.False(t, all[0].Modified.IsZero())
	_, err = ReadConsumer(t.Context(), store, testPath, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)

	// Half a file is read again until it is whole.
	require.NoError(t, store.Put(t.Context(), testPath.Consumer("half"), []byte(`{"nextSn`)))
	go func() {
		time.Sleep(consumerWait / 2)
		WriteConsumer(context.Background(), store, testPath, "half", 9)
	}()
	c, err := ReadConsumer(t.Context(), store, testPath, "half")
	require.NoError(t, err)
	require.EqualValues(t, 9, c.NextSnapshot)

	require.NoError(t, store.Put(t.Context(), testPath.Consumer("bad"), []byte(`{}`)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = ReadConsumer(ctx, store, testPath, "bad")
	require.Error(t, err)
}
