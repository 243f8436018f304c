//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// members are how many members of a group have partitions.
func members(t testing.TB, group string) int {
	t.Helper()
	groups, err := shared.admin.DescribeGroups(t.Context(), group)
	if err != nil || groups[group].State != "Stable" {
		return 0
	}
	n := 0
	for _, m := range groups[group].Members {
		if consumer, ok := m.Assigned.AsConsumer(); ok && len(consumer.Topics) > 0 {
			n++
		}
	}
	return n
}

// TestTwoInstances lets two processes write one table: both read and commit, one is killed, another takes its place,
// and they are stopped. Each record is in the changelog exactly once.
func TestTwoInstances(t *testing.T) {
	for _, kind := range []string{disk, s3} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			records := orders(t, 8000)
			topic := records[0].Topic
			createTopic(t, topic, 4)
			l := newLake(t, kind)
			x := l.table("shop.orders")
			c := newConfig(l, slug(t), bulkTable("my", topic, coordinateColumns)).with(quickCrash)
			var sent []record
			feed := func(n int) { sent = append(sent, produceFresh(t, records[len(sent):len(sent)+n])...) }
			done := func() bool { return caughtUp(t, x, slug(t), topic) }

			feed(2000)
			a, b := start(t, "run", "-c", c.write(t)), start(t, "run", "-c", c.write(t))
			until(t, time.Minute, func() bool { return members(t, slug(t)) == 2 }, "both instances have partitions")
			feed(2000)
			until(t, time.Minute, done, "two instances catch up")
			feed(2000)
			a.kill()
			third := start(t, "run", "-c", c.write(t))
			until(t, time.Minute, func() bool { return members(t, slug(t)) == 2 }, "the third instance has partitions")
			feed(2000)
			until(t, time.Minute, done, "the others catch up after one was killed")
			for _, p := range []*process{b, third} {
				p.terminate(t)
				require.Zero(t, p.wait(t, 30*time.Second))
			}

			changes := x.changes(t)
			requireExactlyOnce(t, sent, changes)
			rows := x.agreed(t)
			requireFold(t, changes, []string{"id"}, rows)
			requirePairs(t, changes, []string{"id"})
			x.fsck(t, "--interleaved", "--replay", "last")
		})
	}
}

// caughtUp tells that the newest snapshot of a user covers all that is on the topic.
func caughtUp(t testing.TB, x target, user, topic string) bool {
	t.Helper()
	return sharedCluster().caughtUp(t, x, user, topic)
}

func (c cluster) caughtUp(t testing.TB, x target, user, topic string) bool {
	t.Helper()
	ids := x.snapshotIDs(t)
	for i := len(ids) - 1; i >= 0; i-- {
		if s := x.snapshot(t, ids[i]); s.User == user {
			return equalOffsets(s.covered(t)[topic], c.endOffsets(t, topic))
		}
	}
	return false
}

func equalOffsets(a, b map[int32]int64) bool {
	for partition, offset := range b {
		if a[partition] != offset {
			return false
		}
	}
	return len(a) == len(b)
}

// TestNewPartitions grows a topic behind a table that has read it: the new partitions are read from their start.
func TestNewPartitions(t *testing.T) {
	t.Parallel()
	topic := slug(t)
	createTopic(t, topic, 1)
	c := crate{}
	l := newLake(t, disk)
	sinkYAML := newConfig(l, slug(t), table(topic, "orchard.crate", config{"options": config{"bucket": "2"}}, coordinateColumns))
	sent := []record{c.create(topic, 0, 1, "fig", 1), c.create(topic, 0, 2, "fig", 2)}
	produce(t, sent)
	catchUp(t, sinkYAML)
	addPartitions(t, topic, 2)
	more := []record{c.create(topic, 1, 3, "oat", 1), c.create(topic, 2, 4, "oat", 2), c.create(topic, 0, 5, "oat", 3)}
	produce(t, more)
	catchUp(t, sinkYAML)
	x := l.table("orchard.crate")
	requireExactlyOnce(t, append(sent, more...), x.changes(t))
	require.Equal(t, endOffsets(t, topic), x.latest(t).covered(t)[topic])
	x.fsck(t)
}

// TestForeignWriter lets the real Paimon append to the table and compact it, while the sink runs and between its runs.
// The sink goes on above what the other wrote. It leaves compaction to the other, who gives up when it meets a second compactor.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	records := orders(t, 8000)
	topic := records[0].Topic
	createTopic(t, topic, 4)
	l := newLake(t, disk)
	x := l.table("shop.orders")
	c := newConfig(l, slug(t), bulkTable("my", topic, config{"options": config{"bucket": "4", "write-only": "true"}})).with(quickCrash)
	foreign := func(id, version string) {
		row := `{"id":` + id + `,"customer_id":1,"product":"foreign","quantity":1,"amount":"1.50","status":"new","city":null,"note":null,"paid":1,` +
			`"created_at":"2024-01-01T00:00:00.000000","updated_at":"2024-01-01T00:00:00.000000","version":` + version + `}`
		script := `{"kind":"+I","row":` + row + "}\n" + `{"op":"commit"}` + "\n"
		shared.java.must(t, x.java("write", "--user", "someone-else", "--option", "write-only=true", "--input", writeFile(t, "foreign.jsonl", script))...)
	}

	produceFresh(t, records[:3000])
	catchUp(t, c)
	foreign("-1", "1")
	shared.java.must(t, x.java("compact", "--user", "compactor", "--option", "write-only=false")...)

	p := start(t, "run", "-c", c.write(t))
	produceFresh(t, records[3000:6000])
	foreign("-2", "1")
	shared.java.must(t, x.java("compact", "--user", "compactor", "--option", "write-only=false")...)
	foreign("-2", "2")
	produceFresh(t, records[6000:7500])
	shared.java.must(t, x.java("compact", "--user", "compactor", "--option", "write-only=false")...)
	produceFresh(t, records[7500:])
	until(t, time.Minute, func() bool { return caughtUp(t, x, slug(t), topic) }, "the sink goes on behind the other writer")
	p.terminate(t)
	require.Zero(t, p.wait(t, 30*time.Second))

	users := map[string]int{}
	for _, s := range x.snapshots(t) {
		users[s.User+" "+s.Kind]++
	}
	require.Equal(t, 3, users["someone-else APPEND"], "%v", users)
	require.Equal(t, 3, users["compactor COMPACT"], "%v", users)
	changes := x.changes(t)
	rows := x.agreed(t)
	require.Contains(t, rows[0], `"id":-2,`)
	require.Contains(t, rows[0], `"version":2`)
	requireFold(t, changes, []string{"id"}, rows)
	x.fsck(t, "--interleaved", "--replay", "all")
	alone := newLake(t, disk)
	catchUp(t, newConfig(alone, slug(t)+"-alone", bulkTable("my", topic)))
	requireSameLines(t, alone.table("shop.orders").agreed(t), rows[2:], "rows of the topic beside the other writer's")
}
