package debezium

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sink/table"
)

// sqlContext is what decides, besides the types, how a connector sends values.
type sqlContext struct {
	binary BinaryMode // of bytes in a STRING
	unit   int64      // of times of day in a BIGINT
}

// sqlCell gives a value, as SQL prints it, the canonical text of a column of a type. kind is the SQL type. It shares no code
// with the decoder.
func (x sqlContext) cell(kind string, text *string, t table.Type) string {
	if text == nil {
		return "null"
	}
	s := *text
	switch s {
	case "infinity":
		s = "9999-12-31 23:59:59.999999999"
	case "-infinity":
		s = "0001-01-01 00:00:00"
	}
	if strings.HasSuffix(kind, "[]") {
		return x.array(strings.TrimSuffix(kind, "[]"), s, *t.Element)
	}
	switch t.Root {
	case table.TinyInt, table.SmallInt, table.Int, table.BigInt:
		return x.integer(kind, s)
	case table.Boolean:
		return strconv.FormatBool(s != "false" && s != "f" && s != "0")
	case table.Float, table.Double:
		return sqlFloat(trimNumber(s), t)
	case table.Decimal:
		return `"` + plainDecimal(trimNumber(s), t.Scale) + `"`
	case table.Char, table.VarChar:
		return quoted(x.text(kind, s))
	case table.VarBinary, table.Binary:
		return sqlBytes(kind, s)
	case table.Date:
		return sqlWord(t, sqlSeconds(s)/86400)
	case table.Time:
		return sqlWord(t, int64(sqlClock(s)/time.Millisecond))
	case table.Timestamp, table.LocalTimestamp:
		return sqlTimestamp(s, t)
	}
	return sqlNested(kind, s, t)
}

func sqlWord(t table.Type, w int64) string {
	v := table.Vector{Layout: table.Words}
	v.AppendWord(w)
	return string(table.AppendCanonical(nil, t, &v, 0))
}

func quoted(s string) string {
	v := table.Vector{Layout: table.Bytes}
	v.AppendBytes([]byte(s))
	return string(table.AppendCanonical(nil, table.Type{Root: table.VarChar, Length: table.MaxLength}, &v, 0))
}

func base64Text(b []byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` }

func trimNumber(s string) string { return strings.NewReplacer("$", "", ",", "").Replace(s) }

func (x sqlContext) integer(kind, s string) string {
	switch {
	case strings.HasPrefix(kind, "time"):
		return strconv.FormatInt(int64(sqlClock(s))/(1e9/x.unit), 10)
	case kind == "interval":
		return strconv.FormatInt(sqlInterval(s), 10)
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return "no integer: " + s
	}
	return n.String()
}

func sqlFloat(s string, t table.Type) string {
	bits := 64
	if t.Root == table.Float {
		bits = 32
	}
	f, err := strconv.ParseFloat(s, bits)
	if err != nil {
		return err.Error()
	}
	if bits == 32 {
		return sqlWord(t, int64(math.Float32bits(float32(f))))
	}
	return sqlWord(t, int64(math.Float64bits(f)))
}

// plainDecimal pads a decimal to a scale.
func plainDecimal(s string, scale int) string {
	whole, fraction, _ := strings.Cut(s, ".")
	neg := strings.HasPrefix(whole, "-")
	whole = strings.TrimLeft(strings.TrimPrefix(whole, "-"), "0")
	if whole == "" {
		whole = "0"
	}
	if len(fraction) < scale {
		fraction += strings.Repeat("0", scale-len(fraction))
	}
	if neg {
		whole = "-" + whole
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}

func (x sqlContext) text(kind, s string) string {
	switch {
	case kind == "time with time zone":
		return sqlZonedTime(s)
	case kind == "interval":
		return isoInterval(s)
	case kind == "hstore":
		var parts []string
		for _, p := range hstorePairs(s) {
			parts = append(parts, p[0]+":"+p[1])
		}
		return "{" + strings.Join(parts, ",") + "}"
	case kind == "inet": // Debezium leaves a full mask out
		if ip, mask, _ := strings.Cut(s, "/"); mask == "32" && !strings.Contains(ip, ":") || mask == "128" {
			return ip
		}
	case strings.HasPrefix(kind, "time"): // isostring
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s + "Z"
	case kind == "money":
		return trimNumber(s)
	case strings.Contains(kind, "zerofill"), kind == "decimal(10,4) unsigned zerofill":
		return plainDecimal(s, 4)
	case kind == "bytea" || strings.Contains(kind, "binary") || strings.Contains(kind, "blob"):
		return x.encoded(s)
	}
	return s
}

// encoded is a value of bytes in the text that binary.handling.mode makes of it.
func (x sqlContext) encoded(s string) string {
	b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`))
	switch {
	case err != nil:
		return err.Error()
	case x.binary == BinaryHex:
		return hex.EncodeToString(b)
	case x.binary == BinaryBase64URL:
		return base64.URLEncoding.EncodeToString(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func sqlBytes(kind, s string) string {
	if rest, ok := strings.CutPrefix(s, `\x`); ok {
		b, err := hex.DecodeString(rest)
		if err != nil {
			return err.Error()
		}
		return base64Text(b)
	}
	if width, ok := strings.CutPrefix(kind, "bit("); ok && strings.Trim(s, "01") == "" && strconv.Itoa(len(s))+")" == width { // PostgreSQL: the bits
		return littleEndian(s, true)
	}
	if strings.HasPrefix(kind, "bit varying") {
		return littleEndian(s, true)
	}
	if width, ok := strings.CutPrefix(kind, "bit("); ok { // MySQL: the number in hex
		n, _ := new(big.Int).SetString(s, 16)
		w, _ := strconv.Atoi(strings.TrimSuffix(width, ")"))
		return littleEndian(fmt.Sprintf("%0*b", w, n), false)
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return err.Error()
	}
	return base64Text(b)
}

// littleEndian is a bit string as Debezium sends it; PostgreSQL's connector drops zero bytes at the end.
func littleEndian(bits string, drop bool) string {
	b := make([]byte, (len(bits)+7)/8)
	for i := range bits {
		if bits[len(bits)-1-i] == '1' {
			b[i/8] |= 1 << (i % 8)
		}
	}
	for drop && len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return base64Text(b)
}

var datePattern = regexp.MustCompile(`^(\d+)-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(\.\d+)?)?(\+00)?( BC)?$`)

// sqlSeconds reads a date or timestamp, without fraction.
func sqlSeconds(s string) int64 {
	m := datePattern.FindStringSubmatch(s)
	if m == nil {
		return -1 << 40
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v }
	year := n(1)
	if m[9] != "" {
		year = 1 - year
	}
	return time.Date(year, time.Month(n(2)), n(3), n(4), n(5), n(6), 0, time.UTC).Unix()
}

func sqlTimestamp(s string, t table.Type) string {
	seconds, nanos := sqlSeconds(s), int64(0)
	if m := datePattern.FindStringSubmatch(s); m != nil && m[7] != "" {
		nanos, _ = strconv.ParseInt((m[7][1:] + "000000000")[:9], 10, 64)
	}
	switch {
	case t.Precision <= 3:
		return sqlWord(t, seconds*1000+nanos/1e6)
	case t.Precision <= 6:
		return sqlWord(t, seconds*1e6+nanos/1e3)
	}
	v := table.Vector{Layout: table.Bytes}
	v.Data = table.AppendNanoTimestamp(v.Data, seconds*1000+nanos/1e6, int32(nanos%1e6))
	v.EndCell()
	return string(table.AppendCanonical(nil, t, &v, 0))
}

// sqlClock reads [-]HH:MM:SS[.ffffff].
func sqlClock(s string) time.Duration {
	rest, neg := strings.CutPrefix(s, "-")
	parts := strings.Split(rest, ":")
	if len(parts) != 3 {
		return -1
	}
	d, err := time.ParseDuration(parts[0] + "h" + parts[1] + "m" + parts[2] + "s")
	if err != nil {
		return -1
	}
	if neg {
		return -d
	}
	return d
}

// sqlZonedTime is a timetz in UTC, as ZonedTime has it.
func sqlZonedTime(s string) string {
	i := strings.LastIndexAny(s, "+-")
	zone := s[i+1:]
	if !strings.Contains(zone, ":") {
		zone += ":00"
	}
	d, off := sqlClock(s[:i]), sqlClock(zone+":00")
	if s[i] == '-' {
		off = -off
	}
	d = (d - off + 48*time.Hour) % (24 * time.Hour)
	out := time.Unix(0, 0).UTC().Add(d).Format("15:04:05.999999999")
	return out + "Z"
}

var intervalPattern = regexp.MustCompile(`(-?\d+) (year|mon|day)s?|(-?\d+:\d\d:\d\d(?:\.\d+)?)`)

func intervalParts(s string) (years, months, days int64, clock time.Duration) {
	for _, m := range intervalPattern.FindAllStringSubmatch(s, -1) {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		switch m[2] {
		case "year":
			years = n
		case "mon":
			months = n
		case "day":
			days = n
		default:
			clock = sqlClock(m[3])
		}
	}
	return
}

// sqlInterval is an interval as MicroDuration has it: a month is 30.4375 days.
func sqlInterval(s string) int64 {
	years, months, days, clock := intervalParts(s)
	return (years*12+months)*2629800*1e6 + days*86400*1e6 + clock.Microseconds()
}

// isoInterval is an interval as Interval has it.
func isoInterval(s string) string {
	years, months, days, clock := intervalParts(s)
	neg := clock < 0
	if neg {
		clock = -clock
	}
	seconds := float64(clock%time.Minute) / float64(time.Second)
	hours, minutes := int64(clock/time.Hour), int64(clock/time.Minute)%60
	text := strconv.FormatFloat(seconds, 'f', -1, 64)
	if neg {
		hours, minutes, text = -hours, -minutes, "-"+text
	}
	return fmt.Sprintf("P%dY%dM%dDT%dH%dM%sS", years, months, days, hours, minutes, text)
}

// hstorePairs reads hstore text: "a"=>"1", "b"=>NULL, as JSON texts.
func hstorePairs(s string) (pairs [][2]string) {
	pattern := regexp.MustCompile(`("(?:[^"\\]|\\.)*")=>("(?:[^"\\]|\\.)*"|NULL)`)
	for _, m := range pattern.FindAllStringSubmatch(s, -1) {
		value := m[2]
		if value == "NULL" {
			value = "null"
		}
		pairs = append(pairs, [2]string{m[1], value})
	}
	return pairs
}

// sqlArray reads an array literal of PostgreSQL.
func (x sqlContext) array(kind, s string, elem table.Type) string {
	if i := strings.IndexByte(s, '='); strings.HasPrefix(s, "[") && i > 0 { // [0:2]={7,8,9}
		s = s[i+1:]
	}
	var parts []string
	pattern := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^,{}]+`)
	for _, m := range pattern.FindAllString(s[1:len(s)-1], -1) {
		if m == "NULL" {
			parts = append(parts, "null")
			continue
		}
		if strings.HasPrefix(m, `"`) {
			m = regexp.MustCompile(`\\(.)`).ReplaceAllString(m[1:len(m)-1], "$1")
		}
		parts = append(parts, x.cell(kind, &m, elem))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func sqlNested(kind, s string, t table.Type) string {
	switch {
	case kind == "hstore":
		var parts []string
		for _, p := range hstorePairs(s) {
			parts = append(parts, "["+p[0]+","+p[1]+"]")
		}
		return "[" + strings.Join(parts, ",") + "]"
	case strings.HasPrefix(kind, "vector"):
		b, _ := hex.DecodeString(s)
		var parts []string
		for ; len(b) >= 4; b = b[4:] {
			parts = append(parts, sqlWord(*t.Element, int64(binary.LittleEndian.Uint32(b))))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case t.Root == table.RowType:
		return sqlGeometry(kind, s, t)
	}
	return "no way to compare " + kind
}

// sqlGeometry is a geometry or point as a ROW.
func sqlGeometry(kind, s string, t table.Type) string {
	values := map[string]string{"srid": "null", "wkb": "null", "x": "null", "y": "null"}
	coordinate := func(b []byte) string {
		return sqlWord(table.Type{Root: table.Double}, int64(binary.LittleEndian.Uint64(b)))
	}
	if strings.HasPrefix(s, "(") { // PostgreSQL's point
		x, y, _ := strings.Cut(strings.Trim(s, "()"), ",")
		values["x"], values["y"] = sqlFloat(x, table.Type{Root: table.Double}), sqlFloat(y, table.Type{Root: table.Double})
	} else {
		b, err := hex.DecodeString(s)
		if err != nil {
			return err.Error()
		}
		var srid uint32
		if b[0] <= 1 && len(b) > 9 && !(len(b) > 4 && strings.HasPrefix(s, "00000000")) { // EWKB: the SRID is behind the type
			if binary.LittleEndian.Uint32(b[1:])&0x20000000 != 0 {
				srid = binary.LittleEndian.Uint32(b[5:])
			}
		} else { // MySQL: the SRID is in front
			srid, b = binary.LittleEndian.Uint32(b), b[4:]
		}
		if srid != 0 {
			values["srid"] = strconv.Itoa(int(srid))
		}
		values["wkb"] = base64Text(b)
		if t.Fields[0].Name == "x" {
			values["x"], values["y"] = coordinate(b[5:]), coordinate(b[13:])
		}
	}
	var parts []string
	for _, f := range t.Fields {
		name, _ := json.Marshal(f.Name)
		parts = append(parts, string(name)+":"+values[f.Name])
	}
	return "{" + strings.Join(parts, ",") + "}"
}
