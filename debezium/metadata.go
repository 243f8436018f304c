package debezium

import (
	"fmt"
	"strconv"

	"sink/table"
)

// Metadata is something that a record knows beside its row.
type Metadata uint8

// The kinds, with the type of [Metadata.Type].
const (
	MetadataTopic          Metadata = iota + 1 // STRING
	MetadataPartition                          // INT
	MetadataOffset                             // BIGINT
	MetadataTimestamp                          // TIMESTAMP(3) WITH LOCAL TIME ZONE: of the Kafka record
	MetadataOp                                 // STRING: c, r, u, d; s for a flattened row of unknown origin
	MetadataKind                               // STRING: +I, -U, +U, -D: of the image that the row is made of
	MetadataSourceTime                         // TIMESTAMP(3) WITH LOCAL TIME ZONE: source.ts_ms
	MetadataSourcePosition                     // STRING: see [Position.String]
	MetadataTransaction                        // STRING: transaction.id, else source.gtid or source.txId
	MetadataSourceName                         // STRING: source.name, which is topic.prefix
	MetadataSourceDB                           // STRING: source.db
	MetadataSourceSchema                       // STRING: source.schema
	MetadataSourceTable                        // STRING: source.table
)

var metadataNames = [...]string{
	MetadataTopic: "topic", MetadataPartition: "partition", MetadataOffset: "offset", MetadataTimestamp: "timestamp",
	MetadataOp: "op", MetadataKind: "kind", MetadataSourceTime: "source.ts", MetadataSourcePosition: "source.position", MetadataTransaction: "tx",
	MetadataSourceName: "source.name", MetadataSourceDB: "source.db", MetadataSourceSchema: "source.schema", MetadataSourceTable: "source.table",
}

// ParseMetadata reads the names of sink.yaml: topic, partition, offset, timestamp, op, kind, source.ts, source.position,
// tx, source.name, source.db, source.schema, source.table.
func ParseMetadata(name string) (Metadata, error) {
	for m, n := range metadataNames {
		if n == name && n != "" {
			return Metadata(m), nil
		}
	}
	return 0, fmt.Errorf("unknown metadata %q; there are %v", name, metadataNames[1:])
}

// String returns the name of sink.yaml.
func (m Metadata) String() string {
	if int(m) < len(metadataNames) {
		return metadataNames[m]
	}
	return "Metadata(" + strconv.Itoa(int(m)) + ")"
}

// Type returns the natural column type, nullable.
func (m Metadata) Type() table.Type {
	switch m {
	case MetadataPartition:
		return table.Type{Root: table.Int}
	case MetadataOffset:
		return table.Type{Root: table.BigInt}
	case MetadataTimestamp, MetadataSourceTime:
		return table.Type{Root: table.LocalTimestamp, Precision: 3}
	}
	return stringType
}

// declared is how the values of a kind arrive at the cell.
func (m Metadata) declared() *declared {
	switch m {
	case MetadataPartition:
		return &declared{sort: sortInt, bits: 32}
	case MetadataOffset:
		return &declared{sort: sortInt, bits: 64}
	case MetadataTimestamp, MetadataSourceTime:
		return &declared{sort: sortTimestamp, unit: perMilli}
	}
	return &declared{sort: sortText}
}

// needsSource reports whether the kind is read from the source block.
func (m Metadata) needsSource() bool {
	return m >= MetadataSourceTime
}

// metadataColumn is a column that is filled from the record.
type metadataColumn struct {
	col  int
	name string
	kind Metadata
	cell *cell
}

// metadata appends the columns that come from the record for one row.
func (p *Plan) metadata(f *Frame, dst *table.Batch, kind table.Kind) error {
	if len(p.extras) == 0 {
		return nil
	}
	var src Source
	if p.needSource {
		var err error
		if src, err = f.Source(); err != nil {
			return err
		}
	}
	for i := range p.extras {
		m := &p.extras[i]
		if err := p.extra(m, f, &src, &dst.Columns[m.col], kind); err != nil {
			return f.blameColumn(err, m.name)
		}
	}
	return nil
}

func (p *Plan) extra(m *metadataColumn, f *Frame, src *Source, v *table.Vector, kind table.Kind) error {
	switch m.kind {
	case MetadataTopic:
		p.buf = append(p.buf[:0], f.Record.Topic...)
	case MetadataPartition:
		return m.cell.integer(m.cell, v, int64(f.Record.Partition))
	case MetadataOffset:
		return m.cell.integer(m.cell, v, f.Record.Offset)
	case MetadataTimestamp:
		return m.cell.integer(m.cell, v, f.Record.Timestamp)
	case MetadataOp:
		p.buf = append(p.buf[:0], byte(f.Op))
	case MetadataKind:
		p.buf = append(p.buf[:0], kind.String()...)
	case MetadataSourceTime:
		if src.TsMillis < 0 {
			return m.cell.null(v)
		}
		return m.cell.integer(m.cell, v, src.TsMillis)
	case MetadataSourcePosition:
		p.buf = src.Position.append(p.buf[:0])
	case MetadataSourceName:
		p.buf = append(p.buf[:0], src.Name...)
	case MetadataSourceDB:
		p.buf = append(p.buf[:0], src.DB...)
	case MetadataSourceSchema:
		p.buf = append(p.buf[:0], src.Schema...)
	case MetadataSourceTable:
		p.buf = append(p.buf[:0], src.Table...)
	case MetadataTransaction:
		var err error
		if p.buf, err = f.appendTransaction(p.buf[:0], src); err != nil {
			return err
		}
	}
	if len(p.buf) == 0 {
		return m.cell.null(v)
	}
	return m.cell.text(m.cell, v, p.buf)
}

// appendTransaction appends the id of the source's transaction.
func (f *Frame) appendTransaction(dst []byte, src *Source) ([]byte, error) {
	before := len(dst)
	var err error
	if f.value.avro != nil {
		dst, err = f.avroTransaction(dst)
	} else if f.Kind == KindChange {
		dst, err = f.jsonTransaction(dst)
	}
	switch {
	case err != nil || len(dst) > before:
		return dst, err
	case src.Position.GTID != "":
		return append(dst, src.Position.GTID...), nil
	case src.Position.TxID >= 0:
		return strconv.AppendInt(dst, src.Position.TxID, 10), nil
	}
	return dst, nil
}

// jsonTransaction reads id of the member transaction.
func (f *Frame) jsonTransaction(dst []byte) ([]byte, error) {
	s := scanner{b: f.value.b, i: f.transactionAt}
	if s.i == 0 {
		if found, err := s.find("transaction"); !found || err != nil {
			return dst, err
		}
	}
	if s.peek() != '{' {
		return dst, nil
	}
	found, err := s.find("id")
	if !found || err != nil || s.peek() != '"' {
		return dst, err
	}
	id, err := s.str()
	return append(dst, id...), err
}
