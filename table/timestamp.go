package table

import (
	"encoding/binary"
	"math/bits"
)

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

// AppendTimestamp appends a time, given as seconds since the epoch and nanoseconds of that second (0 to 999999999), to a
// vector of the TIMESTAMP type t. Digits that the type's unit (milliseconds, microseconds, nanoseconds) has no room for are
// cut off: see [TimestampFits]. A time that does not fit the unit's range is an error, and nothing is appended.
func AppendTimestamp(v *Vector, t *Type, seconds int64, nanos int32) error {
	perSecond, fraction := int64(millisPerSecond), int64(nanos/nanosPerMilli)
	if timestampUnit(t) == 6 {
		perSecond, fraction = microsPerSecond, int64(nanos/1000)
	}
	w, ok := mulAdd(seconds, perSecond, fraction)
	if !ok {
		return errTimeRange
	}
	if v.Layout == Bytes {
		v.Data = AppendNanoTimestamp(v.Data, w, nanos%nanosPerMilli)
		v.EndCell()
		return nil
	}
	v.AppendWord(w)
	return nil
}

// TimestampFits reports whether a TIMESTAMP of that precision holds a fraction of so many nanoseconds exactly.
func TimestampFits(nanos int32, precision int) bool {
	return int64(nanos)%int64(powers[9-min(precision, 9)].lo) == 0
}

// mulAdd returns a*b+c, with c not negative and below b, and whether it fits.
func mulAdd(a, b, c int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(abs64(a)), uint64(b))
	switch {
	case hi != 0:
		return 0, false
	case a < 0:
		lo -= uint64(c)
		return -int64(lo), lo <= 1<<63
	}
	sum, carry := bits.Add64(lo, uint64(c), 0)
	return int64(sum), carry == 0 && sum < 1<<63
}

func abs64(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// ParseDate reads a date such as "2024-02-29" or "-0044-03-15" as a day number; month and day have one or two digits. It
// is not ok for text that is no date of the calendar.
func ParseDate(b []byte) (days int64, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	year, b, ok := digitsOf(b, 1, 9)
	if !ok || len(b) == 0 || b[0] != '-' {
		return 0, false
	}
	month, b, ok := digitsOf(b[1:], 1, 2)
	if !ok || len(b) == 0 || b[0] != '-' {
		return 0, false
	}
	day, b, ok := digitsOf(b[1:], 1, 2)
	if !ok || len(b) > 0 || month < 1 || month > 12 {
		return 0, false
	}
	if negative {
		year = -year
	}
	days = DaysOf(year, month, day)
	if y, m, d := civil(days); y != year || m != month || d != day {
		return 0, false
	}
	return days, true
}

// ParseClock reads a time of day such as "12:34:56.789", with or without seconds and up to nine decimals, in nanoseconds.
func ParseClock(b []byte) (nanos int64, ok bool) {
	hour, b, ok := digitsOf(b, 1, 2)
	if !ok || hour > 23 || len(b) == 0 || b[0] != ':' {
		return 0, false
	}
	minute, b, ok := digitsOf(b[1:], 1, 2)
	if !ok || minute > 59 {
		return 0, false
	}
	var second, fraction int64
	if len(b) > 0 {
		if b[0] != ':' {
			return 0, false
		}
		if second, b, ok = digitsOf(b[1:], 1, 2); !ok || second > 59 {
			return 0, false
		}
	}
	if len(b) > 0 {
		if b[0] != '.' {
			return 0, false
		}
		n := len(b) - 1
		if fraction, b, ok = digitsOf(b[1:], 1, 9); !ok || len(b) > 0 {
			return 0, false
		}
		fraction *= int64(powers[9-n].lo)
	}
	return (hour*3600+minute*60+second)*nanosPerSecond + fraction, true
}

// digitsOf reads a number of least to most digits and returns what follows.
func digitsOf(b []byte, least, most int) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && i < most && isDigit(b[i]) {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i >= least
}
