//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// stream makes the changes of crates without end: creates, updates, deletes with and without tombstones, and creates of
// keys that were there before. Few keys make many changes of each.
type stream struct {
	crate
	cluster    cluster
	topic      string
	partitions int32
	random     *rand.Rand
	rows       map[int64]string // images of the rows that are there
	n          int
}

const streamKeys = 400

// newStream makes a topic of the test's own.
func newStream(t testing.TB, partitions int) *stream {
	t.Helper()
	return newStreamOf(t, slug(t), partitions, dice(t))
}

func newStreamOf(t testing.TB, topic string, partitions int, random *rand.Rand) *stream {
	t.Helper()
	return newStreamOn(t, sharedCluster(), topic, partitions, random)
}

func newStreamOn(t testing.TB, c cluster, topic string, partitions int, random *rand.Rand) *stream {
	t.Helper()
	c.createTopic(t, topic, partitions)
	return &stream{
		crate: crate{schemaless: true}, cluster: c, topic: topic, partitions: int32(partitions), rows: map[int64]string{},
		random: rand.New(rand.NewPCG(random.Uint64(), 0)),
	}
}

// mapping maps the topic to a table, with the coordinates of each record.
func (s *stream) mapping(name string, more ...config) config {
	return table(s.topic, name, append([]config{crateColumns, coordinateColumns}, more...)...)
}

// next are the next n records, at least; their offsets are the topic's next.
func (s *stream) next(n int) []record {
	var out []record
	for len(out) < n {
		id := s.random.Int64N(streamKeys)
		if s.random.IntN(4) == 0 {
			id %= 8 // hot
		}
		partition := int32(id) % s.partitions
		s.n++
		before, there := s.rows[id]
		after := image(id, fmt.Sprintf("change %d of all, %d of a run", s.n, len(out)), s.n)
		switch {
		case !there:
			s.rows[id] = after
			out = append(out, s.event(s.topic, partition, id, "c", "null", after))
		case s.random.IntN(5) == 0:
			delete(s.rows, id)
			out = append(out, s.event(s.topic, partition, id, "d", before, "null"))
			if s.random.IntN(2) == 0 {
				out = append(out, s.tombstone(s.topic, partition, id))
			}
		default:
			s.rows[id] = after
			out = append(out, s.event(s.topic, partition, id, "u", before, after))
		}
	}
	return out
}

// crateRowOf is what a row of a crate holds beside its coordinates.
type crateRowOf struct {
	ID     int64  `json:"id"`
	Label  string `json:"label"`
	Weight int    `json:"weight"`
}

// truth are the rows of the source.
func (s *stream) truth() map[int64]crateRowOf {
	rows := map[int64]crateRowOf{}
	for id, text := range s.rows {
		var row crateRowOf
		if err := json.Unmarshal([]byte(text), &row); err != nil {
			panic(err)
		}
		rows[id] = row
	}
	return rows
}

// crates are rows as read from a table.
func crates(t testing.TB, lines []string) map[int64]crateRowOf {
	t.Helper()
	rows := map[int64]crateRowOf{}
	for _, line := range lines {
		var row crateRowOf
		require.NoError(t, json.Unmarshal([]byte(line), &row), "%s", line)
		require.NotContains(t, rows, row.ID, "a key twice")
		rows[row.ID] = row
	}
	return rows
}

// plain are changes of crates without the coordinates of their records: an image of before has those of its own record.
func plain(t testing.TB, changes []change) []change {
	t.Helper()
	out := make([]change, len(changes))
	for i, c := range changes {
		var row crateRowOf
		require.NoError(t, json.Unmarshal(c.Row, &row), "%s", c.Row)
		text, err := json.Marshal(row)
		require.NoError(t, err)
		out[i] = change{Snapshot: c.Snapshot, Bucket: c.Bucket, Kind: c.Kind, Row: text}
	}
	return out
}

// requireWhole wants the table to hold what the source holds, its changelog each of the records exactly once, each snapshot
// to go on where the one before it ended, and the real Paimon to find nothing wrong. All writers have ended.
func (s *stream) requireWhole(t testing.TB, x target, sent []record) {
	t.Helper()
	changes := x.changes(t)
	requireExactlyOnce(t, sent, changes)
	rows := x.agreedBy(t, "paimon", "sink")
	requireFold(t, changes, []string{"id"}, rows)
	requirePairs(t, changes, []string{"id"})
	requireTrueImages(t, plain(t, changes), []string{"id"})
	require.Equal(t, s.truth(), crates(t, rows), "the table's rows and the source's")
	requireOffsetsGrow(t, x, s.topic)
	require.Equal(t, s.cluster.endOffsets(t, s.topic), x.latest(t).covered(t)[s.topic])
	x.fsck(t, "--interleaved", "--replay", "last")
}

// requireOffsetsGrow wants no snapshot to cover less of a topic than the one before it.
func requireOffsetsGrow(t testing.TB, x target, topic string) {
	t.Helper()
	last := map[int32]int64{}
	for _, snapshot := range x.snapshots(t) {
		covered := snapshot.covered(t)[topic]
		for partition, offset := range last {
			require.GreaterOrEqual(t, covered[partition], offset, "snapshot %d: partition %d goes back", snapshot.ID, partition)
		}
		for partition, offset := range covered {
			last[partition] = offset
		}
	}
}
