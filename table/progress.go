package table

// TopicPartition names a partition of a Kafka topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Cursor is a place in a partition: the next offset to read, and what tells whether it still means the same log.
type Cursor struct {
	Offset  int64  // next offset to read
	Epoch   int32  // leader epoch of the record before Offset (KIP-320); -1 where unknown
	TopicID string // topic id (KIP-516), hex; empty where unknown
}

// Offsets is the next offset by partition.
type Offsets map[TopicPartition]Cursor

// Progress is what a snapshot of ours says of its source in the snapshot's properties: it becomes true together with
// the files. Every snapshot of ours carries the whole of it.
type Progress struct {
	Offsets Offsets
	// MaxSequence is the highest sequence number given to a row up to this snapshot; -1 before the first.
	MaxSequence int64
	// Learned keeps what was found out of the source and has to survive a restart (I7), by key: trust in before
	// images by source table ("identity/db.schema.table"), source positions for deduplication, and so on.
	Learned map[string]string
}
