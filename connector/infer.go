package connector

import (
	"errors"
	"fmt"
	"slices"

	"sink/debezium"
	"sink/table"
)

// infers reports whether columns follow the values of the record in the frame: it declares no types, and the mapping asks for it.
func (w *worker) infers() bool { return w.cfg.Infer && w.intake.frame.Shape == nil }

// inferred returns the columns that the first record asks of a new table, in the words of the source: those of its row, and those
// that only its key has. The error is a *debezium.RecordError.
func (w *worker) inferred() ([]table.Field, error) {
	f := &w.intake.frame
	row, err := f.Infer(nil)
	if err != nil {
		return nil, err
	}
	key, err := f.InferKey(w.cfg.Types)
	if err != nil {
		return nil, err
	}
	fields := row.Fields
	for _, k := range key {
		if !hasField(fields, k.Name) {
			fields = append(fields, k)
		}
	}
	return fields, nil
}

// names returns how the record in the frame calls its fields, where its plan has to know: names in another case than the table's
// are known from the events alone.
func (w *worker) names() ([]string, error) {
	if !w.infers() || w.cfg.Shaping.plain() {
		return nil, nil
	}
	all, err := w.intake.frame.Infer(nil)
	return all.Names, err
}

// checkInferred refuses a new table whose key has a column that no value of the first event gives a type.
func (w *worker) checkInferred(shape *debezium.Shape, fields []table.Field, key []string) error {
	for _, name := range key {
		if shape == nil && w.cfg.Infer && !hasField(fields, name) {
			return fmt.Errorf("%s: column %s has no value in the first event, and the table's key or partition needs its type: name it under `columns:`", w.at(), name)
		}
	}
	return nil
}

// grow makes the table take in the record in the frame, which did not fit because of its values, and returns the plan to read
// it by. Where no change of the schema helps, it returns the cause: the record is bad.
func (w *worker) grow(cause error, partitions int) (*plan, error) {
	bad, ok := errors.AsType[*debezium.RecordError](cause)
	if !ok || !slices.Contains([]debezium.Reason{debezium.ReasonUnknown, debezium.ReasonRange, debezium.ReasonType}, bad.Reason) {
		return nil, cause
	}
	want, err := w.asked()
	if err != nil {
		return nil, err
	}
	_, changes, err := table.Evolve(w.schema, want)
	switch {
	case err == nil && len(changes) == 0 && bad.Reason == debezium.ReasonUnknown && !w.cfg.Shaping.plain():
		// The plan was made for a record without the field, and could not know how the source writes its name.
		delete(w.intake.plans, nil)
		return w.plan(w.c.life, partitions)
	case err != nil || len(changes) == 0:
		return nil, cause
	}
	was := w.schema.ID
	err = w.evolve(w.c.life, want)
	if _, rival := errors.AsType[*table.IncompatibleError](err); rival { // another instance has made another change: see what that holds
		err = w.adopt()
	}
	switch {
	case err != nil:
		return nil, err
	case w.schema.ID == was:
		return nil, cause
	}
	return w.plan(w.c.life, partitions)
}

// asked returns the columns of the table, with those that the record in the frame asks for beside or wider. What the mapping
// states stays as it is.
func (w *worker) asked() ([]table.Field, error) {
	names, err := w.names()
	if err != nil {
		return nil, err
	}
	called, err := w.cfg.sourceSchema(w.schema, nil, names)
	if err != nil {
		return nil, err
	}
	more, err := w.intake.frame.Infer(called.Fields)
	if err != nil {
		return nil, err
	}
	fields, err := w.cfg.Shaping.fields(more.Fields)
	if err != nil {
		return nil, &refusal{reason: reasonSchema, err: err}
	}
	want := slices.Clone(w.schema.Fields)
	for _, f := range fields {
		_, metadata := w.cfg.Metadata[f.Name]
		if metadata || hasField(w.cfg.Columns, f.Name) || slices.Contains(w.cfg.Shaping.computedNames(), f.Name) {
			continue
		}
		if i := w.schema.FieldIndex(f.Name); i >= 0 {
			want[i].Type = f.Type
		} else {
			want = append(want, f)
		}
	}
	return want, nil
}
