//go:build integration

package integration

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// modeHolds is cellHolds for values that a connector's mode makes something else than its default does: decimals and money as
// text or doubles, bytes and intervals as text, hstore as a map.
func modeHolds(db, dbType string, text *string, typ, cell json.RawMessage) error {
	if text == nil || string(cell) == "null" {
		return cellHolds(db, dbType, text, typ, cell)
	}
	holds, special, err := modeValueHolds(dbType, *text, typ, cell)
	if !special {
		return cellHolds(db, dbType, text, typ, cell)
	}
	if err == nil && !holds {
		err = fmt.Errorf("the source has %s, the table %s", show(text), cell)
	}
	return err
}

func modeValueHolds(dbType, text string, typ, cell json.RawMessage) (holds, special bool, err error) {
	var name, got string
	if json.Unmarshal(typ, &name) != nil {
		return modeNestedHolds(dbType, text, typ, cell)
	}
	if json.Unmarshal(cell, &got) != nil {
		got = string(cell)
	}
	root, _, _ := strings.Cut(strings.TrimSuffix(name, " NOT NULL"), "(")
	switch {
	case dbType == "tinyint(1)" && root == "BOOLEAN": // TinyIntOneToBooleanConverter
		holds = (text != "0") == (got == "true")
	case dbType == "money" && root == "DOUBLE":
		holds, err = numberHolds(text, got)
	case root != "STRING" && root != "VARCHAR":
		return false, false, nil
	case dbType == "money":
		holds, err = numberHolds(text, got)
	case dbType == "interval":
		var want string
		want, err = isoInterval(text)
		holds = want == got
	case strings.HasPrefix(dbType, "time") && !strings.HasPrefix(dbType, "timestamp") && !strings.Contains(dbType, "with time zone"):
		holds = trimFraction(text) == trimFraction(strings.TrimSuffix(got, "Z")) // time.precision.mode=isostring
	case isBytes(dbType):
		var want []byte
		want, err = hex.DecodeString(strings.TrimPrefix(text, `\x`))
		holds = got == base64.StdEncoding.EncodeToString(want) || got == base64.URLEncoding.EncodeToString(want) || got == hex.EncodeToString(want)
	default:
		return false, false, nil
	}
	return holds, true, err
}

func modeNestedHolds(dbType, text string, typ, cell json.RawMessage) (holds, special bool, err error) {
	var nested struct {
		Type    string          `json:"type"`
		Element json.RawMessage `json:"element"`
	}
	if json.Unmarshal(typ, &nested) != nil {
		return false, false, nil //nolint:nilerr // no nested type: the plain comparison has it
	}
	switch {
	case strings.HasPrefix(nested.Type, "MAP") && dbType == "hstore":
		holds, err = hstoreMapHolds(text, cell)
		return holds, true, err
	case strings.HasPrefix(nested.Type, "ARRAY") && dbType == "bytea[]":
		want, err := arrayElements(text)
		var got []json.RawMessage
		if err == nil {
			err = json.Unmarshal(cell, &got)
		}
		if err != nil || len(want) != len(got) {
			return false, true, err
		}
		for i := range want {
			if err := modeHolds("pg", "bytea", want[i], nested.Element, got[i]); err != nil {
				return false, true, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return true, true, nil
	}
	return false, false, nil
}

func isBytes(dbType string) bool {
	return dbType == "bytea" || strings.Contains(dbType, "binary") || strings.Contains(dbType, "blob")
}

// hstoreMapHolds compares hstore with a MAP in canonical JSON, a list of pairs.
func hstoreMapHolds(text string, cell json.RawMessage) (bool, error) {
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(cell, &pairs); err != nil {
		return false, err
	}
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = string(p[0]) + ":" + string(p[1])
	}
	return hstoreHolds(text, "{"+strings.Join(parts, ",")+"}")
}

// isoInterval is an interval as Debezium's interval.handling.mode=string writes it.
func isoInterval(text string) (string, error) {
	parts := map[string]int64{}
	hours, minutes, seconds := int64(0), int64(0), "0"
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		if strings.Contains(words[i], ":") {
			micros, err := timeMicros(words[i])
			if err != nil {
				return "", err
			}
			n := number(micros)
			hours, minutes = n/3_600_000_000, n/60_000_000%60
			seconds = strconv.FormatFloat(float64(n%60_000_000)/1e6, 'f', -1, 64)
			continue
		}
		if i+1 == len(words) {
			return "", fmt.Errorf("%q is no interval", text)
		}
		parts[strings.TrimSuffix(words[i+1], "s")] = number(words[i])
		i++
	}
	return fmt.Sprintf("P%dY%dM%dDT%dH%dM%sS", parts["year"], parts["mon"], parts["day"], hours, minutes, seconds), nil
}
