package debezium

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// semantic draws a column of a type that has a name of Debezium's or Connect's and is not among the plain ones.
func (r source) semantic() sample {
	if r.IntN(2) == 0 {
		return r.semanticNumber()
	}
	return r.semanticText()
}

// drawn makes a sample whose values are all that draw gives: JSON, what goavro takes, canonical text.
func drawn(schema, avro, union, typ string, draw func() (in string, native any, out string)) sample {
	var native any
	var last string
	return sample{
		schema: schema, avro: avro, union: union, typ: typ,
		native: func() any { return native }, want: func() string { return last },
		value: func() (in string) {
			in, native, last = draw()
			return in
		},
	}
}

// semanticNumber draws what travels as a number.
func (r source) semanticNumber() sample {
	const timeName, dataName = "io.debezium.time.", "org.apache.kafka.connect.data."
	whole := func(connect, name, typ string, draw func() (int64, string)) sample {
		avro := map[string]string{"int64": "long"}[connect]
		if avro == "" {
			avro = "int"
		}
		return drawn(named(connect, name), fmt.Sprintf(`{"type":%q,"connect.version":1,"connect.type":%q,"connect.name":%q}`, avro, connect, name), avro, typ, func() (string, any, string) {
			n, out := draw()
			if avro == "long" {
				return strconv.FormatInt(n, 10), n, out
			}
			return strconv.FormatInt(n, 10), int32(n), out
		})
	}
	asIs := func(n int64) (int64, string) { return n, strconv.FormatInt(n, 10) }
	switch r.IntN(10) {
	case 0:
		return whole("int8", "a.Small", "TINYINT", func() (int64, string) { return asIs(r.int(8)) })
	case 1:
		return whole("int32", timeName+"Year", "INT", func() (int64, string) { return asIs(1901 + r.Int64N(255)) })
	case 2:
		return whole("int32", dataName+"Date", "DATE", func() (int64, string) {
			n := r.Int64N(3_600_000) - 700_000
			if n > 2_932_896 {
				n = 2_932_896
			}
			return n, time.Unix(n*secondsPerDay, 0).UTC().Format(`"2006-01-02"`)
		})
	case 3:
		return whole("int32", dataName+"Time", "TIME(3)", func() (int64, string) {
			n := r.Int64N(millisPerDay)
			return n, time.UnixMilli(n).UTC().Format(`"15:04:05.000"`)
		})
	case 4:
		return whole("int64", dataName+"Timestamp", "TIMESTAMP(3)", func() (int64, string) {
			n := r.Int64N(315_000_000_000_000) - 62_000_000_000_000
			return n, time.UnixMilli(n).UTC().Format(`"2006-01-02T15:04:05.000000"`)
		})
	case 5:
		return whole("int64", timeName+"MicroTime", "BIGINT", func() (int64, string) { return asIs(r.Int64N(2*3_020_399_000_001) - 3_020_399_000_000) })
	case 6:
		return whole("int64", timeName+"NanoTime", "BIGINT", func() (int64, string) {
			n := r.Int64N(2*3_020_399_000_001) - 3_020_399_000_000
			return n * 1000, strconv.FormatInt(n, 10)
		})
	case 7:
		return whole("int64", timeName+"MicroDuration", "BIGINT", func() (int64, string) { return asIs(r.int(64)) })
	case 8:
		const parameters = `{"__debezium.source.column.type":"BIGINT UNSIGNED"}`
		return drawn(`"type":"int64","parameters":`+parameters, `{"type":"long","connect.parameters":`+parameters+`}`, "long", "DECIMAL(20, 0)", func() (string, any, string) {
			n := r.int(64)
			return strconv.FormatInt(n, 10), n, fmt.Sprintf(`"%d"`, uint64(n))
		})
	}
	return r.numericDecimal()
}

// numericDecimal is a decimal that JsonConverter writes as a number (decimal.format=numeric), with any exponent.
func (r source) numericDecimal() sample {
	precision := 1 + r.IntN(38)
	scale := r.IntN(precision + 1)
	parameters := fmt.Sprintf(`{"scale":"%d","connect.decimal.precision":"%d"}`, scale, precision)
	const name = "org.apache.kafka.connect.data.Decimal"
	return drawn(named("bytes", name)+`,"parameters":`+parameters, fmt.Sprintf(`{"type":"bytes","connect.version":1,"connect.parameters":%s,"connect.name":%q}`, parameters, name), "bytes",
		fmt.Sprintf("DECIMAL(%d, %d)", precision, scale), func() (string, any, string) {
			n := r.decimal(precision)
			out := scaledText(n, scale)
			in := out
			if r.IntN(2) == 0 {
				in = fmt.Sprintf("%dE%d", n, -scale)
			}
			if n.Cmp(new(big.Int)) == 0 {
				in = "0"
			}
			return in, twosBytes(n), `"` + out + `"`
		})
}

// semanticText draws what travels as text or bytes.
func (r source) semanticText() sample {
	text := func(name, typ string, draw func() (text, out string)) sample {
		return drawn(named("string", name), fmt.Sprintf(`{"type":"string","connect.version":1,"connect.name":%q}`, name), "string", typ, func() (string, any, string) {
			text, out := draw()
			return r.escape(text), text, out
		})
	}
	same := func(make func() string) func() (string, string) {
		return func() (string, string) {
			t := make()
			return t, quoted(t)
		}
	}
	moment := func() time.Time { return time.UnixMicro(r.Int64N(300_000_000*1e9) - 60_000_000*1e9).UTC() }
	switch r.IntN(9) {
	case 0:
		return text("io.debezium.time.IsoDate", "DATE", func() (string, string) {
			at := moment()
			return at.Format("2006-01-02Z"), at.Format(`"2006-01-02"`)
		})
	case 1:
		return text("io.debezium.time.IsoTimestamp", "TIMESTAMP(6)", func() (string, string) {
			at := moment()
			return at.Format("2006-01-02T15:04:05.999999Z"), at.Format(`"2006-01-02T15:04:05.000000"`)
		})
	case 2:
		return text("io.debezium.time.IsoTime", "STRING", same(func() string { return moment().Format("15:04:05.999999Z") }))
	case 3:
		return text("io.debezium.time.ZonedTime", "STRING", same(func() string { return moment().Format("15:04:05.999Z07:00") }))
	case 4:
		return text("io.debezium.time.Interval", "STRING", same(func() string { return fmt.Sprintf("P%dY%dM%dDT%dH", r.IntN(9), r.IntN(12), r.IntN(30), r.IntN(24)) }))
	case 5:
		name := []string{"Json", "Xml", "Uuid", "Ltree", "EnumSet", "Tsvector"}[r.IntN(6)]
		return text("io.debezium.data."+name, "STRING", same(r.text))
	case 6:
		symbols := []string{"small", "large", "x_l"}
		return drawn(named("string", "io.debezium.data.Enum")+`,"parameters":{"allowed":"small,large,x_l"}`,
			`{"type":"enum","name":"NAME","symbols":["small","large","x_l"],"connect.name":"io.debezium.data.Enum"}`, "NAME", "STRING", func() (string, any, string) {
				s := symbols[r.IntN(len(symbols))]
				return quoted(s), s, quoted(s)
			})
	case 7:
		return text("io.debezium.data.geometry.Text", "STRING", same(func() string { return strings.Repeat("é", r.IntN(300)) }))
	}
	return drawn(named("bytes", "io.debezium.data.Bits")+`,"parameters":{"length":"20"}`,
		`{"type":"bytes","connect.version":1,"connect.parameters":{"length":"20"},"connect.name":"io.debezium.data.Bits"}`, "bytes", "BYTES", func() (string, any, string) {
			b := make([]byte, r.IntN(9))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return base64Text(b), b, base64Text(b)
		})
}
