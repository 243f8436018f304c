package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
	"github.com/stretchr/testify/require"

	"sink/table"
)

// foreignEntrySchema is a manifest as another writer may lay it out: other names, order and unions, a type by reference,
// fields that we do not know, and none of the fields that are optional.
const foreignEntrySchema = `{"type":"record","name":"entry","namespace":"x.y","doc":"other","fields":[
 {"name":"_NEW","type":{"type":"map","values":["null","double",{"type":"fixed","name":"sum","size":3}]}},
 {"name":"_FILE","type":["null",{"type":"record","name":"file","fields":[
  {"name":"_LEVEL","type":"long"},
  {"name":"_KIND_OF","type":{"type":"enum","name":"color","symbols":["RED","BLUE"]}},
  {"name":"_VALUE_STATS","type":{"type":"record","name":"stats","fields":[
   {"name":"_NULL_COUNTS","type":{"type":"array","items":"long"}},
   {"name":"_MAX_VALUES","type":"bytes"},{"name":"_MIN_VALUES","type":["bytes","null"]}]}},
  {"name":"_KEY_STATS","type":"stats"},
  {"name":"_FLAG","type":"boolean"},{"name":"_SHARE","type":"float"},
  {"name":"_MAX_KEY","type":"bytes"},{"name":"_MIN_KEY","type":"bytes"},
  {"name":"_ROW_COUNT","type":"int"},{"name":"_FILE_SIZE","type":"long"},{"name":"_FILE_NAME","type":["string","null"]},
  {"name":"_DELETE_ROW_COUNT","type":["long","null"]},
  {"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},
  {"name":"_WRITE_COLS_SEQUENCES","type":["null",{"type":"array","items":"long"}],"default":null}]}]},
 {"name":"_TOTAL_BUCKETS","type":"int"},{"name":"_BUCKET","type":"int"},{"name":"_PARTITION","type":"bytes"},
 {"name":"_KIND","type":"int"},{"name":"_VERSION","type":"int"}]}`

func foreignRecord() map[string]any {
	stats := map[string]any{"_NULL_COUNTS": []any{int64(3)}, "_MAX_VALUES": []byte("max"), "_MIN_VALUES": map[string]any{"bytes": []byte("min")}}
	return map[string]any{
		"_NEW": map[string]any{"a": map[string]any{"double": 1.5}, "b": nil, "c": map[string]any{"x.y.sum": []byte{1, 2, 3}}},
		"_FILE": map[string]any{"x.y.file": map[string]any{
			"_LEVEL": int64(4), "_KIND_OF": "BLUE", "_VALUE_STATS": stats, "_KEY_STATS": stats, "_FLAG": true, "_SHARE": float32(2),
			"_MAX_KEY": []byte("mx"), "_MIN_KEY": []byte("mn"), "_ROW_COUNT": int32(9), "_FILE_SIZE": int64(99),
			"_FILE_NAME": map[string]any{"string": "data-0.parquet"}, "_DELETE_ROW_COUNT": map[string]any{"long": int64(5)}, "_SCHEMA_ID": int64(1),
			"_MIN_SEQUENCE_NUMBER": int64(10), "_MAX_SEQUENCE_NUMBER": int64(20),
			"_WRITE_COLS_SEQUENCES": map[string]any{"array": []any{int64(1), int64(2)}},
		}},
		"_TOTAL_BUCKETS": int32(2), "_BUCKET": int32(1), "_PARTITION": []byte("p"), "_KIND": int32(1), "_VERSION": int32(2),
	}
}

// foreign makes a container of one record by goavro.
func foreign(t *testing.T, schema string, record map[string]any) []byte {
	codec, err := goavro.NewCodec(schema)
	require.NoError(t, err)
	w := newContainerWriter(schema, zstdCodec(1))
	w.block, err = codec.BinaryFromNative(nil, record)
	require.NoError(t, err)
	w.record()
	return w.bytes()
}

func TestForeignManifest(t *testing.T) {
	stats := table.Stats{Min: []byte("min"), Max: []byte("max"), Nulls: []int64{3}}
	got, err := decodeEntries(foreign(t, foreignEntrySchema, foreignRecord()))
	require.NoError(t, err)
	require.Equal(t, []Entry{{Kind: Delete, File: table.File{
		Bucket: table.Bucket{Partition: "p", Number: 1}, TotalBuckets: 2, Name: "data-0.parquet", SizeBytes: 99, Rows: 9,
		DeleteRows: 5, MinKey: []byte("mn"), MaxKey: []byte("mx"), KeyStats: stats, ValueStats: stats, MinSeq: 10, MaxSeq: 20,
		SchemaID: 1, Level: 4, Source: table.SourceUnknown,
	}}}, got)
}

func TestForeignManifestRefused(t *testing.T) {
	set := func(key string, v any) map[string]any {
		r := foreignRecord()
		r[key] = v
		return r
	}
	_, err := decodeEntries(foreign(t, foreignEntrySchema, set("_FILE", nil)))
	require.ErrorContains(t, err, "record 0: _FILE: null, want a record")

	_, err = decodeEntries(foreign(t, foreignEntrySchema, set("_KIND", int32(2))))
	require.ErrorContains(t, err, "kind 2, want 0 (ADD) or 1 (DELETE)")

	text := strings.Replace(foreignEntrySchema, `{"name":"_BUCKET","type":"int"}`, `{"name":"_BUCKET","type":"string"}`, 1)
	_, err = decodeEntries(foreign(t, text, set("_BUCKET", "x")))
	require.ErrorContains(t, err, "avro schema: field _BUCKET: string, want int")

	text = strings.Replace(foreignEntrySchema, `{"name":"_BUCKET","type":"int"}`, `{"name":"_BUCKET","type":"long"}`, 1)
	_, err = decodeEntries(foreign(t, text, set("_BUCKET", int64(1)<<40)))
	require.ErrorContains(t, err, "record 0: _BUCKET: 1099511627776 does not fit an int")
}

func TestForeignList(t *testing.T) {
	schema := `{"type":"record","name":"entry","fields":[
	 {"name":"_MAX_BUCKET","type":["int","null"]},
	 {"name":"_PARTITION_STATS","type":{"type":"record","name":"s","fields":[
	  {"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"}]}},
	 {"name":"_MIN_ROW_ID","type":["null","long"]},{"name":"_MAX_ROW_ID","type":["null","long"]},
	 {"name":"_SCHEMA_ID","type":"long"},{"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},
	 {"name":"_FILE_SIZE","type":"long"},{"name":"_FILE_NAME","type":"string"},{"name":"_VERSION","type":"int"}]}`
	got, err := decodeList(foreign(t, schema, map[string]any{
		"_MAX_BUCKET": map[string]any{"int": int32(3)}, "_PARTITION_STATS": map[string]any{"_MIN_VALUES": []byte("a"), "_MAX_VALUES": []byte("b")},
		"_MIN_ROW_ID": map[string]any{"long": int64(1)}, "_MAX_ROW_ID": nil, "_SCHEMA_ID": int64(2), "_NUM_ADDED_FILES": int64(3),
		"_NUM_DELETED_FILES": int64(4), "_FILE_SIZE": int64(5), "_FILE_NAME": "manifest-0", "_VERSION": int32(2),
	}))
	require.NoError(t, err)
	one := int64(1)
	want := []ListEntry{{
		Name: "manifest-0", SizeBytes: 5, Added: 3, Deleted: 4, SchemaID: 2, MinRowID: &one,
		Partitions: table.Stats{Min: []byte("a"), Max: []byte("b")},
	}}
	require.Equal(t, want, got, "a bound without its other half is not known")

	// A list with row ids keeps them.
	again, err := decodeList(encodeList(got, zstdCodec(1)))
	require.NoError(t, err)
	want[0].Partitions.Nulls = []int64{}
	require.Equal(t, want, again)
}

func TestSchemaParser(t *testing.T) {
	for schema, want := range map[string]string{
		`"nothing"`: `unknown type "nothing"`,
		`{"type":"record","name":"r","fields":[{"name":"self","type":["null","r"]}]}`: `field "self": type "r" contains itself`,
		`{"type":"fixed","name":"f"}`: `fixed "f" has size <nil>`,
		`{"type":"array"}`:            `a type is <nil>, want a name, an object or a list`,
		`7`:                           `a type is float64`,
		`{`:                           `unexpected end of JSON input`,
		strings.Repeat(`{"type":"array","items":`, 40) + `"int"` + strings.Repeat(`}`, 40): `types nest deeper than 32`,
	} {
		_, err := parseSchema([]byte(schema))
		require.ErrorContains(t, err, want, schema)
	}
}

// TestWriterSchemas checks that goavro, too, takes what we write for what we mean.
func TestWriterSchemas(t *testing.T) {
	for _, schema := range []string{entrySchema, listSchema, listSchema[:len(listSchema)-len(listSchemaEnd)] + listSchemaRowIDs} {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(schema), &m))
		m["name"] = "entry"
		b, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = goavro.NewCodec(string(b))
		require.NoError(t, err)
	}
}
