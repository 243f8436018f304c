package manifest

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"
	"github.com/stretchr/testify/require"

	"sink/table"
)

// entriesByGoavro reads a manifest with goavro, a decoder that has nothing in common with ours but the framing.
func entriesByGoavro(t testing.TB, b []byte) []Entry {
	var entries []Entry
	eachByGoavro(t, b, func(m map[string]any) {
		require.EqualValues(t, entryVersion, m["_VERSION"])
		f := m["_FILE"].(map[string]any)
		e := Entry{Kind: Kind(m["_KIND"].(int32)), File: table.File{
			Bucket:       table.Bucket{Partition: string(m["_PARTITION"].([]byte)), Number: m["_BUCKET"].(int32)},
			TotalBuckets: m["_TOTAL_BUCKETS"].(int32),
			Name:         f["_FILE_NAME"].(string), SizeBytes: f["_FILE_SIZE"].(int64), Rows: f["_ROW_COUNT"].(int64),
			MinKey: f["_MIN_KEY"].([]byte), MaxKey: f["_MAX_KEY"].([]byte),
			KeyStats: statsByGoavro(f["_KEY_STATS"]), ValueStats: statsByGoavro(f["_VALUE_STATS"]),
			MinSeq: f["_MIN_SEQUENCE_NUMBER"].(int64), MaxSeq: f["_MAX_SEQUENCE_NUMBER"].(int64),
			SchemaID: f["_SCHEMA_ID"].(int64), Level: f["_LEVEL"].(int32),
			ExtraFiles: stringsByGoavro(f["_EXTRA_FILES"]), DeleteRows: -1, Source: table.SourceUnknown,
			ValueStatCols: stringsByGoavro(branch(f["_VALUE_STATS_COLS"])), WriteCols: stringsByGoavro(branch(f["_WRITE_COLS"])),
		}}
		if at, ok := branch(f["_CREATION_TIME"]).(time.Time); ok {
			e.File.CreatedMillis = at.UnixMilli()
		}
		if n, ok := branch(f["_DELETE_ROW_COUNT"]).(int64); ok {
			e.File.DeleteRows = n
		}
		if s, ok := branch(f["_FILE_SOURCE"]).(int32); ok {
			e.File.Source = table.FileSource(s)
		}
		if s, ok := branch(f["_EXTERNAL_PATH"]).(string); ok {
			e.File.ExternalPath = s
		}
		if id, ok := branch(f["_FIRST_ROW_ID"]).(int64); ok {
			e.File.FirstRowID = &id
		}
		if index, ok := branch(f["_EMBEDDED_FILE_INDEX"]).([]byte); ok {
			e.File.EmbeddedIndex = index
		}
		entries = append(entries, e)
	})
	return entries
}

// goavroCodecs are compiled once: there are few schemas and many files.
var goavroCodecs = map[string]*goavro.Codec{}

func eachByGoavro(t testing.TB, b []byte, each func(map[string]any)) {
	c := cursor{b: b[len(magic):]}
	var schema map[string]any
	c.items(func(int64) {
		key, value := c.bytes(), c.bytes()
		if string(key) == "avro.schema" {
			require.NoError(t, json.Unmarshal(value, &schema))
		}
	})
	require.NoError(t, c.err)
	schema["name"] = "entry" // goavro takes the name record for the keyword
	text, err := json.Marshal(schema)
	require.NoError(t, err)
	codec := goavroCodecs[string(text)]
	if codec == nil {
		codec, err = goavro.NewCodec(string(text))
		require.NoError(t, err)
		goavroCodecs[string(text)] = codec
	}
	r, err := openContainer(b)
	require.NoError(t, err)
	for {
		count, block, err := r.next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		for ; count > 0; count-- {
			var v any
			v, block, err = codec.NativeFromBinary(block)
			require.NoError(t, err)
			each(v.(map[string]any))
		}
		require.Empty(t, block)
	}
}

// branch unwraps a union.
func branch(v any) any {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return v
	}
	for _, inner := range m {
		return inner
	}
	return nil
}

func statsByGoavro(v any) table.Stats {
	m := v.(map[string]any)
	s := table.Stats{Min: m["_MIN_VALUES"].([]byte), Max: m["_MAX_VALUES"].([]byte)}
	if list, ok := branch(m["_NULL_COUNTS"]).([]any); ok {
		s.Nulls = []int64{}
		for _, item := range list {
			n, ok := branch(item).(int64)
			if !ok {
				n = -1
			}
			s.Nulls = append(s.Nulls, n)
		}
	}
	return s
}

func stringsByGoavro(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out := []string{}
	for _, item := range list {
		out = append(out, item.(string))
	}
	return out
}
