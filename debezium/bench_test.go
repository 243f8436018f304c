package debezium

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// benchRow is a row of the benchmark's table: a bigint key, four ints, a decimal, two texts, two timestamps, a boolean and
// a double, in about 290 bytes of JSON.
type benchRow struct {
	id, cents, created, updated    int64
	customer, product, qty, whouse int32
	desc, status                   string
	active                         bool
	score                          float64
}

func (v *benchRow) append(b []byte) []byte {
	b = fmt.Appendf(b, `{"id":%d,"customer_id":%d,"product_id":%d,"quantity":%d,"warehouse_id":%d,"amount":"%d.%02d","description":%q,"status":%q,"created_at":%d,"updated_at":"`,
		v.id, v.customer, v.product, v.qty, v.whouse, v.cents/100, v.cents%100, v.desc, v.status, v.created)
	b = time.UnixMicro(v.updated).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	return strconv.AppendFloat(fmt.Appendf(b, `","active":%t,"score":`, v.active), v.score, 'g', -1, 64)
}

// benchEvents are n records of a stream as PostgreSQL's connector writes it: 70 % updates, 20 % inserts, 10 % deletes.
func benchEvents(n int) []Record {
	const letters = "abcdefghijklmnopqrstuvwxyz     ABCDEFGHIJKLM0123456789"
	r := rand.New(rand.NewPCG(1, 1))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	clock := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	lsn := int64(24_000_000)
	records := make([]Record, n)
	for i := range records {
		clock += 1 + r.Int64N(2000)
		lsn += 56 + r.Int64N(400)
		row := benchRow{id: 1 + r.Int64N(500_000), customer: r.Int32N(2_000_000), product: r.Int32N(90_000), qty: 1 + r.Int32N(50),
			whouse: r.Int32N(300), cents: r.Int64N(100_000_000), desc: text(36 + r.IntN(9)), status: "DELIVERED", created: clock, updated: clock,
			active: r.IntN(10) > 0, score: float64(r.Int64N(1_000_000_000)) / 1e7}
		op := "uuuuuuuccd"[r.IntN(10)]
		before, after := []byte("null"), []byte("null")
		if op != 'c' {
			before = append(row.append(nil), '}')
		}
		if op != 'd' {
			row.qty, row.score = row.qty%50+1, float64(r.Int64N(1_000_000_000))/1e7
			after = append(row.append(nil), '}')
		}
		ms := clock / 1000
		records[i] = Record{Topic: "shop.public.orders", Offset: int64(i), Timestamp: ms, Key: fmt.Appendf(nil, `{"id":%d}`, row.id),
			Value: fmt.Appendf(nil, `{"before":%s,"after":%s,"source":{"version":"3.0.8.Final","connector":"postgresql","name":"shop","ts_ms":%d,"snapshot":"false","db":"shop","sequence":"[\"%d\",\"%d\"]","schema":"public","table":"orders","txId":%d,"lsn":%d,"xmin":null},"transaction":null,"op":"%c","ts_ms":%d}`,
				before, after, ms, lsn-56, lsn, 700+i/3, lsn, op, ms+40+r.Int64N(300))}
	}
	return records
}

func field1(name string, typ string) table.Field {
	t, err := table.ParseType(typ)
	if err != nil {
		panic(err)
	}
	return table.Field{Name: name, Type: t}
}

func benchSchema() *table.Schema {
	return &table.Schema{PrimaryKeys: []string{"id"}, Fields: []table.Field{
		field1("id", "BIGINT NOT NULL"), field1("customer_id", "INT"), field1("product_id", "INT"), field1("quantity", "INT"),
		field1("warehouse_id", "INT"), field1("amount", "DECIMAL(12, 2)"), field1("description", "STRING"), field1("status", "STRING"),
		field1("created_at", "TIMESTAMP(6)"), field1("updated_at", "TIMESTAMP(6) WITH LOCAL TIME ZONE"), field1("active", "BOOLEAN"),
		field1("score", "DOUBLE"),
	}}
}

// cpuTime is what the process has used, which a busy machine distorts less than the time on the wall.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func BenchmarkAppend(b *testing.B) {
	records := benchEvents(20_000)
	for _, c := range []struct {
		name string
		opts Options
	}{
		{"plain", Options{}},
		{"key-checked", Options{Key: []string{"id"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := NewDecoder(Config{})
			p, err := Bind(benchSchema(), nil, c.opts)
			require.NoError(b, err)
			batch := table.NewBatch(benchSchema().Fields)
			var f Frame
			var bytes int64
			b.ReportAllocs()
			b.ResetTimer()
			start := cpuTime()
			for i := range b.N {
				rec := &records[i%len(records)]
				bytes += int64(len(rec.Value))
				if batch.Len() > 32_000 {
					batch.Reset()
				}
				if err := d.Frame(context.Background(), rec, &f); err != nil {
					b.Fatal(err)
				}
				if _, err := p.Append(&f, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(bytes / int64(b.N))
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}
