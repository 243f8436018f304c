// Package compact turns many sorted files of a bucket into fewer: Paimon's universal compaction
// (org.apache.paimon.mergetree.compact.UniversalCompaction and MergeTreeCompactTask).
//
// # Levels and runs
//
//	level 0      each file is a sorted run of its own; the newest first, by highest sequence number
//	level 1..n   all files of a level are one run: their key ranges do not overlap
//
// [Options.Pick] looks at the runs, newest first, and says which of them, always a prefix, become one run of which level.
// An example, with the trigger at 3 runs, sizes in MB and the size ratio at 1 %:
//
//	runs                           picked                        why
//	0:1 0:1 5:100                  0:1 0:1       -> level 4      ratio: 1 is not above 1.01, and 100 is too large
//	0:1 0:1 4:2 5:100              0:1 0:1 4:2   -> level 4      ratio: 2 is not above 2.02; level 4 has room
//	0:60 0:60 0:90 5:100           all           -> level 5      amplification: 210 is above 200 % of 100
//
// [Compactor.Run] does the job: files that overlap are merged, one row a key; a lone file that is large only changes its
// level; small lone files are rewritten together. Of files that overlap, large row groups between whose keys no other file has any are
// copied as they are, see [datafile.RowGroup]: where the newest keys change most, a job costs about what has changed.
//
// An append table has no levels: its small files are put one behind the other, see append.go.
//
// # What was before
//
// With the producers lookup and full-compaction, with force-lookup, and with merge engine first-row the levels of rows count, see
// [datafile.History]. An example with lookup, of one key in a table of partial-update:
//
//	level 0   +I (1, a, null)     the job's
//	level 0   +I (1, null, 7)     the job's
//	level 5   +I (1, b, 3)        looked up: it stays where it is
//	level 4   +I (1, a, 7)        the result, which has all of level 5 in it: readers pass over that row
//	changelog -U (1, b, 3) +U (1, a, 7)
//
// # What always holds
//
//  1. The rows that a reader sees are the same before and after.
//  2. A retraction is dropped only when nothing older can lie below: the job's output level is the highest of the bucket.
//  3. Rows keep their sequence numbers and kinds, so that readers and later jobs find the same winner.
//  4. Changelog files are never read, and written only where the table's changelog producer is lookup or full-compaction: what
//     became of each key is in the same result as the rows, and so in the same snapshot, or in none.
//  5. Nothing is visible before a commit; what fails deletes the files that it made.
//  6. Memory is bounded by Config.MaxRuns, whatever the number and size of files: more runs are merged in several passes.
package compact
