package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// window shows only some snapshots of the golden tables, and counts open readers.
type window struct {
	object.Store
	lo, hi  atomic.Int64
	open    atomic.Int64
	missing string // a substring of names that are not there

	mu    sync.Mutex
	extra map[string][]byte // files that replace those of the store
}

func newWindow(lo, hi int64) *window {
	w := &window{Store: object.NewLocal(goldenDir), extra: map[string][]byte{}}
	w.lo.Store(lo)
	w.hi.Store(hi)
	return w
}

func (w *window) hides(name string) bool {
	if w.missing != "" && strings.Contains(name, w.missing) {
		return true
	}
	var id int64
	n, _ := fmt.Sscanf(path.Base(name), "snapshot-%d", &id)
	return n == 1 && (id < w.lo.Load() || id > w.hi.Load())
}

func (w *window) Get(ctx context.Context, name string) ([]byte, error) {
	w.mu.Lock()
	b, ok := w.extra[name]
	w.mu.Unlock()
	if ok {
		return b, nil
	}
	if w.hides(name) {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return w.Store.Get(ctx, name)
}

func (w *window) Open(ctx context.Context, name string) (object.Reader, error) {
	if w.hides(name) {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	r, err := w.Store.Open(ctx, name)
	if err == nil {
		w.open.Add(1)
	}
	return countedReader{r, w}, err
}

func (w *window) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range w.Store.List(ctx, prefix) {
			if err == nil && w.hides(info.Name) {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

type countedReader struct {
	object.Reader
	w *window
}

func (r countedReader) Close() error {
	r.w.open.Add(-1)
	return r.Reader.Close()
}

// openGolden opens a golden table through a window.
func openGolden(t *testing.T, w *window, name string) *Table {
	tab, err := Open(t.Context(), w, table.NewPath("g", name))
	require.NoError(t, err)
	t.Cleanup(func() { require.Zero(t, w.open.Load(), "readers left open") })
	return tab
}

const all = 1 << 40

func TestOpenMissing(t *testing.T) {
	_, err := Open(t.Context(), object.NewMem(), "g.db/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualError(t, err, "table g.db/none: no schema: file does not exist")
}

func TestSnapshotChoice(t *testing.T) {
	tab := openGolden(t, newWindow(1, all), "dedup_default")
	first, err := tab.Snapshot(t.Context(), At{Snapshot: 1})
	require.NoError(t, err)
	s, err := tab.Snapshot(t.Context(), At{Time: time.UnixMilli(first.TimeMillis)})
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ID)
	s, err = tab.Snapshot(t.Context(), At{})
	require.NoError(t, err)
	require.EqualValues(t, 7, s.ID)

	for at, want := range map[At]string{
		{Snapshot: 99}:            "table g.dedup_default: there is no snapshot 99; the table has 1 to 7",
		{Tag: "x"}:                "table g.dedup_default: there is no tag x; the table has no tags",
		{Time: time.UnixMilli(0)}: "table g.dedup_default: there is no snapshot as old as 1970-01-01T00:00:00Z; the table has 1 to 7",
		{Snapshot: -1, Tag: "the first is taken"}: "table g.dedup_default: there is no snapshot -1; the table has 1 to 7",
	} {
		_, err := tab.Plan(t.Context(), at, nil)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err = openGolden(t, newWindow(1, all), "tags").Snapshot(t.Context(), At{Tag: "x"})
	require.EqualError(t, err, "table g.tags: there is no tag x; the table has compacted, first, last")
	_, err = openGolden(t, newWindow(1, 0), "dedup").Snapshot(t.Context(), At{Snapshot: 3})
	require.EqualError(t, err, "table g.dedup: there is no snapshot 3; the table has no snapshot at all")
}

// TestEmptyTable reads a table that has a schema and nothing else.
func TestEmptyTable(t *testing.T) {
	tab := openGolden(t, newWindow(1, 0), "dedup")
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	require.Nil(t, plan.Snapshot)
	for _, ordered := range []bool{false, true} {
		rows, err := printRows(t, plan, Options{Ordered: ordered})
		require.NoError(t, err)
		require.Empty(t, rows)
	}
	for _, from := range []Start{LatestFull, Latest, Earliest, 1} {
		changes, err := printChanges(t, tab, from, ChangeOptions{})
		require.NoError(t, err)
		require.Empty(t, changes)
	}
}

func TestProjection(t *testing.T) {
	tab := openGolden(t, newWindow(1, all), "partitioned")
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		columns []string
		want    string // of the row with id 20
	}{
		{nil, `{"region":"*","id":20,"v":"v20"}`},
		{[]string{"v", "region"}, `{"v":"v20","region":"*"}`},
		{[]string{"region"}, `{"region":"*"}`},
		{[]string{"v", "v"}, `{"v":"v20","v":"v20"}`},
		{[]string{}, `{}`},
	} {
		for _, ordered := range []bool{false, true} {
			rows, err := printRows(t, plan, Options{Columns: c.columns, Ordered: ordered})
			require.NoError(t, err)
			require.Len(t, rows, len(expected(t, "partitioned", "rows.jsonl")))
			require.Contains(t, rows, c.want+"\n")
		}
		changes, err := printChanges(t, tab, 1, ChangeOptions{Columns: c.columns, To: 1})
		require.NoError(t, err)
		require.Contains(t, changes, `{"snapshot":1,"phase":"changelog","partition":{"region":"*"},"bucket":0,"kind":"+I","row":`+c.want+"}\n")
	}
	_, err = plan.Fields(Options{Columns: []string{"nope"}})
	require.EqualError(t, err, `table g.db/partitioned: no column "nope"; the columns are region, id, v`)
	for _, err := range plan.Rows(t.Context(), Options{Columns: []string{"nope"}}) {
		require.ErrorContains(t, err, `no column "nope"`)
	}
	for _, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{Columns: []string{"nope"}}) {
		require.ErrorContains(t, err, `no column "nope"`)
	}
}

func TestFilter(t *testing.T) {
	tab := openGolden(t, newWindow(1, all), "nullpartition_fixed")
	whole, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	require.Greater(t, len(whole.Splits), 3)
	for _, s := range whole.Splits {
		f, err := manifest.NewFilter(tab.Schema(), []string{s.Bucket.Partition}, []int32{s.Bucket.Number})
		require.NoError(t, err)
		plan, err := tab.Plan(t.Context(), At{}, f)
		require.NoError(t, err)
		require.Equal(t, []Split{s}, plan.Splits)
	}
}

// TestPartitionFromManifest gives a split another partition than its files say.
func TestPartitionFromManifest(t *testing.T) {
	tab := openGolden(t, newWindow(1, all), "partitioned")
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	row := &table.Batch{Columns: []table.Vector{{Layout: table.Bytes}}, Kinds: []table.Kind{table.Insert}}
	row.Columns[0].AppendBytes([]byte("elsewhere"))
	for i := range plan.Splits {
		plan.Splits[i].row = row
	}
	rows, err := printRows(t, plan, Options{})
	require.NoError(t, err)
	for _, r := range rows {
		require.Contains(t, r, `"region":"elsewhere"`)
	}
}

// TestEarlyStop leaves the loops at every batch; TestMain's goldens and openGolden check that all readers are closed.
func TestEarlyStop(t *testing.T) {
	tab := openGolden(t, newWindow(1, all), "compacted")
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	for _, ordered := range []bool{false, true} {
		for range plan.Rows(t.Context(), Options{Ordered: ordered}) {
			break
		}
	}
	for _, from := range []Start{Earliest, LatestFull} {
		n := 0
		for c, err := range tab.Changes(t.Context(), from, ChangeOptions{}) {
			require.NoError(t, err)
			require.Positive(t, c.Batch.Len())
			if n++; n == 2 {
				break
			}
		}
		require.Equal(t, 2, n)
	}
}

func TestMissingDataFile(t *testing.T) {
	w := newWindow(1, all)
	tab := openGolden(t, w, "dedup")
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	w.missing = plan.Splits[0].Files[0].Name
	for _, ordered := range []bool{false, true} {
		_, err = printRows(t, plan, Options{Ordered: ordered})
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, w.missing)
	}
	w.missing = "/changelog-"
	_, err = printChanges(t, tab, Earliest, ChangeOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, ErrExpired, "the snapshot is there: this is damage")
}

// TestFollow reads changes while snapshots come.
func TestFollow(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, from := range []Start{Earliest, LatestFull, Latest} {
		w := newWindow(1, 2)
		tab := openGolden(t, w, "dedup")
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		var err error
		last := int64(0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			var c Change
			for c, err = range tab.Changes(ctx, from, ChangeOptions{Poll: time.Millisecond}) {
				if err != nil {
					return
				}
				seen = append(seen, fmt.Sprintf("%d %v %d", c.Snapshot, c.Full, c.Batch.Len()))
				if last = c.Snapshot; last == 6 {
					cancel()
				}
			}
		}()
		for hi := int64(3); hi <= 6; hi++ {
			time.Sleep(5 * time.Millisecond)
			w.hi.Store(hi)
		}
		<-done
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 6, last)
		switch from {
		case Earliest:
			require.Equal(t, "1 false", seen[0][:7])
		case LatestFull:
			require.Equal(t, "2 true", seen[0][:6])
		case Latest:
			require.Equal(t, "3 false", seen[0][:7])
		}
		cancel()
	}
}

// TestFullThenChanges checks that a full read at any snapshot and the changes after it lead to the newest rows.
func TestFullThenChanges(t *testing.T) {
	for hi := int64(1); hi <= 7; hi++ {
		w := newWindow(1, hi)
		tab := openGolden(t, w, "dedup_default")
		rows := map[string]string{}
		for c, err := range tab.Changes(t.Context(), LatestFull, ChangeOptions{To: 7}) {
			require.NoError(t, err)
			w.hi.Store(7)
			for i := range c.Batch.Len() {
				text := string(table.AppendCanonicalRow(nil, tab.Schema().Fields, c.Batch, i))
				key, _, _ := strings.Cut(text, ",")
				if c.Batch.Kinds[i].Retracts() {
					delete(rows, key)
				} else {
					rows[key] = text + "\n"
				}
			}
		}
		want := expected(t, "dedup_default", "rows.jsonl")
		require.Len(t, rows, len(want))
		for _, line := range want {
			key, _, _ := strings.Cut(line, ",")
			require.Equal(t, line, rows[key])
		}
	}
}

func TestExpired(t *testing.T) {
	// A start before the first snapshot begins with the first.
	tab := openGolden(t, newWindow(3, all), "dedup")
	changes, err := printChanges(t, tab, 2, ChangeOptions{})
	require.NoError(t, err)
	require.Contains(t, changes[0], `{"snapshot":3,`)

	// A stream that is overtaken by expiry stops.
	w := newWindow(1, 3)
	tab = openGolden(t, w, "dedup")
	var last int64
	for c, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{Poll: time.Millisecond}) {
		if err != nil {
			require.ErrorIs(t, err, ErrExpired)
			require.EqualError(t, err, "read changes: table g.db/dedup: the changes have expired: snapshot 4 is gone, the earliest is 5")
			break
		}
		if last = c.Snapshot; last == 3 {
			w.lo.Store(5)
			w.hi.Store(all)
		}
	}
	require.EqualValues(t, 3, last)

	// A gap, or a table that has gone back, is no expiry.
	w = newWindow(1, all)
	w.missing = "/snapshot-3"
	_, err = printChanges(t, openGolden(t, w, "dedup"), Earliest, ChangeOptions{})
	require.EqualError(t, err, "read changes: table g.db/dedup: snapshot 3 is missing between 1 and 6")

	w = newWindow(1, 3)
	for c, err := range openGolden(t, w, "dedup").Changes(t.Context(), Earliest, ChangeOptions{Poll: time.Millisecond}) {
		if err != nil {
			require.EqualError(t, err, "read changes: table g.db/dedup: snapshot 4 is to come next but the newest is 2: the table was rolled back or made anew")
			break
		}
		if c.Snapshot == 3 {
			w.hi.Store(2)
		}
	}
	_, err = printChanges(t, openGolden(t, newWindow(1, 3), "dedup"), 5, ChangeOptions{})
	require.EqualError(t, err, "read changes: table g.dedup: there is no snapshot 5 to start from; the table has 1 to 3")
}

// TestLongLivedChangelog goes on in the folder changelog where snapshots have expired.
func TestLongLivedChangelog(t *testing.T) {
	for lo := int64(12); lo <= 14; lo++ {
		tab := openGolden(t, newWindow(lo, all), "expired")
		changes, err := printChanges(t, tab, 10, ChangeOptions{To: 10})
		require.NoError(t, err)
		require.Len(t, changes, 2)
	}
}

// TestUnsupported sets options that cannot be read right.
func TestUnsupported(t *testing.T) {
	for option, want := range map[string]string{
		"deletion-vectors.enabled=true":   "option deletion-vectors.enabled is true",
		"merge-engine=newest":             `option merge-engine is "newest", which is no merge engine`,
		"sequence.snapshot-ordering=true": "option sequence.snapshot-ordering is true",
		"row-tracking.enabled=true":       "option row-tracking.enabled is true",
		"data-file.external-paths=s3://x": "option data-file.external-paths is s3://x, so its files are elsewhere",
		"data-file.path-directory=data":   "option data-file.path-directory is data, so its files are elsewhere",
		"sequence.field=nope":             `option sequence.field names a column "nope" that is not there`,
		"ignore-delete=perhaps":           "option ignore-delete",
		"sequence.field.sort-order=up":    "option sequence.field.sort-order is \"up\", want ascending or descending",
	} {
		tab := openGolden(t, newWindow(1, all), "dedup")
		schema := tab.schema.Clone()
		key, value, _ := strings.Cut(option, "=")
		schema.Options[key] = value
		tab.schema = schema
		plan, err := tab.Plan(t.Context(), At{}, nil)
		require.NoError(t, err)
		for _, ordered := range []bool{false, true} {
			_, err := printRows(t, plan, Options{Ordered: ordered})
			require.ErrorContains(t, err, want)
		}
	}
	tab := openGolden(t, newWindow(1, all), "dedup")
	tab.schema = tab.schema.Clone()
	tab.schema.Options["row-tracking.enabled"] = "true"
	for _, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{}) {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.EqualError(t, err, "read changes: table g.db/dedup: option row-tracking.enabled is true: unsupported operation")
	}
	tab = openGolden(t, newWindow(1, all), "dedup")
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	plan.Splits[0].Files[0].ExternalPath = "s3://x/y"
	_, err = printRows(t, plan, Options{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "lies at s3://x/y")
	plan.Splits[0].Files[0].ExternalPath = ""
	plan.Splits[0].Files[0].Name = "data-0.orc"
	_, err = printRows(t, plan, Options{})
	require.ErrorContains(t, err, "orc")
}
