// Package commit makes a [table.Delta] visible: in one snapshot, or in none.
//
// Several instances write one table, and so may other Paimon programs. There is no coordinator: the object store's
// conditional create decides who makes a snapshot, and the map of Kafka offsets that every snapshot of ours carries
// decides who may go on from it. The format is that of Paimon (org.apache.paimon.operation.FileStoreCommitImpl,
// org.apache.paimon.catalog.RenamingSnapshotCommit); the map is ours, in the snapshot's properties:
//
//	sink.offsets       the whole map: (topic, topic id, partition) to the next offset and its leader epoch
//	sink.max-sequence  the highest sequence number given to a row up to this snapshot, other writers' rows included
//	sink.learned       what was found out of the source and has to survive a restart
//	sink.checkpoint    random for each delta
//	sink.parent        uuid of the snapshot that this one was built on
//
// The commit user is the consumer group: a snapshot is ours when it has our user and a map, whichever instance made it.
//
// # The life of a delta
//
//	manifests and lists of the delta       written once, whatever the number of attempts
//	attempt: look at the newest snapshot   its map, the newest schema, bucket counts, live files
//	         compare                       fenced? conflict? stale?
//	         base list, snapshot-N         built on what was seen
//	         pin                           if the group has no snapshot yet
//	         create snapshot-N             only if absent
//	         confirm                       snapshot-(N-1) is still what it was built on
//	LATEST, and now and then the pin
//
// # The rules
//
//  1. Compare and set. Each attempt looks at the newest snapshot again. For each partition that the delta moves the newest
//     map has to hold the very cursor that the delta started from, and absent is a value; else another instance has gone on
//     from there, or this delta is in the table already, and the writer is fenced. Else the map is merged: the delta's
//     partitions move, all others stay as they are now.
//     Why: a zombie, or two owners of a partition, would put records into the table twice.
//  2. snapshot-N is made by one conditional create. Why: with anything less two writers both succeed.
//  3. A created snapshot counts only when the one before, read again afterwards, is the one that it was built on. Why: an
//     instance that slept between looking and creating could make an id again that has expired meanwhile, or go on with a
//     table that was rolled back, dropped or made anew. Such a snapshot is taken away again. When the one before is merely gone,
//     the snapshot still counts if another was built on it, or if it is the only one: then expiry took the base.
//  4. Any answer to the create but a success is a question, "exists already" too: something in between may have sent the
//     request twice. snapshot-N is read back. Ours (by sink.checkpoint, kind and uuid): a success. Another's: a lost race.
//     Absent: the same bytes again under the same id, since the first request may still arrive. After a create without a
//     certain answer nothing that it names is deleted by this writer, whatever comes later: orphan cleaning does.
//  5. A lost race starts another attempt, a bounded number of times, with a wait that is random and grows. Data files and
//     the delta's manifests are used again; what only the lost attempt named is deleted.
//  6. Kafka's offsets follow, with the snapshot's uuid in their metadata ([FormatOffsetMetadata]). The map is the truth, they
//     are not ([JudgeOffset]).
//  7. A delta whose oldest file is older than an hour is refused, before anything is written and again just before the create.
//     Why: other jobs' orphan cleaning removes files that no snapshot names.
//  8. LATEST is written after all this, and never lowered. Our own look-up never believes a hint whose snapshot is missing.
//  9. The tripwire: before each commit the newest snapshot that this Committer made is read again. Another in its place means
//     a writer without a conditional create (Java on S3 without a lock), absence means a rollback: the table stops.
//  10. Our newest snapshot is pinned by a consumer file, and the first one before it is made. Why: when others expire all of ours, nothing
//     tells how far the table is; and an instance may die between its first snapshot and what it writes after that.
//
// # What a compaction may do
//
// A delta that removes files becomes a COMPACT snapshot. It moves no offsets and carries the map on unchanged. It is refused
// when a file to remove is not live, when a file to add is known, when key ranges of a level above 0 would overlap, and,
// like any other, when a partition has another bucket count. So it does not matter who compacts, or how many.
//
// # What an attempt costs
//
// It does not grow with the age of the table. When nobody else has committed: a read of the newest snapshot, of the next id,
// and of the next schema id, all three at once; a base list and the snapshot to write; one read to confirm. The manifests and
// lists of the delta are written before, at once, too. The lists of the newest snapshot are
// kept from having written them. Bucket counts are kept by partition; one that is not known is found in the
// newest manifest that names it. The maximum sequence number of other writers is learnt from each of their snapshots once.
// Only a compaction reads all manifests that may name its buckets.
//
// # Non-obvious
//
//   - Identifiers rise by one a snapshot of ours, across instances, because each is built on the newest one.
//   - The schema id of a snapshot is the newest one at its commit. Its files keep the one that they were written with.
//   - A partition has one bucket count: that of its live files, option bucket's when it has none. Only a COMPACT or OVERWRITE
//     snapshot may leave it without files or rescale it, therefore their deltas are read; an APPEND never does. A delta for an older
//     count than the option's is refused for good, one for the option's waits until the partition is rescaled.
//   - A snapshot whose create was answered late may appear after its writer gave up. It then wins against this writer's own
//     next delta, which is fenced: nothing is written twice.
//   - Commit deletes no data files. Whoever wrote them may, unless the error is [ErrUnsettled].
package commit
