package debezium

import "sink/table"

// AbsentPolicy is what a table column becomes that an event does not have.
type AbsentPolicy uint8

// The policies.
const (
	AbsentNull AbsentPolicy = iota
	AbsentFail              // a bad record
)

// Options of a [Plan].
type Options struct {
	Types  Types
	Absent AbsentPolicy
	// FailUnknown makes a field that the table does not have a bad record. Otherwise it is left out, counted in
	// Event.Unknown and listed by [Plan.Unknown].
	FailUnknown bool
	// Metadata fills table columns from the record instead of the row: column to kind.
	Metadata map[string]Metadata
	// Computed are table columns that the caller appends itself, one cell for each row of an event, right after Append.
	Computed []string
	// Key has the columns that the record key must have, in any order; nil: not checked. A record whose key has other
	// columns is bad (ReasonKey).
	Key []string
}

// Metadata is something that a record knows beside its row.
type Metadata uint8

// The kinds, with the type of [Metadata.Type].
const (
	MetadataTopic          Metadata = iota + 1 // STRING
	MetadataPartition                          // INT
	MetadataOffset                             // BIGINT
	MetadataTimestamp                          // TIMESTAMP(3) WITH LOCAL TIME ZONE: of the Kafka record
	MetadataOp                                 // STRING: c, r, u, d; s for a flattened row of unknown origin
	MetadataSourceTime                         // TIMESTAMP(3) WITH LOCAL TIME ZONE: source.ts_ms
	MetadataSourcePosition                     // STRING: see [Position]
	MetadataTransaction                        // STRING: transaction.id, else source.txId or source.gtid
)

// ParseMetadata reads the names of sink.yaml: topic, partition, offset, timestamp, op, source.ts, source.position, tx.
func ParseMetadata(name string) (Metadata, error) { return 0, nil }

// Type returns the natural column type, nullable.
func (m Metadata) Type() table.Type { return table.Type{} }

// BeforeImage is how much is known of the row before a change.
type BeforeImage uint8

// The degrees. Create and read need none and are BeforeFull.
const (
	BeforeFull    BeforeImage = iota
	BeforeMissing             // before is null, or the event has none (flattened)
	BeforeKeyOnly             // before has nothing but key columns
	// BeforeSuspect: before of a delete has values for the key only; the others are null, a column default, or what
	// Debezium makes up for NOT NULL ("", 0, epoch). It may be true, or PostgreSQL REPLICA IDENTITY DEFAULT or INDEX. MySQL
	// never makes values up.
	BeforeSuspect
)

// Event is what [Plan.Append] did with a record.
type Event struct {
	Op     Op
	First  int // index in the batch of the first row appended
	Rows   int // 0, 1 or 2
	Before BeforeImage
	// Unavailable are the table columns of the last row whose value the source did not send
	// (__debezium_unavailable_value) and which the before image does not have either; they are null in the row, or the
	// filler where they are NOT NULL. Valid until the next call on the plan.
	Unavailable []int
	Unknown     int // fields of this event that the table does not have
}

// Plan turns records of one shape into rows of one table. It belongs to one goroutine at a time.
type Plan struct{}

// Bind compiles a plan for records of a shape (nil: JSON without schema, read by the types of the table). It returns
// all columns that cannot be bound at once, each with the way out.
func Bind(schema *table.Schema, shape *Shape, opts Options) (*Plan, error) { return nil, nil }

// Append reads a frame of KindChange or KindFlat and appends its rows to dst, whose columns are those of the table
// schema: +I for c and r, -U and +U for u, -D for d. An update without a usable before image gives +U alone, a delete
// without one gives the row of [Plan.AppendKey]; Event.Before says so, and a caller that cannot accept it takes the rows
// back with dst.Truncate(Event.First). On an error dst is as before.
func (p *Plan) Append(f *Frame, dst *table.Batch) (Event, error) { return Event{}, nil }

// AppendKey appends one row of kind -D made from the record key: for a tombstone, and in place of a before image that
// is not to be trusted. Columns that the key does not have are null; where they are NOT NULL they hold the filler of
// their type (see the package comment), which is never a plausible value.
func (p *Plan) AppendKey(f *Frame, dst *table.Batch) (Event, error) { return Event{}, nil }

// Unknown returns the fields met so far that the table does not have, in order of appearance: at once those of the
// shape, later those of plain JSON. The caller compares its length with what it has reported.
func (p *Plan) Unknown() []string { return nil }
