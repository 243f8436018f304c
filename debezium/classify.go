package debezium

import (
	"bytes"
	"strings"
)

// classifyJSON settles the kind and the op of a JSON value that is not null.
func classifyJSON(f *Frame) error {
	if f.Kind != 0 && f.Kind != KindChange {
		if f.Kind == KindMessage {
			f.Op = OpMessage
		}
		return nil // the schema said it
	}
	if op, ok := tailOp(f.value); ok && (f.Kind == KindChange || bytes.HasPrefix(f.value.b, beforeToken)) {
		return f.setOp(op)
	}
	return classifyMembers(f)
}

// setOp settles what an envelope is.
func (f *Frame) setOp(op Op) error {
	f.Op = op
	switch op {
	case OpCreate, OpRead, OpUpdate, OpDelete:
		f.Kind = KindChange
	case OpTruncate:
		f.Kind = KindTruncate
	case OpMessage:
		f.Kind = KindMessage
	default:
		return bad(ReasonNotARow, "unknown op %q", string(rune(op)))
	}
	return nil
}

var beforeToken = []byte(`{"before":`)

// The members that Debezium writes after op, as they stand in compact JSON, longest first.
var afterOp = [...]string{`,"ts_ns":`, `,"ts_us":`, `,"ts_ms":`}

// tailOp reads op from the end of an envelope, where Debezium puts it:
//
//	..."op":"u","ts_ms":1700000000005,"ts_us":1700000000005123,"ts_ns":1700000000005123000}
//
// Going back from the end is exact in valid JSON: the last brace closes the envelope, a run of digits before it is a
// whole number, and a quoted name with a comma before it can only be a name, because no string holds a bare quote. Text that
// is no valid JSON is found out by the pass that reads the rows.
func tailOp(p payload) (Op, bool) {
	b := p.b
	for braces := 1 + bit(p.wrapped); braces > 0; braces-- {
		if len(b) == 0 || b[len(b)-1] != '}' {
			return 0, false
		}
		b = b[:len(b)-1]
	}
	if t := len(b) - len(nullTransaction); t > 0 && string(b[t:]) == nullTransaction {
		b = b[:t]
	}
	for _, name := range afterOp {
		i := len(b)
		for i > 0 && b[i-1]-'0' <= 9 {
			i--
		}
		if i == len(b) {
			break
		}
		if i < len(name) || string(b[i-len(name):i]) != name {
			continue
		}
		b = b[:i-len(name)]
	}
	// ,"op":"u"
	n := len(b)
	if n < 9 || b[n-1] != '"' || b[n-3] != '"' || string(b[n-9:n-3]) != `,"op":` || b[n-2] == '\\' {
		return 0, false
	}
	return Op(b[n-2]), true
}

const nullTransaction = `,"transaction":null`

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// traits are what tells kinds of values apart that do not declare themselves: which members they have.
type traits struct {
	op                                string
	before, after, message, source    bool
	image                             bool // before or after is an object
	anyOp                             bool // there is an op, of whatever type
	ddl                               bool
	status, eventCount, tsMillis      bool
	aggregateType, additionalData, id bool
	others                            int
	boundary                          bool // status is BEGIN or END
}

// classifyMembers reads the names of an envelope's members, in any order.
func classifyMembers(f *Frame) error {
	s := scanner{b: f.value.b}
	if s.peek() != '{' {
		start := s.i
		if err := f.value.finish(&s, s.skip()); err != nil {
			return err
		}
		return bad(ReasonNotARow, "%s is no change event", show(bytes.TrimSpace(s.b[start:])))
	}
	var t traits
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			break
		}
		if err = t.member(&s, string(name)); err == nil {
			more, err = s.next('}')
		}
	}
	if err := f.value.finish(&s, err); err != nil {
		return err
	}
	return t.settle(f)
}

func (t *traits) member(s *scanner, name string) error {
	c := s.peek()
	switch name {
	case "op", "status":
		t.anyOp = t.anyOp || name == "op"
		if c != '"' {
			t.others++
			break
		}
		text, err := s.str()
		if name == "op" {
			t.op = string(text)
			return err
		}
		t.status, t.boundary = true, string(text) == "BEGIN" || string(text) == "END"
		return err
	case "before":
		t.before, t.image = true, t.image || c == '{'
	case "after":
		t.after, t.image = true, t.image || c == '{'
	case "message":
		t.message = c == '{'
	case "source":
		t.source = c == '{'
	case "ddl":
		t.ddl = true
	case "event_count", "data_collections":
		t.eventCount = true
	case "ts_ms":
		t.tsMillis = true
	case "aggregate_type":
		t.aggregateType = true
	case "additional_data":
		t.additionalData = true
	case "id":
		t.id = c == '"'
	default:
		t.others++
	}
	return s.skip()
}

// settle decides. A flattened row may have any columns, so that other kinds need all of their members, and those with
// few also the topic that Debezium gives them.
func (t *traits) settle(f *Frame) error {
	topic := f.Record.Topic
	switch {
	case t.op != "" && (t.before || t.after || t.source):
		if len(t.op) != 1 {
			return bad(ReasonNotARow, "unknown op %s", show([]byte(t.op)))
		}
		if t.op == "m" && !t.message {
			return bad(ReasonNotARow, "op m without a message")
		}
		return f.setOp(Op(t.op[0]))
	case t.op == "m" && t.message:
		return f.setOp(OpMessage)
	case t.image && (t.source || t.anyOp):
		return bad(ReasonNotARow, "an envelope whose op is missing or no text")
	case t.ddl && t.source:
		f.Kind = KindSchemaChange
	case t.boundary && t.id && t.others == 0 && (t.eventCount || strings.HasSuffix(topic, ".transaction")):
		f.Kind = KindTransaction
	case t.tsMillis && t.others == 0 && !t.id && !t.status && strings.HasPrefix(topic, "__debezium-heartbeat"):
		f.Kind = KindHeartbeat
	case t.tsMillis && t.others == 0 && !t.id && !t.status && heartbeatKey(f.key):
		f.Kind = KindHeartbeat
	case t.aggregateType && t.additionalData && t.id:
		f.Kind = KindNotification
	default:
		f.Kind = KindFlat
	}
	return nil
}

// heartbeatKey recognises the key of a heartbeat, whose topic may have another name: {"serverName":"shop"}.
func heartbeatKey(key payload) bool {
	s := scanner{b: key.b}
	if key.null || s.peek() != '{' {
		return false
	}
	s.i++
	if s.peek() != '"' {
		return false
	}
	name, err := s.name()
	return err == nil && string(name) == "serverName"
}
