package datafile

import (
	"bytes"
	"cmp"

	"sink/table"
)

// rowOrder compares rows of batches: by key, then by sequence.field, then by sequence number.
type rowOrder struct {
	key        *table.KeyEncoder
	words      bool // the key is a number of up to 8 bytes, which the prefix holds
	sequence   []*table.KeyEncoder
	descending bool

	last []byte // memory of remember
}

// rowKeys are the keys of a batch's rows.
type rowKeys struct {
	prefix    []uint64 // the first 8 bytes, big-endian; or the whole key
	data      []byte   // for each row the key, then the sequence fields
	keyEnds   []uint32
	fieldEnds []uint32
}

// keyView is the key of one row.
type keyView struct {
	prefix uint64
	key    []byte
	fields []byte
}

func newRowOrder(cfg MergeConfig) rowOrder {
	o := rowOrder{key: table.NewKeyEncoder(typesOf(cfg.Fields, cfg.Key), cfg.Key), descending: cfg.Descending}
	o.words = o.key.IsUint64()
	for _, c := range cfg.SequenceFields {
		// Nullable, so that a null comes before any value, and strings have an end even where nothing follows.
		t := cfg.Fields[c].Type.Nullable()
		o.sequence = append(o.sequence, table.NewKeyEncoder([]table.Type{t}, []int{c}))
	}
	return o
}

func typesOf(fields []table.Field, columns []int) []table.Type {
	out := make([]table.Type, len(columns))
	for i, c := range columns {
		out[i] = fields[c].Type
	}
	return out
}

// encode makes the keys of all rows of a batch.
func (o *rowOrder) encode(k *rowKeys, b *table.Batch) {
	k.prefix, k.data, k.keyEnds, k.fieldEnds = k.prefix[:0], k.data[:0], k.keyEnds[:0], k.fieldEnds[:0]
	for row := range b.Len() {
		if o.words {
			k.prefix = append(k.prefix, o.key.Uint64(b, row))
		} else {
			at := len(k.data)
			k.data = o.key.Append(k.data, b, row)
			k.prefix = append(k.prefix, bigEndian8(k.data[at:]))
			k.keyEnds = append(k.keyEnds, uint32(len(k.data)))
		}
		if o.sequence != nil {
			k.data = o.appendSequence(k.data, b, row)
			k.fieldEnds = append(k.fieldEnds, uint32(len(k.data)))
		}
	}
}

// appendSequence appends the sequence fields of a row so that a greater string wins. Descending turns the order of values
// around, but a null loses in both.
func (o *rowOrder) appendSequence(dst []byte, b *table.Batch, row int) []byte {
	for _, e := range o.sequence {
		at := len(dst)
		dst = e.Append(dst, b, row)
		if o.descending {
			for i := at + 1; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
		}
	}
	return dst
}

// view shows the key of a row.
func (o *rowOrder) view(v *keyView, k *rowKeys, row int) {
	v.prefix = k.prefix[row]
	start := uint32(0)
	if row > 0 {
		switch {
		case o.sequence != nil:
			start = k.fieldEnds[row-1]
		case !o.words:
			start = k.keyEnds[row-1]
		}
	}
	if !o.words {
		v.key = k.data[start:k.keyEnds[row]]
		start = k.keyEnds[row]
	}
	if o.sequence != nil {
		v.fields = k.data[start:k.fieldEnds[row]]
	}
}

// less tells whether the row at the head of a comes before that of b. A source that is done comes last.
func (o *rowOrder) less(a, b *mergeInput) bool {
	if a.done || b.done {
		return !a.done
	}
	if a.key.prefix != b.key.prefix {
		return a.key.prefix < b.key.prefix
	}
	if !o.words {
		if c := bytes.Compare(a.key.key, b.key.key); c != 0 {
			return c < 0
		}
	}
	if a.group != nil || b.group != nil {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.index, b.index)) < 0
	}
	if o.sequence != nil {
		if c := bytes.Compare(a.key.fields, b.key.fields); c != 0 {
			return c < 0
		}
	}
	if a.seq != b.seq {
		return a.seq < b.seq
	}
	return a.index < b.index
}

// remember returns the key at the head of a source, as long as nothing else is remembered.
func (o *rowOrder) remember(s *mergeInput) keyView {
	v := keyView{prefix: s.key.prefix}
	if !o.words {
		o.last = append(o.last[:0], s.key.key...)
		v.key = o.last
	}
	return v
}

// sameKey tells whether the row at the head of a source has a key.
func (o *rowOrder) sameKey(s *mergeInput, v keyView) bool {
	return s.key.prefix == v.prefix && (o.words || bytes.Equal(s.key.key, v.key))
}

// loserTree finds the least of many sources: an inner node holds the loser of the match there, so that after a change of
// the winner only the matches on its way up are played again.
type loserTree struct {
	inputs []*mergeInput
	less   func(a, b *mergeInput) bool
	losers []int // by inner node, from 1 on; 0 is the winner of all
}

func (t *loserTree) build(inputs []*mergeInput, less func(a, b *mergeInput) bool) {
	t.inputs, t.less = inputs, less
	t.losers = make([]int, len(inputs))
	for i := range t.losers {
		t.losers[i] = -1
	}
	for i := range inputs {
		t.replay(i)
	}
}

// replay plays the matches of input i again, up to the root. While the tree is built, the first to come to a node waits
// there.
func (t *loserTree) replay(i int) {
	for node := (i + len(t.inputs)) / 2; node > 0; node /= 2 {
		other := t.losers[node]
		if other < 0 {
			t.losers[node] = i
			return
		}
		if t.less(t.inputs[other], t.inputs[i]) {
			t.losers[node], i = i, other
		}
	}
	t.losers[0] = i
}

func (t *loserTree) winner() *mergeInput { return t.inputs[t.losers[0]] }
