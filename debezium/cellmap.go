package debezium

import (
	"bytes"
	"cmp"
	"slices"

	"sink/table"
)

// entries are those of the MAP that a cell is reading: where they are in the data of its vector.
type entries struct {
	spans []span
	order []int // of more than fewEntries: by key, then by place
	buf   []byte
}

// span is one entry: its key ends where its value begins.
type span struct {
	start, value, end int
	take              int // the entry whose value it has in the end; -1: the key was there before
}

// fewEntries are compared each with each.
const fewEntries = 8

// once makes keys that occur twice occur once, with the value that came last, where they were first: as in the maps of Java, into
// which Jackson and Avro read such a value.
func (e *entries) once(v *table.Vector) {
	if len(e.spans) < 2 || len(e.spans) <= fewEntries && !e.repeated(v.Data) {
		return
	}
	if !e.settle(v.Data) {
		return
	}
	e.buf = append(e.buf[:0], v.Data...)
	v.Data = v.Data[:e.spans[0].start]
	for _, s := range e.spans {
		if s.take >= 0 {
			v.Data = append(v.Data, e.buf[s.start:s.value]...)
			v.Data = append(v.Data, e.buf[e.spans[s.take].value:e.spans[s.take].end]...)
		}
	}
}

// repeated reports whether a key of a few occurs twice.
func (e *entries) repeated(data []byte) bool {
	for i, s := range e.spans {
		for _, o := range e.spans[:i] {
			if bytes.Equal(data[s.start:s.value], data[o.start:o.value]) {
				return true
			}
		}
	}
	return false
}

// settle finds out which value each entry takes, and reports whether a key occurs twice.
func (e *entries) settle(data []byte) (twice bool) {
	key := func(i int) []byte { return data[e.spans[i].start:e.spans[i].value] }
	e.order = e.order[:0]
	for i := range e.spans {
		e.order = append(e.order, i)
	}
	slices.SortFunc(e.order, func(a, b int) int { return cmp.Or(bytes.Compare(key(a), key(b)), a-b) })
	for i, k := 0, 0; i < len(e.order); i = k {
		for k = i + 1; k < len(e.order) && bytes.Equal(key(e.order[i]), key(e.order[k])); k++ {
			e.spans[e.order[k]].take, twice = -1, true
		}
		e.spans[e.order[i]].take = e.order[k-1]
	}
	return twice
}
