//go:build integration

package integration

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// knownDifferences are the cells of b_types that no sink can show as the source holds them, since the events do not say
// it. The numbers are those of testdata/README.md. Rows up to 100 are from the source's snapshot, the same rows streamed
// have 100 more.
func knownDifferences(db, name, encoding string) differences {
	known := differences{}
	maps.Copy(known, always[db+"."+name])
	if !withOptions(encoding) {
		maps.Copy(known, nullsAsDefaults[db+"."+name])
	}
	if encoding == "json" {
		maps.Copy(known, withoutSchema[db+"."+name])
	}
	return known
}

const (
	zeroDate     = "22: a zero or partial date is null, or the epoch in a NOT NULL column"
	shortYear    = "22: the connector takes the years 1 to 99 for 1970 to 2069"
	gregorian    = "18: before 1582-10-15 the snapshot's dates are ten days off"
	notCarried   = "13: columns of this type are missing from the events"
	streamedJSON = "20: the text of a JSON differs in the stream: a decimal is a double, a time has no fraction"
	asDefault    = "11: a NULL is sent as the column's default"
	noScale      = "15: without schema a decimal is bytes of no known scale"
	infinite     = "18: infinity is a number of its own; null by configuration"
	beyond       = "18: the same day, which the database writes in another way"
	noUnit       = "35: without schema a time is a number of no known unit"
)

var always = map[string]differences{
	"pg.t_array": {"a2": "12: arrays of arrays lose their elements", "ae 4,104": "12: an enum array with a NULL in it is null"},
	"pg.t_char":  {"nm 101,104,105,106,107": "14: a name is text in the snapshot and null in the stream"},
	"pg.t_geo":   {"ln": notCarried, "ls": notCarried, "bx": notCarried, "pa": notCarried, "po": notCarried, "ci": notCarried},
	"pg.t_num_special": {
		"n 4,5,6,104,105,106": "12: NaN and infinity in a numeric are null", "n10_2 7,107": "12: NaN in a numeric is null",
	},
	"pg.t_other": {"l": notCarried, "pr": notCarried, "mr": notCarried},
	"pg.t_time":  {"d 6": gregorian},
	"pg.t_time_special": {
		"d 1,2,101,102": infinite, "ts 1,2,101,102": infinite, "tstz 1,2,101,102": infinite, "iv 7,8,107,108": "18: an infinite interval is 0",
		"d 3,5": "18: the snapshot's dates lose their era", "d 105": beyond, "ts 3,5,105": beyond, "tstz 3,5,105": beyond,
		"d 6,106": beyond, "ts 6,106": beyond, "tstz 6,106": beyond,
		wholeRow + " 4,104": "18: 294276-12-31 does not fit microseconds in 64 bits: a bad record, skipped by configuration",
	},
	"my.t_int": {"i8u 4,5,104,105": "21: BIGINT UNSIGNED is sent as a signed number"},
	"my.t_other": {
		"e 104": "20: a comma in an enum value is escaped in the stream", "j 107,108": streamedJSON,
	},
	"my.t_time": {
		"y 5,105": "20: the year 0000 is 2000 in the snapshot, 1900 in the stream", "d 6,7,106,107": shortYear, "dt0 6,7,106,107": shortYear,
		"dt3 6": gregorian, "dt3 7,107": shortYear, "dt6 7,107": shortYear,
	},
	"my.t_time_zero": {
		"d 1,2,3,101,102": zeroDate, "dnn 1,2,3,101,102": zeroDate, "dt 1,2,3,101,102": zeroDate, "dtnn 1,2,3,101,102": zeroDate,
		"ts 1,101": zeroDate, "tsnn 1,101": zeroDate, "dd 1,4,101,104": zeroDate, "dtd 1,4,101,104": zeroDate,
		"y 1": "20: the year 0000 is 2000 in the snapshot",
	},
}

var nullsAsDefaults = map[string]differences{
	"pg.t_default": rowsOf("2,102", asDefault, "i", "b", "n", "v", "t", "d", "ts", "tz", "u", "j", "e", "f8"),
	"my.t_default": rowsOf("2,102", asDefault, "i", "b", "n", "v", "d", "dt", "e", "f", "bi", "bt", "y", "t"),
}

var withoutSchema = map[string]differences{
	"pg.t_num":  {"n_negscale": noScale, "n60_20": noScale},
	"pg.t_time": {"t0": noUnit, "t3": noUnit},
	"my.t_num":  {"n65_30": noScale},
}

func rowsOf(rows, why string, columns ...string) differences {
	known := differences{}
	for _, column := range columns {
		known[column+" "+rows] = why
	}
	return known
}
