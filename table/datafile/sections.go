package datafile

import (
	"bytes"
	"container/heap"
	"fmt"
	"slices"

	"sink/table"
)

// Run is a sorted run: files in key order whose ranges do not overlap.
type Run []*table.File

// Section is a set of runs. Its key range overlaps that of no other section (org.apache.paimon.mergetree.compact.
// IntervalPartition).
type Section []Run

// KeyRange is the first and the last key of a file in an encoding whose bytes.Compare order is the key order.
type KeyRange struct{ Min, Max []byte }

// KeyRanges encodes the keys of a table's files. It is safe for concurrent use.
type KeyRanges struct {
	types   []table.Type
	encoder *table.KeyEncoder
}

// NewKeyRanges returns the KeyRanges of a table.
func NewKeyRanges(s *table.Schema) *KeyRanges {
	types := s.TypesOf(s.Indexes(s.TrimmedPrimaryKeys()))
	columns := make([]int, len(types))
	for i := range columns {
		columns[i] = i
	}
	return &KeyRanges{types, table.NewKeyEncoder(types, columns)}
}

func (k *KeyRanges) encode(row []byte) ([]byte, error) {
	b, err := table.DecodeRow(row, k.types)
	if err != nil {
		return nil, err
	}
	return k.encoder.Append([]byte{}, b, 0), nil
}

// Of returns the range of a file. It is an error when its keys cannot be read, or are the wrong way round.
func (k *KeyRanges) Of(f *table.File) (KeyRange, error) {
	lo, err := k.encode(f.MinKey)
	if err != nil {
		return KeyRange{}, fmt.Errorf("file %s: first key: %w", f.Name, err)
	}
	hi, err := k.encode(f.MaxKey)
	if err != nil {
		return KeyRange{}, fmt.Errorf("file %s: last key: %w", f.Name, err)
	}
	if bytes.Compare(lo, hi) > 0 {
		return KeyRange{}, fmt.Errorf("file %s: its first key is behind its last", f.Name)
	}
	return KeyRange{lo, hi}, nil
}

// rangedFile is a file with its key range.
type rangedFile struct {
	file *table.File
	KeyRange
}

// Sections cuts files of one bucket into sections, in key order, and each section into as few runs as can be. The result
// refers to the files given.
func (k *KeyRanges) Sections(files []table.File) ([]Section, error) {
	ranged := make([]rangedFile, len(files))
	for i := range files {
		r, err := k.Of(&files[i])
		if err != nil {
			return nil, err
		}
		ranged[i] = rangedFile{&files[i], r}
	}
	slices.SortStableFunc(ranged, func(a, b rangedFile) int {
		if c := bytes.Compare(a.Min, b.Min); c != 0 {
			return c
		}
		return bytes.Compare(a.Max, b.Max)
	})
	var sections []Section
	start := 0
	var end []byte // the highest key since start
	for i, f := range ranged {
		if i > start && bytes.Compare(f.Min, end) > 0 {
			sections = append(sections, runsOf(ranged[start:i]))
			start, end = i, nil
		}
		if bytes.Compare(f.Max, end) > 0 {
			end = f.Max
		}
	}
	if start < len(ranged) {
		sections = append(sections, runsOf(ranged[start:]))
	}
	return sections, nil
}

// runsOf puts each file, in key order, into the run that ends first, if it ends before the file begins.
func runsOf(files []rangedFile) Section {
	var open openRuns
	for _, f := range files {
		if len(open) > 0 && bytes.Compare(open[0].max, f.Min) < 0 {
			open[0].files = append(open[0].files, f.file)
			open[0].max = f.Max
			heap.Fix(&open, 0)
		} else {
			heap.Push(&open, &openRun{Run{f.file}, f.Max})
		}
	}
	runs := make(Section, len(open))
	for i, r := range open {
		runs[i] = r.files
	}
	return runs
}

type openRun struct {
	files Run
	max   []byte
}

// openRuns is a heap of runs by their last key.
type openRuns []*openRun

func (h openRuns) Len() int           { return len(h) }
func (h openRuns) Less(i, j int) bool { return bytes.Compare(h[i].max, h[j].max) < 0 }
func (h openRuns) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *openRuns) Push(x any)        { *h = append(*h, x.(*openRun)) }
func (h *openRuns) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
