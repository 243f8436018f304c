package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PartitionPath returns the folder of a partition under the table's root, such as "dt=2024-01-01/hour=7/", and "" for a
// table without partition columns. partition is a serialised BinaryRow of the partition columns, as in [Bucket]. Values
// print by option partition.legacy-name (true: a DATE as its day number); null, empty and blank ones print as option
// partition.default-name (org.apache.paimon.utils.PartitionPathUtils, FileStorePathFactory). A TIMESTAMP WITH LOCAL TIME
// ZONE prints in UTC.
func PartitionPath(s *Schema, partition string) (string, error) {
	values, err := PartitionValues(s, partition)
	if err != nil || len(values) == 0 {
		return "", err
	}
	var b strings.Builder
	for i, v := range values {
		escapePath(&b, s.PartitionKeys[i])
		b.WriteByte('=')
		escapePath(&b, v)
		b.WriteByte('/')
	}
	return b.String(), nil
}

// PartitionValues returns the text of each partition column's value as it stands in the path, before escaping.
func PartitionValues(s *Schema, partition string) ([]string, error) {
	columns := s.Indexes(s.PartitionKeys)
	types := s.TypesOf(columns)
	row, err := DecodeRow([]byte(partition), types)
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	legacy, err := s.OptionBool("partition.legacy-name")
	if err != nil {
		return nil, err
	}
	values := make([]string, len(types))
	for i, t := range types {
		v := &row.Columns[i]
		if !v.IsNull(0) {
			text, err := partitionText(t, v, legacy)
			if err != nil {
				return nil, fmt.Errorf("partition column %s: %w", s.PartitionKeys[i], err)
			}
			values[i] = text
		}
		if isBlank(values[i]) {
			values[i] = s.Option("partition.default-name")
		}
	}
	return values, nil
}

// isBlank is Java's isNullOrWhitespaceOnly, for which Character.isWhitespace decides.
func isBlank(s string) bool {
	return strings.TrimFunc(s, javaSpace) == ""
}

// javaSpace is java.lang.Character.isWhitespace: Unicode's separators but the no-break ones, and some controls.
func javaSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20, r == 0x1680, r >= 0x2000 && r <= 0x200a && r != 0x2007,
		r == 0x2028, r == 0x2029, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

func partitionText(t Type, v *Vector, legacy bool) (string, error) {
	word, bytes := v.cell(0)
	switch t.Root {
	case Boolean:
		return strconv.FormatBool(word != 0), nil
	case TinyInt, SmallInt, Int, BigInt:
		return strconv.FormatInt(word, 10), nil
	case Float:
		return javaFloat(float64(math.Float32frombits(uint32(word))), 32), nil
	case Double:
		return javaFloat(math.Float64frombits(uint64(word)), 64), nil
	case Decimal:
		return string(AppendDecimal(nil, &t, v, 0)), nil
	case Char, VarChar:
		return string(bytes), nil
	case Binary, VarBinary:
		if legacy {
			return "", fmt.Errorf("%s has no partition path: set partition.legacy-name to false", t)
		}
		if !utf8.Valid(bytes) {
			return "", fmt.Errorf("%x is no UTF-8 text and so has no partition path", bytes)
		}
		return string(bytes), nil
	case Date:
		if legacy {
			return strconv.FormatInt(word, 10), nil
		}
		return string(AppendDate(nil, word)), nil
	case Time:
		if legacy {
			return strconv.FormatInt(word, 10), nil
		}
		return string(appendJavaTime(nil, word, t.Precision)), nil
	case Timestamp, LocalTimestamp:
		seconds, nanos := timestampOf(&t, word, bytes)
		if legacy {
			return string(appendLocalDateTime(nil, seconds, nanos)), nil
		}
		return string(appendSQLTimestamp(nil, seconds, nanos, t.Precision)), nil
	}
	return "", fmt.Errorf("%s is no type of a partition column", t)
}

// javaFloat is Float.toString and Double.toString: see [AppendFloatText].
func javaFloat(f float64, bits int) string { return string(AppendFloatText(nil, f, bits)) }

// AppendFloatText appends a float of 32 or 64 bits as Float.toString and Double.toString of Java 19 and later do: the shortest
// digits, plain from 1e-3 to below 1e7, always with a decimal; NaN, Infinity.
func AppendFloatText(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	start := len(dst)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
		if !slices.Contains(dst[start:], '.') {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if !slices.Contains(dst[start:], '.') { // Java has the nearest number of two digits then
		dst = strconv.AppendFloat(dst[:start], f, 'e', 1, bits)
	}
	e := start + slices.Index(dst[start:], 'e')
	neg, digits := dst[e+1] == '-', dst[e+2:]
	if digits[0] == '0' { // Go has two digits at least
		digits = digits[1:]
	}
	dst[e] = 'E'
	if dst = dst[:e+1]; neg {
		dst = append(dst, '-')
	}
	return append(dst, digits...)
}

// escapePath escapes what may not stand in a path as % and two hexadecimal digits.
func escapePath(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == 0x7f || strings.IndexByte("\"#%'*/:=?\\{}[]^", c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
}
