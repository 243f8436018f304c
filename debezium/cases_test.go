package debezium

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// rig is a table and a decoder for records without schema.
type rig struct {
	t      testing.TB
	schema *table.Schema
	opts   Options
	dec    *Decoder
	plan   *Plan
	batch  *table.Batch
	frame  Frame
	rec    Record
}

// newRig makes a table of columns like "id BIGINT NOT NULL"; the NOT NULL ones at the front that begin with a star are the
// primary key.
func newRig(t testing.TB, opts Options, columns ...string) *rig {
	s := &table.Schema{}
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		if n, ok := strings.CutPrefix(name, "*"); ok {
			name, typ = n, typ+" NOT NULL"
			s.PrimaryKeys = append(s.PrimaryKeys, name)
		}
		s.Fields = append(s.Fields, field1(name, typ))
	}
	r := &rig{t: t, schema: s, opts: opts, dec: NewDecoder(Config{}), batch: table.NewBatch(s.Fields)}
	return r
}

// apply frames and appends a record, and returns what the event says.
func (r *rig) apply(key, value string) (Event, error) {
	r.rec = Record{Topic: "dock.orchard.crate", Partition: 1, Offset: r.rec.Offset + 1, Timestamp: 1700000000007, Value: []byte(value)}
	if key != "" {
		r.rec.Key = []byte(key)
	}
	if value == "" {
		r.rec.Value = nil
	}
	if err := r.dec.Frame(context.Background(), &r.rec, &r.frame); err != nil {
		return Event{}, err
	}
	if r.plan == nil || r.plan.shape != r.frame.Shape && r.frame.Kind != KindTombstone {
		p, err := Bind(r.schema, r.frame.Shape, r.opts)
		require.NoError(r.t, err)
		r.plan = p
	}
	before := r.batch.Len()
	var ev Event
	var err error
	switch r.frame.Kind {
	case KindChange, KindFlat:
		ev, err = r.plan.Append(&r.frame, r.batch)
	case KindTombstone:
		ev, err = r.plan.AppendKey(&r.frame, r.batch)
	}
	if err != nil {
		require.Equal(r.t, before, r.batch.Len())
	}
	for i := range r.batch.Columns {
		if !slices.Contains(r.opts.Computed, r.schema.Fields[i].Name) {
			require.Equal(r.t, r.batch.Len(), r.batch.Columns[i].Len(), "column %d", i)
		}
	}
	return ev, err
}

// rows prints all rows and empties the batch.
func (r *rig) rows() []string {
	var out []string
	for i := range r.batch.Len() {
		out = append(out, r.batch.Kinds[i].String()+" "+string(table.AppendCanonicalRow(nil, r.schema.Fields, r.batch, i)))
	}
	r.batch.Reset()
	return out
}

func envelope(op, before, after string) string {
	return fmt.Sprintf(`{"before":%s,"after":%s,"source":{"version":"3.0.8.Final","connector":"mysql","name":"dock","ts_ms":1700000000000,"snapshot":"false","db":"orchard","sequence":null,"table":"crate","server_id":1,"gtid":null,"file":"bl.000004","pos":1000,"row":0},"transaction":null,"op":"%s","ts_ms":1700000000005}`, before, after, op)
}

func reasonOf(t testing.TB, err error) Reason {
	var bad *RecordError
	require.ErrorAs(t, err, &bad)
	require.NotEmpty(t, bad.Topic)
	return bad.Reason
}

var crate = []string{"*id BIGINT", "label STRING", "weight INT"}

func TestRowKinds(t *testing.T) {
	r := newRig(t, Options{}, crate...)
	for _, e := range []struct{ op, before, after string }{
		{"c", "null", `{"id":1,"label":"a","weight":1}`},
		{"r", "null", `{"id":2,"label":null,"weight":-2}`},
		{"u", `{"id":1,"label":"a","weight":1}`, `{"id":1,"label":"b","weight":2}`},
		{"d", `{"id":1,"label":"b","weight":2}`, "null"},
	} {
		ev, err := r.apply(`{"id":1}`, envelope(e.op, e.before, e.after))
		require.NoError(t, err)
		require.Equal(t, Op(e.op[0]), ev.Op)
		require.Equal(t, BeforeFull, ev.Before)
	}
	require.Equal(t, []string{
		`+I {"id":1,"label":"a","weight":1}`,
		`+I {"id":2,"label":null,"weight":-2}`,
		`-U {"id":1,"label":"a","weight":1}`, `+U {"id":1,"label":"b","weight":2}`,
		`-D {"id":1,"label":"b","weight":2}`,
	}, r.rows())
}

// TestMemberOrder: members in any order, with white space and escaped names, and twice.
func TestMemberOrder(t *testing.T) {
	r := newRig(t, Options{}, crate...)
	for _, v := range []string{
		`{"op":"u","after":{"weight":2,"id":1,"label":"b"},"before":{"label":"a","id":1,"weight":1},"ts_ms":5}`,
		` { "ts_ms" : 5 , "after" : { "id" : 1 , "weight" : 2 , "label" : "b" } , "source" : { "db" : "x" } , "op" : "u" , "before" : { "id" : 1 , "label" : "a" , "weight" : 1 } } `,
		`{"op":"u","before":{"id":9,"id":1,"label":"x","label":"a","weight":1,"label":"a"},"after":{"w\u0065ight":2,"id":1,"label":"b"}}`,
		`{"before":{"id":7,"label":"z","weight":7},"before":{"id":1,"label":"a","weight":1},"op":"u","after":{"id":1,"label":"b","weight":2}}`,
		`{"before":{"id":1,"label":"a","weight":1},"after":{"id":1,"label":"b","weight":2},"op":"u","ts_ms":1,"ts_us":2,"ts_ns":3,"transaction":null}`,
		`{"schema":null,"payload":{"before":{"id":1,"label":"a","weight":1},"after":{"id":1,"label":"b","weight":2},"op":"u","ts_ms":1}}`,
		`{"payload":{"before":{"id":1,"label":"a","weight":1},"after":{"id":1,"label":"b","weight":2},"op":"u","ts_ms":1},"schema":null}`,
	} {
		ev, err := r.apply(`{"id":1}`, v)
		require.NoError(t, err, v)
		require.Equal(t, Event{Op: OpUpdate, Rows: 2, Unavailable: ev.Unavailable}, ev)
		require.Equal(t, []string{`-U {"id":1,"label":"a","weight":1}`, `+U {"id":1,"label":"b","weight":2}`}, r.rows(), v)
	}
}

// TestPoorDeletes is case U06: tombstones and deletes without an image.
func TestPoorDeletes(t *testing.T) {
	r := newRig(t, Options{}, append(crate, "sort STRING NOT NULL", "d DECIMAL(4,1) NOT NULL")...)
	ev, err := r.apply(`{"id":5}`, "")
	require.NoError(t, err)
	require.Equal(t, BeforeKeyOnly, ev.Before)
	const poor = `-D {"id":5,"label":null,"weight":null,"sort":"(unknown)","d":"-999.9"}`
	require.Equal(t, []string{poor}, r.rows())

	ev, err = r.apply(`{"id":5}`, envelope("d", `{"id":5}`, "null"))
	require.NoError(t, err)
	require.Equal(t, BeforeKeyOnly, ev.Before)
	require.Equal(t, []string{poor}, r.rows())

	ev, err = r.apply(`{"id":5}`, envelope("d", `null`, "null"))
	require.NoError(t, err)
	require.Equal(t, BeforeMissing, ev.Before)
	require.Equal(t, []string{poor}, r.rows())

	_, err = r.apply("", envelope("d", `null`, "null"))
	require.Equal(t, ReasonUnavailable, reasonOf(t, err))

	_, err = r.apply("", "")
	require.NoError(t, err)
	require.Equal(t, KindEmpty, r.frame.Kind)
	require.Empty(t, r.rows())

	ev, err = r.apply(`{"id":5}`, envelope("d", `{"id":5,"label":"","weight":0,"sort":"","d":"AA=="}`, "null"))
	require.NoError(t, err)
	require.Equal(t, BeforeSuspect, ev.Before)
	ev, err = r.apply(`{"id":5}`, envelope("d", `{"id":5,"label":"","weight":7,"sort":"","d":"AA=="}`, "null"))
	require.NoError(t, err)
	require.Equal(t, BeforeFull, ev.Before)
	ev, err = r.apply(`{"id":0}`, envelope("d", `{"id":0,"label":"x","weight":7,"sort":"y","d":"AQ=="}`, "null"))
	require.NoError(t, err)
	require.Equal(t, BeforeFull, ev.Before) // MySQL has keys of zero
	ev, err = r.apply(`{"id":0}`, strings.Replace(envelope("d", `{"id":0,"label":"x","weight":7,"sort":"y","d":"AQ=="}`, "null"), "mysql", "postgresql", 1))
	require.NoError(t, err)
	require.Equal(t, BeforeSuspect, ev.Before) // REPLICA IDENTITY USING INDEX on label, sort: the key is made up
}

// TestKeyOnlyDelete is case U07: the row of a partitioned table cannot be found by its record key.
func TestKeyOnlyDelete(t *testing.T) {
	r := newRig(t, Options{}, "*id INT", "*day STRING", "label STRING", "weight INT")
	_, err := r.apply(`{"id":3}`, "")
	require.Equal(t, ReasonKey, reasonOf(t, err))
	require.ErrorContains(t, err, "column day")
	_, err = r.apply(`{"id":3,"day":"2024-05-01"}`, "")
	require.NoError(t, err)
	require.Equal(t, []string{`-D {"id":3,"day":"2024-05-01","label":null,"weight":null}`}, r.rows())
	ev, err := r.apply(`{"id":3}`, envelope("d", `{"id":3,"day":"","label":"","weight":0}`, "null"))
	require.NoError(t, err)
	require.Equal(t, BeforeSuspect, ev.Before)
}

// TestUnavailable is case U11: the placeholder in every shape.
func TestUnavailable(t *testing.T) {
	for _, text := range []string{"", "~same~", "ä\"x"} {
		ph := text
		if ph == "" {
			ph = defaultPlaceholder
		}
		quoted, err := json.Marshal(ph)
		require.NoError(t, err)
		codes := strings.Join(strings.Fields(fmt.Sprint([]byte(ph))), ",")
		sum := newPlaceholder(text).uuid
		columns := map[string][]string{
			"STRING":              {string(quoted), `"` + base64.StdEncoding.EncodeToString([]byte(ph)) + `"`},
			"BYTES":               {`"` + base64.StdEncoding.EncodeToString([]byte(ph)) + `"`, `"` + hex.EncodeToString([]byte(ph)) + `"`, string(quoted)},
			"DECIMAL(10, 2)":      {string(quoted)},
			"ARRAY<STRING>":       {"[" + string(quoted) + "]", `[ "` + sum + `" ]`},
			"ARRAY<INT>":          {codes},
			"ARRAY<DATE>":         {codes},
			"MAP<STRING, STRING>": {fmt.Sprintf("{%s:%s}", quoted, quoted)},
		}
		for typ, forms := range columns {
			for _, form := range forms {
				r := newRig(t, Options{Types: Types{Unavailable: text}}, "*id INT", "n INT")
				r.schema.Fields = append(r.schema.Fields, table.Field{Name: "x", Type: nestedType(t, typ)})
				r.batch = table.NewBatch(r.schema.Fields)
				after := fmt.Sprintf(`{"id":1,"n":2,"x":%s}`, form)

				ev, err := r.apply(`{"id":1}`, envelope("u", "null", after))
				require.NoError(t, err, typ)
				require.Equal(t, []int{2}, ev.Unavailable, "%s %s", typ, form)
				require.Equal(t, BeforeMissing, ev.Before)
				require.Equal(t, []string{`+U {"id":1,"n":2,"x":null}`}, r.rows())

				ev, err = r.apply(`{"id":1}`, envelope("c", "null", after)) // after a change of key
				require.NoError(t, err)
				require.Equal(t, []int{2}, ev.Unavailable)
				r.rows()

				if typ == "STRING" || typ == "ARRAY<STRING>" {
					old := map[string]string{"STRING": `"old"`, "ARRAY<STRING>": `["old",null]`}[typ]
					ev, err = r.apply(`{"id":1}`, envelope("u", fmt.Sprintf(`{"id":1,"n":1,"x":%s}`, old), after))
					require.NoError(t, err)
					require.Empty(t, ev.Unavailable)
					require.Equal(t, []string{`-U {"id":1,"n":1,"x":` + old + `}`, `+U {"id":1,"n":2,"x":` + old + `}`}, r.rows())
				}
			}
		}
	}
	// data that looks like it
	r := newRig(t, Options{}, "*id INT", "s STRING")
	r.schema.Fields = append(r.schema.Fields, table.Field{Name: "a", Type: nestedType(t, "ARRAY<STRING>")}, table.Field{Name: "i", Type: nestedType(t, "ARRAY<INT>")})
	r.batch = table.NewBatch(r.schema.Fields)
	ev, err := r.apply(`{"id":1}`, envelope("c", "null", `{"id":1,"s":"see __debezium_unavailable_value","a":["__debezium_unavailable_value","b"],"i":[95,95,100]}`))
	require.NoError(t, err)
	require.Empty(t, ev.Unavailable)
	require.Equal(t, []string{`+I {"id":1,"s":"see __debezium_unavailable_value","a":["__debezium_unavailable_value","b"],"i":[95,95,100]}`}, r.rows())
	// a key
	_, err = newRig(t, Options{}, "*s STRING").apply(`{"s":"x"}`, envelope("c", "null", `{"s":"__debezium_unavailable_value"}`))
	require.Equal(t, ReasonUnavailable, reasonOf(t, err))
}

func nestedType(t testing.TB, s string) table.Type {
	if elem, ok := strings.CutPrefix(s, "ARRAY<"); ok {
		e := nestedType(t, strings.TrimSuffix(elem, ">"))
		return table.Type{Root: table.Array, Element: &e}
	}
	if kv, ok := strings.CutPrefix(s, "MAP<"); ok {
		k, v, _ := strings.Cut(strings.TrimSuffix(kv, ">"), ", ")
		key, value := nestedType(t, k), nestedType(t, v)
		return table.Type{Root: table.Map, Key: &key, Element: &value}
	}
	typ, err := table.ParseType(s)
	require.NoError(t, err)
	return typ
}

// TestUpdateWithoutBefore is case U13.
func TestUpdateWithoutBefore(t *testing.T) {
	r := newRig(t, Options{}, crate...)
	for before, want := range map[string]BeforeImage{"null": BeforeMissing, `{"id":8}`: BeforeKeyOnly} {
		ev, err := r.apply(`{"id":8}`, envelope("u", before, `{"id":8,"label":"oat","weight":4}`))
		require.NoError(t, err)
		require.Equal(t, want, ev.Before)
		require.Equal(t, []string{`+U {"id":8,"label":"oat","weight":4}`}, r.rows())
	}
	_, err := r.apply(`{"id":8}`, envelope("u", "null", `{"id":8,"weight":5}`))
	require.NoError(t, err)
	require.Equal(t, []string{`+U {"id":8,"label":null,"weight":5}`}, r.rows())

	// a before image that lacks what after has is no row to take back; an after image that lacks what before has did not change it
	ev, err := r.apply(`{"id":8}`, envelope("u", `{"id":8,"weight":4}`, `{"id":8,"label":"rye","weight":5}`))
	require.NoError(t, err)
	require.Equal(t, BeforeKeyOnly, ev.Before)
	require.Equal(t, []string{`+U {"id":8,"label":"rye","weight":5}`}, r.rows())
	ev, err = r.apply(`{"id":8}`, envelope("u", `{"id":8,"label":"oat","weight":4}`, `{"id":8,"weight":5}`))
	require.NoError(t, err)
	require.Equal(t, BeforeFull, ev.Before)
	require.Equal(t, []string{`-U {"id":8,"label":"oat","weight":4}`, `+U {"id":8,"label":"oat","weight":5}`}, r.rows())
	ev, err = r.apply(`{"id":8}`, envelope("u", `{"id":8,"weight":4}`, `{"id":8,"weight":5}`)) // a column that the source does not have yet
	require.NoError(t, err)
	require.Equal(t, BeforeFull, ev.Before)
	require.Equal(t, []string{`-U {"id":8,"label":null,"weight":4}`, `+U {"id":8,"label":null,"weight":5}`}, r.rows())

	r = newRig(t, Options{Absent: AbsentFail}, crate...)
	_, err = r.apply(`{"id":8}`, envelope("u", "null", `{"id":8,"weight":5}`))
	require.Equal(t, ReasonAbsent, reasonOf(t, err))
	require.ErrorContains(t, err, "column label")
}

// TestKeys is case U14.
func TestKeys(t *testing.T) {
	r := newRig(t, Options{Key: []string{"a", "b"}}, "*b INT", "*a INT", "v INT")
	_, err := r.apply(`{"b":1,"a":2}`, envelope("c", "null", `{"a":2,"b":1,"v":0}`))
	require.NoError(t, err)
	names, err := r.frame.KeyNames()
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, names)
	for _, key := range []string{`{"b":1}`, `{"b":1,"a":2,"c":3}`, `{"b":1,"c":2}`, "", "5"} {
		_, err = r.apply(key, envelope("c", "null", `{"a":2,"b":1,"v":0}`))
		require.Equal(t, ReasonKey, reasonOf(t, err), key)
	}
	// a key column that the row does not have is read from the key
	r = newRig(t, Options{}, "*__dbz__physicalTableIdentifier STRING", "*id INT", "v INT")
	_, err = r.apply(`{"id":1,"__dbz__physicalTableIdentifier":"s.t1"}`, envelope("u", `{"id":1,"v":1}`, `{"id":1,"v":2}`))
	require.NoError(t, err)
	require.Equal(t, []string{
		`-U {"__dbz__physicalTableIdentifier":"s.t1","id":1,"v":1}`, `+U {"__dbz__physicalTableIdentifier":"s.t1","id":1,"v":2}`,
	}, r.rows())
	_, err = r.apply(`{"id":1}`, envelope("c", `null`, `{"id":1,"v":2}`))
	require.Equal(t, ReasonAbsent, reasonOf(t, err))
	// what the table does not have of a key is no unknown field
	r = newRig(t, Options{FailUnknown: true}, "*id INT", "v INT")
	_, err = r.apply(`{"shard":"s.t1","id":1}`, "")
	require.NoError(t, err)
	require.Empty(t, r.plan.Unknown())
	require.Equal(t, []string{`-D {"id":1,"v":null}`}, r.rows())
}

// cellCase is one value in one column.
type cellCase struct {
	typ, value string
	want       string // canonical text, or the reason of the error
}

// check puts each value into a table of its own.
func check(t *testing.T, types Types, cases []cellCase) {
	t.Helper()
	for _, c := range cases {
		r := newRig(t, Options{Types: types}, "*id INT")
		r.schema.Fields = append(r.schema.Fields, table.Field{Name: "x", Type: nestedType(t, c.typ)})
		r.batch = table.NewBatch(r.schema.Fields)
		_, err := r.apply(`{"id":1}`, envelope("c", "null", fmt.Sprintf(`{"id":1,"x":%s}`, c.value)))
		var have string
		if err != nil {
			have = string(reasonOf(t, err))
			var bad *RecordError
			require.True(t, errors.As(err, &bad))
			if bad.Reason != ReasonMalformed {
				require.Equal(t, "x", bad.Column, "%s %s: %v", c.typ, c.value, err)
			}
		} else {
			have = strings.TrimSuffix(strings.TrimPrefix(r.rows()[0], `+I {"id":1,"x":`), "}")
		}
		require.Equal(t, c.want, have, "%s <- %s (%v)", c.typ, c.value, err)
	}
}

// TestIntegers is case U15.
func TestIntegers(t *testing.T) {
	check(t, Types{}, []cellCase{
		{"BIGINT", "9007199254740993", "9007199254740993"},
		{"BIGINT", "9223372036854775807", "9223372036854775807"},
		{"BIGINT", "-9223372036854775808", "-9223372036854775808"},
		{"BIGINT", "9223372036854775808", "range"},
		{"BIGINT", "-9223372036854775809", "range"},
		{"BIGINT", "123456789012345678901234567890", "range"},
		{"BIGINT", "1e2", "100"}, {"BIGINT", "1.0", "1"}, {"BIGINT", "-0", "0"}, {"BIGINT", "1.5", "range"}, {"BIGINT", "1e400", "range"},
		{"BIGINT", "1e-400", "range"}, {"BIGINT", "0e999999999999", "0"},
		{"INT", "2147483647", "2147483647"}, {"INT", "2147483648", "range"}, {"INT", "-2147483648", "-2147483648"}, {"INT", "-2147483649", "range"},
		{"SMALLINT", "255", "255"}, {"SMALLINT", "-32769", "range"}, {"TINYINT", "-128", "-128"}, {"TINYINT", "128", "range"},
		{"INT", `"heavy"`, "type"}, {"INT", `"12"`, "12"}, {"INT", "true", "1"}, {"INT", "[1]", "type"}, {"INT", `{"a":1}`, "type"},
		{"INT", "01", "malformed"}, {"INT", "-", "malformed"}, {"INT", "1.", "malformed"}, {"INT", "+1", "malformed"}, {"INT", ".5", "malformed"},
		{"DECIMAL(20, 0)", `"AP//////////"`, `"18446744073709551615"`},
		{"DECIMAL(20, 0)", "18446744073709551615", `"18446744073709551615"`},
		{"DECIMAL(20, 0)", `"18446744073709551615"`, `"18446744073709551615"`},
		{"BIGINT", "4294967295", "4294967295"}, {"SMALLINT", "222", "222"},
		{"BOOLEAN", "true", "true"}, {"BOOLEAN", "0", "false"}, {"BOOLEAN", "1", "true"}, {"BOOLEAN", "2", "range"}, {"BOOLEAN", `"true"`, "type"},
		{"STRING", "12", `"12"`}, {"STRING", "1.50", `"1.50"`}, {"STRING", "false", `"false"`}, {"STRING", `{"a": [1]}`, `"{\"a\": [1]}"`},
	})
}

// TestDecimals is case U17.
func TestDecimals(t *testing.T) {
	check(t, Types{}, []cellCase{
		{"DECIMAL(10, 2)", `"+y4="`, `"-12.34"`}, {"DECIMAL(10, 2)", `"BNI="`, `"12.34"`}, {"DECIMAL(10, 2)", `"AA=="`, `"0.00"`},
		{"DECIMAL(10, 2)", `"/w=="`, `"-0.01"`}, {"DECIMAL(10, 2)", `"-12.34"`, `"-12.34"`}, {"DECIMAL(10, 2)", "-12.34", `"-12.34"`},
		{"DECIMAL(10, 2)", "1e2", `"100.00"`}, {"DECIMAL(10, 2)", "0.1", `"0.10"`}, {"DECIMAL(10, 2)", "5", `"5.00"`}, {"DECIMAL(10, 2)", "0.001", "range"},
		{"DECIMAL(10, 2)", "1.10000000000000000000000000000000000000000000", `"1.10"`}, {"DECIMAL(10, 2)", "99999999.99", `"99999999.99"`},
		{"DECIMAL(10, 2)", "100000000", "range"}, {"DECIMAL(10, 2)", `"100000000.00"`, "range"}, {"DECIMAL(10, 2)", `"abc"`, "type"},
		{"DECIMAL(10, 2)", `{"scale":3,"value":"BNI="}`, "range"}, {"DECIMAL(10, 3)", `{"scale":3,"value":"BNI="}`, `"1.234"`},
		{"DECIMAL(10, 2)", `{"scale":3,"value":"DB4="}`, "range"}, {"DECIMAL(10, 2)", `{"scale":3,"value":"DBw="}`, `"3.10"`},
		{"DECIMAL(10, 2)", `{"scale":-2,"value":"BNI="}`, `"123400.00"`}, {"DECIMAL(10, 2)", `{"scale":3}`, "type"},
		{"STRING", `{"scale":3,"value":"BNI="}`, `"1.234"`}, {"STRING", `{"value":"BNI=","scale":0}`, `"1234"`}, {"STRING", `{"scale":-3,"value":"BNI="}`, `"1234000"`},
		{"DECIMAL(38, 0)", `"SztMqFqGxHoJiiI//////w=="`, `"99999999999999999999999999999999999999"`},
		{"DECIMAL(38, 0)", `"SztMqFqGxHoJiiJAAAAAAA=="`, "range"},
		{"DECIMAL(38, 0)", `"tMSzV6V5O4X2dd3AAAAAAQ=="`, `"-99999999999999999999999999999999999999"`},
		{"DECIMAL(38, 0)", "1e37", `"10000000000000000000000000000000000000"`}, {"DECIMAL(38, 0)", "1e38", "range"},
		{"DECIMAL(38, 38)", "1e-38", `"0.00000000000000000000000000000000000001"`}, {"DECIMAL(38, 38)", "1e-39", "range"},
		{"DECIMAL(10, 2)", `"NaN"`, "range"}, {"DECIMAL(10, 2)", `"NAN"`, "range"}, {"DECIMAL(10, 2)", `"POSITIVE_INFINITY"`, "range"},
		{"DECIMAL(10, 0)", `"1234"`, "ambiguous"}, {"DECIMAL(10, 0)", `"12345"`, `"12345"`}, {"DECIMAL(10, 0)", `"-123"`, `"-123"`},
		{"DOUBLE", `"NaN"`, `"NaN"`}, {"DOUBLE", `"Infinity"`, `"Infinity"`}, {"DOUBLE", `"-Infinity"`, `"-Infinity"`}, {"DOUBLE", "-0.0", "-0"},
		{"DOUBLE", "0.1", "0.1"}, {"DOUBLE", "1e22", "1e+22"}, {"DOUBLE", "1.7976931348623157e308", "1.7976931348623157e+308"}, {"DOUBLE", "5e-324", "5e-324"},
		{"DOUBLE", "1e309", "range"}, {"DOUBLE", "9007199254740993", "range"}, {"DOUBLE", "9007199254740992", "9007199254740992"}, {"DOUBLE", "7", "7"},
		{"FLOAT", "3.4028235E38", "3.4028235e+38"}, {"FLOAT", "0.1", "0.1"}, {"FLOAT", "16777217", "range"}, {"FLOAT", "1.0E-45", "1e-45"}, {"FLOAT", "3.5e38", "range"},
		{"DOUBLE", `"x"`, "type"}, {"DOUBLE", "true", "type"},
		{"DOUBLE", "0.12345678901234567", "0.12345678901234566"}, {"DOUBLE", "0.1234567890123456789", "range"}, {"DOUBLE", "0.10000000000000000000", "0.1"}, {"DOUBLE", "1e-400", "range"},
		{"FLOAT", "0.12345679", "0.12345679"}, {"FLOAT", "0.1234567890", "0.12345679"}, {"FLOAT", "0.12345678901", "range"}, {"FLOAT", "123.45670318603516", "123.4567"}, {"FLOAT", "1e-50", "range"},
		{"DECIMAL(10, 2)", `""`, "type"}, {"DECIMAL(30, 2)", `""`, "type"}, {"STRING", `{"scale":2,"value":""}`, "type"},
	})
	check(t, Types{NaN: NaNNull}, []cellCase{{"DECIMAL(10, 2)", `"NaN"`, "null"}, {"DECIMAL(10, 2) NOT NULL", `"NaN"`, "null"}})
	check(t, Types{Decimal: DecimalString}, []cellCase{{"DECIMAL(10, 0)", `"1234"`, `"1234"`}, {"DECIMAL(10, 2)", `"BNI="`, "type"}, {"DECIMAL(10, 2)", `"1E+3"`, `"1000.00"`}})
	check(t, Types{Decimal: DecimalBase64}, []cellCase{{"DECIMAL(10, 0)", `"1234"`, `"-2658824"`}, {"DECIMAL(10, 2)", `"12.34"`, "type"}, {"DECIMAL(10, 2)", "12.34", `"12.34"`}})
	check(t, Types{Decimal: DecimalNumber}, []cellCase{{"DECIMAL(10, 2)", `"12.34"`, "type"}, {"DECIMAL(10, 2)", "12.34", `"12.34"`}})
}

// TestTimes is case U19.
func TestTimes(t *testing.T) {
	check(t, Types{}, []cellCase{
		{"DATE", "-1", `"1969-12-31"`}, {"DATE", "2932896", `"9999-12-31"`}, {"DATE", `"2024-02-29"`, `"2024-02-29"`}, {"DATE", `"2024-02-29Z"`, `"2024-02-29"`},
		{"DATE", `"2023-02-29"`, "type"}, {"DATE", `"2024-13-01"`, "type"}, {"DATE", "99999999999", "range"}, {"DATE", `"infinity"`, "range"}, {"DATE", "-2147472692", "range"},
		{"TIME(3)", "86399999", `"23:59:59.999"`}, {"TIME(3)", "86400000", "range"}, {"TIME(3)", "-1", "range"}, {"TIME(0)", "1000", `"00:00:01.000"`}, {"TIME(0)", "1001", "range"},
		{"TIME(6)", "3020399000000", "range"}, {"TIME(6)", "-3600000000", "range"}, {"TIME(6)", "45296789000", `"12:34:56.789"`}, {"TIME(6)", "45296789012", "range"},
		{"TIME(9)", "45296789000000", `"12:34:56.789"`}, {"TIME(3)", `"12:34:56.789Z"`, `"12:34:56.789"`}, {"TIME(3)", `"838:59:59"`, "range"}, {"TIME(3)", `"12:34:56.7890001"`, "range"},
		{"TIMESTAMP(3)", "-1", `"1969-12-31T23:59:59.999000"`}, {"TIMESTAMP(3)", "253402300799999", `"9999-12-31T23:59:59.999000"`},
		{"TIMESTAMP(6)", "-1", `"1969-12-31T23:59:59.999999"`}, {"TIMESTAMP(6)", "1700000000123456", `"2023-11-14T22:13:20.123456"`},
		{"TIMESTAMP(9)", "1700000000123456789", `"2023-11-14T22:13:20.123456789"`}, {"TIMESTAMP(9)", "-1", `"1969-12-31T23:59:59.999999999"`},
		{"TIMESTAMP(0)", "1000", `"1970-01-01T00:00:01.000000"`}, {"TIMESTAMP(0)", "1001", "range"}, {"TIMESTAMP(4)", "1234500", `"1970-01-01T00:00:01.234500"`}, {"TIMESTAMP(4)", "1234567", "range"},
		{"TIMESTAMP(6)", `"2024-02-29T12:34:56.789012Z"`, `"2024-02-29T12:34:56.789012"`}, {"TIMESTAMP(6)", `"2024-02-29 12:34:56"`, `"2024-02-29T12:34:56.000000"`},
		{"TIMESTAMP(6)", `"2024-02-29T12:34:56+02:00"`, "type"}, {"TIMESTAMP(3)", `"2024-02-29T12:34:56.789012Z"`, "range"}, {"TIMESTAMP(6)", `"2024-02-29T12:60:56Z"`, "type"},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"2023-10-29T02:30:00+02:00"`, `"2023-10-29T00:30:00.000000Z"`},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"2023-10-29T02:30:00+01:00"`, `"2023-10-29T01:30:00.000000Z"`},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"1969-12-31T23:59:59.999999Z"`, `"1969-12-31T23:59:59.999999Z"`},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"2023-10-29T02:30:00"`, "type"}, {"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"2024-01-01T00:00Z"`, `"2024-01-01T00:00:00.000000Z"`},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"infinity"`, "range"}, {"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"-0043-03-15T12:00:00Z"`, `"-0043-03-15T12:00:00.000000Z"`},
		{"TIMESTAMP(9) WITH LOCAL TIME ZONE", `"2024-01-01T00:00:00.123456789Z"`, `"2024-01-01T00:00:00.123456789Z"`},
		{"TIMESTAMP(6)", "9223372036825200000", "range"}, {"TIMESTAMP(6)", "-9223372036832400000", "range"}, {"TIMESTAMP(3)", "9223372036825200", "range"},
		{"STRING", `"10:00:00Z"`, `"10:00:00Z"`}, {"INT", "2155", "2155"}, {"BIGINT", "3020399000000", "3020399000000"},
	})
	check(t, Types{Infinity: InfinityNull}, []cellCase{
		{"TIMESTAMP(6)", "9223372036825200000", "null"}, {"DATE", "-622191234", "null"}, {"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"-infinity"`, "null"},
	})
	check(t, Types{Infinity: InfinityMax}, []cellCase{
		{"TIMESTAMP(6)", "9223372036825200000", `"9999-12-31T23:59:59.999999"`}, {"TIMESTAMP(3)", "-9223372036832400", `"0001-01-01T00:00:00.000000"`},
		{"TIMESTAMP(9)", "9223372036854775807", `"9999-12-31T23:59:59.999999999"`}, {"DATE", "-2147472691", `"0001-01-01"`},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `"infinity"`, `"9999-12-31T23:59:59.999999Z"`}, {"DATE", `"+292278994-08-16Z"`, `"9999-12-31"`},
		{"TIMESTAMP(6)", `"+294247-01-10T04:00:25.2Z"`, `"9999-12-31T23:59:59.999999"`},
	})
}

// TestBinary is case U21: the same seven bytes in each mode.
func TestBinary(t *testing.T) {
	const want = `"AP/+gMMoCg=="`
	base, url, hexa := `"AP/+gMMoCg=="`, `"AP_-gMMoCg=="`, `"00fffe80c3280a"`
	check(t, Types{}, []cellCase{
		{"BYTES", base, want}, {"BYTES", url, want}, {"BYTES", hexa, want}, {"BYTES", `"deadbeef"`, "ambiguous"}, {"BYTES", `""`, `""`},
		{"VARBINARY(7)", base, want}, {"VARBINARY(6)", base, "range"}, {"BINARY(8)", `"dGV4dA=="`, `"dGV4dA=="`},
		{"BYTES", `"AP/+gMMoCg"`, "type"}, {"BYTES", `"AP/+\ngMMoCg=="`, "type"}, {"BYTES", `"AP/+gMMoCh=="`, "type"}, {"BYTES", `"äöü="`, "type"}, {"BYTES", "1", "type"},
	})
	check(t, Types{Binary: BinaryBase64}, []cellCase{{"BYTES", base, want}, {"BYTES", url, "type"}, {"BYTES", hexa, "type"}, {"BYTES", `"deadbeef"`, `"deadbeef"`}})
	check(t, Types{Binary: BinaryBase64URL}, []cellCase{{"BYTES", url, want}, {"BYTES", hexa, "type"}})
	check(t, Types{Binary: BinaryHex}, []cellCase{{"BYTES", hexa, want}, {"BYTES", `"deadbeef"`, `"3q2+7w=="`}, {"BYTES", `"gQ=="`, `"gQ=="`}})
}

// TestBigValue: a text of 20 MiB, and one with escapes.
func TestBigValue(t *testing.T) {
	r := newRig(t, Options{}, crate...)
	for _, piece := range []string{"abcdefgh", `\u00e9x\n`} {
		_, err := r.apply(`{"id":1}`, envelope("c", "null", `{"id":1,"label":"`+strings.Repeat(piece, 20<<20/len(piece))+`","weight":3}`))
		require.NoError(t, err)
		require.Greater(t, len(r.batch.Columns[1].Bytes(0)), 5<<20)
		r.rows()
	}
}

// TestZones: the time zone of the process changes nothing.
func TestZones(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/St_Johns"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Logf("no zone %s here: %v", name, err)
			zone = time.FixedZone(name, -12600)
		}
		time.Local = zone
		TestTimes(t)
	}
}

func TestText(t *testing.T) {
	check(t, Types{}, []cellCase{
		{"STRING", `"a\"\\\/\b\f\n\r\t\u00e9\ud83c\udf89"`, `"a\"\\/\b\f\n\r\té🎉"`}, {"STRING", `"\u0000"`, `"\u0000"`},
		{"STRING", `"\ud83c"`, "malformed"}, {"STRING", `"\udf89\ud83c"`, "malformed"}, {"STRING", `"\ud83cx"`, "malformed"}, {"STRING", `"\u12g4"`, "malformed"}, {"STRING", `"\x"`, "malformed"},
		{"STRING", "\"a\nb\"", "malformed"}, {"STRING", "\"\xff\"", "malformed"}, {"STRING", "\"\xc3\x28\"", "malformed"}, {"STRING", "\"\xed\xa0\x80\"", "malformed"},
		{"VARCHAR(3)", `"äöü"`, `"äöü"`}, {"VARCHAR(3)", `"äöüx"`, "range"}, {"CHAR(2)", `"x"`, `"x"`}, {"CHAR(2)", `"xyz"`, "range"},
		{"STRING", "null", "null"}, {"STRING NOT NULL", "null", "null"}, {"STRING", "nul", "malformed"}, {"STRING", "", "malformed"},
	})
	check(t, Types{}, []cellCase{{"INT NOT NULL", "null", string(ReasonNull)}})
}

func TestNested(t *testing.T) {
	check(t, Types{}, []cellCase{
		{"ARRAY<INT>", "[]", "[]"}, {"ARRAY<INT>", "[1,null,-3]", "[1,null,-3]"}, {"ARRAY<INT>", " [ 1 , 2 ] ", "[1,2]"}, {"ARRAY<INT>", "[1,]", "malformed"},
		{"ARRAY<INT>", `["x"]`, "type"}, {"ARRAY<INT>", "{}", "type"}, {"ARRAY<ARRAY<STRING>>", `[["a"],[],null]`, `[["a"],[],null]`},
		{"MAP<STRING, INT>", `{"a":1,"b":null}`, `[["a",1],["b",null]]`}, {"MAP<STRING, INT>", "{}", "[]"}, {"MAP<INT, STRING>", `[[1,"a"],[2,null]]`, `[[1,"a"],[2,null]]`},
		{"MAP<INT, STRING>", `[[null,"a"]]`, "null"}, {"MAP<STRING, INT>", `{"a":"x"}`, "type"}, {"ARRAY<DECIMAL(10, 2)>", `["bg==","/yQ=",1.5]`, `["1.10","-2.20","1.50"]`},
		{"ARRAY<INT NOT NULL>", "[null]", "null"},
	})
	row := table.Type{Root: table.RowType, Fields: []table.Field{field1("srid", "INT"), field1("wkb", "BYTES NOT NULL")}}
	r := newRig(t, Options{}, "*id INT")
	r.schema.Fields = append(r.schema.Fields, table.Field{Name: "g", Type: row})
	r.batch = table.NewBatch(r.schema.Fields)
	_, err := r.apply(`{"id":1}`, envelope("c", "null", `{"id":1,"g":{"wkb":"AQ==","srid":null}}`))
	require.NoError(t, err)
	require.Equal(t, []string{`+I {"id":1,"g":{"srid":null,"wkb":"AQ=="}}`}, r.rows())
	for value, reason := range map[string]Reason{`{"wkb":"AQ==","x":1}`: ReasonUnknown, `{"srid":1}`: ReasonNull, `{"wkb":1}`: ReasonType, `[1]`: ReasonType} {
		_, err = r.apply(`{"id":1}`, envelope("c", "null", `{"id":1,"g":`+value+`}`))
		require.Equal(t, reason, reasonOf(t, err), value)
	}
}

// TestUnknownFields: what the table does not have is counted, listed or refused.
func TestUnknownFields(t *testing.T) {
	r := newRig(t, Options{}, crate...)
	ev, err := r.apply(`{"id":1}`, envelope("u", `{"id":1,"label":"a","weight":1,"grade":4}`, `{"id":1,"label":"a","grade":5,"weight":1,"x":[{}]}`))
	require.NoError(t, err)
	require.Equal(t, 3, ev.Unknown)
	require.Equal(t, []string{"grade", "x"}, r.plan.Unknown())
	r.opts.FailUnknown, r.plan = true, nil
	_, err = r.apply(`{"id":1}`, envelope("c", "null", `{"id":1,"label":"a","weight":1,"grade":4}`))
	require.Equal(t, ReasonUnknown, reasonOf(t, err))
}

// TestMetadata fills columns from the record.
func TestMetadata(t *testing.T) {
	r := newRig(t, Options{Metadata: map[string]Metadata{
		"topic": MetadataTopic, "part": MetadataPartition, "off": MetadataOffset, "kts": MetadataTimestamp, "op": MetadataOp, "sts": MetadataSourceTime,
		"pos": MetadataSourcePosition, "tx": MetadataTransaction,
	}, Computed: []string{"c"}}, "*id INT", "topic STRING", "part INT", "off BIGINT", "kts TIMESTAMP(3) WITH LOCAL TIME ZONE", "op STRING", "sts BIGINT", "pos STRING", "tx STRING", "c INT")
	v := strings.Replace(envelope("u", `{"id":1}`, `{"id":1}`), `"transaction":null`, `"transaction":{"total_order":1,"id":"t7"}`, 1)
	_, err := r.apply(`{"id":1}`, v)
	require.NoError(t, err)
	r.batch.Columns[9].AppendWord(5)
	r.batch.Columns[9].AppendWord(6)
	const rest = `"topic":"dock.orchard.crate","part":1,"off":1,"kts":"2023-11-14T22:13:20.007000Z","op":"u","sts":1700000000000,"pos":"binlog:1/bl.000004/1000/0/","tx":"t7"`
	require.Equal(t, []string{`-U {"id":1,` + rest + `,"c":5}`, `+U {"id":1,` + rest + `,"c":6}`}, r.rows())
	for m := MetadataTopic; m <= MetadataTransaction; m++ {
		n, err := ParseMetadata(m.String())
		require.NoError(t, err)
		require.Equal(t, m, n)
	}
	_, err = ParseMetadata("nonsense")
	require.Error(t, err)
}
