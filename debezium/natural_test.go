package debezium

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// wrapped is a create event of one declared column beside the key.
func wrapped(column, value string) string {
	row := fmt.Sprintf(`"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},{%s,"optional":true,"field":"x"}],"optional":true,"name":"t.Value"`, column)
	return fmt.Sprintf(`{"schema":{"type":"struct","fields":[{%s,"field":"before"},{%s,"field":"after"},{"type":"string","optional":false,"field":"op"}],"name":"t.Envelope"},"payload":{"before":null,"after":{"id":1,"x":%s},"op":"c","ts_ms":1}}`, row, row, value)
}

// TestNatural: what a declared column becomes, and one value of it.
func TestNatural(t *testing.T) {
	parameters := func(kind, length string) string {
		return fmt.Sprintf(`,"parameters":{"__debezium.source.column.type":%q,"__debezium.source.column.length":%q}`, kind, length)
	}
	micro, iso := named("int64", "io.debezium.time.MicroTime"), named("string", "io.debezium.time.IsoTime")
	milli, nano := named("int32", "io.debezium.time.Time"), named("int64", "io.debezium.time.NanoTime")
	decimal := named("bytes", "org.apache.kafka.connect.data.Decimal")
	for _, c := range []struct {
		column, value string
		types         Types
		typ, want     string
	}{
		{micro, "3020399000000", Types{}, "BIGINT", "3020399000000"},
		{micro, "-3600000000", Types{Time: TimeString}, "STRING", `"-01:00:00"`},
		{micro, "45296789012", Types{Time: TimeString}, "STRING", `"12:34:56.789012"`},
		{micro, "45296789000", Types{Time: TimeTime}, "TIME(3)", `"12:34:56.789"`},
		{micro, "45296789012", Types{Time: TimeTime}, "TIME(3)", "range"},
		{micro, "3020399000000", Types{Time: TimeTime}, "TIME(3)", "range"},
		{milli, "86399999", Types{}, "TIME(3)", `"23:59:59.999"`}, {milli, "86400000", Types{}, "TIME(3)", "range"},
		{milli, "86400000", Types{Time: TimeInt64}, "BIGINT", "86400000000"}, {milli, "86400000", Types{Time: TimeString}, "STRING", `"24:00:00"`},
		{nano, "1000", Types{}, "BIGINT", "1"}, {nano, "1001", Types{}, "BIGINT", "range"}, {nano, "1001", Types{Time: TimeString}, "STRING", `"00:00:00.000001001"`},
		{iso, `"12:34:56.5Z"`, Types{}, "STRING", `"12:34:56.5Z"`}, {iso, `"12:34:56.5Z"`, Types{Time: TimeInt64}, "BIGINT", "45296500000"},
		{iso, `"12:34:56.5Z"`, Types{Time: TimeString}, "STRING", `"12:34:56.500"`}, {iso, `"12:34:56.5Z"`, Types{Time: TimeTime}, "TIME(3)", `"12:34:56.500"`},
		{`"type":"int16"` + parameters("TINYINT", "1"), "1", Types{}, "SMALLINT", "1"},
		{`"type":"int16"` + parameters("TINYINT", "1"), "1", Types{TinyInt1: TinyInt1Boolean}, "BOOLEAN", "true"},
		{`"type":"int16"` + parameters("TINYINT", "1"), "2", Types{TinyInt1: TinyInt1Boolean}, "BOOLEAN", "range"},
		{`"type":"int16"` + parameters("TINYINT", "4"), "1", Types{TinyInt1: TinyInt1Boolean}, "SMALLINT", "1"},
		{`"type":"int64"` + parameters("BIGINT UNSIGNED", "20"), "-1", Types{}, "DECIMAL(20, 0)", `"18446744073709551615"`},
		{`"type":"int64"` + parameters("BIGINT UNSIGNED ZEROFILL", "20"), "7", Types{}, "DECIMAL(20, 0)", `"7"`},
		{`"type":"int64"` + parameters("BIGINT", "20"), "-1", Types{}, "BIGINT", "-1"},
		{`"type":"string"` + parameters("BLOB", "0"), `"00ff"`, Types{Binary: BinaryHex}, "BYTES", `"AP8="`},
		{`"type":"string"` + parameters("BLOB", "0"), `"00ff"`, Types{}, "STRING", `"00ff"`},
		{`"type":"string"` + parameters("VARCHAR", "9"), `"00ff"`, Types{Binary: BinaryHex}, "STRING", `"00ff"`},
		{decimal + `,"parameters":{"scale":"2"}`, `"BNI="`, Types{}, "DECIMAL(38, 2)", `"12.34"`},
		{decimal + `,"parameters":{"scale":"2","connect.decimal.precision":"39"}`, `"BNI="`, Types{}, "STRING", `"12.34"`},
		{decimal + `,"parameters":{"scale":"5","connect.decimal.precision":"3"}`, `"ew=="`, Types{}, "DECIMAL(5, 5)", `"0.00123"`},
		{decimal + `,"parameters":{"scale":"-2","connect.decimal.precision":"3"}`, `"ew=="`, Types{}, "DECIMAL(5, 0)", `"12300"`},
		{decimal + `,"parameters":{"scale":"2","connect.decimal.precision":"9"}`, `12.340`, Types{}, "DECIMAL(9, 2)", `"12.34"`},
		{decimal + `,"parameters":{"scale":"2","connect.decimal.precision":"9"}`, `"12.34"`, Types{}, "DECIMAL(9, 2)", "type"},
		{decimal + `,"parameters":{"scale":"40","connect.decimal.precision":"60"}`, `7`, Types{}, "STRING", `"7.0000000000000000000000000000000000000000"`},
		{decimal + `,"parameters":{"scale":"4","connect.decimal.precision":"60"}`, `1.5E+3`, Types{}, "STRING", `"1500.0000"`},
		{decimal + `,"parameters":{"scale":"4","connect.decimal.precision":"60"}`, `-1E-4`, Types{}, "STRING", `"-0.0001"`},
		{`"type":"double"`, "-0", Types{}, "DOUBLE", "-0"}, {`"type":"int32"`, "-0", Types{}, "INT", "0"},
		{`"type":"int8"`, "-128", Types{}, "TINYINT", "-128"}, {named("int32", "io.debezium.time.Year"), "2155", Types{}, "INT", "2155"},
		{named("int64", "io.debezium.time.MicroDuration"), "-5", Types{}, "BIGINT", "-5"}, {named("string", "io.debezium.data.Json"), `"{\"a\": 1}"`, Types{}, "STRING", `"{\"a\": 1}"`},
		{named("bytes", "io.debezium.data.Bits"), `"gQ=="`, Types{}, "BYTES", `"gQ=="`}, {named("string", "io.debezium.time.Date"), `"x"`, Types{}, "STRING", `"x"`},
	} {
		f, err := frameOf(t, "t", `{"id":1}`, wrapped(c.column, c.value))
		require.NoError(t, err)
		fields, err := f.Shape.Fields(c.types)
		require.NoError(t, err)
		require.Equal(t, c.typ, fields[1].Type.String(), c.column)
		schema := &table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}
		p, err := Bind(schema, f.Shape, Options{Types: c.types})
		require.NoError(t, err)
		b := table.NewBatch(fields)
		have := ""
		if _, err = p.Append(f, b); err != nil {
			have = string(reasonOf(t, err))
		} else {
			have = string(table.AppendCanonical(nil, fields[1].Type, &b.Columns[1], 0))
		}
		require.Equal(t, c.want, have, "%s %s: %v", c.column, c.value, err)
	}
}

// TestVectors: vectors of both databases, with values that no shorter float holds.
func TestVectors(t *testing.T) {
	array := func(name, typ string) string {
		return named("array", name) + fmt.Sprintf(`,"items":{"type":%q,"optional":false}`, typ)
	}
	sparse := named("struct", "io.debezium.data.SparseDoubleVector") + `,"fields":[{"type":"int16","optional":false,"field":"dimensions"},` +
		`{"type":"map","optional":false,"keys":{"type":"int16","optional":false},"values":{"type":"double","optional":false},"field":"vector"}]`
	element := func(typ string) table.Type {
		inner := field1("e", typ).Type
		return table.Type{Root: table.Array, Element: &inner}
	}
	for _, c := range []struct {
		column, value string
		typ           table.Type
		want          string
	}{
		{array("io.debezium.data.FloatVector", "float"), "[1.0,0.1,-0.0,3.4028235E38]", element("FLOAT NOT NULL"), "[1,0.1,-0,3.4028235e+38]"},
		{array("io.debezium.data.DoubleVector", "double"), "[0.1,1.7976931348623157E308]", element("DOUBLE NOT NULL"), "[0.1,1.7976931348623157e+308]"},
		{array("io.debezium.data.FloatVector", "float"), "[]", element("FLOAT NOT NULL"), "[]"},
		{sparse, `{"dimensions":5,"vector":[[1,0.5],[4,-0.25]]}`, table.Type{}, `{"dimensions":5,"vector":[[1,0.5],[4,-0.25]]}`},
	} {
		f, err := frameOf(t, "t", `{"id":1}`, wrapped(c.column, c.value))
		require.NoError(t, err)
		fields, err := f.Shape.Fields(Types{})
		require.NoError(t, err)
		if c.typ.Root != 0 {
			require.Equal(t, c.typ, fields[1].Type, c.column)
		}
		p, err := Bind(&table.Schema{Fields: fields, PrimaryKeys: []string{"id"}}, f.Shape, Options{})
		require.NoError(t, err)
		b := table.NewBatch(fields)
		_, err = p.Append(f, b)
		require.NoError(t, err)
		require.Equal(t, c.want, string(table.AppendCanonical(nil, fields[1].Type, &b.Columns[1], 0)), c.column)
	}
}

// TestOtherTypes: columns of another type than the natural one hold the value exactly, or refuse it.
func TestOtherTypes(t *testing.T) {
	for _, c := range []struct{ column, value, typ, want string }{
		{`"type":"int32"`, "5", "BIGINT", "5"}, {`"type":"int32"`, "5", "STRING", `"5"`}, {`"type":"int32"`, "5", "DECIMAL(3, 1)", `"5.0"`}, {`"type":"int32"`, "500", "DECIMAL(3, 1)", "range"},
		{`"type":"int32"`, "16777217", "FLOAT", "range"}, {`"type":"int32"`, "16777217", "DOUBLE", "16777217"}, {`"type":"int64"`, "300", "TINYINT", "range"},
		{`"type":"boolean"`, "true", "INT", "1"}, {`"type":"boolean"`, "true", "STRING", `"true"`}, {`"type":"double"`, "0.5", "DECIMAL(3, 1)", `"0.5"`}, {`"type":"double"`, "0.55", "DECIMAL(3, 1)", "range"},
		{`"type":"double"`, `"NaN"`, "DECIMAL(3, 1)", "range"}, {`"type":"double"`, "2.0", "INT", "2"}, {`"type":"double"`, "2.5", "INT", "range"}, {`"type":"double"`, "0.1", "FLOAT", "0.1"},
		{`"type":"string"`, `"12.5"`, "DECIMAL(3, 1)", `"12.5"`}, {`"type":"string"`, `"12"`, "INT", "12"}, {`"type":"string"`, `"0.1"`, "DOUBLE", "0.1"}, {`"type":"string"`, `"9007199254740993"`, "DOUBLE", "range"},
		{`"type":"string"`, `"2024-02-29"`, "DATE", `"2024-02-29"`}, {`"type":"string"`, `"2024-02-29T00:00:00Z"`, "TIMESTAMP(0)", `"2024-02-29T00:00:00.000000"`},
		{named("int32", "io.debezium.time.Date"), "19782", "TIMESTAMP(3)", `"2024-02-29T00:00:00.000000"`}, {named("int32", "io.debezium.time.Date"), "19782", "STRING", `"2024-02-29"`},
		{named("int64", "io.debezium.time.Timestamp"), "1709210096789", "TIMESTAMP(6)", `"2024-02-29T12:34:56.789000"`}, {named("int64", "io.debezium.time.Timestamp"), "1709210096789", "TIMESTAMP(9)", `"2024-02-29T12:34:56.789000000"`},
		{named("int64", "io.debezium.time.Timestamp"), "9223372036854775806", "TIMESTAMP(6)", "range"}, {named("int64", "io.debezium.time.Timestamp"), "-1", "STRING", `"1969-12-31T23:59:59.999"`},
		{named("int64", "io.debezium.time.MicroTimestamp"), "1709210096789012", "TIMESTAMP(3)", "range"}, {named("int64", "io.debezium.time.MicroTimestamp"), "1709210096789000", "TIMESTAMP(3)", `"2024-02-29T12:34:56.789000"`},
		{named("int64", "io.debezium.time.MicroTimestamp"), "-1", "TIMESTAMP(6) WITH LOCAL TIME ZONE", `"1969-12-31T23:59:59.999999Z"`}, {named("string", "io.debezium.time.ZonedTimestamp"), `"2024-02-29T12:34:56Z"`, "TIMESTAMP(0)", `"2024-02-29T12:34:56.000000"`},
		{named("struct", "io.debezium.data.VariableScaleDecimal") + `,"fields":[{"type":"int32","field":"scale"},{"type":"bytes","field":"value"}]`, `{"scale":3,"value":"BNI="}`, "DECIMAL(10, 3)", `"1.234"`},
		{named("struct", "io.debezium.data.VariableScaleDecimal") + `,"fields":[{"type":"int32","field":"scale"},{"type":"bytes","field":"value"}]`, `{"scale":3,"value":"BNI="}`, "DECIMAL(10, 2)", "range"},
		{`"type":"int64"` + `,"parameters":{"__debezium.source.column.type":"BIGINT UNSIGNED"}`, "-1", "BIGINT", "range"}, {`"type":"int64"` + `,"parameters":{"__debezium.source.column.type":"BIGINT UNSIGNED"}`, "-1", "STRING", `"18446744073709551615"`},
		{`"type":"int64"` + `,"parameters":{"__debezium.source.column.type":"BIGINT UNSIGNED"}`, "7", "BIGINT", "7"}, {`"type":"double"`, "1.50", "STRING", `"1.50"`}, {`"type":"double"`, `"NaN"`, "STRING", `"NaN"`},
		{named("int32", "io.debezium.time.Date"), "-622191234", "TIMESTAMP(3)", "range"}, {named("int64", "io.debezium.time.MicroTime"), "9223372036854775807", "STRING", "range"},
		{named("int32", "io.debezium.time.Time"), "5", "STRING", `"00:00:00.005"`}, {named("string", "io.debezium.time.IsoTime"), `"25:00"`, "BIGINT", "90000000000"}, {named("string", "io.debezium.time.IsoTime"), `"x"`, "BIGINT", "type"},
		{`"type":"bytes"`, `"AP8="`, "VARBINARY(2)", `"AP8="`}, {`"type":"array","items":{"type":"int32"}`, "[1, 2]", "STRING", `"[1, 2]"`},
		{`"type":"bytes"`, `"AP8="`, "STRING", "refused"}, {`"type":"string"`, `"x"`, "BOOLEAN", "refused"}, {`"type":"int32"`, "1", "DATE", "refused"}, {`"type":"int32"`, "1", "BYTES", "refused"},
		{named("int32", "io.debezium.time.Date"), "1", "DOUBLE", "refused"}, {`"type":"map","keys":{"type":"string"},"values":{"type":"string"}`, "{}", "INT", "refused"},
	} {
		f, err := frameOf(t, "t", `{"id":1}`, wrapped(c.column, c.value))
		require.NoError(t, err)
		schema := &table.Schema{PrimaryKeys: []string{"id"}, Fields: []table.Field{field1("id", "INT NOT NULL"), field1("x", c.typ)}}
		p, err := Bind(schema, f.Shape, Options{})
		if c.want == "refused" {
			require.ErrorContains(t, err, "column x", "%s to %s", c.column, c.typ)
			continue
		}
		require.NoError(t, err)
		b := table.NewBatch(schema.Fields)
		have := ""
		if _, err = p.Append(f, b); err != nil {
			have = string(reasonOf(t, err))
		} else {
			have = string(table.AppendCanonical(nil, schema.Fields[1].Type, &b.Columns[1], 0))
		}
		require.Equal(t, c.want, have, "%s %s: %v", c.column, c.value, err)
	}
}

// TestBindErrors: all that is wrong, at once.
func TestBindErrors(t *testing.T) {
	f, err := frameOf(t, "t", `{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],"name":"k"},"payload":{"id":1}}`, wrapped(`"type":"string"`, `"a"`))
	require.NoError(t, err)
	schema := &table.Schema{PrimaryKeys: []string{"id", "day"}, Fields: []table.Field{
		field1("id", "BYTES"), field1("x", "BOOLEAN"), field1("day", "DATE NOT NULL"), field1("m", "INT"), field1("c", "INT"),
	}}
	_, err = Bind(schema, f.Shape, Options{Metadata: map[string]Metadata{"m": MetadataTopic, "n": MetadataOffset, "c": MetadataOffset}, Computed: []string{"c", "d"}, Key: []string{"day"}})
	for _, want := range []string{"column id", "column x", "metadata column m", "metadata column n is not in the table", "column c is both", "computed column d", "primary key column day", "record key has the columns [id]"} {
		require.ErrorContains(t, err, want)
	}
	_, err = Bind(schema, f.Shape, Options{Metadata: map[string]Metadata{"x": MetadataTopic}})
	require.ErrorContains(t, err, "column x of the source has the name of a metadata")
}

// TestImages: what is known of before images, by replica identity, in every encoding.
func TestImages(t *testing.T) {
	fix := loadFixture(t, "pg_c_identity_p1_default")
	for _, encoding := range []string{"json_schema", "avro", "json"} {
		fo := &folder{t: t, decoder: NewDecoder(Config{Registry: fix.registry(t)}), tables: map[string]*folded{}, schemas: map[string]*table.Schema{}}
		if encoding == "json" {
			for topic, shape := range declaredShapes(t, fix.records["json_schema"]) {
				fo.schemas[topic] = schemaOf(t, shape, Types{})
			}
		}
		for i := range fix.records[encoding] {
			fo.add(&fix.records[encoding][i])
		}
		require.Empty(t, fo.errs)
		seen := func(topic string, op Op) map[BeforeImage]bool {
			images := map[BeforeImage]bool{}
			for _, ev := range fo.tables["pg.public."+topic].events {
				if ev.Op == op {
					images[ev.Before] = true
				}
			}
			return images
		}
		suspect := map[BeforeImage]bool{BeforeSuspect: true}
		if encoding == "json" { // defaults are not known, so that a made-up 5 passes for a value
			suspect = map[BeforeImage]bool{BeforeFull: true}
		}
		require.Equal(t, map[BeforeImage]bool{BeforeMissing: true}, seen("t_default", OpUpdate))
		require.Equal(t, suspect, seen("t_default", OpDelete), encoding)
		require.Equal(t, map[BeforeImage]bool{BeforeFull: true}, seen("t_full", OpUpdate))
		require.Equal(t, map[BeforeImage]bool{BeforeFull: true}, seen("t_full", OpDelete))
		require.Equal(t, map[BeforeImage]bool{BeforeSuspect: true}, seen("t_index", OpDelete))
		require.Equal(t, map[BeforeImage]bool{BeforeSuspect: true}, seen("t_toast_default", OpDelete))
		most := func(topic string) (n int) {
			for _, ev := range fo.tables["pg.public."+topic].events {
				n = max(n, len(ev.Unavailable))
			}
			return n
		}
		require.Equal(t, 11, most("t_toast_default")) // all of the row but its key, n, and the numeric that comes as null
		require.Zero(t, most("t_toast_full"))
	}
}

// TestFloatsElsewhere: a float in a column of another type, from JSON. TestPropertyOfEncodings holds Avro to the same.
func TestFloatsElsewhere(t *testing.T) {
	for _, c := range []struct{ source, value, typ, want string }{
		{"double", "0.1", "FLOAT", "0.1"}, {"double", "0.1234567890123", "FLOAT", "range"}, {"double", "1.0E300", "FLOAT", "range"}, {"double", "0.5", "FLOAT", "0.5"},
		{"double", "1.0E-400", "DOUBLE", "range"}, {"double", "0.0E-400", "DOUBLE", "0"}, {"double", "1.0E400", "DOUBLE", "range"}, {"double", "-0.00000000000000000000", "DOUBLE", "-0"},
		{"float", "0.1", "DOUBLE", "0.10000000149011612"}, {"float", "0.5", "DOUBLE", "0.5"}, {"float", "8.303239E17", "BIGINT", "830323900000000000"},
		{"double", "8.303239E17", "STRING", `"8.303239E17"`}, {"double", `"NaN"`, "BIGINT", "range"}, {"double", `"heavy"`, "BIGINT", "type"},
	} {
		typ := field1("x", c.typ).Type
		rec := &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: []byte(wrapped(fmt.Sprintf(`"type":%q`, c.source), c.value))}
		require.Equal(t, c.want, outcome(t, NewDecoder(Config{}), rec, &typ), "%s %s into %s", c.source, c.value, c.typ)
	}
}
