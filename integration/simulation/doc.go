// Package simulation proves exactly once under faults, from a seed: it holds tests only.
//
// Real connectors share one group, one fake Kafka and one store in memory, in one process and in virtual time
// (testing/synctest). A seed decides what the databases do, how small checkpoints are, which instances start, stop, die, sleep
// or lose their connections, and what goes wrong at the store and at the brokers. In the end a clean instance drains the topics,
// and a judge compares each table with what the log says:
//
//	rows        at every snapshot the files fold to the same rows as the changelog (I1), in the end to those of the databases
//	changelog   every record gives its rows exactly once, in one snapshot, whose map says so (I2); updates are pairs (I3)
//	order       of two changes of a key the later has the higher sequence number (I5)
//	maps        never go back; snapshot ids are dense (I6); no file is missing (I7); group offsets follow (I4)
//
// Beside them fixed scenes have the n-th call of the store, or request to the brokers, go wrong in every way, for every n.
//
// The tests need the build tag synctests, which has Kafka's client wait for its locks in virtual time, too. `make test` runs a
// hundred seeds, `make stress SEED=1 N=1000` as many as wanted.
//
// The seed decides all of the above, but not how goroutines are scheduled: a failure that needs a race may take a few runs
// of its seed (-count).
package simulation
