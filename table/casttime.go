package table

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

var errTimeRange = errors.New("the time is out of the range of the type")

// millisOf returns a TIMESTAMP cell as milliseconds since the epoch, rounded down.
func millisOf(t *Type, w int64, b []byte) int64 {
	switch timestampUnit(t) {
	case 3:
		return w
	case 6:
		return floorDiv(w, 1000)
	}
	millis, _ := SplitNanoTimestamp(b)
	return millis
}

func castToDate(from *Type) castFunc {
	switch {
	case from.Root == Timestamp:
		// Paimon divides towards zero: the last day before the epoch becomes the epoch.
		return func(w int64, b []byte) (int64, []byte, error) { return millisOf(from, w, b) / millisPerDay, nil, nil }
	case from.Root == LocalTimestamp: // in UTC
		return func(w int64, b []byte) (int64, []byte, error) {
			return floorDiv(millisOf(from, w, b), millisPerDay), nil, nil
		}
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) {
			if n, ok := wholeNumber(b, 32); ok {
				return n, nil, nil
			}
			days, ok := ParseDate(dateOf(b))
			if !ok {
				return 0, nil, badText(b, "DATE")
			}
			return days, nil, nil
		}
	}
	return nil
}

// dateOf cuts a clock off a date, and fills up one that is only a year, or a year and a month.
func dateOf(b []byte) []byte {
	b = bytes.TrimFunc(b, javaTrimmed)
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		b = b[:i]
	}
	for n := bytes.Count(b, []byte{'-'}); n < 2; n++ {
		b = append(bytes.Clone(b), "-01"...)
	}
	return b
}

// wholeNumber reads text of digits only, with a sign.
func wholeNumber(b []byte, bits int) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, bits)
	return n, err == nil && b[0] != '+'
}

func castToTime(from *Type) castFunc {
	clock := func(millis int64) (int64, []byte, error) {
		if millis < 0 || millis >= millisPerDay {
			return 0, nil, errTimeRange
		}
		return millis, nil, nil
	}
	switch {
	case from.Root == Timestamp:
		return func(w int64, b []byte) (int64, []byte, error) { return clock(millisOf(from, w, b) % millisPerDay) }
	case from.Root == LocalTimestamp: // in UTC
		return func(w int64, b []byte) (int64, []byte, error) {
			millis := millisOf(from, w, b)
			return clock(millis - floorDiv(millis, millisPerDay)*millisPerDay)
		}
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) {
			if n, ok := wholeNumber(b, 32); ok {
				return clock(n)
			}
			nanos, ok := ParseClock(b)
			if !ok {
				return 0, nil, badText(b, "TIME")
			}
			return clock(nanos / nanosPerMilli)
		}
	}
	return nil
}

func castToTimestamp(from, to *Type) castFunc {
	out := &Vector{Layout: to.Layout()}
	make := func(seconds int64, nanos int32) (int64, []byte, error) {
		out.Truncate(0)
		if err := AppendTimestamp(out, to, seconds, nanos); err != nil {
			return 0, nil, err
		}
		w, b := out.cell(0)
		return w, b, nil
	}
	switch {
	case isTimestamp(from.Root):
		return func(w int64, b []byte) (int64, []byte, error) {
			seconds, nanos := timestampOf(from, w, b)
			seconds, nanos = cutTimestamp(seconds, nanos, to.Precision)
			return make(seconds, nanos)
		}
	case from.Root == Date:
		return func(w int64, _ []byte) (int64, []byte, error) { return make(w*secondsPerDay, 0) }
	case from.Root == Time:
		return func(w int64, _ []byte) (int64, []byte, error) {
			return make(w/millisPerSecond, int32(w%millisPerSecond)*nanosPerMilli)
		}
	case from.Root == Int || from.Root == BigInt:
		return func(w int64, _ []byte) (int64, []byte, error) { return make(w, 0) }
	case isText(from.Root):
		return func(_ int64, b []byte) (int64, []byte, error) {
			if n, ok := wholeNumber(b, 64); ok && to.Root == Timestamp {
				return make(unitsOf(n, to.Precision))
			}
			seconds, nanos, ok := parseDateTime(b)
			if !ok {
				return 0, nil, badText(b, to.String())
			}
			seconds, nanos = cutTimestamp(seconds, nanos, to.Precision)
			return make(seconds, nanos)
		}
	}
	return nil
}

// unitsOf reads a number as Paimon reads it in text for a TIMESTAMP: seconds, milliseconds, microseconds or
// nanoseconds by precision.
func unitsOf(n int64, precision int) (seconds int64, nanos int32) {
	perSecond := int64(nanosPerSecond)
	switch {
	case precision == 0:
		perSecond = 1
	case precision <= 3:
		perSecond = millisPerSecond
	case precision <= 6:
		perSecond = microsPerSecond
	}
	seconds = floorDiv(n, perSecond)
	return seconds, int32((n - seconds*perSecond) * (nanosPerSecond / perSecond))
}

// parseDateTime reads "2024-02-29 12:34:56.789" or a date alone.
func parseDateTime(b []byte) (seconds int64, nanos int32, ok bool) {
	day, clock, both := bytes.Cut(b, []byte{' '})
	days, ok := ParseDate(day)
	if !ok || !both {
		return days * secondsPerDay, 0, ok
	}
	ofDay, ok := ParseClock(clock)
	return days*secondsPerDay + ofDay/nanosPerSecond, int32(ofDay % nanosPerSecond), ok
}

// cutTimestamp takes off the digits beyond a precision. At precision 0 Paimon goes by whole seconds towards the epoch,
// else down.
func cutTimestamp(seconds int64, nanos int32, precision int) (int64, int32) {
	if precision >= 9 {
		return seconds, nanos
	}
	if precision == 0 {
		if seconds < 0 && nanos > 0 {
			seconds++
		}
		return seconds, 0
	}
	unit := int32(math.Pow10(9 - precision))
	return seconds, nanos / unit * unit
}
