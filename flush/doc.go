// Package flush turns buffered changes into the sorted files of a bucket (org.apache.paimon.mergetree.MergeTreeWriter and
// SortBufferWriteBuffer).
//
// # The path of a row
//
//	Batch, Add   rows are appended to a chunk, a batch of typed columns; each bucket keeps references to its rows
//	Seal         everything buffered becomes a Checkpoint and gets its sequence numbers; the Writer starts anew at once
//	Flush        per bucket, several at a time: sort by (key, sequence.field, arrival); every row goes to the changelog
//	             file, and what the merge engine makes of those of each key (the newest, for deduplicate) to the data file
//	             of level 0
//
// When no key of a bucket occurs twice the two files hold the same rows: the changelog file is then a copy of the data
// file, made by the store. When memory is full, Spill writes the fullest buckets early, to files that nobody sees before the
// checkpoint that takes them.
//
// An example, with the sequence numbers 0 to 5 in the order of arrival (and kinds as they came):
//
//	in         +I(2,b) +I(1,a) -U(1,a) +U(1,a2) -D(2,b) +I(3,c)
//	changelog  +I(1,a) -U(1,a) +U(1,a2) +I(2,b) -D(2,b) +I(3,c)
//	data       +U(1,a2) -D(2,b) +I(3,c)
//
// # Append tables
//
// A table without a primary key takes +I alone. A bucket's rows go to the data file in the order of arrival, and there is no
// changelog: streaming readers read the data files of APPEND snapshots (org.apache.paimon.append.AppendOnlyWriter).
//
// # What always holds
//
//  1. Every row that Add took is in exactly one changelog file (with changelog-producer=input), kind kept, except that an
//     update that changes the primary key becomes -D of the old key and +I of the new one, each in its own bucket.
//  2. A -U and its +U are in the same file, with numbers that follow each other (I3): they are added together, and
//     buckets are flushed and spilled whole.
//  3. Of two rows of a key the later has the higher number (I5), over spills, seals and the changelog's files, which are
//     listed in the order of their flushes.
//  4. A data file has one row a key, sorted; retractions stay in it.
//  5. Files are referred to by nobody until they are in a snapshot; what fails deletes the files that it made, and can be tried again.
//
// A Writer has one owner, a Checkpoint another; they share no state but pools of memory.
package flush
