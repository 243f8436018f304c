package debezium

// Source is the source block of an event. What the connector does not have is empty or -1. Strings are shared between
// records and may be kept.
type Source struct {
	Connector string // postgresql, mysql, mariadb, ...
	Name      string // topic.prefix
	DB        string
	Schema    string // empty for MySQL
	Table     string
	Snapshot  Snapshot
	TsMillis  int64 // commit time at the source; 0 where unknown
	Position  Position
}

// Snapshot tells whether a row was read instead of streamed.
type Snapshot uint8

// The kinds.
const (
	SnapshotNone        Snapshot = iota // streamed
	SnapshotInitial                     // true, first, last, ...
	SnapshotIncremental                 // by a signal, in between streamed events
)

// Position is a place in the source's history, in commit order. Positions of two events that differ in a row only
// (delete and create of a changed key, rows of a snapshot) are equal.
type Position struct {
	// PostgreSQL: source.sequence and txId. -1 where unknown.
	CommitLSN, LSN, TxID int64
	// MySQL: binlog coordinates, and the GTID of the transaction. Pos and Row are -1 where unknown.
	ServerID int64
	File     string
	Pos, Row int64
	GTID     string
}

// Known reports whether the event said where it is.
func (p Position) Known() bool { return false }

// Compare orders two positions of one source. It is not ok when they cannot be compared: one is unknown, or they
// are of different kinds or servers.
func (p Position) Compare(q Position) (order int, ok bool) { return 0, false }

// String returns a text that [ParsePosition] reads: "lsn:COMMIT/LSN/TX" or "binlog:SERVER/FILE/POS/ROW/GTID"; empty for an unknown position.
func (p Position) String() string { return "" }

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) { return Position{}, nil }
