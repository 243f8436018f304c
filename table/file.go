package table

// Bucket says where a row lives: a partition and a bucket number in it.
type Bucket struct {
	Partition string // the partition columns as a serialised BinaryRow, arity first; never empty
	Number    int32
}

// FileSource tells what wrote a data file (_FILE_SOURCE, org.apache.paimon.manifest.FileSource).
type FileSource int8

// The sources, in Paimon's numbering. SourceUnknown stands for a null.
const (
	SourceUnknown FileSource = iota - 1
	SourceAppend
	SourceCompact
)

// Stats are the bounds and null counts of some columns of a file (org.apache.paimon.stats.SimpleStats).
type Stats struct {
	Min, Max []byte  // serialised BinaryRows, arity first, one column each
	Nulls    []int64 // one a column; -1 where unknown
}

// File is one data or changelog file as a manifest entry tells of it (org.apache.paimon.io.DataFileMeta). Its
// slices belong to it and are never changed once set.
type File struct {
	Bucket       Bucket
	TotalBuckets int32 // the bucket count in force for the partition when the file was written

	Name          string // bare file name
	SizeBytes     int64
	Rows          int64
	DeleteRows    int64  // rows of kind -U and -D; -1 where unknown
	MinKey        []byte // serialised BinaryRow of the first key, arity first
	MaxKey        []byte
	KeyStats      Stats
	ValueStats    Stats
	ValueStatCols []string // columns that ValueStats covers; nil: all of the schema's; empty: none
	MinSeq        int64
	MaxSeq        int64
	SchemaID      int64
	Level         int32
	ExtraFiles    []string
	CreatedMillis int64 // wall clock, milliseconds since the epoch, UTC
	EmbeddedIndex []byte
	Source        FileSource
	ExternalPath  string // empty: none
	FirstRowID    *int64
	WriteCols     []string
}

// Delta is what one snapshot makes visible at once. With Removed files it is a COMPACT snapshot, else an APPEND.
type Delta struct {
	Added     []File
	Removed   []File
	Changelog []File // in the order a streaming reader shall see them

	From     Offsets  // for each partition in Progress.Offsets: where this delta started; absent: the map had none
	Progress Progress // what the table holds once this delta is committed: changed partitions only
}

// Empty reports whether the delta holds no file.
func (d *Delta) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Changelog) == 0 }
