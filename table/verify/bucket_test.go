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
