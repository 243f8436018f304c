package debezium

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/linkedin/goavro/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryRegistry serves schemas by their index plus one, and encodes with goavro.
type memoryRegistry struct {
	schemas []string
	codecs  map[int]*goavro.Codec
}

func (m *memoryRegistry) open(t testing.TB) *Registry {
	fix := &fixture{Schemas: map[string]json.RawMessage{}}
	for i, s := range m.schemas {
		fix.Schemas[strconv.Itoa(i+1)] = json.RawMessage(s)
	}
	return fix.registry(t)
}

// encode makes a key or value in Confluent's wire format.
func (m *memoryRegistry) encode(t testing.TB, schema int, native any) []byte {
	if m.codecs == nil {
		m.codecs = map[int]*goavro.Codec{}
	}
	if m.codecs[schema] == nil {
		c, err := goavro.NewCodec(m.schemas[schema])
		require.NoError(t, err, m.schemas[schema])
		m.codecs[schema] = c
	}
	b, err := m.codecs[schema].BinaryFromNative(binary.BigEndian.AppendUint32([]byte{0}, uint32(schema+1)), native)
	require.NoError(t, err)
	return b
}

// fakeRegistry answers by path, and counts.
type fakeRegistry struct {
	answers map[string]string // path to body; "503 ..." and the like are statuses
	hits    map[string]int
	mu      sync.Mutex
	headers http.Header
}

func (f *fakeRegistry) serve(t testing.TB, cfg RegistryConfig) *Registry {
	f.hits = map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.hits[req.URL.Path]++
		f.headers = req.Header
		body, ok := f.answers[req.URL.Path]
		status, rest, _ := strings.Cut(body, " ")
		code, err := strconv.Atoi(status)
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
		case err == nil:
			w.WriteHeader(code)
			_, _ = w.Write([]byte(rest))
		default:
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(server.Close)
	cfg.URL = server.URL + cfg.URL
	r, err := NewRegistry(cfg)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func (f *fakeRegistry) set(path, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[path] = body
}

func asAnswer(schema string, references string) string {
	b, _ := json.Marshal(schema)
	return fmt.Sprintf(`{"schema":%s%s}`, b, references)
}

const smallKey = `{"type":"record","name":"Key","fields":[{"name":"id","type":"int"}]}`

// TestRegistry is case U36.
func TestRegistry(t *testing.T) {
	fake := &fakeRegistry{answers: map[string]string{"/schemas/ids/1": asAnswer(smallKey, "")}}
	r := fake.serve(t, RegistryConfig{User: "u", Password: "p"})
	require.NoError(t, errOf(r.schema(t.Context(), schemaID{id: 1})))
	require.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("u:p")), fake.headers.Get("Authorization"))

	// one question an id, however many ask
	var wg sync.WaitGroup
	fake.set("/schemas/ids/2", asAnswer(smallKey, ""))
	for range 20 {
		wg.Go(func() {
			s, err := r.schema(t.Context(), schemaID{id: 2})
			require.NoError(t, err)
			first, err := r.schema(t.Context(), schemaID{id: 1})
			require.NoError(t, err)
			require.Same(t, first, s) // the same text is the same schema
		})
	}
	wg.Wait()
	require.Equal(t, 1, fake.hits["/schemas/ids/2"])

	// an unknown id makes a bad record, and is not asked for each time
	for range 3 {
		_, err := r.schema(t.Context(), schemaID{id: 77})
		require.Equal(t, ReasonSchemaID, err.(*valueError).reason)
	}
	require.Equal(t, 1, fake.hits["/schemas/ids/77"])

	// what is no registry, and what refuses us, makes no record bad: the answers to a wrong path of Confluent's registry, of Apicurio's
	// two APIs, and of any other server
	for id, answer := range map[int]string{
		80: "404 <html>nothing here</html>", 81: "401 no", 82: "400 what?", 83: "not JSON", 84: `404 {"error_code":404,"message":"HTTP 404 Not Found"}`,
		85: `404 {"error_code":0,"message":"RESTEASY003210: Could not find resource"}`, 86: `404 {"error_code":404,"message":"RESTEASY003210","name":"NotFoundException"}`,
		87: "404 ", 88: "{}", 89: `403 {"error_code":40301}`,
	} {
		fake.set(fmt.Sprintf("/schemas/ids/%d", id), answer)
		_, err := r.schema(t.Context(), schemaID{id: int64(id)})
		var failed *RegistryError
		require.ErrorAs(t, err, &failed, answer)
		require.False(t, failed.Passing, answer)
		require.ErrorContains(t, err, "check registry.")
		require.NotErrorAs(t, err, new(*valueError), answer)
	}
	for id, answer := range map[int]string{ // and those of a registry that has no such schema
		70: `404 {"error_code":40403,"message":"Schema 70 not found"}`, 71: `404 {"error_code":404,"message":"","name":"ArtifactNotFoundException"}`,
		72: `404 {"status":404,"title":"","name":"ContentNotFoundException"}`, 73: `404 {"error_code":40401,"message":"Subject not found."}`,
	} {
		fake.set(fmt.Sprintf("/schemas/ids/%d", id), answer)
		_, err := r.schema(t.Context(), schemaID{id: int64(id)})
		require.Equal(t, ReasonSchemaID, err.(*valueError).reason, answer)
	}
	for id, answer := range map[int]string{
		90: asAnswer(`{"type":"record","name":"Node","fields":[{"name":"next","type":["null","Node"]}]}`, ""), 91: asAnswer("{", ""),
		92: `{"schema":"syntax","schemaType":"PROTOBUF"}`, 93: asAnswer(`["int","string"]`, ""),
	} {
		fake.set(fmt.Sprintf("/schemas/ids/%d", id), answer)
		_, err := r.schema(t.Context(), schemaID{id: int64(id)})
		require.Equal(t, ReasonSchema, err.(*valueError).reason, answer)
	}
	require.Error(t, r.Ping(t.Context()))
	fake.set("/subjects", "[]")
	require.NoError(t, r.Ping(t.Context()))
}

func errOf(_ *avroSchema, err error) error { return err }

// TestRegistryAway: a registry that is down has not answered, and is asked anew by whoever asks again.
func TestRegistryAway(t *testing.T) {
	fake := &fakeRegistry{answers: map[string]string{"/schemas/ids/78": "503 busy", "/schemas/ids/79": "429 slowly"}}
	r := fake.serve(t, RegistryConfig{})
	for range 2 {
		for id, says := range map[int64]string{78: "503 Service Unavailable: busy", 79: "429 Too Many Requests: slowly"} {
			_, err := r.schema(t.Context(), schemaID{id: id})
			var failed *RegistryError
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Passing)
			require.ErrorContains(t, err, "schema registry http://127.0.0.1:")
			require.ErrorContains(t, err, says)
		}
	}
	fake.set("/schemas/ids/78", asAnswer(smallKey, ""))
	require.NoError(t, errOf(r.schema(t.Context(), schemaID{id: 78})))

	// of several addresses one is enough
	several, err := NewRegistry(RegistryConfig{URL: "http://127.0.0.1:1, " + r.urls[0]})
	require.NoError(t, err)
	t.Cleanup(several.Close)
	require.NoError(t, errOf(several.schema(t.Context(), schemaID{id: 78})))
	_, err = several.schema(t.Context(), schemaID{id: 79})
	require.ErrorContains(t, err, "schema registry http://127.0.0.1:1,"+r.urls[0]+": dial tcp 127.0.0.1:1: ")
	require.ErrorContains(t, err, "slowly")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.schema(ended, schemaID{id: 79})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorAs(t, err, new(*RegistryError))
	fake.set("/schemas/ids/79", asAnswer(smallKey, ""))
	require.NoError(t, errOf(r.schema(t.Context(), schemaID{id: 79}))) // giving up is no answer

	_, err = NewRegistry(RegistryConfig{URL: "localhost:8081"})
	require.Error(t, err)
}

// TestReferences: a schema made of several.
func TestReferences(t *testing.T) {
	fake := &fakeRegistry{answers: map[string]string{
		"/schemas/ids/5":                     asAnswer(`{"type":"record","name":"Key","fields":[{"name":"id","type":"a.Id"},{"name":"m","type":"a.Mood"}]}`, `,"references":[{"name":"a.Id","subject":"id","version":3},{"name":"a.Mood","subject":"mo/od","version":1}]`),
		"/subjects/id/versions/3":            asAnswer(`{"type":"record","name":"Id","namespace":"a","fields":[{"name":"x","type":"Inner"}]}`, `,"references":[{"name":"a.Inner","subject":"inner","version":1}]`),
		"/subjects/inner/versions/1":         asAnswer(`{"type":"fixed","name":"Inner","namespace":"a","size":2}`, ""),
		"/subjects/mo/od/versions/1":         asAnswer(`{"type":"enum","name":"Mood","namespace":"a","symbols":["sad","ok"]}`, ""),
		"/apis/registry/v2/ids/globalIds/9":  smallKey,
		"/apis/registry/v2/ids/contentIds/9": `{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}`,
	}}
	s, err := fake.serve(t, RegistryConfig{}).schema(t.Context(), schemaID{id: 5})
	require.NoError(t, err)
	require.Equal(t, avroFixed, s.root.fields[0].typ.fields[0].typ.kind)
	require.Equal(t, []string{"sad", "ok"}, s.root.fields[1].typ.symbols)

	apicurio := fake.serve(t, RegistryConfig{URL: "/apis/registry/v2"})
	s, err = apicurio.schema(t.Context(), schemaID{id: 9})
	require.NoError(t, err)
	require.Equal(t, avroInt, s.root.fields[0].typ.kind)
	s, err = apicurio.schema(t.Context(), schemaID{id: 9, kind: idContent})
	require.NoError(t, err)
	require.Equal(t, avroLong, s.root.fields[0].typ.kind)
}

// TestSchemaIDs: where the id of a schema may be.
func TestSchemaIDs(t *testing.T) {
	m := &memoryRegistry{schemas: []string{
		`{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},{"name":"label","type":["null","string"]},{"name":"weight","type":["int","null"]}]}`, smallKey,
	}}
	d := NewDecoder(Config{Registry: m.open(t)})
	value := m.encode(t, 0, map[string]any{"id": 1, "label": map[string]any{"string": "fig"}, "weight": map[string]any{"int": 3}})
	key := m.encode(t, 1, map[string]any{"id": 1})
	body := value[5:]
	long := func(id byte) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, id} }
	var shape *Shape
	for name, rec := range map[string]*Record{
		"confluent": {Value: value, Key: key},
		"apicurio":  {Value: append(append([]byte{0}, long(1)...), body...), Key: append(append([]byte{0}, long(2)...), key[5:]...)},
		"headers":   {Value: body, Key: key[5:], Headers: []Header{{Key: "apicurio.value.globalId", Value: long(1)}, {Key: "apicurio.key.contentId", Value: long(2)}}},
	} {
		var f Frame
		require.NoError(t, d.Frame(t.Context(), rec, &f), name)
		require.Equal(t, KindFlat, f.Kind)
		if shape == nil {
			shape = f.Shape
		}
		require.Same(t, shape, f.Shape, name)
		schema := schemaOf(t, f.Shape, Types{})
		p, err := Bind(schema, f.Shape, Options{Key: []string{"id"}})
		require.NoError(t, err)
		b := table.NewBatch(schema.Fields)
		_, err = p.Append(&f, b)
		require.NoError(t, err)
		_, err = p.AppendKey(&f, b)
		require.NoError(t, err)
		require.Equal(t, `{"id":1,"label":"fig","weight":3}`, string(table.AppendCanonicalRow(nil, schema.Fields, b, 0)))
		require.Equal(t, `{"id":1,"label":null,"weight":null}`, string(table.AppendCanonicalRow(nil, schema.Fields, b, 1)))
	}
	for _, v := range [][]byte{{0}, {0, 0, 0, 0}, {0, 0, 0, 0, 0, 1}, append(append([]byte(nil), value...), 0), value[:len(value)-1]} {
		var f Frame
		err := d.Frame(t.Context(), &Record{Value: v, Topic: "t"}, &f)
		if err == nil {
			p, err2 := Bind(schemaOf(t, shape, Types{}), f.Shape, Options{})
			require.NoError(t, err2)
			_, err = p.Append(&f, table.NewBatch(schemaOf(t, shape, Types{}).Fields))
		}
		require.Equal(t, ReasonMalformed, reasonOf(t, err), "%x", v)
	}
	var f Frame
	require.Equal(t, ReasonSchemaID, reasonOf(t, d.Frame(t.Context(), &Record{Value: []byte{0, 0, 0, 0, 9, 1}, Topic: "t"}, &f)))
	require.Equal(t, ReasonEncoding, reasonOf(t, NewDecoder(Config{}).Frame(t.Context(), &Record{Value: value, Topic: "t"}, &f)))
}

// TestAvroTypes: types that the fixtures do not have, and bytes that are wrong.
func TestAvroTypes(t *testing.T) {
	named := func(s string) string { return strings.ReplaceAll(s, "'", `"`) }
	for _, c := range []struct {
		avro   string
		native any
		typ    string
		want   string
	}{
		{"{'type':'bytes','logicalType':'decimal','precision':10,'scale':2}", []byte{0x04, 0xd2}, "DECIMAL(10, 2)", `"12.34"`},
		{"{'type':'int','logicalType':'date'}", int32(19782), "DATE", `"2024-02-29"`},
		{"{'type':'int','logicalType':'time-millis'}", int32(5), "TIME(3)", `"00:00:00.005"`},
		{"{'type':'long','logicalType':'time-micros'}", int64(5), "BIGINT", "5"},
		{"{'type':'long','logicalType':'timestamp-millis'}", int64(5), "TIMESTAMP(3)", `"1970-01-01T00:00:00.005000"`},
		{"{'type':'long','logicalType':'local-timestamp-micros'}", int64(5), "TIMESTAMP(6)", `"1970-01-01T00:00:00.000005"`},
		{"{'type':'long','logicalType':'timestamp-nanos'}", int64(5), "TIMESTAMP(9)", `"1970-01-01T00:00:00.000000005"`},
		{"{'type':'int','connect.type':'int8'}", int32(-5), "TINYINT", "-5"},
		{"{'type':'fixed','name':'F','size':2}", []byte{1, 2}, "BYTES", `"AQI="`},
		{"{'type':'enum','name':'E','symbols':['x','y']}", "y", "STRING", `"y"`},
		{"{'type':'map','values':['null','int']}", map[string]any{"k": map[string]any{"int": int32(5)}}, "MAP<STRING NOT NULL, INT>", `[["k",5]]`},
		{"{'type':'array','items':{'type':'record','name':'MapEntry','fields':[{'name':'key','type':'int'},{'name':'value','type':['null','string']}]},'connect.internal.type':'MapEntry'}",
			[]any{map[string]any{"key": int32(1), "value": nil}, map[string]any{"key": int32(2), "value": map[string]any{"string": "b"}}}, "MAP<INT NOT NULL, STRING>", `[[1,null],[2,"b"]]`},
		{"{'type':'record','name':'R','fields':[{'name':'a','type':'float'},{'name':'b','type':['string','null']}]}", map[string]any{"a": float32(0.1), "b": nil}, "", `{"a":0.1,"b":null}`},
	} {
		m := &memoryRegistry{schemas: []string{named(fmt.Sprintf("['null',{'type':'record','name':'Value','fields':[{'name':'id','type':'int'},{'name':'x','type':%s}]}]", c.avro))}}
		// goavro turns logical types into Go's: it encodes with the plain ones
		plain := &memoryRegistry{schemas: []string{strings.ReplaceAll(m.schemas[0], "logicalType", "logical")}}
		d := NewDecoder(Config{Registry: m.open(t)})
		value := plain.encode(t, 0, map[string]any{"Value": map[string]any{"id": int32(1), "x": c.native}})
		var f Frame
		require.NoError(t, d.Frame(t.Context(), &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: value}, &f), c.avro)
		require.Equal(t, KindFlat, f.Kind)
		schema := schemaOf(t, f.Shape, Types{})
		if have := schema.Fields[1].Type; c.typ != "" {
			require.Equal(t, c.typ+" NOT NULL", have.String())
		}
		p, err := Bind(schema, f.Shape, Options{})
		require.NoError(t, err)
		b := table.NewBatch(schema.Fields)
		_, err = p.Append(&f, b)
		require.NoError(t, err, c.avro)
		require.Equal(t, c.want, string(table.AppendCanonical(nil, schema.Fields[1].Type, &b.Columns[1], 0)), c.avro)
		for cut := 6; cut < len(value); cut++ {
			b.Reset()
			err := d.Frame(t.Context(), &Record{Topic: "t", Value: value[:cut]}, &f)
			if err == nil {
				_, err = p.Append(&f, b)
			}
			require.Equal(t, ReasonMalformed, reasonOf(t, err), "%s cut at %d", c.avro, cut)
		}
		require.NoError(t, d.Frame(t.Context(), &Record{Topic: "t", Key: []byte(`{"id":1}`), Value: plain.encode(t, 0, nil)}, &f))
		require.Equal(t, KindTombstone, f.Kind)
	}
}

// TestAvroMetadata: metadata columns and the source, of Avro.
func TestAvroMetadata(t *testing.T) {
	m := &memoryRegistry{schemas: []string{`{"type":"record","name":"Envelope","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},{"name":"s","type":["null","string"]}]}]},{"name":"after","type":["null","Value"]},
		{"name":"source","type":{"type":"record","name":"Source","fields":[{"name":"connector","type":"string"},{"name":"ts_ms","type":"long"},{"name":"lsn","type":["null","long"]},{"name":"txId","type":["null","long"]}]}},
		{"name":"transaction","type":["null",{"type":"record","name":"block","fields":[{"name":"total_order","type":"long"},{"name":"id","type":"string"}]}]},{"name":"op","type":"string"}]}`, smallKey}}
	d := NewDecoder(Config{Registry: m.open(t)})
	for _, tx := range []any{nil, map[string]any{"block": map[string]any{"total_order": int64(1), "id": "t7"}}} {
		native := map[string]any{"before": nil, "after": map[string]any{"Value": map[string]any{"id": int32(1), "s": map[string]any{"string": "__debezium_unavailable_value"}}}, "op": "u", "transaction": tx,
			"source": map[string]any{"connector": "postgresql", "ts_ms": int64(9), "lsn": map[string]any{"long": int64(5)}, "txId": map[string]any{"long": int64(6)}}}
		var f Frame
		require.NoError(t, d.Frame(t.Context(), &Record{Topic: "t", Key: m.encode(t, 1, map[string]any{"id": int32(1)}), Value: m.encode(t, 0, native)}, &f))
		schema := schemaOf(t, f.Shape, Types{})
		schema.Fields = append(schema.Fields, field1("tx", "STRING"), field1("pos", "STRING"))
		p, err := Bind(schema, f.Shape, Options{Metadata: map[string]Metadata{"tx": MetadataTransaction, "pos": MetadataSourcePosition}})
		require.NoError(t, err)
		b := table.NewBatch(schema.Fields)
		ev, err := p.Append(&f, b)
		require.NoError(t, err)
		require.Equal(t, []int{1}, ev.Unavailable)
		id := "6"
		if tx != nil {
			id = "t7"
		}
		require.Equal(t, `{"id":1,"s":null,"tx":"`+id+`","pos":"lsn:/5/6"}`, string(table.AppendCanonicalRow(nil, schema.Fields, b, 0)))
	}
	for op, reason := range map[string]Reason{"zz": ReasonNotARow, "": ReasonNotARow, "x": ReasonNotARow} {
		native := map[string]any{"before": nil, "after": nil, "op": op, "transaction": nil, "source": map[string]any{"connector": "x", "ts_ms": int64(9), "lsn": nil, "txId": nil}}
		var f Frame
		require.Equal(t, reason, reasonOf(t, d.Frame(t.Context(), &Record{Topic: "t", Value: m.encode(t, 0, native)}, &f)))
	}
	var f Frame
	native := map[string]any{"before": nil, "after": nil, "op": "t", "transaction": nil, "source": map[string]any{"connector": "x", "ts_ms": int64(9), "lsn": nil, "txId": nil}}
	require.NoError(t, d.Frame(t.Context(), &Record{Topic: "t", Value: m.encode(t, 0, native)}, &f))
	require.Equal(t, KindTruncate, f.Kind)
}

// TestAvroKinds: JSON with schema and Avro say the same of every record of the fixtures.
func TestAvroKinds(t *testing.T) {
	for _, name := range fixtureNames(t, "*") {
		fix := loadFixture(t, name)
		avro, plain := fix.records["avro"], fix.records["json_schema"]
		if avro == nil {
			continue
		}
		require.Equal(t, len(plain), len(avro), name)
		d := NewDecoder(Config{Registry: fix.registry(t)})
		compared := map[[2]*Shape]bool{}
		for i := range avro {
			var f, g Frame
			require.NoError(t, d.Frame(t.Context(), avro[i].record(t), &f), name)
			require.NoError(t, d.Frame(t.Context(), plain[i].record(t), &g), name)
			require.Equal(t, g.Kind, f.Kind, "%s %s %d", name, avro[i].Topic, i)
			require.Equal(t, g.Op, f.Op)
			have, err := f.Source()
			require.NoError(t, err)
			want, err := g.Source()
			require.NoError(t, err)
			require.Equal(t, want, have)
			if f.Shape == nil || compared[[2]*Shape{f.Shape, g.Shape}] {
				require.Equal(t, g.Shape == nil, f.Shape == nil)
				continue
			}
			compared[[2]*Shape{f.Shape, g.Shape}] = true
			require.Equal(t, g.Shape.Key, f.Shape.Key)
			wantFields, err := g.Shape.Fields(Types{})
			require.NoError(t, err)
			fields, err := f.Shape.Fields(Types{})
			require.NoError(t, err)
			require.Equal(t, wantFields, fields, "%s %s", name, avro[i].Topic)
		}
	}
}

// FuzzDecodeAvro: bytes that are not what their schema says are a bad record.
func FuzzDecodeAvro(f *testing.F) {
	schema := `{"type":"record","name":"Envelope","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[
		{"name":"id","type":"long"},{"name":"s","type":["null","string"]},{"name":"b","type":"bytes"},{"name":"f","type":"float"},{"name":"t","type":"boolean"},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["x","y"]}},{"name":"a","type":{"type":"array","items":["null","int"]}},{"name":"m","type":{"type":"map","values":"string"}},
		{"name":"d","type":{"type":"bytes","connect.name":"org.apache.kafka.connect.data.Decimal","connect.parameters":{"scale":"2"}}}]}]},
		{"name":"after","type":["null","Value"]},{"name":"source","type":["null",{"type":"record","name":"Source","fields":[{"name":"db","type":"string"}]}]},{"name":"op","type":"string"}]}`
	m := &memoryRegistry{schemas: []string{schema}}
	row := map[string]any{"id": int64(1), "s": nil, "b": []byte{1}, "f": float32(1), "t": true, "e": "y", "a": []any{nil, map[string]any{"int": 5}}, "m": map[string]any{"k": "v"}, "d": []byte{1, 2}}
	native := map[string]any{"before": map[string]any{"Value": row}, "after": map[string]any{"Value": row}, "source": map[string]any{"Source": map[string]any{"db": "x"}}, "op": "u"}
	whole := m.encode(f, 0, native)
	f.Add(whole[5:])
	f.Add(whole[5 : len(whole)-4])
	parsed, err := parseAvroSchema(schema, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := newAvroValue(parsed)
		require.NoError(t, err)
		fr := Frame{Record: &Record{Topic: "t"}, decoder: NewDecoder(Config{}), value: payload{b: b, avro: parsed}, key: payload{null: true}, Kind: v.kind, Shape: v.shape(nil)}
		if err := fr.decoder.classifyAvro(&fr); err != nil {
			require.NotEmpty(t, reasonOf(t, fr.blame(err)))
			return
		}
		_, err = fr.Source()
		if err != nil || fr.Kind != KindChange {
			return
		}
		s := schemaOf(t, fr.Shape, Types{})
		p, err := Bind(s, fr.Shape, Options{})
		require.NoError(t, err)
		batch := table.NewBatch(s.Fields)
		if _, err := p.Append(&fr, batch); err != nil {
			require.NotEmpty(t, reasonOf(t, err))
			require.Zero(t, batch.Len())
		}
		for i := range batch.Columns {
			require.Equal(t, batch.Len(), batch.Columns[i].Len())
		}
		for i := range batch.Len() {
			require.True(t, json.Valid(table.AppendCanonicalRow(nil, s.Fields, batch, i)))
		}
	})
}
