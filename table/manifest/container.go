package manifest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
)

// magic starts an Avro object container file of version 1.
const magic = "Obj\x01"

// blockBytes is the size at which a block is closed, before compression. Avro's Java library uses 64,000.
const blockBytes = 64 << 10

// maxBlockBytes bounds the memory that one block may take, before and after decompression.
const maxBlockBytes = 256 << 20

// minRecordBytes is fewer than any record takes: room for a block's records is made at once, but not for more than
// can be there.
const minRecordBytes = 32

// container reads an Avro object container file that is whole in memory.
type container struct {
	schema *node
	codec  codec
	sync   []byte
	rest   []byte // blocks not read yet
}

// openContainer reads the header of a file.
func openContainer(b []byte) (*container, error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, errors.New("not an Avro object container file")
	}
	c := cursor{b: b[len(magic):]}
	var schemaText []byte
	codecName := "null"
	c.items(func(int64) {
		switch key, val := c.bytes(), c.bytes(); string(key) {
		case "avro.schema":
			schemaText = val
		case "avro.codec":
			codecName = string(val)
		}
	})
	r := &container{sync: c.take(16)}
	if c.err != nil {
		return nil, fmt.Errorf("header: %w", c.err)
	}
	r.rest = c.b
	var err error
	if r.codec, err = codecByName(codecName); err != nil {
		return nil, err
	}
	if r.schema, err = knownSchema(schemaText); err != nil {
		return nil, err
	}
	return r, nil
}

// next returns the number of records in the next block and their bytes, which nobody changes any more; io.EOF after
// the last block.
func (r *container) next() (int64, []byte, error) {
	if len(r.rest) == 0 {
		return 0, nil, io.EOF
	}
	c := cursor{b: r.rest}
	count := c.long()
	packed := c.bytes()
	sync := c.take(16)
	switch {
	case c.err != nil:
		return 0, nil, c.err
	case !bytes.Equal(sync, r.sync):
		return 0, nil, errors.New("sync marker does not match")
	case count < 0:
		return 0, nil, fmt.Errorf("%d records in a block", count)
	}
	r.rest = c.b
	b, err := r.codec.decompress(packed)
	if err != nil {
		return 0, nil, err
	}
	return count, b, nil
}

// readAll reads all records of a container file. preset is what a T holds before its fields are read.
func readAll[T any](b []byte, members []member[T], preset T) ([]T, error) {
	r, err := openContainer(b)
	if err != nil {
		return nil, err
	}
	record, err := newReader(r.schema, members)
	if err != nil {
		return nil, fmt.Errorf("avro schema: %w", err)
	}
	var all []T
	var c cursor
	for {
		count, block, err := r.next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("block after record %d: %w", len(all), err)
		}
		c.b = block
		all = slices.Grow(all, int(min(count, int64(len(block)/minRecordBytes))))
		for ; count > 0; count-- {
			all = append(all, preset)
			if record.read(&c, &all[len(all)-1]); c.err != nil {
				return nil, fmt.Errorf("record %d: %w", len(all)-1, c.err)
			}
		}
		if len(c.b) > 0 {
			return nil, fmt.Errorf("block before record %d: %d bytes too many", len(all), len(c.b))
		}
	}
}

// containerWriter makes an Avro object container file in memory. Records are appended to block, and record ends each.
type containerWriter struct {
	out   []byte
	block []byte
	count int64
	sync  [16]byte
	codec codec
}

// newContainerWriter starts a file. A writer schema is given as it stands in the header.
func newContainerWriter(schema string, codec codec) *containerWriter {
	w := &containerWriter{codec: codec}
	rand.Read(w.sync[:]) // never fails (crypto/rand)
	w.out = append(w.out, magic...)
	w.out = appendLong(w.out, 2)
	w.out = appendBytes(w.out, "avro.codec")
	w.out = appendBytes(w.out, codec.name)
	w.out = appendBytes(w.out, "avro.schema")
	w.out = appendBytes(w.out, schema)
	w.out = append(w.out, 0)
	w.out = append(w.out, w.sync[:]...)
	return w
}

// record ends a record.
func (w *containerWriter) record() {
	w.count++
	if len(w.block) >= blockBytes {
		w.flush()
	}
}

// flush writes the open block, if it holds any record.
func (w *containerWriter) flush() {
	if w.count == 0 {
		return
	}
	packed := w.codec.compress(w.block)
	w.out = appendLong(w.out, w.count)
	w.out = appendBytes(w.out, packed)
	w.out = append(w.out, w.sync[:]...)
	w.block, w.count = w.block[:0], 0
}

// size is the number of bytes of the file so far, without the open block.
func (w *containerWriter) size() int64 { return int64(len(w.out)) }

// bytes ends the file and returns it.
func (w *containerWriter) bytes() []byte {
	w.flush()
	return w.out
}
