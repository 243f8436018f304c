package verify

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"sink/table"
	"sink/table/merge"
)

// remerge makes rows of what was written, as the merge engine does: of the row that a key has and its changes of a snapshot, by
// sequence.field, then by sequence number, it makes the row that the key has then.
//
// Where Paimon itself gives one row or another, depending on which files were merged first, the entry becomes doubtful: a key that comes
// back after its last row took it away (a compaction may have dropped that row, or not); a retraction for a function that does not
// undo what it did before in any grouping; one that removes the whole row, which is forgotten when a newer row of the same file
// follows it; functions in sequence groups, which rows may reach out of order; and a change that sequence.field puts before the row that is
// there, since that row stands where the newest of those that it was made of stood.
type remerge struct {
	function   merge.Function // nil: the newest row stays
	sequence   []*table.KeyEncoder
	descending bool
	inexact    bool // a retraction makes a key doubtful
	unordered  bool // so do several changes of any kind

	held    *table.Batch // the rows of the entries, and some that are not any more
	changes *table.Batch // of a snapshot
	waiting []change
	scratch *table.Batch // the rows of a key
	made    *table.Batch
	fields  []table.Field

	keyBytes int64 // of waiting
}

// change is a row that waits to be merged.
type change struct {
	key   string
	order string // sequence.field and sequence number
	seq   int64
	row   int
}

// remergeRows is how many rows of a key are merged at once.
const remergeRows = 1024

// rebuildRows is how many rows that no entry has are held before they are dropped.
const rebuildRows = 4096

func newRemerge(s *table.Schema) (*remerge, error) {
	all := make([]int, len(s.Fields))
	for i := range all {
		all[i] = i
	}
	engine, err := merge.New(s, all)
	if err != nil {
		return nil, err
	}
	m := &remerge{
		function: engine.Function(), descending: strings.EqualFold(s.Option("sequence.field.sort-order"), "descending"), fields: s.Fields,
		held: table.NewBatch(s.Fields), changes: table.NewBatch(s.Fields), scratch: table.NewBatch(s.Fields), made: table.NewBatch(s.Fields),
	}
	for _, c := range s.Indexes(s.SequenceFields()) {
		t := s.Fields[c].Type.Nullable() // a null is the oldest, and strings have an end
		m.sequence = append(m.sequence, table.NewKeyEncoder([]table.Type{t}, []int{c}))
	}
	if m.inexact, err = retractsInexactly(s); err != nil {
		return nil, err
	}
	m.unordered = m.inexact && s.MergeEngine() == table.PartialUpdate
	return m, nil
}

// retractsInexactly reports whether the engine may give another row for another grouping of the same rows when there are retractions
// among them.
func retractsInexactly(s *table.Schema) (bool, error) {
	for _, key := range []string{"partial-update.remove-record-on-delete", "aggregation.remove-record-on-delete"} {
		if removes, err := s.OptionBool(key); err != nil || removes {
			return removes, err
		}
	}
	if s.Option("partial-update.remove-record-on-sequence-group") != "" {
		return true, nil
	}
	var groups []table.SequenceGroup
	switch s.MergeEngine() {
	case table.PartialUpdate:
		var err error
		if groups, err = s.SequenceGroups(); err != nil {
			return false, err
		}
	case table.Aggregation:
	default:
		return false, nil
	}
	found, problems := s.Aggregates(groups)
	for _, err := range problems {
		return false, err
	}
	return slices.ContainsFunc(found, func(a *table.Aggregate) bool {
		return a != nil && !a.IgnoreRetract && a.Function != "sum" && a.Function != table.PrimaryKeyFunction
	}), nil
}

// orderOf returns what a row is ordered by among those of its key.
func (m *remerge) orderOf(b *table.Batch, i int, seq int64) string {
	var dst []byte
	for _, e := range m.sequence {
		at := len(dst)
		dst = e.Append(dst, b, i)
		if m.descending {
			for j := at + 1; j < len(dst); j++ { // behind the mark: a null loses in both orders
				dst[j] = ^dst[j]
			}
		}
	}
	return string(binary.BigEndian.AppendUint64(dst, uint64(seq)^1<<63))
}

// put makes a row that of an entry.
func (m *remerge) put(e *entry, b *table.Batch, i int) {
	m.held.AppendRow(b, i)
	e.row, e.gone = m.held.Len()-1, b.Kinds[i].Retracts()
}

// add takes a change.
func (m *remerge) add(key string, b *table.Batch, i int, seq int64) {
	m.changes.AppendRow(b, i)
	order := m.orderOf(b, i, seq)
	m.waiting = append(m.waiting, change{key, order, seq, m.changes.Len() - 1})
	m.keyBytes += changeBytes + int64(len(key)+len(order))
}

// waitingBytes returns the memory that the changes take.
func (m *remerge) waitingBytes() int64 { return m.changes.SizeBytes() + m.keyBytes }

// finish merges the changes of a snapshot into the rows of p, and forgets them.
func (m *remerge) finish(p *bucketReplay) error {
	slices.SortStableFunc(m.waiting, func(a, b change) int { return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.order, b.order)) })
	for from := 0; from < len(m.waiting); {
		to := from + 1
		for to < len(m.waiting) && m.waiting[to].key == m.waiting[from].key {
			to++
		}
		if err := m.mergeKey(p, m.waiting[from:to]); err != nil {
			return err
		}
		from = to
	}
	m.waiting, m.changes, m.keyBytes = nil, table.NewBatch(m.fields), 0
	if m.held.Len() > 2*len(p.rows)+rebuildRows {
		held := table.NewBatch(m.fields)
		for _, e := range p.rows {
			held.AppendRow(m.held, e.row)
			e.row = held.Len() - 1
		}
		m.held = held
	}
	return nil
}

// mergeKey merges the changes of a key, in their order.
func (m *remerge) mergeKey(p *bucketReplay, changes []change) error {
	key := changes[0].key
	e := p.rows[key]
	m.scratch.Reset()
	doubtful, place := m.unordered && len(changes) > 1, -1
	if e != nil {
		// The row that is there is older than a change with the same sequence.field.
		order := m.orderOf(m.held, e.row, math.MinInt64)
		place, _ = slices.BinarySearchFunc(changes, order, func(c change, order string) int { return strings.Compare(c.order, order) })
		doubtful = e.gone || m.unordered || m.function != nil && place > 0
	}
	var seqs []int64
	take := func(b *table.Batch, i int, seq int64) error {
		m.scratch.AppendRow(b, i)
		if seqs = append(seqs, seq); len(seqs) < remergeRows {
			return nil
		}
		return m.reduce(&seqs)
	}
	for i, c := range changes {
		if i == place {
			if err := take(m.held, e.row, math.MinInt64); err != nil {
				return err
			}
		}
		doubtful = doubtful || m.inexact && m.changes.Kinds[c.row].Retracts()
		if err := take(m.changes, c.row, c.seq); err != nil {
			return err
		}
	}
	if place == len(changes) {
		if err := take(m.held, e.row, math.MinInt64); err != nil {
			return err
		}
	}
	if err := m.reduce(&seqs); err != nil {
		return err
	}
	if len(seqs) == 0 { // nothing is left
		p.remove(key)
		return nil
	}
	if err := p.put(key, p.textOf(m.scratch, 0)); err != nil {
		return err
	}
	e = p.rows[key]
	e.doubtful = e.doubtful || doubtful
	m.put(e, m.scratch, 0)
	return nil
}

// reduce makes one row, or none, of those in scratch. A row that is alone stays as it is.
func (m *remerge) reduce(seqs *[]int64) error {
	n := len(*seqs)
	if n < 2 {
		return nil
	}
	kept, seq := n-1, (*seqs)[n-1]
	m.made.Reset()
	if m.function != nil {
		var err error
		if kept, seq, err = m.function.Merge(table.AllOf(m.scratch, *seqs), m.made); err != nil {
			return err
		}
	}
	switch {
	case kept >= 0:
		m.made.Reset()
		m.made.AppendRow(m.scratch, kept)
		seq = (*seqs)[kept]
	case kept == merge.None:
		m.made.Reset()
	}
	m.scratch, m.made = m.made, m.scratch
	*seqs = (*seqs)[:0]
	if kept != merge.None {
		*seqs = append(*seqs, seq)
	}
	return nil
}
