//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInfer: JSON without schema, types from the values. Every step is in files of its own schema, which the real readers cast.
func TestInfer(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	l := newLake(t, disk)
	mapping := table(topic, "orchard.crate", config{"infer": true, "options": config{"bucket": "1"}})
	step := 0
	for _, images := range [][]string{
		{`{"id":1,"n":9007199254740993,"m":7,"f":0.5,"b":true,"s":"x","o":{"k": [1]},"late":null}`},
		{`{"id":2,"n":18446744073709551615,"m":1.25,"f":1E300,"b":false,"s":7,"o":[1, 2],"late":null}`},
		{`{"id":3,"n":-1,"m":-0.000000000000000001,"f":2,"b":null,"s":null,"o":null,"late":"2024-02-29","grade":5}`, `{"id":4}`},
	} {
		var records []record
		for _, image := range images {
			step++
			records = append(records, crate{schemaless: true}.event(topic, 0, int64(step), "c", "null", image))
		}
		produce(t, records)
		catchUp(t, newConfig(l, topic, mapping))
	}
	row := func(id int, n, m, f, b, s, o, late, grade string) string {
		return fmt.Sprintf(`{"id":%d,"n":%s,"m":%s,"f":%s,"b":%s,"s":%s,"o":%s,"late":%s,"grade":%s}`, id, n, m, f, b, s, o, late, grade)
	}
	x := l.table("orchard.crate")
	rows := x.agreed(t)
	require.Equal(t, []string{
		row(1, `"9007199254740993"`, `"7.000000000000000000"`, "0.5", "true", `"x"`, `"{\"k\": [1]}"`, "null", "null"),
		row(2, `"18446744073709551615"`, `"1.250000000000000000"`, "1e+300", "false", `"7"`, `"[1, 2]"`, "null", "null"),
		row(3, `"-1"`, `"-0.000000000000000001"`, "2", "null", "null", "null", `"2024-02-29"`, "5"),
		row(4, "null", "null", "null", "null", "null", "null", "null", "null"),
	}, rows)
	types := map[string]string{}
	for _, f := range x.schema(t).Fields {
		types[f.Name] = strings.Trim(string(f.Type), `"`)
	}
	require.Equal(t, map[string]string{
		"id": "BIGINT NOT NULL", "n": "DECIMAL(38, 0)", "m": "DECIMAL(38, 18)", "f": "DOUBLE", "b": "BOOLEAN", "s": "STRING", "o": "STRING", "late": "STRING", "grade": "BIGINT",
	}, types)
	requireFold(t, x.changes(t), []string{"id"}, rows)
	x.fsck(t, "--replay", "all")
}
