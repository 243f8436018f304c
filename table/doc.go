// Package table holds the values of a Paimon table and their bytes: types, schema, columns, rows, buckets and files.
// It does no I/O, reads no clock and starts no goroutine.
//
// # How a row is held
//
// Rows travel in batches of typed column vectors, never as boxed values. A cell has one of two layouts, told by its
// type (see [Type.Layout]):
//
//	Words   BOOLEAN (0, 1), TINYINT, SMALLINT, INT, BIGINT, DATE (days), TIME (milliseconds of the day),
//	        FLOAT (IEEE bits in the low 32, zeros above), DOUBLE (IEEE bits), DECIMAL of precision <= 18 (unscaled),
//	        TIMESTAMP of precision <= 3 (milliseconds) and <= 6 (microseconds) since the epoch: one int64 a cell
//	Bytes   everything else, as one byte string a cell: CHAR, VARCHAR (UTF-8), BINARY, VARBINARY;
//	        DECIMAL of precision > 18 as 16 bytes of big-endian two's complement;
//	        TIMESTAMP of precision 7 to 9 as 12 bytes (see [AppendNanoTimestamp]);
//	        ARRAY, MAP, MULTISET and ROW in the nested encoding (see nested.go)
//
// These are the units of Paimon's Parquet files, so that a writer copies words instead of converting them.
//
// # Where the format comes from
//
// The bytes are those of Apache Paimon 1.3: org.apache.paimon.types (types), schema.TableSchema and
// schema.SchemaValidation (schemas), data.BinaryRow (rows), bucket.* (buckets), utils.PartitionPathUtils (paths),
// casting.CastExecutors (casts), statistics.* (bounds). The tests compare with what Paimon itself computed; testdata/README.md
// tells how.
//
// # What a commit carries
//
// A [Delta] is what one snapshot makes visible at once: files added, files removed, changelog files, and the
// [Progress] that they stand for. flush makes a Delta, commit turns it into one snapshot or none.
package table
