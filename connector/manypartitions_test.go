package connector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

// TestFilesOfManyPartitions: rows of ever new partitions fill a small budget, first as rows and then as what has to be known of the files
// written early. The table goes on, by checkpoints long before the interval.
func TestFilesOfManyPartitions(t *testing.T) {
	onStage(t, func(t *testing.T) {
		const partitions = 5000
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Memory = false, 1<<20
		m := &cfg.Tables[0]
		m.PrimaryKey, m.PartitionBy, m.Options["bucket"] = []string{"id", "weight"}, []string{"weight"}, "1"
		p := s.start(cfg)
		for id := range int64(partitions) {
			s.emit(crateTopic, event{key: keyOf(id), value: envelope("c", nil, row(id, "fig", id), id)})
		}
		time.Sleep(time.Minute)
		stats := p.c.Stats().Tables[0]
		require.Positive(t, stats.Spills)
		require.EqualValues(t, partitions, stats.Records, "all is taken")
		require.Positive(t, stats.Commits, "long before the interval")
		require.NoError(t, p.end())
		require.Len(t, rowsOf(t, store, "orchard.crate"), partitions)
	})
}
