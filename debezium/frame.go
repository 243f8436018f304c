package debezium

import "context"

// Kind is what a record is.
type Kind uint8

// The kinds. Only the first three have rows.
const (
	KindChange       Kind = iota + 1 // an envelope with op c, r, u or d
	KindFlat                         // a row without envelope (ExtractNewRecordState)
	KindTombstone                    // value null, or JSON null: the key is gone; alone, a delete without before image
	KindEmpty                        // key and value null (follows the delete of a table without key)
	KindTruncate                     // op t: the whole table was emptied; [Frame.Source] names it
	KindMessage                      // op m: a logical decoding message
	KindHeartbeat                    // a heartbeat record
	KindTransaction                  // BEGIN or END of a source transaction
	KindSchemaChange                 // DDL, from the connector's schema change topic
	KindNotification                 // from the connector's notification topic
)

// String returns a name that can label a metric.
func (k Kind) String() string {
	names := [...]string{"unknown", "change", "flat", "tombstone", "empty", "truncate", "message", "heartbeat", "transaction", "schema-change", "notification"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Op is the operation of a row event: Debezium's letter.
type Op byte

// The operations. OpUpsert stands for a flattened row that does not say whether it was there before.
const (
	OpCreate   Op = 'c'
	OpRead     Op = 'r'
	OpUpdate   Op = 'u'
	OpDelete   Op = 'd'
	OpTruncate Op = 't'
	OpMessage  Op = 'm'
	OpUpsert   Op = 's'
)

// Format is the encoding of keys and values.
type Format uint8

// The formats.
const (
	FormatAuto Format = iota // by the first byte of each key and value: 0 is Avro
	FormatJSON               // JsonConverter, with the schema part or without
	FormatAvro               // Confluent's wire format and schema registry, or Apicurio's
)

// Config is what a [Decoder] needs to know.
type Config struct {
	Format   Format
	Registry *Registry // for Avro; may be shared by decoders
}

// Frame is a record split into its parts before its values are read. It points into the record.
type Frame struct {
	Record *Record
	Kind   Kind
	Op     Op     // of KindChange, KindTruncate and KindMessage; of KindFlat only after Append
	Shape  *Shape // what the record declares; the same pointer as long as the declarations stay byte-equal. nil: JSON without schema
}

// Decoder takes records apart. It remembers schemas, and belongs to one goroutine at a time.
type Decoder struct {
	cfg Config
}

// NewDecoder returns a decoder.
func NewDecoder(cfg Config) *Decoder { return &Decoder{cfg: cfg} }

// Frame tells what a record is and what it declares, without reading its values. f keeps pointing into rec, and may be
// used again for the next record. It returns a *RecordError for a bad record; any other error means that the registry
// could not be asked, or that ctx ended: the same record has to be framed again.
func (d *Decoder) Frame(ctx context.Context, rec *Record, f *Frame) error { return nil }

// KeyNames returns the columns of the record key in the order of the key, as declared or as the plain JSON object
// has them; nil when the record has no key. For the set-up of a table, not for each record: it allocates.
func (f *Frame) KeyNames() ([]string, error) { return nil, nil }

// Source reads the source block of the record (of KindChange, KindTruncate, KindMessage and KindSchemaChange), and
// what a flattened record has of it (__db, __table, __source_ts_ms and so on). It costs a pass over the record when
// called before Append, and little afterwards.
func (f *Frame) Source() (Source, error) { return Source{}, nil }
