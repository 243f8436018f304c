package datafile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"sink/table"
)

// converter turns the values of a file's leaf into the cells of the type that the file's schema gives it. Other writers
// than this one choose other physical types; what is taken here is what Paimon's Java readers take, and more.
type converter func(v *values) error

func asIs(*values) error { return nil }

// newConverter returns how a leaf becomes cells of a type, or an error if it cannot be that type.
func newConverter(t table.Type, e *format.SchemaElement) (converter, error) {
	p := e.Type.V
	refuse := fmt.Errorf("it is %s in the file, which is no %s", p, t)
	switch t.Root {
	case table.Boolean:
		if p == format.Boolean {
			return asIs, nil
		}
	case table.TinyInt:
		return intConverter(p, math.MinInt8, math.MaxInt8, refuse)
	case table.SmallInt:
		return intConverter(p, math.MinInt16, math.MaxInt16, refuse)
	case table.Int, table.Date:
		return intConverter(p, math.MinInt32, math.MaxInt32, refuse)
	case table.Time:
		if p == format.Int32 {
			return asIs, nil
		}
	case table.BigInt:
		return intConverter(p, math.MinInt64, math.MaxInt64, refuse)
	case table.Float:
		if p == format.Float {
			return asIs, nil
		}
		if p == format.Double {
			return narrowFloats, nil
		}
	case table.Double:
		if p == format.Double {
			return asIs, nil
		}
		if p == format.Float {
			return widenFloats, nil
		}
	case table.Decimal:
		return decimalConverter(t, e)
	case table.Timestamp, table.LocalTimestamp:
		return timestampConverter(t, e, refuse)
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		if p == format.ByteArray || p == format.FixedLenByteArray {
			return asIs, nil
		}
	}
	return nil, refuse
}

func intConverter(p format.Type, lo, hi int64, refuse error) (converter, error) {
	switch {
	case p == format.Int32 && lo <= math.MinInt32, p == format.Int64 && lo == math.MinInt64:
		return asIs, nil
	case p != format.Int32 && p != format.Int64:
		return nil, refuse
	}
	return func(v *values) error {
		for _, w := range v.words {
			if w < lo || w > hi {
				return fmt.Errorf("%d is not within %d to %d", w, lo, hi)
			}
		}
		return nil
	}, nil
}

func narrowFloats(v *values) error {
	for i, w := range v.words {
		v.words[i] = int64(math.Float32bits(float32(math.Float64frombits(uint64(w)))))
	}
	return nil
}

func widenFloats(v *values) error {
	for i, w := range v.words {
		v.words[i] = int64(math.Float64bits(float64(math.Float32frombits(uint32(w)))))
	}
	return nil
}

// decimalConverter takes any physical type of a decimal. The scale has to be the declared one.
func decimalConverter(t table.Type, e *format.SchemaElement) (converter, error) {
	if scale, ok := decimalScale(e); ok && scale != t.Scale {
		return nil, fmt.Errorf("it has a scale of %d in the file, which is no %s", scale, t)
	}
	narrow := t.Precision <= 18
	switch e.Type.V {
	case format.Int32, format.Int64:
		if narrow {
			return asIs, nil
		}
		return widenDecimals, nil
	case format.ByteArray, format.FixedLenByteArray:
		if narrow {
			return narrowDecimals, nil
		}
		return padDecimals, nil
	}
	return nil, fmt.Errorf("it is %s in the file, which is no %s", e.Type.V, t)
}

func decimalScale(e *format.SchemaElement) (int, bool) {
	if d, ok := e.LogicalType.Value.(*format.DecimalType); ok {
		return int(d.Scale), true
	}
	if e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Decimal {
		return int(e.Scale.V), true
	}
	return 0, false
}

// widenDecimals makes cells of 16 bytes of words.
func widenDecimals(v *values) error {
	return v.toBytes(func(dst []byte, w int64) []byte {
		dst = binary.BigEndian.AppendUint64(dst, uint64(w>>63))
		return binary.BigEndian.AppendUint64(dst, uint64(w))
	})
}

// narrowDecimals makes words of big-endian bytes.
func narrowDecimals(v *values) error {
	return v.toWords(func(b []byte) (int64, bool) {
		var cell [16]byte
		appendDecimal16(cell[:0], b)
		hi, lo := int64(binary.BigEndian.Uint64(cell[:])), int64(binary.BigEndian.Uint64(cell[8:]))
		return lo, fitsDecimal16(b) && hi == lo>>63
	})
}

// padDecimals makes cells of 16 bytes of big-endian bytes of any number.
func padDecimals(v *values) error {
	at := len(v.tmp[:0])
	v.tmp = v.tmp[:at]
	for i := range v.ends {
		b := v.bytes(i)
		if !fitsDecimal16(b) {
			return damaged("a decimal of %d bytes", len(b))
		}
		v.tmp = appendDecimal16(v.tmp, b)
	}
	v.swap(16)
	return nil
}

// fitsDecimal16 tells whether 16 bytes hold the number.
func fitsDecimal16(b []byte) bool {
	if len(b) <= 16 {
		return len(b) > 0
	}
	rest := b[:len(b)-16]
	for _, x := range rest {
		if x != byte(int8(b[len(b)-16])>>7) {
			return false
		}
	}
	return true
}

// swap makes v.tmp, which has a cell of the given width for every value, the values.
func (v *values) swap(width int) {
	n := len(v.ends)
	v.own, v.tmp = v.tmp, v.own
	v.data, v.gap, v.ends = v.own, 0, v.ends[:0]
	for i := range n {
		v.ends = append(v.ends, uint32((i+1)*width))
	}
}

// toBytes turns words into bytes.
func (v *values) toBytes(appendTo func(dst []byte, w int64) []byte) error {
	v.own, v.ends = v.own[:0], v.ends[:0]
	for _, w := range v.words {
		v.own = appendTo(v.own, w)
		v.ends = append(v.ends, uint32(len(v.own)))
	}
	v.data, v.gap, v.words = v.own, 0, v.words[:0]
	return nil
}

// toWords turns bytes into words. word is not ok for what does not fit.
func (v *values) toWords(word func(b []byte) (int64, bool)) error {
	v.words = v.words[:0]
	for i := range v.ends {
		w, ok := word(v.bytes(i))
		if !ok {
			return fmt.Errorf("value %x does not fit the column's type", v.bytes(i))
		}
		v.words = append(v.words, w)
	}
	v.ends, v.data = v.ends[:0], nil
	return nil
}

// timestampConverter takes INT96 and INT64. The unit of an INT64 is that of the declared precision, whatever the file
// says, as in Paimon; only for a precision above 6 the file's annotation tells it.
func timestampConverter(t table.Type, e *format.SchemaElement, refuse error) (converter, error) {
	switch p := e.Type.V; {
	case p == format.Int64 && t.Precision <= 6:
		return asIs, nil
	case p == format.Int64:
		return nanosConverter(e), nil
	case p != format.Int96:
		return nil, refuse
	case t.Precision > 6:
		return int96ToCells, nil
	case t.Precision > 3:
		return func(v *values) error {
			return v.toWords(func(b []byte) (int64, bool) {
				millis, nanos := splitInt96(b)
				return millis*1000 + int64(nanos/1000), true
			})
		}, nil
	}
	return func(v *values) error {
		return v.toWords(func(b []byte) (int64, bool) {
			millis, _ := splitInt96(b)
			return millis, true
		})
	}, nil
}

func int96ToCells(v *values) error {
	v.tmp = v.tmp[:0]
	for i := range v.ends {
		v.tmp = appendNanoCell(v.tmp, v.bytes(i))
	}
	v.swap(12)
	return nil
}

// nanosConverter reads INT64 as a TIMESTAMP(7..9): nanoseconds, unless the annotation names another unit.
func nanosConverter(e *format.SchemaElement) converter {
	perMilli := int64(nanosPerMilli)
	if ts, ok := e.LogicalType.Value.(*format.TimestampType); ok {
		switch ts.Unit.Value.(type) {
		case *format.MilliSeconds:
			perMilli = 1
		case *format.MicroSeconds:
			perMilli = 1000
		}
	}
	return func(v *values) error {
		return v.toBytes(func(dst []byte, w int64) []byte {
			millis, rest := w/perMilli, w%perMilli
			if rest < 0 {
				millis, rest = millis-1, rest+perMilli
			}
			return table.AppendNanoTimestamp(dst, millis, int32(rest*(nanosPerMilli/perMilli)))
		})
	}
}
