package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestParquet: rows and changes of a table as a file that another reader of Parquet takes.
func TestParquet(t *testing.T) {
	warehouse := "file://" + goldenWarehouse(t)
	open := func(args ...string) *parquet.File {
		code, out, errs := runSink(t, "", args...)
		require.Zero(t, code, errs)
		f, err := parquet.OpenFile(strings.NewReader(out), int64(len(out)))
		require.NoError(t, err)
		return f
	}
	names := func(f *parquet.File) (names []string) {
		for _, c := range f.Schema().Fields() {
			names = append(names, c.Name())
		}
		return names
	}
	f := open("read", "g.alltypes", "--warehouse", warehouse, "-o", "parquet", "--columns", "id,c_string", "--where", "id < 5")
	require.Equal(t, []string{"id", "c_string"}, names(f))
	rows := parquet.NewGenericReader[struct {
		ID   int32   `parquet:"id,optional"`
		Text *string `parquet:"c_string,optional"`
	}](f)
	require.EqualValues(t, 3, rows.NumRows())
	require.NoError(t, rows.Close())
	require.EqualValues(t, 7, open("read", "g.alltypes", "--warehouse", warehouse, "-o", "parquet").NumRows(), "every type")

	f = open("changelog", "g.partitioned", "--warehouse", warehouse, "-o", "parquet", "--limit", "5")
	require.Equal(t, []string{"snapshot", "partition", "bucket", "kind", "region", "id", "v"}, names(f))
	require.EqualValues(t, 5, f.NumRows())
	changes := parquet.NewGenericReader[struct {
		Snapshot  *int64  `parquet:"snapshot,optional"`
		Partition *string `parquet:"partition,optional"`
		Bucket    *int32  `parquet:"bucket,optional"`
		Kind      *string `parquet:"kind,optional"`
	}](f)
	first := make([]struct {
		Snapshot  *int64  `parquet:"snapshot,optional"`
		Partition *string `parquet:"partition,optional"`
		Bucket    *int32  `parquet:"bucket,optional"`
		Kind      *string `parquet:"kind,optional"`
	}, 1)
	_, err := changes.Read(first)
	require.NoError(t, err)
	require.EqualValues(t, 1, *first[0].Snapshot)
	require.Equal(t, "+I", *first[0].Kind)
	require.Contains(t, *first[0].Partition, "region")

	code, _, errs := runSink(t, "", "inspect", "g.alltypes", "--warehouse", warehouse, "-o", "parquet")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "none of table, json, csv")
}

// TestArrow: rows and changes as a stream that a reader of Arrow takes, in batches that stay small. The integration tests compare
// every value with what pyarrow reads.
func TestArrow(t *testing.T) {
	warehouse := "file://" + goldenWarehouse(t)
	open := func(args ...string) (*arrow.Schema, []arrow.RecordBatch) {
		code, out, errs := runSink(t, "", append(args, "--warehouse", warehouse, "-o", "arrow")...)
		require.Zero(t, code, errs)
		r, err := ipc.NewReader(strings.NewReader(out))
		require.NoError(t, err)
		var batches []arrow.RecordBatch
		for r.Next() {
			r.RecordBatch().Retain()
			batches = append(batches, r.RecordBatch())
		}
		require.NoError(t, r.Err())
		return r.Schema(), batches
	}
	_, batches := open("read", "g.alltypes", "--columns", "c_string,id", "--where", "id < 5")
	require.Len(t, batches, 1)
	require.EqualValues(t, 3, batches[0].NumRows())
	require.Equal(t, "c_string", batches[0].ColumnName(0))

	schema, batches := open("changelog", "g.partitioned", "--limit", "5")
	var names []string
	for _, f := range schema.Fields() {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"snapshot", "partition", "bucket", "kind", "region", "id", "v"}, names)
	require.EqualValues(t, 5, batches[0].NumRows())
	require.Equal(t, "1", batches[0].Column(0).ValueStr(0))
	require.Equal(t, "+I", batches[0].Column(3).ValueStr(0))

	schema, batches = open("read", "g.alltypes", "--where", "id > 1000")
	require.Empty(t, batches)
	require.Greater(t, schema.NumFields(), 20)
}

// TestRowFileBatches: many rows, and few that are large, go out in batches of bounded size.
func TestRowFileBatches(t *testing.T) {
	fields := []table.Field{{ID: 0, Name: "v", Type: table.Type{Root: table.VarBinary, Length: table.MaxLength}}}
	for name, test := range map[string]struct{ rows, size, most int }{
		"many":  {3*fileRows + 1, 1, fileRows},
		"large": {40, 1 << 20, fileBytes >> 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := table.NewBatch(fields)
			b.Columns[0].AppendBytes(make([]byte, test.size))
			b.Kinds = append(b.Kinds, table.Insert)
			var out bytes.Buffer
			f, err := newRowFile(&out, formatArrow, fields, nil)
			require.NoError(t, err)
			for range test.rows {
				require.NoError(t, f.row(b, 0))
			}
			require.NoError(t, f.close())
			r, err := ipc.NewReader(&out)
			require.NoError(t, err)
			rows := 0
			for r.Next() {
				require.LessOrEqual(t, r.RecordBatch().NumRows(), int64(test.most))
				rows += int(r.RecordBatch().NumRows())
			}
			require.NoError(t, r.Err())
			require.Equal(t, test.rows, rows)
		})
	}
}

// TestRowFileFlushes: what is flushed of an Arrow stream that goes on can be read.
func TestRowFileFlushes(t *testing.T) {
	fields := []table.Field{{ID: 0, Name: "v", Type: table.Type{Root: table.Int}}}
	b := table.NewBatch(fields)
	b.Columns[0].AppendWord(7)
	b.Kinds = append(b.Kinds, table.Insert)
	var out bytes.Buffer
	f, err := newRowFile(&out, formatArrow, fields, nil)
	require.NoError(t, err)
	require.NoError(t, f.row(b, 0))
	require.Zero(t, out.Len())
	require.NoError(t, f.flush())
	r, err := ipc.NewReader(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	require.True(t, r.Next())
	require.Equal(t, "7", r.RecordBatch().Column(0).ValueStr(0))
}
