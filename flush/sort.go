package flush

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"sink/table"
)

// order is how the rows of a bucket are sorted: by the trimmed primary key, then by sequence.field, then by arrival.
type order struct {
	arrival    bool // an append table: by nothing else
	key        *table.KeyEncoder
	sequence   []*table.KeyEncoder // one a column of sequence.field; nil marks come first
	descending bool
}

func newOrder(s *table.Schema) order {
	key := s.Indexes(s.TrimmedPrimaryKeys())
	o := order{arrival: s.Append(), key: table.NewKeyEncoder(s.TypesOf(key), key), descending: s.Option("sequence.field.sort-order") == "descending"}
	for _, c := range s.Indexes(s.SequenceFields()) {
		t := s.Fields[c].Type
		t.NotNull = false // so that nulls have a mark and strings an end
		o.sequence = append(o.sequence, table.NewKeyEncoder([]table.Type{t}, []int{c}))
	}
	return o
}

// appendSequence appends the sequence.field of a row as bytes that compare as its age does. A null is older than all
// others in both orders.
func (o *order) appendSequence(dst []byte, b *table.Batch, row int) []byte {
	for _, e := range o.sequence {
		at := len(dst)
		dst = e.Append(dst, b, row)
		if o.descending {
			for i := at + 1; i < len(dst); i++ { // behind the mark
				dst[i] = ^dst[i]
			}
		}
	}
	return dst
}

// item is a row to sort: by a number that orders as the keys do as far as it goes, then by the key in the arena.
type item struct {
	number uint64
	ref    table.Ref
	at     uint32 // index of the key's end in sorter.ends
}

// sorter sorts the rows of a bucket, and is the memory for it, used again and again: 32 bytes a row, and for keys that are
// no single number their bytes.
type sorter struct {
	items, spare []item
	arena        []byte // keys
	ends         []int  // of the keys in the arena, after a 0
	common       int    // bytes that all keys begin with
	exact        bool   // equal numbers are equal keys

	window group
	rivals []rival
	merger *merger
}

// smallSort is up to how many rows a comparison sort is faster than a radix sort.
const smallSort = 256

// sort sorts rows that come in the order of arrival and reports whether a key is there more than once. The rows are
// read with next.
func (s *sorter) sort(o *order, chunks []*table.Batch, refs []table.Ref) (repeats bool) {
	s.items = slices.Grow(s.items[:0], len(refs))[:len(refs)]
	if o.arrival {
		for i, r := range refs {
			s.items[i] = item{number: uint64(i), ref: r} // each row is a key of its own
		}
		s.exact = true
		return false
	}
	if o.key.IsUint64() {
		for i, r := range refs {
			s.items[i] = item{number: o.key.Uint64(chunks[r.Batch()], r.Row()), ref: r}
		}
		s.exact = true
	} else {
		s.encode(o.key, chunks, refs)
	}
	s.sortNumbers()
	if !s.exact {
		s.sortTies()
	}
	for i := 1; i < len(s.items) && !repeats; i++ {
		repeats = s.sameKey(s.items[i-1], s.items[i])
	}
	if repeats && o.sequence != nil {
		s.sortSequence(o, chunks)
	}
	return repeats
}

// encode puts the keys into the arena, and the 8 bytes behind what all have in common into the items.
func (s *sorter) encode(key *table.KeyEncoder, chunks []*table.Batch, refs []table.Ref) {
	s.arena, s.ends = s.arena[:0], append(s.ends[:0], 0)
	longest := 0
	for _, r := range refs {
		at := len(s.arena)
		s.arena = key.Append(s.arena, chunks[r.Batch()], r.Row())
		s.ends = append(s.ends, len(s.arena))
		longest = max(longest, len(s.arena)-at)
	}
	lead := s.arena[:s.ends[min(1, len(refs))]]
	for i := 1; i < len(refs); i++ {
		k := s.arena[s.ends[i]:s.ends[i+1]]
		n := 0
		for n < len(lead) && n < len(k) && lead[n] == k[n] {
			n++
		}
		lead = lead[:n]
	}
	s.common = len(lead)
	for i, r := range refs {
		s.items[i] = item{number: number8(s.arena[s.ends[i]+s.common : s.ends[i+1]]), ref: r, at: uint32(i)}
	}
	s.exact = key.FixedWidth() >= 0 && longest-s.common <= 8
}

// number8 is the first 8 bytes as a number, zeros where there are less.
func number8(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var n uint64
	for i, c := range b {
		n |= uint64(c) << (56 - 8*i)
	}
	return n
}

// tail returns the key of an item behind what all keys have in common.
func (s *sorter) tail(i item) []byte { return s.arena[s.ends[i.at]+s.common : s.ends[i.at+1]] }

// sortNumbers sorts by number, and keeps the order of arrival among equals.
func (s *sorter) sortNumbers() {
	if len(s.items) <= smallSort {
		slices.SortFunc(s.items, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.ref, b.ref))
		})
		return
	}
	var counts [8][256]uint32
	ascending, before := true, s.items[0].number
	for i := range s.items {
		n := s.items[i].number
		ascending = ascending && before <= n
		before = n
		counts[0][byte(n)]++
		counts[1][byte(n>>8)]++
		counts[2][byte(n>>16)]++
		counts[3][byte(n>>24)]++
		counts[4][byte(n>>32)]++
		counts[5][byte(n>>40)]++
		counts[6][byte(n>>48)]++
		counts[7][byte(n>>56)]++
	}
	if ascending {
		return
	}
	if cap(s.spare) < len(s.items) {
		s.spare = make([]item, len(s.items))
	}
	s.spare = s.spare[:len(s.items)]
	for digit := range counts {
		s.scatter(8*digit, &counts[digit])
	}
}

// scatter moves the items into the order of one byte of their numbers, keeping the order among equals.
func (s *sorter) scatter(shift int, counts *[256]uint32) {
	if counts[byte(s.items[0].number>>shift)] == uint32(len(s.items)) {
		return // all have the same
	}
	var at uint32
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	for i := range s.items {
		d := byte(s.items[i].number >> shift)
		s.spare[counts[d]] = s.items[i]
		counts[d]++
	}
	s.items, s.spare = s.spare, s.items
}

// sortTies sorts the runs of equal numbers by the rest of their keys.
func (s *sorter) sortTies() {
	for from := 0; from < len(s.items); {
		to := from + 1
		for to < len(s.items) && s.items[to].number == s.items[from].number {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(s.items[from:to], func(a, b item) int {
				if c := bytes.Compare(s.tail(a), s.tail(b)); c != 0 {
					return c
				}
				return cmp.Compare(a.ref, b.ref)
			})
		}
		from = to
	}
}

// sameKey reports whether two items have the same key.
func (s *sorter) sameKey(a, b item) bool {
	return a.number == b.number && (s.exact || bytes.Equal(s.tail(a), s.tail(b)))
}

// rival is a row of a key that others have, too, with its sequence.field as bytes.
type rival struct {
	item item
	age  []byte
}

// sortSequence sorts the rows of each key by sequence.field, then by arrival.
func (s *sorter) sortSequence(o *order, chunks []*table.Batch) {
	for from := 0; from < len(s.items); {
		to := s.endOfKey(from)
		if to-from > 1 {
			s.rivals = s.rivals[:0]
			for _, it := range s.items[from:to] {
				s.rivals = append(s.rivals, rival{it, o.appendSequence(nil, chunks[it.ref.Batch()], it.ref.Row())})
			}
			slices.SortFunc(s.rivals, func(a, b rival) int {
				return cmp.Or(bytes.Compare(a.age, b.age), cmp.Compare(a.item.ref, b.item.ref))
			})
			for i, r := range s.rivals {
				s.items[from+i] = r.item
			}
		}
		from = to
	}
	clear(s.rivals)
}

// endOfKey returns where the rows of the key that begins at an item end.
func (s *sorter) endOfKey(from int) int {
	to := from + 1
	for to < len(s.items) && s.sameKey(s.items[from], s.items[to]) {
		to++
	}
	return to
}

// windowRows is about how many rows are handed to a file at once, so that there is no second list of all of them.
const windowRows = 32 << 10

// next returns the sorted rows from one on, numbered: row i of chunk c is first[c]+i. It ends after some key, and is
// valid until the next call. After the last row it is empty.
func (s *sorter) next(from int, chunks []*table.Batch, first []int64) *group {
	g := &s.window
	g.rows.Batches, g.rows.Refs, g.rows.Seqs, g.ends = chunks, g.rows.Refs[:0], g.rows.Seqs[:0], g.ends[:0]
	for from < len(s.items) && len(g.rows.Refs) < windowRows {
		to := s.endOfKey(from)
		for _, it := range s.items[from:to] {
			g.rows.Refs = append(g.rows.Refs, it.ref)
			g.rows.Seqs = append(g.rows.Seqs, first[it.ref.Batch()]+int64(it.ref.Row()))
		}
		g.ends = append(g.ends, len(g.rows.Refs))
		from = to
	}
	return g
}

// release forgets the rows but keeps the memory.
func (s *sorter) release() {
	s.window.rows.Batches = nil
	s.merger.release()
}
