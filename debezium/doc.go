// Package debezium turns Kafka records that Debezium wrote into rows of a table.
package debezium
