//go:build integration

package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// beside is a table that `sink run` writes while the real Paimon does something to it.
type beside struct {
	target
	topic   string
	keyless bool
	run     *process
	sent    int64
}

// newBeside starts the sink with a table of a primary key.
func newBeside(t *testing.T) *beside {
	t.Helper()
	return startBeside(t, &beside{}, config{"options": config{"bucket": "1", "snapshot.num-retained.min": "1"}})
}

func startBeside(t *testing.T, b *beside, more config) *beside {
	t.Helper()
	b.topic = slug(t)
	createTopic(t, b.topic, 1)
	l := newLake(t, disk)
	b.target = l.table("orchard.crate")
	mapping := table(b.topic, b.name, more)
	b.run = start(t, "run", "-c", newConfig(l, b.topic, mapping).write(t))
	return b
}

// send is a row of the source more.
func (b *beside) send(t *testing.T) {
	t.Helper()
	b.sent++
	b.produce(t, crate{}.create(b.topic, 0, b.sent, fmt.Sprint("label ", b.sent), 1))
}

func (b *beside) produce(t *testing.T, r record) {
	t.Helper()
	if b.keyless {
		r.Key = nil
	}
	produce(t, []record{r})
}

// grow has the sink commit n snapshots of a row each.
func (b *beside) grow(t *testing.T, n int) {
	t.Helper()
	for range n {
		b.send(t)
		b.caughtUp(t, b.sent)
	}
}

// caughtUp waits until a snapshot of the sink's covers the topic up to an offset.
func (b *beside) caughtUp(t *testing.T, offset int64) {
	t.Helper()
	until(t, waitLong, func() bool {
		require.True(t, b.run.running(), "the sink ended")
		ids := b.snapshotIDs(t)
		for _, id := range slices.Backward(ids) {
			if s := b.snapshot(t, id); s.Properties["sink.offsets"] != "" {
				return s.covered(t)[b.topic][0] == offset
			}
		}
		return false
	}, "%s: offset %d is in no snapshot", b.name, offset)
}

// paimon runs steps of the real Paimon.
func (b *beside) paimon(t *testing.T, steps string) {
	t.Helper()
	shared.java.must(t, b.java("write", "--user", "other", "--input", writeFile(t, "script.jsonl", steps+"\n"))...)
}

// requireStopped wants the sink to end with a reason that names parts, and the table to stay readable.
func (b *beside) requireStopped(t *testing.T, rows int, parts ...string) {
	t.Helper()
	require.Equal(t, 1, b.run.wait(t, waitLong))
	says(t, b.run.log.String(), append(parts, b.name)...)
	require.Len(t, b.agreed(t), rows)
	b.fsck(t, "--replay", "all") // Paimon's rollback leaves files that nothing names
}

// requireWhole wants all rows that were sent, and the sink to end well.
func (b *beside) requireWhole(t *testing.T) []string {
	t.Helper()
	b.run.terminate(t)
	require.Zero(t, b.run.wait(t, waitLong))
	rows := b.agreed(t)
	require.Len(t, rows, int(b.sent))
	b.fsck(t, "--replay", "all")
	return rows
}

// TestBesideOthers: the real Paimon rolls back, grows, widens, narrows, tags and expires a table while the sink writes it. The sink goes
// on, but for a rollback: there it stops with the reason and leaves the table as it is.
func TestBesideOthers(t *testing.T) {
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		b := newBeside(t)
		b.grow(t, 3)
		b.paimon(t, `{"op":"rollback","snapshot":1}`)
		b.send(t)
		b.requireStopped(t, 1, "the table was rolled back", "rebase")
	})
	t.Run("add a column", func(t *testing.T) {
		t.Parallel()
		b := newBeside(t)
		b.grow(t, 1)
		b.paimon(t, `{"op":"alter","add":{"name":"note","type":"STRING"}}`)
		b.grow(t, 1)
		require.Equal(t, []string{
			`{"id":1,"label":"label 1","weight":1,"note":null}`, `{"id":2,"label":"label 2","weight":1,"note":null}`,
		}, b.requireWhole(t))
	})
	t.Run("widen a column", func(t *testing.T) {
		t.Parallel()
		b := newBeside(t)
		b.grow(t, 1)
		b.paimon(t, `{"op":"alter","retype":["weight","BIGINT"]}`)
		b.grow(t, 1)
		b.requireWhole(t)
		require.Equal(t, `"BIGINT"`, string(b.schema(t).Fields[2].Type))
	})
	t.Run("drop a column", func(t *testing.T) {
		t.Parallel()
		b := newBeside(t)
		b.grow(t, 1)
		b.paimon(t, `{"op":"alter","drop":"weight"}`)
		b.grow(t, 1)
		require.Equal(t, []string{
			`{"id":1,"label":"label 1","weight":null}`, `{"id":2,"label":"label 2","weight":1}`,
		}, b.requireWhole(t), "the source has the column still: it comes back, for the rows from then on")
	})
	t.Run("tag and expire", func(t *testing.T) {
		t.Parallel()
		b := newBeside(t)
		b.grow(t, 4)
		b.paimon(t, `{"op":"tag","name":"early","snapshot":2}`+"\n"+`{"op":"expire","retain-max":1}`)
		require.Contains(t, b.snapshotIDs(t), int64(1), "the sink's consumer holds it")
		b.remove(t, "consumer/consumer-sink-"+b.topic)
		b.paimon(t, `{"op":"expire","retain-max":1}`)
		require.NotContains(t, b.snapshotIDs(t), int64(3))
		b.grow(t, 2)
		b.requireWhole(t)
		require.Len(t, lines(shared.java.must(t, b.java("rows", "--tag", "early")...)), 2)
	})
}
