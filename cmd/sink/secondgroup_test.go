package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asGroup writes sink.yaml for another group, and other keys of kafka behind its name.
func (b *broker) asGroup(group string) {
	file := b.config("")
	text := strings.Replace(read(b.t, file), "group: g}", "group: "+group+"}", 1)
	require.NoError(b.t, os.WriteFile(file, []byte(text), 0o644))
}

// TestSecondGroup: check and run say that a group reads again what another has given to the table, and only then.
func TestSecondGroup(t *testing.T) {
	b := newBroker(t)
	const told = "table shop.orders"
	const text = "kafka.group g has written this table from the same topics, and kafka.group h, which is new to it, reads them once more: " +
		"rows go back in time until it has caught up, and a SUM over the changelog counts every change twice; set kafka.group to g to go on where it ended, or write to a new table"
	says := func(want bool, group string) {
		t.Helper()
		b.asGroup(group)
		code, stdout, stderr := b.sink("", "check", "-o", "csv")
		require.Zero(t, code, stderr)
		require.Equal(t, want, strings.Contains(stdout, `note,`+told+`,"`+text+`"`), stdout)
		code, _, stderr = b.sink("", "run", "--until-end")
		require.Zero(t, code, stderr)
		times := 0
		if want {
			times = 1
		}
		require.Equal(t, times, strings.Count(stderr, `"level":"warn","table":"shop.orders"`), stderr)
		require.Equal(t, want, strings.Contains(stderr, text), stderr)
	}
	b.produce(400)
	says(false, "g") // a fresh table
	b.produce(400)
	says(false, "g") // its own
	says(true, "h")
	says(false, "h") // its own by now

	says(false, "late, start: latest") // reads nothing that is there already
}
