package debezium

import (
	"fmt"
	"regexp"
	"strings"

	"sink/table"
)

// column draws a column: mostly plain, else arrays, maps and structs of plain values and of one another.
func (r source) column(name string) (sample, *table.Type) {
	s, typ := r.typed(2)
	s.name = name
	return s, &typ
}

// typed draws a type that nests at most so deep.
func (r source) typed(depth int) (sample, table.Type) {
	if depth > 0 {
		switch r.IntN(12) {
		case 0, 1:
			elem, typ := r.typed(depth - 1)
			return r.array(elem), table.Type{Root: table.Array, Element: &typ}
		case 2:
			elem, typ := r.typed(depth - 1)
			key := field1("key", "STRING NOT NULL").Type
			return r.dict(elem), table.Type{Root: table.Map, Key: &key, Element: &typ}
		case 3:
			return r.row(depth - 1)
		}
	}
	s := r.plain()
	typ, err := table.ParseType(s.typ)
	if err != nil {
		panic(err)
	}
	s.avro = strings.ReplaceAll(s.avro, "NAME", r.unique())
	if s.union == "NAME" {
		s.union = "a.b." + regexp.MustCompile(`n\d+`).FindString(s.avro)
	}
	return s, typ
}

// unique is a name for a type.
func (r source) unique() string { return fmt.Sprintf("n%d", r.Uint64()) }

// part draws a value of a nested type, or a null: JSON, what goavro takes, and canonical text.
func (r source) part(s sample) (in string, native any, out string) {
	if r.IntN(5) == 0 {
		return "null", nil, "null"
	}
	in = s.value()
	return in, map[string]any{s.union: s.native()}, s.want()
}

func (r source) array(elem sample) sample {
	var last string
	var native []any
	return sample{
		schema: fmt.Sprintf(`"type":"array","items":{%s,"optional":true}`, elem.schema),
		avro:   fmt.Sprintf(`{"type":"array","items":["null",%s]}`, elem.avro), union: "array",
		native: func() any { return native }, want: func() string { return last },
		value: func() string {
			var in, out []string
			native = []any{}
			for range r.IntN(4) {
				i, n, o := r.part(elem)
				in, native, out = append(in, i), append(native, n), append(out, o)
			}
			last = "[" + strings.Join(out, ",") + "]"
			return "[" + strings.Join(in, ",") + "]"
		},
	}
}

// dict has one entry at most, because goavro writes more in any order.
func (r source) dict(elem sample) sample {
	var last string
	var native map[string]any
	return sample{
		schema: fmt.Sprintf(`"type":"map","keys":{"type":"string","optional":false},"values":{%s,"optional":true}`, elem.schema),
		avro:   fmt.Sprintf(`{"type":"map","values":["null",%s]}`, elem.avro), union: "map",
		native: func() any { return native }, want: func() string { return last },
		value: func() string {
			native, last = map[string]any{}, "[]"
			if r.IntN(4) == 0 {
				return "{}"
			}
			key := r.text()
			in, n, out := r.part(elem)
			native[key], last = n, fmt.Sprintf("[[%s,%s]]", quoted(key), out)
			return fmt.Sprintf("{%s:%s}", r.escape(key), in)
		},
	}
}

func (r source) row(depth int) (sample, table.Type) {
	typ := table.Type{Root: table.RowType}
	var members []sample
	var schemas, avros []string
	for i := range 1 + r.IntN(3) {
		m, inner := r.typed(depth)
		m.name = fmt.Sprintf("m%d", i)
		members = append(members, m)
		typ.Fields = append(typ.Fields, table.Field{Name: m.name, Type: inner})
		schemas = append(schemas, fmt.Sprintf(`{%s,"optional":true,"field":%q}`, m.schema, m.name))
		avros = append(avros, fmt.Sprintf(`{"name":%q,"type":["null",%s],"default":null}`, m.name, m.avro))
	}
	name := r.unique()
	var last string
	var native map[string]any
	return sample{
		schema: fmt.Sprintf(`"type":"struct","name":"a.b.%s","fields":[%s]`, name, strings.Join(schemas, ",")),
		avro:   fmt.Sprintf(`{"type":"record","name":%q,"fields":[%s]}`, name, strings.Join(avros, ",")), union: "a.b." + name,
		native: func() any { return native }, want: func() string { return last },
		value: func() string {
			var in, out []string
			native = map[string]any{}
			for _, m := range members {
				i, n, o := r.part(m)
				native[m.name] = n
				in, out = append(in, fmt.Sprintf("%q:%s", m.name, i)), append(out, fmt.Sprintf("%q:%s", m.name, o))
			}
			last = "{" + strings.Join(out, ",") + "}"
			r.Shuffle(len(in), func(a, b int) { in[a], in[b] = in[b], in[a] })
			return "{" + strings.Join(in, ",") + "}"
		},
	}, typ
}
