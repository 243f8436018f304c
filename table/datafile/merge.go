package datafile

import (
	"errors"
	"fmt"
	"io"

	"sink/table"
	"sink/table/merge"
)

// MergeConfig says how sorted sources become one.
type MergeConfig struct {
	Fields []table.Field // the columns of the sources' batches
	Key    []int         // positions in Fields of the trimmed primary key, in key order

	SequenceFields []int // positions in Fields of sequence.field; nil: _SEQUENCE_NUMBER alone decides
	Descending     bool  // sequence.field.sort-order=descending

	// Engine makes one row of the rows of a key, for columns as Fields has them. Nil: the newest row stays.
	Engine *merge.Engine

	// KeepAll keeps all rows of a key, in their order, for another merge later.
	KeepAll bool

	// Copies is asked of each row group that lies between the rows of all other sources. If it is true, the group is not read, but
	// returned by Group. Nil: all are read, as they are with Engine, KeepAll or History.
	Copies func(*RowGroup) bool

	// History says that the levels of rows count. Nil: they do not.
	History *History
}

// Bounds of what a Merger holds: a batch of every source, and those whose rows are in what it returned last.
const (
	mergeBatchRows  = 1024
	maxSpentBatches = 64      // beyond one a source
	maxSpentBytes   = 4 << 20 // of wide rows, about
	maxMergeSources = 1 << 14
)

// errUnsorted tells of a source whose rows do not ascend: merging it would give wrong rows.
var errUnsorted = errors.New("rows are not sorted by key")

// Merger merges sorted sources into one sequence of rows, one a key, in key order. It has one owner.
type Merger struct {
	sources []*mergeInput
	tree    loserTree
	fields  []table.Field
	order   rowOrder
	engine  merge.Function // nil: the newest row stays
	keepAll bool
	history *History
	log     changeLog
	passing passing

	started bool
	open    int           // sources with rows to come that are not only looked at
	spent   []*mergeBatch // whose rows are all in what was returned last, or dropped
	held    int64         // bytes of wide rows in spent
	free    []*mergeBatch
	out     table.Rows
	used    []*mergeBatch // by index in out.Batches
	made    *mergeBatch   // rows that the engine made
	group   table.Rows
	levels  []int32   // with history: of the rows of group
	looks   []bool    // and whether they come from a source that is only looked at
	after   table.Ref // the row that stays
	err     error
}

// NewMerger returns a Merger that owns the sources: Close closes them. Their batches have the columns of cfg.Fields.
func NewMerger(cfg MergeConfig, sources []Source) (*Merger, error) {
	if len(sources) > maxMergeSources {
		return nil, fmt.Errorf("%d files to merge at once are more than %d", len(sources), maxMergeSources)
	}
	m := &Merger{engine: cfg.Engine.Function(), keepAll: cfg.KeepAll, order: newRowOrder(cfg), fields: cfg.Fields, history: cfg.History, open: len(sources)}
	if m.engine == nil && !m.keepAll && m.history == nil {
		m.passing = newPassing(cfg)
	}
	if m.engine != nil {
		m.made = &mergeBatch{rows: table.NewBatch(cfg.Fields), slot: -1}
	}
	if m.history != nil {
		m.open -= m.history.Below
		if m.history.Log {
			m.log.rows = table.NewBatch(cfg.Fields)
		}
	}
	for i, s := range sources {
		m.sources = append(m.sources, &mergeInput{source: s, index: i, merger: m, fields: cfg.Fields, looked: i >= m.open})
	}
	return m, nil
}

// NextRows returns the next rows, at most max and at least one, as references into the sources' batches, which stay as
// they are until the next call. After the last row it returns io.EOF. With KeepAll it may go beyond max, as it ends
// after some key. With History.Log there may be none, where there are changes, and with Copies, where there is a Group.
func (m *Merger) NextRows(max int) (table.Rows, error) {
	if m.err == nil {
		m.err = m.fill(min(max, table.MaxBatchRows))
	}
	if m.err != nil {
		return table.Rows{}, m.err
	}
	return m.out, nil
}

// Next is NextRows for those who want the rows in a batch of their own; see [Source].
func (m *Merger) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	rows, err := m.NextRows(max)
	if err != nil {
		return 0, err
	}
	AppendRows(dst, rows)
	*seqs = append(*seqs, rows.Seqs...)
	return rows.Len(), nil
}

// Close closes the sources.
func (m *Merger) Close() error {
	problems := make([]error, len(m.sources))
	for i, s := range m.sources {
		problems[i] = s.source.Close()
	}
	m.err = errors.Join(errors.New("the merger is closed"), m.err)
	return errors.Join(problems...)
}

// fill makes m.out.
func (m *Merger) fill(max int) error {
	m.forget()
	m.log.reset()
	if err := m.begin(); err != nil {
		return err
	}
	for len(m.out.Refs) < max && len(m.spent) < maxSpentBatches+len(m.sources) && m.held < maxSpentBytes && !m.log.full(max) {
		head := m.tree.winner()
		if head.done || m.open == 0 && m.history != nil {
			break
		}
		if head.group != nil {
			passes, err := m.pass(head)
			if err != nil {
				return err
			}
			if passes {
				break
			}
			continue
		}
		if err := m.mergeGroup(head); err != nil {
			return err
		}
		if len(m.out.Refs) == 0 {
			m.forget()
		}
	}
	if len(m.out.Refs) == 0 && len(m.log.seqs) == 0 && m.passing.of == nil {
		return io.EOF
	}
	return nil
}

// begin reads the first rows of the sources, or goes on behind the row group that was returned.
func (m *Merger) begin() error {
	if m.started {
		return m.passed()
	}
	m.started = true
	if len(m.sources) == 0 {
		return io.EOF
	}
	for _, s := range m.sources {
		if err := s.advance(); err != nil {
			return err
		}
	}
	m.tree.build(m.sources, m.order.less)
	return nil
}

// forget takes back the batches that the last rows referred to.
func (m *Merger) forget() {
	for _, b := range m.used {
		b.slot = -1
	}
	m.used = m.used[:0]
	m.out.Batches, m.out.Refs, m.out.Seqs = m.out.Batches[:0], m.out.Refs[:0], m.out.Seqs[:0]
	if m.made != nil {
		m.made.rows.Reset()
	}
	m.free = append(m.free, m.spent...)
	m.spent, m.held = m.spent[:0], 0
}

// mergeGroup takes all rows of the key at the head and appends the one that stays.
func (m *Merger) mergeGroup(head *mergeInput) error {
	g := &m.group
	g.Refs, g.Seqs = g.Refs[:0], g.Seqs[:0]
	m.levels, m.looks = m.levels[:0], m.looks[:0]
	first := m.order.remember(head)
	own := false
	for {
		g.Refs, g.Seqs = append(g.Refs, m.ref(head)), append(g.Seqs, head.seq)
		if m.history != nil {
			m.levels, m.looks = append(m.levels, head.level), append(m.looks, head.looked)
			own = own || !head.looked
		}
		if err := head.advance(); err != nil {
			return err
		}
		m.tree.replay(head.index)
		head = m.tree.winner()
		if head.done || head.group != nil || !m.order.sameKey(head, first) {
			break
		}
	}
	last := len(g.Refs) - 1
	switch {
	case m.keepAll:
		m.out.Refs, m.out.Seqs = append(m.out.Refs, g.Refs...), append(m.out.Seqs, g.Seqs...)
	case m.history != nil:
		return m.mergeHistory(g, own)
	case m.engine != nil && last > 0:
		return m.mergeRows(g)
	default:
		m.out.Refs, m.out.Seqs = append(m.out.Refs, g.Refs[last]), append(m.out.Seqs, g.Seqs[last])
	}
	return nil
}

// mergeRows appends what the engine makes of the rows of a key.
func (m *Merger) mergeRows(g *table.Rows) error {
	g.Batches = m.out.Batches
	kept, seq, err := m.engine.Merge(*g, m.made.rows)
	switch {
	case err != nil:
		return err
	case kept == merge.Made:
		m.out.Refs, m.out.Seqs = append(m.out.Refs, m.refTo(m.made, m.made.rows.Len()-1)), append(m.out.Seqs, seq)
	case kept != merge.None:
		m.out.Refs, m.out.Seqs = append(m.out.Refs, g.Refs[kept]), append(m.out.Seqs, g.Seqs[kept])
	}
	return nil
}

// ref returns the reference to the row at the head of a source.
func (m *Merger) ref(s *mergeInput) table.Ref { return m.refTo(s.batch, s.row) }

func (m *Merger) refTo(b *mergeBatch, row int) table.Ref {
	if b.slot < 0 {
		b.slot = len(m.used)
		m.used = append(m.used, b)
		m.out.Batches = append(m.out.Batches, b.rows)
	}
	return table.MakeRef(b.slot, row)
}

// mergeBatch is a run of rows of one source.
type mergeBatch struct {
	rows *table.Batch
	seqs []int64
	keys rowKeys
	slot int // in Merger.out, -1 if it is not there
}

// mergeInput is a source and the row at its head.
type mergeInput struct {
	source Source
	index  int
	merger *Merger
	fields []table.Field

	batch *mergeBatch
	row   int
	seq   int64
	key   keyView
	begun bool
	done  bool

	group *RowGroup // that comes next, in the place of a row, see passing.go; nil: there is a row
	edges rowKeys   // of the group: the bounds of its keys
	upper keyView   // no key of the group is greater; key is one that none is less than
	above bool      // all keys of the group are greater than key
	floor []byte    // memory of key, if so

	looked bool  // the source is only looked at
	level  int32 // of the file that the batch is of
}

// unsorted tells which file to look at, where the source knows.
func (s *mergeInput) unsorted() error {
	if n, ok := s.source.(interface{ Name() string }); ok {
		return fmt.Errorf("%s: %w", n.Name(), errUnsorted)
	}
	return errUnsorted
}

// advance goes on to the next row.
func (s *mergeInput) advance() error {
	if s.batch != nil && s.row+1 < s.batch.rows.Len() {
		s.row++
	} else if err := s.load(); err != nil || s.done || s.group != nil {
		return err
	}
	return s.show()
}

// show makes the row the head.
func (s *mergeInput) show() error {
	s.seq = s.batch.seqs[s.row]
	before := s.key.prefix
	s.merger.order.view(&s.key, &s.batch.keys, s.row)
	if s.begun && s.key.prefix < before {
		return s.unsorted()
	}
	s.begun = true
	return nil
}

// load goes on behind the last row of the batch: to a row group that may be passed over, or to its rows.
func (s *mergeInput) load() error {
	m := s.merger
	stands, err := s.stand()
	if s.batch != nil {
		m.spent = append(m.spent, s.batch)
		if s.batch.rows.Len() < mergeBatchRows { // the source gave fewer: they are wide, or its last
			m.held += s.batch.rows.SizeBytes()
		}
		s.batch = nil
	}
	if stands || err != nil {
		return err
	}
	return s.read()
}

// read reads the next batch.
func (s *mergeInput) read() error {
	m := s.merger
	b := m.newBatch(s.fields)
	n, err := s.source.Next(b.rows, &b.seqs, mergeBatchRows)
	if err == io.EOF {
		m.free = append(m.free, b)
		s.done = true
		if !s.looked {
			m.open--
		}
		return nil
	}
	if err != nil {
		return err
	}
	if n != b.rows.Len() || n != len(b.seqs) || n == 0 {
		return fmt.Errorf("a source of %d rows has %d in its batch", n, b.rows.Len())
	}
	m.order.encode(&b.keys, b.rows)
	s.batch, s.row = b, 0
	if l, ok := s.source.(interface{ Level() int32 }); ok {
		s.level = l.Level()
	}
	return nil
}

func (m *Merger) newBatch(fields []table.Field) *mergeBatch {
	if n := len(m.free); n > 0 {
		b := m.free[n-1]
		m.free = m.free[:n-1]
		b.rows.Reset()
		b.seqs, b.slot = b.seqs[:0], -1
		return b
	}
	return &mergeBatch{rows: table.NewBatch(fields), slot: -1}
}
