package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The topics of the demo, as Debezium's PostgreSQL connector names them.
const (
	customersTopic = "shop.public.customers"
	ordersTopic    = "shop.public.orders"
)

const shopCustomers = 200

// shop is a small online shop whose database Debezium would watch. It makes change events in Debezium's JSON form with
// the schema part, every time the same ones, and knows what its tables hold.
type shop struct {
	random    *rand.Rand
	customers []customer
	orders    []order // live ones, in no order
	nextOrder int64
	made      int // events
	at        time.Time
	lsn       int64

	customersSchema, ordersSchema string
}

type customer struct {
	ID      int32  `json:"id"`
	Name    string `json:"name"`
	Email   string `json:"email"`
	City    string `json:"city"`
	Tier    string `json:"tier"`
	Created int64  `json:"created_at"` // microseconds
}

type order struct {
	ID       int64   `json:"id"`
	Customer int32   `json:"customer_id"`
	Status   string  `json:"status"`
	Amount   cents   `json:"amount"`
	Note     *string `json:"note"`
	Placed   int64   `json:"placed_at"` // microseconds
}

// cents is an amount of money. Its JSON is Debezium's of a DECIMAL(12, 2): the unscaled number's bytes in base64.
type cents int64

// MarshalJSON returns the base64 of the shortest two's complement.
func (c cents) MarshalJSON() ([]byte, error) {
	b := []byte{byte(c)}
	for rest := int64(c) >> 8; ; rest >>= 8 {
		last := int8(b[0])
		if rest == 0 && last >= 0 || rest == -1 && last < 0 {
			break
		}
		b = append([]byte{byte(rest)}, b...)
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

func (c cents) String() string {
	sign, n := "", int64(c)
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

func newShop() *shop {
	const (
		bigint  = `{"type":"int64","optional":false,"field":"id"}`
		integer = `{"type":"int32","optional":false,"field":%q}`
		text    = `{"type":"string","optional":%v,"field":%q}`
		micros  = `{"type":"int64","optional":false,"name":"io.debezium.time.MicroTimestamp","version":1,"field":%q}`
		money   = `{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2","connect.decimal.precision":"12"},"field":"amount"}`
	)
	return &shop{
		random: rand.New(rand.NewPCG(1, 1)),
		at:     time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC),
		lsn:    23_000_000,
		customersSchema: envelopeSchema(customersTopic, fmt.Sprintf(integer, "id"), fmt.Sprintf(text, false, "name"), fmt.Sprintf(text, false, "email"),
			fmt.Sprintf(text, false, "city"), fmt.Sprintf(text, false, "tier"), fmt.Sprintf(micros, "created_at")),
		ordersSchema: envelopeSchema(ordersTopic, bigint, fmt.Sprintf(integer, "customer_id"), fmt.Sprintf(text, false, "status"), money,
			fmt.Sprintf(text, true, "note"), fmt.Sprintf(micros, "placed_at")),
	}
}

// envelopeSchema is the schema part of a topic's events.
func envelopeSchema(topic string, fields ...string) string {
	row := func(field string) string {
		return fmt.Sprintf(`{"type":"struct","fields":[%s],"optional":true,"name":"%s.Value","field":%q}`, strings.Join(fields, ","), topic, field)
	}
	source := `{"type":"struct","fields":[{"type":"string","optional":false,"field":"version"},{"type":"string","optional":false,"field":"connector"},` +
		`{"type":"string","optional":false,"field":"name"},{"type":"int64","optional":false,"field":"ts_ms"},{"type":"string","optional":true,"field":"snapshot"},` +
		`{"type":"string","optional":false,"field":"db"},{"type":"string","optional":false,"field":"schema"},{"type":"string","optional":false,"field":"table"},` +
		`{"type":"int64","optional":true,"field":"lsn"}],"optional":false,"name":"io.debezium.connector.postgresql.Source","field":"source"}`
	return fmt.Sprintf(`{"type":"struct","fields":[%s,%s,%s,{"type":"string","optional":false,"field":"op"},{"type":"int64","optional":true,"field":"ts_ms"}],`+
		`"optional":false,"name":"%s.Envelope","version":1}`, row("before"), row("after"), source, topic)
}

// next makes one event, or two for a delete: Debezium sends a tombstone after it.
func (s *shop) next() []*kgo.Record {
	s.made++
	s.at = s.at.Add(time.Duration(200+s.random.IntN(1800)) * time.Millisecond)
	s.lsn += int64(40 + s.random.IntN(400))
	if len(s.customers) < shopCustomers {
		return s.snapshotCustomer()
	}
	switch n := s.random.IntN(100); {
	case n < 3:
		return s.moveCustomer()
	case n < 45 || len(s.orders) == 0:
		return s.placeOrder()
	case n < 90:
		return s.changeOrder()
	default:
		return s.deleteOrder()
	}
}

var (
	firstNames = []string{"Ada", "Bo", "Chen", "Dag", "Eve", "Femi", "Gül", "Hana", "Ines", "Jón", "Kai", "Lea", "Mío", "Noor", "Omar", "Pia"}
	lastNames  = []string{"Almeida", "Berg", "Castillo", "Dubois", "Eriksen", "Fischer", "García", "Haddad", "Ivanova", "Jansen", "Kim", "Lopez"}
	cities     = []string{"Lisbon", "Bergen", "Nairobi", "Zürich", "Osaka", "Montréal", "Kraków", "Accra"}
	tiers      = []string{"bronze", "silver", "gold"}
	statuses   = []string{"placed", "paid", "packed", "shipped", "delivered"}
	notes      = []string{"leave at the door", "ring twice", "a gift: no invoice, please", "fragile"}
)

func pick[T any](s *shop, of []T) T { return of[s.random.IntN(len(of))] }

func (s *shop) snapshotCustomer() []*kgo.Record {
	first, last := pick(s, firstNames), pick(s, lastNames)
	c := customer{
		ID: int32(len(s.customers) + 1), Name: first + " " + last, City: pick(s, cities), Tier: tiers[0], Created: s.at.UnixMicro(),
	}
	c.Email = fmt.Sprintf("customer%d@example.com", c.ID)
	s.customers = append(s.customers, c)
	return s.event(customersTopic, s.customersSchema, int64(c.ID), "r", nil, c)
}

func (s *shop) moveCustomer() []*kgo.Record {
	i := s.random.IntN(len(s.customers))
	before := s.customers[i]
	s.customers[i].City, s.customers[i].Tier = pick(s, cities), pick(s, tiers)
	return s.event(customersTopic, s.customersSchema, int64(before.ID), "u", before, s.customers[i])
}

func (s *shop) placeOrder() []*kgo.Record {
	s.nextOrder++
	o := order{
		ID: s.nextOrder, Customer: pick(s, s.customers).ID, Status: statuses[0], Amount: cents(199 + s.random.IntN(50_000)), Placed: s.at.UnixMicro(),
	}
	if s.random.IntN(4) == 0 {
		o.Note = &notes[s.random.IntN(len(notes))]
	}
	s.orders = append(s.orders, o)
	return s.event(ordersTopic, s.ordersSchema, o.ID, "c", nil, o)
}

// changeOrder moves an order on, and now and then corrects its amount.
func (s *shop) changeOrder() []*kgo.Record {
	i := s.random.IntN(len(s.orders))
	before := s.orders[i]
	s.orders[i].Status = pick(s, statuses[1:])
	if s.random.IntN(3) == 0 {
		s.orders[i].Amount += cents(s.random.IntN(4000) - 1000)
	}
	return s.event(ordersTopic, s.ordersSchema, before.ID, "u", before, s.orders[i])
}

func (s *shop) deleteOrder() []*kgo.Record {
	i, last := s.random.IntN(len(s.orders)), len(s.orders)-1
	before := s.orders[i]
	s.orders[i] = s.orders[last]
	s.orders = s.orders[:last]
	events := s.event(ordersTopic, s.ordersSchema, before.ID, "d", before, nil)
	return append(events, &kgo.Record{Topic: events[0].Topic, Key: events[0].Key})
}

// event encodes one change.
func (s *shop) event(topic, schema string, id int64, op string, before, after any) []*kgo.Record {
	idType := "int64"
	if topic == customersTopic {
		idType = "int32"
	}
	key := fmt.Sprintf(`{"schema":{"type":"struct","fields":[{"type":%q,"optional":false,"field":"id"}],"optional":false,"name":"%s.Key"},"payload":{"id":%d}}`, idType, topic, id)
	snapshot := "false"
	if op == "r" {
		snapshot = "true"
	}
	source := fmt.Sprintf(`{"version":"3.0.0.Final","connector":"postgresql","name":"shop","ts_ms":%d,"snapshot":%q,"db":"shop","schema":"public","table":%q,"lsn":%d}`,
		s.at.UnixMilli(), snapshot, strings.TrimPrefix(topic, "shop.public."), s.lsn)
	value := fmt.Sprintf(`{"schema":%s,"payload":{"before":%s,"after":%s,"source":%s,"op":%q,"ts_ms":%d}}`,
		schema, jsonText(before), jsonText(after), source, op, s.at.Add(40*time.Millisecond).UnixMilli())
	return []*kgo.Record{{Topic: topic, Key: []byte(key), Value: []byte(value)}}
}

// total is the sum of the amounts of all live orders.
func (s *shop) total() cents {
	var sum cents
	for _, o := range s.orders {
		sum += o.Amount
	}
	return sum
}
