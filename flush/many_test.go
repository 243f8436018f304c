package flush

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestManyChangesOfOneKey is case U10: a key changes often, among ten thousand others and over two spills.
func TestManyChangesOfOneKey(t *testing.T) {
	fields := []table.Field{{Name: "id", Type: table.Type{Root: table.BigInt}}, {Name: "w", Type: table.Type{Root: table.Int}}}
	schema := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "2", "changelog-producer": "input"})
	store := object.NewMem()
	w, err := New(Config{Schema: schema, Store: store, Path: "orchard.db/crate"})
	require.NoError(t, err)
	add := func(rows ...string) {
		for _, row := range rows {
			appendText(t, w.Batch(), row)
		}
		require.NoError(t, w.Add())
	}
	other := 100
	others := func() {
		for range 2_000 {
			other++
			add(fmt.Sprintf("+I %d 0", other))
		}
	}
	add("+I 1 1")
	others()
	add("-U 1 1", "+U 1 2")
	others()
	require.NoError(t, w.Spill(t.Context()))
	add("-U 1 2", "+U 1 3")
	others()
	add("-D 1 3")
	others()
	require.NoError(t, w.Spill(t.Context()))
	add("+I 1 4")
	others()
	add("-U 1 4", "+U 1 5")
	delta, err := w.Seal().Flush(t.Context())
	require.NoError(t, err)

	var changes []string
	sum, last, rows := 0, int64(-1), 0
	for i := range delta.Changelog {
		for _, r := range readFile(t, store, "orchard.db/crate", schema, &delta.Changelog[i]) {
			rows++
			if r.cells[0] != "1" {
				continue
			}
			changes = append(changes, r.kind.String()+" w"+r.cells[1])
			require.Greater(t, r.seq, last)
			last = r.seq
			if r.kind.Retracts() {
				sum--
			} else {
				sum++
			}
		}
	}
	require.Equal(t, []string{"+I w1", "-U w1", "+U w2", "-U w2", "+U w3", "-D w3", "+I w4", "-U w4", "+U w5"}, changes)
	require.Equal(t, 1, sum)
	require.Equal(t, 10_009, rows)

	newest := storedRow{seq: -1}
	for i := range delta.Added {
		for _, r := range readFile(t, store, "orchard.db/crate", schema, &delta.Added[i]) {
			if r.cells[0] == "1" && r.seq > newest.seq {
				newest = r
			}
		}
	}
	require.Equal(t, fmt.Sprintf("%d +U 1 5", last), newest.String())
}

// TestManyPartitions: rows for thousands of partitions in one checkpoint, under a budget that holds a part of them. Memory stays
// within it, no row is lost, and an early flush adds a file to no more than half of the partitions.
func TestManyPartitions(t *testing.T) {
	const partitions, rounds, budget = 2000, 10, 12 << 20
	fields := []table.Field{{Name: "day", Type: table.Type{Root: table.Int}}, {Name: "id", Type: table.Type{Root: table.BigInt}}, {Name: "note", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}}}
	schema := table.NewSchema(fields, []string{"day", "id"}, []string{"day"}, map[string]string{"bucket": "1", "changelog-producer": "input", "file.compression": "none"})
	store := object.NewMem()
	w, err := New(Config{Schema: schema, Store: store, Path: "orchard.db/crate", ChunkRows: 512})
	require.NoError(t, err)
	spills, note := 0, strings.Repeat("x", 1000)
	for round := range rounds {
		for day := range partitions {
			appendText(t, w.Batch(), fmt.Sprintf("+I %d %d %s", day, round, note))
			require.NoError(t, w.Add())
			if w.BufferedBytes() > budget {
				spills++
				require.NoError(t, w.Spill(t.Context()))
				require.Less(t, w.BufferedBytes(), int64(budget))
			}
		}
	}
	delta, err := w.Seal().Flush(t.Context())
	require.NoError(t, err)
	rows := map[string]int64{}
	for i := range delta.Added {
		rows[delta.Added[i].Bucket.Partition] += delta.Added[i].Rows
	}
	require.Positive(t, spills)
	require.Len(t, rows, partitions)
	for _, n := range rows {
		require.EqualValues(t, rounds, n)
	}
	require.LessOrEqual(t, len(delta.Added), partitions*(2+spills)/2, "an early flush writes half of the partitions, the fullest")
	require.Len(t, delta.Changelog, len(delta.Added))
}
