package datafile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// golden is a table whose changelog files Paimon 1.3.1 wrote: testdata/java-1.3.1/<name> has the files flat, files.jsonl
// with what the manifests say of them, the schemas, and the rows as Paimon reads them, with the last schema.
type golden struct {
	store   *object.Mem
	path    table.Path
	files   []table.File
	schemas []*table.Schema
	rows    []string // kind and row, sorted
}

func (g *golden) last() *table.Schema { return g.schemas[len(g.schemas)-1] }

func lines(t testing.TB, name string) [][]byte {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var out [][]byte
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		out = append(out, bytes.Clone(s.Bytes()))
	}
	return out
}

func readGolden(t testing.TB, name string) *golden {
	dir := filepath.Join("testdata", "java-1.3.1", name)
	g := &golden{store: object.NewMem(), path: table.NewPath("g", name)}
	for i := 0; ; i++ {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("schema-", i)))
		if err != nil {
			break
		}
		s, err := table.ParseSchema(b)
		require.NoError(t, err)
		g.schemas = append(g.schemas, s)
	}
	for _, line := range lines(t, filepath.Join(dir, "files.jsonl")) {
		var f struct {
			Name      string
			Bucket    int32
			Partition string
			Schema    int64
			Rows      int64
		}
		require.NoError(t, json.Unmarshal(line, &f))
		partition, err := hex.DecodeString(f.Partition)
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(dir, f.Name))
		require.NoError(t, err)
		file := table.File{
			Name: f.Name, Bucket: table.Bucket{Partition: string(partition), Number: f.Bucket}, SizeBytes: int64(len(b)),
			SchemaID: f.Schema, Rows: f.Rows,
		}
		folder, err := table.PartitionPath(g.last(), file.Bucket.Partition)
		require.NoError(t, err)
		require.NoError(t, g.store.Put(context.Background(), g.path.DataFile(folder, f.Bucket, f.Name), b))
		g.files = append(g.files, file)
	}
	for _, line := range lines(t, filepath.Join(dir, "changelog.jsonl")) {
		var c struct {
			Kind string
			Row  json.RawMessage
		}
		require.NoError(t, json.Unmarshal(line, &c))
		g.rows = append(g.rows, c.Kind+" "+string(c.Row))
	}
	slices.Sort(g.rows)
	return g
}

// TestGolden reads what Paimon's Java writer wrote: all types and codecs, nested columns, older schemas, partition
// columns outside of the key, small row groups and pages.
func TestGolden(t *testing.T) {
	for _, name := range []string{
		"alltypes", "nested", "keytypes", "evolved", "multifile", "nullpartition_fixed",
		"comp_gzip", "comp_lz4", "comp_snappy", "comp_uncompressed", "comp_zstd",
	} {
		t.Run(name, func(t *testing.T) {
			g := readGolden(t, name)
			var got []string
			for i := range g.files {
				got = append(got, g.read(t, &g.files[i])...)
			}
			slices.Sort(got)
			require.Equal(t, g.rows, got)
		})
	}
}

func (g *golden) read(t testing.TB, file *table.File) []string {
	want := g.last()
	r, err := Open(context.Background(), g.store, g.path, file, g.schemas[file.SchemaID], want, allColumns(want))
	require.NoError(t, err)
	require.Equal(t, file.Rows, r.Rows())
	b := table.NewBatch(want.Fields)
	var seqs []int64
	for n, err := r.Next(b, &seqs, 100); n > 0; n, err = r.Next(b, &seqs, 100) {
		require.NoError(t, err)
	}
	require.Len(t, seqs, int(file.Rows))
	var out []string
	for i := range b.Len() {
		out = append(out, fmt.Sprintf("%s %s", b.Kinds[i], table.AppendCanonicalRow(nil, want.Fields, b, i)))
	}
	require.NoError(t, r.Close())
	return out
}

// TestSchemaAsJava compares the schema in our footers with that in Java's: names, types, annotations, field ids.
func TestSchemaAsJava(t *testing.T) {
	for _, name := range []string{"alltypes", "nested", "keytypes", "comp_zstd"} {
		t.Run(name, func(t *testing.T) {
			g := readGolden(t, name)
			theirs, theirIDs := footerOf(t, g.store, g.objectName(t, g.files[0]))
			cfg, err := NewConfig(g.last(), g.store, g.path, Data)
			require.NoError(t, err)
			f, err := NewFormat(cfg)
			require.NoError(t, err)
			w := f.NewWriter(g.files[0].Bucket, 1, 0, table.SourceAppend, newNamer(g.last()))
			b := table.NewBatch(g.last().Fields)
			v := &randomValues{r: newRand(t)}
			for i, field := range g.last().Fields {
				field.Type.NotNull = true
				appendRandom(&b.Columns[i], field.Type, v, 1)
			}
			b.Kinds = append(b.Kinds, table.Insert)
			require.NoError(t, w.Append(context.Background(), table.AllOf(b, []int64{0})))
			files, err := w.Close(context.Background())
			require.NoError(t, err)
			ours, ourIDs := footerOf(t, g.store, g.objectName(t, files[0]))
			require.Equal(t, theirIDs, ourIDs)
			require.Equal(t, len(theirs.Schema), len(ours.Schema))
			for i := range theirs.Schema {
				require.Equal(t, describe(theirs.Schema[i]), describe(ours.Schema[i]))
			}
			require.Len(t, ours.ColumnOrders, len(theirs.ColumnOrders))
		})
	}
}

func (g *golden) objectName(t testing.TB, f table.File) string {
	folder, err := table.PartitionPath(g.last(), f.Bucket.Partition)
	require.NoError(t, err)
	return g.path.DataFile(folder, f.Bucket.Number, f.Name)
}

func describe(e format.SchemaElement) string {
	return fmt.Sprint(e.Name, e.Type, e.TypeLength, e.RepetitionType, e.NumChildren, e.ConvertedType, e.Scale, e.Precision, e.LogicalType.String())
}

// fieldIDs are the ids of a footer's schema, which parquet-go does not tell from 0 when there are none.
type fieldIDs struct {
	Schema thrift.Slice[struct {
		Name string             `thrift:"4,required"`
		ID   thrift.Null[int32] `thrift:"9,optional"`
	}] `thrift:"2,required"`
}

// footerOf reads a footer with parquet-go.
func footerOf(t testing.TB, store object.Store, name string) (*format.FileMetaData, fieldIDs) {
	b, err := store.Get(context.Background(), name)
	require.NoError(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	var ids fieldIDs
	var p thrift.CompactProtocol
	require.NoError(t, thrift.NewDecoder(p.NewReaderFromBytes(b[len(b)-8-n:])).Decode(&ids))
	return f.Metadata(), ids
}
