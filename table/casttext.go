package table

import (
	"strconv"
	"unicode/utf8"
)

func castToText(from, to *Type) castFunc {
	var text func(dst []byte, w int64, b []byte) []byte
	switch {
	case from.Root == Boolean:
		text = func(dst []byte, w int64, _ []byte) []byte { return strconv.AppendBool(dst, w != 0) }
	case isInteger(from.Root):
		text = func(dst []byte, w int64, _ []byte) []byte { return strconv.AppendInt(dst, w, 10) }
	case from.Root == Float:
		text = func(dst []byte, w int64, _ []byte) []byte { return append(dst, javaFloat(floatOf(from, w), 32)...) }
	case from.Root == Double:
		text = func(dst []byte, w int64, _ []byte) []byte { return append(dst, javaFloat(floatOf(from, w), 64)...) }
	case from.Root == Decimal:
		text = func(dst []byte, w int64, b []byte) []byte { return appendDecimalCell(dst, from, w, b) }
	case isText(from.Root):
		text = func(dst []byte, _ int64, b []byte) []byte { return append(dst, b...) }
	case isBinary(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) { return 0, b, nil } // neither cut nor padded
	case to.Root != VarChar || to.Length != MaxLength:
		return nil // Paimon prints dates and times as STRING only
	case from.Root == Date:
		text = func(dst []byte, w int64, _ []byte) []byte { return AppendDate(dst, w) }
	case from.Root == Time:
		text = func(dst []byte, w int64, _ []byte) []byte { return appendJavaTime(dst, w, from.Precision) }
	case isTimestamp(from.Root):
		text = func(dst []byte, w int64, b []byte) []byte {
			seconds, nanos := timestampOf(from, w, b)
			return appendSQLTimestamp(dst, seconds, nanos, from.Precision)
		}
	default:
		return nil
	}
	var buffer []byte
	return func(w int64, b []byte) (int64, []byte, error) {
		buffer = fitText(text(buffer[:0], w, b), to)
		return 0, buffer, nil
	}
}

// fitText cuts a text to a type's length in characters, and fills up a CHAR with spaces.
func fitText(b []byte, to *Type) []byte {
	if to.Length == MaxLength {
		return b
	}
	n, at := 0, 0
	for at < len(b) && n < to.Length {
		_, size := utf8.DecodeRune(b[at:])
		at += size
		n++
	}
	b = b[:at]
	for ; to.Root == Char && n < to.Length; n++ {
		b = append(b, ' ')
	}
	return b
}

func castToBinary(from, to *Type) castFunc {
	if !isText(from.Root) && !isBinary(from.Root) {
		return nil
	}
	var buffer []byte
	return func(_ int64, b []byte) (int64, []byte, error) {
		buffer = append(buffer[:0], b[:min(len(b), to.Length)]...)
		for to.Root == Binary && len(buffer) < to.Length {
			buffer = append(buffer, 0)
		}
		return 0, buffer, nil
	}
}
