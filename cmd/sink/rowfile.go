package main

import (
	"bufio"
	"io"
	"os"

	"golang.org/x/term"

	"sink/table"
	"sink/table/arrowipc"
	"sink/table/datafile"
)

// Rows are handed to a file when there are so many, or so many bytes in them.
const (
	fileRows  = 4096
	fileBytes = 16 << 20
)

// rowEncoder writes batches of rows in a binary format.
type rowEncoder interface {
	Append(b *table.Batch) error
	Close() error
}

// rowFile is rows on their way into a Parquet file or an Arrow stream on standard output, behind columns that tell where they
// come from.
type rowFile struct {
	out    *bufio.Writer
	to     rowEncoder
	batch  *table.Batch
	bytes  int // in the batch
	before int // columns in front of the row's own
}

func newRowFile(w io.Writer, format outputFormat, fields, before []table.Field) (*rowFile, error) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nil, misusef("-o %s writes no text: redirect it, as in `> orders.%[1]s`, or give it to a program that reads it", format)
	}
	all := append(before[:len(before):len(before)], fields...)
	for i := range all {
		all[i].Type.NotNull = false
	}
	p := &rowFile{out: bufio.NewWriterSize(w, 1<<16), batch: table.NewBatch(all), before: len(before)}
	if format == formatArrow {
		p.to = arrowipc.NewStream(p.out, all)
		return p, nil
	}
	export, err := datafile.NewExport(p.out, all)
	p.to = export
	return p, err
}

// row adds row i of a batch; the columns before it have got their cells.
func (p *rowFile) row(b *table.Batch, i int) error {
	for c := range b.Columns {
		v := &b.Columns[c]
		p.batch.Columns[p.before+c].AppendCell(v, i)
		if v.Layout == table.Bytes {
			p.bytes += len(v.Bytes(i))
		}
	}
	p.batch.Kinds = append(p.batch.Kinds, table.Insert)
	if p.batch.Len() < fileRows && p.bytes < fileBytes {
		return nil
	}
	return p.encode()
}

// encode hands the rows to the file.
func (p *rowFile) encode() error {
	if p.batch.Len() == 0 {
		return nil
	}
	err := p.to.Append(p.batch)
	p.batch.Reset()
	p.bytes = 0
	return err
}

// flush hands out what is there so far; in a Parquet file, whole row groups.
func (p *rowFile) flush() error {
	if err := p.encode(); err != nil {
		return err
	}
	return p.out.Flush()
}

// close writes the end of the file.
func (p *rowFile) close() error {
	if err := p.encode(); err != nil {
		return err
	}
	if err := p.to.Close(); err != nil {
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
