package change

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// appendLong appends an Avro int or long.
func appendLong(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func appendString(b []byte, s string) []byte { return append(appendLong(b, int64(len(s))), s...) }

// The branches of ["null", T], and of [T, "null"] for a field whose default is a T.
const (
	avroNull = 0
	avroSome = 2
)

func (e *Encoder) appendAvro(b []byte, ev *Event) []byte {
	b = e.appendRecord(b, ev.Before)
	b = e.appendRecord(b, ev.After)
	for _, s := range []string{"3.0.8.Final", "postgresql", "shop"} {
		b = appendString(b, s)
	}
	b = appendLong(b, ev.Millis)
	b = appendString(append(b, 0), "false")
	b = appendString(b, "shop")
	b = appendString(append(b, avroSome), fmt.Sprintf(`["%d","%d"]`, ev.LSN-56, ev.LSN))
	b = appendString(b, "public")
	b = appendString(b, "orders")
	b = appendLong(append(b, avroSome), ev.Tx)
	b = appendLong(append(b, avroSome), ev.LSN)
	b = append(b, avroNull, avroNull) // xmin, transaction
	b = append(b, 2, ev.Op)
	return appendLong(append(b, avroSome), ev.Emitted)
}

func (e *Encoder) appendRecord(b []byte, v *Row) []byte {
	if v == nil {
		return append(b, avroNull)
	}
	b = append(b, avroSome)
	for i, c := range e.columns {
		x := v.cell(i, c.Kind)
		if i > 0 { // all but the key may be null
			if x.null {
				b = append(b, avroNull)
				continue
			}
			b = append(b, avroSome)
		}
		switch c.Kind {
		case Text:
			b = appendString(b, x.s)
		case Bool:
			b = append(b, byte(x.n))
		case Double:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x.f))
		case Zoned:
			b = appendString(b, time.UnixMicro(x.n).UTC().Format(zonedLayout))
		case Decimal:
			b = appendString(b, string(unscaled(nil, x.n)))
		default:
			b = appendLong(b, x.n)
		}
	}
	return b
}

// The schemas that Confluent's AvroConverter registers.

func avroKey() object {
	return object{{"type", "record"}, {"name", "Key"}, {"namespace", "shop.public.orders"}, {"fields", []object{{{"name", "id"}, {"type", "long"}}}}}
}

func avroEnvelope(columns []Column) object {
	fields := make([]object, len(columns))
	for i, c := range columns {
		if i == 0 {
			fields[i] = object{{"name", c.Name}, {"type", avroType(c)}}
			continue
		}
		fields[i] = optional(c.Name, avroType(c))
	}
	value := object{{"type", "record"}, {"name", "Value"}, {"fields", fields}, {"connect.name", "shop.public.orders.Value"}}
	snapshot := object{{"type", "string"}, {"connect.version", 1}, {"connect.default", "false"}, {"connect.name", "io.debezium.data.Enum"},
		{"connect.parameters", object{{"allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"}}}}
	source := object{{"type", "record"}, {"name", "Source"}, {"namespace", "io.debezium.connector.postgresql"}, {"fields", []object{
		required("version", "string"), required("connector", "string"), required("name", "string"), required("ts_ms", "long"),
		{{"name", "snapshot"}, {"type", []any{snapshot, "null"}}, {"default", "false"}},
		required("db", "string"), optional("sequence", "string"), required("schema", "string"), required("table", "string"),
		optional("txId", "long"), optional("lsn", "long"), optional("xmin", "long"),
	}}, {"connect.version", 1}, {"connect.name", "io.debezium.connector.postgresql.Source"}}
	block := object{{"type", "record"}, {"name", "block"}, {"namespace", "event"}, {"fields", []object{
		required("id", "string"), required("total_order", "long"), required("data_collection_order", "long"),
	}}, {"connect.version", 1}, {"connect.name", "event.block"}}
	return object{{"type", "record"}, {"name", "Envelope"}, {"namespace", "shop.public.orders"}, {"fields", []object{
		optional("before", value), optional("after", "Value"), required("source", source), optional("transaction", block),
		required("op", "string"), optional("ts_ms", "long"),
	}}, {"connect.version", 2}, {"connect.name", "shop.public.orders.Envelope"}}
}

func required(name string, typ any) object { return object{{"name", name}, {"type", typ}} }

func optional(name string, typ any) object {
	return object{{"name", name}, {"type", []any{"null", typ}}, {"default", nil}}
}

func avroType(c Column) any {
	switch c.Kind {
	case Int:
		return "int"
	case Text:
		return "string"
	case Bool:
		return "boolean"
	case Double:
		return "double"
	case Decimal:
		return object{{"type", "bytes"}, {"scale", 2}, {"precision", 12}, {"connect.version", 1},
			{"connect.parameters", object{{"scale", "2"}, {"connect.decimal.precision", "12"}}}, {"connect.name", "org.apache.kafka.connect.data.Decimal"}, {"logicalType", "decimal"}}
	case Micros:
		return object{{"type", "long"}, {"connect.version", 1}, {"connect.name", "io.debezium.time.MicroTimestamp"}}
	case Zoned:
		return object{{"type", "string"}, {"connect.version", 1}, {"connect.name", "io.debezium.time.ZonedTimestamp"}}
	}
	return "long"
}
