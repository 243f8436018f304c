// Package arrowipc writes rows as a stream of Apache Arrow record batches (the IPC streaming format), which pyarrow, DuckDB, Polars
// and others read from a pipe. It only writes; no file of a table is in this format.
//
// The types are those of Paimon's own readers that give Arrow (org.apache.paimon.arrow.ArrowFieldTypeConversion, pypaimon's
// PyarrowFieldParser), with the differences that keep every value as it is:
//
//	BOOLEAN, TINYINT to BIGINT, FLOAT, DOUBLE   bool, int8 to int64, float, double
//	DECIMAL(p, s)                               decimal128(p, s)
//	CHAR, VARCHAR                               utf8; a byte that is no UTF-8 becomes U+FFFD, as in JSON
//	BINARY, VARBINARY                           binary: a BINARY(n) cell need not have n bytes
//	DATE, TIME                                  date32, time32[ms]
//	TIMESTAMP(p)                                timestamp[ms] to precision 3, [us] to 6, [ns] above, without a zone
//	TIMESTAMP_LTZ(p)                            the same with zone UTC
//	ARRAY, MAP, ROW                             list, map, struct
//	MULTISET                                    map from the element to how often it is there, an int32
//
// Columns are nullable whatever the schema says, as those of Export in package datafile are; members of nested types follow their type.
//
// # Invariants
//
//  1. A stream holds no more than the batch that is being written.
//  2. A value that its Arrow type cannot hold is an error that names column, value and the way out, never another value.
package arrowipc
