package verify

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestReplayGivesMemoryBack: rows that come and go leave nothing behind that counts, else a bucket with many deletes would be read over and
// over, in ever smaller shares.
func TestReplayGivesMemoryBack(t *testing.T) {
	integer := table.Type{Root: table.Int}
	s := table.NewSchema([]table.Field{{Name: "id", Type: integer}, {Name: "n", Type: integer}}, []string{"id"}, nil, nil)
	for _, merged := range []bool{false, true} {
		p := &bucketReplay{replayer: &replayer{checker: &checker{schema: s}, engine: merged}}
		require.NoError(t, p.reset())
		for i := range 100 {
			require.NoError(t, p.put("key", fmt.Sprint(i)))
			require.NoError(t, p.put("key", fmt.Sprint(1000*i)))
			p.remove("key")
			require.Zero(t, p.bytes, "merged: %t", merged)
		}
	}
}

// TestReplayOfOlderChanges: what a change that is older than the row that is there does to it depends on what is merged first.
func TestReplayOfOlderChanges(t *testing.T) {
	integer := table.Type{Root: table.Int}
	fields := []table.Field{{Name: "id", Type: integer}, {Name: "g", Type: integer}, {Name: "n", Type: integer}}
	for engine, doubtful := range map[string]bool{"deduplicate": false, "aggregation": true, "partial-update": true} {
		s := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"merge-engine": engine, "sequence.field": "g"})
		m, err := newRemerge(s)
		require.NoError(t, err)
		p := &bucketReplay{replayer: &replayer{checker: &checker{schema: s}, engine: true}}
		require.NoError(t, p.reset())
		change := func(seq, g, n int64) {
			b := table.NewBatch(fields)
			for i, v := range []int64{1, g, n} {
				b.Columns[i].AppendWord(v)
			}
			b.Kinds = append(b.Kinds, table.Insert)
			m.add("key", b, 0, seq)
		}
		change(1, 5, 10)
		require.NoError(t, m.finish(p))
		change(2, 5, 11)
		change(3, 6, 12)
		require.NoError(t, m.finish(p))
		require.False(t, p.rows["key"].doubtful, engine)
		change(4, 4, 13)
		require.NoError(t, m.finish(p))
		require.Equal(t, doubtful, p.rows["key"].doubtful, engine)
	}
}
