package main

import (
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
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
