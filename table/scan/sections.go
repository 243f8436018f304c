package scan

import (
	"bytes"
	"container/heap"
	"fmt"
	"slices"

	"sink/table"
)

// run is a sorted run: files in key order whose ranges do not overlap.
type run []*table.File

// section is a set of runs. Its key range overlaps that of no other section.
type section []run

// keyedFile is a file with its first and last key in an order-preserving encoding.
type keyedFile struct {
	file     *table.File
	min, max []byte
}

// keyRange encodes the keys of files.
type keyRange struct {
	types   []table.Type
	encoder *table.KeyEncoder
}

func newKeyRange(s *table.Schema) *keyRange {
	types := s.TypesOf(s.Indexes(s.TrimmedPrimaryKeys()))
	columns := make([]int, len(types))
	for i := range columns {
		columns[i] = i
	}
	return &keyRange{types, table.NewKeyEncoder(types, columns)}
}

func (k *keyRange) encode(row []byte) ([]byte, error) {
	b, err := table.DecodeRow(row, k.types)
	if err != nil {
		return nil, err
	}
	return k.encoder.Append(nil, b, 0), nil
}

func (k *keyRange) of(f *table.File) (keyedFile, error) {
	lo, err := k.encode(f.MinKey)
	if err != nil {
		return keyedFile{}, fmt.Errorf("file %s: first key: %w", f.Name, err)
	}
	hi, err := k.encode(f.MaxKey)
	if err != nil {
		return keyedFile{}, fmt.Errorf("file %s: last key: %w", f.Name, err)
	}
	if bytes.Compare(lo, hi) > 0 {
		return keyedFile{}, fmt.Errorf("file %s: its first key is behind its last", f.Name)
	}
	return keyedFile{f, lo, hi}, nil
}

// sectionsOf cuts the files of a bucket into sections, in key order, and each section into as few runs as can be.
func sectionsOf(files []table.File, k *keyRange) ([]section, error) {
	keyed := make([]keyedFile, len(files))
	for i := range files {
		var err error
		if keyed[i], err = k.of(&files[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(keyed, func(a, b keyedFile) int {
		if c := bytes.Compare(a.min, b.min); c != 0 {
			return c
		}
		return bytes.Compare(a.max, b.max)
	})
	var sections []section
	start := 0
	var end []byte // the highest key since start
	for i, f := range keyed {
		if i > start && bytes.Compare(f.min, end) > 0 {
			sections = append(sections, runsOf(keyed[start:i]))
			start, end = i, nil
		}
		if bytes.Compare(f.max, end) > 0 {
			end = f.max
		}
	}
	if start < len(keyed) {
		sections = append(sections, runsOf(keyed[start:]))
	}
	return sections, nil
}

// runsOf puts each file, in key order, into the run that ends first, if it ends before the file begins.
func runsOf(files []keyedFile) section {
	var open openRuns
	for _, f := range files {
		if len(open) > 0 && bytes.Compare(open[0].max, f.min) < 0 {
			open[0].files = append(open[0].files, f.file)
			open[0].max = f.max
			heap.Fix(&open, 0)
		} else {
			heap.Push(&open, &openRun{run{f.file}, f.max})
		}
	}
	runs := make(section, len(open))
	for i, r := range open {
		runs[i] = r.files
	}
	return runs
}

type openRun struct {
	files run
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
