package datafile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sink/table"
	"sink/table/object"
)

// Source is a stream of rows: a [Reader], a [Chain] of readers or a [Merger].
type Source interface {
	// Next appends up to max rows to dst and their sequence numbers to seqs. It returns how many, at least 1 before the
	// end, and io.EOF with 0 after the last row.
	Next(dst *table.Batch, seqs *[]int64, max int) (int, error)
	Close() error
}

// What a reader holds of a file in memory, compressed: a row group whole if it is small, else the beginning of what is
// left of each column chunk. Of wide rows it returns no more at once than nextBytes, about.
const (
	groupReadBytes = 2 << 20
	minAhead       = 64 << 10
	nextBytes      = 1 << 20
)

// Reader reads the rows of one file in their order. It has one owner.
type Reader struct {
	name    string
	file    *parquetFile
	columns []readColumn
	append  bool  // a file of an append table: rows have no kind and no number of their own
	schema  int64 // id of the file's
	deletes int64 // rows of the file that retract
	nextSeq int64
	seq     readNode
	kind    readNode
	leaves  []*leafReader

	may    func(column func(i int) table.Range) bool // which row groups to read; nil: all
	group  int                                       // row group to read next
	left   int64                                     // rows of the open row group
	most   int64                                     // of them to return at once
	buffer []byte
	kinds  table.Vector
	seqs   table.Vector
	err    error
}

// readColumn is where the cells of one wanted column come from.
type readColumn struct {
	name     string
	fileType table.Type
	want     table.Type
	node     readNode
	absent   bool          // the file does not have it
	constant *table.Vector // of one cell: a partition column
	scratch  table.Vector  // cells of fileType, before the cast
	cast     bool
}

// Open opens a data or changelog file. fileSchema is the schema that file.SchemaID names; the rows come in the types of
// want, projected to columns (positions in want.Fields, in this order). A field that the file's schema does not have, or
// the file has no column for, is null; partition columns are taken from file.Bucket. Errors name the file; a missing one
// satisfies fs.ErrNotExist, one of another format or elsewhere errors.ErrUnsupported.
func Open(ctx context.Context, store object.Store, path table.Path, file *table.File, fileSchema, want *table.Schema, columns []int) (*Reader, error) {
	if file.ExternalPath != "" {
		return nil, fmt.Errorf("read %s: it lies at %s, outside of the table, where this program does not look: %w", file.Name, file.ExternalPath, errors.ErrUnsupported)
	}
	if f := formatOf(file.Name); f != "parquet" {
		return nil, fmt.Errorf("read %s: files of format %q are not read, only Parquet: %w", file.Name, f, errors.ErrUnsupported)
	}
	partition, err := table.PartitionPath(want, file.Bucket.Partition)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name, err)
	}
	name := path.DataFile(partition, file.Bucket.Number, file.Name)
	src, err := store.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r := &Reader{name: name, schema: file.SchemaID, deletes: file.DeleteRows}
	if err := r.open(src, file, fileSchema, want, columns); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), src.Close())
	}
	return r, nil
}

func (r *Reader) open(src object.Reader, file *table.File, fileSchema, want *table.Schema, columns []int) (err error) {
	if r.file, err = openParquet(src); err != nil {
		return err
	}
	b := &binder{file: r.file}
	if r.append, r.nextSeq = fileSchema.Append(), file.MinSeq; !r.append {
		if err := r.bindSystem(b); err != nil {
			return err
		}
	}
	partition, err := partitionCells(fileSchema, file.Bucket.Partition)
	if err != nil {
		return err
	}
	for _, i := range columns {
		c, err := r.bindWanted(b, fileSchema, want.Fields[i], partition)
		if err != nil {
			return err
		}
		r.columns = append(r.columns, c)
	}
	r.leaves = b.leaves
	r.kinds.Layout, r.seqs.Layout = table.Words, table.Words
	return nil
}

// bindSystem finds the columns that each file of a primary-key table has.
func (r *Reader) bindSystem(b *binder) error {
	for _, c := range []struct {
		name string
		typ  table.Type
		node *readNode
	}{{sequenceName, sequenceType, &r.seq}, {kindName, kindType, &r.kind}} {
		node, ok, err := b.bindColumn(c.name, c.typ)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("it has no column %s: it is no file of a primary-key table", c.name)
		}
		*c.node = node
	}
	return nil
}

// partitionCells returns the partition columns by name, as vectors of one cell.
func partitionCells(s *table.Schema, partition string) (map[string]*table.Vector, error) {
	if len(s.PartitionKeys) == 0 {
		return nil, nil
	}
	row, err := table.DecodeRow([]byte(partition), s.TypesOf(s.Indexes(s.PartitionKeys)))
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	cells := make(map[string]*table.Vector, len(s.PartitionKeys))
	for i, name := range s.PartitionKeys {
		cells[name] = &row.Columns[i]
	}
	return cells, nil
}

// bindWanted finds a wanted field in the file: by its id in the file's schema, then by the name it has there.
func (r *Reader) bindWanted(b *binder, fileSchema *table.Schema, want table.Field, partition map[string]*table.Vector) (readColumn, error) {
	c := readColumn{name: want.Name, want: want.Type, fileType: want.Type}
	i := slices.IndexFunc(fileSchema.Fields, func(f table.Field) bool { return f.ID == want.ID })
	if i < 0 {
		c.absent = true
		return c, nil
	}
	have := fileSchema.Fields[i]
	c.fileType = have.Type
	c.scratch.Layout = have.Type.Layout()
	c.cast = !have.Type.Nullable().Equal(want.Type.Nullable())
	if c.cast && !table.CanCast(have.Type, want.Type) {
		return c, fmt.Errorf("column %s: %s in the file cannot be read as %s", want.Name, have.Type, want.Type)
	}
	if cell, ok := partition[have.Name]; ok {
		c.constant = cell
		if c.cast {
			cast, err := table.CastVector(cell, have.Type, want.Type)
			if err != nil {
				return c, fmt.Errorf("column %s: %w", want.Name, err)
			}
			c.constant = cast
		}
		return c, nil
	}
	node, ok, err := b.bindColumn(have.Name, have.Type)
	c.node, c.absent = node, !ok
	return c, err
}

// Name returns the file's name in the store.
func (r *Reader) Name() string { return r.name }

// Rows returns the number of rows in the file.
func (r *Reader) Rows() int64 { return r.file.meta.NumRows }

// Next appends up to max rows to dst, whose columns are the projection, and their sequence numbers to seqs. It returns
// how many, at least 1 before the end, and io.EOF with 0 after the last row. After any other error the content of dst
// is undefined.
func (r *Reader) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	if r.err != nil || max <= 0 {
		return 0, r.err
	}
	n, err := r.next(dst, seqs, max)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read %s: %w", r.name, err)
	}
	r.err = err
	return n, err
}

func (r *Reader) next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	for r.left == 0 {
		r.skipGroups()
		if r.group == len(r.file.meta.RowGroups) {
			return 0, io.EOF
		}
		if err := r.openGroup(); err != nil {
			return 0, err
		}
	}
	n := int(min(int64(max), r.left, r.most))
	for i := range r.columns {
		if err := r.columns[i].read(&dst.Columns[i], n); err != nil {
			return 0, fmt.Errorf("column %s: %w", r.columns[i].name, err)
		}
	}
	r.left -= int64(n)
	if r.append {
		for range n {
			dst.Kinds, *seqs = append(dst.Kinds, table.Insert), append(*seqs, r.nextSeq)
			r.nextSeq++
		}
		return n, nil
	}
	return n, r.readSystem(dst, seqs, n)
}

// readSystem appends the kinds and numbers of n rows.
func (r *Reader) readSystem(dst *table.Batch, seqs *[]int64, n int) error {
	if err := r.readKinds(dst, n); err != nil {
		return err
	}
	r.seqs.Words = *seqs
	if err := r.seq.leaves[0].flat(&r.seqs, n); err != nil {
		return fmt.Errorf("column %s: %w", sequenceName, err)
	}
	if r.seqs.Nulls != nil {
		return damaged("a null in column %s", sequenceName)
	}
	*seqs, r.seqs.Words = r.seqs.Words, nil
	return nil
}

func (r *Reader) readKinds(dst *table.Batch, n int) error {
	r.kinds.Truncate(0)
	if err := r.kind.leaves[0].flat(&r.kinds, n); err != nil {
		return fmt.Errorf("column %s: %w", kindName, err)
	}
	for i, k := range r.kinds.Words {
		if k < int64(table.Insert) || k > int64(table.Delete) || r.kinds.IsNull(i) {
			return damaged("a row kind of %d", k)
		}
		dst.Kinds = append(dst.Kinds, table.Kind(k))
	}
	return nil
}

// openGroup begins the next row group. If what is wanted of it is small it is fetched at once.
func (r *Reader) openGroup() error {
	g := &r.file.meta.RowGroups[r.group]
	r.left, r.most = g.NumRows, g.NumRows
	r.group++
	if len(r.leaves) == 0 { // nothing but partition columns is wanted
		return nil
	}
	start, end, unpacked := int64(-1), int64(0), int64(0)
	for _, l := range r.leaves {
		m := &g.Columns[l.node.leaf].MetaData
		unpacked += max(m.TotalUncompressedSize, 0)
		at, n := chunkSpan(m)
		if start < 0 || at < start {
			start = at
		}
		end = max(end, at+n)
	}
	if g.NumRows > 0 {
		r.most = max(1, nextBytes/max(1, unpacked/g.NumRows))
	}
	r.buffer = r.buffer[:0]
	if end-start <= groupReadBytes {
		r.buffer = room(r.buffer, int(end-start))
		if err := readFull(r.file.src, r.buffer, start); err != nil {
			return err
		}
	}
	ahead := max(minAhead, groupReadBytes/len(r.leaves))
	for _, l := range r.leaves {
		l.open(&g.Columns[l.node.leaf].MetaData, r.buffer, start, ahead)
	}
	return nil
}

// read appends n cells.
func (c *readColumn) read(dst *table.Vector, n int) error {
	if c.absent || c.constant != nil {
		for range n {
			if c.absent {
				dst.AppendNull()
			} else {
				dst.AppendCell(c.constant, 0)
			}
		}
		return nil
	}
	if !c.cast {
		return c.readCells(dst, n)
	}
	c.scratch.Truncate(0)
	if err := c.readCells(&c.scratch, n); err != nil {
		return err
	}
	cast, err := table.CastVector(&c.scratch, c.fileType, c.want)
	if err != nil {
		return err
	}
	for i := range n {
		dst.AppendCell(cast, i)
	}
	return nil
}

func (c *readColumn) readCells(dst *table.Vector, n int) error {
	if c.fileType.Nested() {
		return c.node.nestedCells(dst, n)
	}
	return c.node.leaves[0].flat(dst, n)
}

// Close releases the file.
func (r *Reader) Close() error { return r.file.src.Close() }
