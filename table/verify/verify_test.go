package verify

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/goldentest"
	"sink/table/manifest"
	"sink/table/object"
)

// unpack returns the stores of testdata/broken.tar.zst by case.
func unpack(t *testing.T) map[string]*object.Mem {
	stores := map[string]*object.Mem{}
	require.NoError(t, goldentest.Walk("testdata/broken.tar.zst", func(name string, content []byte) error {
		name, object_, _ := strings.Cut(name, "/")
		if stores[name] == nil {
			stores[name] = object.NewMem()
		}
		return stores[name].Put(context.Background(), object_, content)
	}))
	return stores
}

func verify(t *testing.T, store object.Store, root table.Path, o Options) (Summary, []Finding) {
	var found []Finding
	o.Report = func(f Finding) { found = append(found, f) }
	s, err := Run(t.Context(), store, root, o)
	require.NoError(t, err)
	return s, found
}

func codes(found []Finding, levels ...Level) []string {
	var out []string
	for _, f := range found {
		if slices.Contains(levels, f.Level) && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	return out
}

// TestBroken finds every corruption of testdata/broken.txt.
func TestBroken(t *testing.T) {
	stores := unpack(t)
	f, err := os.Open("testdata/broken.txt")
	require.NoError(t, err)
	defer f.Close()
	cases := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var name, golden, code string
		if _, err := fmt.Sscan(lines.Text(), &name, &golden, &code); err != nil || name == "#" {
			continue
		}
		cases++
		t.Run(name, func(t *testing.T) {
			s, found := verify(t, stores[name], table.Path(golden), Options{Replay: ReplayAll})
			if code == "-" {
				require.Zero(t, s.Faults, "%v", found)
				return
			}
			require.Contains(t, codes(found, Fault, Warning, Orphan), code, "%v", found)
		})
	}
	require.Equal(t, 59, cases)
}

// TestSound finds nothing in tables as Paimon wrote them, but for one deletion of a row that was never there.
func TestSound(t *testing.T) {
	store := unpack(t)["_sound"]
	for _, name := range []string{"dedup", "expired", "tags", "dynamic_nopart", "evolved", "partitioned", "compacted", "nested", "multifile"} {
		for _, replay := range []Replay{ReplayAll, ReplayLast} {
			read := 0
			s, found := verify(t, store, table.Path(name), Options{Replay: replay, Progress: func(n, known int) {
				require.LessOrEqual(t, n, known)
				read = n
			}})
			require.Zero(t, s.Faults+s.Orphans, "%s: %v", name, found)
			require.Positive(t, s.Replayed, name)
			require.Equal(t, s.Files, read)
			if name == "dedup" {
				require.Equal(t, []string{"changelog-before"}, codes(found, Warning))
			} else {
				require.Zero(t, s.Warnings, "%s: %v", name, found)
			}
		}
	}
	s, _ := verify(t, store, "dedup", Options{Replay: ReplayNone})
	require.Zero(t, s.Replayed)
	s, found := verify(t, store, "compacted", Options{Replay: ReplayAll, From: 20})
	require.Equal(t, 2, s.Replayed)
	require.Empty(t, found)
	_, err := Run(t.Context(), store, "compacted", Options{Replay: ReplayAll, From: 99})
	require.ErrorContains(t, err, "no snapshot 99")
	_, err = Run(t.Context(), store, "none", Options{})
	require.ErrorContains(t, err, "no schema")
}

// TestStray tells of a snapshot that had expired and was made again, and checks the others as if it were not there.
func TestStray(t *testing.T) {
	for _, back := range []int64{1, 2} {
		store := unpack(t)["_sound"]
		path := table.Path("expired")
		first, _, err := manifest.Earliest(t.Context(), store, path)
		require.NoError(t, err)
		require.Greater(t, first, int64(2))
		s, err := manifest.ReadSnapshot(t.Context(), store, path, first)
		require.NoError(t, err)
		s.ID -= back
		s.BaseList, s.TotalRecords = "manifest-list-gone-0", s.TotalRecords+5
		b, err := s.Encode()
		require.NoError(t, err)
		require.NoError(t, store.Create(t.Context(), path.Snapshot(s.ID), b))
		summary, found := verify(t, store, path, Options{Replay: ReplayAll})
		require.Zero(t, summary.Faults+summary.Orphans, "%v", found)
		require.Equal(t, []string{"snapshot-stray"}, codes(found, Warning))
		require.Positive(t, summary.Replayed)
	}
}

// TestFailingStore: what is wrong with the store is an error, or a finding, never silence.
func TestFailingStore(t *testing.T) {
	store := unpack(t)["_sound"]
	for n := 1; ; n++ {
		f := object.NewFault(store, object.Rule{Nth: n, Effect: object.FailBefore, Ops: []object.Op{object.OpGet, object.OpOpen, object.OpList, object.OpRead}})
		s, err := Run(t.Context(), f, "dedup", Options{Replay: ReplayAll})
		if f.Fired() == 0 {
			break
		}
		require.True(t, err != nil || s.Faults > 0, "call %d: %v", n, f.Log()[len(f.Log())-1])
	}
}
