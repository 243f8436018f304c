package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size in bytes. In text it is a whole number with or without a unit: B, kB, MB, GB, TB (powers of 1000),
// KiB, MiB, GiB, TiB (powers of 1024), in any case and with spaces before the unit if wanted.
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// UnmarshalText reads "128MiB", "64 MB" or "1024".
func (b *Bytes) UnmarshalText(text []byte) error {
	number, unit := splitUnit(string(text))
	size := int64(1)
	if unit != "" {
		size = 0
		for _, u := range byteUnits {
			if strings.EqualFold(u.name, unit) {
				size = u.size
			}
		}
		if size == 0 {
			return errors.New("is not a size: write 128MiB, 64 MB or a number of bytes")
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return errors.New("is not a size: write 128MiB, 64 MB or a number of bytes")
	}
	if n > math.MaxInt64/size {
		return errors.New("is too large a size")
	}
	*b = Bytes(n * size)
	return nil
}

// String returns the size in the largest power-of-1024 unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits[:4] {
		if b != 0 && int64(b)%u.size == 0 {
			return fmt.Sprintf("%d%s", int64(b)/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", int64(b))
}

// Duration is a length of time. In text it is a sequence of numbers with units ns, us, ms, s, m, h or d: "10s", "1h30m", "7d".
type Duration time.Duration

// UnmarshalText reads "10s", "1h30m", "500 ms" or "7d".
func (d *Duration) UnmarshalText(text []byte) error {
	s := strings.ReplaceAll(string(text), " ", "")
	var days time.Duration
	if number, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return errors.New("is not a time: write 10s, 500ms, 1h30m or 7d")
		}
		days, s = time.Duration(n)*24*time.Hour, rest
		if s == "" {
			s = "0s"
		}
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 || days > math.MaxInt64-v {
		return errors.New("is not a time: write 10s, 500ms, 1h30m or 7d")
	}
	*d = Duration(days + v)
	return nil
}

// String returns the time as Go prints it, without zero parts: "10s", "1h30m".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Std returns the time as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// splitUnit cuts "64 MB" into "64" and "MB".
func splitUnit(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// Regexp is a regular expression that must match a whole text (Go's syntax, RE2).
type Regexp struct {
	text string
	re   *regexp.Regexp
}

// UnmarshalText compiles the expression.
func (r *Regexp) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("is an empty regular expression, which matches nothing: remove the key, or write .* for all")
	}
	if _, err := syntax.Parse(string(text), syntax.Perl); err != nil {
		var bad *syntax.Error
		if errors.As(err, &bad) {
			return fmt.Errorf("is not a regular expression: %s in %q", bad.Code, bad.Expr)
		}
		return fmt.Errorf("is not a regular expression: %w", err)
	}
	re, err := regexp.Compile(`^(?:` + string(text) + `)$`)
	if err != nil {
		return fmt.Errorf("is not a regular expression: %w", err)
	}
	*r = Regexp{text: string(text), re: re}
	return nil
}

// String returns the expression as it was written.
func (r Regexp) String() string { return r.text }

// Anchored returns the compiled expression, which matches whole texts only.
func (r Regexp) Anchored() *regexp.Regexp { return r.re }

// Path is the name of a local file. [Load] makes it absolute.
type Path string
