package debezium

import "fmt"

// Header is one header of a Kafka record.
type Header struct {
	Key   string
	Value []byte
}

// Record is a Kafka record as it was fetched. Its slices are read, never changed; a [Frame] keeps pointing into them
// until it is used for another record.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp int64 // milliseconds since the epoch
	Key       []byte
	Value     []byte // nil or empty: a tombstone
	Headers   []Header
}

// Reason is why a record is bad. Its values are few and fixed, so that they can label a metric.
type Reason string

// The reasons.
const (
	ReasonMalformed   Reason = "malformed"   // not JSON, cut short, not UTF-8, nested too deep, or Avro bytes that do not fit their schema
	ReasonEncoding    Reason = "encoding"    // another encoding than configured: Avro in a JSON topic, plain JSON in an Avro topic
	ReasonNotARow     Reason = "not-a-row"   // valid, but no change event: an array, a number, an unknown op
	ReasonSchema      Reason = "schema"      // the schema part cannot be read, or uses something that has no Paimon type
	ReasonSchemaID    Reason = "schema-id"   // the registry does not know the schema id
	ReasonType        Reason = "type"        // a value of another kind than its column: "heavy" for an INT
	ReasonRange       Reason = "range"       // a value of the right kind that does not fit its column exactly
	ReasonNull        Reason = "null"        // NULL for a NOT NULL column
	ReasonAbsent      Reason = "absent"      // a column that the event does not have, where the policy is to fail
	ReasonUnknown     Reason = "unknown"     // a field that the table does not have, where the policy is to fail
	ReasonAmbiguous   Reason = "ambiguous"   // a text with two readings (base64 or plain, base64 or hex) and no mode stated
	ReasonKey         Reason = "key"         // the record key is missing or has other columns than the table was bound to
	ReasonKind        Reason = "kind"        // an update or delete of which the table's merge engine can make nothing
	ReasonUnavailable Reason = "unavailable" // nothing is known of a value that the row cannot do without (its key)
)

// RecordError tells of a record that cannot become rows. The record is at fault, not the service: the same record
// gives the same error.
type RecordError struct {
	Topic     string
	Partition int32
	Offset    int64
	Reason    Reason
	Column    string // the table column or the path of the field; empty when the record as a whole is bad
	Err       error
}

// Error gives topic, partition, offset, column and cause.
func (e *RecordError) Error() string {
	if e.Column != "" {
		return fmt.Sprintf("topic %s partition %d offset %d: column %s: %v", e.Topic, e.Partition, e.Offset, e.Column, e.Err)
	}
	return fmt.Sprintf("topic %s partition %d offset %d: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }
