package manifest

import (
	"bytes"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"sink/table"
	"sink/table/object"
)

// Writer writes the manifests and manifest lists of one commit. It has one owner.
type Writer struct {
	store      object.Store
	path       table.Path
	names      *table.ManifestNamer
	columns    *partitionColumns
	codec      codec
	targetSize int64

	together bool // nothing is written until Flush
	waiting  []pending
}

// NewWriter returns a Writer that follows the schema's options manifest.compression, file.compression.zstd-level and
// manifest.target-file-size, and fails when one of them has a value that cannot be.
func NewWriter(store object.Store, path table.Path, schema *table.Schema, names *table.ManifestNamer) (*Writer, error) {
	level, err := schema.OptionInt("file.compression.zstd-level")
	if err != nil {
		return nil, err
	}
	c, err := writeCodec(schema.Option("manifest.compression"), int(level))
	if err != nil {
		return nil, err
	}
	target, err := schema.OptionSize("manifest.target-file-size")
	if err != nil {
		return nil, err
	}
	return &Writer{
		store: store, path: path, names: names, columns: newPartitionColumns(schema), codec: c, targetSize: target,
	}, nil
}

// Together has all that follows wait for [Writer.Flush], which takes one round trip to the store for all.
func (w *Writer) Together() { w.together = true }

// Flush writes what waits, side by side, and returns when all is written or has failed. It is given up with the first error.
func (w *Writer) Flush(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxPuts)
	for _, f := range w.waiting {
		g.Go(func() error {
			if err := w.store.Put(ctx, w.path.Manifest(f.name), f.content); err != nil {
				return fmt.Errorf("write %s: %w", f.name, err)
			}
			return nil
		})
	}
	w.waiting = nil
	return g.Wait()
}

// maxPuts is how many files are written at the same time.
const maxPuts = 16

func (w *Writer) put(ctx context.Context, name string, b []byte) error {
	if w.together {
		w.waiting = append(w.waiting, pending{name, b})
		return nil
	}
	return w.store.Put(ctx, w.path.Manifest(name), b)
}

// pending is a file that waits to be written.
type pending struct {
	name    string // bare
	content []byte
}

// Manifests writes entries into new manifests, as many as manifest.target-file-size asks for, none for no entries. What
// it returns goes into a list in this order. When it fails, the names it has written so far are returned with the
// error.
func (w *Writer) Manifests(ctx context.Context, entries []Entry) ([]ListEntry, error) {
	r := w.roll(ctx)
	for i := range entries {
		if err := r.add(&entries[i]); err != nil {
			return r.done, err
		}
	}
	return r.close()
}

// List writes a new manifest list, which may be empty, and returns its bare name and its size in bytes.
func (w *Writer) List(ctx context.Context, list []ListEntry) (name string, sizeBytes int64, err error) {
	b := encodeList(list, w.codec)
	name = w.names.List()
	if err := w.put(ctx, name, b); err != nil {
		return name, 0, fmt.Errorf("write manifest list %s: %w", name, err)
	}
	return name, int64(len(b)), nil
}

// roller writes entries into manifests and begins a new one at the target size.
type roller struct {
	ctx  context.Context
	w    *Writer
	file *containerWriter // nil: no manifest is open
	sum  summary
	done []ListEntry
}

func (w *Writer) roll(ctx context.Context) *roller { return &roller{ctx: ctx, w: w} }

func (r *roller) add(e *Entry) error {
	if r.file == nil {
		r.file = newContainerWriter(entrySchema, r.w.codec)
		r.sum = summary{columns: r.w.columns}
	}
	if err := r.sum.add(e); err != nil {
		return err
	}
	r.file.block = appendEntry(r.file.block, e)
	r.file.record()
	if r.file.size() >= r.w.targetSize {
		return r.flush()
	}
	return nil
}

// flush writes the open manifest.
func (r *roller) flush() error {
	if r.file == nil {
		return nil
	}
	b := r.file.bytes()
	r.file = nil
	m := r.sum.listEntry()
	m.Name, m.SizeBytes = r.w.names.Manifest(), int64(len(b))
	r.done = append(r.done, m)
	if err := r.w.put(r.ctx, m.Name, b); err != nil {
		return fmt.Errorf("write manifest %s: %w", m.Name, err)
	}
	return nil
}

// close writes what is open and returns all manifests.
func (r *roller) close() ([]ListEntry, error) {
	err := r.flush()
	return r.done, err
}

// summary gathers what a manifest list tells of a manifest.
type summary struct {
	columns    *partitionColumns
	entry      ListEntry
	partitions map[string]bound
	lo, hi     bound
	extremes   [][2]*table.Batch // by column: the rows that hold the lowest and the highest value
	nulls      []int64
}

func (s *summary) add(e *Entry) error {
	f := &e.File
	if e.Kind == Add {
		s.entry.Added++
	} else {
		s.entry.Deleted++
	}
	s.entry.SchemaID = max(s.entry.SchemaID, f.SchemaID)
	s.entry.Buckets.add(f.Bucket.Number)
	s.entry.Levels.add(f.Level)
	b, ok := s.partitions[f.Bucket.Partition]
	if !ok {
		var err error
		if b, err = s.addPartition(f.Bucket.Partition); err != nil {
			return fmt.Errorf("file %s: %w", f.Name, err)
		}
	}
	for i, v := range b {
		if v == nil {
			s.nulls[i]++
		}
	}
	return nil
}

// addPartition widens the bounds by a partition that was not seen yet.
func (s *summary) addPartition(partition string) (bound, error) {
	if s.partitions == nil {
		n := len(s.columns.types)
		s.partitions = make(map[string]bound)
		s.lo, s.hi = make(bound, n), make(bound, n)
		s.extremes, s.nulls = make([][2]*table.Batch, n), make([]int64, n)
	}
	row, err := table.DecodeRow([]byte(partition), s.columns.types)
	if err != nil {
		return nil, fmt.Errorf("partition %x: %w", partition, err)
	}
	b := s.columns.boundOf(row)
	for i, v := range b {
		if v == nil {
			continue
		}
		if s.lo[i] == nil || bytes.Compare(v, s.lo[i]) < 0 {
			s.lo[i], s.extremes[i][0] = v, row
		}
		if s.hi[i] == nil || bytes.Compare(v, s.hi[i]) > 0 {
			s.hi[i], s.extremes[i][1] = v, row
		}
	}
	s.partitions[partition] = b
	return b, nil
}

// listEntry returns the summary, without name and size.
func (s *summary) listEntry() ListEntry {
	e := s.entry
	e.Partitions = table.Stats{Min: s.bound(0), Max: s.bound(1), Nulls: s.nulls}
	return e
}

// bound encodes the lowest (0) or the highest (1) values; columns with none but nulls are null.
func (s *summary) bound(which int) []byte {
	cells := make([]table.Vector, len(s.columns.types))
	columns := make([]*table.Vector, len(cells))
	for i := range cells {
		cells[i].Layout = s.columns.types[i].Layout()
		columns[i] = &cells[i]
		if row := s.extremes[i][which]; row != nil {
			cells[i].AppendCell(&row.Columns[i], 0)
		} else {
			cells[i].AppendNull()
		}
	}
	return table.EncodeRow(nil, s.columns.types, columns, 0)
}
