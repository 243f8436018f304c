// Package simulation proves exactly once under faults, from a seed: it holds tests only.
//
// Real connectors share one group, one fake Kafka and one store in memory, in one process and in virtual time
// (testing/synctest). A seed decides what the databases do, how small checkpoints are, which instances start, stop, die, sleep
// or lose their connections, and what goes wrong at the store and at the brokers. In the end a clean instance drains the topics,
// and a judge compares each table with what the log says:
//
//	rows        at every snapshot the files fold to the same rows as the changelog (I1), in the end to those of the databases
//	changelog   every record gives its rows exactly once, in one snapshot, whose map says so (I2); updates are pairs (I3)
//	            where compactions make the changelog: the rows are those that the map covers at every snapshot (I2), and the changelog
//	            folds to the rows of the levels that compactions have told (I1)
//	order       of two changes of a key the later has the higher sequence number (I5)
//	maps        never go back; snapshot ids are dense (I6); no file is missing (I7); group offsets follow (I4)
//
//	files       after orphans are removed there is what the snapshots name and nothing else; without faults at once
//	letters     each poison record has one, no other record has
//
// What a hundred seeds are made of is counted, and a kind that none of them has met fails the test (met):
//
//	source      hot keys, changed keys, deletes and new inserts of a key, tombstones with and without a delete, TRUNCATE, new
//	            columns, events sent again (TRUNCATE and poison, too), poison, transactions that commit and abort, several tables in one topic
//	instances   starts, stops, kills, pauses longer than the session, lost connections, rebalances of both protocols, tiny
//	            memory (spills), tables that fail and are tried again, checkpoints from 20 ms to 20 s, stores that take up to 400 ms a call
//	stores      errors before and after the effect, lost answers, "exists already" for one's own object, objects not yet
//	            seen, calls that take half a minute, nothing but errors for a while
//	brokers     errors by kind of request, coordinators and partitions that move
//	producers   tables whose changelog compactions make, of the kinds lookup and full-compaction
//	strangers   rows, new and wider columns, options, compactions and expiries of another program; those of our own instances
//	operator    topics that get partitions, tables that are rescaled while they are written
//
// Beside them fixed scenes have the n-th call of the store go wrong in every way, for every n, and so the n-th request of each kind to the
// brokers: lost before or after the effect, refused, done and answered with an error, the end of the process.
//
// The tests need the build tag synctests, which has Kafka's client wait for its locks in virtual time, too. `make test` runs a
// hundred seeds, `make stress SEED=1 N=1000` as many as wanted.
//
// The seed decides all of the above, but not how goroutines are scheduled: a failure that needs a race may take a few runs
// of its seed (-count).
package simulation
