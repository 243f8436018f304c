package verify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestSetsHaveNoOrder: the elements of a column of which Paimon keeps no order are compared as a set, those of others as a list.
func TestSetsHaveNoOrder(t *testing.T) {
	integer := table.Type{Root: table.Int}
	member := table.Type{Root: table.RowType, Fields: []table.Field{{ID: 9, Name: "k", Type: integer}}}
	fields := []table.Field{
		{Name: "id", Type: integer}, {ID: 1, Name: "list", Type: table.Type{Root: table.Array, Element: &integer}},
		{ID: 2, Name: "set", Type: table.Type{Root: table.Array, Element: &integer}}, {ID: 3, Name: "keyed", Type: table.Type{Root: table.Array, Element: &member}},
	}
	options := map[string]string{
		"merge-engine": "aggregation", "fields.list.aggregate-function": "collect", "fields.set.aggregate-function": "collect", "fields.set.distinct": "true",
		"fields.keyed.aggregate-function": "nested_update", "fields.keyed.nested-key": "k",
	}
	s := table.NewSchema(fields, []string{"id"}, nil, options)
	r := &replayer{checker: &checker{schema: s}, fields: s.Fields}
	var err error
	r.sets, err = setColumns(s)
	require.NoError(t, err)
	b := table.NewBatch(fields)
	row := func(numbers ...int64) {
		var list, rows []byte
		for _, n := range numbers {
			list = table.AppendNestedWord(list, n)
			rows = table.AppendNestedWord(table.OpenNested(rows), n)
		}
		b.Columns[0].AppendWord(1)
		b.Columns[1].AppendBytes(table.EndNested(table.AppendNestedWord(nil, numbers[0])))
		b.Columns[2].AppendBytes(table.EndNested(list))
		b.Columns[3].AppendBytes(table.EndNested(rows))
		b.Kinds = append(b.Kinds, table.Insert)
	}
	row(2, 3, 2)
	row(2, 2, 3)
	row(3, 2, 2)
	require.Equal(t, `{"id":1,"list":[2],"set":[2,2,3],"keyed":[{"k":2},{"k":2},{"k":3}]}`, r.textOf(b, 0))
	require.Equal(t, r.textOf(b, 0), r.textOf(b, 1))
	require.NotEqual(t, r.textOf(b, 0), r.textOf(b, 2), "a list has an order")
}
