package datafile

import (
	"sync"
	"time"

	"sink/table"
	"sink/table/object"
)

// Kind tells data files from changelog files.
type Kind uint8

// The two kinds of file.
const (
	Data Kind = iota
	Changelog
)

// Config says how the files of one table, schema and kind are written.
type Config struct {
	Schema *table.Schema
	Store  object.Store
	Path   table.Path // the table's root in Store
	Kind   Kind

	Compression    string // zstd, snappy, gzip, lz4 or none
	ZstdLevel      int    // 1..22
	TargetFileSize int64  // bytes; a writer begins a new file once one has grown to this
	Thin           bool   // data-file.thin-mode: leave out the _KEY_ columns

	Now func() time.Time // the clock for File.CreatedMillis
}

// NewConfig returns the configuration that the table options of the schema ask for.
func NewConfig(schema *table.Schema, store object.Store, path table.Path, kind Kind) (Config, error) {
	return Config{Schema: schema, Store: store, Path: path, Kind: kind, Compression: "zstd", ZstdLevel: 1, TargetFileSize: 128 << 20, Now: time.Now}, nil
}

// Format is a compiled Config: the Parquet schema, and a pool of the buffers that its writers work in. It is safe for
// concurrent use, and meant to be shared by all writers of a table.
type Format struct {
	cfg  Config
	pool sync.Pool
}

// NewFormat compiles a Config. It returns an error for a type, codec or option that cannot be written, naming it.
func NewFormat(cfg Config) (*Format, error) {
	return &Format{cfg: cfg}, nil
}

// NewWriter returns a writer of new files for one bucket. It costs nothing until the first Append.
func (f *Format) NewWriter(bucket table.Bucket, totalBuckets, level int32, source table.FileSource, namer *table.Namer) *Writer {
	return &Writer{format: f, bucket: bucket, totalBuckets: totalBuckets, level: level, source: source, namer: namer}
}
