package debezium

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// The fixtures are events of Debezium 3.6.1 reading PostgreSQL 18 and MySQL 9.7, with the rows of the databases at the end as SQL
// gives them. testdata/README.md says how they came about.

// fixture is one run of a connector.
type fixture struct {
	Expected map[string]sqlTable        `json:"expected"`
	Schemas  map[string]json.RawMessage `json:"schemas"` // Avro schemas by id
	records  map[string][]fixtureRecord // by encoding
}

type sqlTable struct {
	Columns    map[string]string    `json:"columns"` // column to SQL type
	PrimaryKey []string             `json:"primary_key"`
	Rows       []map[string]*string `json:"rows"`
}

type fixtureRecord struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Offset    int64   `json:"offset"`
	Timestamp int64   `json:"timestamp"`
	Key       *string `json:"key"`
	Value     *string `json:"value"`
	Headers   []struct {
		Key   string  `json:"key"`
		Value *string `json:"value"`
	} `json:"headers"`
	Encoding string `json:"encoding"`
}

func (r *fixtureRecord) record(t testing.TB) *Record {
	text := func(s *string) []byte {
		if s == nil {
			return nil
		}
		if r.Encoding != "avro" {
			return []byte(*s)
		}
		b, err := base64.StdEncoding.DecodeString(*s)
		require.NoError(t, err)
		return b
	}
	rec := &Record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp, Key: text(r.Key), Value: text(r.Value)}
	for _, h := range r.Headers {
		var v []byte
		if h.Value != nil {
			v = []byte(*h.Value)
		}
		rec.Headers = append(rec.Headers, Header{Key: h.Key, Value: v})
	}
	return rec
}

func loadFixture(t testing.TB, name string) *fixture {
	file, err := os.Open("testdata/fixtures/" + name + ".jsonl.gz")
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	in := bufio.NewReaderSize(z, 1<<20)
	f := &fixture{records: map[string][]fixtureRecord{}}
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return f
		}
		require.NoError(t, err)
		if first {
			require.NoError(t, json.Unmarshal(line, f))
			continue
		}
		var r fixtureRecord
		require.NoError(t, json.Unmarshal(line, &r))
		f.records[r.Encoding] = append(f.records[r.Encoding], r)
	}
}

// registry serves the schemas of the fixture, as Confluent's API does.
func (f *fixture) registry(t testing.TB) *Registry {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		schema, ok := f.Schemas[strings.TrimPrefix(req.URL.Path, "/schemas/ids/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": string(schema)})
	}))
	t.Cleanup(server.Close)
	r, err := NewRegistry(RegistryConfig{URL: server.URL})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// folder applies events by key, as a merge read would, and keeps cells as text.
type folder struct {
	t       testing.TB
	decoder *Decoder
	types   Types
	schemas map[string]*table.Schema // by topic, for JSON without schema
	tables  map[string]*folded
	errs    []*RecordError
}

type folded struct {
	schema *table.Schema
	plan   *Plan
	shape  *Shape
	batch  *table.Batch
	rows   map[string]map[string]string // by key, by column
	events []Event
}

func (fo *folder) add(r *fixtureRecord) {
	var f Frame
	err := fo.decoder.Frame(context.Background(), r.record(fo.t), &f)
	if fo.bad(err) {
		return
	}
	tab := fo.tables[r.Topic]
	switch f.Kind {
	case KindChange, KindFlat:
	case KindTruncate:
		clear(tab.rows)
		return
	case KindTombstone:
		if tab != nil {
			fo.tombstone(&f, tab)
		}
		return
	default:
		return
	}
	if tab == nil {
		tab = &folded{rows: map[string]map[string]string{}}
		fo.tables[r.Topic] = tab
	}
	if tab.plan == nil || tab.shape != f.Shape {
		if tab.schema = fo.schemas[r.Topic]; f.Shape != nil {
			tab.schema = schemaOf(fo.t, f.Shape, fo.types)
		}
		require.NotNil(fo.t, tab.schema, r.Topic)
		tab.plan, err = Bind(tab.schema, f.Shape, Options{Types: fo.types})
		require.NoError(fo.t, err, r.Topic)
		tab.shape, tab.batch = f.Shape, table.NewBatch(tab.schema.Fields)
	}
	tab.batch.Reset()
	ev, err := tab.plan.Append(&f, tab.batch)
	if fo.bad(err) {
		return
	}
	tab.events = append(tab.events, ev)
	require.Equal(fo.t, ev.Rows, tab.batch.Len())
	for i := range tab.batch.Columns {
		require.Equal(fo.t, ev.Rows, tab.batch.Columns[i].Len(), "%s: column %d", r.Topic, i)
	}
	for row, kind := range tab.batch.Kinds {
		cells, key := tab.cells(row)
		if kind.Retracts() {
			delete(tab.rows, key)
		} else {
			tab.rows[key] = cells
		}
	}
}

// tombstone deletes by the record key; after the delete that it follows it changes nothing.
func (fo *folder) tombstone(f *Frame, tab *folded) {
	tab.batch.Reset()
	_, err := tab.plan.AppendKey(f, tab.batch)
	if !fo.bad(err) {
		_, key := tab.cells(0)
		delete(tab.rows, key)
	}
}

func (fo *folder) bad(err error) bool {
	if err == nil {
		return false
	}
	var bad *RecordError
	require.ErrorAs(fo.t, err, &bad)
	fo.errs = append(fo.errs, bad)
	return true
}

func (tab *folded) cells(row int) (cells map[string]string, key string) {
	cells = map[string]string{}
	for i, f := range tab.schema.Fields {
		cells[f.Name] = string(table.AppendCanonical(nil, f.Type, &tab.batch.Columns[i], row))
	}
	for _, name := range tab.schema.PrimaryKeys {
		key += cells[name] + "\x00"
	}
	return cells, key
}

// schemaOf is the table that a shape asks for.
func schemaOf(t testing.TB, shape *Shape, types Types) *table.Schema {
	fields, err := shape.Fields(types)
	require.NoError(t, err)
	return &table.Schema{Fields: fields, PrimaryKeys: shape.Key}
}
