package main

import (
	"bufio"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"sink/table"
	"sink/table/datafile"
)

// parquetRows is how many rows are handed to the file at once.
const parquetRows = 4096

// parquetFile is rows on their way into a Parquet file on standard output, behind columns that tell where they come from.
type parquetFile struct {
	out    *bufio.Writer
	export *datafile.Export
	batch  *table.Batch
	before int // columns in front of the row's own
}

func newParquetFile(w io.Writer, fields, before []table.Field) (*parquetFile, error) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nil, misuse(errors.New("-o parquet writes a file: redirect it, as in `> orders.parquet`"))
	}
	all := append(before[:len(before):len(before)], fields...)
	for i := range all {
		all[i].Type.NotNull = false
	}
	p := &parquetFile{out: bufio.NewWriterSize(w, 1<<16), batch: table.NewBatch(all), before: len(before)}
	var err error
	p.export, err = datafile.NewExport(p.out, all)
	return p, err
}

// row adds row i of a batch; the columns before it have got their cells.
func (p *parquetFile) row(b *table.Batch, i int) error {
	for c := range b.Columns {
		p.batch.Columns[p.before+c].AppendCell(&b.Columns[c], i)
	}
	p.batch.Kinds = append(p.batch.Kinds, table.Insert)
	if p.batch.Len() < parquetRows {
		return nil
	}
	return p.flush()
}

func (p *parquetFile) flush() error {
	if p.batch.Len() == 0 {
		return nil
	}
	err := p.export.Append(p.batch)
	p.batch.Reset()
	return err
}

// close writes the end of the file.
func (p *parquetFile) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.export.Close(); err != nil {
		return err
	}
	return p.out.Flush()
}

// changeColumns tell of a change in which snapshot, partition and bucket it is, and its kind.
func changeColumns(partitioned bool) []table.Field {
	text := table.Type{Root: table.VarChar, Length: table.MaxLength}
	fields := []table.Field{{ID: -1, Name: "snapshot", Type: table.Type{Root: table.BigInt}}}
	if partitioned {
		fields = append(fields, table.Field{ID: -1, Name: "partition", Type: text})
	}
	return append(fields, table.Field{ID: -1, Name: "bucket", Type: table.Type{Root: table.Int}}, table.Field{ID: -1, Name: "kind", Type: text})
}
