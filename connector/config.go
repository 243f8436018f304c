package connector

import (
	"regexp"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/debezium"
	"sink/table"
	"sink/table/object"
)

// Start tells where a partition begins that no snapshot of ours covers.
type Start string

// The starts. Latest is first fixed in an empty snapshot, so that a crash before the first row skips nothing more.
const (
	Earliest Start = "earliest"
	Latest   Start = "latest"
)

// Policy tells what to do in a case that the user decides.
type Policy string

// The policies; which of them a case allows, its field says.
const (
	Fail       Policy = "fail"        // stop the table at the record, keep the others going
	DeadLetter Policy = "dead-letter" // put the record aside, with its cause, and go on
	Skip       Policy = "skip"        // count the record and go on
	Accept     Policy = "accept"      // write what is known, and count it
	Apply      Policy = "apply"       // truncate: -D for every live row
	Park       Policy = "park"        // leave a failed table alone until the process is started anew
	Retry      Policy = "retry"       // try a failed table again, with growing pauses
	Append     Policy = "append"      // a table without primary key: each image is a row, of which a metadata column tells the kind
	Ignore     Policy = "ignore"      // count it and go on
	Evolve     Policy = "evolve"      // change the table's schema where Paimon allows it, else fail
)

// Checkpoint tells when a table's buffers become a snapshot: at whichever comes first.
type Checkpoint struct {
	Interval time.Duration // since the last one, when there is anything to write
	Bytes    int64         // buffered rows of one table
	Records  int64         // Kafka records of one table
}

// Config is what the connector needs. It is not changed once given to New.
type Config struct {
	Kafka    []kgo.Opt // how to reach the brokers: seeds, TLS, SASL, client id, rack, timeouts
	Group    string    // consumer group, and the commit user of every snapshot
	Protocol Protocol
	Start    Start
	Store    object.Store
	// DidYouMean returns what to add to the message of a name that is not there, of the names that are; nil: nothing.
	DidYouMean func(name string, there []string) string
	// SingleWriter says that nobody else commits to the tables: see commit.Config.
	SingleWriter bool
	// Memory is for all that the process holds of records and rows, in bytes.
	Memory int64
	// FetchBytes is the most that an answer of a broker brings, which is held before it is handed over: a share of Memory.
	FetchBytes int64
	Checkpoint Checkpoint
	Encoders   int // files made at the same time; 0: two a core, at least 8
	Tables     []Table
	TableRetry TableRetry // of tables whose OnTableFailure is Retry
	// UntilEnd makes Run return after all that was on the topics at the start (up to the last stable offset) is in
	// snapshots and the group's offsets are committed.
	UntilEnd bool
	// StopWithin bounds the last checkpoint of a graceful stop.
	StopWithin time.Duration
	Log        zerolog.Logger
}

// Protocol is the consumer group's protocol.
type Protocol string

// The group protocols. Classic is cooperative-sticky; Eager is sticky and takes all partitions at each rebalance; Consumer is KIP-848.
const (
	Classic  Protocol = "classic"
	Eager    Protocol = "eager"
	Consumer Protocol = "consumer"
)

// Table maps records to one table, or to one table for each topic or source that matches.
type Table struct {
	Topics  []string         // exact names
	Pattern *regexp.Regexp   // anchored; instead of Topics
	Source  *regexp.Regexp   // anchored, on db.schema.table of an event's source; beside one of the above or alone: any topic
	Except  []*regexp.Regexp // anchored, on the same: what is not taken
	Ghosts  bool             // patterns take the shadow tables of online schema changes, too
	Name    string           // database.table; may use ${topic}, ${db}, ${schema}, ${table} and captures ${1} of Source, else of Pattern
	// NameCase is what becomes of letters in Name and in what is filled in.
	NameCase Case

	PrimaryKey  []string // empty: the fields of the record key
	Append      bool     // a new table has no primary key, whatever the records have
	PartitionBy []string
	Options     map[string]string
	Columns     []table.Field // declared by the user, where events carry no types
	Infer       bool          // columns that are not declared follow the values, where events carry no types

	OnError         Policy // Fail, DeadLetter, Skip
	OnMissingBefore Policy // Fail, DeadLetter, Accept
	OnTruncate      Policy // Fail, Apply, Ignore
	OnKeylessChange Policy // an update or delete where the table has no primary key: Fail, DeadLetter, Skip, Append
	SchemaChange    Policy // Evolve, Ignore, Fail, DeadLetter
	LatePartition   Policy // Skip, DeadLetter; empty: rows for expired partitions are written as any
	OnTableFailure  Policy // Retry; else Park: what becomes of a table that has stopped
	OnUnrouted      Policy // Fail; else Skip: records that no mapping wants, where sources are looked at
	Deduplicate     bool   // drop events that Debezium sends again: `deduplicate: source-position`
	Compacted       bool   // the user accepts topics with cleanup.policy=compact
	Disjoint        bool   // the user declares that several topics, or a changed key, never meet in one row

	Decoding debezium.Config              // how the events are encoded
	Types    debezium.Types               // where a source value may become several Paimon types
	Absent   debezium.AbsentPolicy        // what a column becomes that an event lacks
	Metadata map[string]debezium.Metadata // columns filled from the record
	Letters  Letters                      // where records put aside go; needed where a policy is DeadLetter
	Shaping  Shaping                      // how rows differ from those of the source
}
