package connector

import (
	"fmt"
	"strings"

	"sink/table"
)

// tellSecondGroup warns, once, where the table begins with records that other groups of the sink have given to it already.
func (w *worker) tellSecondGroup(begun table.Offsets) {
	if w.secondGroup || w.schema == nil {
		return
	}
	if text := SecondGroup(w.schema, w.c.cfg.Group, w.state.ReadBefore(begun)); text != "" {
		w.secondGroup = true
		w.log.Warn().Msg(text)
	}
}

// SecondGroup says what it means for a table that a group, which is new to it, reads again what others have given to it, and
// what to do; empty where there are no others.
func SecondGroup(schema *table.Schema, group string, others []string) string {
	if len(others) == 0 {
		return ""
	}
	names := strings.Join(others, ", ")
	means := "rows go back in time until it has caught up, and a SUM over the changelog counts every change twice"
	switch producer := schema.Option("changelog-producer"); {
	case schema.Append():
		means = "every row comes a second time"
	case schema.Option("merge-engine") == "aggregation", schema.Option("merge-engine") == "partial-update":
		means = "what rows add up is counted twice, in the table and in its changelog"
	case producer == "lookup", producer == "full-compaction":
		means = "rows go back in time until it has caught up"
	}
	return fmt.Sprintf("kafka.group %s has written this table from the same topics, and kafka.group %s, which is new to it, reads them once more: %s; "+
		"set kafka.group to %s to go on where it ended, or write to a new table", names, group, means, names)
}
