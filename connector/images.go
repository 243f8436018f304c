package connector

import (
	"fmt"
	"strings"

	"sink/debezium"
	"sink/table"
)

// What is learned of a topic's before images, kept in the snapshots under "identity/<topic>".
const (
	identityFull    = "full"    // an update came with its whole before image
	identityPartial = "partial" // an update came without
)

// checkImages decides whether the rows of an event tell the whole truth of what was there before. Rows that do not are
// taken back, or written with what is known, or refused, as on-missing-before says.
//
// A delete's before is no proof by itself: under PostgreSQL's REPLICA IDENTITY DEFAULT Debezium fills it with made-up values. So
// trust is learned from updates: one with a before proves a full identity, one without disproves it; until then a delete
// whose other columns are all null or made up counts as one without a before image, and where it is disproved every one.
// What is known of the rows after that it returns.
func (w *worker) checkImages(plan *plan, event debezium.Event) (rowsKnown, error) {
	if event.Op == debezium.OpUpdate {
		w.learn(w.intake.record.Topic, trustOf(event.Before))
	}
	missing := event.Before == debezium.BeforeMissing || event.Before == debezium.BeforeKeyOnly
	madeUp := event.Op == debezium.OpDelete && doubtful(w.trust(w.intake.record.Topic), event.Before)
	known := rowsKnown{unavailable: event.Unavailable}
	if missing = missing || madeUp; !missing && len(event.Unavailable) == 0 {
		return known, nil
	}
	known.poor, known.keyOnly = true, missing && event.Op == debezium.OpDelete
	if w.cfg.OnMissingBefore != Accept {
		return known, &refusal{reason: reasonBefore, err: w.missingImage(event)}
	}
	if event.Op != debezium.OpDelete { // a delete's values are the changelog's only
		if err := w.unwritable(event); err != nil {
			return known, err
		}
	}
	if madeUp { // such values are not written as if they were data
		batch := w.writer.Batch()
		batch.Truncate(event.First)
		if _, err := plan.AppendKey(&w.intake.frame, batch); err != nil {
			return known, err
		}
	}
	return known, nil
}

// doubtful reports whether the before image of a delete may be made up. Without the schema part a made-up column default
// looks like a value, so once an update has come without its before, no delete is believed.
func doubtful(trust string, before debezium.BeforeImage) bool {
	switch trust {
	case identityFull:
		return false
	case identityPartial:
		return before == debezium.BeforeSuspect || before == debezium.BeforeFull
	}
	return before == debezium.BeforeSuspect
}

// unwritable refuses to put what stands for an unknown value into a table: a column that allows NULL gets that, others
// have nothing that could not be taken for data.
func (w *worker) unwritable(event debezium.Event) error {
	for _, c := range event.Unavailable {
		field, r := &w.schema.Fields[c], &w.intake.record
		if !field.Type.NotNull {
			continue
		}
		source, _ := w.intake.frame.Source()
		return &debezium.RecordError{
			Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Reason: debezium.ReasonUnavailable, Column: field.Name,
			Err: fmt.Errorf("the source did not send the value (an unchanged TOAST column), and the column is NOT NULL; run `%s` at the source for the events to come", remedy(source)),
		}
	}
	return nil
}

// identityPrefix begins the names of what was learned of topics' before images.
const identityPrefix = "identity/"

// recall takes over what the newest snapshot tells of before images and of what the table is made of, but for what this instance
// has learned since. The error is another source's: two instances have begun to make one table of two.
func (w *worker) recall(learned map[string]string) error {
	in := w.intake
	for name, told := range learned {
		switch source := name == learnedSource || strings.HasPrefix(name, learnedSource+"/"); {
		case source && in.trust[name] != "" && in.trust[name] != told:
			return sharedSources(w.name, told, in.trust[name])
		case source || strings.HasPrefix(name, identityPrefix) && !in.untold[name]:
			in.trust[name] = told
		}
	}
	return nil
}

// forget drops what was learned of before images since the newest snapshot: the records that showed it are read again. What the table
// is made of is told again by the next checkpoint.
func (w *worker) forget() {
	for name := range w.intake.trust {
		if strings.HasPrefix(name, identityPrefix) {
			delete(w.intake.trust, name)
			delete(w.intake.untold, name)
		} else if w.state.Progress.Learned[name] == "" {
			w.intake.untold[name] = true
		}
	}
}

// identity is the name under which trust in a topic is kept.
func (w *worker) identity(topic string) string {
	in := w.intake
	if in.identityOf != topic || in.identity == "" {
		in.identityOf, in.identity = topic, identityPrefix+topic
	}
	return in.identity
}

// trust returns what has been learned of a topic; empty for nothing.
func (w *worker) trust(topic string) string { return w.intake.trust[w.identity(topic)] }

// trustOf returns what an update tells by its before image. Once disproved, a full identity has to be proved again.
func trustOf(before debezium.BeforeImage) string {
	if before == debezium.BeforeFull {
		return identityFull
	}
	return identityPartial
}

// learn notes what an update of a topic has told.
func (w *worker) learn(topic, trust string) {
	if name := w.identity(topic); trust != w.intake.trust[name] {
		w.intake.trust[name], w.intake.untold[name] = trust, true
	}
}

// hasLearned reports whether records since the last seal have shown something new of before images.
func (w *worker) hasLearned() bool {
	for name := range w.intake.untold {
		if strings.HasPrefix(name, identityPrefix) {
			return true
		}
	}
	return false
}

// missingImage says what is missing and how to get it from the source.
func (w *worker) missingImage(event debezium.Event) error {
	source, _ := w.intake.frame.Source()
	what := map[debezium.Op]string{debezium.OpUpdate: "update", debezium.OpDelete: "delete"}[event.Op]
	if what == "" {
		what = "event"
	}
	detail := "without a full before image"
	if len(event.Unavailable) > 0 {
		names := make([]string, 0, len(event.Unavailable))
		for _, c := range event.Unavailable {
			names = append(names, w.schema.Fields[c].Name)
		}
		detail = "without the value of " + strings.Join(names, ", ") + " (an unchanged TOAST column)"
	}
	return fmt.Errorf("%s: %s %s: the changelog would be wrong; run `%s` at the source for the events to come; for those already in the topic set on-missing-before to accept (a SUM over the changelog goes wrong, the rows stay right but for what is unknown) or dead-letter",
		w.at(), what, detail, remedy(source))
}

// remedy is the statement that makes the source send whole images.
func remedy(s debezium.Source) string {
	switch s.Connector {
	case "mysql", "mariadb":
		return "SET GLOBAL binlog_row_image = FULL"
	case "postgresql":
		return fmt.Sprintf("ALTER TABLE %s.%s REPLICA IDENTITY FULL", s.Schema, s.Table)
	}
	return "ALTER TABLE ... REPLICA IDENTITY FULL (PostgreSQL), or binlog_row_image = FULL (MySQL)"
}

// differ reports whether two adjacent rows of a batch differ in any of the columns.
func differ(b *table.Batch, first int, columns []int) bool {
	for _, c := range columns {
		v := &b.Columns[c]
		if v.IsNull(first) != v.IsNull(first+1) {
			return true
		}
		if v.Layout == table.Words && v.Words[first] != v.Words[first+1] ||
			v.Layout == table.Bytes && string(v.Bytes(first)) != string(v.Bytes(first+1)) {
			return true
		}
	}
	return false
}
