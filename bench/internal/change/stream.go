// Package change makes a seeded stream of change events as Debezium's PostgreSQL connector writes them (REPLICA IDENTITY FULL), and
// encodes them: JSON without schema, JSON with schema, Avro in Confluent's wire format. The same options make the same bytes.
package change

import (
	"math/rand/v2"
	"time"
)

// Options say what happens in the source table.
type Options struct {
	Seed    uint64
	Events  int
	Mix     string // one of Mixes
	Hot     int    // rows that updates choose from
	Columns int    // at least Least
	Regions int    // distinct values of warehouse_id
}

// Mixes are what events do. Updates: 70 % updates of hot rows, 20 % inserts, 10 % deletes of other rows. Inserts: nothing
// else. Deletes: as many as inserts.
var Mixes = []string{"updates", "inserts", "deletes"}

// Row is one version of a row.
type Row struct {
	ID                                  int64
	customer, product, quantity, region int32
	cents                               int64
	description, status                 string
	created, updated                    int64 // microseconds since 1970
	active                              bool
	score                               float64
	version                             uint64 // how often it was updated
}

// Event is a change of a row: 'c', 'u' or 'd', with the row before it, after it or both.
type Event struct {
	Op            byte
	Before, After *Row
	Millis        int64 // of the change
	Emitted       int64 // milliseconds
	LSN, Tx       int64
}

// ID returns the key of the row.
func (e *Event) ID() int64 {
	if e.After != nil {
		return e.After.ID
	}
	return e.Before.ID
}

// Rows returns how many changelog rows the event stands for.
func (e *Event) Rows() int {
	if e.Op == 'u' {
		return 2
	}
	return 1
}

// Stream is the source.
type Stream struct {
	o                 Options
	r                 *rand.Rand
	made              int
	nextID, lsn       int64
	clock             int64 // microseconds
	hot, cold         []*Row
	updates, creation float64 // shares of the events after the first ones
}

// NewStream returns the stream that the options describe.
func NewStream(o Options) *Stream {
	s := &Stream{o: o, r: rand.New(rand.NewPCG(o.Seed, o.Seed)), nextID: 1, lsn: 24_000_000, clock: time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC).UnixMicro()}
	switch o.Mix {
	case "inserts":
		s.o.Hot, s.creation = 0, 1
	case "deletes":
		s.o.Hot, s.creation = 0, 0.5
	default: // the first events make the hot rows
		n := float64(o.Events)
		s.updates = 0.7 * n / (n - float64(o.Hot))
		s.creation = (0.2*n - float64(o.Hot)) / (n - float64(o.Hot))
	}
	return s
}

var states = []string{"NEW", "PAID", "PACKED", "SHIPPED", "DELIVERED", "RETURNED", "CANCELLED"}

// Next returns the next event; at the end it is not ok.
func (s *Stream) Next() (e Event, ok bool) {
	if s.made == s.o.Events {
		return e, false
	}
	s.clock += 1 + s.r.Int64N(2000)
	x := s.r.Float64()
	switch {
	case s.made < s.o.Hot:
		e.After = s.newRow()
		s.hot = append(s.hot, e.After)
	case x < s.updates:
		k := s.r.IntN(len(s.hot))
		e.Before = s.hot[k]
		e.After = s.update(e.Before)
		s.hot[k] = e.After
	case x < s.updates+s.creation || len(s.cold) == 0:
		e.After = s.newRow()
		s.cold = append(s.cold, e.After)
	default:
		k := s.r.IntN(len(s.cold))
		e.Before = s.cold[k]
		last := len(s.cold) - 1
		s.cold[k] = s.cold[last]
		s.cold = s.cold[:last]
	}
	e.Op = 'u'
	if e.Before == nil {
		e.Op = 'c'
	} else if e.After == nil {
		e.Op = 'd'
	}
	s.lsn += 56 + s.r.Int64N(400)
	e.LSN, e.Tx, e.Millis = s.lsn, int64(700+s.made/3), s.clock/1000
	e.Emitted = e.Millis + 40 + s.r.Int64N(300)
	s.made++
	return e, true
}

func (s *Stream) newRow() *Row {
	r := s.r
	v := &Row{
		ID: s.nextID, customer: r.Int32N(2_000_000), product: r.Int32N(90_000), quantity: 1 + r.Int32N(50), region: r.Int32N(int32(s.o.Regions)),
		cents: r.Int64N(100_000_000), description: text(r, 36+r.IntN(9)), status: "NEW", created: s.clock, updated: s.clock,
		active: r.IntN(10) > 0, score: float64(r.Int64N(1_000_000_000)) / 1e7,
	}
	s.nextID++
	return v
}

func (s *Stream) update(old *Row) *Row {
	v, r := *old, s.r
	v.quantity, v.cents, v.status, v.updated, v.score = 1+r.Int32N(50), r.Int64N(100_000_000), states[r.IntN(len(states))], s.clock, float64(r.Int64N(1_000_000_000))/1e7
	v.version++
	return &v
}

const letters = "abcdefghijklmnopqrstuvwxyz     ABCDEFGHIJKLM0123456789"

func text(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// cell is the value of a column: which field holds it, the column's kind tells.
type cell struct {
	null bool
	n    int64 // integers, cents, microseconds, 0 or 1
	f    float64
	s    string
}

// cell returns the value of the i-th column.
func (v *Row) cell(i int, kind Kind) cell {
	switch i {
	case 0:
		return cell{n: v.ID}
	case 1:
		return cell{n: int64(v.customer)}
	case 2:
		return cell{n: int64(v.product)}
	case 3:
		return cell{n: int64(v.quantity)}
	case 4:
		return cell{n: int64(v.region)}
	case 5:
		return cell{n: v.cents}
	case 6:
		return cell{s: v.description}
	case 7:
		return cell{s: v.status}
	case 8:
		return cell{n: v.created}
	case 9:
		return cell{n: v.updated}
	case 10:
		if v.active {
			return cell{n: 1}
		}
		return cell{}
	case 11:
		return cell{f: v.score}
	}
	return v.filler(i, kind)
}

// filler makes up the value of a further column: an eighth of them are null, and an update changes every tenth column.
func (v *Row) filler(i int, kind Kind) cell {
	h := uint64(v.ID)*0x9e3779b97f4a7c15 + uint64(i)*0xbf58476d1ce4e5b9
	if i%10 == 0 {
		h += v.version * 0x94d049bb133111eb
	}
	h = (h ^ h>>31) * 0xd6e8feb86659fd93
	h ^= h >> 29
	switch {
	case h&7 == 0:
		return cell{null: true}
	case kind == Text:
		at := int(h>>8) & 31
		return cell{s: letters[at : at+4+int(h>>16)&15]}
	case kind == Int:
		return cell{n: int64(h >> 40)}
	case kind == Micros:
		return cell{n: v.created + int64(h>>40)}
	}
	return cell{n: int64(h >> 24), f: float64(h>>40) / 256}
}
