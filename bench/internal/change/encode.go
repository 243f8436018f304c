package change

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Formats are the encodings of keys and values.
var Formats = []string{"json", "json-schema", "avro"}

// Encoder writes the keys and values of a table's records.
type Encoder struct {
	format  string
	columns []Column
	// what comes before the payload: a schema and the name of the payload, or Avro's header
	keyHead, valueHead []byte
}

// Ids of the Avro schemas in the registry.
const (
	keyID   = 1
	valueID = 2
)

// NewEncoder returns an encoder for one of Formats.
func NewEncoder(format string, columns []Column) (*Encoder, error) {
	e := &Encoder{format: format, columns: columns}
	switch format {
	case "json":
	case "json-schema":
		e.keyHead = fmt.Appendf(nil, `{"schema":%s,"payload":`, compact(connectKey()))
		e.valueHead = fmt.Appendf(nil, `{"schema":%s,"payload":`, compact(connectEnvelope(columns)))
	case "avro":
		e.keyHead, e.valueHead = []byte{0, 0, 0, 0, keyID}, []byte{0, 0, 0, 0, valueID}
	default:
		return nil, fmt.Errorf("format %q is none of %v", format, Formats)
	}
	return e, nil
}

// Key appends the record key of an event.
func (e *Encoder) Key(dst []byte, ev *Event) []byte {
	dst = append(dst, e.keyHead...)
	if e.format == "avro" {
		return appendLong(dst, ev.ID())
	}
	dst = strconv.AppendInt(append(dst, `{"id":`...), ev.ID(), 10)
	return e.close(append(dst, '}'))
}

// Value appends the record value of an event.
func (e *Encoder) Value(dst []byte, ev *Event) []byte {
	dst = append(dst, e.valueHead...)
	if e.format == "avro" {
		return e.appendAvro(dst, ev)
	}
	return e.close(e.appendJSON(dst, ev))
}

// close ends what a head has opened.
func (e *Encoder) close(dst []byte) []byte {
	if e.format == "json-schema" {
		dst = append(dst, '}')
	}
	return dst
}

// object is JSON whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, m.name), ':'), value...)
	}
	return append(b, '}'), nil
}

// compact writes what this package builds, which can be written.
func compact(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
