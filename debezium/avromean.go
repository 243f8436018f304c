package debezium

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// setFallback takes the default of a field, if the type does not have one: in JSON as JsonConverter would write it.
func (m *member) setFallback(t *avroType, raw json.RawMessage) {
	if m.fallback != nil || len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return
	}
	if o, _ := t.optional(); o == nil || o.kind != avroBytes && o.kind != avroFixed {
		m.fallback = raw
		return
	}
	m.fallback = latin1(raw)
}

// latin1 turns the JSON of Avro bytes, one character a byte, into base64.
func latin1(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return nil
		}
		b = append(b, byte(r))
	}
	return json.RawMessage(`"` + base64.StdEncoding.EncodeToString(b) + `"`)
}

// mean settles what a type declares: Connect's type and semantic name, or else Avro's logical type.
func (t *avroType) mean(a *avroJSON) error {
	d := &t.means
	d.doc = a.Doc
	if a.ConnectDoc != "" {
		d.doc = a.ConnectDoc
	}
	if len(a.ConnectDefault) > 0 {
		if d.fallback = a.ConnectDefault; t.kind == avroBytes || t.kind == avroFixed {
			d.fallback = latin1(a.ConnectDefault)
		}
	}
	switch t.kind {
	case avroBoolean:
		d.sort = sortBool
	case avroInt, avroLong:
		d.sort, d.bits = sortInt, 32
		if t.kind == avroLong {
			d.bits = 64
		}
		switch a.ConnectType {
		case "int8", "int16":
			d.bits = atoi(a.ConnectType[3:], 32)
		}
	case avroFloat:
		d.sort, d.bits = sortFloat, 32
	case avroDouble:
		d.sort, d.bits = sortFloat, 64
	case avroBytes, avroFixed:
		d.sort = sortBytes
	case avroString, avroEnum:
		d.sort = sortText
	case avroArray:
		t.meanArray(a)
	case avroMap:
		d.sort, d.elem = sortMap, &t.elem.means
		d.key = &declared{sort: sortText}
	case avroRecord:
		d.sort = sortStruct
	}
	name := a.ConnectName
	if name == "" && t.name != "" {
		name = t.name
	}
	parameters := map[string]string{}
	for k, v := range a.ConnectParameters {
		parameters[k] = fmt.Sprint(v)
	}
	if a.ConnectName == "" {
		if is, err := t.logical(a); is {
			return err
		}
	}
	if parameters["scale"] == "" && a.LogicalType == "decimal" {
		parameters["scale"] = strconv.Itoa(a.Scale)
	}
	if err := d.mean(name, parameters); err != nil {
		return fmt.Errorf("Avro schema: %w", err)
	}
	return nil
}

// meanArray: an array of entries of key and value is a map whose keys are no strings (AvroData's MapEntry).
func (t *avroType) meanArray(a *avroJSON) {
	d, e := &t.means, t.elem
	d.sort, d.elem = sortArray, &e.means
	if e.kind == avroRecord && len(e.fields) == 2 && e.fields[0].name == "key" && e.fields[1].name == "value" &&
		(a.ConnectInternal == "MapEntry" || strings.HasSuffix(e.name, ".MapEntry")) {
		t.pairs = true
		d.sort, d.key, d.elem = sortMap, &e.means.members[0].declared, &e.means.members[1].declared
	}
}

// logicalTypes are those of Avro's numbers: the type that each belongs to, and what it means.
var logicalTypes = map[string]struct {
	kind avroKind
	sort sort
	unit int64
}{
	"date":                   {avroInt, sortDate, 0},
	"time-millis":            {avroInt, sortTime, perMilli},
	"time-micros":            {avroLong, sortTime, perMicro},
	"timestamp-millis":       {avroLong, sortTimestamp, perMilli},
	"timestamp-micros":       {avroLong, sortTimestamp, perMicro},
	"timestamp-nanos":        {avroLong, sortTimestamp, perNano},
	"local-timestamp-millis": {avroLong, sortTimestamp, perMilli},
	"local-timestamp-micros": {avroLong, sortTimestamp, perMicro},
	"local-timestamp-nanos":  {avroLong, sortTimestamp, perNano},
}

// logical reads what plain Avro says, without Connect, and reports whether it says something. A logical type that does not belong
// to its type is none (Avro specification, "Logical Types").
func (t *avroType) logical(a *avroJSON) (bool, error) {
	d := &t.means
	if a.LogicalType == "decimal" && d.sort == sortBytes {
		d.sort, d.precision = sortDecimal, a.Precision
		if err := d.setScale(a.Scale); err != nil {
			return true, fmt.Errorf("Avro schema: %w", err)
		}
		return true, nil
	}
	l, ok := logicalTypes[a.LogicalType]
	if !ok || l.kind != t.kind {
		return false, nil
	}
	d.sort, d.unit = l.sort, l.unit
	return true, nil
}
