package datafile

import (
	"encoding/binary"

	"sink/table"
)

const (
	millisPerDay   = 24 * 60 * 60 * 1000
	nanosPerMilli  = 1_000_000
	julianEpochDay = 2440588 // the Julian day of 1970-01-01
)

// appendInt96 appends a nano timestamp as INT96: 8 bytes nanoseconds of the day, 4 bytes Julian day, little-endian.
func appendInt96(dst, cell []byte) []byte {
	millis, nanos := table.SplitNanoTimestamp(cell)
	day := millis / millisPerDay
	if millis%millisPerDay < 0 {
		day--
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(millis-day*millisPerDay)*nanosPerMilli+uint64(nanos))
	return binary.LittleEndian.AppendUint32(dst, uint32(int32(day+julianEpochDay)))
}

// splitInt96 reads an INT96 as milliseconds since the epoch and the nanoseconds of that millisecond.
func splitInt96(v []byte) (millis int64, nanos int32) {
	ofDay := int64(binary.LittleEndian.Uint64(v))
	day := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julianEpochDay
	millis, rest := day*millisPerDay+ofDay/nanosPerMilli, ofDay%nanosPerMilli
	if rest < 0 {
		millis, rest = millis-1, rest+nanosPerMilli
	}
	return millis, int32(rest)
}

// appendNanoCell appends an INT96 as a cell of TIMESTAMP(7..9).
func appendNanoCell(dst, v []byte) []byte {
	millis, nanos := splitInt96(v)
	return table.AppendNanoTimestamp(dst, millis, nanos)
}

// appendDecimal16 appends a big-endian two's complement as 16 bytes. What does not fit is cut.
func appendDecimal16(dst, v []byte) []byte {
	if len(v) > 16 {
		v = v[len(v)-16:]
	}
	fill := byte(0)
	if len(v) > 0 && v[0] >= 0x80 {
		fill = 0xff
	}
	for range 16 - len(v) {
		dst = append(dst, fill)
	}
	return append(dst, v...)
}

// appendValue appends a cell of layout Bytes as the file has it, after its length for BYTE_ARRAY.
func appendValue(dst, cell []byte, p physical) []byte {
	switch p.kind {
	case cellDecimal:
		return append(dst, cell[len(cell)-p.width:]...)
	case cellInt96:
		return appendInt96(dst, cell)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(cell)))
	return append(dst, cell...)
}
