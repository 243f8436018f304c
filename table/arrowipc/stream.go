package arrowipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"sink/table"
)

// Stream writes rows as one Arrow IPC stream.
type Stream struct {
	fields  []table.Field
	columns []column
	rows    *array.RecordBuilder
	out     *ipc.Writer
}

// NewStream begins a stream of columns on w. It keeps fields, and writes nothing before the first batch.
func NewStream(w io.Writer, fields []table.Field) *Stream {
	schema := schemaOf(fields)
	s := &Stream{fields: fields, rows: array.NewRecordBuilder(memory.NewGoAllocator(), schema), out: ipc.NewWriter(w, ipc.WithSchema(schema))}
	for i := range fields {
		s.columns = append(s.columns, newColumn(&fields[i].Type, s.rows.Field(i)))
	}
	return s
}

// Append writes the rows of a batch, which is free to change afterwards, as one record batch. The kinds of its rows are not written.
// After an error the stream is of no use.
func (s *Stream) Append(b *table.Batch) error {
	for c := range s.columns {
		for i := range b.Len() {
			if err := s.columns[c].cell(&b.Columns[c], i); err != nil {
				return fmt.Errorf("column %s: %w", s.fields[c].Name, err)
			}
		}
	}
	record := s.rows.NewRecordBatch()
	defer record.Release()
	return s.out.Write(record)
}

// Close writes the end of the stream, and the schema if there was no batch. The writer is the caller's to close.
func (s *Stream) Close() error { return s.out.Close() }
