// Package expire removes what nobody needs any more of a table: snapshots and changelogs past their number and age, tags
// and partitions past theirs, and files that nothing names (org.apache.paimon.table.ExpireSnapshotsImpl,
// ExpireChangelogImpl, org.apache.paimon.operation.PartitionExpire, OrphanFilesClean).
//
// # What a snapshot holds, and for how long
//
//	data file        until no live snapshot, tag or branch has it; the delta that deletes it says when it died
//	changelog file   until its snapshot expires, or, with a longer changelog retention, until its file in changelog/ does
//	manifest, list   until no live snapshot, tag or branch names it
//
// A file, once dead, stays dead: it is live from one snapshot to another, without a gap. So the files that died up to
// snapshot N, and that the tags around do not hold, can go together with the snapshots before N.
//
// # In which order
//
//	look      read the snapshots that go and the first that stays, the tags and the branches
//	keep      write changelog/changelog-id for those whose changelog lives on
//	forget    delete the snapshot files, the oldest first, and raise EARLIEST
//	look      for tags and branches that came meanwhile: they hold what they name
//	remove    delete data files, changelog files, manifests and lists
//
// # What always holds
//
//  1. No live snapshot, tag, changelog or branch names a file that is gone, whenever the process dies: a snapshot goes
//     before its files do. What a death in between leaves behind are files that nothing names, and [Orphans] finds them.
//  2. A tag that was made while its snapshot expired either holds all its files, or was refused: the tag is written before
//     its maker looks whether the snapshot is still there, and the snapshot is deleted before expiry looks for tags.
//  3. Ids stay dense: snapshots go from the oldest up.
//  4. Any number of processes may do this at the same time, Java's too: all remove the same files.
//  5. Nothing is deleted on an incomplete picture: what cannot be read ends the work before anything is gone.
package expire
