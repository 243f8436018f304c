//go:build integration

package integration

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// capture is one run of a connector, as ../debezium/testdata has them: all its records in all encodings.
type capture struct {
	db, profile string // "pg", "b_types_p1_default"
	truths      map[string]truth
	schemas     map[string]json.RawMessage // Avro schemas by id
	records     map[string][]record        // by encoding
}

const captureFolder = "../debezium/testdata/fixtures"

// captures loads the runs whose name matches, such as "*_b_types_*".
func captures(t testing.TB, pattern string) []capture {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(captureFolder, pattern+".jsonl.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	all := make([]capture, len(files))
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		all[i] = capture{records: map[string][]record{}}
		all[i].db, all[i].profile, _ = strings.Cut(name, "_")
		all[i].load(t, strings.TrimSuffix(file, ".gz"))
	}
	return all
}

func (c *capture) load(t testing.TB, base string) {
	in, err := open(base)
	require.NoError(t, err)
	defer in.Close()
	first := true
	require.NoError(t, scanLines(in, func(line []byte) error {
		if first {
			first = false
			head := struct {
				Expected map[string]truth           `json:"expected"`
				Schemas  map[string]json.RawMessage `json:"schemas"`
			}{}
			err := json.Unmarshal(line, &head)
			c.truths, c.schemas = head.Expected, head.Schemas
			return err
		}
		var r struct {
			record
			Encoding string `json:"encoding"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		r.binary = r.Encoding == "avro"
		r.Offset = nil
		c.records[r.Encoding] = append(c.records[r.Encoding], r.record)
		return nil
	}))
}

// topics are those of an encoding that some events with a key are on, sorted.
func (c *capture) topics(encoding string, keep func(topic string) bool) []string {
	found := map[string]bool{}
	for _, r := range c.records[encoding] {
		if r.Key != nil && r.Value != nil && keep(r.Topic) {
			found[r.Topic] = true
		}
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// of are the records of an encoding and a topic, put on the topic prefix + topic, with the registry's ids for the capture's.
func (c *capture) of(t testing.TB, encoding, topic, prefix string, ids map[uint32]uint32) []record {
	t.Helper()
	var out []record
	for _, r := range c.records[encoding] {
		if r.Topic != topic {
			continue
		}
		r.Topic = prefix + topic
		if r.binary {
			r.Key, r.Value = renumber(t, r.Key, ids), renumber(t, r.Value, ids)
		}
		out = append(out, r)
	}
	return out
}

// renumber changes the schema id in front of a Confluent message.
func renumber(t testing.TB, text *string, ids map[uint32]uint32) *string {
	t.Helper()
	if text == nil {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(*text)
	require.NoError(t, err)
	id, ok := ids[binary.BigEndian.Uint32(b[1:])]
	require.True(t, ok, "schema %d was not posted", binary.BigEndian.Uint32(b[1:]))
	binary.BigEndian.PutUint32(b[1:], id)
	out := base64.StdEncoding.EncodeToString(b)
	return &out
}

// post gives Avro schemas to the registry and returns its ids by the captures'.
func post(t testing.TB, url string, schemas map[string]json.RawMessage) map[uint32]uint32 {
	t.Helper()
	ids := map[uint32]uint32{}
	type answer struct{ from, to uint32 }
	answers := make(chan answer, len(schemas))
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	var all errgroup.Group
	all.SetLimit(4)
	for id, schema := range schemas {
		all.Go(func() error {
			body, err := json.Marshal(map[string]string{"schema": string(schema)})
			if err != nil {
				return err
			}
			response, err := client.Post(url+"/subjects/capture-"+id+"/versions", "application/json", strings.NewReader(string(body)))
			if err != nil {
				return err
			}
			defer response.Body.Close()
			var got struct {
				ID uint32 `json:"id"`
			}
			if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
				return err
			}
			from, err := strconv.ParseUint(id, 10, 32)
			answers <- answer{uint32(from), got.ID}
			return err
		})
	}
	require.NoError(t, all.Wait())
	close(answers)
	for a := range answers {
		require.NotZero(t, a.to, "the registry took no schema for %d", a.from)
		ids[a.from] = a.to
	}
	return ids
}

// createTopics makes topics of one partition at once and waits until they are served.
func createTopics(t testing.TB, topics []string) {
	t.Helper()
	answers, err := shared.admin.CreateTopics(t.Context(), 1, 1, nil, topics...)
	require.NoError(t, err)
	for _, a := range answers {
		require.NoError(t, a.Err, a.Topic)
	}
	require.Eventually(t, func() bool {
		offsets, err := shared.admin.ListEndOffsets(t.Context(), topics...)
		return err == nil && offsets.Error() == nil && len(offsets) == len(topics)
	}, time.Minute, 50*time.Millisecond, "topics are not served")
}
