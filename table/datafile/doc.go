// Package datafile writes and reads the files of a bucket: Parquet files of data and of changelog, sorted by key.
//
// # What is in a file
//
// One row group after another; in each, one column chunk for every column, in this order:
//
//	_KEY_<k>          for each column of the trimmed primary key, in key order; left out in thin mode
//	_SEQUENCE_NUMBER  INT64
//	_VALUE_KIND       INT32: 0 +I, 1 -U, 2 +U, 3 -D
//	<column>          all columns of the schema, in schema order
//
// See 6.1 and 6.2 of Paimon's file layout (org.apache.paimon.KeyValue, org.apache.paimon.format.parquet.
// ParquetSchemaConverter). [schemaElements] holds the mapping of types.
//
// # How it is written
//
// Rows come as references into batches of typed vectors. The writer gathers one column at a time into the values of a
// page, encodes and compresses the page, and keeps it until the row group is full: no value is boxed, none allocates.
// A chunk's encoding is chosen from a sample of its first page (see chooser.go): a dictionary for few distinct values,
// DELTA_BINARY_PACKED for integers that it packs well, else PLAIN; and the codec is left out where it saves
// less than a sixth. Three encodings are never written, because Paimon's Java reader misreads or refuses them:
// DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT. A key column and its _KEY_ twin are encoded once.
//
// # How it is read
//
// Files of any writer are read: columns are found by the name that the file's schema gives to the wanted field id, a
// missing one is null, partition columns come from the manifest, and values are cast to the wanted type.
//
// # Invariants
//
//  1. A file never changes, and no name is written twice.
//  2. Rows of a file ascend by (key, sequence order); a data file has one row a key. The caller sorts; merge relies on it.
//  3. A [table.File] that Close returns is exact: size, rows, delete rows, keys, sequence range.
//  4. Statistics contain the values: they may be wider, never narrower.
//  5. Nothing is visible before Close succeeds on the file; Abort leaves nothing.
package datafile
