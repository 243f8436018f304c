package table

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCalendar compares with package time.
func TestCalendar(t *testing.T) {
	r := seeded(t)
	for range 20000 {
		at := time.Date(r.IntN(11000)-1000, time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e9), time.UTC)
		days := at.Unix() / secondsPerDay
		if at.Unix() < 0 && at.Unix()%secondsPerDay != 0 {
			days--
		}
		year, month, day := civil(days)
		require.Equal(t, [3]int{at.Year(), int(at.Month()), at.Day()}, [3]int{int(year), int(month), int(day)})
		require.Equal(t, days, DaysOf(year, month, day))
		if year >= 0 && year <= 9999 {
			require.Equal(t, at.Format("2006-01-02T15:04:05"), string(appendDateTime(nil, at.Unix(), 'T')))
		}
		got, ok := ParseDate(AppendDate(nil, days))
		require.True(t, ok)
		require.Equal(t, days, got)
	}
	for _, days := range []int64{math.MinInt32, math.MaxInt32} {
		got, ok := ParseDate(AppendDate(nil, days))
		require.True(t, ok)
		require.Equal(t, days, got)
	}
}

func TestParseDateRefuses(t *testing.T) {
	for _, text := range []string{"", "2024", "2024-02", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "2024-1-1x", "2024/01/01", "-", "2024--01-01", "a-1-1", "2024-001-01"} {
		_, ok := ParseDate([]byte(text))
		require.False(t, ok, text)
	}
}

func TestParseClock(t *testing.T) {
	for text, want := range map[string]int64{
		"00:00": 0, "12:34": 45240e9, "1:2:3": 3723e9, "23:59:59.999999999": 86399999999999, "00:00:00.5": 5e8, "12:34:56.789": 45296789e6,
	} {
		got, ok := ParseClock([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "12", "24:00", "12:60", "12:34:60", "12:34:56.", "12:34:56.1234567890", "12:34:56x", "12:34.5x", "-1:00", "12:34:56 "} {
		_, ok := ParseClock([]byte(text))
		require.False(t, ok, text)
	}
}

func TestNanoTimestamp(t *testing.T) {
	r := seeded(t)
	var last []byte
	for i, millis := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		nanos := int32(r.IntN(nanosPerMilli))
		cell := AppendNanoTimestamp(nil, millis, nanos)
		require.Len(t, cell, nanoTimestampBytes)
		m, n := SplitNanoTimestamp(cell)
		require.Equal(t, millis, m)
		require.Equal(t, nanos, n)
		require.True(t, i == 0 || bytes.Compare(last, cell) < 0)
		last = cell
	}
}

func TestAppendTimestamp(t *testing.T) {
	for _, c := range []struct {
		typ     string
		seconds int64
		nanos   int32
		out     string
	}{
		{"TIMESTAMP(3)", -1, 999_999_999, `"1969-12-31T23:59:59.999000"`},
		{"TIMESTAMP(6)", -1, 999_999_999, `"1969-12-31T23:59:59.999999"`},
		{"TIMESTAMP(9)", -1, 999_999_999, `"1969-12-31T23:59:59.999999999"`},
		{"TIMESTAMP(9)", 1709210096, 789_123_456, `"2024-02-29T12:34:56.789123456"`},
		{"TIMESTAMP(6)", math.MaxInt64, 0, ``},
		{"TIMESTAMP(9)", math.MinInt64, 0, ``},
	} {
		typ := mustType(t, c.typ)
		v := &Vector{Layout: typ.Layout()}
		err := AppendTimestamp(v, &typ, c.seconds, c.nanos)
		if c.out == "" {
			require.Error(t, err)
			require.Zero(t, v.Len())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.out, canonical(typ, v, 0))
	}
	for precision, fits := range []bool{false, false, false, true, true, true, true, true, true, true} {
		require.Equal(t, fits, TimestampFits(123_000_000, precision), fmt.Sprint(precision))
	}
}

func TestMulAdd(t *testing.T) {
	for _, c := range []struct {
		a, b, c, out int64
		ok           bool
	}{
		{math.MaxInt64 / 1000, 1000, 807, math.MaxInt64, true},
		{math.MaxInt64 / 1000, 1000, 808, 0, false},
		{-(math.MaxInt64/1000 + 1), 1000, 192, math.MinInt64, true},
		{math.MinInt64, 1, 0, math.MinInt64, true},
		{math.MinInt64, 2, 0, 0, false},
		{-1, 1000, 999, -1, true},
	} {
		got, ok := mulAdd(c.a, c.b, c.c)
		require.Equal(t, c.ok, ok, "%v", c)
		if ok {
			require.Equal(t, c.out, got)
		}
	}
}
