//go:build integration

package integration

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keyOf is the text of a row's key columns.
func keyOf(t testing.TB, row json.RawMessage, key []string) string {
	t.Helper()
	var cells map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(row, &cells), "%s", row)
	parts := make([]string, len(key))
	for i, name := range key {
		require.Contains(t, cells, name)
		parts[i] = string(cells[name])
	}
	return strings.Join(parts, ",")
}

// keyed is the text of a change's key columns, which the same tests ask for again and again.
func (c *change) keyed(t testing.TB, key []string) string {
	if c.key == "" {
		c.key = keyOf(t, c.Row, key)
	}
	return c.key
}

// fold applies a changelog to nothing: +I and +U put, -U and -D remove. The result is the rows by key (I1).
func fold(t testing.TB, changes []change, key []string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for i := range changes {
		c := &changes[i]
		k := c.keyed(t, key)
		switch c.Kind {
		case "+I", "+U":
			rows[k] = string(c.Row)
		case "-U", "-D":
			delete(rows, k)
		default:
			require.Fail(t, "unknown row kind", "%+v", c)
		}
	}
	return rows
}

// requireFold wants the changelog to fold to the table's rows.
func requireFold(t testing.TB, changes []change, key []string, rows []string) {
	t.Helper()
	var folded []string
	for _, row := range fold(t, changes, key) {
		folded = append(folded, row)
	}
	requireSameLines(t, sorted(rows), sorted(folded), "the changelog folds to other rows than the table has (I1)")
}

// requirePairs wants each -U right before its +U, of the same key, in the same file (I3).
func requirePairs(t testing.TB, changes []change, key []string) {
	t.Helper()
	place := func(c *change) string {
		return strconv.FormatInt(c.Snapshot, 10) + "/" + string(c.Partition) + "/" + strconv.Itoa(c.Bucket)
	}
	pairs := 0
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case "-U":
			require.Less(t, i+1, len(changes), "the last change is a -U: %s", c.Row)
			next := &changes[i+1]
			require.Equal(t, "+U", next.Kind, "a -U without its +U behind it: %s", c.Row)
			require.Equal(t, place(c), place(next), "a pair lies in two files: %s", c.Row)
			require.Equal(t, c.keyed(t, key), next.keyed(t, key), "a -U and the +U behind it have different keys")
			pairs++
		case "+U":
			require.Positive(t, i, "the first change is a +U: %s", c.Row)
			require.Equal(t, "-U", changes[i-1].Kind, "a +U without its -U before it: %s", c.Row)
		}
	}
	require.Positive(t, pairs, "no update at all: the test proves nothing")
}

// requireTrueImages wants -U and -D to show the very row that was there, and +I only where none was.
func requireTrueImages(t testing.TB, changes []change, key []string) {
	t.Helper()
	rows := map[string]string{}
	for i := range changes {
		c := &changes[i]
		k := c.keyed(t, key)
		old, there := rows[k]
		switch c.Kind {
		case "+I":
			require.False(t, there, "+I of a key that is there: %s", c.Row)
			rows[k] = string(c.Row)
		case "+U":
			rows[k] = string(c.Row)
		default:
			require.True(t, there, "%s of a key that is not there: %s", c.Kind, c.Row)
			require.Equal(t, old, string(c.Row), "%s shows another row than was there", c.Kind)
			delete(rows, k)
		}
	}
}

// kinds counts changes by row kind.
func kinds(changes []change) map[string]int {
	counts := map[string]int{}
	for _, c := range changes {
		counts[c.Kind]++
	}
	return counts
}

// coordinates are where a row comes from, by the metadata columns _topic, _partition and _offset.
type coordinates struct {
	Topic     string `json:"_topic"`
	Partition int32  `json:"_partition"`
	Offset    int64  `json:"_offset"`
}

// coordinateColumns maps them in a configuration.
var coordinateColumns = config{"metadata": config{"_topic": "topic", "_partition": "partition", "_offset": "offset"}}

// requireExactlyOnce wants every row event of records in the changelog exactly once: an insert, a delete or the pair of
// an update, with the record's coordinates (I2). The -U of an update carries its own record's coordinates, too.
func requireExactlyOnce(t testing.TB, records []record, changes []change) {
	t.Helper()
	want := map[coordinates]string{}
	next := map[string]int64{}
	for _, r := range records {
		place := r.Topic + "/" + strconv.Itoa(int(r.Partition))
		offset := next[place]
		next[place]++
		if kind := effect(t, r); kind != "" {
			want[coordinates{r.Topic, r.Partition, offset}] = kind
		}
	}
	got := map[coordinates]string{}
	for _, c := range changes {
		var at coordinates
		require.NoError(t, json.Unmarshal(c.Row, &at))
		got[at] += c.Kind
	}
	for at, kind := range want {
		require.Equal(t, kind, got[at], "record %+v: its rows in the changelog", at)
	}
	require.Len(t, got, len(want), "rows in the changelog that no record stands for")
}

// effect are the row kinds that a record stands for.
func effect(t testing.TB, r record) string {
	t.Helper()
	if r.Value == nil {
		return ""
	}
	var v struct {
		Op      string `json:"op"`
		Payload struct {
			Op string `json:"op"`
		} `json:"payload"`
	}
	require.NoError(t, json.Unmarshal([]byte(*r.Value), &v))
	switch v.Op + v.Payload.Op {
	case "c", "r":
		return "+I"
	case "u":
		return "-U+U"
	case "d":
		return "-D"
	}
	return ""
}
