//go:build synctests

package simulation

import (
	"fmt"
	"strconv"
)

func keyText(id int64) []byte {
	return []byte(`{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"}],"optional":false,"name":"Key"},"payload":{"id":` +
		strconv.FormatInt(id, 10) + `}}`)
}

// rowSchema is how an event declares its row; narrow and wide.
var rowSchema = [2]string{
	`"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},{"type":"string","optional":true,"field":"region"},{"type":"string","optional":true,"field":"val"}],"optional":true,"name":"Value"`,
	`"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},{"type":"string","optional":true,"field":"region"},{"type":"string","optional":true,"field":"val"},{"type":"string","optional":true,"field":"extra"}],"optional":true,"name":"Value"`,
}

// eventText is a change event as Debezium's JSON converter writes it, with its schema.
func eventText(f *feed, c change) []byte {
	if c.op == 'x' {
		return []byte(`{"schema":`)
	}
	op, after := c.op, itemText(f, c.after)
	switch op {
	case 'e':
		c.before, op = nil, 't'
	case 'y':
		c.before, op, after = nil, 'c', `{"id":"none"}`
	}
	row := rowSchema[0]
	if f.wide {
		row = rowSchema[1]
	}
	return fmt.Appendf(nil, `{"schema":{"type":"struct","fields":[{%s,"field":"before"},{%s,"field":"after"},`+
		`{"type":"struct","fields":[{"type":"string","optional":false,"field":"connector"},{"type":"string","optional":false,"field":"name"},`+
		`{"type":"string","optional":false,"field":"db"},{"type":"string","optional":false,"field":"schema"},{"type":"string","optional":false,"field":"table"},{"type":"int64","optional":true,"field":"lsn"},{"type":"int64","optional":true,"field":"ts_ms"}],"optional":false,"name":"Source","field":"source"},`+
		`{"type":"string","optional":false,"field":"op"},{"type":"int64","optional":true,"field":"ts_ms"}],"optional":false,"name":"Envelope"},`+
		`"payload":{"before":%s,"after":%s,"source":{"connector":"postgresql","name":"sim","db":"sim","schema":"public","table":"%s","lsn":%d,"ts_ms":%d},"op":"%c","ts_ms":1}}`,
		row, row, itemText(f, c.before), after, f.source, c.lsn, c.lsn, op)
}

func itemText(f *feed, it *item) string {
	if it == nil {
		return "null"
	}
	text := fmt.Sprintf(`{"id":%d,"region":"%s","val":"%s"`, it.id, it.region, it.val)
	if f.wide {
		text += `,"extra":` + quoted(it.extra)
	}
	return text + "}"
}

// quoted is a JSON string, null for an empty one.
func quoted(s string) string {
	if s == "" {
		return "null"
	}
	return `"` + s + `"`
}
