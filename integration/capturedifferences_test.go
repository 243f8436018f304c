//go:build integration

package integration

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// captureDifference is cells where a table cannot show what the source holds, since the events do not say it. A field is a list
// of patterns of path.Match with | between.
type captureDifference struct {
	capture, encoding, table, column, row string
	why                                   string // with the number of testdata/README.md
}

// extraRows as a column is for rows that the source does not have.
const extraRows = "+"

func (d captureDifference) String() string {
	return fmt.Sprint(d.capture, d.table, d.column, d.row, d.encoding)
}

func (d captureDifference) covers(c captured, column, row string) bool {
	match := func(patterns, s string) bool {
		return slices.ContainsFunc(strings.Split(patterns, "|"), func(p string) bool {
			ok, err := path.Match(p, s)
			return err == nil && ok
		})
	}
	if d.column != column && (column == wholeRow || column == extraRows) {
		return false
	}
	return match(d.capture, c.name()) && match(d.encoding, c.encoding) && match(d.table, c.source) && match(d.column, column) && match(d.row, row)
}

// captureDifferences are all of them; nothing here is ours to repair.
var captureDifferences = []captureDifference{
	{"pg_c_identity_*", "*", "public.t_index", extraRows, "", "2: under REPLICA IDENTITY USING INDEX a delete has no key, and a changed key leaves the old row"},
	{"pg_c_identity_*", "*", "public.t_toast_default", "*", "2", "3: an unchanged TOAST column is not sent"},
	{"pg_h_routing_p3_*", "*", "public.orders_all", "*", "1|10", "7: shards share keys"},
	{"pg_h_routing_p1_*", "*", "public.events", wholeRow, "*", "10: changes of a partitioned table come under its partitions' topics"},
	{"pg_h_routing_p1_*", "*", "public.events", extraRows, "", "10: changes of a partitioned table come under its partitions' topics"},
	{"*_a_basic_*", "json|json_schema|avro", "shop.customers|public.customers", "level", "12", asDefault},
	{"my_b_types_*", "json|json_schema|avro", "shop.t_default", "b|bi|bt|d|dt|e|f|i|n|t|v|y", "2|102", asDefault},
	{"pg_b_types_*", "json|json_schema|avro", "public.t_default", "b|d|e|f8|i|j|n|t|ts|tz|u|v", "2|102", asDefault},
	{"*_f_unwrap_*", "*", "shop.customers|shop.thin|public.customers|public.thin", "level", "5|20", asDefault},
	{"pg_b_types_*", "*", "public.t_array", "a2", "*", "12: arrays of arrays lose their elements"},
	{"pg_b_types_*", "*", "public.t_array", "ae", "4|104", "12: an enum array with a NULL in it is null"},
	{"pg_b_types_*", "*", "public.t_num_special", "n|n10_2", "*", "12, 15: NaN and infinities of numeric are null under precise, and have other names under string"},
	{"*_b_types_p6_nanoseconds", "*", "shop.t_time", "dt?", "3|4|8|104|108", "12: timestamps outside 1677 to 2262 are null"},
	{"*_b_types_p6_nanoseconds", "*", "public.t_time|public.t_time_special", "ts?|ts", "*", "12: timestamps outside 1677 to 2262 are null"},
	{"pg_b_types_p6_nanoseconds", "*", "public.t_array", "ats", "5|105", "12: timestamps outside 1677 to 2262 are null"},
	{"my_b_types_p4_isostring", "*", "shop.t_time", "t?", "3|4|5|7|104|105|107", "12: TIME outside 0-24 h is null, 23: 24:00:00 is 00:00:00"},
	{"pg_b_types_*", "*", "public.t_geo", "ln|ls|bx|pa|po|ci", "*", notCarried},
	{"pg_b_types_*", "*", "public.t_other", "l|pr|mr", "*", notCarried},
	{"pg_b_types_*", "*", "public.t_char", "nm", "*", "14: a name is text in the snapshot and null in the stream"},
	{"pg_c_identity_*", "*", "public.t_generated", "twice", "*", "14: a generated column is absent in the stream"},
	{"pg_b_types_*", "json|json_options", "public.t_num", "n60_20|n_negscale", "*", noScale},
	{"my_b_types_*", "json|json_options", "shop.t_num", "n65_30", "*", noScale},
	{"pg_b_types_p3_double", "*", "public.t_num", "*", "*", "a double has 53 bits: decimal.handling.mode=double"},
	{"pg_b_types_*", "*", "public.t_time", "d", "6", gregorian},
	{"my_b_types_*", "*", "shop.t_time", "dt3", "6", gregorian},
	{"pg_b_types_*", "*", "public.t_time_special", "d|ts|tstz", "*", "18: infinity is null by configuration, and dates beyond the year 9999 and BC are written in another way"},
	{"pg_b_types_*", "*", "public.t_time_special", "iv", "7|8|107|108", "18: an infinite interval is 0"},
	{"pg_b_types_*", "*", "public.t_time_special", wholeRow, "4|104", "18: 294276-12-31 does not fit microseconds in 64 bits: a bad record, skipped by configuration"},
	{"my_b_types_*", "*", "shop.t_other", "e", "104", "20: a comma in an enum value is escaped in the stream"},
	{"my_b_types_*", "*", "shop.t_other", "j", "107|108", streamedJSON},
	{"my_b_types_*", "*", "shop.t_time|shop.t_time_zero", "y", "1|5|105", "20: the year 0000 is 2000 in the snapshot, 1900 in the stream"},
	{"my_b_types_*", "*", "shop.t_int", "i8u", "4|5|104|105", "21: BIGINT UNSIGNED is sent as a signed number"},
	{"my_c_identity_*", "*", "shop.t_auto", "*", "18446744073709551614", "21: BIGINT UNSIGNED is sent as a signed number, in keys too"},
	{"my_c_identity_*", "*", "shop.t_auto", extraRows, "", "21: BIGINT UNSIGNED is sent as a signed number, in keys too"},
	{"my_b_types_*", "*", "shop.t_time", "d|dt?", "6|7|106|107", shortYear},
	{"my_b_types_*", "*", "shop.t_time_zero", "d|dd|dnn|dt|dtd|dtnn|ts|tsnn", "*", zeroDate},
	{"pg_b_types_p4_isostring", "*", "public.t_time", "t?", "7|107", "23: 24:00:00 is 00:00:00"},
	{"pg_b_types_p3_double", "*", "public.t_time|public.t_array|public.t_time_special", "t6|ts6|ats|ts", "*", "25: connect cuts microseconds"},
	{"my_b_types_p7_converters", "*", "shop.t_int", "b1", "3|103", "26: the converter makes false of negative numbers"},
	{"*_e_events_p2_default", "*", "shop.*|public.*", extraRows, "", "29: a truncate is not sent by default"},
	{"*_f_unwrap_*", "*", "shop.customers|public.customers", "note", "*", "33: ADD COLUMN with a default sends nothing for old rows"},
	{"*_f_unwrap_p5_drop", "*", "shop.*|public.*", extraRows, "", "17: delete.tombstone.handling.mode=drop sends no deletes"},
	{"pg_b_types_p[136]_*", "json|json_options", "public.t_time", "t?", "*", noUnit},
	{"my_b_types_p6_nanoseconds", "json|json_options", "shop.t_time|shop.t_default", "t?|t", "*", noUnit},
}
