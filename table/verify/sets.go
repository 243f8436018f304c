package verify

import (
	"bytes"
	"slices"

	"sink/table"
)

// setColumns returns the columns whose elements have no order: Paimon takes those of collect with distinct, and of nested_update with
// nested-key, out of a hash table (org.apache.paimon.mergetree.compact.aggregate.FieldCollectAgg and FieldNestedUpdateAgg), and the sink has them as
// they came.
func setColumns(s *table.Schema) ([]int, error) {
	var groups []table.SequenceGroup
	switch s.MergeEngine() {
	case table.PartialUpdate:
		var err error
		if groups, err = s.SequenceGroups(); err != nil {
			return nil, err
		}
	case table.Aggregation:
	default:
		return nil, nil
	}
	found, problems := s.Aggregates(groups)
	for _, err := range problems {
		return nil, err
	}
	var sets []int
	for i, a := range found {
		if a != nil && (a.Function == "collect" && a.Distinct || a.Function == "nested_update" && a.NestedKey != nil) {
			sets = append(sets, i)
		}
	}
	return sets, nil
}

// sortSets returns where a row is whose columns of no order are in one, so that equal rows have the same text; until the next call.
func (r *replayer) sortSets(b *table.Batch, i int) (*table.Batch, int) {
	if len(r.sets) == 0 {
		return b, i
	}
	if r.sorted == nil {
		r.sorted = table.NewBatch(r.fields)
	}
	r.sorted.Reset()
	for c := range r.fields {
		from := &b.Columns[c]
		if from.IsNull(i) || !slices.Contains(r.sets, c) {
			r.sorted.Columns[c].AppendCell(from, i)
		} else {
			r.sorted.Columns[c].AppendBytes(sortedElements(&r.fields[c].Type, from.Bytes(i)))
		}
	}
	r.sorted.Kinds = append(r.sorted.Kinds, table.Insert)
	return r.sorted, 0
}

// sortedElements returns the cell of an ARRAY with its elements in the order of their bytes.
func sortedElements(t *table.Type, cell []byte) []byte {
	var elements [][]byte
	for n := table.ReadNested(cell); n.More(); {
		elements = append(elements, n.Raw(t.Element))
	}
	slices.SortFunc(elements, bytes.Compare)
	return table.EndNested(bytes.Join(elements, nil))
}
