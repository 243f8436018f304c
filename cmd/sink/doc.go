// Command sink keeps Apache Paimon tables up to date with the change events that Debezium puts on Kafka topics.
//
// This package parses flags, wires the parts and is the only place that exits. A file is a subcommand:
//
//	run        the service: wire.go turns the configuration into the connector's, http.go serves metrics and health
//	check      would run start? what does each mapping do?
//	demo       an embedded broker, a shop's change events (shop.go), tables in a local folder
//	read       rows, as a batch reader sees them
//	changelog  changes, as a streaming reader sees them
//	inspect    schemas, snapshots with offsets, files
//	offsets    offsets by snapshot and group; rebase
//
// # What holds
//
//  1. Results go to stdout, logs and errors to stderr.
//  2. The exit code is 0 when done, 1 when something failed, 2 when flags, arguments or the configuration are wrong.
//  3. An error says what is wrong, where, and what to do; every problem of a configuration is told at once.
//  4. A second signal ends the process at once; the first one stops it gracefully.
//  5. Secrets are never printed.
package main
