package debezium

import (
	"context"
	"encoding/json"
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

const benchConnect = `{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},{"type":"int32","optional":true,"field":"customer_id"},{"type":"int32","optional":true,"field":"product_id"},` +
	`{"type":"int32","optional":true,"field":"quantity"},{"type":"int32","optional":true,"field":"warehouse_id"},{"type":"string","optional":true,"field":"amount"},{"type":"string","optional":true,"field":"description"},` +
	`{"type":"string","optional":true,"field":"status"},{"type":"int64","optional":true,"name":"io.debezium.time.MicroTimestamp","field":"created_at"},{"type":"string","optional":true,"name":"io.debezium.time.ZonedTimestamp","field":"updated_at"},` +
	`{"type":"boolean","optional":true,"field":"active"},{"type":"double","optional":true,"field":"score"}],"optional":true,"name":"shop.public.orders.Value"`

const benchAvro = `{"type":"record","name":"Envelope","namespace":"shop.public.orders","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"long"},` +
	`{"name":"customer_id","type":["null","int"]},{"name":"product_id","type":["null","int"]},{"name":"quantity","type":["null","int"]},{"name":"warehouse_id","type":["null","int"]},{"name":"amount","type":["null","string"]},` +
	`{"name":"description","type":["null","string"]},{"name":"status","type":["null","string"]},{"name":"created_at","type":["null",{"type":"long","connect.name":"io.debezium.time.MicroTimestamp"}]},` +
	`{"name":"updated_at","type":["null",{"type":"string","connect.name":"io.debezium.time.ZonedTimestamp"}]},{"name":"active","type":["null","boolean"]},{"name":"score","type":["null","double"]}]}]},` +
	`{"name":"after","type":["null","Value"]},{"name":"source","type":{"type":"record","name":"Source","fields":[{"name":"version","type":"string"},{"name":"ts_ms","type":"long"},{"name":"db","type":"string"},{"name":"lsn","type":["null","long"]}]}},` +
	`{"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"]}]}`

// benchEncodings are the same events in every encoding.
func benchEncodings(t testing.TB, n int) (map[string][]Record, *Registry) {
	plain := benchEvents(n)
	registry := &memoryRegistry{schemas: []string{benchAvro, `{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}`}}
	schema, avro := make([]Record, n), make([]Record, n)
	for i := range plain {
		schema[i], avro[i] = plain[i], plain[i]
		schema[i].Value = fmt.Appendf(nil, `{"schema":{"type":"struct","fields":[%s,"field":"before"},%s,"field":"after"},{"type":"string","optional":false,"field":"op"}],"name":"shop.public.orders.Envelope"},"payload":%s}`, benchConnect, benchConnect, plain[i].Value)
		var v struct {
			Before, After map[string]any
			Op            string
		}
		require.NoError(t, json.Unmarshal(plain[i].Value, &v))
		avro[i].Value = registry.encode(t, 0, map[string]any{
			"before": benchNative(v.Before), "after": benchNative(v.After), "op": v.Op, "ts_ms": map[string]any{"long": int64(1)},
			"source": map[string]any{"version": "3.0.8.Final", "ts_ms": int64(5), "db": "shop", "lsn": map[string]any{"long": int64(7)}},
		})
		avro[i].Key = registry.encode(t, 1, map[string]any{"id": int64(1)})
	}
	return map[string][]Record{"json": plain, "json-schema": schema, "avro": avro}, registry.open(t)
}

func benchNative(row map[string]any) any {
	if row == nil {
		return nil
	}
	for k, v := range row {
		switch v := v.(type) {
		case float64:
			switch k {
			case "id":
				row[k] = int64(v)
			case "created_at":
				row[k] = map[string]any{"long": int64(v)}
			case "score":
				row[k] = map[string]any{"double": v}
			default:
				row[k] = map[string]any{"int": int32(v)}
			}
		case string:
			row[k] = map[string]any{"string": v}
		case bool:
			row[k] = map[string]any{"boolean": v}
		}
	}
	return map[string]any{"shop.public.orders.Value": row}
}

// applier frames and appends records, over and over.
func applier(t testing.TB, records []Record, registry *Registry, opts Options, source bool) func(i int) int {
	d := NewDecoder(Config{Registry: registry})
	schema := benchSchema()
	batch := table.NewBatch(schema.Fields)
	var f Frame
	var p *Plan
	return func(i int) int {
		rec := &records[i%len(records)]
		err := d.Frame(context.Background(), rec, &f)
		if err == nil && p == nil {
			p, err = Bind(schema, f.Shape, opts)
		}
		if batch.Len() > 32_000 {
			batch.Reset()
		}
		if err == nil {
			_, err = p.Append(&f, batch)
		}
		if err == nil && source {
			_, err = f.Source()
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(rec.Value)
	}
}

func BenchmarkAppend(b *testing.B) {
	encodings, registry := benchEncodings(b, 10_000)
	for _, name := range []string{"json", "json-schema", "avro"} {
		b.Run(name, func(b *testing.B) {
			apply := applier(b, encodings[name], registry, Options{Key: []string{"id"}}, false)
			bytes := 0
			b.ReportAllocs()
			b.ResetTimer()
			start := cpuTime()
			for i := range b.N {
				bytes += apply(i)
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
			b.SetBytes(int64(bytes / b.N))
		})
	}
}

// TestNoAllocations: a steady stream allocates nothing, in any encoding, nor when the source is asked for.
func TestNoAllocations(t *testing.T) {
	encodings, registry := benchEncodings(t, 3000)
	for name, records := range encodings {
		apply := applier(t, records, registry, Options{Key: []string{"id"}}, true)
		for i := range 25_000 { // the batch has its size, the order of members is known
			apply(i)
		}
		i := 0
		require.Zero(t, testing.AllocsPerRun(5000, func() { apply(i); i++ }), name)
	}
}
