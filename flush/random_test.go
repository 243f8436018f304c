package flush

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestRandom runs random changes of a source table through a writer with random spills, seals and failing calls, and
// compares what a reader of the files sees with the source: the rows (I1), pairs (I3), and order (I5). SINK_TEST_SEED repeats
// one run, SINK_TEST_RUNS asks for more of them.
func TestRandom(t *testing.T) {
	runs, seed := 8, rand.Uint64()
	if text := os.Getenv("SINK_TEST_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		runs = n
	}
	if text := os.Getenv("SINK_TEST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		runs, seed = 1, n
	}
	for i := range runs {
		seed := seed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { newWorld(t, seed).run() })
	}
}

// key is the primary key of a row as text.
type key string

// world is a source table, whose rows have a version that never comes twice, and what became of it.
type world struct {
	t       *testing.T
	r       *rand.Rand
	schema  *table.Schema
	store   *object.Mem
	fault   *object.Fault
	writer  *Writer
	version int

	rows    map[key][]string  // the source's rows
	changes map[key][]string  // by key, all changes since the last seal as the changelog shall tell them
	held    []string          // object names that the table refers to
	replay  map[key][]string  // rows by the changelog
	merged  map[key]storedRow // newest row of each key by the data files
	highest map[key]int64     // sequence number of each key
	maxSeq  int64
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), store: object.NewMem(), maxSeq: -1,
		rows: map[key][]string{}, changes: map[key][]string{}, replay: map[key][]string{}, merged: map[key]storedRow{}, highest: map[key]int64{},
	}
	fields := []table.Field{
		{Name: "dt", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
		{Name: "id", Type: table.Type{Root: table.BigInt}},
		{Name: "code", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
		{Name: "version", Type: table.Type{Root: table.Int}},
		{Name: "note", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
	}
	keys := [][]string{{"id"}, {"dt", "id"}, {"code"}, {"id", "code"}, {"dt", "code", "id"}}[w.r.IntN(5)]
	var partitions []string
	if keys[0] == "dt" && w.r.IntN(2) == 0 {
		partitions = []string{"dt"}
	}
	options := map[string]string{
		"bucket": strconv.Itoa(1 + w.r.IntN(4)), "changelog-producer": "input", "target-file-size": []string{"128 mb", "1 kb"}[w.r.IntN(2)],
		"file.compression": []string{"zstd", "none"}[w.r.IntN(2)],
	}
	if w.r.IntN(3) == 0 {
		options["changelog-file.compression"] = "snappy" // no copies
	}
	w.schema = table.NewSchema(fields, keys, partitions, options)
	require.NoError(t, w.schema.Validate())
	var rules []object.Rule
	for range w.r.IntN(4) {
		rules = append(rules, object.Rule{Nth: 1 + w.r.IntN(40), Effect: []object.Effect{object.FailBefore, object.FailAfter, object.Tear}[w.r.IntN(3)]})
	}
	w.fault = object.NewFault(w.store, rules...)
	var err error
	w.writer, err = New(Config{
		Schema: w.schema, Store: w.fault, Path: "db.db/t", Encoders: NewEncoders(int64(1+w.r.IntN(3)), int64(1+w.r.IntN(8<<20))),
		ChunkRows: 1 + w.r.IntN(300), ChunkBytes: 1 + w.r.IntN(1<<w.r.IntN(16)),
	})
	require.NoError(t, err)
	return w
}

func (w *world) run() {
	steps, keys := 20+w.r.IntN(200), 1+w.r.IntN(200)
	for range steps {
		switch w.r.IntN(12) {
		case 0:
			w.checkpoint()
		case 1:
			require.NoError(w.t, untilDone(func() error { return w.writer.Spill(w.t.Context()) }))
			w.checkMemory()
		case 2:
			w.writer.Raise(w.writer.MaxSequence() + w.r.Int64N(100))
		default:
			for range 1 + w.r.IntN(60) {
				w.change(keys)
			}
		}
	}
	w.checkpoint()
	w.checkpoint() // of what was added meanwhile
	if !w.writer.Empty() {
		w.writer.Discard(w.t.Context())
	}
	require.True(w.t, w.writer.Empty())
	require.LessOrEqual(w.t, w.writer.BufferedBytes(), int64(0))
	w.checkObjects()
}

// untilDone does something until it succeeds, as the service does.
func untilDone(do func() error) error {
	for range 100 {
		if err := do(); err == nil || !errors.Is(err, object.ErrInjected) {
			return err
		}
	}
	return errors.New("does not end")
}

// change makes one change of the source and adds its rows.
func (w *world) change(keys int) {
	row := w.newRow(keys)
	k := w.keyOf(row)
	before, exists := w.rows[k]
	switch {
	case !exists:
		w.rows[k] = row
		w.add(k, "+I", row)
	case w.r.IntN(5) == 0:
		delete(w.rows, k)
		w.add(k, "-D", before)
	case w.r.IntN(6) == 0: // the key changes
		after := w.newRow(keys)
		to := w.keyOf(after)
		if _, taken := w.rows[to]; taken {
			return
		}
		delete(w.rows, k)
		w.rows[to] = after
		w.append("-U", before)
		w.append("+U", after)
		w.changes[k] = append(w.changes[k], "-D "+strings.Join(before, " "))
		w.changes[to] = append(w.changes[to], "+I "+strings.Join(after, " "))
		require.NoError(w.t, w.writer.Add())
	default:
		w.rows[k] = row
		w.add(k, "-U", before, "+U", row)
	}
}

func (w *world) newRow(keys int) []string {
	w.version++
	n := w.r.IntN(keys)
	return []string{
		fmt.Sprintf("d%d", n%3), strconv.Itoa(n - keys/2), fmt.Sprintf("code-%d", n), strconv.Itoa(w.version),
		[]string{"null", strings.Repeat("x", 1+w.r.IntN(100))}[w.r.IntN(2)],
	}
}

func (w *world) keyOf(row []string) key {
	var k []string
	for _, c := range w.schema.Indexes(w.schema.PrimaryKeys) {
		k = append(k, row[c])
	}
	return key(strings.Join(k, ","))
}

// add adds kinds and rows of one key.
func (w *world) add(k key, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		kind, row := pairs[i].(string), pairs[i+1].([]string)
		w.append(kind, row)
		w.changes[k] = append(w.changes[k], kind+" "+strings.Join(row, " "))
	}
	require.NoError(w.t, w.writer.Add())
}

func (w *world) append(kind string, row []string) {
	appendText(w.t, w.writer.Batch(), kind+" "+strings.Join(row, " "))
}

// checkpoint seals, and flushes while rows of the next checkpoint are added.
func (w *world) checkpoint() {
	want, rows := w.changes, maps.Clone(w.rows)
	w.changes = map[key][]string{}
	c := w.writer.Seal()
	var delta table.Delta
	flushed := make(chan error, 1)
	go func() {
		flushed <- untilDone(func() (err error) { delta, err = c.Flush(w.t.Context()); return err })
	}()
	for range w.r.IntN(30) {
		w.change(50)
	}
	require.NoError(w.t, <-flushed)
	require.Equal(w.t, c.MaxSequence(), delta.Progress.MaxSequence)
	w.readChangelog(delta.Changelog, want, delta.Progress.MaxSequence)
	w.readData(delta.Added, delta.Progress.MaxSequence)
	w.maxSeq = max(w.maxSeq, delta.Progress.MaxSequence)
	var total int64
	for _, n := range c.Rows() {
		total += n
	}
	for _, f := range delta.Changelog {
		total -= f.Rows
	}
	require.Zero(w.t, total)

	require.Empty(w.t, cmp.Diff(rows, w.replay), "the changelog's rows")
	live := map[key][]string{}
	for k, row := range w.merged {
		if !row.kind.Retracts() {
			live[k] = row.cells
		}
	}
	require.Empty(w.t, cmp.Diff(rows, live), "the data files' rows")
}

func (w *world) readChangelog(files []table.File, want map[key][]string, maxSeq int64) {
	got := map[key][]string{}
	for i := range files {
		f := &files[i]
		rows := readFile(w.t, w.store, "db.db/t", w.schema, f)
		w.checkFile(f, rows, maxSeq)
		for n, row := range rows {
			k := w.keyOf(row.cells)
			got[k] = append(got[k], row.kind.String()+" "+strings.Join(row.cells, " "))
			require.Greater(w.t, row.seq, w.highestOf(k), "I5: key %s", k)
			w.highest[k] = row.seq
			switch row.kind {
			case table.UpdateBefore: // I3
				require.Less(w.t, n+1, len(rows))
				require.Equal(w.t, table.UpdateAfter, rows[n+1].kind)
				require.Equal(w.t, row.seq+1, rows[n+1].seq)
				require.Equal(w.t, k, w.keyOf(rows[n+1].cells))
				require.Equal(w.t, w.replay[k], row.cells, "the before image is what was there")
			case table.Delete:
				require.Equal(w.t, w.replay[k], row.cells)
				delete(w.replay, k)
			default:
				w.replay[k] = row.cells
			}
		}
	}
	require.Empty(w.t, cmp.Diff(want, got), "all changes, each once, in order")
}

func (w *world) highestOf(k key) int64 {
	if n, ok := w.highest[k]; ok {
		return n
	}
	return -1
}

func (w *world) readData(files []table.File, maxSeq int64) {
	for i := range files {
		f := &files[i]
		rows := readFile(w.t, w.store, "db.db/t", w.schema, f)
		w.checkFile(f, rows, maxSeq)
		seen := map[key]bool{}
		for _, row := range rows {
			k := w.keyOf(row.cells)
			require.False(w.t, seen[k], "one row a key")
			seen[k] = true
			if old, ok := w.merged[k]; !ok || old.seq < row.seq {
				w.merged[k] = row
			}
		}
	}
}

// checkFile compares what is said of a file with what is in it.
func (w *world) checkFile(f *table.File, rows []storedRow, maxSeq int64) {
	partition, err := table.PartitionPath(w.schema, f.Bucket.Partition)
	require.NoError(w.t, err)
	w.held = append(w.held, table.Path("db.db/t").DataFile(partition, f.Bucket.Number, f.Name))
	require.EqualValues(w.t, len(rows), f.Rows)
	require.EqualValues(w.t, w.writer.plan.buckets, f.TotalBuckets)
	require.Zero(w.t, f.Level)
	require.Equal(w.t, table.SourceAppend, f.Source)
	var deletes int64
	seqs := make([]int64, len(rows))
	for i, row := range rows {
		seqs[i] = row.seq
		if row.kind.Retracts() {
			deletes++
		}
	}
	require.Equal(w.t, deletes, f.DeleteRows)
	require.Equal(w.t, slices.Min(seqs), f.MinSeq)
	require.Equal(w.t, slices.Max(seqs), f.MaxSeq)
	require.LessOrEqual(w.t, f.MaxSeq, maxSeq)
	require.Greater(w.t, f.MinSeq, w.maxSeq, "numbers are never given twice")
}

// checkMemory compares the writer's account with what it holds.
func (w *world) checkMemory() {
	held, refs := int64(0), 0
	for _, b := range w.writer.chunks {
		held += b.SizeBytes()
	}
	for _, b := range w.writer.buckets.sorted() {
		held += refBytes * int64(cap(b.refs))
		refs += len(b.refs)
	}
	require.Equal(w.t, refs, w.writer.buckets.rows)
	require.GreaterOrEqual(w.t, w.writer.BufferedBytes(), held)
}

// checkObjects: nothing is in the store but what the table refers to, unless a call failed after its effect, or a failed
// delete.
func (w *world) checkObjects() {
	var names []string
	for info, err := range w.store.List(w.t.Context(), "") {
		require.NoError(w.t, err)
		names = append(names, info.Name)
	}
	slices.Sort(w.held)
	require.Subset(w.t, names, w.held)
	if w.fault.Fired() == 0 {
		require.Equal(w.t, w.held, names)
	}
}
