package datafile

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go/format"

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

	Compression    string            // zstd, snappy, gzip, lz4 or none
	ZstdLevel      int               // 1..22
	TargetFileSize int64             // bytes; a writer begins a new file once one has grown to this
	Thin           bool              // data-file.thin-mode: leave out the _KEY_ columns
	Stats          []table.StatsMode // one a column of the schema; nil: none is kept
	DenseStats     bool              // leave out the columns that have none, as metadata.stats-dense-store

	Now func() time.Time // the clock for File.CreatedMillis; nil: time.Now
}

// NewConfig returns what the schema's table options ask for. It returns all that is wrong with them at once.
func NewConfig(schema *table.Schema, store object.Store, path table.Path, kind Kind) (Config, error) {
	c := Config{Schema: schema, Store: store, Path: path, Kind: kind}
	compression, stats := "file.compression", "metadata.stats-mode"
	if kind == Changelog {
		compression, stats = "changelog-file.compression", "changelog-file.stats-mode"
	}
	c.Compression = schema.Option(compression)
	level, levelErr := schema.OptionInt("file.compression.zstd-level")
	c.ZstdLevel = int(level)
	target, targetErr := schema.OptionSize("target-file-size")
	c.TargetFileSize = target
	var thinErr, denseErr error
	c.Thin, thinErr = schema.OptionBool("data-file.thin-mode")
	c.DenseStats, denseErr = schema.OptionBool("metadata.stats-dense-store")
	problems := []error{levelErr, targetErr, thinErr, denseErr}
	for _, f := range schema.Fields {
		mode, err := schema.StatsModeOf(f.Name, stats)
		c.Stats = append(c.Stats, mode)
		problems = append(problems, err)
	}
	return c, errors.Join(problems...)
}

// Alike reports whether files of both configurations hold the same bytes for the same rows and have the same statistics:
// then one may be a copy of the other.
func (c Config) Alike(o Config) bool {
	if c.Schema != o.Schema || c.Compression != o.Compression || c.ZstdLevel != o.ZstdLevel ||
		c.TargetFileSize != o.TargetFileSize || c.Thin != o.Thin || c.DenseStats != o.DenseStats || len(c.Stats) != len(o.Stats) {
		return false
	}
	for i := range c.Stats {
		if c.Stats[i] != o.Stats[i] {
			return false
		}
	}
	return true
}

// Format is a compiled Config: the Parquet schema, and a pool of the buffers that its writers work in. It is safe for
// concurrent use, and meant to be shared by all writers of a table.
type Format struct {
	cfg     Config
	layout  *layout
	limits  limits
	codec   format.CompressionCodec
	keys    *table.RowEncoder // of the trimmed primary key
	keyCols []int
	pool    sync.Pool // of *encoder
}

// NewFormat compiles a Config. It returns an error for a type, codec or option that cannot be written, naming it.
func NewFormat(cfg Config) (*Format, error) {
	codec, err := codecOf(cfg.Compression)
	if err != nil {
		return nil, err
	}
	if cfg.TargetFileSize <= 0 {
		return nil, fmt.Errorf("target-file-size of %d bytes is too small", cfg.TargetFileSize)
	}
	if codec == format.Zstd && (cfg.ZstdLevel < 1 || cfg.ZstdLevel > 22) {
		return nil, fmt.Errorf("file.compression.zstd-level is %d, but has to be 1 to 22", cfg.ZstdLevel)
	}
	if cfg.Stats != nil && len(cfg.Stats) != len(cfg.Schema.Fields) {
		return nil, fmt.Errorf("%d statistics modes for %d columns", len(cfg.Stats), len(cfg.Schema.Fields))
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l, err := newLayout(cfg.Schema, cfg.Thin)
	if err != nil {
		return nil, err
	}
	keyCols := cfg.Schema.Indexes(cfg.Schema.TrimmedPrimaryKeys())
	return &Format{
		cfg: cfg, layout: l, limits: defaultLimits, codec: codec, keyCols: keyCols,
		keys: table.NewRowEncoder(cfg.Schema.TypesOf(keyCols), keyCols),
	}, nil
}

// Config returns what the format was made of.
func (f *Format) Config() Config { return f.cfg }

// encoder takes an encoder from the pool.
func (f *Format) encoder() (*encoder, error) {
	if e, ok := f.pool.Get().(*encoder); ok {
		return e, nil
	}
	comp, err := newCompressor(f.codec, f.cfg.ZstdLevel)
	if err != nil {
		return nil, err
	}
	return newEncoder(f.layout, f.limits, comp), nil
}

// NewWriter returns a writer of new files for one bucket. It costs nothing until the first Append.
func (f *Format) NewWriter(bucket table.Bucket, totalBuckets, level int32, source table.FileSource, namer *table.Namer) *Writer {
	return &Writer{format: f, bucket: bucket, totalBuckets: totalBuckets, level: level, source: source, namer: namer}
}

// name returns a new file name of the format's kind.
func (f *Format) name(namer *table.Namer) string {
	if f.cfg.Kind == Changelog {
		return namer.ChangelogFileName()
	}
	return namer.DataFileName()
}

// objectName returns where a file lies in the store.
func (f *Format) objectName(bucket table.Bucket, name string) (string, error) {
	partition, err := table.PartitionPath(f.cfg.Schema, bucket.Partition)
	if err != nil {
		return "", err
	}
	return f.cfg.Path.DataFile(partition, bucket.Number, name), nil
}
