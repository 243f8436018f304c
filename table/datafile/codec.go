package datafile

import (
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/gzip"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/format"
)

// compressor compresses pages. It has one owner.
type compressor struct {
	codec format.CompressionCodec
	zstd  *zstd.Encoder // of codec Zstd
	other compress.Codec
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

// newCompressor returns a compressor. The level, 1 to 22, is for zstd alone.
func newCompressor(codec format.CompressionCodec, level int) (*compressor, error) {
	c := &compressor{codec: codec}
	switch codec {
	case format.Zstd:
		var err error
		c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithLowerEncoderMem(true))
		return c, err
	case format.Snappy:
		c.other = &snappy.Codec{}
	case format.Gzip:
		c.other = &gzip.Codec{Level: gzip.DefaultCompression}
	case format.Lz4Raw:
		c.other = &lz4.Codec{Level: lz4.Fastest}
	}
	return c, nil
}

// compress returns the compressed form of a page; it is valid until the next call.
func (c *compressor) compress(raw []byte) ([]byte, error) {
	switch {
	case c.zstd != nil:
		c.buf = c.zstd.EncodeAll(raw, c.buf[:0])
		return c.buf, nil
	case c.other != nil:
		b, err := c.other.Encode(c.buf, raw)
		if err != nil {
			return nil, fmt.Errorf("compress a page with %s: %w", c.other, err)
		}
		c.buf = b
		return b, nil
	}
	return raw, nil
}
