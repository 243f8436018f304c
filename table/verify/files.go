package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"sink/table"
	"sink/table/datafile"
)

// readRows is how many rows are read at once.
const readRows = 1024

// keyPrefix begins the names of the columns that repeat the key in files.
const keyPrefix = "_KEY_"

// facts is what a file was found to hold.
type facts struct {
	rows, deletes  int64
	minSeq, maxSeq int64
	minKey, maxKey []byte // serialised rows
	unsorted       string // what is out of order, if anything is
	repeated       string
	wrong          map[string]string // by code: the first row that does not belong
	keys, values   *columns
	hashes         []int32 // of the keys, in tables with dynamic buckets
}

// checkFile checks a file, once for all that is said of it.
func (c *checker) checkFile(ctx context.Context, where string, f *table.File, changelog bool) error {
	object := c.objectName(f)
	what := c.relative(object)
	for _, extra := range append([]string{f.Name}, f.ExtraFiles...) {
		name := path.Dir(object) + "/" + extra
		if f.ExternalPath != "" {
			c.report(Info, "file-external", what, "lies at %s, outside of the table, and is not checked", f.ExternalPath)
			return nil
		}
		if c.size(name) < 0 {
			c.fault("file-missing", where+" "+what, "%s does not exist", extra)
			return nil
		}
	}
	id := c.fileID(f)
	if _, done := c.files[id]; done {
		return nil
	}
	c.files[id] = nil
	if size := c.size(object); size != f.SizeBytes {
		c.fault("file-size", what, "has %d bytes, but %d are recorded", size, f.SizeBytes)
	}
	schema := c.schemas[f.SchemaID]
	if schema == nil {
		c.fault("schema-missing", what, "schema %d does not exist", f.SchemaID)
		return nil
	}
	if path.Ext(f.Name) != ".parquet" {
		c.report(Info, "file-format", what, "is no Parquet file: its rows are not checked")
		return nil
	}
	found, err := c.readFile(ctx, schema, f)
	if c.summary.Files++; c.options.Progress != nil {
		c.options.Progress(c.summary.Files, max(c.known, c.summary.Files))
	}
	switch {
	case err == nil:
		c.summary.Rows += found.rows
		c.files[id] = found
		c.checkFacts(what, schema, f, found, changelog)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		c.fault("file-missing", where+" "+what, "it went while the table was checked")
	default:
		c.fault("file-unreadable", what, "%v", err)
	}
	return nil
}

// fileID is all that an entry says of a file, but for its level: a file stays as it is.
func (c *checker) fileID(f *table.File) string {
	g := *f
	g.Level = 0
	return fmt.Sprintf("%+v", g)
}

// plainSchema returns a schema that shows a file as it is: all columns nullable, the partition columns read from the file as
// well, and behind them the columns that repeat the key.
func plainSchema(s *table.Schema) *table.Schema {
	plain := s.Clone()
	for i := range plain.Fields {
		plain.Fields[i].Type = plain.Fields[i].Type.Nullable()
	}
	for _, i := range s.Indexes(s.TrimmedPrimaryKeys()) {
		plain.HighestFieldID++
		plain.Fields = append(plain.Fields, table.Field{ID: plain.HighestFieldID + 1<<20, Name: keyPrefix + s.Fields[i].Name, Type: s.Fields[i].Type.Nullable()})
	}
	return plain
}

// fileReader reads a file row by row and gathers its facts.
type fileReader struct {
	schema  *table.Schema
	file    *table.File
	facts   *facts
	keys    []int // key columns
	order   *table.KeyEncoder
	image   *table.RowEncoder
	router  *table.Router // nil: the table's buckets cannot be told from rows
	dynamic bool

	last, now []byte
	row       []byte
	lastSeq   int64
}

func (c *checker) readFile(ctx context.Context, schema *table.Schema, f *table.File) (found *facts, err error) {
	want := plainSchema(schema)
	have := *want
	have.PartitionKeys = nil // so that they are read from the file
	all := make([]int, len(want.Fields))
	for i := range all {
		all[i] = i
	}
	r, err := datafile.Open(ctx, c.store, c.path, f, &have, want, all)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	w := newFileReader(schema, f)
	b := table.NewBatch(want.Fields)
	var seqs []int64
	for {
		b.Reset()
		seqs = seqs[:0]
		if _, err := r.Next(b, &seqs, readRows); err != nil {
			if err == io.EOF {
				return w.facts, nil
			}
			return nil, err
		}
		w.add(b, seqs)
	}
}

func newFileReader(s *table.Schema, f *table.File) *fileReader {
	keys := s.Indexes(s.TrimmedPrimaryKeys())
	types := s.TypesOf(keys)
	all := make([]int, len(s.Fields))
	for i := range all {
		all[i] = i
	}
	r := &fileReader{
		schema: s, file: f, keys: keys, order: table.NewKeyEncoder(types, keys), image: table.NewRowEncoder(types, keys),
		facts: &facts{wrong: map[string]string{}, keys: newColumns(types), values: newColumns(s.TypesOf(all))},
	}
	r.dynamic = s.Option("bucket") == "-1" && !s.Append()
	if f.TotalBuckets > 0 || s.Append() {
		routed := s.Clone()
		routed.Options["bucket"] = strconv.Itoa(int(f.TotalBuckets))
		if router, err := table.NewRouter(routed); err == nil {
			r.router = router
		}
	}
	return r
}

// add takes the rows of a batch.
func (r *fileReader) add(b *table.Batch, seqs []int64) {
	n := len(r.schema.Fields)
	values := &table.Batch{Columns: b.Columns[:n], Kinds: b.Kinds}
	r.checkKeyColumns(b, n)
	r.facts.values.add(values)
	key := &table.Batch{Columns: make([]table.Vector, len(r.keys)), Kinds: b.Kinds}
	for i, c := range r.keys {
		key.Columns[i] = b.Columns[c]
	}
	r.facts.keys.add(key)
	r.checkNulls(values)
	for i := range seqs {
		r.addRow(values, i, seqs[i])
	}
}

func (r *fileReader) addRow(b *table.Batch, i int, seq int64) {
	f := r.facts
	if f.rows == 0 {
		f.minSeq, f.maxSeq = seq, seq
	}
	f.minSeq, f.maxSeq = min(f.minSeq, seq), max(f.maxSeq, seq)
	if b.Kinds[i].Retracts() {
		f.deletes++
	}
	r.row = r.image.Append(r.row[:0], b, i)
	if !r.schema.Append() {
		r.checkOrder(b, i, seq)
	}
	if f.rows == 0 {
		f.minKey = bytes.Clone(r.row)
	}
	f.maxKey = append(f.maxKey[:0], r.row...)
	if r.dynamic {
		f.hashes = append(f.hashes, table.Hash(r.row[4:]))
	}
	r.checkPlace(b, i)
	f.rows++
}

// checkOrder: keys ascend, and the rows of a key by age.
func (r *fileReader) checkOrder(b *table.Batch, i int, seq int64) {
	f := r.facts
	r.now = r.order.Append(r.now[:0], b, i)
	switch c := bytes.Compare(r.now, r.last); {
	case f.rows == 0:
	case c < 0 && f.unsorted == "":
		f.unsorted = fmt.Sprintf("row %d has a lower key than the one before", f.rows)
	case c == 0 && f.repeated == "":
		f.repeated = fmt.Sprintf("row %d has the same key as the one before", f.rows)
	}
	if c := bytes.Compare(r.now, r.last); c == 0 && f.rows > 0 && seq < r.lastSeq && f.unsorted == "" {
		f.unsorted = fmt.Sprintf("row %d has the key of the one before and a lower sequence number", f.rows)
	}
	r.last, r.now = r.now, r.last
	r.lastSeq = seq
}

func (r *fileReader) wrong(code, format string, args ...any) {
	if _, ok := r.facts.wrong[code]; !ok {
		r.facts.wrong[code] = fmt.Sprintf(format, args...)
	}
}

// checkPlace: a row is in the partition and the bucket where its columns put it.
func (r *fileReader) checkPlace(b *table.Batch, i int) {
	if r.router == nil {
		return
	}
	place, err := r.router.Route(b, i)
	switch {
	case err != nil:
		r.wrong("not-null", "row %d: %v", r.facts.rows, err)
	case place.Partition != r.file.Bucket.Partition:
		r.wrong("partition", "row %d belongs to another partition", r.facts.rows)
	case place.Number != r.file.Bucket.Number:
		r.wrong("bucket", "row %d belongs to bucket %d", r.facts.rows, place.Number)
	}
}

// checkNulls: no null where the schema has none.
func (r *fileReader) checkNulls(b *table.Batch) {
	for i, f := range r.schema.Fields {
		if !f.Type.NotNull || b.Columns[i].Nulls == nil || slices.Contains(r.schema.PartitionKeys, f.Name) {
			continue
		}
		if row := slices.Index(b.Columns[i].Nulls, true); row >= 0 {
			r.wrong("not-null", "row %d has a null in %s", r.facts.rows+int64(row), f.Name)
		}
	}
}

// checkKeyColumns: the columns that repeat the key, where a file has them, equal the key. Partition columns that a file does
// not have come from its entry.
func (r *fileReader) checkKeyColumns(b *table.Batch, n int) {
	for k, c := range r.keys {
		twin, column := &b.Columns[n+k], &b.Columns[c]
		if allNull(twin) {
			continue // thin mode
		}
		for i := range column.Len() {
			same := twin.IsNull(i) == column.IsNull(i)
			if same && column.Layout == table.Words {
				same = twin.Words[i] == column.Words[i]
			} else if same {
				same = bytes.Equal(twin.Bytes(i), column.Bytes(i))
			}
			if !same {
				r.wrong("key-columns", "row %d has another %s in %s", r.facts.rows+int64(i), r.schema.Fields[c].Name, keyPrefix+r.schema.Fields[c].Name)
			}
		}
	}
	for _, c := range r.schema.Indexes(r.schema.PartitionKeys) {
		if !allNull(&b.Columns[c]) {
			continue
		}
		row, err := table.DecodeRow([]byte(r.file.Bucket.Partition), r.schema.TypesOf(r.schema.Indexes(r.schema.PartitionKeys)))
		if err != nil {
			continue
		}
		from := &row.Columns[slices.Index(r.schema.PartitionKeys, r.schema.Fields[c].Name)]
		rows := b.Columns[c].Len()
		b.Columns[c].Truncate(0)
		for range rows {
			b.Columns[c].AppendCell(from, 0)
		}
	}
}

func allNull(v *table.Vector) bool { return v.Nulls != nil && !slices.Contains(v.Nulls, false) }

// checkFacts compares what is said of a file with what it holds.
func (c *checker) checkFacts(what string, schema *table.Schema, f *table.File, found *facts, changelog bool) {
	if found.rows != f.Rows {
		c.fault("row-count", what, "has %d rows, but %d are recorded", found.rows, f.Rows)
	}
	if f.DeleteRows >= 0 && f.DeleteRows != found.deletes {
		c.fault("delete-row-count", what, "has %d retractions, but %d are recorded", found.deletes, f.DeleteRows)
	}
	if found.rows == 0 {
		c.fault("file-empty", what, "has no rows")
		return
	}
	if !bytes.Equal(found.minKey, f.MinKey) {
		c.fault("min-key", what, "begins with another key than is recorded")
	}
	if !bytes.Equal(found.maxKey, f.MaxKey) {
		c.fault("max-key", what, "ends with another key than is recorded")
	}
	// The rows of an append table have no numbers of their own, and pypaimon records the same one for all of them.
	if !schema.Append() && (found.minSeq != f.MinSeq || found.maxSeq != f.MaxSeq) {
		c.fault("sequence-range", what, "has sequences %d to %d, but %d to %d are recorded", found.minSeq, found.maxSeq, f.MinSeq, f.MaxSeq)
	}
	switch {
	case found.unsorted != "" && changelog:
		if schema.Option("sequence.field") == "" {
			c.warn("changelog-order", what, "%s", found.unsorted)
		}
	case found.unsorted != "":
		c.fault("key-order", what, "%s", found.unsorted)
	}
	if found.repeated != "" && !changelog {
		c.fault("key-twice", what, "%s", found.repeated)
	}
	for _, code := range []string{"key-columns", "not-null", "partition", "bucket"} {
		if text, ok := found.wrong[code]; ok {
			c.fault(code, what, "%s", text)
		}
	}
	if total := schema.Option("bucket"); total != strconv.Itoa(int(f.TotalBuckets)) {
		c.warn("total-buckets", what, "its entry says %d buckets, its schema %s", f.TotalBuckets, total)
	}
	names := schema.Names()
	c.checkStats("key-stats", what, f.KeyStats, schema.TrimmedPrimaryKeys(), found.keys, nil)
	var at []int
	if f.ValueStatCols != nil {
		if len(f.ValueStatCols) == 0 {
			return
		}
		at = schema.Indexes(f.ValueStatCols)
	}
	c.checkStats("value-stats", what, f.ValueStats, names, found.values, at)
}
