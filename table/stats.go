package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// StatsMode says what is kept of a column's values in a file's statistics: option metadata.stats-mode.
type StatsMode struct {
	Level  StatsLevel
	Length int // StatsTruncate: the code points of strings, the bytes of binary values
}

// StatsLevel is the family of a StatsMode.
type StatsLevel uint8

// The levels, each keeping more than the one before.
const (
	StatsNone     StatsLevel = iota // nothing
	StatsCounts                     // how many are null
	StatsTruncate                   // also bounds, of strings and binary values only the beginning
	StatsFull                       // also bounds
)

// KeyStatsMode is what Paimon keeps of key columns, whatever the options say.
var KeyStatsMode = StatsMode{Level: StatsTruncate, Length: 128}

// ParseStatsMode reads "none", "counts", "truncate(16)" or "full", in any case.
func ParseStatsMode(s string) (StatsMode, error) {
	switch text := strings.ToLower(strings.TrimSpace(s)); {
	case text == "none":
		return StatsMode{Level: StatsNone}, nil
	case text == "counts":
		return StatsMode{Level: StatsCounts}, nil
	case text == "full":
		return StatsMode{Level: StatsFull}, nil
	case strings.HasPrefix(text, "truncate(") && strings.HasSuffix(text, ")"):
		n, err := strconv.Atoi(strings.TrimSpace(text[len("truncate(") : len(text)-1]))
		if err == nil && n > 0 {
			return StatsMode{Level: StatsTruncate, Length: n}, nil
		}
	}
	return StatsMode{}, fmt.Errorf("stats mode %q is none of none, counts, truncate(n), full", s)
}

// String returns the text that ParseStatsMode reads.
func (m StatsMode) String() string {
	switch m.Level {
	case StatsNone:
		return "none"
	case StatsCounts:
		return "counts"
	case StatsTruncate:
		return fmt.Sprintf("truncate(%d)", m.Length)
	}
	return "full"
}

// StatsModeOf returns the mode of a column: option fields.<column>.stats-mode, else that of the option key, which is
// metadata.stats-mode or changelog-file.stats-mode. Constructed types have none, and neither have, but by their own option, columns after
// the first that metadata.stats-keep-first-n-columns counts.
func (s *Schema) StatsModeOf(column, key string) (StatsMode, error) {
	if i := s.FieldIndex(column); i >= 0 && s.Fields[i].Type.Nested() {
		return StatsMode{Level: StatsNone}, nil
	}
	name := "fields." + column + ".stats-mode"
	value := s.Options[name]
	if value == "" {
		kept, err := s.keepsStats(column)
		if err != nil || !kept {
			return StatsMode{Level: StatsNone}, err
		}
		name, value = key, s.Option(key)
	}
	mode, err := ParseStatsMode(value)
	if err != nil {
		return mode, fmt.Errorf("option %s: %w", name, err)
	}
	return mode, nil
}

// keepsStats reports whether a column without its own stats-mode is among those that metadata.stats-keep-first-n-columns counts. With
// data-file.thin-mode the columns of the key are not counted, and keep theirs (org.apache.paimon.utils.StatsCollectorFactories).
func (s *Schema) keepsStats(column string) (bool, error) {
	first, err := s.OptionInt("metadata.stats-keep-first-n-columns")
	if err != nil || first < 0 {
		return true, err
	}
	thin, err := s.OptionBool("data-file.thin-mode")
	if err != nil {
		return false, err
	}
	exempt := func(name string) bool {
		return thin && slices.Contains(s.PrimaryKeys, name) && s.Options["fields."+name+".stats-mode"] == ""
	}
	if exempt(column) {
		return true, nil
	}
	var before int64
	for _, f := range s.Fields {
		if f.Name == column {
			break
		}
		if !exempt(f.Name) {
			before++
		}
	}
	return before < first, nil
}

// StatsCollector gathers the bounds and the null count of one column of a file. Bounds never leave out a value that is
// there: where that cannot be said exactly they are wider, or absent.
type StatsCollector struct {
	typ   Type
	mode  StatsMode
	kind  statsKind
	limit int // bytes of a value that matter; 0: all

	rows, nulls int64
	seen        bool // a value that is not null
	nan         bool
	minWord     int64
	maxWord     int64
	minBytes    []byte
	maxBytes    []byte
	minHead     uint64 // the first 8 bytes of minBytes and maxBytes, to tell most values without a look at the rest
	maxHead     uint64
}

type statsKind uint8

const (
	statsCountOnly statsKind = iota
	statsWords
	statsFloat
	statsDouble
	statsBytes
	statsDecimal // as statsBytes, but signed
)

// NewStatsCollector returns a collector of a column. Of constructed types only nulls are counted.
func NewStatsCollector(t Type, mode StatsMode) *StatsCollector {
	c := &StatsCollector{typ: t.Nullable(), mode: mode}
	switch {
	case mode.Level < StatsTruncate || t.Nested():
		return c
	case t.Root == Float:
		c.kind = statsFloat
	case t.Root == Double:
		c.kind = statsDouble
	case t.Layout() == Words:
		c.kind = statsWords
	case t.Root == Decimal:
		c.kind = statsDecimal
	default:
		c.kind = statsBytes
		if c.truncates() {
			c.limit = utf8.UTFMax * (mode.Length + 1)
		}
	}
	return c
}

// truncates reports whether bounds are cut: strings and binary values in mode truncate.
func (c *StatsCollector) truncates() bool {
	switch c.typ.Root {
	case Char, VarChar, Binary, VarBinary:
		return c.mode.Level == StatsTruncate
	}
	return false
}

// Reset makes the collector ready for another file.
func (c *StatsCollector) Reset() {
	c.rows, c.nulls, c.seen, c.nan = 0, 0, false, false
	c.minBytes, c.maxBytes = c.minBytes[:0], c.maxBytes[:0]
}

// Update takes cells of layout Words; nulls is as in [Vector].
func (c *StatsCollector) Update(words []int64, nulls []bool) {
	c.rows += int64(len(words))
	for _, null := range nulls {
		if null {
			c.nulls++
		}
	}
	switch c.kind {
	case statsWords:
		c.words(words, nulls)
	case statsFloat, statsDouble:
		c.floats(words, nulls)
	}
}

func (c *StatsCollector) words(words []int64, nulls []bool) {
	i := 0
	if !c.seen {
		for i < len(words) && nulls != nil && nulls[i] {
			i++
		}
		if i == len(words) {
			return
		}
		c.minWord, c.maxWord, c.seen = words[i], words[i], true
	}
	low, high := c.minWord, c.maxWord
	if nulls == nil {
		for _, w := range words[i:] {
			low, high = min(low, w), max(high, w)
		}
	} else {
		nulls = nulls[:len(words)]
		for ; i < len(words); i++ {
			if !nulls[i] {
				low, high = min(low, words[i]), max(high, words[i])
			}
		}
	}
	c.minWord, c.maxWord = low, high
}

// floats compares by the numbers that sort as floats do. A NaN leaves no bounds: readers do not agree on its place.
func (c *StatsCollector) floats(words []int64, nulls []bool) {
	for i, w := range words {
		if nulls != nil && nulls[i] {
			continue
		}
		var f float64
		if c.kind == statsFloat {
			f = float64(math.Float32frombits(uint32(w)))
		} else {
			f = math.Float64frombits(uint64(w))
		}
		if f != f {
			c.nan = true
			continue
		}
		key := int64(sortableDouble(math.Float64bits(f)) ^ 1<<63)
		if !c.seen {
			c.minWord, c.maxWord, c.seen = key, key, true
		}
		c.minWord, c.maxWord = min(c.minWord, key), max(c.maxWord, key)
	}
}

// floatWord turns a bound back into a cell. A bound of zero gets the sign that takes in the other zero.
func (c *StatsCollector) floatWord(key int64, lower bool) int64 {
	bits := uint64(key) ^ 1<<63
	if bits>>63 != 0 {
		bits &^= 1 << 63
	} else {
		bits = ^bits
	}
	f := math.Float64frombits(bits)
	if f == 0 {
		f = 0
		if lower {
			f = math.Copysign(0, -1)
		}
	}
	if c.kind == statsFloat {
		return int64(math.Float32bits(float32(f)))
	}
	return int64(math.Float64bits(f))
}

// UpdateBytes takes cells of layout Bytes: cell i is data[ends[i-1]:ends[i]], or data[base:ends[0]] for the first; nulls
// is as in [Vector].
func (c *StatsCollector) UpdateBytes(data []byte, base uint32, ends []uint32, nulls []bool) {
	c.rows += int64(len(ends))
	for i, end := range ends {
		switch {
		case nulls != nil && nulls[i]:
			c.nulls++
		case c.kind == statsBytes:
			c.value(data[base:end])
		case c.kind == statsDecimal:
			c.decimal(data[base:end])
		}
		base = end
	}
}

// UpdateVector takes cells from to to of a vector of either layout.
func (c *StatsCollector) UpdateVector(v *Vector, from, to int) {
	var nulls []bool
	if v.Nulls != nil {
		nulls = v.Nulls[from:to]
	}
	if v.Layout == Words {
		c.Update(v.Words[from:to], nulls)
		return
	}
	c.UpdateBytes(v.Data, v.end(from), v.Ends[from:to], nulls)
}

func (c *StatsCollector) value(b []byte) {
	if c.limit > 0 && len(b) > c.limit {
		b = b[:c.limit]
	}
	head := headOf(b)
	if c.seen && head > c.minHead && head < c.maxHead {
		return
	}
	if !c.seen || bytes.Compare(b, c.minBytes) < 0 {
		c.minBytes, c.minHead = append(c.minBytes[:0], b...), head
	}
	if !c.seen || bytes.Compare(b, c.maxBytes) > 0 {
		c.maxBytes, c.maxHead = append(c.maxBytes[:0], b...), head
	}
	c.seen = true
}

// headOf returns the first 8 bytes as a number; its order is that of the values, but for values with the same head.
func headOf(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var head uint64
	for i, c := range b {
		head |= uint64(c) << (56 - 8*i)
	}
	return head
}

func (c *StatsCollector) decimal(b []byte) {
	if !c.seen || compareDecimal(b, c.minBytes) < 0 {
		c.minBytes = append(c.minBytes[:0], b...)
	}
	if !c.seen || compareDecimal(b, c.maxBytes) > 0 {
		c.maxBytes = append(c.maxBytes[:0], b...)
	}
	c.seen = true
}

// compareDecimal orders cells of DECIMAL above 18 digits.
func compareDecimal(a, b []byte) int {
	if x, y := a[0]^0x80, b[0]^0x80; x != y {
		return int(x) - int(y)
	}
	return bytes.Compare(a[1:], b[1:])
}

// Rows returns the number of cells taken.
func (c *StatsCollector) Rows() int64 { return c.rows }

// Nulls returns how many of them are null; -1 in mode none.
func (c *StatsCollector) Nulls() int64 {
	if c.mode.Level == StatsNone {
		return -1
	}
	return c.nulls
}

// bounds appends the least and the greatest value to two vectors, nulls where they are unknown or there is none.
func (c *StatsCollector) bounds(low, high *Vector) {
	switch {
	case !c.seen || c.nan || c.kind == statsCountOnly:
	case c.kind == statsWords:
		low.AppendWord(c.minWord)
		high.AppendWord(c.maxWord)
		return
	case c.kind == statsFloat || c.kind == statsDouble:
		low.AppendWord(c.floatWord(c.minWord, true))
		high.AppendWord(c.floatWord(c.maxWord, false))
		return
	case !c.truncates():
		low.AppendBytes(c.minBytes)
		high.AppendBytes(c.maxBytes)
		return
	default:
		if upper, ok := c.upper(); ok {
			low.AppendBytes(c.cut(c.minBytes))
			high.AppendBytes(upper)
			return
		}
	}
	low.AppendNull()
	high.AppendNull()
}

// cut returns the beginning of a value that a bound keeps.
func (c *StatsCollector) cut(b []byte) []byte {
	if c.typ.Root == Binary || c.typ.Root == VarBinary {
		return b[:min(len(b), c.mode.Length)]
	}
	n := 0
	for range c.mode.Length {
		if n == len(b) {
			break
		}
		_, size := utf8.DecodeRune(b[n:])
		n += size
	}
	return b[:n]
}

// upper returns the beginning of the greatest value, increased at its end if something was cut off. It is not ok when
// nothing can be increased.
func (c *StatsCollector) upper() (b []byte, ok bool) {
	b = c.cut(c.maxBytes)
	if len(b) == len(c.maxBytes) {
		return b, true
	}
	b = bytes.Clone(b)
	if c.typ.Root == Binary || c.typ.Root == VarBinary {
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != 0xff {
				b[i]++
				return b[:i+1], true
			}
		}
		return nil, false
	}
	for len(b) > 0 {
		r, size := utf8.DecodeLastRune(b)
		b = b[:len(b)-size]
		if r == utf8.RuneError && size == 1 {
			return nil, false
		}
		if r++; r >= 0xd800 && r <= 0xdfff {
			r = 0xe000
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(b, r), true
		}
	}
	return nil, false
}

// BuildStats returns the statistics row of some columns, one collector a column.
func BuildStats(columns []*StatsCollector) Stats {
	types := make([]Type, len(columns))
	low, high := make([]*Vector, len(columns)), make([]*Vector, len(columns))
	out := Stats{Nulls: make([]int64, len(columns))}
	for i, c := range columns {
		types[i] = c.typ
		low[i], high[i] = &Vector{Layout: c.typ.Layout()}, &Vector{Layout: c.typ.Layout()}
		c.bounds(low[i], high[i])
		out.Nulls[i] = c.Nulls()
	}
	out.Min = EncodeRow(nil, types, low, 0)
	out.Max = EncodeRow(nil, types, high, 0)
	return out
}
