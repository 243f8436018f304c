package datafile

import (
	"fmt"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress/gzip"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// compressor compresses pages. It has one owner.
type compressor struct {
	codec format.CompressionCodec
	zstd  *zstd.Encoder
	gzip  gzip.Codec
	lz4   lz4.Compressor
	buf   []byte
}

// codecOf reads a value of file.compression. The names are Paimon's, in any case.
func codecOf(name string) (format.CompressionCodec, error) {
	switch strings.ToLower(name) {
	case "zstd", "zstandard":
		return format.Zstd, nil
	case "snappy":
		return format.Snappy, nil
	case "gzip":
		return format.Gzip, nil
	case "lz4", "lz4_raw":
		return format.Lz4Raw, nil
	case "none", "uncompressed", "":
		return format.Uncompressed, nil
	}
	return 0, fmt.Errorf("compression %q is not written: use zstd, snappy, gzip, lz4 or none", name)
}

// zstdWindow is how far back a page may refer to itself. An encoder holds as much beside its page, and hardly a page is larger.
const zstdWindow = 1 << 20

// newCompressor returns a compressor. The level, 1 to 22, is for zstd alone.
func newCompressor(codec format.CompressionCodec, level int) (*compressor, error) {
	c := &compressor{codec: codec}
	c.gzip.Level = gzip.DefaultCompression
	if codec != format.Zstd {
		return c, nil
	}
	var err error
	c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow))
	return c, err
}

// compress returns the compressed form of a page; it is valid until the next call.
func (c *compressor) compress(raw []byte) ([]byte, error) {
	var err error
	switch c.codec {
	case format.Zstd:
		c.buf = c.zstd.EncodeAll(raw, c.buf[:0])
	case format.Snappy:
		c.buf = s2.EncodeSnappy(room(c.buf, s2.MaxEncodedLen(len(raw))), raw)
	case format.Gzip:
		c.buf, err = c.gzip.Encode(c.buf, raw)
	case format.Lz4Raw:
		c.buf = room(c.buf, lz4.CompressBlockBound(len(raw)))
		var n int
		n, err = c.lz4.CompressBlock(raw, c.buf)
		c.buf = c.buf[:n]
	default:
		return raw, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compress a page with %s: %w", c.codec, err)
	}
	return c.buf, nil
}
