// Package connector moves records from Kafka to tables and owns their order.
//
// # Who does what
//
//	poll loop (Run)    polls, hands records to the queues of their tables, never waits for a table; pauses while memory is full
//	worker, one table  the only owner of a table's state: decodes, buffers, seals a checkpoint, settles it
//	lane               reads runs ahead of their turn on other cores, into batches of their own; the worker takes them in order
//	scout              a worker without a table: finds the tables of a mapping by the source of each record, and feeds them
//	checkpoint         one goroutine a table at most: files, snapshot; the worker buffers the next one meanwhile
//	group callbacks    assign (positions from the snapshots), revoke (checkpoint, then let go), lose (drop, let go)
//	group offsets      tells Kafka what the snapshots hold, afterwards
//
// # What holds
//
//  1. Positions come from the tables' snapshots, never from the group, but for records that were only skips (see commit)
//     or wanted by no table that a scout has found (see scout).
//  2. A worker applies the records of a partition in order, each once: a dispatch carries a generation, and a rewind or a
//     new assignment makes all older dispatches void.
//  3. Whatever makes a checkpoint impossible (fenced, lost, conflicting) drops everything uncommitted of that table and
//     reads all its partitions again from its newest snapshot: its files mix partitions.
//  4. A table that cannot go on stops at the record and drops what comes after it; the others go on; the group's offsets never
//     pass what a stopped table has not committed.
//  5. Memory: records in queues, rows read ahead, rows in buffers and rows in checkpoints count against one budget, of which
//     fetches and files in the making have a share. When it is full the poll loop waits; the fullest buffers are spilled, or
//     sealed when they hold little but the bookkeeping of files spilled before.
//
// Sources: Kafka KIP-429 (cooperative rebalancing), KIP-848, KIP-320 (leader epochs), KIP-516 (topic ids), KIP-98 (transactions).
package connector
