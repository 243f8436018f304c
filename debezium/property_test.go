package debezium

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// sample is a random column: how Debezium declares it, and values with what they should become.
type sample struct {
	name   string
	schema string        // Connect schema, without braces and field
	typ    string        // natural type; nested types have none here
	value  func() string // JSON as JsonConverter writes it
	avro   string        // Avro type, with Connect's attributes; NAME stands for a name of its own
	union  string        // how goavro calls the type in a union
	native func() any    // the last value, for goavro
	want   func() string // canonical text of the last value
}

// source makes samples. The expected text is computed from the drawn value, never from the JSON.
type source struct{ *rand.Rand }

func (r source) int(bits uint) int64 {
	switch r.IntN(8) {
	case 0:
		return -1 << (bits - 1)
	case 1:
		return 1<<(bits-1) - 1
	case 2:
		return 0
	}
	return int64(r.Uint64()) >> (64 - bits) >> r.IntN(int(bits))
}

func (r source) text() string {
	runes := []rune(`abc XYZ 019"\/` + "\b\f\n\r\t\x00\x01\x7f é ß 日本 🎉  \u2028<>&")
	out := make([]rune, r.IntN(20))
	for i := range out {
		out[i] = runes[r.IntN(len(runes))]
	}
	return string(out)
}

// escape writes a text as one of the JSON strings that stand for it.
func (r source) escape(s string) string {
	if r.IntN(2) == 0 {
		b, _ := json.Marshal(s)
		return string(b)
	}
	out := `"`
	for _, c := range s {
		switch {
		case c > 0xffff:
			c -= 0x10000
			out += fmt.Sprintf(`\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		case c < ' ' || c == '"' || c == '\\' || r.IntN(4) == 0:
			out += fmt.Sprintf(`\u%04x`, c)
		default:
			out += string(c)
		}
	}
	return out + `"`
}

// decimal draws an unscaled value of at most so many digits.
func (r source) decimal(precision int) *big.Int {
	n := new(big.Int)
	for range r.IntN(precision + 1) {
		n.Mul(n, big.NewInt(10)).Add(n, big.NewInt(r.Int64N(10)))
	}
	if r.IntN(2) == 0 {
		n.Neg(n)
	}
	return n
}

func twos(n *big.Int) string { return base64Text(twosBytes(n)) }

// twosBytes is BigInteger.toByteArray.
func twosBytes(n *big.Int) []byte {
	if n.Sign() >= 0 {
		b := append([]byte{0}, n.Bytes()...)
		if len(b) > 1 && b[1] < 0x80 {
			b = b[1:]
		}
		return b
	}
	width := uint(len(n.Bytes())) * 8
	if new(big.Int).Neg(n).Cmp(new(big.Int).Lsh(big.NewInt(1), width-1)) > 0 {
		width += 8
	}
	return new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), width)).Bytes()
}

func scaledText(n *big.Int, scale int) string {
	s := new(big.Int).Abs(n).String()
	for len(s) <= scale {
		s = "0" + s
	}
	if scale > 0 {
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if n.Sign() < 0 {
		s = "-" + s
	}
	return s
}

func named(typ, name string) string {
	return fmt.Sprintf(`"type":%q,"name":%q,"version":1`, typ, name)
}

// plain draws a column of a scalar type.
func (r source) plain() sample {
	if r.IntN(3) == 0 {
		return r.semantic()
	}
	var last string
	var native any
	s := sample{want: func() string { return last }, native: func() any { return native }}
	integer := func(typ string, bits uint, column string) {
		s.schema, s.typ = fmt.Sprintf(`"type":%q`, typ), column
		s.avro, s.union = fmt.Sprintf(`{"type":"int","connect.type":%q}`, typ), "int"
		if bits == 64 {
			s.avro, s.union = `"long"`, "long"
		}
		s.value = func() string {
			n := r.int(bits)
			if native = int32(n); bits == 64 {
				native = n
			}
			last = strconv.FormatInt(n, 10)
			return last
		}
	}
	moment := func(name string, unit int64, layout string, typ string) {
		s.schema, s.typ = named("int64", name), typ
		s.avro, s.union = fmt.Sprintf(`{"type":"long","connect.version":1,"connect.name":%q}`, name), "long"
		s.value = func() string {
			seconds := r.Int64N(315_000_000_000) - 62_000_000_000 // the years 5 to 9985
			if unit == perNano {
				seconds = r.Int64N(18_000_000_000) - 9_000_000_000
			}
			part := r.Int64N(unit)
			last = `"` + time.Unix(seconds, part*(perNano/unit)).UTC().Format(layout) + `"`
			native = seconds*unit + part
			return strconv.FormatInt(seconds*unit+part, 10)
		}
	}
	switch r.IntN(18) {
	case 0:
		integer("int16", 16, "SMALLINT")
	case 1:
		integer("int32", 32, "INT")
	case 2:
		integer("int64", 64, "BIGINT")
	case 3:
		s.schema, s.typ = `"type":"boolean"`, "BOOLEAN"
		s.avro, s.union = `"boolean"`, "boolean"
		s.value = func() string { b := r.IntN(2) == 0; native, last = b, strconv.FormatBool(b); return last }
	case 4, 5:
		s.schema, s.typ = `"type":"string"`, "STRING"
		s.avro, s.union = `"string"`, "string"
		s.value = func() string { t := r.text(); native, last = t, quoted(t); return r.escape(t) }
	case 6:
		s.schema, s.typ = `"type":"bytes"`, "BYTES"
		s.avro, s.union = `"bytes"`, "bytes"
		s.value = func() string {
			b := make([]byte, r.IntN(12))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			native, last = b, base64Text(b)
			return last
		}
	case 7:
		s.schema, s.typ = `"type":"double"`, "DOUBLE"
		s.avro, s.union = `"double"`, "double"
		s.value = func() string {
			f := math.Float64frombits(r.Uint64())
			if native = f; math.IsInf(f, 1) {
				native = math.Inf(-1)
			}
			if math.IsNaN(f) || math.IsInf(f, 0) {
				last = map[bool]string{true: `"NaN"`, false: `"-Infinity"`}[math.IsNaN(f)]
				return last
			}
			last = sqlWord(table.Type{Root: table.Double}, int64(math.Float64bits(f)))
			return javaFloat(f, 64)
		}
	case 8:
		s.schema, s.typ = `"type":"float"`, "FLOAT"
		s.avro, s.union = `"float"`, "float"
		s.value = func() string {
			f := float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30)))
			native, last = f, sqlWord(table.Type{Root: table.Float}, int64(math.Float32bits(f)))
			return javaFloat(float64(f), 32)
		}
	case 9, 10:
		p := 1 + r.IntN(38)
		scale := r.IntN(p + 1)
		s.schema = named("bytes", "org.apache.kafka.connect.data.Decimal") + fmt.Sprintf(`,"parameters":{"scale":"%d","connect.decimal.precision":"%d"}`, scale, p)
		s.typ = fmt.Sprintf("DECIMAL(%d, %d)", p, scale)
		s.avro = fmt.Sprintf(`{"type":"bytes","connect.version":1,"connect.parameters":{"scale":"%d","connect.decimal.precision":"%d"},"connect.name":"org.apache.kafka.connect.data.Decimal"}`, scale, p)
		s.union = "bytes"
		s.value = func() string {
			n := r.decimal(p)
			native, last = twosBytes(n), `"`+scaledText(n, scale)+`"`
			return twos(n)
		}
	case 11:
		s.schema, s.typ = named("struct", "io.debezium.data.VariableScaleDecimal")+`,"fields":[{"type":"int32","optional":false,"field":"scale"},{"type":"bytes","optional":false,"field":"value"}]`, "STRING"
		s.avro = `{"type":"record","name":"NAME","fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}],"connect.name":"io.debezium.data.VariableScaleDecimal"}`
		s.union = "NAME"
		s.value = func() string {
			n, scale := r.decimal(60), r.IntN(40)
			native = map[string]any{"scale": int32(scale), "value": twosBytes(n)}
			last = `"` + scaledText(n, scale) + `"`
			return fmt.Sprintf(`{"scale":%d,"value":%s}`, scale, twos(n))
		}
	case 12:
		s.schema, s.typ = named("int32", "io.debezium.time.Date"), "DATE"
		s.avro, s.union = `{"type":"int","connect.name":"io.debezium.time.Date"}`, "int"
		s.value = func() string {
			n := r.Int64N(3_000_000) - 700_000
			last = `"` + time.Unix(n*86400, 0).UTC().Format("2006-01-02") + `"`
			if n > 2932896 || n < -719162 {
				n, last = 1, `"1970-01-02"`
			}
			native = int32(n)
			return strconv.FormatInt(n, 10)
		}
	case 13:
		s.schema, s.typ = named("int32", "io.debezium.time.Time"), "TIME(3)"
		s.avro, s.union = `{"type":"int","connect.name":"io.debezium.time.Time"}`, "int"
		s.value = func() string {
			n := r.Int64N(86_400_000)
			native, last = int32(n), `"`+time.UnixMilli(n).UTC().Format("15:04:05.000")+`"`
			return strconv.FormatInt(n, 10)
		}
	case 14:
		moment("io.debezium.time.Timestamp", perMilli, "2006-01-02T15:04:05.000000", "TIMESTAMP(3)")
	case 15:
		moment("io.debezium.time.MicroTimestamp", perMicro, "2006-01-02T15:04:05.000000", "TIMESTAMP(6)")
	case 16:
		moment("io.debezium.time.NanoTimestamp", perNano, "2006-01-02T15:04:05.000000000", "TIMESTAMP(9)")
	case 17:
		s.schema, s.typ = named("string", "io.debezium.time.ZonedTimestamp"), "TIMESTAMP(6) WITH LOCAL TIME ZONE"
		s.avro, s.union = `{"type":"string","connect.name":"io.debezium.time.ZonedTimestamp"}`, "string"
		s.value = func() string {
			at := time.UnixMicro(r.Int64N(100_000_000*1e9) - 5_000_000*1e9).UTC()
			last = `"` + at.Format("2006-01-02T15:04:05.000000Z") + `"`
			zone := time.FixedZone("", (r.IntN(25)-12)*1800)
			native = at.In(zone).Format("2006-01-02T15:04:05.999999Z07:00")
			return fmt.Sprintf("%q", native)
		}
	}
	return s
}

// javaFloat prints a float as Java does: 12.5, 1.0E10.
func javaFloat(f float64, bits int) string {
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(f, 'E', -1, bits)
	mantissa, exp, _ := strings.Cut(s, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp)
	return fmt.Sprintf("%sE%d", mantissa, n)
}

// needsSchema are declarations without which a value means something else.
var needsSchema = regexp.MustCompile(`NanoTime"|BIGINT UNSIGNED`)

func testSeed(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	return seed
}

// TestProperty draws tables and events, encodes them as JsonConverter does with and without schema, and compares the rows.
func TestProperty(t *testing.T) {
	r := source{rand.New(rand.NewPCG(testSeed(t), 7))}
	for range 150 {
		r.table(t)
	}
}

func (r source) table(t *testing.T) {
	columns := []sample{{name: "id", schema: `"type":"int64"`, typ: "BIGINT NOT NULL"}}
	fields := []table.Field{field1("id", "BIGINT NOT NULL")}
	declared := []string{`{"type":"int64","optional":false,"field":"id"}`}
	avro := []string{`{"name":"id","type":"long"}`}
	for i := range 1 + r.IntN(12) {
		s, typ := r.column(fmt.Sprintf("c%d_", i))
		columns = append(columns, s)
		fields = append(fields, table.Field{Name: s.name, Type: *typ})
		declared = append(declared, fmt.Sprintf(`{%s,"optional":true,"field":%q}`, s.schema, s.name))
		avro = append(avro, fmt.Sprintf(`{"name":%q,"type":["null",%s],"default":null}`, s.name, s.avro))
	}
	row := fmt.Sprintf(`"type":"struct","fields":[%s],"optional":true,"name":"a.b.Value"`, strings.Join(declared, ","))
	schema := fmt.Sprintf(`{"type":"struct","fields":[{%s,"field":"before"},{%s,"field":"after"},{"type":"string","optional":false,"field":"op"}],"optional":false,"name":"a.b.Envelope"}`, row, row)
	keySchema := `{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"}],"optional":false,"name":"a.b.Key"}`

	avroRow := fmt.Sprintf(`{"type":"record","name":"Value","namespace":"a.b","fields":[%s]}`, strings.Join(avro, ","))
	registry := &memoryRegistry{schemas: []string{
		fmt.Sprintf(`{"type":"record","name":"Envelope","namespace":"a.b","fields":[{"name":"before","type":["null",%s]},{"name":"after","type":["null","Value"]},{"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"]}]}`, avroRow),
		`{"type":"record","name":"Key","namespace":"a.b","fields":[{"name":"id","type":"long"}]}`,
	}}
	d := NewDecoder(Config{Registry: registry.open(t)})
	sch := &table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}
	var plans [3]*Plan
	batch := table.NewBatch(fields)
	for i := range 12 {
		op := "crud"[r.IntN(4)]
		var want []string
		with := r.IntN(3)
		if with == 0 && needsSchema.MatchString(schema) {
			with = 1
		}
		native := map[string]any{"before": nil, "after": nil, "op": string(op), "ts_ms": map[string]any{"long": int64(5)}}
		image := func(kind, member string) string {
			var in, out []string
			cells := map[string]any{"id": int64(7)}
			for j, c := range columns {
				v, w := "null", "null"
				if j == 0 {
					v, w = "7", "7"
				} else if r.IntN(5) > 0 {
					v = c.value()
					w = c.want()
					cells[c.name] = map[string]any{c.union: c.native()}
				} else {
					cells[c.name] = nil
				}
				name, _ := json.Marshal(c.name)
				in = append(in, string(name)+":"+v)
				out = append(out, quoted(c.name)+":"+w)
			}
			want = append(want, kind+" {"+strings.Join(out, ",")+"}")
			native[member] = map[string]any{"a.b.Value": cells}
			if r.IntN(4) == 0 {
				r.Shuffle(len(in), func(a, b int) { in[a], in[b] = in[b], in[a] })
			}
			return "{" + strings.Join(in, ",") + "}"
		}
		before, after := "null", "null"
		switch op {
		case 'c', 'r':
			after = image("+I", "after")
		case 'u':
			before, after = image("-U", "before"), image("+U", "after")
		case 'd':
			before = image("-D", "before")
		}
		payload := fmt.Sprintf(`{"before":%s,"after":%s,"source":{"db":"x"},"op":"%c","ts_ms":5}`, before, after, op)
		rec := &Record{Topic: "t", Offset: int64(i), Key: []byte(`{"id":7}`), Value: []byte(payload)}
		if with == 2 {
			rec.Value = registry.encode(t, 0, native)
			rec.Key = registry.encode(t, 1, map[string]any{"id": int64(7)})
		}
		if with == 1 {
			rec.Value = fmt.Appendf(nil, `{"schema":%s,"payload":%s}`, schema, payload)
			rec.Key = fmt.Appendf(nil, `{"schema":%s,"payload":{"id":7}}`, keySchema)
		}
		var f Frame
		require.NoError(t, d.Frame(t.Context(), rec, &f), "%s", rec.Value)
		if plans[with] == nil {
			if with >= 1 {
				have, err := f.Shape.Fields(Types{})
				require.NoError(t, err)
				require.Equal(t, fields, have)
				require.Equal(t, []string{"id"}, f.Shape.Key)
			}
			p, err := Bind(sch, f.Shape, Options{Types: Types{Decimal: DecimalBase64, Binary: BinaryBase64}, Key: []string{"id"}})
			require.NoError(t, err)
			plans[with] = p
		}
		batch.Reset()
		_, err := plans[with].Append(&f, batch)
		require.NoError(t, err, "%s", rec.Value)
		var have []string
		for k := range batch.Len() {
			have = append(have, batch.Kinds[k].String()+" "+string(table.AppendCanonicalRow(nil, fields, batch, k)))
		}
		require.Equal(t, want, have, "%s", rec.Value)
	}
}
