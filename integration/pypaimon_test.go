//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pypaimon commits rows with the real pypaimon.
func (b *beside) pypaimon(t *testing.T, rows []string, more ...string) {
	t.Helper()
	file := writeFile(t, "rows.jsonl", strings.Join(rows, "\n")+"\n")
	shared.python.must(t, b.python("pypaimon", append(more, "--write", file)...)...)
}

// alternate sends rows to the sink while pypaimon commits others, and returns all of them.
func (b *beside) alternate(t *testing.T) (rows []string) {
	t.Helper()
	for round := range int64(6) {
		for range 3 {
			b.send(t)
			rows = append(rows, image(b.sent, fmt.Sprint("label ", b.sent), 1))
		}
		theirs := []string{image(1000+2*round, "python", 2), image(1001+2*round, "\x00", 3)}
		b.pypaimon(t, theirs)
		rows = append(rows, theirs...)
	}
	b.caughtUp(t, b.sent)
	return rows
}

// TestBesidePython: pypaimon commits to a table while the sink writes it. Neither loses a row, and a row of the sink's
// replaces the one of the same key that pypaimon has committed before it, as the changelog tells.
func TestBesidePython(t *testing.T) {
	for name, options := range map[string]config{"append": {}, "append to buckets": {"bucket": "3", "bucket-key": "id"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBeside(t, &beside{keyless: true}, config{"options": options})
			b.grow(t, 1)
			rows := append(b.alternate(t), image(1, "label 1", 1))
			b.run.terminate(t)
			require.Zero(t, b.run.wait(t, waitLong))
			requireSameLines(t, sorted(rows), b.agreed(t), "%s", name)
			require.Equal(t, map[string]int{"+I": len(rows)}, kinds(b.changes(t)))
			verifies(t, b.target)
		})
	}
	t.Run("upsert", func(t *testing.T) {
		t.Parallel()
		b := startBeside(t, &beside{}, config{"options": config{"bucket": "2"}})
		b.grow(t, 2)
		theirs := []string{image(2, "python", 7)}
		for weight := range 50 { // numbered above what the sink gives its next row unless it looks
			theirs = append(theirs, image(1, "python", weight))
		}
		b.pypaimon(t, theirs)
		b.sent++
		b.produce(t, crate{}.event(b.topic, 0, 1, "u", image(1, "label 1", 1), image(1, "again", 8)))
		b.caughtUp(t, b.sent)
		rows := append(b.alternate(t), image(1, "again", 8), image(2, "python", 7))
		b.run.terminate(t)
		require.Zero(t, b.run.wait(t, waitLong))
		requireSameLines(t, sorted(rows), sorted(b.agreed(t)), "upsert")
		b.fsck(t, "--replay", "all", "--interleaved") // pypaimon does not look whether the sink was quicker
		sink(t, b.cli("verify")...)
	})
	t.Run("overwrite", func(t *testing.T) {
		t.Parallel()
		b := newBeside(t)
		b.grow(t, 3)
		b.pypaimon(t, []string{image(1, "python", 7)}, "--overwrite")
		require.Equal(t, "OVERWRITE", b.latest(t).Kind)
		b.grow(t, 1)
		b.run.terminate(t)
		require.Zero(t, b.run.wait(t, waitLong))
		require.Equal(t, []string{image(1, "python", 7), image(4, "label 4", 1)}, b.agreed(t))
		b.fsck(t, "--replay", "none") // what the overwrite removed is told by no change
	})
}
