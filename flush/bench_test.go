package flush

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// orders is a table of 12 columns, as the benchmarks of the whole service have it.
func orders(t testing.TB, key table.Root, options ...string) *table.Schema {
	fields := []table.Field{{Name: "id", Type: table.Type{Root: key, Length: table.MaxLength}}}
	for _, name := range []string{"customer", "product", "quantity", "status"} {
		fields = append(fields, table.Field{Name: name, Type: table.Type{Root: table.Int}})
	}
	fields = append(fields,
		table.Field{Name: "price", Type: table.Type{Root: table.Decimal, Precision: 12, Scale: 2}},
		table.Field{Name: "city", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
		table.Field{Name: "note", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
		table.Field{Name: "created", Type: table.Type{Root: table.Timestamp, Precision: 6}},
		table.Field{Name: "changed", Type: table.Type{Root: table.Timestamp, Precision: 6}},
		table.Field{Name: "paid", Type: table.Type{Root: table.Boolean}},
		table.Field{Name: "weight", Type: table.Type{Root: table.Double}})
	set := map[string]string{"bucket": "4", "changelog-producer": "input"}
	for i := 0; i+1 < len(options); i += 2 {
		set[options[i]] = options[i+1]
	}
	s := table.NewSchema(fields, []string{"id"}, nil, set)
	require.NoError(t, s.Validate())
	return s
}

// appendOrder appends one image of a row.
func appendOrder(b *table.Batch, r *rand.Rand, id int64, kind table.Kind) {
	for c := range b.Columns {
		v := &b.Columns[c]
		switch {
		case c == 0 && v.Layout == table.Words:
			v.AppendWord(id)
		case c == 0:
			v.Data = fmt.Appendf(v.Data, "order-%09d", id)
			v.EndCell()
		case v.Layout == table.Words:
			v.AppendWord(r.Int64N(1 << (4 * c)))
		case c == 6:
			v.AppendBytes([]byte(cities[r.IntN(len(cities))]))
		default:
			at := r.IntN(len(prose) - 40)
			v.AppendBytes([]byte(prose[at : at+40]))
		}
	}
	b.Kinds = append(b.Kinds, kind)
}

var cities = []string{"Bergen", "Graz", "Lyon", "Porto", "Turku", "Zadar"}

const prose = "the parcel was left with a neighbour who signed for it after the courier had called twice in the morning and once " +
	"more before dusk, as nobody was at home, and the box showed no damage but for a corner that the rain had softened"

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// addOrders adds the events of a busy table: inserts, updates of hot keys, deletes. It returns the rows.
func addOrders(b testing.TB, w *Writer, r *rand.Rand, events, hot int, next *int64) (rows int) {
	for range events {
		batch := w.Batch()
		switch p := r.IntN(10); {
		case p < 7 && hot > 0:
			id := r.Int64N(int64(hot))
			appendOrder(batch, r, id, table.UpdateBefore)
			appendOrder(batch, r, id, table.UpdateAfter)
			rows += 2
		case p < 9 || hot == 0:
			*next++
			appendOrder(batch, r, *next, table.Insert)
			rows++
		default:
			appendOrder(batch, r, r.Int64N(*next+1), table.Delete)
			rows++
		}
		if err := w.Add(); err != nil {
			b.Fatal(err)
		}
	}
	return rows
}

func BenchmarkAdd(b *testing.B) {
	for _, key := range []table.Root{table.BigInt, table.VarChar} {
		b.Run(map[table.Root]string{table.BigInt: "bigint", table.VarChar: "string"}[key], func(b *testing.B) {
			w, err := New(Config{Schema: orders(b, key), Store: object.NewMem(), Path: "db.db/t"})
			require.NoError(b, err)
			// The rows are made beforehand: appending them is the decoder's work.
			r := newRand()
			from := table.NewBatch(w.plan.cfg.Schema.Fields)
			for range 8192 {
				id := r.Int64N(50_000)
				appendOrder(from, r, id, table.UpdateBefore)
				appendOrder(from, r, id, table.UpdateAfter)
			}
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				batch := w.Batch()
				i := rows % from.Len()
				batch.AppendRow(from, i)
				batch.AppendRow(from, i+1)
				if err := w.Add(); err != nil {
					b.Fatal(err)
				}
				if rows += 2; rows%200_000 == 0 {
					w.Discard(context.Background())
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkFlush(b *testing.B) {
	const events = 100_000
	for _, test := range []struct {
		name    string
		hot     int
		options []string
	}{
		{"updates", 50_000, nil},
		{"inserts-copied", 0, nil},
		{"inserts-written-twice", 0, []string{"changelog-file.stats-mode", "full"}},
		{"no-changelog", 50_000, []string{"changelog-producer", "none"}},
	} {
		b.Run(test.name, func(b *testing.B) {
			schema := orders(b, table.BigInt, test.options...)
			store := object.NewMem()
			w, err := New(Config{Schema: schema, Store: store, Path: "db.db/t"})
			require.NoError(b, err)
			r := newRand()
			var next int64 = 1 << 20
			rows, size := 0, int64(0)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				rows += addOrders(b, w, r, events, test.hot, &next)
				b.StartTimer()
				c := w.Seal()
				delta, err := c.Flush(context.Background())
				require.NoError(b, err)
				b.StopTimer()
				for _, f := range delta.Added {
					size += f.SizeBytes
				}
				for _, f := range delta.Changelog {
					size += f.SizeBytes
				}
				c.Discard(context.Background())
				b.StartTimer()
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/float64(rows), "bytes/row")
		})
	}
}

// BenchmarkIdle is what a table costs that gets a row now and then.
func BenchmarkIdle(b *testing.B) {
	schema := orders(b, table.BigInt)
	store := object.NewMem()
	r := newRand()
	b.ReportAllocs()
	for b.Loop() {
		w, err := New(Config{Schema: schema, Store: store, Path: "db.db/t"})
		require.NoError(b, err)
		appendOrder(w.Batch(), r, 1, table.Insert)
		require.NoError(b, w.Add())
		b.ReportMetric(float64(w.BufferedBytes()), "buffered-bytes")
	}
}
