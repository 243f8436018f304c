package connector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"sink/table/object"
)

// reread is a row of an incremental snapshot. Debezium's connectors send it without a position, or with that of the window's end.
func reread(r *crate, position string) event {
	value := strings.Replace(envelope("r", nil, r, 0), `"snapshot":"false"`, `"snapshot":"incremental"`, 1)
	switch position {
	case "none":
		value = strings.Replace(value, `"file":"bl.000004","name":"dock","pos":1000`, `"file":"","name":"dock","pos":0`, 1)
	case "postgres":
		value = strings.Replace(value, `"connector":"mysql","db":"orchard","file":"bl.000004","name":"dock","pos":1000`, `"connector":"postgresql","db":"orchard","lsn":null,"sequence":"[null,null]","name":"dock"`, 1)
	}
	return event{key: keyOf(r.ID), value: value}
}

// TestIncrementalSnapshot plays one that goes on while the source changes: the windows of its chunks are marked in the signal table,
// in whose topic nobody is interested here; rows that changed within a window are left out of it. Rows that were there before
// come as new ones once more; what was not there before is added; deduplicate takes none of them for a repeat.
func TestIncrementalSnapshot(t *testing.T) {
	for _, position := range []string{"none", "postgres", "window"} {
		for _, deduplicate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deduplicate %t", position, deduplicate), func(t *testing.T) {
				events := []event{
					{key: keyOf(1), value: envelope("c", nil, row(1, "fig", 1), 0)},
					{key: keyOf(2), value: envelope("c", nil, row(2, "oat", 1), 1)},
					{key: keyOf(3), value: envelope("c", nil, row(3, "rye", 1), 2)},
					{key: keyOf(1), value: envelope("u", row(1, "fig", 1), row(1, "fig", 2), 3)}, // in the window
					reread(row(2, "oat", 1), position), reread(row(3, "rye", 1), position), reread(row(9, "old", 7), position),
					{key: keyOf(2), value: envelope("u", row(2, "oat", 1), row(2, "oat", 5), 4)},
					{key: keyOf(3), value: envelope("d", row(3, "rye", 1), nil, 5)}, {key: keyOf(3)},
					{key: keyOf(9), value: envelope("u", row(9, "old", 7), row(9, "old", 8), 6)},
					reread(row(1, "fig", 2), position), // the next chunk
					{key: keyOf(1), value: envelope("u", row(1, "fig", 2), row(1, "fig", 3), 7)},
				}
				play(t, script{
					skips: 9, table: func(m *Table) { m.Deduplicate = deduplicate }, events: events, offsets: []int64{int64(len(events))},
					rows: []string{line("", 1, "fig", 3), line("", 2, "oat", 5), line("", 9, "old", 8)},
					changes: []string{
						line("+I", 1, "fig", 1), line("+I", 2, "oat", 1), line("+I", 3, "rye", 1), line("-U", 1, "fig", 1), line("+U", 1, "fig", 2),
						line("+I", 2, "oat", 1), line("+I", 3, "rye", 1), line("+I", 9, "old", 7), line("-U", 2, "oat", 1), line("+U", 2, "oat", 5), line("-D", 3, "rye", 1),
						line("-U", 9, "old", 7), line("+U", 9, "old", 8), line("+I", 1, "fig", 2), line("-U", 1, "fig", 2), line("+U", 1, "fig", 3),
					},
					stats: TableStats{Skipped: map[string]int64{"tombstone": 1}},
				})
			})
		}
	}
}

// TestRereadIsTold: once, at the first row of an incremental snapshot, also by those that read ahead; not at an initial one's.
func TestRereadIsTold(t *testing.T) {
	const told = "rows of an incremental snapshot"
	for _, incremental := range []bool{false, true} {
		b, store := newBroker(t, 1, crateTopic), object.NewMem()
		first := int64(-1)
		for i := range int64(3000) {
			e := event{key: keyOf(i), value: envelope("c", nil, row(i, "fig", 1), i)}
			if i == 0 { // of an initial snapshot
				e = reread(row(i, "fig", 1), "none")
				e.value = strings.Replace(e.value, "incremental", "true", 1)
			}
			if i >= 500 && i%10 > 6 {
				e = reread(row(i, "fig", 1), "none")
				if first < 0 {
					first = i
				}
				if !incremental {
					e.value = strings.Replace(e.value, "incremental", "true", 1)
				}
			}
			b.send(crateTopic, 0, e.key, e.value)
		}
		var log bytes.Buffer
		cfg := b.config(store, crateTable())
		cfg.Log = zerolog.New(zerolog.SyncWriter(&log))
		_, err := runConnector(t, cfg)
		require.NoError(t, err)
		require.Len(t, rowsOf(t, store, "orchard.crate"), 3000)
		if !incremental {
			require.NotContains(t, log.String(), told)
			continue
		}
		require.Equal(t, 1, strings.Count(log.String(), told), log.String())
		require.Regexp(t, fmt.Sprintf(`"offset":%d[,}].*%s`, first, told), log.String())
	}
}
