package main

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// oddTypes are the columns of the table that plain JSON goes to, and of the schema part, where there is one.
var oddTypes = []struct{ name, typ, connect string }{
	{"n", "INT", `"type":"int32"`}, {"i", "BIGINT", `"type":"int64"`}, {"y", "TINYINT", `"type":"int8"`}, {"f", "DOUBLE", `"type":"double"`}, {"g", "FLOAT", `"type":"float"`},
	{"d", "DECIMAL(10, 2)", `"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2","connect.decimal.precision":"10"}`},
	{"s", "STRING", `"type":"string"`}, {"v", "VARCHAR(3)", `"type":"string"`}, {"b", "BYTES", `"type":"bytes"`}, {"o", "BOOLEAN", `"type":"boolean"`},
	{"t", "TIMESTAMP(3)", `"type":"int64","name":"io.debezium.time.Timestamp","version":1`}, {"u", "TIMESTAMP(6)", `"type":"int64","name":"io.debezium.time.MicroTimestamp","version":1`},
	{"l", "TIMESTAMP(6) WITH LOCAL TIME ZONE", `"type":"string","name":"io.debezium.time.ZonedTimestamp","version":1`},
	{"a", "DATE", `"type":"int32","name":"io.debezium.time.Date","version":1`}, {"c", "TIME(3)", `"type":"int32","name":"io.debezium.time.Time","version":1`},
	{"k", "INT NOT NULL", `"type":"int32"`},
}

// oddCells are values that no column of that name should get: the column, and the JSON of the value.
var oddCells = []string{
	`n 2147483648`, `n 1.5`, `n 1e2`, `n "5"`, `n true`, `n {}`, `n 1e400`, `n -0`, `n 01`, `n +1`, `n 0x10`, `n NaN`, `n [`,
	`i 9223372036854775808`, `i -9223372036854775808`, `i 1e18`, `i 1e19`, `y 128`, `y -129`,
	`f 1e400`, `f -1e400`, `f 1e-400`, `f "NaN"`, `f "1.5"`, `f 9007199254740993`, `f 0.1234567890123456789012`, `g 1e39`, `g 16777217`, `g 0.1`, `g 3.4028236e38`,
	`d "BNI="`, `d "12.34"`, `d "12.345"`, `d 12.345`, `d 1e400`, `d 1e-400`, `d "AP//////////"`, `d ""`, `d "NaN"`, `d 99999999.99`, `d 100000000`, `d "1234"`,
	`s 5`, `s "\ud83d"`, `s "\udc00\ud800"`, `s "\ud83c\udf89"`, `s "\u0000"`, `s "a`, "s \"a\nb\"", "s \"\xff\"", `s "\x"`, `s null`, `s ["a"]`, `v "four"`, `v "äöü"`,
	`b "AP8="`, `b "AP8"`, `b "AP9="`, `b "zz"`, `b 5`, `o 1`, `o 2`, `o "true"`, `o null`,
	`t -1`, `t 9223372036854775807`, `t 9223372036825200`, `t 1.5`, `t "2024-02-30T00:00:00"`, `u 9223372036825200000`, `u 9223372036854775807`, `u "x"`,
	`l "2024-02-29T12:00:00"`, `l "2024-02-29T12:00:00+02:00"`, `l "2024-02-29T24:00:01Z"`, `l 5`, `l "infinity"`, `l "+999999999-12-31T23:59:59Z"`,
	`a 2147483648`, `a -2147483648`, `a 1.5`, `a "2023-02-29"`, `c 86400000`, `c -1`, `c "24:00:00"`, `k null`, `k 2147483648`,
}

// oddRecords are whole values: those of plain JSON, but where a schema part or Avro is in them.
var oddRecords = []string{
	`5`, `"text"`, `[1]`, `true`, `null`, ` `, `{}`, `{"before":null,"after":null,"op":"c"}`, `{"before":null,"after":[],"op":"c"}`, `{"before":null,"after":5,"op":"c"}`,
	`{"before":null,"after":{"id":%d,"k":1},"op":"x"}`, `{"before":null,"after":{"id":%d,"k":1},"op":""}`, `{"before":null,"after":{"id":%d,"k":1},"op":5}`, `{"before":null,"after":{"id":%d,"k":1},"source":{}}`,
	"\xef\xbb\xbf" + `{"before":null,"after":{"id":%d,"k":1},"op":"c"}`, `{"before":null,"after":{"id":%d,"k":1},"op":"c"} x`, `{"before":null,"after":{"id":%d,"k":1},"op":"c"`, "\x00\x00\x00", "\x00\x00\x00\x00\x63a",
	`{"before":null,"after":{"id":%d,"k":1,"k":2},"op":"c"}`, `{"before":null,"after":{"id":%d,"k":1},"op":"d","op":"c"}`, `{"before":null,"after":{"id":0,"k":1},"after":{"id":%d,"k":2},"op":"c"}`,
	`{"before":null,"after":{"id":%d,"k":1,"s":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `},"op":"c"}`, `{"before":null,"after":{"id":%d,"k":1,"s":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `},"op":"c"}`,
	`{"before":null,"after":{"id":null,"k":1},"op":"c"}`, `{"before":null,"after":{"k":1},"op":"c"}`, `{"before":null,"after":{"id":"%d","k":1},"op":"c"}`, `{"before":null,"after":{"id":%d,"k":1,"":1},"op":"c"}`,
	`{"schema":5,"payload":{"id":1}}`, `{"schema":{"type":"what"},"payload":{}}`, `{"schema":{"type":"struct","fields":[{"type":"int32","field":"x"},{"type":"int32","field":"x"}]},"payload":{"x":1}}`, `{"schema":null,"payload":null}`,
}

// oddBytes are values in Avro, in hex, behind the null before and the after with its id, 1: the column's Avro type, and its bytes.
var oddBytes = []string{
	`"int" ffffffff0f`, `"int" 808080808001`, `"int" ffffffffffffffffffff01`, `"int" 80`, `"long" ffffffffffffffffff01`, `"boolean" 02`, `"string" 04c328`, `"string" 01`, `"string" feffffffff0f`,
	`"bytes" 06000102`, `"double" 000000000000f07f`, `"double" 0000`, `["null","int"] 00`, `["null","int"] 04`, `["int","string"] 020261`, `{"type":"enum","name":"E","symbols":["A"]} 02`, `{"type":"enum","name":"E","symbols":["A"]} 00`,
	`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2} 0404d2`, `{"type":"bytes","logicalType":"decimal","precision":3,"scale":2} 0404d2`, `{"type":"bytes","logicalType":"decimal","precision":3,"scale":2} 00`,
	`{"type":"bytes","connect.name":"org.apache.kafka.connect.data.Decimal"} 0404d2`, `{"type":"int","connect.name":"io.debezium.time.Date"} ffffffff0f`, `{"type":"int","connect.name":"io.debezium.time.Time"} 80b8995a`,
	`{"type":"array","items":"int"} 0202`, `{"type":"array","items":"int"} 020200`, `{"type":"array","items":"int"} 010202020200`, `{"type":"map","values":"int"} 04026102026104`, `{"type":"map","values":"int"} 0402610202610400`,
	`{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]} 0202`, `{"type":"record","name":"R","fields":[{"name":"r","type":["null","R"]}]} 00`, `{"type":"record","name":"R","fields":[]} `,
	`"what" 00`, `{"type":"fixed","name":"F","size":-1} 00`, `{"type":"fixed","name":"F","size":2} 0001`, `"int" 0202`,
}

// TestOddEvents sends what no connector should send, and holds what comes of it against golden files: the value as it is in the table,
// or what is wrong with the record. Each record is a row or a letter with its coordinates: nothing is lost, and nobody panics.
func TestOddEvents(t *testing.T) {
	var cells []string
	for _, cell := range oddCells {
		name, value, _ := strings.Cut(cell, " ")
		more := `,"k":1`
		if name == "k" {
			more = ""
		}
		cells = append(cells, fmt.Sprintf(`{"before":null,"after":{"id":%%d%s,%q:%s},"op":"c","ts_ms":5}`, more, name, value))
	}
	var columns, declared, first []string
	for _, c := range oddTypes {
		columns = append(columns, fmt.Sprintf("%q: %q", c.name, c.typ))
		declared = append(declared, fmt.Sprintf(`{%s,"optional":%t,"field":%q}`, c.connect, c.name != "k", c.name))
		value := map[string]string{"s": `"x"`, "v": `"x"`, "b": `"AP8="`, "o": "true", "d": `"BNI="`, "l": `"2024-02-29T12:00:00Z"`, "f": "0.5", "g": "0.5"}[c.name]
		if value == "" {
			value = "1"
		}
		first = append(first, fmt.Sprintf("%q:%s", c.name, value))
	}
	row := `"type":"struct","optional":true,"name":"d.o.c.Value","fields":[{"type":"int64","optional":false,"field":"id"},` + strings.Join(declared, ",") + `]`
	part := `{"type":"struct","optional":false,"name":"d.o.c.Envelope","fields":[{"field":"before",` + row + `},{"field":"after",` + row + `},{"type":"string","optional":false,"field":"op"}]}`
	good := fmt.Sprintf(`{"before":null,"after":{"id":%%d,%s},"op":"c","ts_ms":5}`, strings.Join(first, ","))
	wrap := func(values []string) []string {
		out := make([]string, len(values))
		for i, v := range values {
			out[i] = `{"schema":` + part + `,"payload":` + v + `}`
		}
		return out
	}
	types := `{"id": "BIGINT NOT NULL", ` + strings.Join(columns, ", ") + "}"
	base64 := "types: {decimal: base64, binary: base64}, "
	for _, c := range []struct {
		name, mapping string
		values        []string
	}{
		{"json", base64 + "columns: " + types, append(append([]string{good}, cells...), oddRecords...)},
		{"auto", "columns: " + types, append([]string{good}, cells...)},
		{"infer", "infer: true", append(append([]string{good}, cells...), oddRecords...)},
		{"schema", "format: auto", append(append(wrap([]string{good}), wrap(cells)...), oddRecords...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBroker(t)
			require.NoError(t, b.cluster.CreateTopic("odd", 1, nil))
			b.config("on-error: dead-letter\non-missing-before: dead-letter\ndead-letter: {path: _dead}\ntables: [{topic: odd, table: a.odd, options: {bucket: 1}, " + c.mapping + "}]")
			client := b.producer()
			for i, value := range c.values {
				c.values[i] = strings.Replace(value, "%d", fmt.Sprint(i), 1)
				b.keyed(client, "odd", fmt.Sprintf(`{"id":%d}`, i), c.values[i])
			}
			code, _, stderr := b.sink("", "run", "--until-end")
			require.Zero(t, code, stderr)
			rows, letters := oddRows(t, b, "a.odd"), oddLetters(t, b)
			var out strings.Builder
			for i, value := range c.values {
				value = strings.Replace(value, part, "...", 1)
				fmt.Fprintln(&out, oddLine(t, value, rows[i], letters[fmt.Sprint("odd ", i)]))
			}
			golden(t, "testdata/odd/"+c.name+".txt", out.String())
		})
	}
}

// TestOddAvro does so with Avro: each column in a table of its own, since a schema is one of all its records.
func TestOddAvro(t *testing.T) {
	b := newBroker(t)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var id int
		if _, err := fmt.Sscanf(req.URL.Path, "/schemas/ids/%d", &id); err != nil || id < 1 || id > len(oddBytes) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40403}`))
			return
		}
		typ := oddBytes[id-1][:strings.LastIndexByte(oddBytes[id-1], ' ')]
		schema := fmt.Sprintf(`{"type":"record","name":"Envelope","namespace":"a","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"long"},{"name":"x","type":%s}]}]},{"name":"after","type":["null","Value"]},{"name":"op","type":"string"}]}`, typ)
		text, _ := json.Marshal(map[string]string{"schema": schema})
		_, _ = w.Write(text)
	}))
	defer registry.Close()
	var values []string
	client := b.producer()
	text := "on-error: dead-letter\non-missing-before: dead-letter\ndead-letter: {path: _dead}\nregistry: {url: '" + registry.URL + "'}\ntables:\n"
	for i, c := range oddBytes {
		topic := fmt.Sprintf("odd%02d", i)
		require.NoError(t, b.cluster.CreateTopic(topic, 1, nil))
		values = append(values, c)
		text += fmt.Sprintf("  - {topic: %s, table: a.%s, options: {bucket: 1}}\n", topic, topic)
		body, err := hex.DecodeString(c[strings.LastIndexByte(c, ' ')+1:])
		require.NoError(t, err)
		value := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(i+1)), 0, 2, 2)
		b.keyed(client, topic, `{"id":1}`, string(append(append(value, body...), 2, 'c')))
	}
	b.config(text)
	code, _, stderr := b.sink("", "run", "--until-end")
	require.Equal(t, 1, code, "one of the schemas is of columns that no table can have")
	letters := oddLetters(t, b)
	for _, stop := range regexp.MustCompile(`"error":"table a\.(odd\d+): topic odd\d+ partition 0 offset 0: ([^"]*)","time":"[^"]*","message":"table stopped`).FindAllStringSubmatch(stderr, -1) {
		letters[stop[1]+" 0"] = "stopped: " + stop[2]
	}
	var out strings.Builder
	for i, value := range values {
		topic := fmt.Sprintf("odd%02d", i)
		rows := map[int]string{}
		if _, put := letters[topic+" 0"]; !put {
			rows = oddRows(t, b, "a."+topic)
		}
		fmt.Fprintln(&out, oddLine(t, value, rows[1], letters[topic+" 0"]))
	}
	golden(t, "testdata/odd/avro.txt", out.String())
}

// keyed sends a record with a key.
func (b *broker) keyed(client *kgo.Client, topic, key, value string) {
	require.NoError(b.t, client.ProduceSync(b.t.Context(), &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}).FirstErr())
}

// producer is a client that sends.
func (b *broker) producer() *kgo.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	require.NoError(b.t, err)
	b.t.Cleanup(client.Close)
	return client
}

// oddLetters are the letters in the warehouse by topic and offset: reason and cause, whose coordinates are taken off.
func oddLetters(t *testing.T, b *broker) map[string]string {
	t.Helper()
	letters := map[string]string{}
	files, err := filepath.Glob(filepath.Join(b.dir, "lake/_dead/*/*.json"))
	require.NoError(t, err)
	for _, file := range files {
		var l struct {
			Topic, Reason, Cause string
			Offset               int
		}
		require.NoError(t, json.Unmarshal([]byte(read(t, file)), &l))
		cause, ok := strings.CutPrefix(l.Cause, fmt.Sprintf("topic %s partition 0 offset %d: ", l.Topic, l.Offset))
		require.True(t, ok, "a message without coordinates: %s", l.Cause)
		require.NotContains(t, cause, "offset")
		letters[fmt.Sprint(l.Topic, " ", l.Offset)] = l.Reason + ": " + cause
	}
	return letters
}

// oddRows are the rows of a table by id, without what is null and the id.
func oddRows(t *testing.T, b *broker, table string) map[int]string {
	t.Helper()
	code, stdout, stderr := runSink(t, "", "read", table, "-o", "json", "-c", filepath.Join(b.dir, "sink.yaml"))
	require.Zero(t, code, stderr)
	rows := map[int]string{}
	for line := range strings.Lines(stdout) {
		var row struct{ ID int }
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		text := regexp.MustCompile(`"\w*":null,?`).ReplaceAllString(strings.TrimSpace(line), "")
		text = regexp.MustCompile(`^\{"id":\d+,?`).ReplaceAllString(text, "{")
		rows[row.ID] = strings.ReplaceAll(text, ",}", "}")
	}
	return rows
}

// oddLine is what became of a record: its row, or its letter; never both, nor none.
func oddLine(t *testing.T, value, row, letter string) string {
	t.Helper()
	require.True(t, (row == "") != (letter == ""), "%s is row %q and letter %q", value, row, letter)
	const most = 160
	value = strconv.QuoteToASCII(value)
	value = value[1 : len(value)-1]
	if len(value) > most {
		value = value[:most] + "..."
	}
	return strings.ReplaceAll(value, `\"`, `"`) + "\n    " + row + letter
}
