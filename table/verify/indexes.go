package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"

	"sink/table"
	"sink/table/manifest"
)

// hashBytes is the size of a key's hash in an index file.
const hashBytes = 4

// checkIndexes checks the index files of a state, and, in a table with dynamic buckets, that they hold each key once.
func (c *checker) checkIndexes(ctx context.Context, where string, s *manifest.Snapshot, files map[manifest.Identity]*table.File) error {
	known := map[table.Bucket]map[int32]struct{}{}
	if s.IndexManifest != "" {
		if !c.checkMetadata(where, "index-manifest", s.IndexManifest, 0) {
			return nil
		}
		entries, err := manifest.ReadIndexManifest(ctx, c.store, c.path, s.IndexManifest)
		if err != nil {
			c.fault("index-manifest-unreadable", where, "%v", err)
			return nil
		}
		for i := range entries {
			if err := c.checkIndex(ctx, where, &entries[i], known); err != nil {
				return err
			}
		}
	}
	if c.schema.Option("bucket") != "-1" || !c.keyTellsPartition() {
		return nil
	}
	type place struct {
		partition string
		hash      int32
	}
	places := map[place]int32{}
	for _, f := range byName(files) {
		found := c.files[c.fileID(f)]
		if found == nil {
			continue
		}
		for _, hash := range found.hashes {
			if _, ok := known[f.Bucket][hash]; !ok {
				c.fault("index-hash", where, "%s: key hash %d of %s is not in the index", c.bucketName(f.Bucket), hash, f.Name)
				break
			}
			p := place{f.Bucket.Partition, hash}
			if other, ok := places[p]; ok && other != f.Bucket.Number {
				c.fault("key-in-two-buckets", where, "key hash %d of %s is in bucket %d, too", hash, c.bucketName(f.Bucket), other)
			}
			places[p] = f.Bucket.Number
		}
	}
	return nil
}

// keyTellsPartition reports whether the partition columns are in the primary key. Else a key may move from partition to
// partition, and its writers keep an index of their own.
func (c *checker) keyTellsPartition() bool {
	return !slices.ContainsFunc(c.schema.PartitionKeys, func(name string) bool { return !slices.Contains(c.schema.PrimaryKeys, name) })
}

func (c *checker) checkIndex(ctx context.Context, where string, e *manifest.IndexEntry, known map[table.Bucket]map[int32]struct{}) error {
	what := where + " " + e.Name
	name, err := e.Object(c.path, c.schema)
	if err != nil {
		return err
	}
	size := c.size(name)
	if size < 0 {
		c.fault("index-missing", what, "does not exist")
		return nil
	}
	if size != e.SizeBytes {
		c.fault("index-size", what, "has %d bytes, but %d are recorded", size, e.SizeBytes)
	}
	if e.Type != manifest.HashIndex {
		return nil
	}
	b, err := c.store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		c.fault("index-missing", what, "it went while the table was checked")
		return nil
	}
	if err != nil {
		return err
	}
	if n := int64(len(b) / hashBytes); n != e.Rows || len(b)%hashBytes != 0 {
		c.fault("index-rows", what, "has %d hashes, but %d are recorded", n, e.Rows)
	}
	if known[e.Bucket] != nil {
		c.fault("index-twice", what, "is the second hash index of %s", c.bucketName(e.Bucket))
	}
	hashes := map[int32]struct{}{}
	for ; len(b) >= hashBytes; b = b[hashBytes:] {
		hashes[int32(binary.BigEndian.Uint32(b))] = struct{}{}
	}
	known[e.Bucket] = hashes
	return nil
}
