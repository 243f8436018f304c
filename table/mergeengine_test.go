package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMergeOptions: what Paimon refuses is refused, by the name of the option.
func TestMergeOptions(t *testing.T) {
	fields := fieldsOf(t, "id", "INT NOT NULL", "a", "INT", "b", "INT", "c", "STRING", "g", "BIGINT", "h", "INT", "bytes", "BYTES")
	for _, c := range []struct {
		name    string
		options []string
		want    string // empty: it is good
	}{
		{"plain", []string{"merge-engine", "partial-update"}, ""},
		{"group", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a,b"}, ""},
		{"groups", []string{"merge-engine", "partial-update", "fields.g,h.sequence-group", "a,b", "fields.a.aggregate-function", "sum"}, ""},
		{"twice", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a", "fields.h.sequence-group", "b,a"},
			"option fields.h.sequence-group has a, which fields.g.sequence-group has, too"},
		{"absent", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a,x"}, `option fields.g.sequence-group has a column "x" that is not there`},
		{"absent sequence", []string{"merge-engine", "partial-update", "fields.x.sequence-group", "a"}, `option fields.x.sequence-group names a column "x" that is not there`},
		{"key", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "id"}, "has id, which is in the primary key"},
		{"function of a sequence", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a", "fields.g.aggregate-function", "max"},
			"option fields.g.aggregate-function is set, but the column orders a sequence group"},
		{"function without a group", []string{"merge-engine", "partial-update", "fields.a.aggregate-function", "sum"},
			"column a is in no sequence group"},
		{"last non-null without a group", []string{"merge-engine", "partial-update", "fields.default-aggregate-function", "last_non_null_value"}, ""},
		{"default function without a group", []string{"merge-engine", "partial-update", "fields.default-aggregate-function", "max", "fields.g.sequence-group", "a"},
			"option fields.default-aggregate-function is max, but column b is in no sequence group"},
		{"delete both ways", []string{"merge-engine", "partial-update", "ignore-delete", "true", "partial-update.remove-record-on-delete", "true"},
			"options ignore-delete and partial-update.remove-record-on-delete are both true"},
		{"delete and groups", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a", "partial-update.remove-record-on-delete", "true"},
			"option partial-update.remove-record-on-delete is true, but the table has sequence groups"},
		{"group delete ignored", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a",
			"partial-update.remove-record-on-sequence-group", "g", "ignore-delete", "true"}, "option ignore-delete is true, but partial-update.remove-record-on-sequence-group is set"},
		{"group delete", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "a", "partial-update.remove-record-on-sequence-group", "h"},
			`option partial-update.remove-record-on-sequence-group names "h", which orders no sequence group`},
		{"aggregation", []string{"merge-engine", "aggregation", "fields.a.aggregate-function", "sum", "fields.c.aggregate-function", "listagg",
			"fields.c.list-agg-delimiter", ";", "fields.b.ignore-retract", "true"}, ""},
		{"aggregation in capitals", []string{"merge-engine", "AGGREGATION"}, ""},
		{"no function", []string{"merge-engine", "aggregation", "fields.a.aggregate-function", "count"},
			`option fields.a.aggregate-function is "count", which is no function of Paimon`},
		{"sketch", []string{"merge-engine", "aggregation", "fields.bytes.aggregate-function", "hll_sketch"},
			"option fields.bytes.aggregate-function is hll_sketch, which the sink does not have"},
		{"theta sketch", []string{"merge-engine", "aggregation", "fields.bytes.aggregate-function", "theta_sketch"},
			"option fields.bytes.aggregate-function is theta_sketch, which the sink does not have: leave that table to Paimon's own writers"},
		{"bitmap", []string{"merge-engine", "aggregation", "fields.bytes.aggregate-function", "rbm32"},
			"option fields.bytes.aggregate-function is rbm32, which the sink does not have"},
		{"long bitmap in a group", []string{"merge-engine", "partial-update", "fields.g.sequence-group", "bytes", "fields.bytes.aggregate-function", "rbm64"},
			"option fields.bytes.aggregate-function is rbm64, which the sink does not have"},
		{"wrong type", []string{"merge-engine", "aggregation", "fields.c.aggregate-function", "sum"}, "but column c of type STRING is not a number"},
		{"list of numbers", []string{"merge-engine", "aggregation", "fields.a.aggregate-function", "listagg"}, "but column a of type INT is not a VARCHAR or STRING"},
		{"retract both ways", []string{"merge-engine", "aggregation", "aggregation.remove-record-on-delete", "true", "fields.a.ignore-retract", "true"},
			"options aggregation.remove-record-on-delete and fields.a.ignore-retract are both true"},
		{"unknown column", []string{"fields.x.stats-mode", "none"}, `option fields.x.stats-mode names a column "x" that is not there`},
		{"unknown suffix", []string{"merge-engine", "aggregation", "fields.a.nested-sequence-field", "x"}, "option fields.a.nested-sequence-field is one that the sink does not have"},
		{"first-row", []string{"merge-engine", "first-row", "changelog-producer", "input"}, "merge-engine first-row goes with none or lookup only"},
		{"first-row by sequence", []string{"merge-engine", "first-row", "sequence.field", "a"}, "option sequence.field is set, but merge-engine first-row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "1"})
			set(c.options...)(s)
			if c.want == "" {
				require.NoError(t, s.Validate())
			} else {
				require.ErrorContains(t, s.Validate(), c.want)
			}
		})
	}
}
