package datafile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"sink/table/object"
)

// Limits of what is believed of a file that may be damaged.
const (
	maxFooterBytes  = 256 << 20
	maxSchemaDepth  = 128
	footerReadBytes = 64 << 10 // read from the end at first; most footers are in it
)

// errDamaged is what every finding in a damaged file wraps.
var errDamaged = errors.New("damaged Parquet file")

func damaged(text string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(text, args...))
}

// parquetFile is the footer of a Parquet file.
type parquetFile struct {
	src    object.Reader
	meta   format.FileMetaData
	root   fileNode
	leaves []*fileNode
}

// fileNode is a node of the schema that the file has.
type fileNode struct {
	element  *format.SchemaElement
	repeat   format.FieldRepetitionType
	def, rep uint8 // levels of a present value
	leaf     int   // of the file, for a leaf
	children []fileNode
}

func (n *fileNode) name() string { return n.element.Name }

// child returns the child of that name, nil if there is none.
func (n *fileNode) child(name string) *fileNode {
	for i := range n.children {
		if n.children[i].name() == name {
			return &n.children[i]
		}
	}
	return nil
}

// openParquet reads the footer.
func openParquet(src object.Reader) (*parquetFile, error) {
	size := src.Size()
	if size < int64(2*len(magic)+4) {
		return nil, damaged("%d bytes are too few", size)
	}
	tail := make([]byte, min(size, footerReadBytes))
	if err := readFull(src, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	end := len(tail) - 8
	if string(tail[end+4:]) != magic {
		return nil, damaged("it does not end with %s", magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[end:]))
	if n > size-int64(2*len(magic)+4) || n > maxFooterBytes {
		return nil, damaged("a footer of %d bytes in a file of %d", n, size)
	}
	footer := tail[:end]
	if n <= int64(end) {
		footer = footer[end-int(n):]
	} else {
		footer = make([]byte, n)
		if err := readFull(src, footer, size-8-n); err != nil {
			return nil, err
		}
	}
	f := &parquetFile{src: src}
	var p thrift.CompactProtocol
	if err := thrift.NewDecoder(p.NewReaderFromBytes(footer)).Decode(&f.meta); err != nil {
		return nil, damaged("footer: %v", err)
	}
	if f.meta.EncryptionAlgorithm.Value != nil {
		return nil, errors.New("encrypted Parquet files are not read")
	}
	if err := f.buildSchema(); err != nil {
		return nil, err
	}
	return f, f.check()
}

// readFull fills b from an offset.
func readFull(src io.ReaderAt, b []byte, offset int64) error {
	n, err := src.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return damaged("it ends within bytes %d to %d", offset, offset+int64(len(b)))
	}
	return err
}

// buildSchema makes a tree of the list of elements.
func (f *parquetFile) buildSchema() error {
	if len(f.meta.Schema) == 0 {
		return damaged("no schema")
	}
	next := 0
	if err := f.buildNode(&f.root, &next, 0, 0, 0); err != nil {
		return err
	}
	if next != len(f.meta.Schema) {
		return damaged("%d elements of its schema are not in the tree", len(f.meta.Schema)-next)
	}
	f.collectLeaves(&f.root)
	return nil
}

func (f *parquetFile) buildNode(n *fileNode, next *int, def, rep uint8, depth int) error {
	if *next >= len(f.meta.Schema) {
		return damaged("its schema lacks elements")
	}
	if depth > maxSchemaDepth || def > 250 {
		return damaged("its schema is too deep")
	}
	n.element = &f.meta.Schema[*next]
	*next++
	if depth > 0 {
		n.repeat = n.element.RepetitionType.V
		switch n.repeat {
		case format.Optional:
			def++
		case format.Repeated:
			def, rep = def+1, rep+1
		}
	}
	n.def, n.rep = def, rep
	children := int(n.element.NumChildren.V)
	if n.element.Type.Valid && depth > 0 || children == 0 && depth > 0 {
		if children != 0 || !n.element.Type.Valid {
			return damaged("column %s is neither a leaf nor a group", n.name())
		}
		return nil
	}
	if children < 0 || children > len(f.meta.Schema)-*next {
		return damaged("column %s has %d children", n.name(), children)
	}
	n.children = make([]fileNode, children)
	for i := range n.children {
		if err := f.buildNode(&n.children[i], next, def, rep, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (f *parquetFile) collectLeaves(n *fileNode) {
	if n.children == nil && n != &f.root {
		n.leaf = len(f.leaves)
		f.leaves = append(f.leaves, n)
		return
	}
	for i := range n.children {
		f.collectLeaves(&n.children[i])
	}
}

// check tells whether row groups are what the schema says and lie in the file.
func (f *parquetFile) check() error {
	var rows int64
	size := f.src.Size()
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if g.NumRows < 0 || len(g.Columns) != len(f.leaves) {
			return damaged("row group %d has %d rows and %d of %d columns", i, g.NumRows, len(g.Columns), len(f.leaves))
		}
		rows += g.NumRows
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			start, n := chunkSpan(m)
			if start < 0 || n < 0 || n > size || start > size-n {
				return damaged("column %s lies at %d to %d of %d bytes", f.leaves[j].name(), start, start+n, size)
			}
			if m.Type != f.leaves[j].element.Type.V {
				return damaged("column %s has two types", f.leaves[j].name())
			}
		}
	}
	if rows != f.meta.NumRows {
		return damaged("%d rows are announced, its row groups have %d", f.meta.NumRows, rows)
	}
	return nil
}

// chunkSpan returns where a column chunk begins and its bytes. Some writers have no dictionary offset, or one of 0.
func chunkSpan(m *format.ColumnMetaData) (start, n int64) {
	start = m.DataPageOffset
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < start {
		start = m.DictionaryPageOffset
	}
	return start, m.TotalCompressedSize
}

// bytesReader lets bytes be read as an object.
type bytesReader struct{ *bytes.Reader }

func (bytesReader) Close() error { return nil }
