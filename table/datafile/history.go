package datafile

import (
	"bytes"
	"math"

	"sink/table"
	"sink/table/merge"
)

// History says that the levels of rows count when those of a key become one, and what is told of the change.
//
// Two of Paimon's changelog producers need it. With full-compaction the row before is that of the highest level, and the row
// after what a full compaction makes of all (org.apache.paimon.mergetree.compact.FullChangelogMergeFunctionWrapper). With
// lookup the row before is that of the lowest level above 0, which has all of the levels above it merged in already
// (LookupChangelogMergeFunctionWrapper).
type History struct {
	// Lookup says that of a key's rows above level 0 only that of the lowest level counts: a compaction that brings rows up
	// from level 0 looks up the one before them and merges it in (LookupMergeFunction).
	Lookup bool
	// Below is how many of the sources, the last ones, are only looked at: keys that no other source has are passed over.
	Below int
	// Alone says that with Lookup the engine makes its row of a lone row, too.
	Alone bool

	Log bool  // Changes tells what became of each key
	Top int32 // without Lookup: the level that holds the rows before
	// First says that the engine is first-row, with Lookup: a key that is above level 0 already stays as it is
	// (FirstRowMergeFunctionWrapper).
	First bool
	// Compared are the columns that make a change: a row that is equal in all of them is not told. Nil: all rows are told.
	Compared []int
}

// changeLog is what a Merger has to tell of the rows that it returned last.
type changeLog struct {
	rows  *table.Batch
	seqs  []int64
	bytes int64 // of the cells that have no fixed width
}

func (l *changeLog) reset() {
	if l.rows != nil {
		l.rows.Reset()
		l.seqs, l.bytes = l.seqs[:0], 0
	}
}

// full reports whether the log has as many rows as were asked for, or as many bytes as a Merger may hold.
func (l *changeLog) full(max int) bool {
	return l.rows != nil && (len(l.seqs) >= max || l.bytes >= maxSpentBytes)
}

// add copies a row.
func (l *changeLog) add(k table.Kind, r mergedRow) {
	l.rows.AppendRow(r.batch, r.row)
	l.rows.Kinds[l.rows.Len()-1] = k
	l.seqs = append(l.seqs, r.seq)
	for c := range r.batch.Columns {
		if v := &r.batch.Columns[c]; v.Layout == table.Bytes {
			l.bytes += int64(len(v.Bytes(r.row)))
		}
	}
}

// mergedRow is a row before or after a merge. It is not there when its batch is nil.
type mergedRow struct {
	batch *table.Batch
	row   int
	seq   int64
}

// adds reports whether there is a row that a reader sees.
func (r mergedRow) adds() bool { return r.batch != nil && !r.batch.Kinds[r.row].Retracts() }

// Changes returns what became of the keys that the last call of NextRows went through: +I, -D, or -U and +U of each that has
// changed, in key order. It is empty without History.Log. The rows are good until the next call of NextRows.
func (m *Merger) Changes() table.Rows {
	if m.log.rows == nil || m.log.rows.Len() == 0 {
		return table.Rows{}
	}
	return table.AllOf(m.log.rows, m.log.seqs)
}

// mergeHistory makes one row of the rows of a key, whose levels are m.levels.
func (m *Merger) mergeHistory(g *table.Rows, own bool) error {
	h := m.history
	if !own {
		return nil
	}
	g.Batches = m.out.Batches
	if h.First {
		return m.mergeFirst(g)
	}
	before, raised := m.findBefore(g)
	var was mergedRow
	if before >= 0 {
		was = rowOf(g, before)
	}
	after, err := m.mergeLevels(g)
	if err != nil {
		return err
	}
	if after.batch != nil {
		m.out.Refs, m.out.Seqs = append(m.out.Refs, m.after), append(m.out.Seqs, after.seq)
	}
	if h.Log && raised {
		m.tell(was, after)
	}
	return nil
}

// mergeFirst keeps the first row of a key, unless a level that stays has one.
func (m *Merger) mergeFirst(g *table.Rows) error {
	n, raised, below := 0, true, false
	for i, level := range m.levels {
		if m.looks[i] {
			below = true
			continue
		}
		raised = raised && level == 0
		g.Refs[n], g.Seqs[n] = g.Refs[i], g.Seqs[i]
		n++
	}
	g.Refs, g.Seqs = g.Refs[:n], g.Seqs[:n]
	if below && raised {
		return nil
	}
	first, err := m.mergeLevels(g)
	if err != nil || first.batch == nil {
		return err
	}
	m.out.Refs, m.out.Seqs = append(m.out.Refs, m.after), append(m.out.Seqs, first.seq)
	if m.history.Log && raised {
		m.log.add(first.batch.Kinds[first.row], first)
	}
	return nil
}

// findBefore returns which row of a key is the one before, -1 for none, and whether there are others that may change it. With
// Lookup it leaves only the rows that count.
func (m *Merger) findBefore(g *table.Rows) (before int, raised bool) {
	before = -1
	if !m.history.Lookup {
		for i, level := range m.levels {
			if level == m.history.Top {
				before = i
			}
		}
		return before, len(m.levels) > 1 || before < 0
	}
	for i, level := range m.levels {
		if level == 0 {
			raised = true
		} else if before < 0 || level < m.levels[before] {
			before = i
		}
	}
	n, kept := 0, -1
	for i, level := range m.levels {
		if level != 0 && i != before {
			continue
		}
		if i == before {
			kept = n
		}
		g.Refs[n], g.Seqs[n] = g.Refs[i], g.Seqs[i]
		n++
	}
	g.Refs, g.Seqs = g.Refs[:n], g.Seqs[:n]
	return kept, raised
}

// mergeLevels returns what the engine makes of the rows, and remembers the reference to it.
func (m *Merger) mergeLevels(g *table.Rows) (mergedRow, error) {
	last := len(g.Refs) - 1
	if m.engine == nil || last == 0 && !m.history.Alone {
		m.after = g.Refs[last]
		return rowOf(g, last), nil
	}
	kept, seq, err := m.engine.Merge(*g, m.made.rows)
	switch {
	case err != nil || kept == merge.None:
		return mergedRow{}, err
	case kept == merge.Made:
		at := m.made.rows.Len() - 1
		m.after = m.refTo(m.made, at)
		return mergedRow{m.made.rows, at, seq}, nil
	}
	m.after = g.Refs[kept]
	return rowOf(g, kept), nil
}

func rowOf(g *table.Rows, i int) mergedRow {
	ref := g.Refs[i]
	return mergedRow{g.Batches[ref.Batch()], ref.Row(), g.Seqs[i]}
}

// tell puts into the log what became of a key.
func (m *Merger) tell(was, is mergedRow) {
	switch {
	case !was.adds() && is.adds():
		m.log.add(table.Insert, is)
	case was.adds() && !is.adds():
		m.log.add(table.Delete, was)
	case was.adds() && !m.history.same(m.fields, was, is):
		m.log.add(table.UpdateBefore, was)
		m.log.add(table.UpdateAfter, is)
	}
}

// same reports whether rows are equal in the columns that are compared.
func (h *History) same(fields []table.Field, a, b mergedRow) bool {
	if h.Compared == nil {
		return false
	}
	for _, c := range h.Compared {
		if !sameCell(fields[c].Type, &a.batch.Columns[c], a.row, &b.batch.Columns[c], b.row) {
			return false
		}
	}
	return true
}

// sameCell reports whether Java finds two values equal (org.apache.paimon.codegen.RecordEqualiser): no NaN is.
func sameCell(t table.Type, a *table.Vector, i int, b *table.Vector, j int) bool {
	switch {
	case a.IsNull(i) || b.IsNull(j):
		return a.IsNull(i) && b.IsNull(j)
	case t.Root == table.Float:
		return math.Float32frombits(uint32(a.Words[i])) == math.Float32frombits(uint32(b.Words[j]))
	case t.Root == table.Double:
		return math.Float64frombits(uint64(a.Words[i])) == math.Float64frombits(uint64(b.Words[j]))
	case a.Layout == table.Words:
		return a.Words[i] == b.Words[j]
	}
	return bytes.Equal(a.Bytes(i), b.Bytes(j))
}

// Ahead returns the row of the least key at the heads of the sources that are not only looked at; nil when they have come to
// their end. Whoever opens one of the others may leave out what lies before it, see [Reader.Keep].
func (m *Merger) Ahead() (*table.Batch, int) {
	var least *mergeInput
	for _, s := range m.sources {
		if !s.looked && s.begun && !s.done && (least == nil || m.order.less(s, least)) {
			least = s
		}
	}
	if least == nil {
		return nil, 0
	}
	return least.batch.rows, least.row
}
