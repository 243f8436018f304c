package datafile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestPieces writes small pages, row groups and files, with every size of Append, and reads them back.
func TestPieces(t *testing.T) {
	r := newRand(t)
	for range 3 {
		store := object.NewMem()
		s := table.NewSchema(allTypes(), []string{"id"}, nil, map[string]string{"bucket": "1", "target-file-size": "32 kb"})
		f := newTestFormat(t, s, store, Data)
		f.limits = limits{pageRows: 1 + r.IntN(400), pageBytes: 1 + r.IntN(2000), groupRows: 1 + r.IntN(1000), groupBytes: 1 + r.IntN(64<<10)}
		rows := randomRows(r, s.Fields, 1500, 1+r.IntN(1000))
		files := writeRows(t, f, rows, 1+r.IntN(1500))
		require.Greater(t, len(files), 1)
		require.Equal(t, canonicalRows(s.Fields, rows), readRows(t, store, s, files, 1+r.IntN(500)))
		checkFiles(t, store, s, files, rows)
	}
}

// checkFiles compares what Close says of files with the rows in them.
func checkFiles(t *testing.T, store object.Store, s *table.Schema, files []table.File, rows table.Rows) {
	keys := s.Indexes(s.TrimmedPrimaryKeys())
	key := table.NewRowEncoder(s.TypesOf(keys), keys)
	at := 0
	for _, f := range files {
		part := rows.Slice(at, at+int(f.Rows))
		at += int(f.Rows)
		first, last := part.Refs[0], part.Refs[part.Len()-1]
		require.Equal(t, key.Append(nil, part.Batches[first.Batch()], first.Row()), f.MinKey)
		require.Equal(t, key.Append(nil, part.Batches[last.Batch()], last.Row()), f.MaxKey)
		minSeq, maxSeq, deletes := part.Seqs[0], part.Seqs[0], int64(0)
		collectors := make([]*table.StatsCollector, len(s.Fields))
		for i, seq := range part.Seqs {
			minSeq, maxSeq = min(minSeq, seq), max(maxSeq, seq)
			if part.Kind(i).Retracts() {
				deletes++
			}
		}
		require.Equal(t, []int64{minSeq, maxSeq, deletes}, []int64{f.MinSeq, f.MaxSeq, f.DeleteRows})
		b, err := store.Get(context.Background(), table.Path("d.db/t").DataFile("", 0, f.Name))
		require.NoError(t, err)
		require.EqualValues(t, len(b), f.SizeBytes)
		checkStats(t, s, f, part, collectors)
	}
	require.Equal(t, rows.Len(), at)
}

// checkStats compares the statistics with those that the table's collectors find in the rows themselves.
func checkStats(t *testing.T, s *table.Schema, f table.File, rows table.Rows, collectors []*table.StatsCollector) {
	b := table.NewBatch(s.Fields)
	AppendRows(b, rows)
	var names []string
	var wanted []*table.StatsCollector
	for i, field := range s.Fields {
		mode, err := s.StatsModeOf(field.Name, "metadata.stats-mode")
		require.NoError(t, err)
		collectors[i] = table.NewStatsCollector(field.Type, mode)
		collectors[i].UpdateVector(&b.Columns[i], 0, b.Len())
		if mode.Level > table.StatsNone {
			wanted, names = append(wanted, collectors[i]), append(names, field.Name)
		}
	}
	require.Equal(t, table.BuildStats(wanted), f.ValueStats)
	require.Equal(t, names, f.ValueStatCols)
	k := s.FieldIndex("id")
	c := table.NewStatsCollector(s.Fields[k].Type, table.KeyStatsMode)
	c.UpdateVector(&b.Columns[k], 0, b.Len())
	require.Equal(t, table.BuildStats([]*table.StatsCollector{c}), f.KeyStats)
}

// TestParquetGoReads reads our files with parquet-go's own reader: another implementation. LZ4 is not among them: where
// parquet-go 0.32 finds its first guess of a page's size too small, it goes on with an empty page.
func TestParquetGoReads(t *testing.T) {
	r := newRand(t)
	for _, codec := range []string{"zstd", "snappy", "gzip", "none"} {
		store := object.NewMem()
		s := table.NewSchema(allTypes(), []string{"id"}, nil, map[string]string{"bucket": "1", "file.compression": codec})
		f := newTestFormat(t, s, store, Data)
		f.limits.pageRows, f.limits.groupRows = 400, 1500
		rows := randomRows(r, s.Fields, 2000, 1000)
		files := writeRows(t, f, rows, 2000)
		b, err := store.Get(context.Background(), table.Path("d.db/t").DataFile("", 0, files[0].Name))
		require.NoError(t, err)
		pf, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		var leaf [][]parquet.Value // by leaf, all groups
		for _, g := range pf.RowGroups() {
			for i, c := range g.ColumnChunks() {
				if len(leaf) == i {
					leaf = append(leaf, nil)
				}
				leaf[i] = append(leaf[i], readChunk(t, c)...)
			}
		}
		compareLeaves(t, f, rows, leaf)
	}
}

func readChunk(t *testing.T, c parquet.ColumnChunk) []parquet.Value {
	var out []parquet.Value
	pages := c.Pages()
	defer func() { require.NoError(t, pages.Close()) }()
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		values := make([]parquet.Value, p.NumValues())
		n, err := p.Values().ReadValues(values)
		if err != io.EOF {
			require.NoError(t, err)
		}
		for _, v := range values[:n] {
			out = append(out, v.Clone())
		}
	}
}

// compareLeaves compares what parquet-go read with what our shredder makes of the rows, value by value.
func compareLeaves(t *testing.T, f *Format, rows table.Rows, leaf [][]parquet.Value) {
	e := newEncoder(f.layout, limits{pageRows: 1 << 30, pageBytes: 1 << 30, groupRows: 1 << 30, groupBytes: 1 << 30}, &compressor{})
	require.NoError(t, e.begin(&discardWriter{}))
	require.NoError(t, e.append(rows))
	for i, c := range e.columns {
		c.fillLevels()
		require.Len(t, leaf[i], c.entries, "%v", c.leaf.path)
		word, rest := 0, c.body
		for j, v := range leaf[i] {
			def, rep := 0, 0
			if c.leaf.maxDef > 0 {
				def = int(c.def[j])
			}
			if c.leaf.maxRep > 0 {
				rep = int(c.rep[j])
			}
			var want string
			switch width := c.leaf.physical.width; {
			case def < int(c.leaf.maxDef):
				want = "<null>"
			case c.leaf.physical.kind.words():
				want = wordText(c.words[word], c.leaf.physical.kind)
				word++
			default:
				if width == 0 {
					width = int(binary.LittleEndian.Uint32(rest))
					rest = rest[4:]
				}
				want, rest = string(rest[:width]), rest[width:]
			}
			got := valueText(v, c.leaf.physical.kind)
			if want != got || def != v.DefinitionLevel() || rep != v.RepetitionLevel() {
				t.Fatalf("%v, entry %d: %q at %d, %d, but %q at %d, %d", c.leaf.path, j, got, v.RepetitionLevel(), v.DefinitionLevel(), want, rep, def)
			}
		}
	}
}

func wordText(w int64, k cellKind) string {
	if k == cellFloat {
		w = int64(uint32(w))
	}
	return fmt.Sprint(w)
}

func valueText(v parquet.Value, k cellKind) string {
	switch {
	case v.IsNull():
		return "<null>"
	case k == cellBool && v.Boolean():
		return "1"
	case k == cellBool:
		return "0"
	case k == cellInt32:
		return fmt.Sprint(v.Int32())
	case k == cellInt64:
		return fmt.Sprint(v.Int64())
	case k == cellFloat:
		return wordText(wordOf(float64(v.Float()), k), k)
	case k == cellDouble:
		return wordText(wordOf(v.Double(), k), k)
	}
	return string(v.Bytes())
}

// TestDictionaryGivesUp begins with few distinct values and goes on with many.
func TestDictionaryGivesUp(t *testing.T) {
	store := object.NewMem()
	fields := []table.Field{
		{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}}, {Name: "s", Type: str()},
		{Name: "n", Type: table.Type{Root: table.BigInt}}, {Name: "d", Type: table.Type{Root: table.Double}},
	}
	s := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "1"})
	f := newTestFormat(t, s, store, Data)
	f.limits.pageRows = 5000
	b := table.NewBatch(fields)
	const n = 25_000
	var seqs []int64
	for i := range int64(n) {
		v := i % 5
		if i >= 5000 {
			v = i
		}
		b.Columns[0].AppendWord(i)
		b.Columns[1].AppendBytes(fmt.Appendf(nil, "a long value that is there again and again %d", v))
		b.Columns[2].AppendWord(v * 0x9e3779b97f4a7c)
		b.Columns[3].AppendWord(wordOf(float64(v)/3, cellDouble))
		b.Kinds = append(b.Kinds, table.Insert)
		seqs = append(seqs, i)
	}
	rows := table.AllOf(b, seqs)
	files := writeRows(t, f, rows, n)
	require.Equal(t, canonicalRows(fields, rows), readRows(t, store, s, files, 10000))
	meta, _ := footerOf(t, store, table.Path("d.db/t").DataFile("", 0, files[0].Name))
	for _, c := range meta.RowGroups[0].Columns {
		m := c.MetaData
		if name := m.PathInSchema[0]; name == "s" || name == "d" || name == "n" {
			require.Contains(t, []format.Encoding(m.Encoding), format.RLEDictionary, name)
			require.Positive(t, m.DictionaryPageOffset)
		}
	}
}

func TestNotNull(t *testing.T) {
	i := table.Type{Root: table.Int, NotNull: true}
	fields := []table.Field{
		{Name: "id", Type: i}, {Name: "n", Type: i}, {Name: "a", Type: table.Type{Root: table.Array, Element: &i}},
	}
	s := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "1"})
	store := object.NewMem()
	f := newTestFormat(t, s, store, Data)
	for bad, want := range map[int]string{0: "column _KEY_id", 1: "column n", 2: "element is NOT NULL"} {
		b := table.NewBatch(fields)
		for c := range b.Columns {
			switch {
			case c == 2 && bad == 2:
				b.Columns[c].Data = table.EndNested(table.AppendNestedNull(b.Columns[c].Data))
				b.Columns[c].EndCell()
			case c == bad || c == 2:
				b.Columns[c].AppendNull()
			default:
				b.Columns[c].AppendWord(1)
			}
		}
		b.Kinds = append(b.Kinds, table.Insert)
		w := f.NewWriter(unpartitioned, 1, 0, table.SourceAppend, newNamer(s))
		err := w.Append(context.Background(), table.AllOf(b, []int64{0}))
		require.ErrorContains(t, err, want)
		w.Abort(context.Background())
		for range store.List(context.Background(), "") {
			t.Fatal("Abort left an object")
		}
	}
}

func TestAbort(t *testing.T) {
	store := object.NewMem()
	s := orderSchema(map[string]string{"target-file-size": "50 kb"})
	f := newTestFormat(t, s, store, Changelog)
	rows := orderRows(orderChanges(20_000, 1000, 1))
	w := f.NewWriter(unpartitioned, 4, 0, table.SourceAppend, newNamer(s))
	require.NoError(t, w.Append(context.Background(), rows))
	require.NotEmpty(t, w.files)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, w.Append(ctx, rows), context.Canceled)
	w.Abort(ctx)
	for range store.List(context.Background(), "") {
		t.Fatal("Abort left an object")
	}
}

func TestCopy(t *testing.T) {
	ctx := context.Background()
	store := object.NewMem()
	s := orderSchema(nil)
	data, changelog := newTestFormat(t, s, store, Data), newTestFormat(t, s, store, Changelog)
	require.True(t, data.Config().Alike(changelog.Config()))
	rows := orderRows(orderChanges(2000, 1000, 1))
	files := writeRows(t, data, rows, rows.Len())
	namer := newNamer(s)
	c, err := changelog.Copy(ctx, files[0], namer)
	require.NoError(t, err)
	require.Regexp(t, `^changelog-.*\.parquet$`, c.Name)
	want := files[0]
	want.Name, want.CreatedMillis = c.Name, c.CreatedMillis
	require.Equal(t, want, c)
	require.Equal(t, readRows(t, store, s, files, 1000), readRows(t, store, s, []table.File{c}, 1000))
}

// TestPairsStayTogether rolls at every chance, also between two Appends: no file ends with a -U.
func TestPairsStayTogether(t *testing.T) {
	store := object.NewMem()
	s := orderSchema(map[string]string{"target-file-size": "1 b"})
	f := newTestFormat(t, s, store, Changelog)
	rows := orderRows(orderChanges(20_000, 1000, 1))
	files := writeRows(t, f, rows, 77)
	require.Greater(t, len(files), 50)
	at := 0
	for _, file := range files {
		at += int(file.Rows)
		require.NotEqual(t, table.UpdateBefore, rows.Kind(at-1))
	}
}
