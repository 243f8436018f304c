package table

import "strconv"

// Texts of dates and times. Days and seconds count from 1970-01-01 in the proleptic Gregorian calendar; there is no
// time zone in any of this.
const (
	secondsPerDay   = 86_400
	millisPerSecond = 1000
	millisPerDay    = secondsPerDay * millisPerSecond
	microsPerSecond = 1_000_000
	nanosPerSecond  = 1_000_000_000
)

// DaysOf returns the days from 1970-01-01 to a date. The month is 1 to 12.
func DaysOf(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	return era*146_097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719_468
}

// civil is the inverse of DaysOf.
func civil(days int64) (year, month, day int64) {
	days += 719_468
	era := floorDiv(days, 146_097)
	dayOfEra := days - era*146_097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	year, month, day = era*400+yearOfEra, m+3, dayOfYear-(153*m+2)/5+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// timestampOf returns a TIMESTAMP cell, its word or its bytes, as seconds since the epoch, rounded down, and nanoseconds
// of the second.
func timestampOf(t *Type, w int64, b []byte) (seconds int64, nanos int32) {
	switch {
	case t.Precision <= 3:
		seconds = floorDiv(w, millisPerSecond)
		return seconds, int32(w-seconds*millisPerSecond) * nanosPerMilli
	case t.Precision <= 6:
		seconds = floorDiv(w, microsPerSecond)
		return seconds, int32(w-seconds*microsPerSecond) * 1000
	}
	millis, rest := SplitNanoTimestamp(b)
	seconds = floorDiv(millis, millisPerSecond)
	return seconds, int32(millis-seconds*millisPerSecond)*nanosPerMilli + rest
}

// AppendDate appends "2024-02-29" as java.time.LocalDate prints it: years beyond 9999 with a sign.
func AppendDate(b []byte, days int64) []byte {
	year, month, day := civil(days)
	switch {
	case year > 9999:
		b = append(b, '+')
		b = strconv.AppendInt(b, year, 10)
	case year < 0:
		b = append(b, '-')
		b = AppendDigits(b, -year, 4)
	default:
		b = AppendDigits(b, year, 4)
	}
	b = append(b, '-')
	b = AppendDigits(b, month, 2)
	b = append(b, '-')
	return AppendDigits(b, day, 2)
}

// AppendDigits appends a number that is not negative in at least that many digits.
func AppendDigits(b []byte, n int64, width int) []byte {
	at := len(b)
	b = strconv.AppendInt(b, n, 10)
	for len(b)-at < width {
		b = append(b, 0)
		copy(b[at+1:], b[at:])
		b[at] = '0'
	}
	return b
}

// appendClock appends "12:34:56" of a second of the day.
func appendClock(b []byte, second int64) []byte {
	b = AppendDigits(b, second/3600, 2)
	b = append(b, ':')
	b = AppendDigits(b, second/60%60, 2)
	b = append(b, ':')
	return AppendDigits(b, second%60, 2)
}

// appendDateTime appends date and clock with the given character between them.
func appendDateTime(b []byte, seconds int64, between byte) []byte {
	day := floorDiv(seconds, secondsPerDay)
	b = AppendDate(b, day)
	b = append(b, between)
	return appendClock(b, seconds-day*secondsPerDay)
}

// appendLocalDateTime is java.time.LocalDateTime.toString: seconds only where they or the fraction are not 0, the
// fraction in 3, 6 or 9 digits.
func appendLocalDateTime(b []byte, seconds int64, nanos int32) []byte {
	b = appendDateTime(b, seconds, 'T')
	switch {
	case nanos == 0 && floorDiv(seconds, 60)*60 == seconds:
		return b[:len(b)-3]
	case nanos == 0:
		return b
	}
	b = append(b, '.')
	switch {
	case nanos%1_000_000 == 0:
		return AppendDigits(b, int64(nanos/1_000_000), 3)
	case nanos%1000 == 0:
		return AppendDigits(b, int64(nanos/1000), 6)
	}
	return AppendDigits(b, int64(nanos), 9)
}

// appendSQLTimestamp is "2024-01-01 00:00:00.120" with as many decimals as the precision, as
// org.apache.paimon.utils.DateTimeUtils.formatTimestamp prints it.
func appendSQLTimestamp(b []byte, seconds int64, nanos int32, precision int) []byte {
	b = appendDateTime(b, seconds, ' ')
	return appendFraction(b, nanos, precision)
}

// appendFraction appends the first digits of a fraction of nanoseconds, nothing for none.
func appendFraction(b []byte, nanos int32, digits int) []byte {
	if digits == 0 {
		return b
	}
	b = AppendDigits(append(b, '.'), int64(nanos), 9)
	return b[:len(b)-9+digits]
}

// appendJavaTime is a TIME as org.apache.paimon.utils.DateTimeUtils prints it: with up to as many decimals as the
// precision, but none after the last that is not 0.
func appendJavaTime(b []byte, millis int64, precision int) []byte {
	b = appendClock(b, millis/millisPerSecond)
	rest := millis % millisPerSecond
	if precision > 0 {
		b = append(b, '.')
	}
	for ; precision > 0; precision-- {
		b = append(b, byte('0'+rest/100))
		if rest = rest % 100 * 10; rest == 0 {
			break
		}
	}
	return b
}
