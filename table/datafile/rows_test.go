package datafile

import (
	"math/rand/v2"
	"slices"
	"time"

	"sink/table"
)

// order is the row of the orders benchmark: 12 columns, 70 % updates of hot keys, 20 % inserts, 10 % deletes.
type order struct {
	id, amount, created, updated           int64
	customer, product, quantity, warehouse int64
	description, status                    string
	active                                 int64
	score                                  float64
}

func str() table.Type { return table.Type{Root: table.VarChar, Length: table.MaxLength} }

func orderFields() []table.Field {
	i := table.Type{Root: table.Int}
	return []table.Field{
		{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}},
		{Name: "customer_id", Type: i}, {Name: "product_id", Type: i}, {Name: "quantity", Type: i}, {Name: "warehouse_id", Type: i},
		{Name: "amount", Type: table.Type{Root: table.Decimal, Precision: 12, Scale: 2}},
		{Name: "description", Type: str()}, {Name: "status", Type: str()},
		{Name: "created_at", Type: table.Type{Root: table.Timestamp, Precision: 6}},
		{Name: "updated_at", Type: table.Type{Root: table.LocalTimestamp, Precision: 6}},
		{Name: "active", Type: table.Type{Root: table.Boolean}}, {Name: "score", Type: table.Type{Root: table.Double}},
	}
}

func orderSchema(options map[string]string) *table.Schema {
	if options == nil {
		options = map[string]string{}
	}
	options["bucket"] = "4"
	return table.NewSchema(orderFields(), []string{"id"}, nil, options)
}

const orderLetters = "abcdefghijklmnopqrstuvwxyz     ABCDEFGHIJKLM0123456789"

var orderStatuses = []string{"NEW", "PAID", "PACKED", "SHIPPED", "DELIVERED", "RETURNED", "CANCELLED"}

// orderChange is one row of a changelog.
type orderChange struct {
	kind table.Kind
	row  *order
}

// orderChanges returns the changelog rows of about n events, in order of arrival.
func orderChanges(n, hot int, seed uint64) []orderChange {
	r := rand.New(rand.NewPCG(seed, seed))
	clock := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	next := int64(1)
	newOrder := func() *order {
		text := make([]byte, 36+r.IntN(9))
		for i := range text {
			text[i] = orderLetters[r.IntN(len(orderLetters))]
		}
		o := &order{
			id: next, customer: r.Int64N(2_000_000), product: r.Int64N(90_000), quantity: 1 + r.Int64N(50), warehouse: r.Int64N(300),
			amount: r.Int64N(100_000_000), description: string(text), status: "NEW", created: clock, updated: clock,
			score: float64(r.Int64N(1_000_000_000)) / 1e7,
		}
		if r.IntN(10) > 0 {
			o.active = 1
		}
		next++
		return o
	}
	var hotOrders, cold []*order
	for range hot {
		clock += 1 + r.Int64N(2000)
		hotOrders = append(hotOrders, newOrder())
	}
	var out []orderChange
	for range n {
		clock += 1 + r.Int64N(2000)
		switch x := r.Float64(); {
		case x < 0.7:
			k := r.IntN(hot)
			before := hotOrders[k]
			after := *before
			after.quantity, after.amount, after.updated = 1+r.Int64N(50), r.Int64N(100_000_000), clock
			after.status, after.score = orderStatuses[r.IntN(len(orderStatuses))], float64(r.Int64N(1_000_000_000))/1e7
			hotOrders[k] = &after
			out = append(out, orderChange{table.UpdateBefore, before}, orderChange{table.UpdateAfter, &after})
		case x < 0.9 || len(cold) == 0:
			o := newOrder()
			cold = append(cold, o)
			out = append(out, orderChange{table.Insert, o})
		default:
			k := r.IntN(len(cold))
			out = append(out, orderChange{table.Delete, cold[k]})
			cold[k] = cold[len(cold)-1]
			cold = cold[:len(cold)-1]
		}
	}
	return out
}

// orderRows returns the rows of one of 4 buckets, in batches by arrival and sorted by (id, arrival).
func orderRows(changes []orderChange) table.Rows {
	var rows table.Rows
	ids := map[table.Ref]int64{}
	var b *table.Batch
	for seq, c := range changes {
		if c.row.id*2654435761>>7&3 != 0 {
			continue
		}
		if b == nil || b.Len() == 8192 {
			b = table.NewBatch(orderFields())
			rows.Batches = append(rows.Batches, b)
		}
		ref := table.MakeRef(len(rows.Batches)-1, b.Len())
		ids[ref] = c.row.id
		rows.Refs = append(rows.Refs, ref)
		rows.Seqs = append(rows.Seqs, int64(seq))
		c.row.appendTo(b, c.kind)
	}
	order := make([]int, len(rows.Refs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(ids[rows.Refs[i]] - ids[rows.Refs[j]]) })
	refs, seqs := rows.Refs, rows.Seqs
	rows.Refs, rows.Seqs = make([]table.Ref, len(order)), make([]int64, len(order))
	for i, j := range order {
		rows.Refs[i], rows.Seqs[i] = refs[j], seqs[j]
	}
	return rows
}

func (o *order) appendTo(b *table.Batch, kind table.Kind) {
	words := []int64{o.id, o.customer, o.product, o.quantity, o.warehouse, o.amount}
	for i, w := range words {
		b.Columns[i].AppendWord(w)
	}
	b.Columns[6].AppendBytes([]byte(o.description))
	b.Columns[7].AppendBytes([]byte(o.status))
	b.Columns[8].AppendWord(o.created)
	b.Columns[9].AppendWord(o.updated)
	b.Columns[10].AppendWord(o.active)
	b.Columns[11].AppendWord(wordOf(o.score, cellDouble))
	b.Kinds = append(b.Kinds, kind)
}
