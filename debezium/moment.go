package debezium

import "sink/table"

// moment is a date and time of day as text has it.
type moment struct {
	second int64 // since 1970-01-01 00:00:00 in the moment's own zone
	nano   int64 // 0 to 999999999
	zone   int64 // seconds east of UTC
	zoned  bool  // the text has a zone
}

const (
	secondsPerDay = 86400
	nanosPerDay   = secondsPerDay * 1e9
	millisPerDay  = secondsPerDay * 1000
	// maxYear is the largest year of java.time, whose text is read here.
	maxYear = 999_999_999
)

func leap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysInMonth(year, month int64) int64 {
	switch month {
	case 2:
		if leap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// two reads two digits at b[i]; 255 or more when they are none.
func two(b []byte, i int) uint {
	if i+1 >= len(b) {
		return 255
	}
	hi, lo := uint(b[i]-'0'), uint(b[i+1]-'0')
	if hi > 9 || lo > 9 {
		return 255
	}
	return hi*10 + lo
}

// parseDate reads [+-]YYYY-MM-DD with four or more digits of year, as java.time writes it, and returns what follows.
// Year 0 is 1 BC.
func parseDate(b []byte) (days int64, rest []byte, ok bool) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		i++
	}
	first, year := i, int64(0)
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if year = year*10 + int64(b[i]-'0'); year > maxYear {
			return 0, nil, false
		}
	}
	if neg {
		year = -year
	}
	if i-first < 4 || i+6 > len(b) || b[i] != '-' || b[i+3] != '-' {
		return 0, nil, false
	}
	month, day := int64(two(b, i+1)), int64(two(b, i+4))
	if month < 1 || month > 12 || day < 1 || day > 28 && day > daysInMonth(year, month) {
		return 0, nil, false
	}
	return table.DaysOf(year, month, day), b[i+6:], true
}

// parseClock reads HH:MM[:SS[.fraction]], up to 24:00:00, and returns what follows.
func parseClock(b []byte) (second, nano int64, rest []byte, ok bool) {
	hour := two(b, 0)
	if hour > 24 {
		return 0, 0, nil, false
	}
	second, nano, rest, ok = parseMinutes(b[2:])
	second += int64(hour) * 3600
	return second, nano, rest, ok && (second < secondsPerDay || second == secondsPerDay && nano == 0)
}

// parseMinutes reads :MM[:SS[.fraction]]. A fraction finer than nanoseconds is refused.
func parseMinutes(b []byte) (second, nano int64, rest []byte, ok bool) {
	minute := two(b, 1)
	if minute > 59 || b[0] != ':' {
		return 0, 0, nil, false
	}
	second, rest = int64(minute)*60, b[3:]
	if len(rest) == 0 || rest[0] != ':' {
		return second, 0, rest, true
	}
	s := two(rest, 1)
	if s > 59 {
		return 0, 0, nil, false
	}
	second, rest = second+int64(s), rest[3:]
	if len(rest) == 0 || rest[0] != '.' {
		return second, 0, rest, true
	}
	nano, rest, ok = parseFraction(rest[1:])
	return second, nano, rest, ok
}

// parseFraction reads the digits of a fraction of a second.
func parseFraction(b []byte) (nano int64, rest []byte, ok bool) {
	i, unit := 0, int64(1e8)
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		nano += int64(b[i]-'0') * unit
		if unit == 0 && b[i] != '0' {
			return 0, nil, false
		}
		unit /= 10
	}
	return nano, b[i:], i > 0
}

// parseZone reads what is left of a moment: nothing, Z, or +HH[:MM[:SS]].
func parseZone(b []byte) (zone int64, zoned, ok bool) {
	if len(b) == 0 {
		return 0, false, true
	}
	if len(b) == 1 && b[0]|0x20 == 'z' {
		return 0, true, true
	}
	if b[0] != '+' && b[0] != '-' {
		return 0, false, false
	}
	neg := b[0] == '-'
	b = b[1:]
	for unit, first := int64(3600), true; len(b) > 0; unit, first = unit/60, false {
		if !first && b[0] == ':' {
			b = b[1:]
		}
		n := two(b, 0)
		if n > 59 || unit == 0 || first && n > 18 {
			return 0, false, false
		}
		zone += int64(n) * unit
		b = b[2:]
	}
	if neg {
		zone = -zone
	}
	return zone, true, true
}

// parseMoment reads a date and a time of day with T or a blank between them.
func parseMoment(b []byte) (m moment, ok bool) {
	days, rest, ok := parseDate(b)
	if !ok || len(rest) == 0 || rest[0] != 'T' && rest[0] != ' ' {
		return m, false
	}
	second, nano, rest, ok := parseClock(rest[1:])
	if !ok {
		return m, false
	}
	m.second, m.nano = days*secondsPerDay+second, nano
	m.zone, m.zoned, ok = parseZone(rest)
	return m, ok
}

// clock reads moments in the form that Debezium writes, 2024-02-29T12:34:56.789012Z, and remembers the day of the last one.
type clock struct {
	date [10]byte
	days int64
}

// moment is not ok for any other form.
func (c *clock) moment(b []byte) (m moment, ok bool) {
	if len(b) < 20 || len(b) > 27 || b[10] != 'T' || b[len(b)-1] != 'Z' {
		return m, false
	}
	if [10]byte(b) != c.date {
		days, rest, ok := parseDate(b[:10])
		if !ok || len(rest) > 0 || b[0]-'0' > 9 {
			return m, false
		}
		c.date, c.days = [10]byte(b), days
	}
	hour, minute, second := two(b, 11), two(b, 14), two(b, 17)
	if hour > 23 || minute > 59 || second > 59 || b[13] != ':' || b[16] != ':' {
		return m, false
	}
	m.second, m.zoned = c.days*secondsPerDay+int64(hour*3600+minute*60+second), true
	if len(b) == 20 {
		return m, true
	}
	fraction, n := digitsAt(b, 20)
	if b[19] != '.' || n == 0 || n != len(b)-21 {
		return m, false
	}
	m.nano = int64(fraction * pow10[9-n])
	return m, true
}

// parseSpan reads [-]H..H:MM[:SS[.fraction]] with any number of hours, and a Z that may follow, as nanoseconds.
func parseSpan(b []byte) (nanos int64, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	hours, i := int64(0), 0
	for ; i < len(b) && b[i]-'0' <= 9 && i < 7; i++ {
		hours = hours*10 + int64(b[i]-'0')
	}
	if i < 2 || hours > 2_000_000 {
		return 0, false
	}
	second, nano, rest, ok := parseMinutes(b[i:])
	if !ok || len(rest) > 1 || len(rest) == 1 && rest[0] != 'Z' {
		return 0, false
	}
	nanos = (hours*3600+second)*1e9 + nano
	if neg {
		nanos = -nanos
	}
	return nanos, true
}

// appendMoment appends 2024-02-29T12:34:56 and, unless they are zero, the decimals of the second that a unit has.
func appendMoment(dst []byte, second, nano int64) []byte {
	days := floorDiv(second, secondsPerDay)
	dst = append(table.AppendDate(dst, days), 'T')
	return appendClock(dst, second-days*secondsPerDay, nano)
}

// appendSpan appends [-]HH:MM:SS[.ffffff].
func appendSpan(dst []byte, nanos int64) []byte {
	u := uint64(nanos)
	if nanos < 0 {
		dst, u = append(dst, '-'), -u
	}
	return appendClock(dst, int64(u/1e9), int64(u%1e9))
}

func appendClock(dst []byte, second, nano int64) []byte {
	dst = table.AppendDigits(dst, second/3600, 2)
	dst = table.AppendDigits(append(dst, ':'), second/60%60, 2)
	dst = table.AppendDigits(append(dst, ':'), second%60, 2)
	switch {
	case nano == 0:
		return dst
	case nano%1e6 == 0:
		return table.AppendDigits(append(dst, '.'), nano/1e6, 3)
	case nano%1e3 == 0:
		return table.AppendDigits(append(dst, '.'), nano/1e3, 6)
	}
	return table.AppendDigits(append(dst, '.'), nano, 9)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
