package manifest

import (
	"context"
	"fmt"

	"sink/table"
	"sink/table/object"
)

// indexVersion is the _VERSION of index manifests (org.apache.paimon.manifest.IndexManifestEntrySerializer).
const indexVersion = 1

// The types of index files.
const (
	HashIndex       = "HASH"             // which bucket holds which key, in tables with dynamic buckets
	DeletionVectors = "DELETION_VECTORS" // which rows of data files are deleted
)

// IndexEntry is a record of an index manifest: an index file of a bucket. An index manifest names all that are live, and is
// carried over from snapshot to snapshot while none changes.
type IndexEntry struct {
	Bucket    table.Bucket
	Type      string
	Name      string // bare name; see Object
	SizeBytes int64
	Rows      int64
}

var indexMembers = []member[IndexEntry]{
	value("_VERSION", func(c *cursor, _ *IndexEntry) {
		if v := c.int(); c.err == nil && v != indexVersion {
			c.fail(&table.VersionError{What: "index manifest", Version: int(v), Max: indexVersion})
		}
	}, avroInt, avroLong),
	value("_KIND", func(c *cursor, _ *IndexEntry) {
		if k := c.int(); c.err == nil && Kind(k) != Add {
			c.fail(fmt.Errorf("kind %d, want 0 (ADD)", k))
		}
	}, avroInt, avroLong),
	value("_PARTITION", func(c *cursor, e *IndexEntry) { e.Bucket.Partition = c.text() }, avroBytes),
	value("_BUCKET", intAt(func(e *IndexEntry) *int32 { return &e.Bucket.Number }), avroInt, avroLong),
	value("_INDEX_TYPE", func(c *cursor, e *IndexEntry) { e.Type = c.text() }, avroString),
	value("_FILE_NAME", stringAt(func(e *IndexEntry) *string { return &e.Name }), avroString),
	value("_FILE_SIZE", longAt(func(e *IndexEntry) *int64 { return &e.SizeBytes }), avroLong, avroInt),
	value("_ROW_COUNT", longAt(func(e *IndexEntry) *int64 { return &e.Rows }), avroLong, avroInt),
}

// ReadIndexManifest returns the entries of an index manifest, which is given by its bare name.
func ReadIndexManifest(ctx context.Context, store object.Store, path table.Path, name string) ([]IndexEntry, error) {
	b, err := store.Get(ctx, path.Manifest(name))
	if err != nil {
		return nil, fmt.Errorf("read index manifest %s: %w", name, err)
	}
	entries, err := readAll(b, indexMembers, IndexEntry{})
	if err != nil {
		return nil, fmt.Errorf("read index manifest %s: %w", name, err)
	}
	return entries, nil
}

// Object returns the object name of the index file: in the folder index, or with option index-file-in-data-file-dir beside the data files
// of its bucket (org.apache.paimon.utils.FileStorePathFactory.indexFileFactory). Like Paimon it goes by what the option says now.
func (e *IndexEntry) Object(path table.Path, s *table.Schema) (string, error) {
	beside, err := s.OptionBool("index-file-in-data-file-dir")
	if err != nil || !beside {
		return path.Index(e.Name), err
	}
	partition, err := table.PartitionPath(s, e.Bucket.Partition)
	if err != nil {
		return "", fmt.Errorf("index file %s: %w", e.Name, err)
	}
	return path.DataFile(partition, e.Bucket.Number, e.Name), nil
}
