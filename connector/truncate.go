package connector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cenkalti/backoff/v5"

	"sink/table"
	"sink/table/scan"
)

// truncate handles op t: the source table was emptied. The event names no rows and has no key, so it has an order among
// the changes of one partition only.
func (w *worker) truncate(p *partition) error {
	switch w.cfg.OnTruncate {
	case Ignore:
		w.skip("truncate")
		return nil
	case Apply:
		if w.appends() {
			return &refusal{reason: reasonTruncate, err: fmt.Errorf("%s: the source table was truncated, but this table has no primary key and takes no deletes; set on-truncate to ignore (the rows stay)", w.at())}
		}
		if p.log.partitions > 1 || len(w.c.topicsOf(w)) > 1 {
			return &refusal{reason: reasonTruncate, err: fmt.Errorf("%s: the source table was truncated, but this table's changes come from several partitions or topics, and nothing tells which of them came before; "+
				"set on-truncate to ignore (the rows stay), or use a topic with one partition", w.at())}
		}
		return w.emptyTable(w.c.life)
	}
	return &refusal{reason: reasonTruncate, err: fmt.Errorf("%s: the source table was truncated; set on-truncate to apply (every row is deleted, for streaming readers too) or to ignore (the rows stay)", w.at())}
}

// emptyTable commits what is buffered, then buffers a -D for every row of the table: a streaming reader sees them go.
func (w *worker) emptyTable(ctx context.Context) error {
	if w.schema == nil {
		w.skip("truncate-of-nothing")
		return nil
	}
	if err := w.coverBefore(); err != nil {
		return err
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := w.deleteRows(ctx)
		if err != nil { // the buffers hold nothing else: all that came before is covered
			w.writer.Discard(context.WithoutCancel(ctx))
			w.account()
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(retryWithin), backoff.WithBackOff(retries()), backoff.WithNotify(w.degraded("read the rows to delete")))
	if errors.Is(err, errOtherSchema) {
		w.log.Info().Msg("another writer has changed the table's schema; reading again from the newest snapshot")
		w.restart(ctx)
		if err := w.problem(); err != nil {
			return err
		}
		return errReadAgain
	}
	if err != nil {
		return fmt.Errorf("read the rows to delete: %w", err)
	}
	w.recovered()
	return nil
}

// errOtherSchema says that the rows to delete are of another schema than this table's buffers are bound to.
var errOtherSchema = errors.New("the table's schema has changed")

// deleteRows buffers a -D for every row of the newest snapshot. An error that another try cannot mend is permanent.
func (w *worker) deleteRows(ctx context.Context) error {
	t, err := scan.Open(ctx, w.c.cfg.Store, w.path)
	if err != nil {
		return err
	}
	opened, err := t.Plan(ctx, scan.At{}, nil)
	if err != nil {
		return err
	}
	if opened.Schema.ID != w.schema.ID || newer(opened, w.schema) {
		return backoff.Permanent(errOtherSchema)
	}
	for batch, err := range opened.Rows(ctx, scan.Options{}) {
		if err != nil {
			return err
		}
		if err := w.deleteAll(ctx, batch); err != nil {
			return backoff.Permanent(err)
		}
	}
	return nil
}

// newer reports whether a file of a plan is of a newer schema, which came after the plan's was looked up.
func newer(p *scan.Plan, schema *table.Schema) bool {
	return slices.ContainsFunc(p.Splits, func(s scan.Split) bool {
		return slices.ContainsFunc(s.Files, func(f table.File) bool { return f.SchemaID > schema.ID })
	})
}

// deleteAll buffers a -D for each row of a batch.
func (w *worker) deleteAll(ctx context.Context, batch *table.Batch) error {
	for i := range batch.Len() {
		to := w.writer.Batch()
		to.AppendRow(batch, i)
		to.Kinds[to.Len()-1] = table.Delete
		if err := w.writer.Add(); err != nil {
			return err
		}
	}
	w.account()
	if full, _ := w.c.memory.over(); full {
		w.spill(ctx)
	}
	return w.problem()
}
