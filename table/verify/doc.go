// Package verify checks a table: that all its files are there and hold what is said of them, and that its changelog, applied
// from a snapshot on as the merge engine does, gives the rows of each later one (I1).
//
// It reads every snapshot, tag and long-lived changelog, every manifest and every file that they reach, with the sink's own
// readers, and reports findings by code. It changes nothing, and needs no other program to be right about the format.
//
//	fault    a reader would fail, or see wrong rows, or another writer would
//	warning  legal, but seldom meant: see [Warning]
//	orphan   a file that nothing reaches
//
// The codes are those of Paimon's own notions: "manifest-size", "key-order", "level-overlap", "replay" and so on.
//
// Where Paimon's own result depends on which files were merged first, a difference is a warning ("replay-order"). What is not replayed,
// tables with record-level.expire-time and those that package scan does not read, is told.
//
// What it cannot know: a value that is changed alike in data and changelog, a last snapshot that was lost together with its
// hint, statistics that are too wide.
package verify
