//go:build integration

package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireTruth wants a table's rows (canonical JSON) to be those of the source, read there with SQL. known are the
// differences that the events themselves bring; each must be there, so that the list stays true. db is "pg" or "my".
func requireTruth(t testing.TB, db string, source truth, s schema, rows []string, known differences) {
	t.Helper()
	types := map[string]json.RawMessage{}
	for _, f := range s.Fields {
		types[f.Name] = compact(t, f.Type)
	}
	actual := map[string]map[string]json.RawMessage{}
	for _, row := range rows {
		var cells map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(row), &cells))
		actual[keyOf(t, json.RawMessage(row), source.PrimaryKey)] = cells
	}
	met := map[string]bool{}
	here := 0
	for _, want := range source.Rows {
		key := sourceKey(want, source.PrimaryKey)
		got, there := actual[key]
		if rule := known.find(wholeRow, key); rule != "" {
			met[rule] = met[rule] || !there
			continue
		}
		here++
		require.True(t, there, "the source has row %s, the table does not", key)
		for column, dbType := range source.Columns {
			rule := known.find(column, key)
			var err error
			if _, has := types[column]; has {
				err = cellHolds(db, dbType, want[column], types[column], got[column])
			} else {
				err = fmt.Errorf("the table has no column %s", column)
			}
			switch {
			case rule != "":
				met[rule] = met[rule] || err != nil
			case err != nil:
				t.Errorf("row %s, column %s (%s, %s): %v", key, column, dbType, types[column], err)
			}
		}
	}
	require.Len(t, actual, here, "rows in the table, rows in the source")
	for rule := range known {
		if !met[rule] {
			t.Errorf("the known difference %q is none: take it off the list", rule)
		}
	}
}

func compact(t testing.TB, text json.RawMessage) json.RawMessage {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, text))
	return b.Bytes()
}

func sourceKey(row map[string]*string, key []string) string {
	parts := make([]string, len(key))
	for i, name := range key {
		parts[i] = *row[name] // the keys of all fixtures are integers, whose text is the same everywhere
	}
	return strings.Join(parts, ",")
}

// differences are cells where a table cannot show what the source holds: "column" or "column row,row" to why, with the
// number of the fact in testdata/README.md. The column wholeRow is for rows that the table does not have at all.
type differences map[string]string

const wholeRow = "*"

// find is the rule for a cell, or "".
func (d differences) find(column, key string) string {
	if _, ok := d[column]; ok {
		return column
	}
	for rule := range d {
		name, rows, _ := strings.Cut(rule, " ")
		if name == column && slices.Contains(strings.Split(rows, ","), key) {
			return rule
		}
	}
	return ""
}

// cellHolds says why a cell in canonical JSON is not the value that the database prints as text.
func cellHolds(db, dbType string, text *string, typ, cell json.RawMessage) error {
	if text == nil || string(cell) == "null" {
		if text == nil && string(cell) == "null" {
			return nil
		}
		return fmt.Errorf("the source has %s, the table %s", show(text), cell)
	}
	holds, err := valueHolds(db, dbType, *text, typ, cell)
	if err == nil && !holds {
		err = fmt.Errorf("the source has %s, the table %s", show(text), cell)
	}
	return err
}

func show(text *string) string {
	if text == nil {
		return "NULL"
	}
	return strconv.Quote(*text)
}

// valueHolds compares by the Paimon type, since that says how the cell is written.
func valueHolds(db, dbType, text string, typ, cell json.RawMessage) (bool, error) {
	var name string
	if json.Unmarshal(typ, &name) != nil {
		return nestedHolds(db, dbType, text, typ, cell)
	}
	root, _, _ := strings.Cut(strings.TrimSuffix(name, " NOT NULL"), "(")
	root, _, _ = strings.Cut(root, " ")
	var got string
	if json.Unmarshal(cell, &got) != nil {
		got = string(cell)
	}
	switch root {
	case "BOOLEAN":
		return (text == "true" || text == "t" || text == "1") == (got == "true"), nil
	case "TINYINT", "SMALLINT", "INT", "BIGINT":
		want, err := wholeNumber(dbType, text)
		return want == got, err
	case "FLOAT", "DOUBLE":
		return floatHolds(db, dbType, text, got, root == "FLOAT")
	case "DECIMAL":
		return numberHolds(text, got)
	case "DATE":
		return text == got, nil
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		zoned := strings.HasSuffix(got, "Z")
		want := strings.TrimSuffix(strings.Replace(text, " ", "T", 1), "+00")
		want, got = trimFraction(want), trimFraction(strings.TrimSuffix(got, "Z"))
		isZoned := strings.Contains(dbType, "with time zone") || db == "my" && strings.HasPrefix(dbType, "timestamp")
		return want == got && zoned == isZoned, nil
	case "TIME":
		return trimFraction(text) == trimFraction(got), nil
	case "BYTES", "VARBINARY", "BINARY":
		want, err := bytesOf(db, dbType, text)
		return base64.StdEncoding.EncodeToString(want) == got, err
	case "STRING", "VARCHAR", "CHAR":
		return textHolds(db, dbType, text, got)
	}
	return false, fmt.Errorf("no rule for type %s", name)
}

// trimFraction takes zeros off the end of a second's fraction.
func trimFraction(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func wholeNumber(dbType, text string) (string, error) {
	switch {
	case strings.HasPrefix(dbType, "time"):
		return timeMicros(text)
	case dbType == "interval":
		return intervalMicros(text)
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return "", fmt.Errorf("%q is no whole number", text)
	}
	return n.String(), nil
}

// timeMicros is [-]HH:MM:SS[.ffffff] in microseconds; hours may exceed a day.
func timeMicros(text string) (string, error) {
	unsigned, negative := strings.CutPrefix(text, "-")
	clock, fraction, _ := strings.Cut(unsigned, ".")
	var h, m, s int64
	if _, err := fmt.Sscanf(clock, "%d:%d:%d", &h, &m, &s); err != nil {
		return "", fmt.Errorf("%q is no time: %w", text, err)
	}
	micros, err := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
	if err != nil {
		return "", err
	}
	micros += ((h*60+m)*60 + s) * 1_000_000
	if negative {
		micros = -micros
	}
	return strconv.FormatInt(micros, 10), nil
}

// intervalMicros is an interval as Debezium counts it: a month has 30.4375 days.
func intervalMicros(text string) (string, error) {
	total := new(big.Rat)
	day := big.NewRat(86_400_000_000, 1)
	units := map[string]*big.Rat{
		"year": big.NewRat(12*304375, 10000), "mon": big.NewRat(304375, 10000), "day": big.NewRat(1, 1),
	}
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		if strings.Contains(words[i], ":") {
			micros, err := timeMicros(words[i])
			if err != nil {
				return "", err
			}
			n, _ := new(big.Rat).SetString(micros)
			total.Add(total, n)
			continue
		}
		n, ok := new(big.Rat).SetString(words[i])
		if !ok || i+1 == len(words) {
			return "", fmt.Errorf("%q is no interval", text)
		}
		i++
		unit := units[strings.TrimSuffix(words[i], "s")]
		if unit == nil {
			return "", fmt.Errorf("%q: unknown unit %s", text, words[i])
		}
		total.Add(total, n.Mul(n, unit).Mul(n, day))
	}
	return new(big.Int).Quo(total.Num(), total.Denom()).String(), nil
}

func floatHolds(db, dbType, text, got string, single bool) (bool, error) {
	bits := 64
	if single {
		bits = 32
	}
	want, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return false, err
	}
	have, err := strconv.ParseFloat(got, bits)
	if err != nil {
		return false, err
	}
	switch {
	case math.IsNaN(want):
		return math.IsNaN(have), nil
	case db == "my" && (dbType == "float" || dbType == "float unsigned"): // MySQL prints six digits
		return strconv.FormatFloat(want, 'e', 5, 32) == strconv.FormatFloat(have, 'e', 5, 32), nil
	case db == "my" && strings.HasPrefix(dbType, "float("): // a FLOAT that travels as a double
		return float32(want) == float32(have), nil
	}
	return want == have && math.Signbit(want) == math.Signbit(have), nil
}

func numberHolds(text, got string) (bool, error) {
	want, ok := new(big.Rat).SetString(strings.NewReplacer("$", "", ",", "").Replace(text))
	if !ok {
		return false, fmt.Errorf("%q is no number", text)
	}
	have, ok := new(big.Rat).SetString(got)
	return ok && want.Cmp(have) == 0, nil
}

// bytesOf are the bytes that a text of a binary or bit column stands for.
func bytesOf(db, dbType, text string) ([]byte, error) {
	if !strings.HasPrefix(dbType, "bit") {
		return hex.DecodeString(strings.TrimPrefix(text, `\x`))
	}
	var number *big.Int
	var ok bool
	base := 2
	if db == "my" {
		base = 16 // hex(col)
	}
	if number, ok = new(big.Int).SetString("0"+text, base); !ok {
		return nil, fmt.Errorf("%q are no bits", text)
	}
	// Debezium sends bits as little-endian bytes; PostgreSQL's without the zeros at the end, MySQL's as many as declared.
	b := number.Bytes()
	slices.Reverse(b)
	if db == "my" {
		width, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(dbType, "bit("), ")"))
		if err != nil {
			return nil, err
		}
		b = append(b, make([]byte, (width+7)/8-len(b))...)
	}
	return b, nil
}

func textHolds(db, dbType, text, got string) (bool, error) {
	switch {
	case dbType == "json" && db == "my":
		return jsonHolds(text, got), nil
	case dbType == "hstore":
		return hstoreHolds(text, got)
	case strings.HasPrefix(dbType, "numeric"), strings.HasPrefix(dbType, "decimal"):
		return numberHolds(text, got)
	case dbType == "time with time zone":
		return zonedTimeHolds(text, got)
	case strings.HasPrefix(dbType, "character(") && db == "pg":
		return strings.TrimRight(text, " ") == strings.TrimRight(got, " "), nil // ::text cuts the padding
	case dbType == "inet":
		return strings.TrimSuffix(strings.TrimSuffix(text, "/32"), "/128") == got, nil
	}
	return text == got, nil
}

// jsonHolds compares JSON but for spaces.
func jsonHolds(text, got string) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, []byte(got)) == nil && a.String() == b.String()
}

// zonedTimeHolds compares a time with a zone to the same in UTC, as Debezium sends it.
func zonedTimeHolds(text, got string) (bool, error) {
	at := strings.LastIndexAny(text, "+-")
	clock, err := timeMicros(text[:at])
	if err != nil {
		return false, err
	}
	offset, err := timeMicros((text[at+1:] + ":00:00")[:5] + ":00")
	if err != nil {
		return false, err
	}
	have, err := timeMicros(strings.TrimSuffix(got, "Z"))
	if err != nil {
		return false, err
	}
	const day = 86_400_000_000
	sum := number(clock) - number(offset)
	if text[at] == '-' {
		sum = number(clock) + number(offset)
	}
	return ((sum%day)+day)%day == number(have), nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
