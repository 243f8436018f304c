//go:build integration

package integration

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// nestedHolds compares arrays, points and geometries.
func nestedHolds(db, dbType, text string, typ, cell json.RawMessage) (bool, error) {
	var nested struct {
		Type    string          `json:"type"`
		Element json.RawMessage `json:"element"`
	}
	if err := json.Unmarshal(typ, &nested); err != nil {
		return false, err
	}
	switch {
	case strings.HasPrefix(dbType, "vector"):
		return vectorHolds(text, cell)
	case strings.HasPrefix(nested.Type, "ARRAY"):
		return arrayHolds(db, strings.TrimSuffix(dbType, "[]"), text, nested.Element, cell)
	case db == "pg" && dbType == "point":
		return pointHolds(text, cell)
	case strings.HasPrefix(nested.Type, "ROW"):
		return geometryHolds(db, text, cell)
	}
	return false, fmt.Errorf("no rule for type %s", typ)
}

func arrayHolds(db, dbType, text string, element, cell json.RawMessage) (bool, error) {
	want, err := arrayElements(text)
	if err != nil {
		return false, err
	}
	var got []json.RawMessage
	if err := json.Unmarshal(cell, &got); err != nil {
		return false, err
	}
	if len(want) != len(got) {
		return false, nil
	}
	for i := range want {
		if err := cellHolds(db, dbType, want[i], element, got[i]); err != nil {
			return false, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return true, nil
}

// arrayElements reads PostgreSQL's text of an array of one dimension; nil is NULL.
func arrayElements(text string) ([]*string, error) {
	if at := strings.Index(text, "={"); strings.HasPrefix(text, "[") && at > 0 {
		text = text[at+1:] // [0:2]={...}: bounds other than 1
	}
	inner, ok := strings.CutPrefix(text, "{")
	inner, end := strings.CutSuffix(inner, "}")
	if !ok || !end {
		return nil, fmt.Errorf("%q is no array", text)
	}
	var elements []*string
	for inner != "" {
		var element string
		quoted := inner[0] == '"'
		if quoted {
			var err error
			if element, inner, err = cutQuoted(inner); err != nil {
				return nil, err
			}
		} else {
			at := strings.IndexByte(inner, ',')
			if at < 0 {
				at = len(inner)
			}
			element, inner = inner[:at], inner[at:]
		}
		if element == "NULL" && !quoted {
			elements = append(elements, nil)
		} else {
			elements = append(elements, &element)
		}
		inner = strings.TrimPrefix(inner, ",")
	}
	return elements, nil
}

// cutQuoted takes a text in double quotes, with backslashes before those and before backslashes, from the front.
func cutQuoted(s string) (text, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			b.WriteByte(s[i])
		case '"':
			return b.String(), s[i+1:], nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", fmt.Errorf("no end of the quoted text in %q", s)
}

// hstoreHolds compares PostgreSQL's text of a hstore to the JSON object that Debezium sends.
func hstoreHolds(text, got string) (bool, error) {
	want := map[string]*string{}
	for text != "" {
		key, rest, err := cutQuoted(text)
		if err != nil {
			return false, err
		}
		rest = strings.TrimPrefix(rest, "=>")
		if after, isNull := strings.CutPrefix(rest, "NULL"); isNull {
			want[key], rest = nil, after
		} else {
			var value string
			if value, rest, err = cutQuoted(rest); err != nil {
				return false, err
			}
			want[key] = &value
		}
		text = strings.TrimPrefix(rest, ", ")
	}
	var have map[string]*string
	if err := json.Unmarshal([]byte(got), &have); err != nil {
		return false, err
	}
	if len(want) != len(have) {
		return false, nil
	}
	for key, value := range want {
		other, there := have[key]
		if !there || (value == nil) != (other == nil) || value != nil && *value != *other {
			return false, nil
		}
	}
	return true, nil
}

// vectorHolds compares MySQL's bytes of a vector, 32-bit floats, to an array.
func vectorHolds(text string, cell json.RawMessage) (bool, error) {
	want, err := hex.DecodeString(text)
	if err != nil {
		return false, err
	}
	var got []float32
	if err := json.Unmarshal(cell, &got); err != nil || len(want) != 4*len(got) {
		return false, err
	}
	for i, have := range got {
		if math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:])) != have {
			return false, nil
		}
	}
	return true, nil
}

func pointHolds(text string, cell json.RawMessage) (bool, error) {
	var point struct{ X, Y json.RawMessage }
	if err := json.Unmarshal(cell, &point); err != nil {
		return false, err
	}
	x, y, _ := strings.Cut(strings.Trim(text, "()"), ",")
	for _, pair := range [][2]string{{x, string(point.X)}, {y, string(point.Y)}} {
		if same, err := floatHolds("pg", "double precision", pair[0], strings.Trim(pair[1], `"`), false); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// geometryHolds compares the database's bytes to the wkb and srid of an event. PostgreSQL's are EWKB, the SRID inside;
// MySQL's are the SRID and then WKB.
func geometryHolds(db, text string, cell json.RawMessage) (bool, error) {
	var geometry struct {
		Wkb  string `json:"wkb"`
		Srid *int64 `json:"srid"`
	}
	if err := json.Unmarshal(cell, &geometry); err != nil {
		return false, err
	}
	want, err := hex.DecodeString(text)
	if err != nil {
		return false, err
	}
	srid := int64(0)
	if db == "my" {
		srid, want = int64(binary.LittleEndian.Uint32(want)), want[4:]
	} else if kind := binary.LittleEndian.Uint32(want[1:]); kind&0x20000000 != 0 {
		srid = int64(binary.LittleEndian.Uint32(want[5:]))
	}
	have := int64(0)
	if geometry.Srid != nil {
		have = *geometry.Srid
	}
	if srid != have {
		return false, fmt.Errorf("srid %s", strconv.FormatInt(have, 10))
	}
	return base64.StdEncoding.EncodeToString(want) == geometry.Wkb, nil
}
