// Package manifest is the codec of a table's metadata tree: the folders snapshot, manifest, schema, tag, consumer and
// changelog.
//
//	snapshot-N  ->  base list, delta list  ->  manifests  ->  entries  ->  live data files
//	            ->  changelog list         ->  manifests  ->  entries  ->  changelog files
//
// It decides nothing about when a snapshot is made (see commit) or read (see table/scan).
//
// # What always holds
//
//  1. An entry's identity is added once and deleted once in a table's life; see [Identity] and [Files].
//  2. Order is meaning: base before delta, and no DELETE before its ADD. Merging keeps it.
//  3. A version above what is known is a *table.VersionError, never a guess.
//  4. JSON members that are not known here are written back.
//  5. A hint is only a hint: one whose snapshot is missing is not believed.
//
// # Where the format comes from
//
// Paimon 1.3.1: org.apache.paimon.Snapshot, manifest.ManifestEntry, manifest.ManifestFileMeta, io.DataFileMeta,
// operation.ManifestFileMerger, utils.SnapshotManager; the container and the binary encoding from the Apache Avro 1.12
// specification, "Object Container Files". Avro fields are matched by name and unknown ones skipped, as Paimon does, so
// that files of all versions since 1.0 and of other writers can be read. What is written has the fields and
// their order of Paimon 1.3, which all later versions read.
//
// The Avro decoder is compiled per writer schema. goavro, which tests compare with, makes a map per record and trusts the
// counts it reads; a manifest of a hundred thousand entries is read at compaction, and a damaged one must not take
// all memory.
package manifest
