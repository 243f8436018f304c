package compute

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// sample is a table of one column of each kind, and rows of it: the first has values, the second is all null.
func sample(t testing.TB) (*table.Schema, *table.Batch) {
	columns := []struct {
		name, typ string
		set       func(v *table.Vector)
	}{
		{"id", "BIGINT", word(-7)},
		{"small", "SMALLINT", word(300)},
		{"name", "STRING", text("  Añb𝄞c ")},
		{"day", "DATE", word(20087)}, // 2024-12-30
		{"clock", "TIME(3)", word(3_723_004)},
		{"ms", "TIMESTAMP(3)", word(1735516800000)},
		{"us", "TIMESTAMP(6)", word(-1)},
		{"ns", "TIMESTAMP(9)", func(v *table.Vector) { v.AppendBytes(table.AppendNanoTimestamp(nil, 1735516800000, 42)) }},
		{"zoned", "TIMESTAMP(3) WITH LOCAL TIME ZONE", word(1735516800000)},
		{"iso", "STRING", text("2024-12-30T01:30:00.5+02:00")},
		{"price", "DECIMAL(10, 2)", word(1234)},
		{"wide", "DECIMAL(30, 2)", decimal(t, "DECIMAL(30, 2)", "-12345678901234567890.12")},
		{"flag", "BOOLEAN", word(1)},
		{"ratio", "DOUBLE", word(int64(math.Float64bits(2.5)))},
		{"real", "FLOAT", word(int64(math.Float32bits(0.1)))},
		{"nan", "DOUBLE", word(int64(math.Float64bits(math.NaN())))},
		{"list", "ARRAY<INT>", func(v *table.Vector) { v.AppendBytes(table.EndNested(nil)) }},
		{"Odd name", "INT", word(5)},
	}
	var fields []table.Field
	b := &table.Batch{Kinds: []table.Kind{table.Insert, table.Insert}}
	for _, c := range columns {
		typ := typeOf(t, c.typ)
		fields = append(fields, table.Field{Name: c.name, Type: typ})
		v := table.Vector{Layout: typ.Layout()}
		c.set(&v)
		v.AppendNull()
		b.Columns = append(b.Columns, v)
	}
	return table.NewSchema(fields, nil, nil, nil), b
}

func word(w int64) func(*table.Vector)  { return func(v *table.Vector) { v.AppendWord(w) } }
func text(s string) func(*table.Vector) { return func(v *table.Vector) { v.AppendBytes([]byte(s)) } }

func decimal(t testing.TB, typ, s string) func(*table.Vector) {
	return func(v *table.Vector) {
		tt := typeOf(t, typ)
		require.NoError(t, table.AppendDecimalText(v, &tt, []byte(s)))
	}
}

func typeOf(t testing.TB, s string) table.Type {
	if inner, ok := strings.CutPrefix(s, "ARRAY<"); ok {
		element := typeOf(t, strings.TrimSuffix(inner, ">"))
		return table.Type{Root: table.Array, Element: &element}
	}
	typ, err := table.ParseType(s)
	require.NoError(t, err)
	return typ
}

func TestColumns(t *testing.T) {
	schema, batch := sample(t)
	for _, c := range []struct{ expression, typ, want string }{
		{"year(ms)", "INT", "2024"},
		{"MONTH(day)", "INT", "12"},
		{"day(zoned)", "INT", "30"},
		{"hour(clock)", "INT", "1"},
		{"minute(clock)", "INT", "2"},
		{"second(clock)", "INT", "3"},
		{"year(us)", "INT", "1969"},
		{"second(us)", "INT", "59"},
		{"year(id, 0)", "INT", "1969"},
		{"hour(iso)", "INT", "23"},
		{"day(iso)", "INT", "29"},
		{"date_format(ms, 'yyyy-MM-dd')", "STRING", `"2024-12-30"`},
		{"date_format(ms, yyyy-MM-dd)", "STRING", `"2024-12-30"`},
		{"date_format(ns,'uuuuMMdd''T''HHmmss.SSSSSSSSS')", "STRING", `"20241230T000000.000000042"`},
		{"date_format(iso, 'yy/M/d H:m:s.S')", "STRING", `"24/12/29 23:30:0.5"`},
		{"date_format(day, 'y-DDD Q')", "STRING", `"2024-365 4"`},
		{"date_format(clock, 'HH:mm')", "STRING", `"01:02"`},
		{"date_format(small, 'yyyy-MM-dd HH:mm', 0)", "STRING", `"1970-01-01 00:05"`},
		{"substring(name, 2)", "STRING", `"Añb𝄞c "`},
		{"substring(name, 3, 6)", "STRING", `"ñb𝄞"`},
		{"substring(name, 8)", "STRING", `""`},
		{"trim(name)", "STRING", `"Añb𝄞c"`},
		{"upper(trim(name))", "STRING", `"AÑB𝄞C"`},
		{"lower(name)", "STRING", `"  añb𝄞c "`},
		{"truncate(id, 10)", "BIGINT", "-10"},
		{"truncate(small, 7)", "SMALLINT", "294"},
		{"truncate(price, 100)", "DECIMAL(10, 2)", `"12.00"`},
		{"truncate(name, 4)", "STRING", `"  Añ"`},
		{"cast(id, STRING)", "STRING", `"-7"`},
		{"cast(id as TINYINT)", "TINYINT", "-7"},
		{"cast(price, 'DECIMAL(12, 3)')", "DECIMAL(12, 3)", `"12.340"`},
		{"cast(price, DECIMAL(12,1))", "DECIMAL(12, 1)", `"12.3"`},
		{"cast(ratio, INT)", "INT", "2"},
		{"cast(ms, DATE)", "DATE", `"2024-12-30"`},
		{"cast(substring(iso, 0, 10), DATE)", "DATE", `"2024-12-30"`},
		{"concat(cast(`Odd name`, STRING), '-', trim(name))", "STRING", `"5-Añb𝄞c"`},
		{"name", "STRING", `"  Añb𝄞c "`},
		{"'eu'", "STRING", `"eu"`},
	} {
		t.Run(c.expression, func(t *testing.T) {
			e, err := Parse(c.expression)
			require.NoError(t, err)
			typ, err := e.Type(schema.Fields)
			require.NoError(t, err)
			typ.NotNull = false
			require.Equal(t, c.typ, typ.String())

			s := schema.Clone()
			s.Fields = append(s.Fields, table.Field{Name: "out", Type: typ})
			b := &table.Batch{Columns: append(append([]table.Vector{}, batch.Columns...), table.Vector{Layout: typ.Layout()}), Kinds: batch.Kinds}
			p, err := e.Bind(s, "out")
			require.NoError(t, err)
			require.NoError(t, p.Append(b, 0))
			require.NoError(t, p.Append(b, 1))
			require.Equal(t, c.want, string(table.AppendCanonical(nil, typ, &b.Columns[p.Column()], 0)))
			require.Equal(t, len(e.Columns()) > 0, b.Columns[p.Column()].IsNull(1), "null of null")
			back, err := Parse(e.String())
			require.NoError(t, err, e.String())
			require.Equal(t, e, back)
			if strings.HasPrefix(c.expression, "cast(substring") {
				return // text that becomes a date is parsed with garbage
			}
			require.Zero(t, testing.AllocsPerRun(100, func() {
				if p.Append(b, 0) == nil {
					b.Columns[p.Column()].Truncate(2)
				}
			}))
		})
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	schema, _ := sample(t)
	for expression, want := range map[string]string{
		"":                              "ends where a column, a function or a value is wanted",
		"now()":                         "unknown function now; there are cast, concat, date_format",
		"year(":                         "ends where",
		"year(ms":                       "ends where , or ) is wanted",
		"year()":                        "year with 0 arguments: it is written year(time)",
		"year(ms) x":                    `has "x" at character 10 where the end is wanted`,
		"trim('a":                       "has a quote ' at character 6 that does not end",
		"trim(name) + 1":                `has "+" at character 12`,
		"trim('x')":                     "reads no column",
		"year(Ms)":                      "there is no column Ms; there is ms",
		"year(nix)":                     "there is no column nix; there are: id, ",
		"year(id)":                      "id is a number: say what it counts",
		"year(id, 2)":                   "the digits are 0 for seconds",
		"year(clock)":                   "clock is a TIME, which has no date",
		"hour(day)":                     "day is a DATE, which has no time of day",
		"year(price)":                   "price is of type DECIMAL(10, 2), it wants a date",
		"upper(id)":                     "id is of type BIGINT, it wants text",
		"concat(name, id, 1.5)":         "the number 1.5 is no whole number",
		"concat(name, id)":              "use cast(..., STRING)",
		"cast(id, BLOB)":                "BLOB",
		"cast(flag, DATE)":              "Paimon has no such cast",
		"cast(list, STRING)":            "nested types are not cast",
		"cast(1.5, STRING)":             "reads no column",
		"substring(name, id)":           "the begin has to be a whole number",
		"substring(name, 3, 1)":         "the end is before the begin",
		"truncate(id, 0)":               "the width is 0",
		"truncate(ratio, 2)":            "it wants text, a whole number",
		"date_format(ms, 'YYYY-MM-dd')": "YYYY is the year of the week: 2024-12-30 would be in 2025; write y",
		"date_format(ms, 'yyyy-MMM')":   "MMM is a name, which depends on the language; write MM",
		"date_format(ms, 'hh')":         "morning and evening are the same; write H",
		"date_format(ms, 'yyyy-ww')":    "depends on the language",
		"date_format(ms, 'yyyy-bb')":    "bb is no letter of a pattern",
		"date_format(ms, 'ddd')":        "more than 2 letters",
		"date_format(ms, '[yyyy]')":     "put it in quotes",
		"date_format(ms, '')":           "the pattern is empty",
		"date_format(day, 'HH')":        "which has no time of day",
		strings.Repeat("trim(", 40):     "nested more than 32 deep",
	} {
		t.Run(expression, func(t *testing.T) {
			e, err := Parse(expression)
			if err == nil {
				_, err = e.Type(schema.Fields)
			}
			require.ErrorContains(t, err, want)
		})
	}
}

// A value without an exact result is an error, and leaves the batch as it was.
func TestValuesThatAreRefused(t *testing.T) {
	schema, batch := sample(t)
	for expression, want := range map[string]string{
		"cast(small, TINYINT)":             "TINYINT has no room for the value",
		"cast(price, DECIMAL(2, 1))":       "has no room for the value",
		"cast(wide, BIGINT)":               "BIGINT has no room for the value",
		"cast(nan, INT)":                   "INT has no room",
		"cast(name, INT)":                  "cast(name, 'INT')",
		"year(name)":                       "no date or time such as",
		"substring(name, 9)":               "has 8 characters only",
		"substring(name, 0, 9)":            "has 8 characters only",
		"truncate(cast(id, TINYINT), 100)": "",
		"truncate(cast(id, TINYINT), 127)": "",
		"truncate(cast(id, TINYINT), 130)": "too small for a multiple of 130 in TINYINT",
	} {
		t.Run(expression, func(t *testing.T) {
			e, err := Parse(expression)
			require.NoError(t, err)
			typ, err := e.Type(schema.Fields)
			require.NoError(t, err)
			s := schema.Clone()
			s.Fields = append(s.Fields, table.Field{Name: "out", Type: typ})
			b := &table.Batch{Columns: append(append([]table.Vector{}, batch.Columns...), table.Vector{Layout: typ.Layout()}), Kinds: batch.Kinds}
			p, err := e.Bind(s, "out")
			require.NoError(t, err)
			err = p.Append(b, 0)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want)
			require.Zero(t, b.Columns[p.Column()].Len())
		})
	}
}

func TestBind(t *testing.T) {
	schema, batch := sample(t)
	bind := func(expression, typ string) (*Program, *table.Batch, error) {
		e, err := Parse(expression)
		require.NoError(t, err)
		s := schema.Clone()
		out := typeOf(t, typ)
		s.Fields = append(s.Fields, table.Field{Name: "out", Type: out})
		b := &table.Batch{Columns: append(append([]table.Vector{}, batch.Columns...), table.Vector{Layout: out.Layout()}), Kinds: batch.Kinds}
		p, err := e.Bind(s, "out")
		return p, b, err
	}
	p, b, err := bind("year(ms)", "BIGINT NOT NULL")
	require.NoError(t, err)
	require.NoError(t, p.Append(b, 0))
	require.EqualValues(t, 2024, b.Columns[p.Column()].Words[0])
	require.ErrorContains(t, p.Append(b, 1), "computed column out is null, and is NOT NULL in the table")

	_, _, err = bind("year(ms)", "SMALLINT")
	require.ErrorContains(t, err, "computed column out is SMALLINT in the table, but the expression gives INT: write cast(..., SMALLINT)")
	_, _, err = bind("year(ms)", "STRING")
	require.ErrorContains(t, err, "write cast(..., STRING)")
	e, err := Parse("year(ms)")
	require.NoError(t, err)
	_, err = e.Bind(schema, "absent")
	require.ErrorContains(t, err, "computed column absent is not in the table")
}

func TestFilter(t *testing.T) {
	schema, batch := sample(t)
	for filter, want := range map[string]Truth{
		"id = -7":                              True,
		"id <> -7":                             False,
		"id < 0 and id > -8":                   True,
		"id <= -7 or id >= 100":                True,
		"not id = -7":                          False,
		"id in (1, 2, -7)":                     True,
		"id not in (1, 2)":                     True,
		"id is null":                           False,
		"id is not null":                       True,
		"(id = 1 or id = -7) and flag=true":    True,
		"flag <> true":                         False,
		"flag = false":                         False,
		"name = '  Añb𝄞c '":                    True,
		"trim(name) >= 'Añ'":                   True,
		"`Odd name` = 5":                       True,
		"day = '2024-12-30'":                   True,
		"day < '2024-12-30'":                   False,
		"ms >= '2024-12-30T00:00:00Z'":         True,
		"ns > '2024-12-30 00:00:00.000000041'": True,
		"clock = '01:02:03.004'":               True,
		"price = 12.34":                        True,
		"price > 12":                           True,
		"wide < 0":                             True,
		"wide < -12345678901234567890.11":      True,
		"wide > -12345678901234567890.11":      False,
		"ratio = 2.5":                          True,
		"real = 0.1":                           True,
		"nan = 1":                              False,
		"nan <> 1":                             True,
		"nan < 1 or nan >= 1":                  False,
		"list is not null":                     True,
		"year(ms) = 2024":                      True,
		"small = 100000":                       False,
	} {
		t.Run(filter, func(t *testing.T) {
			f, err := ParseFilter(filter)
			require.NoError(t, err)
			p, err := f.Bind(schema)
			require.NoError(t, err)
			got, err := p.Match(batch, 0)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = p.Match(batch, 1) // all null
			require.NoError(t, err)
			switch {
			case strings.Contains(filter, "is null"):
				require.Equal(t, True, got)
			case strings.Contains(filter, "is not null"):
				require.Equal(t, False, got)
			default:
				require.Equal(t, Unknown, got)
			}
			require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Match(batch, 0) }))
		})
	}
}

func TestFilterTruth(t *testing.T) {
	schema, batch := sample(t)
	for filter, want := range map[string]Truth{ // of the row of nulls
		"id = 1 and id is null":                               Unknown,
		"id = 1 or id is null":                                True,
		"id = 1 and id is not null":                           False,
		"id = 1 or id is not null":                            Unknown,
		"not (id = 1)":                                        Unknown,
		"id is null and not (flag = true and id is not null)": True,
	} {
		f, err := ParseFilter(filter)
		require.NoError(t, err)
		p, err := f.Bind(schema)
		require.NoError(t, err)
		got, err := p.Match(batch, 1)
		require.NoError(t, err)
		require.Equal(t, want, got, filter)
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	schema, _ := sample(t)
	for filter, want := range map[string]string{
		"":                         "ends where",
		"id":                       "ends where =, <>, <, <=, >, >=, in or is is wanted",
		"id = null":                "compares with null, which is never true: write is null",
		"id = small":               `has "small" at character 6 where a value`,
		"id = 1 id = 2":            "where and, or, or the end is wanted",
		"id in ()":                 "where a value",
		"id in (1":                 "ends where , or ) is wanted",
		"(id = 1":                  "ends where ) is wanted",
		"id is 5":                  "where null is wanted",
		"id not 5":                 "where in is wanted",
		"id like 'a'":              `has "like"`,
		"nix = 1":                  "there is no column nix",
		"id = '1'":                 "id is of type BIGINT: '1' is no value of it",
		"id = 1.5":                 "1.5 is no value of it",
		"name = 1":                 "name is of type STRING: 1 is no value of it",
		"price = 1.234":            "1.234 is no value of it",
		"day = '2024-02-30'":       "'2024-02-30' is no value of it",
		"flag = 1":                 "1 is no value of it",
		"list = 1":                 "such columns are not compared, but for is null",
		strings.Repeat("not ", 40): "nested more than 32 deep",
		strings.Repeat("(", 40):    "nested more than 32 deep",
	} {
		t.Run(filter, func(t *testing.T) {
			f, err := ParseFilter(filter)
			if err == nil {
				_, err = f.Bind(schema)
			}
			require.ErrorContains(t, err, want)
		})
	}
}

// The patterns print what Go prints for the same parts, for days around all turns of years.
func TestPatternAgainstGo(t *testing.T) {
	p, err := parsePattern("yyyy-MM-dd HH:mm:ss.SSSSSSSSS DDD uuuu")
	require.NoError(t, err)
	for year := 1; year < 9999; year += 37 {
		for day := -3; day < 3; day++ {
			at := time.Date(year, 1, 1+day, year%24, year%60, day*-1+3, year*1000, time.UTC)
			want := fmt.Sprintf("%s %03d %04d", at.Format("2006-01-02 15:04:05.000000000"), at.YearDay(), at.Year())
			if at.Year() > 0 {
				require.Equal(t, want, string(p.append(nil, at)))
			}
		}
	}
	for pattern, want := range map[string]string{"y": "12024", "yy": "24", "yyy": "12024", "yyyy": "+12024", "yyyyy": "12024", "yyyyyy": "012024"} {
		p, err := parsePattern(pattern)
		require.NoError(t, err)
		require.Equal(t, want, string(p.append(nil, time.Date(12024, 1, 1, 0, 0, 0, 0, time.UTC))), pattern)
	}
	for pattern, want := range map[string]string{"yyyy": "0045", "uuuu": "-0044", "u": "-44"} {
		p, err := parsePattern(pattern)
		require.NoError(t, err)
		require.Equal(t, want, string(p.append(nil, time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC))), pattern)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"date_format(ts, 'yyyy')", "cast(a as DECIMAL(10, 2))", "a = 1 and (b in ('x', 'y') or not c is null)", "`a``b` <> ''''"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := Parse(text); err == nil {
			_, _ = json.Marshal(e.String())
			_ = e.Columns()
		}
		if c, err := ParseFilter(text); err == nil {
			_ = c.Columns()
		}
	})
}
