// Package compute evaluates small expressions over the rows of a batch: computed columns and row filters.
//
// # What holds
//
//  1. An expression is a function of its row alone: no clock, no random number, no time zone of the machine. A delete computes
//     the same key and partition as the insert before it, whoever reads them and when.
//  2. Types are known before the first row; a null operand gives a null.
//  3. A value that has no exact result is an error, never a wrap-around, a cut or a null.
//  4. Evaluating a row allocates nothing in the steady state. What is bound has one owner.
//
// # The functions
//
// They are those of Paimon's CDC ingestion (org.apache.paimon.flink.action.cdc.Expression): year, month, day, hour, minute,
// second, date_format, substring, truncate, cast, upper, lower, trim; and concat. Patterns of date_format are those of
// java.time.format.DateTimeFormatter, without the letters whose meaning depends on a language or on a week. Times are in
// UTC. substring counts characters, Paimon's counts UTF-16 units, which differ outside the Basic Multilingual Plane.
package compute
