package connector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// TestChangedWhileAsleep is case U30 with a stop: three columns are added at the source while nobody reads.
func TestChangedWhileAsleep(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		mapping := crateTable()
		declaredByEvents(&mapping)
		mapping.Options["file.compression"] = "none" // its encoders would belong to one bubble
		cfg := s.config(store, mapping)
		run := func() {
			p := s.start(cfg)
			<-p.ended
			require.NoError(t, p.err)
		}
		before := []declaredColumn{labelColumn}
		after := append(before, gradeColumn, declaredColumn{name: "price", connect: `"type":"bytes"` + dataName + `Decimal","parameters":{"scale":"2","connect.decimal.precision":"10"}`},
			declaredColumn{name: "day", connect: `"type":"int32"` + timeName + `Date"`})
		s.emit(crateTopic, declaredEvent("c", 1, before, "", `{"id":1,"label":"a"}`))
		s.emit(crateTopic, declaredEvent("c", 2, before, "", `{"id":2,"label":"b"}`))
		run()
		s.emit(crateTopic, declaredEvent("u", 1, after, `{"id":1,"label":"a","grade":null,"price":null,"day":null}`, `{"id":1,"label":"a","grade":5,"price":"BNI=","day":1}`))
		run()
		require.Equal(t, []string{`{"id":1,"label":"a","grade":5,"price":"12.34","day":"1970-01-02"}`, `{"id":2,"label":"b","grade":null,"price":null,"day":null}`}, rowsOf(t, store, "orchard.crate"))
		schema, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
		require.NoError(t, err)
		require.EqualValues(t, 1, schema.ID, "one schema version for three columns")
	})
}

// TestRushOfANewTable is case U30 with a table that has just been made at the source: 5,000 records within moments, while making
// ours is slow and goes wrong twice.
func TestRushOfANewTable(t *testing.T) {
	const records = 5000
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 3, crateTopic), object.NewMem()
		mapping := crateTable()
		declaredByEvents(&mapping)
		mapping.Options["file.compression"] = "none"
		make := func(nth int, effect object.Effect) object.Rule {
			return object.Rule{Ops: []object.Op{object.OpCreate}, Path: "schema-0", Nth: nth, Effect: effect, Delay: 3 * time.Second}
		}
		fault := object.NewFault(store, make(1, object.FailBefore), make(2, object.FailBefore), make(3, object.DelayOnly))
		p := s.start(s.config(fault, mapping))
		for i := range records {
			e := declaredEvent("c", i, []declaredColumn{labelColumn}, "", fmt.Sprintf(`{"id":%d,"label":"a"}`, i))
			e.partition = int32(i % 3)
			s.emit(crateTopic, e)
		}
		<-p.ended
		require.NoError(t, p.err)
		if fault.Fired() == 0 { // it ended before the first record: a second one finds them all
			p = s.start(s.config(fault, mapping))
			<-p.ended
			require.NoError(t, p.err)
		}
		require.GreaterOrEqual(t, fault.Fired(), 2, "making the table went wrong")
		p = s.start(s.config(store, mapping)) // what came after the end was fixed
		<-p.ended
		require.NoError(t, p.err)
		rows := rowsOf(t, store, "orchard.crate")
		require.Len(t, rows, records)
		_, changes := changesOf(t, store, "orchard.crate")
		require.Len(t, changes, records, "each record once")
	})
}

// schemaStep is a record of one more form of a source table.
type schemaStep struct {
	columns []declaredColumn
	row     string
}

// playSteps sends a record of each form, and wants the columns "name TYPE" of the table in the end (nil: any), and its rows.
func playSteps(t *testing.T, steps []schemaStep, columns, rows []string, more func(t *testing.T, s *table.Schema)) {
	t.Helper()
	sc := script{skips: 9, table: declaredByEvents, rows: rows, offsets: []int64{int64(len(steps))}}
	for i, step := range steps {
		sc.events = append(sc.events, declaredEvent("c", i, step.columns, "", fmt.Sprintf(`{"id":%d%s}`, i, step.row)))
	}
	for _, row := range rows {
		sc.changes = append(sc.changes, "+I "+row)
	}
	sc.check = func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
		have, id := typesIn(t, store)
		if columns != nil {
			require.Equal(t, columns, have)
		}
		require.EqualValues(t, len(steps)-1, id, "one schema version for each change")
		schema, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
		require.NoError(t, err)
		if more != nil {
			more(t, schema)
		}
	}
	play(t, sc)
}

// TestSourceRenames is the first part of case U32: a renamed column is a new one, the old one stays and is null from then on.
func TestSourceRenames(t *testing.T) {
	title := declaredColumn{name: "title", connect: `"type":"string"`}
	playSteps(t, []schemaStep{{[]declaredColumn{labelColumn}, `,"label":"a"`}, {[]declaredColumn{title}, `,"title":"b"`}},
		[]string{"id BIGINT NOT NULL", "label STRING", "title STRING"},
		[]string{`{"id":0,"label":"a","title":null}`, `{"id":1,"label":null,"title":"b"}`}, nil)
}

// TestSourceDescribes: a comment is taken where there was none, and a column's default is not: a writer would put it in place of
// NULLs. NOT NULL is dropped where the source drops it, or stops sending the column.
func TestSourceDescribes(t *testing.T) {
	strict := func(more string) declaredColumn { // declaredEvent says optional: true first; the last member counts
		return declaredColumn{name: "label", connect: `"type":"string"` + more}
	}
	must := strict(`,"optional":false,"default":"x"`)
	playSteps(t, []schemaStep{
		{[]declaredColumn{must, gradeColumn}, `,"label":"a","grade":1`},
		{[]declaredColumn{must, {name: "grade", connect: `"type":"int32","doc":"from 1 to 6"`}}, `,"label":"b","grade":2`},
		{[]declaredColumn{strict(""), gradeColumn}, `,"label":null,"grade":3`},
		{[]declaredColumn{strict(""), gradeColumn, {name: "more", connect: `"type":"int32","default":7`}}, `,"label":"d","grade":4,"more":null`},
	}, []string{"id BIGINT NOT NULL", "label STRING", "grade INT", "more INT"}, []string{
		`{"id":0,"label":"a","grade":1,"more":null}`, `{"id":1,"label":"b","grade":2,"more":null}`, `{"id":2,"label":null,"grade":3,"more":null}`, `{"id":3,"label":"d","grade":4,"more":null}`,
	}, func(t *testing.T, s *table.Schema) {
		require.Equal(t, "from 1 to 6", s.Fields[2].Description)
		for _, f := range s.Fields {
			require.Nil(t, f.Default, f.Name)
		}
	})
}

// TestSourceWidens: each type that a source may widen, with a value that only the wider one holds; the values of before stay.
func TestSourceWidens(t *testing.T) {
	decimal := func(precision, scale int) string {
		return fmt.Sprintf(`"type":"bytes"%sDecimal","parameters":{"scale":"%d","connect.decimal.precision":"%d"}`, dataName, scale, precision)
	}
	box := func(members ...string) string {
		for i, m := range members {
			name, typ, _ := strings.Cut(m, " ")
			members[i] = fmt.Sprintf(`{"type":%q,"optional":true,"field":%q}`, typ, name)
		}
		return `"type":"struct","name":"box","fields":[` + strings.Join(members, ",") + `]`
	}
	list := func(typ string) string { return fmt.Sprintf(`"type":"array","items":{"type":%q,"optional":true}`, typ) }
	dict := func(typ string) string {
		return fmt.Sprintf(`"type":"map","keys":{"type":"string"},"values":{"type":%q,"optional":true}`, typ)
	}
	for _, c := range []struct{ name, from, to, first, second, typ, was, is string }{
		{"int16 to int32", `"type":"int16"`, `"type":"int32"`, "-32768", "-2147483648", "INT", "-32768", "-2147483648"},
		{"int32 to int64", `"type":"int32"`, `"type":"int64"`, "2147483647", "9223372036854775807", "BIGINT", "2147483647", "9223372036854775807"},
		{"int64 to decimal", `"type":"int64"`, decimal(22, 2), "-9223372036854775808", `"BNI="`, "DECIMAL(22, 2)", `"-9223372036854775808.00"`, `"12.34"`},
		{"decimal keeps its whole digits", decimal(10, 2), decimal(10, 4), `"Ajxzib8="`, `"BNI="`, "DECIMAL(12, 4)", `"96041394.5500"`, `"0.1234"`},
		{"float32 to float64", `"type":"float"`, `"type":"double"`, "0.5", "0.1", "DOUBLE", "0.5", "0.1"},
		{"milliseconds to microseconds", `"type":"int64"` + timeName + `Timestamp"`, `"type":"int64"` + timeName + `MicroTimestamp"`, "-1", "-1", "TIMESTAMP(6)", `"1969-12-31T23:59:59.999000"`, `"1969-12-31T23:59:59.999999"`},
		{"microseconds to nanoseconds", `"type":"int64"` + timeName + `MicroTimestamp"`, `"type":"int64"` + timeName + `NanoTimestamp"`, "-1", "-1", "TIMESTAMP(9)", `"1969-12-31T23:59:59.999999000"`, `"1969-12-31T23:59:59.999999999"`},
		{"member of a struct", box("w int32"), box("w int64", "h string"), `{"w":1}`, `{"w":9007199254740993,"h":"x"}`, "", `{"w":1,"h":null}`, `{"w":9007199254740993,"h":"x"}`},
		{"elements of an array", list("int32"), list("int64"), `[1,null]`, `[9007199254740993]`, "", `[1,null]`, `[9007199254740993]`},
		{"values of a map", dict("float"), dict("double"), `{"a":0.5}`, `{"b":0.1}`, "", `[["a",0.5]]`, `[["b",0.1]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns := []string{"id BIGINT NOT NULL", "x " + c.typ}
			sc := []schemaStep{{[]declaredColumn{{name: "x", connect: c.from}}, `,"x":` + c.first}, {[]declaredColumn{{name: "x", connect: c.to}}, `,"x":` + c.second}}
			rows := []string{`{"id":0,"x":` + c.was + `}`, `{"id":1,"x":` + c.is + `}`}
			if c.typ == "" {
				columns = nil // the text of a nested type is long
			}
			playSteps(t, sc, columns, rows, nil)
		})
	}
}

// TestSourceChangesNothing: a column that is NOT NULL now, another default, another order and a narrower type ask nothing of the
// table.
func TestSourceChangesNothing(t *testing.T) {
	wide, narrow := declaredColumn{name: "n", connect: `"type":"int64"`}, declaredColumn{name: "n", connect: `"type":"int16"`}
	first := []declaredColumn{wide, labelColumn, gradeColumn}
	steps := [][]declaredColumn{
		first, {narrow, labelColumn, gradeColumn}, {gradeColumn, wide, labelColumn},
		{wide, {name: "label", connect: `"type":"string","optional":false`}, {name: "grade", connect: `"type":"int32","default":9`}},
	}
	sc := script{skips: 9, table: declaredByEvents, offsets: []int64{int64(len(steps))}, check: wantColumns(0, "id BIGINT NOT NULL", "n BIGINT", "label STRING", "grade INT")}
	for i, columns := range steps {
		sc.events = append(sc.events, declaredEvent("c", i, columns, "", fmt.Sprintf(`{"id":%d,"n":1,"label":"a","grade":2}`, i)))
		row := fmt.Sprintf(`{"id":%d,"n":1,"label":"a","grade":2}`, i)
		sc.rows, sc.changes = append(sc.rows, row), append(sc.changes, "+I "+row)
	}
	play(t, sc)
}

// TestKeyWidens: Paimon cannot change the type of a key, so that a wider one at the source is refused.
func TestKeyWidens(t *testing.T) {
	keyed := func(e event, typ string) event {
		e.key = strings.Replace(e.key, "int64", typ, 1)
		e.value = strings.ReplaceAll(e.value, `{"type":"int64","optional":false,"field":"id"}`, `{"type":"`+typ+`","optional":false,"field":"id"}`)
		return e
	}
	columns := []declaredColumn{labelColumn}
	row := `{"id":1,"label":"a"}`
	play(t, script{
		skips: 9, table: declaredByEvents, rows: []string{row}, changes: []string{"+I " + row}, offsets: []int64{1}, check: wantColumns(0, "id INT NOT NULL", "label STRING"),
		events: []event{keyed(declaredEvent("c", 1, columns, "", row), "int32"), keyed(declaredEvent("c", 2, columns, "", `{"id":2,"label":"b"}`), "int64")},
		fails:  "offset 1: column id is INT NOT NULL, which cannot take in BIGINT NOT NULL: the type of a primary key or partition column cannot change",
	})
}
