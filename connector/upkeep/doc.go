// Package upkeep keeps a table small beside its writers: it compacts buckets with too many sorted runs and removes what has
// expired, one round at a time.
//
//	look     follow the snapshots since the last round; count the runs of each bucket
//	compact  the buckets with most runs first, until a round's share of bytes or time is used up
//	commit   all of it in one COMPACT snapshot
//	expire   snapshots, changelogs, tags, consumers and partitions that are due
//
// # What always holds
//
//  1. Who does it does not matter, nor how many: a commit is refused when a file to be removed is gone. Then the new files are
//     dropped and the next round looks again.
//  2. Looking costs as much as was committed since, not as much as the table holds; between rounds a few dozen bytes are kept
//     for each live file.
//  3. A round holds the memory of one job at a time, see [compact.Compactor.MemoryBytes].
package upkeep
