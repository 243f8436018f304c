package datafile

import (
	"sink/table"
)

// MergeConfig says how sorted sources become one.
type MergeConfig struct {
	Fields []table.Field // the columns of the sources' batches
	Key    []int         // positions in Fields of the trimmed primary key, in key order

	SequenceFields []int // positions in Fields of sequence.field; nil: _SEQUENCE_NUMBER alone decides
	Descending     bool  // sequence.field.sort-order=descending

	// Pick returns the index in group of the row that stays, or -1 for none. group holds all rows of one key, oldest
	// first, at least one. Nil: [Last].
	Pick func(group table.Rows) int
}

// Last is the merge engine deduplicate: the newest row of a key stays, whatever its kind.
func Last(group table.Rows) int { return group.Len() - 1 }

// LastNotDeleted is deduplicate with ignore-delete: the newest row that takes nothing away stays.
func LastNotDeleted(group table.Rows) int {
	for i := group.Len() - 1; i >= 0; i-- {
		if !group.Kind(i).Retracts() {
			return i
		}
	}
	return -1
}

// Merger merges sorted sources into one sequence of rows, one a key, in key order.
type Merger struct{}

// NewMerger returns a Merger that owns the sources: Close closes them.
func NewMerger(cfg MergeConfig, sources []Source) (*Merger, error) { return &Merger{}, nil }

// NextRows returns the next rows, at most max and at least one, as references into the sources' batches, which stay as
// they are until the next call. After the last row it returns io.EOF.
func (m *Merger) NextRows(max int) (table.Rows, error) { return table.Rows{}, nil }

// Next is NextRows for those who want the rows in a batch of their own; see [Source].
func (m *Merger) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) { return 0, nil }

// Close closes the sources.
func (m *Merger) Close() error { return nil }

// Chain returns the rows of several sources one after the other: a sorted run of files with disjoint keys, of which one
// is open at a time.
func Chain(n int, open func(i int) (Source, error)) Source { return nil }
