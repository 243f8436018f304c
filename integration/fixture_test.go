//go:build integration

package integration

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// record is one Kafka record of testdata, made by testdata/pack.py from captured events.
type record struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Offset    *int64   `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       *string  `json:"key"`
	Value     *string  `json:"value"`
	Headers   []header `json:"headers"`
	binary    bool     // key and value are base64
}

type header struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

func (r record) kafka() *kgo.Record {
	out := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.bytes(r.Key), Value: r.bytes(r.Value)}
	if r.Timestamp > 0 {
		out.Timestamp = time.UnixMilli(r.Timestamp)
	}
	for _, h := range r.Headers {
		value := []byte(nil)
		if h.Value != nil {
			value = []byte(*h.Value)
		}
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Key, Value: value})
	}
	return out
}

func (r record) bytes(text *string) []byte {
	switch {
	case text == nil:
		return nil
	case r.binary:
		b, err := base64.StdEncoding.DecodeString(*text)
		if err != nil {
			panic(err)
		}
		return b
	}
	return []byte(*text)
}

// keyed is a record with JSON texts.
func keyed(topic string, partition int32, key, value string) record {
	r := record{Topic: topic, Partition: partition}
	if key != "" {
		r.Key = &key
	}
	if value != "" {
		r.Value = &value
	}
	return r
}

// events loads a profile such as "pg/a_basic" in an encoding such as "json_schema". Topics get prefix in front, so that
// tests do not share them; only those that keep accepts are loaded (nil: all).
func events(t testing.TB, profile, encoding, prefix string, keep func(topic string) bool) []record {
	t.Helper()
	base := filepath.Join("testdata", profile+"."+encoding+".jsonl")
	in, err := open(base)
	require.NoError(t, err)
	defer in.Close()
	var records []record
	last := map[string]string{}
	require.NoError(t, scanLines(in, func(line []byte) error {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		stretch(&r, last)
		r.binary = encoding == "avro"
		if keep == nil || keep(r.Topic) {
			r.Topic = prefix + r.Topic
			records = append(records, r)
		}
		return nil
	}))
	require.NotEmpty(t, records)
	return records
}

// someOrders are the changes of a few hundred rows of my/g_bulk, all kinds mixed, in the order of the source.
var someOrders = sync.OnceValues(func() ([]record, error) {
	in, err := open("testdata/my/g_bulk.json.jsonl")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var records []record
	last := map[string]string{}
	err = scanLines(in, func(line []byte) error {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		var key struct{ ID int }
		if r.Key != nil && json.Unmarshal([]byte(*r.Key), &key) == nil && key.ID > 0 && key.ID%29 == 0 {
			stretch(&r, last)
			records = append(records, r)
		}
		return nil
	})
	return records, err
})

// orders are n of someOrders for a topic of the test's own, which it does not make.
func orders(t testing.TB, n int) []record {
	t.Helper()
	all, err := someOrders()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), n)
	records := slices.Clone(all[:n])
	for i := range records {
		records[i].Topic = slug(t) + "." + records[i].Topic
	}
	return records
}

var afterImage = regexp.MustCompile(`"after":(\{[^{}]*\}),"source"`)

// stretch puts back the before image that pack.py wrote as =.
func stretch(r *record, last map[string]string) {
	if r.Key == nil || r.Value == nil {
		return
	}
	if rest, ok := strings.CutPrefix(*r.Value, `{"before":=,`); ok {
		value := `{"before":` + last[*r.Key] + `,` + rest
		r.Value = &value
	}
	if after := afterImage.FindStringSubmatch(*r.Value); after != nil {
		last[*r.Key] = after[1]
	}
}

// open opens base, base.gz or base.zst, unpacked.
func open(base string) (io.ReadCloser, error) {
	if f, err := os.Open(base + ".zst"); err == nil {
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	if f, err := os.Open(base + ".gz"); err == nil {
		return gzip.NewReader(f)
	}
	return os.Open(base)
}

// truth is a source table at the end, read with SQL: values are the database's own text, nil for NULL.
type truth struct {
	Columns    map[string]string    `json:"columns"`
	PrimaryKey []string             `json:"primary_key"`
	Rows       []map[string]*string `json:"rows"`
}

// expected loads the source's tables of a profile, by "schema.table" (MySQL: "database.table").
func expected(t testing.TB, profile string) map[string]truth {
	t.Helper()
	in, err := open(filepath.Join("testdata", profile+".expected.json"))
	require.NoError(t, err)
	defer in.Close()
	var tables map[string]truth
	require.NoError(t, json.NewDecoder(in).Decode(&tables))
	return tables
}
