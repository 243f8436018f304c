package change

import (
	"fmt"
	"strconv"
	"time"
)

// appendJSON appends the envelope.
func (e *Encoder) appendJSON(b []byte, ev *Event) []byte {
	b = append(b, `{"before":`...)
	b = e.appendRow(b, ev.Before)
	b = append(b, `,"after":`...)
	b = e.appendRow(b, ev.After)
	return fmt.Appendf(b, `,"source":{"version":"3.0.8.Final","connector":"postgresql","name":"shop","ts_ms":%d,"snapshot":"false","db":"shop","sequence":"[\"%d\",\"%d\"]","schema":"public","table":"orders","txId":%d,"lsn":%d,"xmin":null},"transaction":null,"op":"%c","ts_ms":%d}`,
		ev.Millis, ev.LSN-56, ev.LSN, ev.Tx, ev.LSN, ev.Op, ev.Emitted)
}

func (e *Encoder) appendRow(b []byte, v *Row) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	for i, c := range e.columns {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		b = append(append(append(b, sep, '"'), c.Name...), `":`...)
		b = e.appendValue(b, c.Kind, v.cell(i, c.Kind))
	}
	return append(b, '}')
}

func (e *Encoder) appendValue(b []byte, kind Kind, c cell) []byte {
	if c.null {
		return append(b, "null"...)
	}
	switch kind {
	case Text:
		return strconv.AppendQuote(b, c.s)
	case Bool:
		return strconv.AppendBool(b, c.n == 1)
	case Double:
		return strconv.AppendFloat(b, c.f, 'g', -1, 64)
	case Zoned:
		b = time.UnixMicro(c.n).UTC().AppendFormat(append(b, '"'), zonedLayout)
		return append(b, '"')
	case Decimal:
		return fmt.Appendf(b, `"%d.%02d"`, c.n/100, c.n%100)
	}
	return strconv.AppendInt(b, c.n, 10)
}

const zonedLayout = "2006-01-02T15:04:05.000000Z"

// unscaled appends a number that is not negative as Java's BigInteger.toByteArray does.
func unscaled(b []byte, n int64) []byte {
	shift := 0
	for n>>shift > 0x7f {
		shift += 8
	}
	for ; shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift))
	}
	return b
}

// The schemas that Kafka Connect's JsonConverter writes beside each record.

func connectKey() object {
	return object{{"type", "struct"}, {"fields", []object{connectField("int64", "id", false)}}, {"optional", false}, {"name", "shop.public.orders.Key"}}
}

func connectEnvelope(columns []Column) object {
	row := func(name string) object {
		fields := make([]object, len(columns))
		for i, c := range columns {
			fields[i] = connectColumn(c)
		}
		return object{{"type", "struct"}, {"fields", fields}, {"optional", true}, {"name", "shop.public.orders.Value"}, {"field", name}}
	}
	source := []object{
		connectField("string", "version", false),
		connectField("string", "connector", false),
		connectField("string", "name", false),
		connectField("int64", "ts_ms", false),
		{{"type", "string"}, {"optional", true}, {"name", "io.debezium.data.Enum"}, {"version", 1},
			{"parameters", object{{"allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"}}}, {"default", "false"}, {"field", "snapshot"}},
		connectField("string", "db", false),
		connectField("string", "sequence", true),
		connectField("string", "schema", false),
		connectField("string", "table", false),
		connectField("int64", "txId", true),
		connectField("int64", "lsn", true),
		connectField("int64", "xmin", true),
	}
	transaction := []object{connectField("string", "id", false), connectField("int64", "total_order", false), connectField("int64", "data_collection_order", false)}
	return object{{"type", "struct"}, {"fields", []object{
		row("before"),
		row("after"),
		{{"type", "struct"}, {"fields", source}, {"optional", false}, {"name", "io.debezium.connector.postgresql.Source"}, {"version", 1}, {"field", "source"}},
		{{"type", "struct"}, {"fields", transaction}, {"optional", true}, {"name", "event.block"}, {"version", 1}, {"field", "transaction"}},
		connectField("string", "op", false),
		connectField("int64", "ts_ms", true),
	}}, {"optional", false}, {"name", "shop.public.orders.Envelope"}, {"version", 2}}
}

func connectField(typ, name string, optional bool) object {
	return object{{"type", typ}, {"optional", optional}, {"field", name}}
}

func connectColumn(c Column) object {
	optional := c.Name != "id"
	switch c.Kind {
	case Int:
		return connectField("int32", c.Name, optional)
	case Text, Decimal:
		return connectField("string", c.Name, optional)
	case Bool:
		return connectField("boolean", c.Name, optional)
	case Double:
		return connectField("double", c.Name, optional)
	case Micros:
		return object{{"type", "int64"}, {"optional", optional}, {"name", "io.debezium.time.MicroTimestamp"}, {"version", 1}, {"field", c.Name}}
	case Zoned:
		return object{{"type", "string"}, {"optional", optional}, {"name", "io.debezium.time.ZonedTimestamp"}, {"version", 1}, {"field", c.Name}}
	}
	return connectField("int64", c.Name, optional)
}
