package connector

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"sink/commit"
	"sink/table"
	"sink/table/object"
)

// A run that begins at the end of an empty topic, and ends before it has made the table, has begun there: what comes until the next run is not
// skipped. Where it is gone by then, that is told.
func TestLatestOfEmptyTopic(t *testing.T) {
	for what, gone := range map[string]int64{"all is there": 0, "records are gone": 1} {
		t.Run(what, func(t *testing.T) {
			b := newBroker(t, 1, crateTopic)
			cfg := b.config(object.NewMem(), crateTable())
			cfg.Start, cfg.UntilEnd = Latest, false
			c, err := New(cfg)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			begun := table.TopicPartition{Topic: crateTopic}
			require.Eventually(t, func() bool { _, ok := c.offsets.snapshot()[begun]; return ok }, time.Minute, 10*time.Millisecond)
			cancel()
			require.NoError(t, <-ended)
			require.Zero(t, b.group(cfg.Group, crateTopic, 0))

			for id := range int64(2) {
				b.send(crateTopic, 0, keyOf(id), envelope("c", nil, row(id, "new", 1), id))
			}
			delete := kadm.Offsets{}
			delete.AddOffset(crateTopic, 0, gone, -1)
			_, err = b.admin.DeleteRecords(t.Context(), delete)
			require.NoError(t, err)
			cfg.UntilEnd = true
			_, err = runConnector(t, cfg)
			if gone > 0 {
				require.ErrorContains(t, err, "the table has begun at offset 0 (kafka.start: latest), but the log begins at 1: 1 records are gone")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{`{"id":0,"label":"new","weight":1}`, `{"id":1,"label":"new","weight":1}`}, rowsOf(t, cfg.Store, "orchard.crate"))
		})
	}
}

// Who makes the table fixes where the partitions of others begin, too: where these have begun, be it the start of the log.
func TestLatestOfOthers(t *testing.T) {
	w := &worker{name: "orchard.crate", state: commit.State{Fresh: true}}
	tp := table.TopicPartition{Topic: crateTopic, Partition: 1}
	begun := commit.FormatOffsetMetadata(commit.Mark{Table: w.name})
	for at, want := range map[int64]int64{-1: 9, 3: 3, 5: 5} {
		log := partitionLog{start: 3, end: 9, group: kadm.Offset{At: at, Metadata: begun}}
		require.Equal(t, want, w.beginning(tp, log).Offset, "the group is at %d", at)
	}
}
