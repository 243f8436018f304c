package merge

import "sink/table"

// lastNotDeleted is deduplicate with ignore-delete (org.apache.paimon.mergetree.compact.DeduplicateMergeFunction): the newest
// row that takes nothing away stays. A table has others only from the time before the option was set.
type lastNotDeleted struct{}

func (lastNotDeleted) Merge(rows table.Rows, _ *table.Batch) (int, int64, error) {
	for i := rows.Len() - 1; i >= 0; i-- {
		if !rows.Kind(i).Retracts() {
			return i, 0, nil
		}
	}
	return None, 0, nil
}

// firstRow keeps the oldest row (org.apache.paimon.mergetree.compact.FirstRowMergeFunction).
type firstRow struct{ engine *Engine }

func (f firstRow) Merge(rows table.Rows, _ *table.Batch) (int, int64, error) {
	first := None
	for i := range rows.Len() {
		k := rows.Kind(i)
		if !k.Retracts() {
			if first == None {
				first = i
			}
		} else if err := f.engine.Refuses(k); err != nil {
			return 0, 0, err
		}
	}
	return first, 0, nil
}
