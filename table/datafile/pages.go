package datafile

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPageValues is the most level entries of a page that are believed.
const maxPageValues = 1 << 24

// leafReader reads the pages of one leaf, chunk after chunk, one decoded page at a time.
type leafReader struct {
	node    *fileNode
	convert converter
	window  window

	codec   format.CompressionCodec
	left    int64 // entries of the chunk that are not in pages yet read
	dict    values
	hasDict bool

	// The page.
	entries int
	pos     int     // entry to read next
	def     []uint8 // nil: all the highest
	rep     []uint8 // nil: all 0
	values  values
	value   int // value to read next

	raw    *[]byte // memory for a page; words leave it at once, so their leaves share one
	levels []int32
	defBuf []uint8
	repBuf []uint8
	thrift thrift.CompactProtocol
}

// words tells whether the file's values are words.
func (l *leafReader) words() bool {
	switch l.node.element.Type.V {
	case format.ByteArray, format.FixedLenByteArray, format.Int96:
		return false
	}
	return true
}

// open begins a chunk.
func (l *leafReader) open(m *format.ColumnMetaData, buffered []byte, bufferedAt int64, readAhead int) {
	start, n := chunkSpan(m)
	l.window.open(start, start+n, buffered, bufferedAt, readAhead)
	l.codec, l.left = m.Codec, m.NumValues
	l.hasDict = false
	l.entries, l.pos, l.value = 0, 0, 0
	l.def, l.rep = nil, nil
}

// ensure makes an entry available. It returns io.EOF after the chunk's last.
func (l *leafReader) ensure() error {
	for l.pos == l.entries {
		if l.left <= 0 {
			return io.EOF
		}
		if err := l.nextPage(); err != nil {
			return err
		}
	}
	return nil
}

// nextPage reads pages until one with data. A dictionary on the way is kept.
func (l *leafReader) nextPage() error {
	for {
		h, err := l.header()
		if err != nil {
			return err
		}
		size := int(h.CompressedPageSize)
		if size < 0 || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPageBytes {
			return damaged("a page of %d bytes", h.UncompressedPageSize)
		}
		page, err := l.window.take(size)
		if err != nil {
			return err
		}
		switch h.Type {
		case format.DictionaryPage:
			if err := l.readDictionary(&h, page); err != nil {
				return err
			}
		case format.DataPage:
			return l.readPage(&h, page)
		case format.DataPageV2:
			return l.readPageV2(&h, page)
		}
	}
}

// header reads a page header.
func (l *leafReader) header() (format.PageHeader, error) {
	for want := 0; ; {
		b, err := l.window.peek(want)
		if err != nil {
			return format.PageHeader{}, err
		}
		var h format.PageHeader
		r := l.thrift.NewReaderFromBytes(b)
		err = thrift.NewDecoder(r).Decode(&h)
		if err == nil {
			l.window.skip(r.BytesRead())
			return h, nil
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) || int64(len(b)) >= l.window.left() {
			return h, damaged("page header: %v", err)
		}
		want = 2 * len(b)
	}
}

// unpack decompresses a page.
func (l *leafReader) unpack(page []byte, size int) ([]byte, error) {
	out, err := decompress(l.codec, *l.raw, page, size)
	if err == nil && l.codec != format.Uncompressed {
		*l.raw = out
	}
	return out, err
}

func (l *leafReader) readDictionary(h *format.PageHeader, page []byte) error {
	if l.hasDict || !h.DictionaryPageHeader.Valid {
		return damaged("a second dictionary")
	}
	n := int(h.DictionaryPageHeader.V.NumValues)
	if n < 0 || n > maxPageValues {
		return damaged("a dictionary of %d values", n)
	}
	page, err := decompress(l.codec, nil, page, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if l.codec == format.Uncompressed { // page is in the window
		page = append([]byte(nil), page...)
	}
	e := l.node.element
	if err := l.dict.decode(format.Plain, e.Type.V, int(e.TypeLength.V), n, page); err != nil {
		return err
	}
	l.hasDict = true
	return nil
}

// begin takes over a page's header.
func (l *leafReader) begin(entries int32) error {
	if entries < 0 || entries > maxPageValues || int64(entries) > l.left {
		return damaged("a page of %d values where %d are left", entries, l.left)
	}
	l.entries, l.pos, l.value = int(entries), 0, 0
	l.left -= int64(entries)
	l.def, l.rep = nil, nil
	return nil
}

func (l *leafReader) readPage(h *format.PageHeader, page []byte) error {
	if !h.DataPageHeader.Valid {
		return damaged("a data page without its header")
	}
	d := &h.DataPageHeader.V
	if err := l.begin(d.NumValues); err != nil {
		return err
	}
	page, err := l.unpack(page, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if l.node.rep > 0 {
		if l.rep, page, err = l.levelsV1(&l.repBuf, d.RepetitionLevelEncoding, l.node.rep, page, true); err != nil {
			return err
		}
	}
	if l.node.def > 0 {
		if l.def, page, err = l.levelsV1(&l.defBuf, d.DefinitionLevelEncoding, l.node.def, page, false); err != nil {
			return err
		}
	}
	return l.decode(d.Encoding, page)
}

// levelsV1 reads levels after their length. exact asks for a slice even if all are the highest.
func (l *leafReader) levelsV1(buf *[]uint8, encoding format.Encoding, highest uint8, page []byte, exact bool) (levels, rest []byte, err error) {
	if encoding != format.RLE {
		return nil, nil, damaged("levels in encoding %s", encoding)
	}
	if len(page) < 4 {
		return nil, nil, damaged("levels are cut short")
	}
	n := int(binary.LittleEndian.Uint32(page))
	if page = page[4:]; n > len(page) {
		return nil, nil, damaged("levels are cut short")
	}
	levels, err = l.decodeLevels(buf, page[:n], highest, exact)
	return levels, page[n:], err
}

func (l *leafReader) decodeLevels(buf *[]uint8, src []byte, highest uint8, exact bool) ([]uint8, error) {
	h := hybrid{src: src, width: bitWidth(uint64(highest))}
	levels, err := h.levels(*buf, &l.levels, l.entries, highest)
	if err != nil {
		return nil, err
	}
	if levels == nil && exact {
		levels = (*buf)[:0]
		for range l.entries {
			levels = append(levels, highest)
		}
	}
	if levels != nil {
		*buf = levels
	}
	return levels, nil
}

func (l *leafReader) readPageV2(h *format.PageHeader, page []byte) error {
	if !h.DataPageHeaderV2.Valid {
		return damaged("a data page without its header")
	}
	d := &h.DataPageHeaderV2.V
	if err := l.begin(d.NumValues); err != nil {
		return err
	}
	rep, def := int(d.RepetitionLevelsByteLength), int(d.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep > len(page) || def > len(page)-rep || rep+def > int(h.UncompressedPageSize) {
		return damaged("levels are cut short")
	}
	var err error
	if l.node.rep > 0 {
		if l.rep, err = l.decodeLevels(&l.repBuf, page[:rep], l.node.rep, true); err != nil {
			return err
		}
	}
	if l.node.def > 0 {
		if l.def, err = l.decodeLevels(&l.defBuf, page[rep:rep+def], l.node.def, false); err != nil {
			return err
		}
	}
	page = page[rep+def:]
	if !d.IsCompressed.Valid || d.IsCompressed.V {
		if page, err = l.unpack(page, int(h.UncompressedPageSize)-rep-def); err != nil {
			return err
		}
	}
	return l.decode(d.Encoding, page)
}

// decode decodes the values of the page and turns them into cells.
func (l *leafReader) decode(encoding format.Encoding, src []byte) error {
	n := l.entries
	if l.def != nil {
		n = 0
		for _, d := range l.def {
			if d == l.node.def {
				n++
			}
		}
	}
	e := l.node.element
	switch encoding {
	case format.PlainDictionary, format.RLEDictionary: //nolint:staticcheck // older writers still use the former
		if !l.hasDict {
			return damaged("dictionary indexes without a dictionary")
		}
		if err := l.values.lookUp(&l.dict, l.words(), n, src); err != nil {
			return err
		}
	default:
		if err := l.values.decode(encoding, e.Type.V, int(e.TypeLength.V), n, src); err != nil {
			return err
		}
	}
	return l.convert(&l.values)
}
