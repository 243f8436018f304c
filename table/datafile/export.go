package datafile

import (
	"io"

	"sink/table"
)

// Export writes rows as one plain Parquet file of their columns alone: no data file of a table, but what any program reads. It
// holds one row group in memory.
type Export struct {
	enc  *encoder
	seqs []int64
}

// NewExport begins a file of columns. Of w only Write is used; what is written to it after an error is no file.
func NewExport(w io.Writer, fields []table.Field) (*Export, error) {
	f, err := NewFormat(Config{Schema: &table.Schema{Fields: fields}, Compression: "zstd", ZstdLevel: 1, TargetFileSize: 1})
	if err != nil {
		return nil, err
	}
	enc, err := f.encoder()
	if err != nil {
		return nil, err
	}
	return &Export{enc: enc}, enc.begin(exportWriter{w})
}

// Append adds the rows of a batch, which is free to change afterwards.
func (e *Export) Append(b *table.Batch) error {
	for len(e.seqs) < b.Len() {
		e.seqs = append(e.seqs, 0)
	}
	return e.enc.append(table.AllOf(b, e.seqs[:b.Len()]))
}

// Close writes the end of the file. The writer is the caller's to close.
func (e *Export) Close() error { return e.enc.finish() }

// exportWriter lets an encoder write to what is no object.
type exportWriter struct{ io.Writer }

func (exportWriter) Close() error { return nil }
func (exportWriter) Abort()       {}
