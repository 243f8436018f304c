package arrowipc

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"sink/table"
)

// cellOf is a cell: nil, an int64 for layout Words, else bytes.
type cellOf any

func batchOf(fields []table.Field, rows ...[]cellOf) *table.Batch {
	b := table.NewBatch(fields)
	for _, row := range rows {
		for c, cell := range row {
			switch v := cell.(type) {
			case nil:
				b.Columns[c].AppendNull()
			case int64:
				b.Columns[c].AppendWord(v)
			case []byte:
				b.Columns[c].AppendBytes(v)
			}
		}
		b.Kinds = append(b.Kinds, table.Insert)
	}
	return b
}

// read reads a whole stream: its schema and each row as JSON of its values.
func read(t *testing.T, stream []byte) (*arrow.Schema, []string) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	require.NoError(t, err)
	defer r.Release()
	var rows []string
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			row := ""
			for c, column := range batch.Columns() {
				if c > 0 {
					row += " "
				}
				row += column.ValueStr(i)
			}
			rows = append(rows, row)
		}
	}
	require.NoError(t, r.Err())
	return r.Schema(), rows
}

func parse(t *testing.T, text string) table.Type {
	var typ table.Type
	require.NoError(t, json.Unmarshal([]byte(text), &typ), text)
	return typ
}

func nanos(millis int64, nanos int32) []byte { return table.AppendNanoTimestamp(nil, millis, nanos) }

// TestTypes: each type of Paimon, with a value and a null, as the Arrow type and value that readers see.
func TestTypes(t *testing.T) {
	list := table.EndNested(table.AppendNestedNull(table.AppendNestedWord(nil, 7)))
	pair := table.EndNested(table.AppendNestedWord(table.AppendNestedBytes(nil, []byte("k")), 3))
	row := append(table.OpenNested(table.AppendNestedBytes(nil, nanos(-1, 5))), list...)
	huge := make([]byte, 16)
	huge[0], huge[15] = 0xff, 0x85
	for i := 1; i < 15; i++ {
		huge[i] = 0xff
	}
	for _, test := range []struct {
		paimon, arrow string
		cell          cellOf
		value         string
	}{
		{`"BOOLEAN"`, "bool", int64(1), "true"},
		{`"TINYINT"`, "int8", int64(-128), "-128"},
		{`"SMALLINT"`, "int16", int64(-32768), "-32768"},
		{`"INT"`, "int32", int64(math.MinInt32), "-2147483648"},
		{`"BIGINT"`, "int64", int64(math.MinInt64), "-9223372036854775808"},
		{`"FLOAT"`, "float32", int64(math.Float32bits(-1.5)), "-1.5"},
		{`"DOUBLE"`, "float64", int64(math.Float64bits(1e-300)), "1e-300"},
		{`"DECIMAL(18, 2)"`, "decimal(18, 2)", int64(-12345), "-123.45"},
		{`"DECIMAL(38, 1)"`, "decimal(38, 1)", huge, "-12.3"},
		{`"CHAR(3)"`, "utf8", []byte("ä"), "ä"},
		{`"STRING"`, "utf8", []byte("a\xff\xfeb"), "a\ufffd\ufffdb"},
		{`"BINARY(3)"`, "binary", []byte{0xff}, "/w=="},
		{`"BYTES"`, "binary", []byte{}, ""},
		{`"DATE"`, "date32", int64(-1), "1969-12-31"},
		{`"TIME(3)"`, "time32[ms]", int64(86_399_999), "23:59:59.999"},
		{`"TIMESTAMP(0)"`, "timestamp[ms]", int64(1001), "1970-01-01T00:00:01.001"},
		{`"TIMESTAMP(3)"`, "timestamp[ms]", int64(-1), "1969-12-31T23:59:59.999"},
		{`"TIMESTAMP(6)"`, "timestamp[us]", int64(-1), "1969-12-31T23:59:59.999999"},
		{`"TIMESTAMP(9)"`, "timestamp[ns]", nanos(math.MaxInt64/1_000_000, 775_807), "2262-04-11T23:47:16.854775807"},
		{`"TIMESTAMP(3) WITH LOCAL TIME ZONE"`, "timestamp[ms, tz=UTC]", int64(1), "1970-01-01T00:00:00.001Z"},
		{`"TIMESTAMP(6) WITH LOCAL TIME ZONE"`, "timestamp[us, tz=UTC]", int64(1), "1970-01-01T00:00:00.000001Z"},
		{`"TIMESTAMP(7) WITH LOCAL TIME ZONE"`, "timestamp[ns, tz=UTC]", nanos(math.MinInt64/1_000_000-1, 224_192), "1677-09-21T00:12:43.145224192Z"},
		{`{"type":"ARRAY","element":"INT"}`, "list<item: int32, nullable>", list, "[7,null]"},
		{`{"type":"MULTISET","element":"STRING NOT NULL"}`, "map<utf8, int32, items_non_nullable>", pair, `[{"key":"k","value":3}]`},
		{`{"type":"MAP","key":"STRING NOT NULL","value":"BIGINT"}`, "map<utf8, int64, items_nullable>", pair, `[{"key":"k","value":3}]`},
		{
			`{"type":"ROW","fields":[{"id":1,"name":"a","type":"TIMESTAMP(9)"},{"id":2,"name":"b","type":{"type":"ARRAY","element":"BIGINT"}}]}`,
			"struct<a: timestamp[ns] nullable, b: list<item: int64, nullable> nullable>", row, `{"a":"1969-12-31T23:59:59.999000005","b":[7,null]}`,
		},
	} {
		t.Run(test.paimon, func(t *testing.T) {
			fields := []table.Field{{Name: "c", Type: parse(t, test.paimon)}}
			var out bytes.Buffer
			s := NewStream(&out, fields)
			require.NoError(t, s.Append(batchOf(fields, []cellOf{test.cell}, []cellOf{nil})))
			require.NoError(t, s.Append(batchOf(fields, []cellOf{nil}, []cellOf{test.cell})))
			require.NoError(t, s.Close())
			schema, rows := read(t, out.Bytes())
			require.Equal(t, test.arrow, schema.Field(0).Type.String())
			require.True(t, schema.Field(0).Nullable)
			require.Equal(t, []string{test.value, array.NullValueStr, array.NullValueStr, test.value}, rows)
		})
	}
}

// TestNoRows: a stream without rows has its columns.
func TestNoRows(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out, []table.Field{{Name: "id", Type: table.Type{Root: table.Int, NotNull: true}}, {Name: "id", Type: table.Type{Root: table.Date}}})
	require.NoError(t, s.Close())
	schema, rows := read(t, out.Bytes())
	require.Empty(t, rows)
	require.Equal(t, 2, schema.NumFields())
}

// TestNanosOutOfRange: a time that Arrow cannot count in nanoseconds is told, wherever it is.
func TestNanosOutOfRange(t *testing.T) {
	for _, cell := range [][]byte{
		nanos(math.MaxInt64/1_000_000, 775_808), nanos(math.MaxInt64/1_000_000+1, 0), nanos(math.MinInt64/1_000_000-1, 224_191),
		nanos(math.MinInt64/1_000_000-2, 999_999), nanos(253_402_300_799_999, 999_999), nanos(math.MaxInt64, 0), nanos(math.MinInt64, 999_999),
	} {
		fields := []table.Field{{Name: "when", Type: parse(t, `"TIMESTAMP(9)"`)}}
		err := NewStream(&bytes.Buffer{}, fields).Append(batchOf(fields, []cellOf{cell}))
		require.ErrorContains(t, err, "column when: ")
		require.ErrorContains(t, err, "leave the column out")
		fields = []table.Field{{Name: "list", Type: parse(t, `{"type":"ARRAY","element":"TIMESTAMP(9)"}`)}}
		err = NewStream(&bytes.Buffer{}, fields).Append(batchOf(fields, []cellOf{table.EndNested(table.AppendNestedBytes(nil, cell))}))
		require.ErrorContains(t, err, "column list: ")
	}
}

type brokenPipe struct{ error }

func (w brokenPipe) Write([]byte) (int, error) { return 0, w.error }

// TestWriteFails: a pipe that nobody reads any more is an error.
func TestWriteFails(t *testing.T) {
	broken := errors.New("broken pipe")
	fields := []table.Field{{Name: "id", Type: table.Type{Root: table.Int}}}
	s := NewStream(brokenPipe{broken}, fields)
	require.ErrorIs(t, s.Append(batchOf(fields, []cellOf{int64(1)})), broken)
	require.Error(t, s.Close())
}
