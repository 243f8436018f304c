//go:build synctests

package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/table"
)

// item is a row of a source database.
type item struct {
	id     int64
	region string
	val    string
	extra  string // "" is null; the column appears in the course of the run
}

// change is what one record tells.
type change struct {
	op     byte // c, r, u, d; t: the tombstone after a delete; k: a tombstone alone; e: all rows went; x: poison; y: poison that tells its place in the log
	before *item
	after  *item
	lsn    int64 // place in the database's log; a delete and a create of a changed key share one
	again  bool  // sent once more
}

// sent is a record that the brokers have acknowledged, and that no transaction has taken back.
type sent struct {
	tp     table.TopicPartition
	offset int64
	source string // its table in the database
	change
}

// feed is one source table: its topic and the rows that it holds.
type feed struct {
	topic      string
	source     string // the table in the database; several may share a topic
	partitions int32
	grown      int32 // of them, those that came in the course of the run
	first      int64 // ids are first to first+ids-1; feeds of one table share none
	ids        int64
	lone       bool // sends tombstones without a delete
	rekeys     bool // sends updates that change the key
	poison     bool
	grows      bool // its topic gets partitions
	truncates  int  // one in so many events empties it; 0: none
	repeats    int  // one in so many sends the last events again, as after a restart of Debezium; 0: none

	rows  map[int64]*item
	owed  []int64 // deletes whose tombstones come with the next step
	wide  bool    // the extra column is there
	began bool    // a row was sent, and not taken back: the table is there, or will be before the next record
	count int64
}

// partition is where the records of a key go. When the topic grows keys move to the new partition only: of those that move between the old ones
// no reader could tell the order.
func (f *feed) partition(id int64) int32 {
	p := int32((id - f.first) % int64(f.partitions-f.grown))
	for n := f.partitions - f.grown; n < f.partitions; n++ {
		if (id+int64(n))%3 == 0 {
			p = n
		}
	}
	return p
}

// source produces the events of all feeds, in plain batches and in transactions, and remembers what was sent.
type source struct {
	t     *testing.T
	rnd   *rand.Rand
	feeds []*feed
	plain *kgo.Client
	txn   *kgo.Client
	log   []sent
	fresh []outgoing // of the step under way
	lsn   int64

	aborted int // transactions
}

type outgoing struct {
	feed   *feed
	record *kgo.Record
	change change
}

func newSource(t *testing.T, rnd *rand.Rand, feeds []*feed, opts ...kgo.Opt) *source {
	opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(0))
	plain, err := kgo.NewClient(opts...)
	require.NoError(t, err)
	txn, err := kgo.NewClient(append(opts, kgo.TransactionalID("source"), kgo.TransactionTimeout(10*time.Minute))...)
	require.NoError(t, err)
	for _, f := range feeds {
		f.rows = map[int64]*item{}
	}
	return &source{t: t, rnd: rnd, feeds: feeds, plain: plain, txn: txn}
}

func (s *source) close() {
	s.plain.Close()
	s.txn.Close()
}

// step sends up to n events of one feed, as they are or in a transaction that may be taken back.
func (s *source) step(n int) {
	f := s.feeds[s.rnd.IntN(len(s.feeds))]
	rows, owed := maps.Clone(f.rows), slices.Clone(f.owed)
	s.fresh = nil
	for _, id := range f.owed {
		s.emit(f, change{op: 't', before: &item{id: id}})
	}
	f.owed = nil
	for range 1 + s.rnd.IntN(n) {
		s.event(f)
	}
	if s.rnd.IntN(4) == 0 {
		s.last(f)
	}
	if s.rnd.IntN(3) > 0 {
		s.produce(s.plain)
		s.keep()
		return
	}
	require.NoError(s.t, s.txn.BeginTransaction())
	s.produce(s.txn)
	time.Sleep(time.Duration(s.rnd.IntN(3000)) * time.Millisecond)
	commits := s.rnd.IntN(4) > 0
	require.NoError(s.t, s.txn.EndTransaction(context.Background(), kgo.TransactionEndTry(commits)))
	if !commits {
		s.aborted++
		f.rows, f.owed = rows, owed
		return
	}
	s.keep()
}

// send sends events of given kinds: c, e, x.
func (s *source) send(f *feed, ops ...byte) {
	s.fresh = nil
	for _, op := range ops {
		f.count++
		s.lsn++
		switch op {
		case 'e':
			s.empty(f)
		case 'x':
			s.emit(f, change{op: 'x', before: &item{id: f.first}})
		case 'c':
			f.rows[f.first] = s.item(f, f.first)
			s.emit(f, change{op: 'c', after: f.rows[f.first]})
		}
	}
	s.produce(s.plain)
	s.keep()
}

func (s *source) produce(client *kgo.Client) {
	records := make([]*kgo.Record, len(s.fresh))
	for i := range s.fresh {
		records[i] = s.fresh[i].record
	}
	require.NoError(s.t, client.ProduceSync(context.Background(), records...).FirstErr())
}

func (s *source) keep() {
	for _, o := range s.fresh {
		if o.change.op == 'c' || o.change.op == 'r' {
			o.feed.began = true
		}
		s.log = append(s.log, sent{tp: table.TopicPartition{Topic: o.record.Topic, Partition: o.record.Partition}, offset: o.record.Offset, source: o.feed.source, change: o.change})
	}
}

func (s *source) emit(f *feed, c change) {
	it := c.after
	if it == nil {
		it = c.before
	}
	r := &kgo.Record{Topic: f.topic, Partition: f.partition(it.id), Key: keyText(it.id)}
	if c.op == 'e' {
		r.Key = nil
	}
	if !c.again {
		c.lsn = s.lsn
	}
	if c.op != 't' && c.op != 'k' {
		r.Value = eventText(f, c)
	}
	s.fresh = append(s.fresh, outgoing{f, r, c})
}

// event changes one row. Low ids are hot.
func (s *source) event(f *feed) {
	f.count++
	s.lsn++
	if f.truncates > 0 && s.rnd.IntN(f.truncates) == 0 {
		s.empty(f)
		return
	}
	if f.repeats > 0 && s.rnd.IntN(f.repeats) == 0 {
		s.repeat(f)
		return
	}
	if !f.wide && s.rnd.IntN(80) == 0 {
		f.wide = true
	}
	id := f.first + s.rnd.Int64N(s.rnd.Int64N(f.ids)+1)
	before := f.rows[id]
	if f.poison && s.rnd.IntN(40) == 0 {
		s.emit(f, change{op: "xy"[s.rnd.IntN(2)], before: &item{id: id}})
		return
	}
	if before == nil {
		if f.lone && f.began && s.rnd.IntN(10) == 0 {
			s.emit(f, change{op: 'k', before: &item{id: id}})
			return
		}
		op := byte('c')
		if s.rnd.IntN(5) == 0 {
			op = 'r'
		}
		f.rows[id] = s.item(f, id)
		s.emit(f, change{op: op, after: f.rows[id]})
		return
	}
	switch roll := s.rnd.IntN(100); {
	case roll < 60:
		f.rows[id] = s.item(f, id)
		s.emit(f, change{op: 'u', before: before, after: f.rows[id]})
	case roll < 80:
		s.remove(f, before)
	case roll < 85 && f.lone && f.began:
		delete(f.rows, id)
		s.emit(f, change{op: 'k', before: before})
	default:
		s.rekey(f, before)
	}
}

// rekey gives a row another id: as Debezium does, by a delete and a create, or in one update.
func (s *source) rekey(f *feed, before *item) {
	id := f.first + s.rnd.Int64N(f.ids)
	if f.rows[id] != nil || slices.Contains(f.owed, id) {
		return
	}
	after := s.item(f, id)
	if f.rekeys && s.rnd.IntN(2) == 0 {
		delete(f.rows, before.id)
		s.emit(f, change{op: 'u', before: before, after: after})
	} else {
		s.remove(f, before)
		s.emit(f, change{op: 'c', after: after})
	}
	f.rows[id] = after
}

// remove deletes a row. Its tombstone follows at once, or, as the last thing of a step, with the next.
func (s *source) remove(f *feed, before *item) {
	delete(f.rows, before.id)
	s.emit(f, change{op: 'd', before: before})
	s.emit(f, change{op: 't', before: before})
}

func (s *source) item(f *feed, id int64) *item {
	it := &item{id: id, region: []string{"eu", "us", "ap"}[s.rnd.IntN(3)], val: fmt.Sprintf("v%d-%d", f.count, s.rnd.IntN(1000))}
	if f.wide && s.rnd.IntN(3) > 0 {
		it.extra = fmt.Sprintf("e%d", f.count)
	}
	return it
}

// last ends the step with a delete that owes its tombstone, if it can.
func (s *source) last(f *feed) {
	for _, id := range slices.Sorted(maps.Keys(f.rows)) {
		before := f.rows[id]
		delete(f.rows, id)
		s.emit(f, change{op: 'd', before: before})
		f.owed = append(f.owed, id)
		return
	}
}
