package debezium

import (
	"context"
	"errors"
	"fmt"
)

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

var kindNames = [...]string{
	"unknown", "change", "flat", "tombstone", "empty", "truncate", "message", "heartbeat", "transaction",
	"schema-change", "notification",
}

// String returns a name that can label a metric.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
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

	value payload
	key   payload
	keys  *keySchema // nil: the key does not declare its columns
	// where these parts begin in value.b, once a pass over the value has found them; 0: not known
	sourceAt, transactionAt int
	beforeAt, afterAt       int // Avro only
	decoder                 *Decoder
}

// payload is a key or a value without what is around it.
type payload struct {
	b       []byte
	wrapped bool // JSON: b ends with the closing brace of {"schema":..,"payload":..}
	avro    *avroSchema
	null    bool // no bytes, or a null
}

// Decoder takes records apart. It remembers schemas, and belongs to one goroutine at a time.
type Decoder struct {
	cfg    Config
	values wrappers[*valueSchema]
	keys   wrappers[*keySchema]
	avro   avroCache
	source sourceNames
}

// NewDecoder returns a decoder.
func NewDecoder(cfg Config) *Decoder {
	d := &Decoder{cfg: cfg}
	d.values.parse = func(b []byte) (*valueSchema, error) {
		s, err := parseConnectSchema(b)
		if err != nil {
			return nil, err
		}
		return newValueSchema(s)
	}
	d.keys.parse = func(b []byte) (*keySchema, error) {
		s, err := parseConnectSchema(b)
		return &keySchema{row: s}, err
	}
	return d
}

// Frame tells what a record is and what it declares, without reading its values: a record may turn out to be bad when
// [Plan.Append] reads them. f keeps pointing into rec, and may be used again for the next record. It returns a
// *RecordError for a bad record; any other error means that the registry could not be asked, or that ctx ended: the same
// record has to be framed again.
func (d *Decoder) Frame(ctx context.Context, rec *Record, f *Frame) error {
	*f = Frame{Record: rec, decoder: d}
	if err := d.frame(ctx, f); err != nil {
		return f.blame(err)
	}
	return nil
}

func (d *Decoder) frame(ctx context.Context, f *Frame) error {
	schema, err := d.frameValue(ctx, f)
	if err != nil {
		return err
	}
	if err := d.frameKey(ctx, f); err != nil {
		return err
	}
	if f.value.null {
		f.Kind = KindTombstone
		if f.key.null {
			f.Kind = KindEmpty
		}
		return nil
	}
	if schema != nil {
		f.Kind, f.Shape = schema.kind, schema.shape(f.keys)
	}
	if f.value.avro != nil {
		return d.classifyAvro(f)
	}
	return classifyJSON(f)
}

// blame turns an error of one value or of the text into one of the record. Others pass.
func (f *Frame) blame(err error) error { return f.blameColumn(err, "") }

func (f *Frame) blameColumn(err error, column string) error {
	e := &RecordError{Topic: f.Record.Topic, Partition: f.Record.Partition, Offset: f.Record.Offset, Column: column, Err: err}
	var syntax *syntaxError
	var value *valueError
	var done *RecordError
	switch {
	case errors.As(err, &done):
		return err
	case errors.As(err, &syntax):
		e.Reason = ReasonMalformed
	case errors.As(err, &value):
		e.Reason, e.Err = value.reason, value.err
	default:
		return err
	}
	return e
}

// isAvro tells whether bytes are to be read as Avro.
func (d *Decoder) isAvro(f *Frame, b []byte, what string) (bool, error) {
	zero := b[0] == 0
	switch {
	case d.cfg.Format == FormatJSON && zero:
		return false, bad(ReasonEncoding, "%s begins with byte 0, as Avro with a schema registry does; say format: debezium-avro or auto", what)
	case d.cfg.Format == FormatJSON:
		return false, nil
	case zero || d.avroHeader(f, what):
		if d.cfg.Registry == nil {
			return false, bad(ReasonEncoding, "%s is Avro, and no schema registry is configured; say registry: {url: ...}", what)
		}
		return true, nil
	case d.cfg.Format == FormatAvro:
		if c := b[0]; what == "key" && (c == '{' || c == '"') {
			return false, nil // a plain JSON key beside an Avro value
		}
		return false, bad(ReasonEncoding, "%s does not begin with byte 0, as Avro with a schema registry does%s", what, wayOutOfAvro(b))
	}
	return false, nil
}

// wayOutOfAvro is what a mapping that says Avro can say instead where a value looks like JSON.
func wayOutOfAvro(b []byte) string {
	if b[0] == '{' {
		return ", but looks like JSON; say format: debezium-json or auto"
	}
	return ""
}

func (d *Decoder) frameValue(ctx context.Context, f *Frame) (*valueSchema, error) {
	b := f.Record.Value
	if len(b) == 0 {
		f.value.null = true
		return nil, nil
	}
	avro, err := d.isAvro(f, b, "value")
	if err != nil {
		return nil, err
	}
	if avro {
		return d.avroValue(ctx, f, b)
	}
	var schema *valueSchema
	f.value, schema, err = d.values.unwrap(b)
	return schema, err
}

func (d *Decoder) frameKey(ctx context.Context, f *Frame) error {
	b := f.Record.Key
	if len(b) == 0 {
		f.key.null = true
		return nil
	}
	avro, err := d.isAvro(f, b, "key")
	if err != nil {
		return err
	}
	if avro {
		return d.avroKey(ctx, f, b)
	}
	f.key, f.keys, err = d.keys.unwrap(b)
	return err
}

// KeyNames returns the columns of the record key in the order of the key, as declared or as the plain JSON object
// has them; nil when the record has no key. For the set-up of a table, not for each record: it allocates.
func (f *Frame) KeyNames() ([]string, error) {
	var names []string
	switch {
	case f.key.null:
		return nil, nil
	case f.keys != nil && f.keys.row.sort == sortStruct:
		for i := range f.keys.row.members {
			names = append(names, f.keys.row.members[i].name)
		}
		return names, nil
	}
	s := scanner{b: f.key.b}
	if f.keys != nil || s.peek() != '{' {
		return nil, f.blame(bad(ReasonKey, "record key is no object, so its columns have no names; use no transform that extracts a field of the key"))
	}
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			break
		}
		names = append(names, string(name))
		if err = s.skip(); err == nil {
			more, err = s.next('}')
		}
	}
	if err != nil {
		return nil, f.blame(fmt.Errorf("record key: %w", err))
	}
	return names, nil
}
