package table

import "encoding/binary"

const (
	nanosPerMilli = 1_000_000
	// nanoTimestampBytes is the width of a cell of TIMESTAMP(7..9).
	nanoTimestampBytes = 12
)

// AppendNanoTimestamp appends the 12 bytes of a TIMESTAMP of precision 7 to 9: milliseconds since the epoch, rounded
// down, as big-endian int64 with the sign bit flipped, then the nanoseconds of that millisecond (0 to 999999) as
// big-endian int32. So bytes.Compare orders cells in time.
func AppendNanoTimestamp(dst []byte, millis int64, nanosOfMilli int32) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(millis)^1<<63)
	return binary.BigEndian.AppendUint32(dst, uint32(nanosOfMilli))
}

// SplitNanoTimestamp reads what [AppendNanoTimestamp] wrote.
func SplitNanoTimestamp(cell []byte) (millis int64, nanosOfMilli int32) {
	_ = cell[nanoTimestampBytes-1]
	return int64(binary.BigEndian.Uint64(cell) ^ 1<<63), int32(binary.BigEndian.Uint32(cell[8:]))
}
