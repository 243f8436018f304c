// Package scan reads a table back: its rows at a snapshot, and its changelog from one snapshot to another. It is how
// `sink read` and `sink changelog` work, and the oracle of the other packages' tests.
//
// # Rows
//
// [Table.Plan] folds the manifests of a snapshot into splits, one a bucket. [Plan.Rows] reads each split: its files,
// sorted by their lowest key, fall into sections whose key ranges do not overlap; the files of a section fall into
// sorted runs, files whose ranges do not overlap each other; the runs of a section are merged by key, and of the
// rows of one key the newest wins. A winner of kind -U or -D is no row. Where compactions look up higher levels, of the rows from
// level 1 on only that of the lowest level counts.
//
// In an append table, one without a primary key, nothing is merged: the files of a bucket come in the order of the manifest.
//
// # Changes
//
// [Table.Changes] reads the changelog files of one snapshot after the other as they are, whatever the snapshot's
// kind; snapshots without a changelog, such as those of compactions, have no changes. The files of a bucket come in
// the order of the manifest.
//
// # Conditions
//
// With a [Where] files and row groups that hold no chosen row are left out, as far as their statistics tell: by key and partition
// columns before rows are merged, by all columns where nothing is merged. The rows of what is read are then judged one by one.
//
// # What always holds
//
//  1. Rows of a snapshot have the columns of the schema that the snapshot names; rows of the newest, and changes, those of
//     the latest schema. A file is read by the ids of its own schema's fields; what it does not have is null.
//  2. Partition columns come from the manifest, never from the file or its path.
//  3. What cannot be read right is an error that says why ([errors.ErrUnsupported]), never a guess.
//  4. Memory holds one batch of rows for each sorted run of a section, and with [Options.Ordered] for each bucket.
//
// Source: Paimon 1.3.1, org.apache.paimon.operation.MergeFileSplitRead, mergetree.compact.IntervalPartition,
// table.source.DataTableStreamScan and SnapshotReaderImpl.
package scan
