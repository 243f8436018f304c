package debezium

import (
	"math"

	"sink/table"
)

// BeforeImage is how much is known of the row before a change.
type BeforeImage uint8

// The degrees. Create and read need none and are BeforeFull.
const (
	BeforeFull    BeforeImage = iota
	BeforeMissing             // before is null, or the event has none (flattened)
	BeforeKeyOnly             // before has nothing but key columns, or lacks some that after has
	// BeforeSuspect: before of a delete has values for the key only, or not even those; the others are null, a column
	// default, or what Debezium makes up for NOT NULL ("", 0, epoch). It may be true, or PostgreSQL's REPLICA IDENTITY DEFAULT
	// or INDEX. MySQL never makes values up. Defaults are known when the record declares them: in JSON without schema a row
	// with a default other than zero passes as full.
	BeforeSuspect
)

var beforeNames = [...]string{"full", "missing", "key-only", "suspect"}

// String returns a name that can label a metric.
func (b BeforeImage) String() string { return beforeNames[b&3] }

// suspect reports whether a row may be made up: all columns but the key are, or the whole key is, which PostgreSQL's
// REPLICA IDENTITY USING INDEX does.
func (p *Plan) suspect(f *Frame, dst *table.Batch, row int) bool {
	others, madeUp, keys, keysMadeUp := 0, 0, 0, 0
	for i := range p.fields {
		fd := &p.fields[i]
		if fd.col < 0 {
			continue
		}
		made := fd.madeUp(&dst.Columns[fd.col], row, &p.types[fd.col])
		if fd.key {
			keys++
			keysMadeUp += bit(made)
		} else {
			others++
			madeUp += bit(made)
		}
	}
	if others > 0 && others == madeUp {
		return true
	}
	if keys == 0 || keys > keysMadeUp {
		return false
	}
	src, err := f.Source()
	return err == nil && src.Connector != "mysql" && src.Connector != "mariadb"
}

// madeUp reports whether a cell is null, the column's default, or what Debezium sends for an unknown NOT NULL value.
func (f *field) madeUp(v *table.Vector, row int, t *table.Type) bool {
	switch {
	case v.IsNull(row):
		return true
	case f.fallback != nil && sameCell(v, row, f.fallback, 0):
		return true
	case v.Layout == table.Words:
		return v.Words[row] == 0
	}
	b := v.Bytes(row)
	switch t.Root {
	case table.Char, table.VarChar:
		return zeroText(b)
	case table.Decimal:
		return allZero(b)
	case table.Timestamp, table.LocalTimestamp:
		millis, nanos := table.SplitNanoTimestamp(b)
		return millis == 0 && nanos == 0
	case table.Array, table.Map:
		return len(b) == 1 // nothing but the end
	}
	return allZero(b)
}

func sameCell(v *table.Vector, row int, w *table.Vector, other int) bool {
	if v.IsNull(row) || w.IsNull(other) {
		return v.IsNull(row) && w.IsNull(other)
	}
	if v.Layout == table.Words {
		return v.Words[row] == w.Words[other]
	}
	return string(v.Bytes(row)) == string(w.Bytes(other))
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// zeroText recognises the text forms of nothing: "", "0", "0.00", "00:00:00Z", "1970-01-01T00:00:00Z", a UUID of zeros.
func zeroText(b []byte) bool {
	if len(b) > len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	if len(b) >= 10 && string(b[:10]) == "1970-01-01" {
		b = b[10:]
	}
	for _, c := range b {
		switch c {
		case '0', '.', ':', '-', '+', 'T', 'Z':
		default:
			return false
		}
	}
	return true
}

// onlyKey reports whether an unfinished row has no field but those of the key.
func (p *Plan) onlyKey(dst *table.Batch, row int) bool {
	others := 0
	for i := range p.fields {
		f := &p.fields[i]
		if f.col < 0 || f.key {
			continue
		}
		if dst.Columns[f.col].Len() > row {
			return false
		}
		others++
	}
	return others > 0
}

// fill finishes a row. Columns that it does not have are taken from the record key if that has them, else they are null,
// or an error by policy.
func (p *Plan) fill(f *Frame, dst *table.Batch, row int) error {
	if len(p.rest) == 0 && p.hits == p.bound {
		return nil
	}
	for pass := 0; pass < 2; pass++ { // the second, when there is a key to ask
		ask := false
		for col := range dst.Columns {
			if dst.Columns[col].Len() > row || p.aside[col] {
				continue
			}
			if ask = p.inKey[col] && !f.key.null && pass == 0; ask {
				break
			}
			if err := p.absent(f, dst, col); err != nil {
				return err
			}
		}
		if !ask {
			return nil
		}
		if err := p.readKey(f, dst, row); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) absent(f *Frame, dst *table.Batch, col int) error {
	if p.opts.Absent == AbsentFail || p.types[col].NotNull {
		return f.blameColumn(bad(ReasonAbsent, "the event does not have this column, which is %s", p.types[col]), p.schema.Fields[col].Name)
	}
	dst.Columns[col].AppendNull()
	return nil
}

// fillUnknown finishes a row of which the rest is not known: null, or the filler.
func (p *Plan) fillUnknown(dst *table.Batch, row int) {
	for col := range dst.Columns {
		if v := &dst.Columns[col]; v.Len() <= row && !p.aside[col] {
			appendFiller(v, &p.types[col])
		}
	}
}

// appendFiller appends what stands for an unknown value: null, or where the column is NOT NULL a value that nobody takes
// for data. The package comment lists them.
func appendFiller(v *table.Vector, t *table.Type) {
	switch {
	case !t.NotNull:
		v.AppendNull()
	case v.Layout == table.Words:
		v.AppendWord(fillerWord(t))
	default:
		v.Data = fillerBytes(v.Data, t)
		v.EndCell()
	}
}

const fillerText = "(unknown)"

func fillerWord(t *table.Type) int64 {
	switch t.Root {
	case table.TinyInt:
		return math.MinInt8
	case table.SmallInt:
		return math.MinInt16
	case table.Int:
		return math.MinInt32
	case table.BigInt:
		return math.MinInt64
	case table.Float:
		return int64(math.Float32bits(float32(math.NaN())))
	case table.Double:
		return int64(math.Float64bits(math.NaN()))
	case table.Decimal:
		return 1 - int64(pow10[t.Precision])
	case table.Date:
		return firstDay
	case table.Timestamp, table.LocalTimestamp:
		return firstDay * secondsPerDay * unitOf(t.Precision)
	}
	return 0 // BOOLEAN, TIME: they have no value to spare
}

func fillerBytes(dst []byte, t *table.Type) []byte {
	switch t.Root {
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		return append(dst, fillerText[:min(len(fillerText), t.Length)]...)
	case table.Decimal:
		w := pow10wide[t.Precision]
		d := decimal{hi: w[0], lo: w[1] - 1, neg: true} // no power of ten up to 10^38 ends in 64 zero bits
		return d.appendWide(dst)
	case table.Timestamp, table.LocalTimestamp:
		return table.AppendNanoTimestamp(dst, firstDay*millisPerDay, 0)
	case table.RowType:
		for i := range t.Fields {
			dst = fillerMember(dst, &t.Fields[i].Type)
		}
		return dst
	}
	return table.EndNested(dst)
}

func fillerMember(dst []byte, t *table.Type) []byte {
	switch {
	case !t.NotNull:
		return table.AppendNestedNull(dst)
	case t.Nested():
		return fillerBytes(table.OpenNested(dst), t)
	case t.Layout() == table.Words:
		return table.AppendNestedWord(dst, fillerWord(t))
	}
	return table.AppendNestedBytes(dst, fillerBytes(nil, t))
}
