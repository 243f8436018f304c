package manifest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"sink/table"
)

// entryVersion is the _VERSION of manifests and of manifest lists, the only one read and written
// (org.apache.paimon.manifest.ManifestEntrySerializer); 1 is a layout that no released Paimon reads any more.
const entryVersion = 2

// checkVersion reads a _VERSION.
func checkVersion(c *cursor, what string) {
	switch v := c.int(); {
	case c.err != nil || v == entryVersion:
	case v > entryVersion:
		c.fail(&table.VersionError{What: what, Version: int(v), Max: entryVersion})
	default:
		c.fail(fmt.Errorf("%s version %d is too old to read", what, v))
	}
}

// Kind tells what an entry does with its file (org.apache.paimon.manifest.FileKind).
type Kind int8

// The kinds, in Paimon's numbering.
const (
	Add Kind = iota
	Delete
)

// String returns "ADD" or "DELETE".
func (k Kind) String() string {
	switch k {
	case Add:
		return "ADD"
	case Delete:
		return "DELETE"
	}
	return fmt.Sprintf("Kind(%d)", int8(k))
}

// Entry is a record of a manifest: a file comes or goes (org.apache.paimon.manifest.ManifestEntry). A Delete repeats
// the whole File of the Add that it undoes.
type Entry struct {
	Kind Kind
	File table.File
}

// Identity tells files of a table apart: it may be added once and deleted once in the table's life (format 4.3). A
// file that moves to another level without being rewritten gets another identity.
type Identity struct {
	Bucket table.Bucket
	Level  int32
	Name   string
	extra  string // extra files, embedded index and external path; empty when there are none
}

// IdentityOf returns the identity of a file.
func IdentityOf(f *table.File) Identity {
	id := Identity{Bucket: f.Bucket, Level: f.Level, Name: f.Name}
	if len(f.ExtraFiles) > 0 || f.EmbeddedIndex != nil || f.ExternalPath != "" {
		var b strings.Builder
		b.Write(appendStrings(nil, f.ExtraFiles))
		b.Write(appendPresent(nil, f.EmbeddedIndex != nil))
		b.Write(appendBytes(nil, f.EmbeddedIndex))
		b.WriteString(f.ExternalPath)
		id.extra = b.String()
	}
	return id
}

// entrySchema is the writer schema of manifests, as Paimon 1.3 writes it. Paimon 2.1 insists on the six fields of the
// outer record, their order and their types.
const entrySchema = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` +
	`{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},` +
	`{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},` +
	`{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[` +
	`{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
	`{"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},` +
	`{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS","fields":[` + statsFields + `]}},` +
	`{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS","fields":[` + statsFields + `]}},` +
	`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},` +
	`{"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},` +
	`{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},` +
	`{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},` +
	`{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},` +
	`{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},` +
	`{"name":"_FILE_SOURCE","type":["null","int"],"default":null},` +
	`{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},` +
	`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
	`{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},` +
	`{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}`

// statsFields are the fields of a statistics record (org.apache.paimon.stats.SimpleStats).
const statsFields = `{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},` +
	`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}`

// entryPreset is an entry of which nothing optional was read.
var entryPreset = Entry{File: table.File{DeleteRows: -1, Source: table.SourceUnknown}}

var entryMembers = []member[Entry]{
	value("_VERSION", func(c *cursor, _ *Entry) { checkVersion(c, "manifest entry") }, avroInt, avroLong),
	value("_KIND", func(c *cursor, e *Entry) {
		k := c.int()
		if e.Kind = Kind(k); k != int32(Add) && k != int32(Delete) {
			c.fail(fmt.Errorf("kind %d, want 0 (ADD) or 1 (DELETE)", k))
		}
	}, avroInt, avroLong),
	value("_PARTITION", func(c *cursor, e *Entry) { e.File.Bucket.Partition = c.text() }, avroBytes),
	value("_BUCKET", intAt(func(e *Entry) *int32 { return &e.File.Bucket.Number }), avroInt, avroLong),
	value("_TOTAL_BUCKETS", intAt(func(e *Entry) *int32 { return &e.File.TotalBuckets }), avroInt, avroLong),
	nested("_FILE", fileMembers, func(e *Entry) *table.File { return &e.File }),
}

var fileMembers = []member[table.File]{
	value("_FILE_NAME", stringAt(func(f *table.File) *string { return &f.Name }), avroString),
	value("_FILE_SIZE", longAt(func(f *table.File) *int64 { return &f.SizeBytes }), avroLong, avroInt),
	value("_ROW_COUNT", longAt(func(f *table.File) *int64 { return &f.Rows }), avroLong, avroInt),
	value("_MIN_KEY", bytesAt(func(f *table.File) *[]byte { return &f.MinKey }), avroBytes),
	value("_MAX_KEY", bytesAt(func(f *table.File) *[]byte { return &f.MaxKey }), avroBytes),
	nested("_KEY_STATS", statsMembers, func(f *table.File) *table.Stats { return &f.KeyStats }),
	nested("_VALUE_STATS", statsMembers, func(f *table.File) *table.Stats { return &f.ValueStats }),
	value("_MIN_SEQUENCE_NUMBER", longAt(func(f *table.File) *int64 { return &f.MinSeq }), avroLong, avroInt),
	value("_MAX_SEQUENCE_NUMBER", longAt(func(f *table.File) *int64 { return &f.MaxSeq }), avroLong, avroInt),
	value("_SCHEMA_ID", longAt(func(f *table.File) *int64 { return &f.SchemaID }), avroLong, avroInt),
	value("_LEVEL", intAt(func(f *table.File) *int32 { return &f.Level }), avroInt, avroLong),
	arrayOf("_EXTRA_FILES", stringsAt(func(f *table.File) *[]string { return &f.ExtraFiles }), avroString),
	nullable("_CREATION_TIME", longAt(func(f *table.File) *int64 { return &f.CreatedMillis }), avroLong),
	nullable("_DELETE_ROW_COUNT", longAt(func(f *table.File) *int64 { return &f.DeleteRows }), avroLong, avroInt),
	nullable("_EMBEDDED_FILE_INDEX", bytesAt(func(f *table.File) *[]byte { return &f.EmbeddedIndex }), avroBytes),
	nullable("_FILE_SOURCE", func(c *cursor, f *table.File) { f.Source = table.FileSource(c.int()) }, avroInt, avroLong),
	arrayOf("_VALUE_STATS_COLS", stringsAt(func(f *table.File) *[]string { return &f.ValueStatCols }), avroString),
	nullable("_EXTERNAL_PATH", stringAt(func(f *table.File) *string { return &f.ExternalPath }), avroString),
	nullable("_FIRST_ROW_ID", func(c *cursor, f *table.File) { id := c.long(); f.FirstRowID = &id }, avroLong, avroInt),
	arrayOf("_WRITE_COLS", stringsAt(func(f *table.File) *[]string { return &f.WriteCols }), avroString),
}

var statsMembers = []member[table.Stats]{
	value("_MIN_VALUES", bytesAt(func(s *table.Stats) *[]byte { return &s.Min }), avroBytes),
	value("_MAX_VALUES", bytesAt(func(s *table.Stats) *[]byte { return &s.Max }), avroBytes),
	arrayOf("_NULL_COUNTS", func(c *cursor, items *node, s *table.Stats) {
		s.Nulls = []int64{}
		c.items(func(left int64) {
			if len(s.Nulls) == cap(s.Nulls) {
				s.Nulls = slices.Grow(s.Nulls, int(left))
			}
			n := int64(-1)
			if c.branch(items).shape != avroNull {
				n = c.long()
			}
			s.Nulls = append(s.Nulls, n)
		})
	}, avroLong, avroInt),
}

// appendEntry appends an entry as entrySchema lays it out.
func appendEntry(dst []byte, e *Entry) []byte {
	f := &e.File
	dst = appendLong(dst, entryVersion)
	dst = appendLong(dst, int64(e.Kind))
	dst = appendRow(dst, f.Bucket.Partition)
	dst = appendLong(dst, int64(f.Bucket.Number))
	dst = appendLong(dst, int64(f.TotalBuckets))
	dst = appendBytes(dst, f.Name)
	dst = appendLong(dst, f.SizeBytes)
	dst = appendLong(dst, f.Rows)
	dst = appendRow(dst, f.MinKey)
	dst = appendRow(dst, f.MaxKey)
	dst = appendStats(dst, &f.KeyStats)
	dst = appendStats(dst, &f.ValueStats)
	dst = appendLong(dst, f.MinSeq)
	dst = appendLong(dst, f.MaxSeq)
	dst = appendLong(dst, f.SchemaID)
	dst = appendLong(dst, int64(f.Level))
	dst = appendStrings(dst, f.ExtraFiles)
	dst = appendLong(appendPresent(dst, true), f.CreatedMillis)
	if dst = appendPresent(dst, f.DeleteRows >= 0); f.DeleteRows >= 0 {
		dst = appendLong(dst, f.DeleteRows)
	}
	if dst = appendPresent(dst, f.EmbeddedIndex != nil); f.EmbeddedIndex != nil {
		dst = appendBytes(dst, f.EmbeddedIndex)
	}
	if dst = appendPresent(dst, f.Source != table.SourceUnknown); f.Source != table.SourceUnknown {
		dst = appendLong(dst, int64(f.Source))
	}
	if dst = appendPresent(dst, f.ValueStatCols != nil); f.ValueStatCols != nil {
		dst = appendStrings(dst, f.ValueStatCols)
	}
	if dst = appendPresent(dst, f.ExternalPath != ""); f.ExternalPath != "" {
		dst = appendBytes(dst, f.ExternalPath)
	}
	if dst = appendPresent(dst, f.FirstRowID != nil); f.FirstRowID != nil {
		dst = appendLong(dst, *f.FirstRowID)
	}
	if dst = appendPresent(dst, f.WriteCols != nil); f.WriteCols != nil {
		dst = appendStrings(dst, f.WriteCols)
	}
	return dst
}

// appendRow appends a serialised BinaryRow; nothing stands for a row of no fields.
func appendRow[T ~string | ~[]byte](dst []byte, row T) []byte {
	if len(row) == 0 {
		return appendBytes(dst, table.EmptyRow)
	}
	return appendBytes(dst, row)
}

// appendStats appends a statistics record. Its null counts always have as many items as its rows have fields, because
// Java indexes them so; unknown counts are nulls.
func appendStats(dst []byte, s *table.Stats) []byte {
	dst = appendRow(dst, s.Min)
	dst = appendRow(dst, s.Max)
	dst = appendPresent(dst, true)
	n := len(s.Nulls)
	if s.Nulls == nil && len(s.Min) >= 4 {
		n = min(int(binary.BigEndian.Uint32(s.Min)), len(s.Min)/8)
	}
	if n > 0 {
		dst = appendLong(dst, int64(n))
		for i := range n {
			known := s.Nulls != nil && s.Nulls[i] >= 0
			if dst = appendPresent(dst, known); known {
				dst = appendLong(dst, s.Nulls[i])
			}
		}
	}
	return append(dst, 0)
}

// encodeEntries makes a whole manifest.
func encodeEntries(entries []Entry, c codec) []byte {
	w := newContainerWriter(entrySchema, c)
	for i := range entries {
		w.block = appendEntry(w.block, &entries[i])
		w.record()
	}
	return w.bytes()
}

// decodeEntries reads a whole manifest. The entries share b's memory.
func decodeEntries(b []byte) ([]Entry, error) {
	return readAll(b, entryMembers, entryPreset)
}
