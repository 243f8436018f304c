package debezium

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestFillers: what stands for an unknown value where NULL may not.
func TestFillers(t *testing.T) {
	for typ, want := range map[string]string{
		"TINYINT": "-128", "SMALLINT": "-32768", "INT": "-2147483648", "BIGINT": "-9223372036854775808", "FLOAT": `"NaN"`, "DOUBLE": `"NaN"`, "BOOLEAN": "false",
		"DECIMAL(4, 1)": `"-999.9"`, "DECIMAL(18, 0)": `"-999999999999999999"`, "DECIMAL(19, 19)": `"-0.9999999999999999999"`,
		"DECIMAL(38, 0)": `"-99999999999999999999999999999999999999"`, "STRING": `"(unknown)"`, "VARCHAR(3)": `"(un"`, "CHAR(20)": `"(unknown)"`, "BYTES": `"KHVua25vd24p"`, "BINARY(2)": `"KHU="`,
		"DATE": `"0001-01-01"`, "TIME(3)": `"00:00:00.000"`, "TIMESTAMP(3)": `"0001-01-01T00:00:00.000000"`, "TIMESTAMP(6)": `"0001-01-01T00:00:00.000000"`,
		"TIMESTAMP(9)": `"0001-01-01T00:00:00.000000000"`, "TIMESTAMP(6) WITH LOCAL TIME ZONE": `"0001-01-01T00:00:00.000000Z"`, "ARRAY<INT>": "[]", "MAP<STRING, INT>": "[]",
	} {
		r := newRig(t, Options{}, "*id INT")
		r.schema.Fields = append(r.schema.Fields, table.Field{Name: "x", Type: nestedType(t, typ)})
		r.schema.Fields[1].Type.NotNull = true
		r.batch = table.NewBatch(r.schema.Fields)
		_, err := r.apply(`{"id":1}`, "")
		require.NoError(t, err)
		require.Equal(t, []string{`-D {"id":1,"x":` + want + `}`}, r.rows(), typ)
	}
	r := newRig(t, Options{}, "*id INT")
	inner := table.Type{Root: table.RowType, NotNull: true, Fields: []table.Field{field1("d", "DECIMAL(20, 0) NOT NULL")}}
	r.schema.Fields = append(r.schema.Fields, table.Field{Name: "x", Type: table.Type{Root: table.RowType, NotNull: true, Fields: []table.Field{
		field1("a", "INT"), field1("b", "INT NOT NULL"), field1("c", "STRING NOT NULL"), {Name: "r", Type: inner},
	}}})
	r.batch = table.NewBatch(r.schema.Fields)
	_, err := r.apply(`{"id":1}`, "")
	require.NoError(t, err)
	require.Equal(t, []string{`-D {"id":1,"x":{"a":null,"b":-2147483648,"c":"(unknown)","r":{"d":"-99999999999999999999"}}}`}, r.rows())
	require.Equal(t, []string{"full", "missing", "key-only", "suspect"}, []string{BeforeFull.String(), BeforeMissing.String(), BeforeKeyOnly.String(), BeforeSuspect.String()})
}

// TestSuspect: values that Debezium makes up, and values that it does not.
func TestSuspect(t *testing.T) {
	for typ, values := range map[string][2]string{
		"INT": {"0", "1"}, "DOUBLE": {"0.0", "0.5"}, "BOOLEAN": {"false", "true"}, "STRING": {`""`, `"x"`}, "BYTES": {`""`, `"AQ=="`}, "DECIMAL(10, 2)": {`"AA=="`, `"AQ=="`},
		"DECIMAL(30, 2)": {`"AA=="`, `"AQ=="`}, "DATE": {"0", "1"}, "TIMESTAMP(6)": {"0", "1"}, "TIMESTAMP(9)": {"0", "1"}, "TIMESTAMP(6) WITH LOCAL TIME ZONE": {`"1970-01-01T00:00:00Z"`, `"1970-01-01T00:00:01Z"`},
		"ARRAY<INT>": {"[]", "[0]"}, "VARCHAR(40)": {`"00000000-0000-0000-0000-000000000000"`, `"1970-01-02"`}, "CHAR(40)": {`"1970-01-01"`, `"00-x"`}, "BIGINT": {"null", "-1"},
	} {
		for i, want := range []BeforeImage{BeforeSuspect, BeforeFull} {
			r := newRig(t, Options{}, "*id INT")
			r.schema.Fields = append(r.schema.Fields, table.Field{Name: "x", Type: nestedType(t, typ)})
			r.batch = table.NewBatch(r.schema.Fields)
			ev, err := r.apply(`{"id":1}`, envelope("d", `{"id":1,"x":`+values[i]+`}`, "null"))
			require.NoError(t, err)
			require.Equal(t, want, ev.Before, "%s %s", typ, values[i])
		}
	}
	// a declared default is made up too
	row := `"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},{"type":"int32","optional":false,"default":5,"field":"x"}],"optional":true,"name":"t.Value"`
	for value, want := range map[string]BeforeImage{"5": BeforeSuspect, "6": BeforeFull, "0": BeforeSuspect} {
		f, err := frameOf(t, "t", `{"id":1}`, `{"schema":{"type":"struct","fields":[{`+row+`,"field":"before"},{`+row+`,"field":"after"},{"type":"string","optional":false,"field":"op"}],"name":"t.Envelope"},"payload":{"before":{"id":1,"x":`+value+`},"after":null,"op":"d","ts_ms":1}}`)
		require.NoError(t, err)
		schema := schemaOf(t, f.Shape, Types{})
		schema.PrimaryKeys = []string{"id"}
		p, err := Bind(schema, f.Shape, Options{})
		require.NoError(t, err)
		ev, err := p.Append(f, table.NewBatch(schema.Fields))
		require.NoError(t, err)
		require.Equal(t, want, ev.Before, value)
	}
}
