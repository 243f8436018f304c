package connector

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
	"sink/table/scan"
)

// allTold reports whether compaction has told all that the table holds.
func allTold(t *testing.T, store object.Store, name string) bool {
	opened, err := scan.Open(t.Context(), store, pathOf(name))
	require.NoError(t, err)
	plan, err := opened.Plan(t.Context(), scan.At{}, nil)
	require.NoError(t, err)
	return !slices.ContainsFunc(plan.Splits, func(s scan.Split) bool {
		return opened.Schema().Pending(s.Files)
	})
}

// TestCompactionTells: events without the row before give a right changelog when compaction makes it: the process that writes the table
// compacts it after its checkpoints.
func TestCompactionTells(t *testing.T) {
	const records, keys = 30, 6
	for _, producer := range []string{table.ProducerLookup, table.ProducerFull} {
		b := newBroker(t, 1, crateTopic)
		for i := range int64(records) {
			id := i * 5 % keys
			if i%7 == 6 {
				b.send(crateTopic, 0, keyOf(id), envelope("d", nil, nil, i))
				continue
			}
			b.send(crateTopic, 0, keyOf(id), envelope("u", nil, row(id, "fig", i), i))
		}
		crates := crateTable()
		crates.OnMissingBefore = Accept
		crates.Options = map[string]string{"bucket": "2", "changelog-producer": producer, "snapshot.num-retained.min": "1000"}
		store := object.NewMem()
		cfg := b.config(store, crates)
		cfg.Checkpoint.Records = 4
		err := runWhile(t, cfg, func() bool {
			return covered(t, store, "orchard.db/crate") == records && allTold(t, store, "orchard.crate")
		})
		require.NoError(t, err)
		rows := rowsOf(t, store, "orchard.crate")
		require.NotEmpty(t, rows)
		require.Equal(t, rows, foldStrictly(t, store, "orchard.crate"), producer)
	}
}

// foldStrictly returns the rows that a changelog gives whose changes take away exactly what is there.
func foldStrictly(t *testing.T, store object.Store, name string) []string {
	_, changes := changesOf(t, store, name)
	var rows []string
	for _, c := range changes {
		kind, row, _ := strings.Cut(c, " ")
		at := slices.Index(rows, row)
		if kind == "+I" || kind == "+U" {
			require.Negative(t, at, "%s is there", c)
			rows = append(rows, row)
			continue
		}
		require.GreaterOrEqual(t, at, 0, "%s takes away what is not there", c)
		rows = slices.Delete(rows, at, at+1)
	}
	slices.Sort(rows)
	return rows
}
