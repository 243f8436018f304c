package connector

import (
	"fmt"

	"sink/debezium"
	"sink/table"
)

// reasonKeyless is an update or delete for a table without a primary key.
const reasonKeyless = "keyless-change"

// appends reports whether the table is there and has no primary key: it takes only new rows, as Paimon's append tables do.
func (w *worker) appends() bool { return w.schema != nil && w.schema.Append() }

// isNew reports whether an event tells of a row that was not there before.
func isNew(op debezium.Op) bool { return op == debezium.OpCreate || op == debezium.OpRead }

// checkKeyless refuses an event that an append table cannot take: nothing tells which row it changes or removes. Paimon's own CDC
// ingestion drops such events without a word (org.apache.paimon.flink.sink.cdc.CdcAppendTableWriteOperator).
func (w *worker) checkKeyless(event debezium.Event) error {
	if !w.appends() || isNew(event.Op) || w.cfg.OnKeylessChange == Append {
		return nil
	}
	what := map[debezium.Op]string{debezium.OpUpdate: "an update", debezium.OpDelete: "a delete"}[event.Op]
	if what == "" {
		what = "a flattened row that does not say whether it is new (add.fields: op)"
	}
	return &refusal{reason: reasonKeyless, err: fmt.Errorf("%s: %s, but the table has no primary key, so that nothing tells which of its rows is meant; "+
		"for a new table set `primary-key:` to columns that are unique, or have Debezium set a key (message.key.columns); "+
		"or set on-keyless-change to append (a log of changes: every image becomes a row), dead-letter or skip", w.at(), what)}
}

// asInserts makes rows new ones, which is what an append table holds. What they were, a metadata column tells.
func asInserts(b *table.Batch, first int) {
	for i := first; i < b.Len(); i++ {
		b.Kinds[i] = table.Insert
	}
}
