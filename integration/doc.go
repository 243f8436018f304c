// Package integration tests the sink binary from outside, on real services: a Kafka broker, an S3 server, a schema
// registry, and readers that are not ours (the real Paimon, pypaimon, paimon-rust).
//
// The tests have the build tag integration, so that a plain go test needs no service; `make integration` runs them.
// They start the services on free ports of the loopback interface and stop them by pid, however the tests end:
// services/guard.sh waits for the end of its input, which also a killed test process brings about.
//
// What holds of a table is judged in this order:
//
//  1. its rows equal the source database's (testdata/*/*.expected.json.gz, read there with SQL); where an event does not
//     tell the truth, the difference is listed by name in differences_test.go;
//  2. its rows are the same by every reader;
//  3. its changelog, as a streaming reader gets it, folds to the rows of every snapshot (I1), with true pairs (I3): the
//     real Paimon's fsck replays it;
//  4. each Kafka record is in the changelog exactly once (I2, I7), proved by metadata columns with its coordinates.
package integration
