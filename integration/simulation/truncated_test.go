//go:build synctests

package simulation

import (
	"slices"

	"sink/table"
)

// truncated returns the truncation that took a row: the last that a snapshot covers. A row of the stranger's is noted as gone,
// and not ok: the log does not tell of it.
func (j *judge) truncated(id int64, r row) (record, bool) {
	var at record
	for i := range j.w.source.log {
		if s := &j.w.source.log[i]; j.empties(s) && j.concerns(s) && j.covered(id, s.tp, s.offset) {
			at = record{s.tp, s.offset}
		}
	}
	if !j.emptied[at] {
		j.emptied[at] = true
		j.w.met.add("truncations", 1)
	}
	if r.tp != (table.TopicPartition{}) {
		return at, true
	}
	j.foreign = slices.DeleteFunc(j.foreign, func(f row) bool { return f.key == r.key })
	j.last[r.key] = r.seq
	delete(j.fold, r.key)
	return at, false
}
