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
// The files of an append table, one without a primary key, have the schema's columns only. Their rows are +I, in the order of
// arrival, and numbered from the entry's lowest number on; the entry's keys and key statistics are rows without columns.
//
// Names, types, annotations and field ids are those of Paimon's Java writer (org.apache.paimon.KeyValue,
// org.apache.paimon.format.parquet.ParquetSchemaConverter, org.apache.paimon.table.SpecialFields); columns.go and
// footer.go hold them. The rest is the Apache Parquet format: data pages of version 1, levels in the RLE hybrid.
//
// # How it is written
//
// Rows come as references into batches of typed vectors. The writer gathers one column at a time into the values of a
// page, encodes and compresses the page, and keeps it until the row group is full: no value is boxed, none allocates.
// A chunk's encoding is chosen from a sample of its first page (see chooser.go): a dictionary for few distinct values,
// DELTA_BINARY_PACKED for integers that it packs well, else PLAIN; and the codec is left out where it saves
// less than a sixth. A column has one codec in a file, as some readers rely on. Three encodings are never written, because Paimon's Java reader misreads or refuses them:
// DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT. A key column and its _KEY_ twin are encoded once.
//
// # How it is read
//
// Files of any writer are read: columns are found by the name that the file's schema gives to the wanted field id, a
// missing one is null, partition columns come from the manifest, and values are cast to the wanted type. Of parquet-go
// the footer's structures and the rarer encodings are used; pages are read here, because its reader knows no LZ4 as
// Paimon's Java writes it, trusts what a damaged header announces, and keeps a second page of every column.
//
// Sorted files are put together by a [Merger], into which [KeyRanges] sorts them by sections and runs. It hands out
// references, not copies, and what compaction need not look at as whole row groups ([RowGroup]). An open file takes up to 2 MiB of compressed bytes and one decoded page of each column.
//
// # Invariants
//
//  1. A file never changes, and no name is written twice.
//  2. Rows of a file ascend by (key, sequence order); a data file has one row a key. The caller sorts; merge relies on it.
//  3. A [table.File] that Close returns is exact: size, rows, delete rows, keys, sequence range.
//  4. Statistics contain the values: they may be wider, never narrower.
//  5. A file is there under its name only when it is whole. Abort deletes what the writer has made.
package datafile
