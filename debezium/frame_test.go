package debezium

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frameOf frames one record.
func frameOf(t testing.TB, topic, key, value string) (*Frame, error) {
	rec := &Record{Topic: topic, Offset: 3}
	if key != "" {
		rec.Key = []byte(key)
	}
	if value != "" {
		rec.Value = []byte(value)
	}
	f := new(Frame)
	return f, NewDecoder(Config{}).Frame(t.Context(), rec, f)
}

// TestKinds is case U34, and what else is no row.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		topic, key, value string
		want              Kind
	}{
		{"dock.orchard.crate", `{"id":1}`, envelope("c", "null", `{"id":1}`), KindChange},
		{"dock.orchard.crate", `{"id":1}`, `{"op":"c","after":{"id":1}}`, KindChange},
		{"dock.orchard.crate", ``, envelope("t", "null", "null"), KindTruncate},
		{"dock.orchard.crate", `{"id":1}`, ``, KindTombstone},
		{"dock.orchard.crate", `{"id":1}`, `null`, KindTombstone},
		{"dock.orchard.crate", `{"id":1}`, ` null `, KindTombstone},
		{"dock.orchard.crate", `{"id":1}`, `{"schema":null,"payload":null}`, KindTombstone},
		{"dock.orchard.crate", `{"id":1}`, `{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],"optional":true,"name":"x.Value"},"payload":null}`, KindTombstone},
		{"dock.orchard.crate", ``, ``, KindEmpty},
		{"dock.orchard.crate", ``, `null`, KindEmpty},
		{"dock", `{"databaseName":"orchard"}`, `{"source":{"db":"orchard"},"ts_ms":1,"databaseName":"orchard","schemaName":null,"ddl":"ALTER ...","tableChanges":[{}]}`, KindSchemaChange},
		{"dock", ``, `{"source":{"db":"orchard"},"databaseName":"orchard","ddl":"ALTER ..."}`, KindSchemaChange},
		{"dock.transaction", `{"id":"t1"}`, `{"status":"BEGIN","id":"t1"}`, KindTransaction},
		{"tx", `{"id":"t1"}`, `{"status":"END","id":"t1","event_count":2,"data_collections":[{"data_collection":"a.b","event_count":2}],"ts_ms":5}`, KindTransaction},
		{"__debezium-heartbeat.dock", `{"serverName":"dock"}`, `{"ts_ms":1}`, KindHeartbeat},
		{"beats", `{"serverName":"dock"}`, `{"ts_ms":1}`, KindHeartbeat},
		{"dock.message", `{"prefix":"x"}`, `{"op":"m","message":{"prefix":"x","content":"AA=="}}`, KindMessage},
		{"dock.message", `{"prefix":"x"}`, `{"op":"m","ts_ms":1,"source":{"lsn":1},"transaction":null,"message":{"prefix":"x","content":"AA=="}}`, KindMessage},
		{"notes", `{"id":"5"}`, `{"id":"5","aggregate_type":"Initial Snapshot","type":"STARTED","additional_data":{},"timestamp":1}`, KindNotification},
		{"dock.orchard.signal", `{"id":"s1"}`, envelope("c", "null", `{"id":"s1","type":"execute-snapshot","data":"{}"}`), KindChange},
		{"dock.orchard.crate", `{"id":1}`, `{"id":1,"label":"a"}`, KindFlat},
		{"dock.orchard.orders", `{"id":"t1"}`, `{"id":"t1","status":"BEGIN"}`, KindFlat},
		{"dock.orchard.beats", `{"id":1}`, `{"ts_ms":1}`, KindFlat},
		{"dock.orchard.crate", `{"id":1}`, `{"op":"x","label":"a"}`, KindFlat},
		{"dock.orchard.crate", `{"id":1}`, `{"schema":{"a":1},"payload":2,"x":3}`, KindFlat},
	} {
		f, err := frameOf(t, c.topic, c.key, c.value)
		if strings.Contains(c.value, `"x":3`) {
			require.Error(t, err) // a wrapper with a third member is no wrapper
			continue
		}
		require.NoError(t, err, c.value)
		require.Equal(t, c.want, f.Kind, c.value)
		require.Equal(t, c.want.String(), f.Kind.String())
	}
}

func TestJunk(t *testing.T) {
	for value, want := range map[string]Reason{
		`[1,2]`: ReasonNotARow, `5`: ReasonNotARow, `"text"`: ReasonNotARow, `true`: ReasonNotARow,
		`{"before":null,"after":{"id":1},"source":{},"op":"z","ts_ms":1}`: ReasonNotARow,
		`{"before":null,"after":{"id":1},"op":"cc"}`:                      ReasonNotARow,
		`{"op":"m","source":{}}`:                                          ReasonNotARow,
		`{"id":1`:                                                         ReasonMalformed, `{`: ReasonMalformed, `nul`: ReasonMalformed, `nullx`: ReasonMalformed,
		`{"id":1}}`: ReasonMalformed, `{"id":1,}`: ReasonMalformed, `{"id" 1}`: ReasonMalformed, `{id:1}`: ReasonMalformed, `{"a":1 "b":2}`: ReasonMalformed,
		"\xef\xbb\xbf{}": ReasonMalformed, strings.Repeat("[", 5000): ReasonMalformed, `{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`: ReasonMalformed,
		"\x00\x00\x00\x00\x01\x02": ReasonEncoding,
		`{"schema":{"type":"struct","fields":[{"type":"huge","field":"x"}]},"payload":{"x":1}}`:                               ReasonSchema,
		`{"schema":{"type":"array"},"payload":[]}`:                                                                            ReasonSchema,
		`{"schema":{"type":"struct","fields":[{"type":"int32","field":"x"},{"type":"int32","field":"x"}]},"payload":{"x":1}}`: ReasonSchema,
		`{"schema":{"type":"struct","fields":5},"payload":{"x":1}}`:                                                           ReasonSchema,
	} {
		_, err := frameOf(t, "t", `{"id":1}`, value)
		require.Equal(t, want, reasonOf(t, err), value)
		require.ErrorContains(t, err, "topic t partition 0 offset 3")
	}
	// a cut record may pass the frame, and is found out when it is read
	r := newRig(t, Options{}, crate...)
	whole := envelope("c", "null", `{"id":1,"label":"aä\u00e9","weight":1}`)
	_, err := r.apply(`{"id":1}`, whole)
	require.NoError(t, err)
	r.rows()
	for cut := 1; cut < len(whole); cut++ {
		_, err := r.apply(`{"id":1}`, whole[:cut])
		require.Equal(t, ReasonMalformed, reasonOf(t, err), whole[:cut])
		_, err = r.apply(`{"id":1}`, whole[:cut]+"\x01"+whole[cut:])
		require.Equal(t, ReasonMalformed, reasonOf(t, err), whole[:cut])
	}
	require.Empty(t, r.rows())
}

// TestFormats: the configured format is held to.
func TestFormats(t *testing.T) {
	var f Frame
	rec := &Record{Topic: "t", Value: []byte("\x00\x00\x00\x00\x01"), Key: []byte(`{"id":1}`)}
	err := NewDecoder(Config{Format: FormatJSON}).Frame(t.Context(), rec, &f)
	require.Equal(t, ReasonEncoding, reasonOf(t, err))
	require.ErrorContains(t, err, "say format: debezium-avro or auto")
	rec.Value = []byte(`{"id":1}`)
	require.NoError(t, NewDecoder(Config{Format: FormatJSON}).Frame(t.Context(), rec, &f))
	err = NewDecoder(Config{Format: FormatAvro}).Frame(t.Context(), rec, &f)
	require.Equal(t, ReasonEncoding, reasonOf(t, err))
	require.ErrorContains(t, err, "looks like JSON; say format: debezium-json or auto")
	rec.Value = []byte("hello")
	err = NewDecoder(Config{Format: FormatAvro}).Frame(t.Context(), rec, &f)
	require.ErrorContains(t, err, "as Avro with a schema registry does")
	require.NotContains(t, err.Error(), "JSON")
}

// TestShapes: one pointer as long as the declarations stay the same, another when one changes.
func TestShapes(t *testing.T) {
	fix := loadFixture(t, "pg_d_schema_p1_synced")
	d := NewDecoder(Config{})
	var shapes []*Shape
	for _, r := range fix.records["json_schema"] {
		var f Frame
		require.NoError(t, d.Frame(t.Context(), r.record(t), &f))
		if f.Shape == nil {
			require.Equal(t, KindTombstone, f.Kind)
			continue
		}
		if n := len(shapes); n == 0 || shapes[n-1] != f.Shape {
			shapes = append(shapes, f.Shape)
		}
		fields, err := f.Shape.Fields(Types{})
		require.NoError(t, err)
		key, err := f.Shape.KeyFields(Types{})
		require.NoError(t, err)
		require.Equal(t, len(key), len(f.Shape.Key))
		schema := schemaOf(t, f.Shape, Types{})
		p, err := Bind(schema, f.Shape, Options{Key: f.Shape.Key})
		require.NoError(t, err)
		require.Empty(t, p.Unknown())
		require.NotEmpty(t, fields)
	}
	require.Greater(t, len(shapes), 8)
	require.Less(t, len(shapes), 25)
}

// TestSource reads source blocks, before and after the rows are read.
func TestSource(t *testing.T) {
	const key = `{"id":1}`
	pg := `{"before":null,"after":{"id":1,"label":"a","weight":1},"source":{"version":"3.6.1.Final","connector":"postgresql","name":"pg","ts_ms":1795960468783,"snapshot":"false","db":"shop","sequence":"[\"24\",\"451668208\"]","schema":"public","table":"customers","txId":23385,"lsn":451668208,"xmin":null},"transaction":null,"op":"c","ts_ms":1}`
	f, err := frameOf(t, "t", key, pg)
	require.NoError(t, err)
	want := Source{Connector: "postgresql", Name: "pg", DB: "shop", Schema: "public", Table: "customers", TsMillis: 1795960468783,
		Position: Position{CommitLSN: 24, LSN: 451668208, TxID: 23385, ServerID: -1, Pos: -1, Row: -1}}
	src, err := f.Source()
	require.NoError(t, err)
	require.Equal(t, want, src)
	require.Equal(t, "shop.public.customers", src.String())

	r := newRig(t, Options{}, crate...)
	_, err = r.apply(key, pg)
	require.NoError(t, err)
	require.Positive(t, r.frame.sourceAt)
	src, err = r.frame.Source()
	require.NoError(t, err)
	require.Equal(t, want, src)

	f, err = frameOf(t, "t", key, `{"id":1,"__table":"customers","__source_ts_ms":7,"__source_lsn":9,"__source_snapshot":"first","__ts_ms":8,"__db":"shop","__op":"u"}`)
	require.NoError(t, err)
	src, err = f.Source()
	require.NoError(t, err)
	require.Equal(t, Source{DB: "shop", Table: "customers", TsMillis: 7, Snapshot: SnapshotInitial, Position: Position{CommitLSN: -1, LSN: 9, TxID: -1, ServerID: -1, Pos: -1, Row: -1}}, src)
}

func TestPositions(t *testing.T) {
	parse := func(s string) Position {
		p, err := ParsePosition(s)
		require.NoError(t, err)
		require.Equal(t, s, p.String())
		return p
	}
	for _, c := range []struct {
		p, q string
		want int
		ok   bool
	}{
		{"lsn:10/30/1", "lsn:20/25/2", -1, true}, {"lsn:10/30/1", "lsn:10/31/1", -1, true}, {"lsn:10/30/1", "lsn:10/30/1", 0, true}, {"lsn:/5/", "lsn:1/2/", -1, true},
		{"binlog:1/bl.000009/998877/0/", "binlog:1/bl.000010/4/0/", -1, true}, {"binlog:1/bl.999999/4/0/", "binlog:1/bl.1000000/4/0/", -1, true},
		{"binlog:1/bl.000009/4/1/", "binlog:1/bl.000009/4/0/", 1, true}, {"binlog:0/bl.000009/4/0/", "binlog:5/bl.000009/8/0/", -1, true},
		{"binlog:1/bl.000009/4/0/", "binlog:2/bl.000001/4/0/", 0, false}, {"binlog:1/a.000009/4/0/u1:7", "binlog:2/b.000001/4/0/u1:8", -1, true},
		{"binlog:1/a.000009/4/0/u1:7", "binlog:2/b.000001/4/0/u2:8", 0, false}, {"binlog:1/a.000009/4/0/0-1-7", "binlog:2/b.000001/4/0/0-2-8", -1, true},
		{"lsn:10/30/1", "binlog:1/bl.000009/4/0/", 0, false}, {"lsn:10/30/1", "", 0, false},
	} {
		order, ok := parse(c.p).Compare(parse(c.q))
		require.Equal(t, c.ok, ok, "%s %s", c.p, c.q)
		require.Equal(t, c.want, order, "%s %s", c.p, c.q)
		order, ok = parse(c.q).Compare(parse(c.p))
		require.Equal(t, c.ok, ok)
		require.Equal(t, -c.want, order)
	}
	require.False(t, parse("").Known())
	for _, s := range []string{"x", "lsn:1", "lsn:a/b/c", "binlog:1/2", "lsn:-1/5/1", "lsn://"} {
		_, err := ParsePosition(s)
		require.Error(t, err, s)
	}
}

// TestPositionsOfFixtures: positions never go back within a topic, but where the README says that they do.
func TestPositionsOfFixtures(t *testing.T) {
	for _, name := range []string{"pg_a_basic_p1_default", "my_a_basic_p1_default"} {
		d := NewDecoder(Config{})
		var last Position
		for _, r := range loadFixture(t, name).records["json"] {
			var f Frame
			require.NoError(t, d.Frame(t.Context(), r.record(t), &f))
			if f.Kind != KindChange {
				continue
			}
			src, err := f.Source()
			require.NoError(t, err)
			if last.Known() {
				order, ok := last.Compare(src.Position)
				require.True(t, ok)
				require.LessOrEqual(t, order, 0, "%s then %s", last, src.Position)
			}
			last = src.Position
		}
	}
}

// TestKindsOfFixtures counts what the connectors send that is no row.
func TestKindsOfFixtures(t *testing.T) {
	for name, want := range map[string]map[Kind]int{
		"pg_e_events_p1_all": {KindTruncate: 0, KindMessage: 0, KindHeartbeat: 0, KindTransaction: 0},
		"my_e_events_p1_all": {KindTruncate: 0, KindHeartbeat: 0, KindTransaction: 0, KindSchemaChange: 0},
	} {
		fix := loadFixture(t, name)
		var first map[Kind]int
		for _, encoding := range []string{"json", "json_schema"} {
			have := map[Kind]int{}
			d := NewDecoder(Config{})
			for _, r := range fix.records[encoding] {
				var f Frame
				require.NoError(t, d.Frame(t.Context(), r.record(t), &f))
				have[f.Kind]++
				switch {
				case strings.HasPrefix(r.Topic, "__debezium-heartbeat"):
					require.Equal(t, KindHeartbeat, f.Kind)
				case strings.HasSuffix(r.Topic, ".transaction"):
					require.Equal(t, KindTransaction, f.Kind)
				case strings.HasSuffix(r.Topic, ".message"):
					require.Equal(t, KindMessage, f.Kind)
				case r.Topic == "my":
					require.Equal(t, KindSchemaChange, f.Kind)
				default:
					require.Contains(t, []Kind{KindChange, KindTruncate, KindTombstone}, f.Kind)
				}
			}
			if first == nil {
				first = have
			}
			require.Equal(t, first, have)
			for k := range want {
				require.Positive(t, have[k], "%s: %s", name, k)
			}
		}
	}
}

// TestFlat reads rows without envelope.
func TestFlat(t *testing.T) {
	r := newRig(t, Options{}, crate...)
	for _, c := range []struct {
		value  string
		op     Op
		before BeforeImage
		row    string
	}{
		{`{"id":1,"label":"a","weight":2}`, OpUpsert, BeforeMissing, `+U {"id":1,"label":"a","weight":2}`},
		{`{"id":1,"label":"a","weight":2,"__deleted":"false"}`, OpUpsert, BeforeMissing, `+U {"id":1,"label":"a","weight":2}`},
		{`{"id":1,"label":"a","weight":2,"__op":"c","__deleted":"false"}`, OpCreate, BeforeFull, `+I {"id":1,"label":"a","weight":2}`},
		{`{"id":1,"label":"a","weight":2,"__op":"u"}`, OpUpdate, BeforeMissing, `+U {"id":1,"label":"a","weight":2}`},
		{`{"id":1,"label":"a","weight":2,"__deleted":"true"}`, OpDelete, BeforeFull, `-D {"id":1,"label":"a","weight":2}`},
		{`{"id":1,"label":"","weight":0,"__deleted":"true"}`, OpDelete, BeforeSuspect, `-D {"id":1,"label":"","weight":0}`},
		{`{"id":1,"__deleted":"true"}`, OpDelete, BeforeMissing, `-D {"id":1,"label":null,"weight":null}`},
		{`{"__op":"d","id":1,"label":"a","weight":2}`, OpDelete, BeforeFull, `-D {"id":1,"label":"a","weight":2}`},
	} {
		ev, err := r.apply(`{"id":1}`, c.value)
		require.NoError(t, err, c.value)
		require.Equal(t, c.op, ev.Op, c.value)
		require.Equal(t, c.before, ev.Before, c.value)
		require.Equal(t, []string{c.row}, r.rows(), c.value)
		require.Zero(t, ev.Unknown)
	}
	require.Equal(t, "r", headerOp([]Header{{Key: "x"}, {Key: "__op", Value: []byte(`"r"`)}}))
	_, err := r.apply(`{"id":1}`, `{"id":1,"label":"a"`)
	require.Equal(t, ReasonMalformed, reasonOf(t, err))
}
