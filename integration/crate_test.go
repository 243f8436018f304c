//go:build integration

package integration

import (
	"cmp"
	"fmt"
	"strconv"
)

// crate is a small source table, orchard.crate(id BIGINT NOT NULL PRIMARY KEY, label STRING, weight INT), and writes the
// events that Debezium's MySQL connector would send of it: with schemas, or without.
type crate struct {
	schemaless bool
	// source is the text of more members of the source struct, such as `"file":"bl.000004","pos":4`.
	source string
	// name is the source's table; crate if empty.
	name string
	// at is the events' ts_ms; 1700000000005 if zero.
	at int64
}

// crateColumns are the types that schemaless events do not carry.
var crateColumns = config{
	"columns": config{"id": "BIGINT NOT NULL", "label": "STRING", "weight": "INT"}, "primary-key": []string{"id"},
	"options": config{"bucket": "2"},
}

const crateRow = `{"type":"struct","optional":true,"field":"%s","name":"dock.orchard.crate.Value","fields":[` +
	`{"type":"int64","optional":false,"field":"id"},{"type":"string","optional":true,"field":"label"},{"type":"int32","optional":true,"field":"weight"}]}`

// crateSource declares what the tests put into source.
const crateSource = `{"type":"struct","optional":false,"field":"source","name":"io.debezium.connector.mysql.Source","fields":[` +
	`{"type":"string","optional":false,"field":"connector"},{"type":"string","optional":false,"field":"name"},{"type":"int64","optional":false,"field":"ts_ms"},` +
	`{"type":"string","optional":true,"field":"snapshot"},{"type":"string","optional":false,"field":"db"},{"type":"string","optional":true,"field":"table"},` +
	`{"type":"string","optional":true,"field":"file"},{"type":"int64","optional":true,"field":"pos"},{"type":"int32","optional":true,"field":"row"},` +
	`{"type":"int64","optional":true,"field":"lsn"},{"type":"string","optional":true,"field":"sequence"}]}`

// image is a row as JSON. A label of "\x00" is NULL.
func image(id int64, label string, weight int) string {
	text := strconv.Quote(label)
	if label == "\x00" {
		text = "null"
	}
	return fmt.Sprintf(`{"id":%d,"label":%s,"weight":%d}`, id, text, weight)
}

func (c crate) key(id int64) string {
	if c.schemaless {
		return fmt.Sprintf(`{"id":%d}`, id)
	}
	return fmt.Sprintf(`{"schema":{"type":"struct","optional":false,"name":"dock.orchard.crate.Key","fields":[{"type":"int64","optional":false,"field":"id"}]},"payload":{"id":%d}}`, id)
}

// event is one change; before and after are images, or null.
func (c crate) event(topic string, partition int32, key int64, op, before, after string) record {
	at := c.at
	if at == 0 {
		at = 1700000000005
	}
	source := `{"connector":"mysql","name":"dock","ts_ms":` + strconv.FormatInt(at-5, 10) + `,"snapshot":"false","db":"orchard","table":"` + cmp.Or(c.name, "crate") + `"`
	if c.source != "" {
		source += "," + c.source
	}
	payload := fmt.Sprintf(`{"before":%s,"after":%s,"source":%s},"op":%q,"ts_ms":%d}`, before, after, source, op, at)
	if !c.schemaless {
		payload = `{"schema":{"type":"struct","optional":false,"name":"dock.orchard.crate.Envelope","fields":[` +
			fmt.Sprintf(crateRow, "before") + "," + fmt.Sprintf(crateRow, "after") + "," + crateSource +
			`,{"type":"string","optional":false,"field":"op"},{"type":"int64","optional":true,"field":"ts_ms"}]},"payload":` + payload + "}"
	}
	return keyed(topic, partition, c.key(key), payload)
}

func (c crate) create(topic string, partition int32, id int64, label string, weight int) record {
	return c.event(topic, partition, id, "c", "null", image(id, label, weight))
}

func (c crate) tombstone(topic string, partition int32, id int64) record {
	return keyed(topic, partition, c.key(id), "")
}
