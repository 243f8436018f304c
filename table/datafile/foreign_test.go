package datafile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// foreignRow is a row as another writer might lay it out: no _KEY_ columns, other physical types and encodings than
// ours, nullable where the schema is not, columns in another order, one more and one less.
type foreignRow struct {
	Unknown  string             `parquet:"unknown"`
	Kind     int32              `parquet:"_VALUE_KIND,delta"`
	Narrow   int64              `parquet:"narrow"` // INT in the schema
	Float    float64            `parquet:"float,split"`
	Double   float32            `parquet:"double,split"`
	Dec5     int64              `parquet:"dec5,decimal(2:10)"`
	Dec18    [8]byte            `parquet:"dec18,decimal(4:18)"`
	Dec38    int32              `parquet:"dec38,decimal(1:9)"`
	Millis96 deprecated.Int96   `parquet:"millis96"`
	Micros96 deprecated.Int96   `parquet:"micros96"`
	Nanos64  int64              `parquet:"nanos64,timestamp(nanosecond)"`
	Micros64 int64              `parquet:"micros64,timestamp(microsecond)"` // TIMESTAMP(9) in the schema
	Fixed    [4]byte            `parquet:"fixed"`
	Text     string             `parquet:"text,delta,optional"`
	Bytes    []byte             `parquet:"bytes,delta"`
	Dict     *string            `parquet:"dict,dict"`
	Flag     *bool              `parquet:"flag"`
	List     []int32            `parquet:"list,list"`
	Pairs    map[string]float64 `parquet:"pairs"`
	Seq      int64              `parquet:"_SEQUENCE_NUMBER,delta,optional"`
	ID       int64              `parquet:"id,delta,optional"`
}

func foreignFields() []table.Field {
	notNull, double := str(), table.Type{Root: table.Double, NotNull: true}
	notNull.NotNull = true
	return []table.Field{
		{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}},
		{Name: "narrow", Type: table.Type{Root: table.Int}}, {Name: "absent", Type: table.Type{Root: table.Int}},
		{Name: "float", Type: table.Type{Root: table.Float}}, {Name: "double", Type: table.Type{Root: table.Double}},
		{Name: "dec5", Type: table.Type{Root: table.Decimal, Precision: 5, Scale: 2}},
		{Name: "dec18", Type: table.Type{Root: table.Decimal, Precision: 18, Scale: 4}},
		{Name: "dec38", Type: table.Type{Root: table.Decimal, Precision: 38, Scale: 1}},
		{Name: "millis96", Type: table.Type{Root: table.Timestamp, Precision: 3}},
		{Name: "micros96", Type: table.Type{Root: table.LocalTimestamp, Precision: 6}},
		{Name: "nanos64", Type: table.Type{Root: table.Timestamp, Precision: 9}},
		{Name: "micros64", Type: table.Type{Root: table.Timestamp, Precision: 9}},
		{Name: "fixed", Type: table.Type{Root: table.Binary, Length: 4}}, {Name: "text", Type: str()},
		{Name: "bytes", Type: table.Type{Root: table.VarBinary, Length: table.MaxLength}}, {Name: "dict", Type: str()},
		{Name: "flag", Type: table.Type{Root: table.Boolean}},
		{Name: "list", Type: table.Type{Root: table.Array, Element: &table.Type{Root: table.Int}}},
		{Name: "pairs", Type: table.Type{Root: table.Map, Key: &notNull, Element: &double}},
	}
}

// foreignRowOf makes row i and its canonical text.
func foreignRowOf(i int64) (foreignRow, string) {
	millis := 1_700_000_000_123 + i*1000
	day := millis / millisPerDay
	nanos := uint64(millis-day*millisPerDay)*nanosPerMilli + 456_789
	int96 := deprecated.Int96{uint32(nanos), uint32(nanos >> 32), uint32(day + julianEpochDay)}
	r := foreignRow{
		Kind: int32(i % 4), Narrow: -i, Float: float64(i) / 4, Double: float32(i) / 8, Dec5: i % 1000, Dec38: int32(-i),
		Millis96: int96, Micros96: int96, Nanos64: millis*nanosPerMilli + 456_789, Micros64: millis*1000 + 456,
		Text: fmt.Sprintf("text %d", i), Bytes: []byte{byte(i), 1}, Seq: i + 5, ID: i + 1,
	}
	binary.BigEndian.PutUint64(r.Dec18[:], uint64(-i))
	binary.BigEndian.PutUint32(r.Fixed[:], uint32(i))
	dict, flag, list, pairs := "null", "null", "[]", "[]"
	if i%3 > 0 {
		s := fmt.Sprint("d", i%5)
		r.Dict, dict = &s, fmt.Sprintf("%q", s)
	}
	if i%2 > 0 {
		yes := i%4 == 1
		r.Flag, flag = &yes, fmt.Sprint(yes)
	}
	if i%3 == 1 {
		r.List, list = []int32{int32(i), 7}, fmt.Sprintf("[%d,7]", i)
		r.Pairs, pairs = map[string]float64{"k": 1.5}, `[["k",1.5]]`
	}
	b := table.NewBatch(foreignFields())
	for _, w := range []struct {
		column int
		word   int64
	}{
		{0, i + 1}, {1, -i}, {3, wordOf(float64(i)/4, cellFloat)}, {4, wordOf(float64(i)/8, cellDouble)}, {5, i % 1000}, {6, -i},
		{8, millis}, {9, millis*1000 + 456},
	} {
		b.Columns[w.column].AppendWord(w.word)
	}
	b.Columns[2].AppendNull()
	text := func(c int) string {
		return string(table.AppendCanonical(nil, foreignFields()[c].Type, &b.Columns[c], 0))
	}
	b.Columns[7].AppendBytes(appendDecimal16(nil, binary.BigEndian.AppendUint64(nil, uint64(-i))))
	b.Columns[10].AppendBytes(table.AppendNanoTimestamp(nil, millis, 456_789))
	b.Columns[11].AppendBytes(table.AppendNanoTimestamp(nil, millis, 456_000))
	b.Columns[12].AppendBytes(r.Fixed[:])
	b.Columns[13].AppendBytes([]byte(r.Text))
	b.Columns[14].AppendBytes(r.Bytes)
	row := "{"
	for c, f := range foreignFields() {
		value := map[string]string{"dict": dict, "flag": flag, "list": list, "pairs": pairs}[f.Name]
		if value == "" {
			value = text(c)
		}
		row += fmt.Sprintf("%q:%s,", f.Name, value)
	}
	return r, fmt.Sprintf("%d %s %s", r.Seq, table.Kind(r.Kind), row[:len(row)-1]+"}")
}

// TestForeign reads files of parquet-go with both versions of pages, several row groups and all codecs.
func TestForeign(t *testing.T) {
	for version := 1; version <= 2; version++ {
		for _, codec := range []parquet.WriterOption{
			parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Snappy),
			parquet.Compression(&parquet.Gzip), parquet.Compression(&parquet.Lz4Raw),
		} {
			var b bytes.Buffer
			w := parquet.NewGenericWriter[foreignRow](&b, codec, parquet.DataPageVersion(version), parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(250))
			var want []string
			for i := range int64(600) {
				row, text := foreignRowOf(i)
				want = append(want, text)
				_, err := w.Write([]foreignRow{row})
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
			s := table.NewSchema(foreignFields(), []string{"id"}, nil, map[string]string{"bucket": "1"})
			store := object.NewMem()
			require.NoError(t, store.Put(context.Background(), "d.db/t/bucket-0/x.parquet", b.Bytes()))
			got := readRows(t, store, s, []table.File{{Name: "x.parquet", Bucket: unpartitioned}}, 300)
			require.Equal(t, want, got)
		}
	}
}

// twoLevels is a list of the older form: the repeated node is the element.
type twoLevels struct {
	ID   int64 `parquet:"id"`
	Seq  int64 `parquet:"_SEQUENCE_NUMBER"`
	Kind int32 `parquet:"_VALUE_KIND"`
	List struct {
		Array []int32 `parquet:"array"`
	} `parquet:"list"`
}

func TestTwoLevelList(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[twoLevels](&b)
	rows := make([]twoLevels, 3)
	rows[1].List.Array = []int32{1, 2}
	rows[2].List.Array = []int32{3}
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	i := table.Type{Root: table.Int, NotNull: true}
	s := table.NewSchema([]table.Field{
		{Name: "id", Type: table.Type{Root: table.BigInt}}, {Name: "list", Type: table.Type{Root: table.Array, Element: &i}},
	}, []string{"id"}, nil, nil)
	store := object.NewMem()
	require.NoError(t, store.Put(context.Background(), "d.db/t/bucket-0/x.parquet", b.Bytes()))
	require.Equal(t, []string{`0 +I {"id":0,"list":[]}`, `0 +I {"id":0,"list":[1,2]}`, `0 +I {"id":0,"list":[3]}`},
		readRows(t, store, s, []table.File{{Name: "x.parquet", Bucket: unpartitioned}}, 300))
}

// TestOpenRefuses lists what is no file to read, and what the error says.
func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	store := object.NewMem()
	s := orderSchema(nil)
	files := writeRows(t, newTestFormat(t, s, store, Data), orderRows(orderChanges(100, 50, 1)), 1000)
	open := func(f table.File, fileSchema, want *table.Schema) error {
		r, err := Open(ctx, store, "d.db/t", &f, fileSchema, want, allColumns(want))
		if err == nil {
			require.NoError(t, r.Close())
		}
		return err
	}
	require.NoError(t, open(files[0], s, s))
	for _, c := range []struct {
		change func(f *table.File, fileSchema, want *table.Schema)
		want   string
	}{
		{func(f *table.File, _, _ *table.Schema) { f.Name = "data-1.orc" }, `read data-1.orc: files of format "orc" are not read`},
		{func(f *table.File, _, _ *table.Schema) { f.Name = "x$1-2.cc-parquet" }, `format "cc-parquet"`},
		{func(f *table.File, _, _ *table.Schema) { f.ExternalPath = "s3://other/x.parquet" }, "s3://other/x.parquet"},
		{func(f *table.File, _, _ *table.Schema) { f.Name = "gone.parquet" }, "gone.parquet"},
		{func(_ *table.File, have, _ *table.Schema) { have.Fields[5].Type.Scale = 3 }, "column amount: it has a scale of 2"},
		{func(_ *table.File, have, _ *table.Schema) { have.Fields[6].Type = table.Type{Root: table.Int} }, "column description: it is BYTE_ARRAY"},
		{func(_ *table.File, have, _ *table.Schema) {
			have.Fields[6].Type = table.Type{Root: table.Array, Element: &table.Type{Root: table.Int}}
		}, "column description"},
	} {
		f, have, want := files[0], s.Clone(), s.Clone()
		c.change(&f, have, want)
		require.ErrorContains(t, open(f, have, want), c.want)
	}
	require.NoError(t, store.Put(ctx, "d.db/t/bucket-0/short.parquet", []byte("PAR1")))
	f := files[0]
	f.Name = "short.parquet"
	require.ErrorIs(t, open(f, s, s), errDamaged)
}
