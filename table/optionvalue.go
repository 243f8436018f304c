package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// memoryUnits and durationUnits are those of org.apache.paimon.options.MemorySize and org.apache.paimon.utils.TimeUtils.
var memoryUnits = map[string]int64{
	"": 1, "b": 1, "bytes": 1,
	"k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40,
}

var durationUnits = map[string]time.Duration{
	"":  time.Millisecond,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond,
	"microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ns": time.Nanosecond, "nano": time.Nanosecond, "nanos": time.Nanosecond,
	"nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
}

// ParseMemorySize reads a size as Paimon spells it, in bytes: "128 mb", "8kb", "64"; a bare number is bytes, and every
// unit is a power of 1024.
func ParseMemorySize(s string) (int64, error) {
	n, unit, err := splitUnit(s)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w, such as 128 mb", s, err)
	}
	factor, ok := memoryUnits[unit]
	if !ok {
		return 0, fmt.Errorf("size %q: unit %q is none of b, kb, mb, gb, tb", s, unit)
	}
	if n > math.MaxInt64/factor {
		return 0, fmt.Errorf("size %q is above %d bytes", s, int64(math.MaxInt64))
	}
	return n * factor, nil
}

// ParseDuration reads a time span as Paimon spells it: "1 h", "10min", "500 ms"; a bare number is milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	n, unit, err := splitUnit(s)
	if err != nil {
		return 0, fmt.Errorf("duration %q: %w, such as 1 h", s, err)
	}
	factor, ok := durationUnits[unit]
	if !ok {
		return 0, fmt.Errorf("duration %q: unit %q is none of d, h, min, s, ms, micro, ns", s, unit)
	}
	if n > math.MaxInt64/int64(factor) {
		return 0, fmt.Errorf("duration %q is above %s", s, time.Duration(math.MaxInt64))
	}
	return time.Duration(n) * factor, nil
}

// splitUnit splits "128 mb" into 128 and "mb", the unit in lower case.
func splitUnit(s string) (int64, string, error) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == 0 {
		return 0, "", fmt.Errorf("does not begin with a number")
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("the number is too large")
	}
	return n, strings.ToLower(strings.TrimSpace(s[i:])), nil
}

// OptionInt returns an option as a whole number.
func (s *Schema) OptionInt(key string) (int64, error) {
	v := s.Option(key)
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("option %s is %q, but has to be a whole number", key, v)
	}
	return n, nil
}

// OptionBool returns an option as a truth value: true or false in any case.
func (s *Schema) OptionBool(key string) (bool, error) {
	v := s.Option(key)
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("option %s is %q, but has to be true or false", key, v)
}

// OptionSize returns an option as a size in bytes.
func (s *Schema) OptionSize(key string) (int64, error) {
	n, err := ParseMemorySize(s.Option(key))
	if err != nil {
		return 0, fmt.Errorf("option %s: %w", key, err)
	}
	return n, nil
}

// OptionDuration returns an option as a time span.
func (s *Schema) OptionDuration(key string) (time.Duration, error) {
	d, err := ParseDuration(s.Option(key))
	if err != nil {
		return 0, fmt.Errorf("option %s: %w", key, err)
	}
	return d, nil
}
