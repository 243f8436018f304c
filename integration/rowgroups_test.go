//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopiedRowGroups: a compaction that copies row groups of a large file as they are leaves a table that every reader reads alike
// and that the real Paimon finds whole, statistics included.
func TestCopiedRowGroups(t *testing.T) {
	const keys, width = 16_000, 1000 // more than a row group, which has 8 MiB
	x := newLake(t, disk).table("life.wide")
	s := &paimonScript{r: rand.New(rand.NewPCG(1, 1)), rows: map[int64]string{}}
	var b strings.Builder
	line := func(kind string, id int64, v string) {
		row, err := json.Marshal(map[string]any{"kind": kind, "row": map[string]any{"id": id, "v": v}})
		require.NoError(t, err)
		b.Write(append(row, '\n'))
		s.rows[id] = v
	}
	commit := func(id int) { fmt.Fprintf(&b, `{"op":"commit","id":%d}`+"\n", id) }
	b.WriteString(strings.Replace(upkeepTable, `"bucket":"2"`, `"bucket":"1","write-only":"true"`, 1) + "\n")
	text := make([]byte, width)
	for id := range int64(keys) {
		for i := range text {
			text[i] = byte('0' + s.r.IntN(75))
		}
		line("+I", id, strings.ReplaceAll(string(text), `\`, "/"))
	}
	commit(1)
	for _, id := range []int64{0, keys - 1} { // so that the large file is rewritten: only the sink's own are copied from
		line("-U", id, s.rows[id])
		line("+U", id, s.rows[id])
	}
	commit(2)
	s.run(t, x, b.String())
	sink(t, x.cli("compact", "--full")...)

	b.Reset()
	for id := int64(keys - 20); id < keys; id++ {
		line("-U", id, s.rows[id])
		line("+U", id, "changed")
	}
	commit(3)
	s.run(t, x, b.String())
	var result struct{ Rows, Copied int64 }
	require.NoError(t, json.Unmarshal([]byte(sink(t, x.cli("compact", "--full", "-o", "json")...)), &result))
	require.EqualValues(t, keys, result.Rows)
	require.Positive(t, result.Copied)
	require.Less(t, result.Copied, result.Rows)
	s.check(t, x)
}
