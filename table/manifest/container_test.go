package manifest

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

func sampleEntries() []Entry {
	id := int64(7)
	part := "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x2a\x00\x00\x00\x00\x00\x00\x00"
	return []Entry{
		{Kind: Add, File: table.File{
			Bucket: table.Bucket{Partition: part, Number: 3}, TotalBuckets: 4, Name: "data-a-0.parquet", SizeBytes: 1 << 40,
			Rows: 12, DeleteRows: 0, MinKey: []byte(part), MaxKey: []byte(part),
			KeyStats:   table.Stats{Min: []byte(part), Max: []byte(part), Nulls: []int64{0}},
			ValueStats: table.Stats{Min: []byte(part), Max: []byte(part), Nulls: []int64{-1}}, ValueStatCols: []string{"v"},
			MinSeq: -1, MaxSeq: 1<<62 - 1, SchemaID: 2, Level: 5, ExtraFiles: []string{"x", "y"}, CreatedMillis: 1700000000123,
			EmbeddedIndex: []byte{1, 2}, Source: table.SourceCompact, ExternalPath: "s3://b/x", FirstRowID: &id,
			WriteCols: []string{"v", "w"},
		}},
		{Kind: Delete, File: table.File{
			Bucket: table.Bucket{Partition: part, Number: 0}, TotalBuckets: -1, Name: "data-b-0.parquet", DeleteRows: -1,
			MinKey: []byte(part), MaxKey: []byte(part),
			KeyStats:   table.Stats{Min: []byte(table.EmptyRow), Max: []byte(table.EmptyRow), Nulls: []int64{}},
			ValueStats: table.Stats{Min: []byte(table.EmptyRow), Max: []byte(table.EmptyRow), Nulls: []int64{}},
			ExtraFiles: []string{}, ValueStatCols: []string{}, Source: table.SourceUnknown,
		}},
	}
}

func TestCodecs(t *testing.T) {
	var many []Entry
	for range 500 { // several blocks
		many = append(many, sampleEntries()...)
	}
	for _, name := range []string{"", "zstd", "ZSTD", "zstandard", "snappy", "deflate", "null", "none", "uncompressed"} {
		c, err := writeCodec(name, 3)
		require.NoError(t, err)
		for _, entries := range [][]Entry{nil, sampleEntries(), many} {
			b := encodeEntries(entries, c)
			got, err := decodeEntries(b)
			require.NoError(t, err, name)
			require.Equal(t, entries, got)
			if len(entries) < 10 {
				require.Len(t, entriesByGoavro(t, b), len(entries))
			}
		}
	}
	_, err := writeCodec("brotli", 1)
	require.EqualError(t, err, `manifest.compression "brotli" is not supported: use zstd, snappy, deflate or null`)
	_, err = codecByName("xz")
	require.EqualError(t, err, `codec "xz" is not supported`)
}

func TestBzip2(t *testing.T) {
	packed, err := hex.DecodeString("425a68393141592653591931653d00000081000244a000219a68334d07338bb9229c28480c98b29e80")
	require.NoError(t, err)
	c, err := codecByName("bzip2")
	require.NoError(t, err)
	b, err := c.decompress(packed)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
}

func TestDamagedContainer(t *testing.T) {
	good := encodeEntries(sampleEntries(), zstdCodec(1))
	for _, c := range []struct {
		name, want string
		damage     func(b []byte) []byte
	}{
		{"empty", "not an Avro object container file", func([]byte) []byte { return nil }},
		{"magic", "not an Avro object container file", func(b []byte) []byte { b[3] = 2; return b }},
		{"header", "header: block ends inside a value", func(b []byte) []byte { return b[:100] }},
		{"sync", "sync marker does not match", func(b []byte) []byte { b[len(b)-1]++; return b }},
		{"cut", "block after record 0: block ends inside a value", func(b []byte) []byte { return b[:len(b)-20] }},
		{"codec", `codec "zstandarx" is not supported`, func(b []byte) []byte {
			return bytes.Replace(b, []byte("zstandard"), []byte("zstandarx"), 1)
		}},
		{"field", "avro schema: no field _KIND", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"_KIND"`), []byte(`"_KINX"`), 1)
		}},
		{"schema", "avro schema: ", func(b []byte) []byte { return bytes.Replace(b, []byte(`{"type"`), []byte(`["type"`), 1) }},
	} {
		_, err := decodeEntries(c.damage(bytes.Clone(good)))
		require.ErrorContains(t, err, c.want, c.name)
	}
}

func TestVersions(t *testing.T) {
	w := newContainerWriter(entrySchema, zstdCodec(1))
	e := sampleEntries()[0]
	w.block = appendEntry(w.block, &e)
	w.block[0] = 6 // version 3
	w.record()
	_, err := decodeEntries(w.bytes())
	var v *table.VersionError
	require.ErrorAs(t, err, &v)
	require.Equal(t, table.VersionError{What: "manifest entry", Version: 3, Max: 2}, *v)

	w = newContainerWriter(listSchema, zstdCodec(1))
	w.block = appendListEntry(w.block, &ListEntry{Name: "m"})
	w.block[0] = 2 // version 1
	w.record()
	_, err = decodeList(w.bytes())
	require.ErrorContains(t, err, "record 0: _VERSION: manifest list version 1 is too old to read")
}
