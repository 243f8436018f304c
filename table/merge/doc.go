// Package merge makes one row of the rows of a key: the merge engines (org.apache.paimon.mergetree.compact.MergeFunction and
// its kinds). The buffer of a flush, a compaction and a merge on read all use it, so that they give the same row.
//
//	deduplicate     the newest row stays; with ignore-delete the newest that takes nothing away
//	first-row       the oldest row stays
//	partial-update  a newer row overwrites what it knows; sequence groups are compared by columns of their own
//	aggregation     each column has a function
//
// An example of partial-update, oldest row first, with fields.g.sequence-group=b:
//
//	id  a     g  b        a: null changes nothing
//	1   x     2  old      g, b: 1 is lower than 2, so b stays
//	1   null  1  older
//	1   y     3  null     g, b: 3 is not lower, so b becomes null
//	1   y     3  null     the result, of kind +I
//
// # What always holds
//
//  1. A row that is alone with its key stays as it is, whatever its kind (ReducerMergeFunctionWrapper): nobody asks this package.
//  2. The result has the sequence number of the newest row that took part.
//  3. Values are typed vectors' cells all the way: nothing is boxed, and a Function's memory is used again for the next key.
//  4. What of the columns of a table is read does not change the result: [Needs] tells what has to be read beside.
//
// # Where Paimon's versions differ, or the order is Java's
//
// The functions are those of Paimon 1.3. A sum or product that its column cannot hold is an error, as in Paimon 2.1; 1.3
// wraps around, and cuts or nulls a DECIMAL. collect with distinct, and nested_update with a nested-key, give their
// elements in the order in which they came; Java gives that of a HashMap, which means nothing.
package merge
