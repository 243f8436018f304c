package debezium

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// grown is a column of a source that widens it now and then.
type grown struct {
	name             string
	family           alike
	bits             int // of an integer or float
	precision, scale int // of a decimal
}

type alike int

const (
	integers alike = iota
	floats
	decimals
	texts
)

func (r source) grown(name string) grown {
	return grown{name: name, family: alike(r.IntN(4)), bits: 16, precision: 1 + r.IntN(10), scale: r.IntN(2)}
}

// widen is what ALTER TABLE does.
func (c *grown) widen(r source) {
	switch c.family {
	case integers:
		c.bits = min(64, 2*c.bits)
	case floats:
		c.bits = 64
	case decimals:
		if room := 38 - c.precision; room > 2 {
			more := r.IntN(3)
			c.scale += more
			c.precision += more + r.IntN(2)
		}
	}
}

// declare returns the column's field in a Connect schema and its Avro type.
func (c *grown) declare() (connect, avro, union string) {
	switch c.family {
	case integers:
		avro = map[int]string{16: `{"type":"int","connect.type":"int16"}`, 32: `"int"`, 64: `"long"`}[c.bits]
		return fmt.Sprintf(`"type":"int%d"`, c.bits), avro, map[bool]string{true: "long", false: "int"}[c.bits == 64]
	case floats:
		name := map[bool]string{true: "double", false: "float"}[c.bits == 64]
		return fmt.Sprintf(`"type":%q`, name), fmt.Sprintf("%q", name), name
	case decimals:
		parameters := fmt.Sprintf(`{"scale":"%d","connect.decimal.precision":"%d"}`, c.scale, c.precision)
		return named("bytes", "org.apache.kafka.connect.data.Decimal") + `,"parameters":` + parameters,
			`{"type":"bytes","connect.version":1,"connect.parameters":` + parameters + `,"connect.name":"org.apache.kafka.connect.data.Decimal"}`, "bytes"
	}
	return `"type":"string"`, `"string"`, "string"
}

// value draws a value: as JSON, for goavro, and as a table's column of a type shows it.
func (c *grown) value(r source) (in string, native any, want func(table.Type) string) {
	switch c.family {
	case integers:
		n := r.int(uint(c.bits))
		native = n
		if c.bits < 64 {
			native = int32(n)
		}
		in = strconv.FormatInt(n, 10)
		return in, native, func(table.Type) string { return in }
	case floats: // quarters, which a FLOAT and a DOUBLE print alike
		f := float64(r.IntN(4_000_000)-2_000_000) / 4
		native = f
		if c.bits < 64 {
			native = float32(f)
		}
		return javaFloat(f, max(c.bits, 32)), native, func(t table.Type) string { return string(table.AppendCanonical(nil, t, vectorOf(t, f), 0)) }
	case decimals:
		n, scale := r.decimal(c.precision), c.scale
		return twos(n), twosBytes(n), func(t table.Type) string {
			wide := new(big.Int).Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale-scale)), nil))
			return `"` + scaledText(wide, t.Scale) + `"`
		}
	}
	text := r.text()
	return r.escape(text), text, func(table.Type) string { return quoted(text) }
}

// vectorOf is a cell with a float.
func vectorOf(t table.Type, f float64) *table.Vector {
	v := &table.Vector{Layout: t.Layout()}
	if err := setFloat(&cell{typ: t}, v, f); err != nil {
		panic(err)
	}
	return v
}

// release is a version of the source table, with its declarations.
type release struct {
	columns []grown
	schema  string // Connect
	avro    int    // index in the registry
}

func (r source) release(columns []grown, registry *memoryRegistry) release {
	declared, fields := []string{`{"type":"int64","optional":false,"field":"id"}`}, []string{`{"name":"id","type":"long"}`}
	for i := range columns {
		connect, avro, _ := columns[i].declare()
		declared = append(declared, fmt.Sprintf(`{%s,"optional":true,"field":%q}`, connect, columns[i].name))
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":["null",%s],"default":null}`, columns[i].name, avro))
	}
	row := fmt.Sprintf(`"type":"struct","fields":[%s],"optional":true,"name":"a.b.Value"`, strings.Join(declared, ","))
	registry.schemas = append(registry.schemas, avroEnvelope(fields...))
	return release{
		columns: slices.Clone(columns), avro: len(registry.schemas) - 1,
		schema: fmt.Sprintf(`{"type":"struct","fields":[{%s,"field":"before"},{%s,"field":"after"},{"type":"string","optional":false,"field":"op"}],"optional":false,"name":"a.b.Envelope"}`, row, row),
	}
}

// event draws a create event of the release: its record, and what a column of the table shows of it.
func (v release) event(t *testing.T, r source, registry *memoryRegistry, id int) (*Record, func(table.Field) string) {
	cells, native := []string{fmt.Sprintf(`"id":%d`, id)}, map[string]any{"id": int64(id)}
	wants := map[string]func(table.Type) string{"id": func(table.Type) string { return strconv.Itoa(id) }}
	for i := range v.columns {
		c := &v.columns[i]
		native[c.name] = nil
		if r.IntN(6) == 0 {
			cells = append(cells, fmt.Sprintf("%q:null", c.name))
			continue
		}
		_, _, union := c.declare()
		in, n, want := c.value(r)
		cells, native[c.name], wants[c.name] = append(cells, fmt.Sprintf("%q:%s", c.name, in)), map[string]any{union: n}, want
	}
	rec := &Record{Topic: "t", Offset: int64(id), Key: fmt.Appendf(nil, `{"id":%d}`, id)}
	if r.IntN(2) == 0 {
		rec.Value = fmt.Appendf(nil, `{"schema":%s,"payload":{"before":null,"after":{%s},"op":"c"}}`, v.schema, strings.Join(cells, ","))
	} else {
		rec.Value = registry.encode(t, v.avro, map[string]any{"before": nil, "after": map[string]any{"a.b.Value": native}, "op": "c"})
	}
	return rec, func(f table.Field) string {
		if want := wants[f.Name]; want != nil {
			return want(f.Type)
		}
		return "null"
	}
}

// TestPropertyOfChanges draws a source table through ALTER TABLEs that add, widen, drop, rename and reorder columns, sends events of
// its releases, old ones among the new, in JSON and in Avro, and follows with the table as the connector does. No column is ever
// lost or narrowed, and every event is what its release says.
func TestPropertyOfChanges(t *testing.T) {
	r := source{rand.New(rand.NewPCG(testSeed(t), 13))}
	for range 40 {
		r.life(t)
	}
}

func (r source) life(t *testing.T) {
	registry := &memoryRegistry{}
	var columns []grown
	var releases []release
	names := 0
	for range 2 + r.IntN(5) {
		for range 1 + r.IntN(2) {
			columns = append(columns, r.grown(fmt.Sprint("c", names)))
			names++
		}
		for i := range columns {
			if r.IntN(3) == 0 {
				columns[i].widen(r)
			}
		}
		if len(columns) > 2 && r.IntN(3) == 0 {
			columns = slices.Delete(columns, 0, 1)
		}
		if len(columns) > 1 && r.IntN(4) == 0 {
			columns[1].name = fmt.Sprint("r", names)
			names++
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(columns), func(a, b int) { columns[a], columns[b] = columns[b], columns[a] })
		}
		releases = append(releases, r.release(columns, registry))
	}
	d := NewDecoder(Config{Registry: registry.open(t)})
	schema := &table.Schema{Fields: []table.Field{field1("id", "BIGINT NOT NULL")}, PrimaryKeys: []string{"id"}}
	for id := range 6 * len(releases) {
		newest := min(len(releases)-1, id/6)
		v := releases[newest]
		if id%6 > 0 && r.IntN(4) == 0 {
			v = releases[r.IntN(newest+1)] // Debezium sends old events again
		}
		rec, want := v.event(t, r, registry, id)
		var f Frame
		require.NoError(t, d.Frame(t.Context(), rec, &f))
		fields, err := f.Shape.Fields(Types{})
		require.NoError(t, err)
		next, changes, err := table.Evolve(schema, fields)
		require.NoError(t, err, "%v of %v", fields, schema.Fields)
		for _, c := range changes {
			require.Contains(t, []table.ChangeKind{table.AddColumn, table.WidenColumn}, c.Kind)
		}
		schema = next
		p, err := Bind(schema, f.Shape, Options{})
		require.NoError(t, err)
		b := table.NewBatch(schema.Fields)
		_, err = p.Append(&f, b)
		require.NoError(t, err, "%s", rec.Value)
		for i, field := range schema.Fields {
			require.Equal(t, want(field), string(table.AppendCanonical(nil, field.Type, &b.Columns[i], 0)), "%s %s of %q", field.Name, field.Type, rec.Value)
		}
	}
	for _, v := range releases {
		for _, c := range v.columns {
			require.GreaterOrEqual(t, schema.FieldIndex(c.name), 0, "%s is lost", c.name)
		}
	}
}
