package manifest

import (
	"sink/table"
)

// Range is the lowest and the highest of some numbers; Known is false where nobody wrote them down.
type Range struct {
	Min, Max int32
	Known    bool
}

// add widens a range by one number. The first one given to a zero Range makes it known.
func (r *Range) add(v int32) {
	if !r.Known {
		*r = Range{v, v, true}
		return
	}
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
}

// Contains reports whether a number may be within: always, when the range is not known.
func (r Range) Contains(v int32) bool { return !r.Known || (r.Min <= v && v <= r.Max) }

// ListEntry is a record of a manifest list: a manifest and what is in it (org.apache.paimon.manifest.ManifestFileMeta).
type ListEntry struct {
	Name      string // bare name in the manifest folder
	SizeBytes int64
	Added     int64 // entries of kind Add, exact
	Deleted   int64 // entries of kind Delete, exact: readers skip looking for deletes when it is 0
	// Partitions bounds the partition columns, column by column, and counts their nulls over the entries.
	Partitions table.Stats
	SchemaID   int64 // the highest of the entries
	Buckets    Range
	Levels     Range
	// MinRowID and MaxRowID bound the row ids of tables with row tracking, from Paimon 1.4 on; nil elsewhere.
	MinRowID, MaxRowID *int64
}

// listSchema is the writer schema of manifest lists, as Paimon 1.3 writes it. Readers match it by name.
const listSchema = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` +
	`{"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},` +
	`{"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},` +
	`{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS","fields":[` + statsFields + `]}},` +
	`{"name":"_SCHEMA_ID","type":"long"},` +
	`{"name":"_MIN_BUCKET","type":["null","int"],"default":null},{"name":"_MAX_BUCKET","type":["null","int"],"default":null},` +
	`{"name":"_MIN_LEVEL","type":["null","int"],"default":null},{"name":"_MAX_LEVEL","type":["null","int"],"default":null}` +
	listSchemaEnd

// listSchemaRowIDs is listSchema with the two fields that Paimon 1.4 added, for lists that have them.
const (
	listSchemaEnd    = `]}`
	listSchemaRowIDs = `,{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}` + listSchemaEnd
)

// listBound is a bound on its way from Avro.
type listBound struct {
	v     int32
	known bool
}

// rawListEntry is a ListEntry on its way from Avro.
type rawListEntry struct {
	ListEntry
	minBucket, maxBucket, minLevel, maxLevel listBound
}

var listMembers = []member[rawListEntry]{
	value("_VERSION", func(c *cursor, _ *rawListEntry) { checkVersion(c, "manifest list") }, avroInt, avroLong),
	value("_FILE_NAME", stringAt(func(e *rawListEntry) *string { return &e.Name }), avroString),
	value("_FILE_SIZE", longAt(func(e *rawListEntry) *int64 { return &e.SizeBytes }), avroLong, avroInt),
	value("_NUM_ADDED_FILES", longAt(func(e *rawListEntry) *int64 { return &e.Added }), avroLong, avroInt),
	value("_NUM_DELETED_FILES", longAt(func(e *rawListEntry) *int64 { return &e.Deleted }), avroLong, avroInt),
	nested("_PARTITION_STATS", statsMembers, func(e *rawListEntry) *table.Stats { return &e.Partitions }),
	value("_SCHEMA_ID", longAt(func(e *rawListEntry) *int64 { return &e.SchemaID }), avroLong, avroInt),
	nullable("_MIN_BUCKET", boundAt(func(e *rawListEntry) *listBound { return &e.minBucket }), avroInt, avroLong),
	nullable("_MAX_BUCKET", boundAt(func(e *rawListEntry) *listBound { return &e.maxBucket }), avroInt, avroLong),
	nullable("_MIN_LEVEL", boundAt(func(e *rawListEntry) *listBound { return &e.minLevel }), avroInt, avroLong),
	nullable("_MAX_LEVEL", boundAt(func(e *rawListEntry) *listBound { return &e.maxLevel }), avroInt, avroLong),
	nullable("_MIN_ROW_ID", func(c *cursor, e *rawListEntry) { v := c.long(); e.MinRowID = &v }, avroLong, avroInt),
	nullable("_MAX_ROW_ID", func(c *cursor, e *rawListEntry) { v := c.long(); e.MaxRowID = &v }, avroLong, avroInt),
}

func boundAt(at func(*rawListEntry) *listBound) func(*cursor, *rawListEntry) {
	return func(c *cursor, e *rawListEntry) { *at(e) = listBound{c.int(), true} }
}

// rangeOf joins two bounds; a range with one of them missing is not known.
func rangeOf(lo, hi listBound) Range {
	if !lo.known || !hi.known {
		return Range{}
	}
	return Range{lo.v, hi.v, true}
}

// decodeList reads a whole manifest list. The entries share b's memory.
func decodeList(b []byte) ([]ListEntry, error) {
	raw, err := readAll(b, listMembers, rawListEntry{})
	if err != nil {
		return nil, err
	}
	list := make([]ListEntry, len(raw))
	for i := range raw {
		r := &raw[i]
		r.Buckets, r.Levels = rangeOf(r.minBucket, r.maxBucket), rangeOf(r.minLevel, r.maxLevel)
		list[i] = r.ListEntry
	}
	return list, nil
}

// encodeList makes a whole manifest list. Row ids are kept where any entry has them.
func encodeList(list []ListEntry, c codec) []byte {
	rowIDs := false
	for i := range list {
		rowIDs = rowIDs || list[i].MinRowID != nil || list[i].MaxRowID != nil
	}
	schema := listSchema
	if rowIDs {
		schema = listSchema[:len(listSchema)-len(listSchemaEnd)] + listSchemaRowIDs
	}
	w := newContainerWriter(schema, c)
	for i := range list {
		w.block = appendListEntry(w.block, &list[i])
		if rowIDs {
			w.block = appendOptionalLong(appendOptionalLong(w.block, list[i].MinRowID), list[i].MaxRowID)
		}
		w.record()
	}
	return w.bytes()
}

// appendListEntry appends an entry as listSchema lays it out.
func appendListEntry(dst []byte, e *ListEntry) []byte {
	dst = appendLong(dst, entryVersion)
	dst = appendBytes(dst, e.Name)
	dst = appendLong(dst, e.SizeBytes)
	dst = appendLong(dst, e.Added)
	dst = appendLong(dst, e.Deleted)
	dst = appendStats(dst, &e.Partitions)
	dst = appendLong(dst, e.SchemaID)
	return appendRange(appendRange(dst, e.Buckets), e.Levels)
}

func appendRange(dst []byte, r Range) []byte {
	if !r.Known {
		return append(dst, 0, 0)
	}
	dst = appendLong(appendPresent(dst, true), int64(r.Min))
	return appendLong(appendPresent(dst, true), int64(r.Max))
}

func appendOptionalLong(dst []byte, v *int64) []byte {
	if v == nil {
		return append(dst, 0)
	}
	return appendLong(appendPresent(dst, true), *v)
}
