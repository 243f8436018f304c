package manifest

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// codec packs the blocks of a container file. compress is nil for a codec that is only read.
type codec struct {
	name       string
	compress   func(b []byte) []byte
	decompress func(b []byte) ([]byte, error)
}

// codecByName returns a codec by its Avro name. Readers take all that Paimon's Java bundle takes.
func codecByName(name string) (codec, error) {
	c := codec{name: name}
	switch name {
	case "null":
		c.compress = func(b []byte) []byte { return b }
		c.decompress = func(b []byte) ([]byte, error) { return b, nil }
	case "deflate":
		c.compress, c.decompress = deflate, func(b []byte) ([]byte, error) {
			return readBounded(flate.NewReader(bytes.NewReader(b)))
		}
	case "snappy":
		c.compress, c.decompress = packSnappy, unpackSnappy
	case "zstandard":
		return zstdCodec(1), nil
	case "bzip2":
		c.decompress = func(b []byte) ([]byte, error) { return readBounded(bzip2.NewReader(bytes.NewReader(b))) }
	default:
		return codec{}, fmt.Errorf("codec %q is not supported", name)
	}
	return c, nil
}

// writeCodec returns the codec for the table options manifest.compression and file.compression.zstd-level.
func writeCodec(compression string, zstdLevel int) (codec, error) {
	switch name := strings.ToLower(compression); name {
	case "", "zstd", "zstandard":
		return zstdCodec(zstdLevel), nil
	case "null", "deflate", "snappy":
		return codecByName(name)
	case "none", "uncompressed":
		return codecByName("null")
	}
	return codec{}, fmt.Errorf("manifest.compression %q is not supported: use zstd, snappy, deflate or null", compression)
}

// The zstd coders have no state between calls and are safe for concurrent use, so all tables share them.
var (
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlockBytes))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
	zstdEncoders sync.Map // zstd.EncoderLevel -> *zstd.Encoder
)

func zstdCodec(level int) codec {
	return codec{
		name:       "zstandard",
		compress:   func(b []byte) []byte { return zstdEncoder(zstd.EncoderLevelFromZstd(level)).EncodeAll(b, nil) },
		decompress: func(b []byte) ([]byte, error) { return zstdDecoder().DecodeAll(b, nil) },
	}
}

func zstdEncoder(level zstd.EncoderLevel) *zstd.Encoder {
	if e, ok := zstdEncoders.Load(level); ok {
		return e.(*zstd.Encoder)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(2*blockBytes),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	kept, _ := zstdEncoders.LoadOrStore(level, e)
	return kept.(*zstd.Encoder)
}

func deflate(b []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = w.Write(b) // a buffer never fails
	_ = w.Close()
	return out.Bytes()
}

// Avro's snappy blocks end with a big-endian CRC-32 of the bytes before compression.

func packSnappy(b []byte) []byte {
	return binary.BigEndian.AppendUint32(snappy.Encode(nil, b), crc32.ChecksumIEEE(b))
}

func unpackSnappy(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errors.New("snappy block is too short")
	}
	packed, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	n, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if n > maxBlockBytes {
		return nil, fmt.Errorf("block of %d bytes is larger than %d", n, maxBlockBytes)
	}
	out, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(out) != sum {
		return nil, errors.New("snappy block has a wrong checksum")
	}
	return out, nil
}

// readBounded reads a stream up to maxBlockBytes.
func readBounded(r io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, maxBlockBytes+1))
	if err == nil && len(out) > maxBlockBytes {
		err = fmt.Errorf("block is larger than %d bytes", maxBlockBytes)
	}
	return out, err
}
