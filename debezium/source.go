package debezium

import (
	"bytes"
	"strings"
)

// Source is the source block of an event. What the connector does not have is empty or -1. Strings are shared between
// records and may be kept.
type Source struct {
	Connector string // postgresql, mysql, mariadb, ...
	Name      string // topic.prefix
	DB        string
	Schema    string // empty for MySQL
	Table     string
	Snapshot  Snapshot
	TsMillis  int64 // commit time at the source, since the epoch; -1 where unknown
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

// Source reads the source block of the record (of KindChange, KindTruncate, KindMessage and KindSchemaChange), and
// what a flattened record has of it (__db, __table, __source_ts_ms and so on). It costs a pass over the record when
// called before [Plan.Append], and little afterwards.
func (f *Frame) Source() (Source, error) {
	src := &f.decoder.source.block
	*src = Source{TsMillis: -1, Position: unknownPosition()}
	var err error
	switch {
	case f.value.null:
	case f.value.avro != nil:
		err = f.avroSource(src)
	case f.Kind == KindFlat:
		err = f.flatSource(src)
	default:
		err = f.jsonSource(src)
	}
	if err != nil {
		return *src, f.blame(err)
	}
	return *src, nil
}

// jsonSource reads the member source of an envelope.
func (f *Frame) jsonSource(src *Source) error {
	s := &f.decoder.source.scanner
	s.b, s.i = f.value.b, f.sourceAt
	if f.sourceAt == 0 {
		found, err := s.find("source")
		if !found || err != nil {
			return err
		}
		f.sourceAt = s.i
	}
	if s.peek() != '{' {
		return nil
	}
	return s.sourceMembers(&f.decoder.source, src, func(name []byte) []byte { return name })
}

// flatSource reads the members that ExtractNewRecordState adds: __table, __source_lsn and so on.
func (f *Frame) flatSource(src *Source) error {
	s := &f.decoder.source.scanner
	s.b, s.i = f.value.b, 0
	return s.sourceMembers(&f.decoder.source, src, flatName)
}

// flatName turns the name of an added field into that of the source block's; nil for others.
func flatName(name []byte) []byte {
	rest, ok := bytes.CutPrefix(name, []byte("__"))
	if !ok || string(rest) == "ts_ms" {
		return nil
	}
	rest, _ = bytes.CutPrefix(rest, []byte("source_"))
	return rest
}

// find goes to the value of a member of the object at s.i.
func (s *scanner) find(member string) (bool, error) {
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			break
		}
		found := string(name) == member
		if c := s.peek(); found && c != 0 {
			return true, nil
		}
		if err = s.skip(); err == nil {
			more, err = s.next('}')
		}
	}
	return false, err
}

// sourceMembers reads the object at s.i into src. rename gives the name in the source block of a member, or nil.
func (s *scanner) sourceMembers(names *sourceNames, src *Source, rename func([]byte) []byte) error {
	more, err := s.open('{')
	for more && err == nil {
		var name []byte
		if name, err = s.name(); err != nil {
			break
		}
		slot := src.slot(rename(name), names)
		switch c := s.peek(); {
		case slot.text != nil && c == '"':
			var text []byte
			if text, err = s.str(); err == nil {
				slot.text(src, names, text)
			}
		case slot.number != nil && (c == '-' || c-'0' <= 9):
			var n number
			if n, err = s.number(); err == nil {
				if i, ok := n.int64(); ok {
					*slot.number = i
				}
			}
		default:
			err = s.skip()
		}
		if err == nil {
			more, err = s.next('}')
		}
	}
	return err
}

// sourceSlot is where a member of the source block goes.
type sourceSlot struct {
	number *int64
	text   func(src *Source, names *sourceNames, b []byte)
}

// slot returns the place of a member, by name.
func (src *Source) slot(name []byte, names *sourceNames) sourceSlot {
	p := &src.Position
	switch string(name) {
	case "ts_ms":
		return sourceSlot{number: &src.TsMillis}
	case "lsn":
		return sourceSlot{number: &p.LSN}
	case "txId":
		return sourceSlot{number: &p.TxID}
	case "server_id":
		return sourceSlot{number: &p.ServerID}
	case "pos":
		return sourceSlot{number: &p.Pos}
	case "row":
		return sourceSlot{number: &p.Row}
	case "connector":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.Connector = n.keep(0, b) }}
	case "name":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.Name = n.keep(1, b) }}
	case "db":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.DB = n.keep(2, b) }}
	case "schema":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.Schema = n.keep(3, b) }}
	case "table":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.Table = n.keep(4, b) }}
	case "file":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.Position.File = n.keep(5, b) }}
	case "gtid":
		return sourceSlot{text: func(s *Source, n *sourceNames, b []byte) { s.Position.GTID = n.keep(6, b) }}
	case "snapshot":
		return sourceSlot{text: func(s *Source, _ *sourceNames, b []byte) { s.Snapshot = snapshotOf(b) }}
	case "sequence":
		return sourceSlot{text: func(s *Source, _ *sourceNames, b []byte) { s.Position.setSequence(b) }}
	}
	return sourceSlot{}
}

func snapshotOf(b []byte) Snapshot {
	switch string(b) {
	case "", "false":
		return SnapshotNone
	case "incremental":
		return SnapshotIncremental
	}
	return SnapshotInitial
}

// sourceNames keeps the strings of source blocks, so that records of one table share them.
type sourceNames struct {
	last  [7]string
	known map[string]string

	block   Source  // the last one, here so that it is not allocated
	scanner scanner // of source blocks
}

// maxNames bounds how many strings are kept.
const maxNames = 1 << 14

func (n *sourceNames) keep(slot int, b []byte) string {
	if n.last[slot] == string(b) {
		return n.last[slot]
	}
	s, ok := n.known[string(b)]
	if !ok {
		s = string(b)
		if n.known == nil || len(n.known) >= maxNames {
			n.known = map[string]string{}
		}
		if slot != 6 { // every transaction has another GTID
			n.known[s] = s
		}
	}
	n.last[slot] = s
	return s
}

// String returns db.schema.table, without what is empty.
func (src Source) String() string {
	var parts []string
	for _, s := range [...]string{src.DB, src.Schema, src.Table} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ".")
}
