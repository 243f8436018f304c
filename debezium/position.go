package debezium

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in the source's history, in the order of commits; the zero value is none. PostgreSQL's lsn alone goes back between
// interleaved transactions, so that the commit LSN of source.sequence comes first.
//
// Positions may be equal though the events are not: the delete and the create of a changed key share one, and so do all
// rows of a snapshot. Who drops repeated events has to count those of one position.
type Position struct {
	// PostgreSQL: source.sequence and txId. -1 where unknown.
	CommitLSN, LSN, TxID int64
	// MySQL and MariaDB: binlog coordinates, and the GTID of the transaction. -1 where unknown.
	ServerID int64
	File     string
	Pos, Row int64
	GTID     string
}

func unknownPosition() Position {
	return Position{CommitLSN: -1, LSN: -1, TxID: -1, ServerID: -1, Pos: -1, Row: -1}
}

// setSequence reads source.sequence: ["commit LSN","LSN"], either may be null. Other connectors have other sequences,
// which are left alone.
func (p *Position) setSequence(b []byte) {
	lsns, part := [2]int64{-1, -1}, 0
	for i := 0; i < len(b); {
		u, n := digitsAt(b, i)
		switch {
		case n > 0 && n < maxDigits:
			lsns[part] = int64(u)
			i += n
			continue
		case b[i] == ',' && part == 0:
			part++
		case b[i] == ',' || n > 0:
			return
		}
		i++
	}
	p.CommitLSN = lsns[0]
	if lsns[1] >= 0 {
		p.LSN = lsns[1]
	}
}

// Known reports whether the event said where it is. Rows of an incremental snapshot do not.
func (p Position) Known() bool { return p.LSN > 0 || p.File != "" }

// Compare orders two positions of one source. It is not ok when they cannot be compared: one is unknown, or they
// are of different connectors, or of different servers without a GTID in common.
func (p Position) Compare(q Position) (order int, ok bool) {
	switch {
	case p.LSN > 0 && q.LSN > 0 && p.File == "" && q.File == "":
		return cmp.Or(cmp.Compare(p.CommitLSN, q.CommitLSN), cmp.Compare(p.LSN, q.LSN)), true
	case p.File == "" || q.File == "":
		return 0, false
	}
	base, n, okP := splitFile(p.File)
	base2, m, okQ := splitFile(q.File)
	same := p.ServerID == q.ServerID || p.ServerID <= 0 || q.ServerID <= 0 // rows of a snapshot have server 0
	if same && base == base2 && okP && okQ {
		return cmp.Or(cmp.Compare(n, m), cmp.Compare(p.Pos, q.Pos), cmp.Compare(p.Row, q.Row)), true
	}
	server, n, okP := splitGTID(p.GTID)
	server2, m, okQ := splitGTID(q.GTID)
	if okP && okQ && server == server2 && n != m {
		return cmp.Compare(n, m), true
	}
	return 0, false
}

// splitFile takes the number off the name of a binlog file: binlog.000012. As text, .999999 comes after .1000000.
func splitFile(file string) (base string, n int64, ok bool) {
	i := strings.LastIndexByte(file, '.')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(file[i+1:], 10, 64)
	return file[:i], n, err == nil
}

// splitGTID takes the transaction number off a GTID: of MySQL's uuid:n and uuid:tag:n, MariaDB's domain-server-n.
func splitGTID(gtid string) (server string, n int64, ok bool) {
	i := strings.LastIndexAny(gtid, ":-")
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(gtid[i+1:], 10, 64)
	server = gtid[:i]
	if gtid[i] == '-' { // another server may go on with the numbers of a domain
		server, _, _ = strings.Cut(gtid, "-")
	}
	return server, n, err == nil
}

// String returns a text that [ParsePosition] reads; empty for an unknown position.
//
//	lsn:COMMIT/LSN/TX                     lsn:575309144/575312096/24861
//	binlog:SERVER/FILE/POS/ROW/GTID       binlog:184054/binlog.000001/7933171/0/e1c62472-ebf2-11f1-98ca-02fc00000001:914
func (p Position) String() string { return string(p.append(nil)) }

func (p *Position) append(dst []byte) []byte {
	number := func(n int64, end string) {
		if n >= 0 {
			dst = strconv.AppendInt(dst, n, 10)
		}
		dst = append(dst, end...)
	}
	switch {
	case p.File != "":
		dst = append(dst, "binlog:"...)
		number(p.ServerID, "/")
		dst = append(append(dst, p.File...), '/')
		number(p.Pos, "/")
		number(p.Row, "/")
		dst = append(dst, p.GTID...)
	case p.LSN > 0:
		dst = append(dst, "lsn:"...)
		number(p.CommitLSN, "/")
		number(p.LSN, "/")
		number(p.TxID, "")
	}
	return dst
}

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) {
	p := unknownPosition()
	if s == "" {
		return p, nil
	}
	kind, rest, _ := strings.Cut(s, ":")
	var numbers []*int64
	parts := strings.Split(rest, "/")
	switch {
	case kind == "lsn" && len(parts) == 3:
		numbers = []*int64{&p.CommitLSN, &p.LSN, &p.TxID}
	case kind == "binlog" && len(parts) == 5:
		numbers = []*int64{&p.ServerID, nil, &p.Pos, &p.Row, nil}
		p.File, p.GTID = parts[1], parts[4]
	}
	for i, to := range numbers {
		if to == nil || parts[i] == "" {
			continue
		}
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || n < 0 {
			return unknownPosition(), fmt.Errorf("source position %q: bad number %q", s, parts[i])
		}
		*to = n
	}
	if !p.Known() {
		return unknownPosition(), fmt.Errorf("source position %q: unknown form", s)
	}
	return p, nil
}
