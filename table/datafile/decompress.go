package datafile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Limits against a damaged header that announces a huge page.
const (
	maxPageBytes = 1 << 30
	trustedBytes = 64 << 20 // more than this only if the compressed page is in proportion
	maxRatio     = 256      // of LZ4 and snappy, by construction
	maxZstdRatio = 4096
)

// zstdDecoder decodes pages for all readers: DecodeAll may be called concurrently.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
})

// decompress returns a page of size bytes; dst is room for it that may be used.
func decompress(codec format.CompressionCodec, dst, src []byte, size int) ([]byte, error) {
	out, err := decompressAny(codec, dst, src, size)
	if err != nil {
		return nil, err
	}
	if len(out) != size {
		return nil, damaged("a page of %d bytes is announced as %d", len(out), size)
	}
	return out, nil
}

func decompressAny(codec format.CompressionCodec, dst, src []byte, size int) ([]byte, error) {
	switch codec {
	case format.Uncompressed:
		return src, nil
	case format.Zstd:
		if size > trustedBytes && size/maxZstdRatio > len(src) {
			return nil, damaged("a %s page of %d bytes", codec, size)
		}
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		dst = room(dst, size)
		out, err := d.DecodeAll(src, dst[:0:size])
		return out, damagedPage(codec, err)
	case format.Snappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != size || size/maxRatio > len(src) {
			return nil, damaged("a %s page of %d bytes", codec, size)
		}
		out, err := snappy.Decode(room(dst, size), src)
		return out, damagedPage(codec, err)
	case format.Gzip:
		return gunzip(dst, src, size)
	case format.Lz4Raw:
		if size/maxRatio > len(src) {
			return nil, damaged("a %s page of %d bytes", codec, size)
		}
		dst = room(dst, size)
		n, err := lz4.UncompressBlock(src, dst)
		return dst[:max(n, 0)], damagedPage(codec, err)
	case format.Lz4:
		return unframeLZ4(dst, src, size)
	}
	return nil, fmt.Errorf("compression %s is not read", codec)
}

func damagedPage(codec format.CompressionCodec, err error) error {
	if err != nil {
		return damaged("a %s page: %v", codec, err)
	}
	return nil
}

// room returns n bytes, in b where it has them.
func room(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

func gunzip(dst, src []byte, size int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, damagedPage(format.Gzip, err)
	}
	out := bytes.NewBuffer(dst[:0])
	_, err = io.Copy(out, io.LimitReader(z, int64(size)+1))
	return out.Bytes(), damagedPage(format.Gzip, err)
}

// unframeLZ4 decodes the older codec LZ4, which Paimon's Java writers use: Hadoop's frames, each the number of bytes
// that come out and then blocks after their lengths, all big-endian.
func unframeLZ4(dst, src []byte, size int) ([]byte, error) {
	if size/maxRatio > len(src) {
		return nil, damaged("an LZ4 page of %d bytes", size)
	}
	dst = room(dst, size)
	at := 0
	for len(src) >= 8 {
		frame := int(binary.BigEndian.Uint32(src))
		if src = src[4:]; frame > size-at {
			return nil, damaged("an LZ4 frame of %d bytes", frame)
		}
		for end := at + frame; at < end; {
			if len(src) < 4 {
				return nil, damaged("an LZ4 frame is cut short")
			}
			n := int(binary.BigEndian.Uint32(src))
			if src = src[4:]; n > len(src) {
				return nil, damaged("an LZ4 block of %d bytes", n)
			}
			out, err := lz4.UncompressBlock(src[:n], dst[at:end])
			if err != nil || out == 0 {
				return nil, damaged("an LZ4 block: %v", err)
			}
			at, src = at+out, src[n:]
		}
	}
	if len(src) > 0 {
		return nil, damaged("%d bytes after the last LZ4 frame", len(src))
	}
	return dst[:at], nil
}
