package debezium

import (
	"math"
	"strconv"

	"sink/table"
)

// What Debezium's PostgreSQL connector sends for infinity: in milliseconds, in microseconds, and under nanoseconds the
// bounds of an int64. Dates differ between snapshot and stream.
const (
	infinityMillis = 9223372036825200
	minusInfMillis = -9223372036832400
	infinityMicros = infinityMillis * 1000
	minusInfMicros = minusInfMillis * 1000
	infinityNanos  = math.MaxInt64
	minusInfNanos  = math.MinInt64

	infinityDate         = -622191234
	minusInfDate         = -625821272
	infinityDateStreamed = -2147472692
	minusInfDateStreamed = -2147472691
)

// infinityTexts are the same under time.precision.mode=isostring.
var infinityTexts = map[string]bool{
	"infinity": true, "-infinity": false,
	"+292278994-08-16Z": true, "+292269055-12-02Z": false, "-5877611-06-21Z": true, "-5877611-06-22Z": false,
	"+294247-01-10T04:00:25.2Z": true, "-290308-12-21T19:59:27.6Z": false,
}

// What InfinityMax makes of them: the bounds of what SQL engines read.
var (
	lastDay  = table.DaysOf(9999, 12, 31)
	firstDay = table.DaysOf(1, 1, 1)
)

// infinite appends what the policy says for an infinite date or timestamp.
func (c *cell) infinite(v *table.Vector, positive bool) error {
	switch {
	case c.types.Infinity == InfinityNull:
		return c.null(v)
	case c.types.Infinity == InfinityMax && positive:
		if c.typ.Root == table.Date {
			v.AppendWord(lastDay)
			return nil
		}
		nano := perNano - c.gran()
		return c.setMoment(v, (lastDay+1)*secondsPerDay-1, nano)
	case c.types.Infinity == InfinityMax:
		if c.typ.Root == table.Date {
			v.AppendWord(firstDay)
			return nil
		}
		return c.setMoment(v, firstDay*secondsPerDay, 0)
	}
	return bad(ReasonRange, "infinity does not fit %s; say types: {infinity: null} or {infinity: max} to have NULL or the last day", c.typ)
}

// gran is the finest part of a second that the column holds, in nanoseconds.
func (c *cell) gran() int64 { return int64(pow10[9-min(c.typ.Precision, 9)]) }

// toDate: DATE, from days or ISO text.
func (c *cell) toDate() bool {
	c.low, c.high = math.MinInt32, math.MaxInt32
	switch c.from.sort {
	case sortDate:
		c.integer = setDate
	case sortIsoDate, sortText:
		c.text = dateOfText
	case sortAny:
		c.integer, c.text = setDate, dateOfText
	default:
		return false
	}
	return true
}

func setDate(c *cell, v *table.Vector, n int64) error {
	switch n {
	case infinityDate, infinityDateStreamed:
		return c.infinite(v, true)
	case minusInfDate, minusInfDateStreamed:
		return c.infinite(v, false)
	}
	return setInteger(c, v, n)
}

func dateOfText(c *cell, v *table.Vector, b []byte) error {
	if positive, ok := infinityTexts[string(b)]; ok {
		return c.infinite(v, positive)
	}
	days, rest, ok := parseDate(b)
	if !ok || len(rest) > 1 || len(rest) == 1 && rest[0] != 'Z' {
		return c.wrong(show(b))
	}
	return setDate(c, v, days)
}

// toTime: TIME, which Paimon keeps in milliseconds of one day: what has finer parts, or is no time of a day, is an error.
func (c *cell) toTime() bool {
	switch c.from.sort {
	case sortTime:
		c.integer, c.div = setTime, c.from.unit/perMilli
	case sortIsoTime, sortText:
		c.text = timeOfText
	case sortAny:
		c.integer, c.text, c.div = setTime, timeOfText, unitOf(c.typ.Precision)/perMilli
	default:
		return false
	}
	c.step = int64(pow10[3-min(c.typ.Precision, 3)])
	return true
}

// unitOf is the unit of an undeclared number in a column of so many decimals: what Debezium's adaptive mode uses.
func unitOf(precision int) int64 {
	switch {
	case precision <= 3:
		return perMilli
	case precision <= 6:
		return perMicro
	}
	return perNano
}

func setTime(c *cell, v *table.Vector, n int64) error {
	millis := n / c.div
	if millis*c.div != n || millis%c.step != 0 || n < 0 || millis >= millisPerDay {
		return c.noTime(strconv.FormatInt(n, 10))
	}
	v.AppendWord(millis)
	return nil
}

func (c *cell) noTime(value string) error {
	return bad(ReasonRange, "time of day %s does not fit %s, which holds milliseconds of one day; say types: {time: int64} (microseconds) or {time: string} for a new table", value, c.typ)
}

func timeOfText(c *cell, v *table.Vector, b []byte) error {
	nanos, ok := parseSpan(b)
	if !ok {
		return c.wrong(show(b))
	}
	millis := nanos / 1e6
	if nanos%1e6 != 0 || millis%c.step != 0 || nanos < 0 || millis >= millisPerDay {
		return c.noTime(show(b))
	}
	v.AppendWord(millis)
	return nil
}

// toTimestamp: TIMESTAMP with and without local time zone. A number is parts of a second since the epoch, whatever zone
// the column has; text without zone does not name an instant, and text with another zone than Z is no local time.
func (c *cell) toTimestamp() bool {
	switch c.from.sort {
	case sortTimestamp:
		c.integer = setTimestamp
		c.scaleTo(c.from.unit)
	case sortIsoTimestamp, sortZoned, sortText:
		c.text = timestampOfText
	case sortDate:
		c.integer = timestampOfDate
	case sortAny:
		c.integer, c.text = setTimestamp, timestampOfText
		c.scaleTo(unitOf(c.typ.Precision))
	default:
		return false
	}
	return true
}

// scaleTo prepares setTimestamp for numbers of a unit.
func (c *cell) scaleTo(unit int64) {
	own := unitOf(c.typ.Precision)
	c.mul, c.div = max(own/unit, 1), max(unit/own, 1)
	c.step = c.gran() / (perNano / own)
	switch unit {
	case perMilli:
		c.low, c.high = minusInfMillis, infinityMillis
	case perMicro:
		c.low, c.high = minusInfMicros, infinityMicros
	default:
		c.low, c.high = minusInfNanos, infinityNanos
	}
}

func setTimestamp(c *cell, v *table.Vector, n int64) error {
	switch n {
	case c.high:
		return c.infinite(v, true)
	case c.low:
		return c.infinite(v, false)
	}
	if c.div > 1 {
		if n%c.div != 0 {
			return c.misfit(strconv.FormatInt(n, 10) + " parts of a second")
		}
		n /= c.div
	}
	if c.mul > 1 {
		if c.typ.Precision > 6 { // milliseconds and nanoseconds hold what an int64 of nanoseconds does not
			unit := perNano / c.mul
			second := floorDiv(n, unit)
			return c.setMoment(v, second, (n-second*unit)*c.mul)
		}
		if n > math.MaxInt64/c.mul || n < math.MinInt64/c.mul {
			return c.misfit(strconv.FormatInt(n, 10) + " parts of a second")
		}
		n *= c.mul
	}
	if c.step > 1 && n%c.step != 0 {
		return c.misfit(strconv.FormatInt(n, 10) + " parts of a second")
	}
	if c.typ.Precision > 6 {
		second := floorDiv(n, perNano)
		return c.setMoment(v, second, n-second*perNano)
	}
	v.AppendWord(n)
	return nil
}

func timestampOfDate(c *cell, v *table.Vector, n int64) error {
	switch n {
	case infinityDate, infinityDateStreamed:
		return c.infinite(v, true)
	case minusInfDate, minusInfDateStreamed:
		return c.infinite(v, false)
	}
	return c.setMoment(v, n*secondsPerDay, 0)
}

func timestampOfText(c *cell, v *table.Vector, b []byte) error {
	m, ok := c.clock.moment(b)
	if !ok {
		if m, ok = parseMoment(b); !ok || b[0] <= '-' {
			if positive, ok := infinityTexts[string(b)]; ok {
				return c.infinite(v, positive)
			}
		}
		if !ok {
			return c.wrong(show(b))
		}
	}
	if c.typ.Root == table.LocalTimestamp {
		if !m.zoned {
			return bad(ReasonType, "%s has no time zone and does not tell an instant for %s", show(b), c.typ)
		}
		m.second -= m.zone
	} else if m.zone != 0 {
		return bad(ReasonType, "%s has a time zone; give the column the type TIMESTAMP(%d) WITH LOCAL TIME ZONE", show(b), c.typ.Precision)
	}
	return c.setMoment(v, m.second, m.nano)
}

// setMoment appends seconds and nanoseconds since the epoch.
func (c *cell) setMoment(v *table.Vector, second, nano int64) error {
	if g := c.gran(); g > 1 && nano%g != 0 {
		return c.misfit(string(appendMoment(nil, second, nano)))
	}
	if c.typ.Precision <= 6 && c.typ.Precision > 3 && second > -1<<43 && second < 1<<43 { // most are this
		v.AppendWord(second*perMicro + nano/1e3)
		return nil
	}
	unit := int64(perMilli)
	if c.typ.Precision > 3 && c.typ.Precision <= 6 {
		unit = perMicro
	}
	if most := math.MaxInt64/unit - 1; second > most || second < -most {
		return c.misfit(string(appendMoment(nil, second, nano)))
	}
	if c.typ.Precision <= 6 {
		v.AppendWord(second*unit + nano/(perNano/unit))
		return nil
	}
	v.Data = table.AppendNanoTimestamp(v.Data, second*perMilli+nano/1e6, int32(nano%1e6))
	v.EndCell()
	return nil
}
