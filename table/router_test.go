package table

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRouter(t *testing.T) {
	s := NewSchema(fieldsOf(t, "v", "INT", "dt", "STRING", "id", "BIGINT"), []string{"dt", "id"}, []string{"dt"}, map[string]string{"bucket": "16"})
	r, err := NewRouter(s)
	require.NoError(t, err)
	require.EqualValues(t, 16, r.Buckets())
	b := NewBatch(s.Fields)
	add := func(dt string, id int64) {
		b.Columns[0].AppendNull()
		b.Columns[1].AppendBytes([]byte(dt))
		b.Columns[2].AppendWord(id)
		b.Kinds = append(b.Kinds, Insert)
	}
	add("2024-01-01", 1)
	add("2024-01-02", 1)
	add("2024-01-01", 1234567890123)
	text := mustType(t, "STRING")
	first := string(EncodeRow(nil, []Type{text}, []*Vector{cells(t, text, `"2024-01-01"`)}, 0))
	for i, want := range []Bucket{{first, 14}, {"", 14}, {first, 12}} {
		got, err := r.Route(b, i)
		require.NoError(t, err)
		require.Equal(t, want.Number, got.Number)
		if want.Partition != "" {
			require.Equal(t, want.Partition, got.Partition)
		}
	}
	path, err := PartitionPath(s, first)
	require.NoError(t, err)
	require.Equal(t, "dt=2024-01-01/", path)

	b.Columns[1].AppendNull()
	b.Columns[0].AppendNull()
	b.Columns[2].AppendWord(1)
	b.Kinds = append(b.Kinds, Insert)
	_, err = r.Route(b, 3)
	require.ErrorContains(t, err, "column dt of the primary key is null")

	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range 3 {
			if _, err := r.Route(b, i); err != nil {
				panic(err)
			}
		}
	}), "no allocation once the partitions are known")
}

func TestRouterOptions(t *testing.T) {
	fields := fieldsOf(t, "id", "INT", "v", "INT")
	route := func(options map[string]string) int32 {
		r, err := NewRouter(NewSchema(fields, []string{"id"}, nil, options))
		require.NoError(t, err)
		got, err := r.Route(oneRow(t, []Type{fields[0].Type, fields[1].Type}, []json.RawMessage{[]byte("-7"), []byte("null")}), 0)
		require.NoError(t, err)
		require.Equal(t, EmptyRow, got.Partition)
		return got.Number
	}
	require.EqualValues(t, 0, route(map[string]string{"bucket": "1"}))
	require.EqualValues(t, 1, route(map[string]string{"bucket": "4", "bucket-function.type": "mod"}))
	require.EqualValues(t, 1, route(map[string]string{"bucket": "4", "bucket-function.type": "hive"}))

	for text, options := range map[string]map[string]string{
		"dynamic buckets": nil,
		"bucket key names a column x that is not there": {"bucket": "1", "bucket-key": "x"},
		"default, mod or hive":                          {"bucket": "1", "bucket-function.type": "x"},
	} {
		_, err := NewRouter(NewSchema(fields, []string{"id"}, nil, options))
		require.ErrorContains(t, err, text)
	}
}

func TestRouterForgets(t *testing.T) {
	s := NewSchema(fieldsOf(t, "p", "INT", "id", "INT"), []string{"p", "id"}, []string{"p"}, map[string]string{"bucket": "1"})
	r, err := NewRouter(s)
	require.NoError(t, err)
	b := NewBatch(s.Fields)
	b.Columns[0].AppendWord(0)
	b.Columns[1].AppendWord(0)
	b.Kinds = append(b.Kinds, Insert)
	for p := range int64(maxInterned + 2) {
		b.Columns[0].Words[0] = p
		got, err := r.Route(b, 0)
		require.NoError(t, err)
		if p%1000 == 0 || p > maxInterned {
			path, err := PartitionPath(s, got.Partition)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("p=%d/", p), path)
		}
	}
	require.LessOrEqual(t, len(r.interned), maxInterned)
}

// TestRouterAppend: an append table has no buckets to tell apart, or those of its bucket key, in which nulls may be.
func TestRouterAppend(t *testing.T) {
	fields := fieldsOf(t, "dt", "STRING", "id", "INT")
	b := NewBatch(fields)
	b.Columns[0].AppendBytes([]byte("x"))
	b.Columns[1].AppendNull()
	b.Kinds = append(b.Kinds, Insert)

	r, err := NewRouter(NewSchema(fields, nil, []string{"dt"}, nil))
	require.NoError(t, err)
	require.EqualValues(t, Unaware, r.Buckets())
	at, err := r.Route(b, 0)
	require.NoError(t, err)
	require.Zero(t, at.Number)
	require.Equal(t, string(EncodeRow(nil, []Type{fields[0].Type}, []*Vector{&b.Columns[0]}, 0)), at.Partition)

	r, err = NewRouter(NewSchema(fields, nil, []string{"dt"}, map[string]string{"bucket": "127", "bucket-key": "id"}))
	require.NoError(t, err)
	at, err = r.Route(b, 0)
	require.NoError(t, err)
	require.EqualValues(t, 37, at.Number, "the bucket that Paimon gives a null INT")
}
