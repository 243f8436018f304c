package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cenkalti/backoff/v5"

	"sink/commit"
	"sink/debezium"
	"sink/flush"
	"sink/table"
)

// defaultBuckets is the bucket count of a new table whose mapping does not say. Paimon's own default, -1, is dynamic.
const defaultBuckets = "4"

func (w *worker) commitConfig() commit.Config {
	return commit.Config{Store: w.c.cfg.Store, Path: w.path, User: w.c.cfg.Group, SingleWriter: w.c.cfg.SingleWriter}
}

// open readies the worker for the state just resumed: checks that the table is the one that the mapping means, and lifts
// sequence numbers above all that the table holds.
func (w *worker) open() error {
	if err := w.recall(w.state.Progress.Learned); err != nil {
		return &lasting{err}
	}
	if w.committer == nil {
		return nil
	}
	if err := w.adopt(); err != nil {
		return err
	}
	w.writer.Raise(w.state.MaxSequence)
	return nil
}

// adopt makes the newest schema the one that rows are bound to. Rows that are buffered for an older one stay bound to it: the
// change waits until they are sealed. No checkpoint may be under way.
func (w *worker) adopt() error {
	schema := w.committer.Schema()
	if w.schema != nil && (schema.ID == w.schema.ID || !w.writer.Empty()) {
		return nil
	}
	if err := w.checkSchema(schema); err != nil {
		return err
	}
	writer, err := flush.New(flush.Config{
		Schema: schema, Store: w.c.cfg.Store, Path: w.path, Encoders: w.c.encoders,
	})
	if err != nil {
		return err
	}
	if w.writer != nil {
		writer.Raise(w.writer.MaxSequence())
	}
	for _, warning := range schema.Warnings() {
		w.log.Warn().Msg(warning)
	}
	w.schema, w.writer = schema, writer
	w.intake.plans = map[*debezium.Shape]*plan{}
	w.mu.Lock()
	w.lanes.schema = schema
	w.mu.Unlock()
	return nil
}

// checkSchema refuses a table that the sink cannot write, or that is another than the mapping says.
func (w *worker) checkSchema(s *table.Schema) error {
	if err := s.Validate(); err != nil {
		return err
	}
	differs := func(what string, have, want []string) error {
		if len(want) == 0 || slices.Equal(have, want) {
			return nil
		}
		return fmt.Errorf("the table has %s [%s], the configuration says [%s]: Paimon cannot change it; correct the configuration, or write to a new table, with a new kafka.group",
			what, strings.Join(have, ", "), strings.Join(want, ", "))
	}
	if err := errors.Join(differs("primary key", s.PrimaryKeys, w.cfg.PrimaryKey), differs("partition keys", s.PartitionKeys, w.cfg.PartitionBy)); err != nil {
		return err
	}
	for key, want := range w.cfg.Options {
		if have := s.Option(key); have != want {
			w.log.Warn().Str("option", key).Str("table", have).Str("configuration", want).Msg("the table has another value of this option; the table's counts, options are set when a table is made")
		}
	}
	if w.cfg.Append && !s.Append() {
		return fmt.Errorf("the table has the primary key [%s], the configuration says `append: true`: Paimon cannot change it; correct the configuration, or write to a new table, with a new kafka.group",
			strings.Join(s.PrimaryKeys, ", "))
	}
	return nil
}

// shapeTable makes the table, or evolves it, so that it holds what a record declares.
func (w *worker) shapeTable(ctx context.Context, shape *debezium.Shape, key []string) error {
	if w.schema == nil {
		if err := w.create(ctx, shape, key); err != nil {
			return err
		}
	}
	if w.cfg.SchemaChange == Ignore {
		return nil
	}
	if err := w.checkKeyGrown(w.cfg.Shaping.columns(key)); err != nil {
		return err
	}
	fields, err := w.asides()
	if shape != nil {
		fields, err = w.fields(shape)
	}
	if err != nil {
		return err
	}
	return w.evolve(ctx, fields)
}

// primaryKey returns the columns of the table's primary key, or those that a new table will get.
func (w *worker) primaryKey(shape *debezium.Shape) []string {
	switch {
	case w.schema != nil:
		return w.schema.PrimaryKeys
	case len(w.cfg.PrimaryKey) > 0:
		return w.cfg.PrimaryKey
	}
	return w.cfg.newKey(shape.Key)
}

// newKey returns the primary key of a new table that the mapping names none for: the record key's columns, with the partition
// columns before them. Without a record key there is none, and the table is an append table.
func (t *Table) newKey(key []string) (primaryKey []string) {
	if len(key) == 0 || t.Append {
		return nil
	}
	key = t.Shaping.columns(key)
	for _, column := range t.PartitionBy {
		if !slices.Contains(key, column) {
			primaryKey = append(primaryKey, column)
		}
	}
	return append(primaryKey, key...)
}

// checkKeyGrown refuses a record key that tells rows apart that are one in the table, as after a column was added to the source's
// primary key. A key that the configuration states is the user's to answer for.
func (w *worker) checkKeyGrown(key []string) error {
	schema := w.schema
	if len(w.cfg.PrimaryKey) > 0 || schema.Append() {
		return nil
	}
	for _, name := range schema.PrimaryKeys {
		if !slices.Contains(key, name) && !slices.Contains(schema.PartitionKeys, name) {
			return nil // another key than the source's
		}
	}
	for _, name := range key {
		if !slices.Contains(schema.PrimaryKeys, name) {
			return &refusal{reason: reasonSchema, err: fmt.Errorf("%s: the record key is [%s], the table's primary key [%s]: rows that differ in %s only would become one; "+
				"Paimon cannot change a primary key: write to a new table, or state `primary-key:` if it is still unique", w.at(), strings.Join(key, ", "), strings.Join(schema.PrimaryKeys, ", "), name)}
		}
	}
	return nil
}

// fields returns the columns that a shape and the configuration ask of the table.
func (w *worker) fields(shape *debezium.Shape) ([]table.Field, error) {
	var fields []table.Field
	if shape == nil && w.cfg.Infer && w.schema == nil {
		var err error
		if fields, err = w.inferred(); err != nil {
			return nil, err
		}
	}
	if shape != nil {
		row, err := shape.Fields(w.cfg.Types)
		if err != nil {
			return nil, &refusal{reason: reasonSchema, err: fmt.Errorf("%s: %w", w.at(), err)}
		}
		key, err := shape.KeyFields(w.cfg.Types)
		if err != nil {
			return nil, &refusal{reason: reasonSchema, err: fmt.Errorf("%s: %w", w.at(), err)}
		}
		for _, f := range key { // ByLogicalTableRouter puts a column into the key only
			name, _ := w.cfg.Shaping.column(f.Name)
			if !hasField(row, f.Name) && slices.Contains(w.primaryKey(shape), name) {
				row = append(row, f)
			}
		}
		fields = row
	}
	var known []table.Field
	if w.schema != nil {
		known = w.schema.Fields
	}
	return w.cfg.Fields(fields, known)
}

// sourceSchema returns a table's schema in the words of the source: of a shape, or of the names that fields have without one.
func (t *Table) sourceSchema(schema *table.Schema, shape *debezium.Shape, names []string) (*table.Schema, error) {
	var sources []table.Field
	if shape != nil && !t.Shaping.plain() {
		var err error
		if sources, err = shape.Fields(t.Types); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		sources = append(sources, table.Field{Name: name})
	}
	aside := append(t.Shaping.computedNames(), slices.Collect(maps.Keys(t.Metadata))...)
	return t.Shaping.sourceSchema(schema, sources, aside), nil
}

// asides returns the columns of the table, with those that the configuration adds and the table lacks.
func (w *worker) asides() ([]table.Field, error) {
	want := slices.Clone(w.schema.Fields)
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Metadata)) {
		if !hasField(want, name) {
			want = append(want, table.Field{Name: name, Type: w.cfg.Metadata[name].Type()})
		}
	}
	return w.cfg.Shaping.computedFields(want, nil)
}

// create makes the table from what the first record declares, or from the configuration. When another instance was
// first, its table is taken.
func (w *worker) create(ctx context.Context, shape *debezium.Shape, key []string) error {
	if shape == nil && len(w.cfg.Columns) == 0 && !w.cfg.Infer {
		return fmt.Errorf("%s: the events carry no types (schemas.enable=false) and the table does not exist: name its columns under `columns:`, set `infer: true` to take them from the values, create the table beforehand, or have Debezium send schemas", w.at())
	}
	primaryKey := w.cfg.PrimaryKey
	if len(primaryKey) == 0 {
		primaryKey = w.cfg.newKey(key)
	}
	options := w.newOptions(len(primaryKey) > 0)
	fields, err := w.fields(shape)
	if err != nil {
		return err
	}
	if err := w.checkInferred(shape, fields, slices.Concat(primaryKey, w.cfg.PartitionBy)); err != nil {
		return err
	}
	if err := errors.Join(hasColumns(fields, "partition-by", w.cfg.PartitionBy), hasColumns(fields, "primary-key", primaryKey)); err != nil {
		return err
	}
	schema := table.NewSchema(fields, primaryKey, w.cfg.PartitionBy, options)
	schema.AllowMerged()
	if err := w.checkSchema(schema); err != nil {
		return err
	}
	created, err := retried(ctx, w, "create the table", func() (bool, error) {
		_, created, err := commit.CreateTable(ctx, w.commitConfig(), schema)
		if err == nil {
			w.committer, err = commit.Open(ctx, w.commitConfig())
		}
		return created, err
	})
	if err != nil {
		return err
	}
	switch {
	case created && schema.Append():
		w.log.Info().Int("columns", len(schema.Fields)).Msg("append table created: it has no primary key, as the records have none, or by `append: true`; it takes new rows only, see on-keyless-change")
	case created:
		w.log.Info().Strs("primary_key", primaryKey).Int("columns", len(schema.Fields)).Msg("table created")
		for _, column := range w.cfg.Unplaced(primaryKey, w.cfg.Shaping.columns(key)) {
			w.log.Warn().Msg(UnplacedRemedy(column))
		}
	}
	if err := w.resume(ctx); err != nil {
		return err
	}
	if err := w.problem(); err != nil {
		return err
	}
	w.publishAnew(nil)
	for _, p := range w.partitions { // another instance has made the table, and fixed where it begins
		if p.isMapped && p.mapped.Offset != p.next.Offset {
			w.restart(ctx)
			return errReadAgain
		}
	}
	return nil
}

// newOptions returns the options of a new table. An append table has neither a bucket, unless the configuration says so, nor a
// changelog beside its rows.
func (w *worker) newOptions(keyed bool) map[string]string {
	options := maps.Clone(w.cfg.Options)
	if options == nil {
		options = map[string]string{}
	}
	if !keyed {
		return options
	}
	if options["bucket"] == "" {
		options["bucket"] = defaultBuckets
		w.log.Info().Str("bucket", defaultBuckets).Msg("new table without options.bucket: it gets a fixed bucket count; set options.bucket to choose")
	}
	if options["changelog-producer"] == "" {
		options["changelog-producer"] = "input"
	}
	return options
}

// hasColumns refuses names under a key of the mapping that are no columns.
func hasColumns(fields []table.Field, key string, names []string) error {
	for _, name := range names {
		if !hasField(fields, name) {
			have := make([]string, len(fields))
			for i, f := range fields {
				have[i] = f.Name
			}
			return fmt.Errorf("%s names %s, which is no column; there are: %s", key, name, strings.Join(have, ", "))
		}
	}
	return nil
}

// evolve changes the table's schema where the wanted columns differ and Paimon allows it. What is buffered is
// committed under the old schema first, so that schema and rows cannot overtake each other.
func (w *worker) evolve(ctx context.Context, want []table.Field) error {
	_, changes, err := table.Evolve(w.schema, want)
	if err != nil {
		return &refusal{reason: reasonSchema, err: fmt.Errorf("%s: %w; give it another type under `columns:`, alter the table, or set schema-change to ignore or dead-letter", w.at(), err)}
	}
	if len(changes) == 0 {
		return nil
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	if w.cfg.SchemaChange != Evolve {
		return &refusal{reason: reasonSchema, err: fmt.Errorf("%s: the source's schema has changed (%s): set schema-change to evolve or ignore, or change the table yourself", w.at(), strings.Join(texts, "; "))}
	}
	if err := w.coverBefore(); err != nil {
		return err
	}
	schema, err := retried(ctx, w, "change the schema", func() (*table.Schema, error) {
		schema, _, err := w.committer.Evolve(ctx, want)
		return schema, err
	})
	if _, unlike := errors.AsType[*table.IncompatibleError](err); unlike {
		return &refusal{reason: reasonSchema, err: fmt.Errorf("%s: %w; another instance has just changed it", w.at(), err)}
	}
	if err != nil {
		return err
	}
	w.log.Info().Strs("changes", texts).Int64("schema", schema.ID).Msg("schema changed")
	return w.adopt()
}

// retried calls f until it succeeds, the context ends, or the error is one that no waiting mends.
func retried[T any](ctx context.Context, w *worker, what string, f func() (T, error)) (T, error) {
	result, err := backoff.Retry(ctx, func() (T, error) {
		if err := w.c.writers.Acquire(ctx, 1); err != nil {
			var none T
			return none, backoff.Permanent(err)
		}
		defer w.c.writers.Release(1)
		result, err := f()
		return result, permanentIfFinal(err)
	}, backoff.WithMaxElapsedTime(0), backoff.WithBackOff(retries()), backoff.WithNotify(w.degraded(what)))
	if err != nil {
		return result, fmt.Errorf("%s: %w", what, err)
	}
	w.recovered()
	return result, nil
}

func permanentIfFinal(err error) error {
	if err != nil && final(err) {
		return backoff.Permanent(err)
	}
	return err
}
