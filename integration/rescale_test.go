//go:build integration

package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRescale gives a table another number of buckets: while the sink writes it, by hand in between, and late, after someone has
// only changed the option. The sink goes on each time, and so does the real Paimon.
func TestRescale(t *testing.T) {
	for _, kind := range []string{disk, s3} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			records := orders(t, 4000)
			topic := records[0].Topic
			createTopic(t, topic, 4)
			l := newLake(t, kind)
			x := l.table("shop.orders")
			c := newConfig(l, slug(t), bulkTable("my", topic, coordinateColumns, config{"options": config{"bucket": "4", "num-sorted-run.compaction-trigger": "3"}})).with(quickCrash)
			var sent []record
			feed := func(n int) { sent = append(sent, produceFresh(t, records[len(sent):len(sent)+n])...) }

			feed(800)
			p := start(t, "run", "-c", c.write(t))
			until(t, time.Minute, func() bool { return caughtUp(t, x, slug(t), topic) }, "the sink catches up")
			feed(800)
			sink(t, x.cli("rescale", "--buckets", "8")...)
			feed(500)
			until(t, time.Minute, func() bool { return caughtUp(t, x, slug(t), topic) }, "the sink goes on after the rescale")
			require.Equal(t, "8", x.schema(t).Options["bucket"])

			alter := writeFile(t, "alter.jsonl", `{"op":"alter","set":{"bucket":"3"}}`+"\n")
			shared.java.must(t, x.java("write", "--input", alter)...)
			until(t, time.Minute, func() bool { // the sink learns of it with a commit, and minds it with the one after the next
				feed(min(50, len(records)-len(sent)))
				return strings.Contains(p.log.String(), "option bucket says 3: `sink rescale` with --buckets 3 rewrites it")
			}, "the sink says that the table is not rescaled")
			sink(t, x.cli("rescale", "--buckets", "3")...)
			until(t, time.Minute, func() bool { return caughtUp(t, x, slug(t), topic) }, "the sink goes on by itself")
			p.terminate(t)
			require.Zero(t, p.wait(t, 30*time.Second))

			before := x.agreed(t)
			sink(t, x.cli("rescale", "--buckets", "5")...)
			requireSameLines(t, before, x.agreed(t), "a rescale changes no row")
			require.Equal(t, "OVERWRITE", x.latest(t).Kind)
			feed(len(records) - len(sent))
			catchUp(t, c)
			shared.java.must(t, x.java("compact", "--user", "someone-else", "--option", "write-only=false")...)
			changes := x.changes(t)
			requireExactlyOnce(t, sent, changes)
			requireFold(t, changes, []string{"id"}, x.agreed(t))
			x.fsck(t, "--interleaved", "--replay", "last")
			sink(t, x.cli("verify")...)
		})
	}
}

// TestRescaleAppend gives an append table another number of buckets while the sink writes it, and by hand. All readers see the same
// rows before and after, as in a table of the same topic that is never rescaled, and the real Paimon streams each of them once.
func TestRescaleAppend(t *testing.T) {
	t.Parallel()
	records := orders(t, 2000)
	topic := records[0].Topic
	createTopic(t, topic, 4)
	l := newLake(t, disk)
	mapping := func(name string) config {
		return bulkTable("my", topic, config{
			"table": name, "append": true, "on-keyless-change": "append",
			"metadata": config{"_topic": "topic", "_partition": "partition", "_offset": "offset", "change_kind": "kind"},
			"options":  config{"bucket": "4", "bucket-key": "id", "compaction.min.file-num": "3"},
		})
	}
	x, plain := l.table("shop.log"), l.table("shop.plain")
	c := newConfig(l, slug(t), mapping(x.name)).with(quickCrash)
	var sent []record
	feed := func(n int) { sent = append(sent, produceFresh(t, records[len(sent):len(sent)+n])...) }

	feed(500)
	p := start(t, "run", "-c", c.write(t))
	until(t, time.Minute, func() bool { return caughtUp(t, x, slug(t), topic) }, "the sink catches up")
	feed(500)
	sink(t, x.cli("rescale", "--buckets", "6")...)
	feed(500)
	until(t, time.Minute, func() bool { return caughtUp(t, x, slug(t), topic) }, "the sink goes on after the rescale")
	p.terminate(t)
	require.Zero(t, p.wait(t, 30*time.Second))

	before := x.agreed(t)
	sink(t, x.cli("rescale", "--buckets", "1")...)
	requireSameLines(t, before, x.agreed(t), "a rescale changes no row")
	require.Equal(t, "OVERWRITE", x.latest(t).Kind)
	feed(len(records) - len(sent))
	catchUp(t, c)
	shared.java.must(t, x.java("compact", "--user", "someone-else", "--option", "write-only=false")...)

	catchUp(t, newConfig(l, slug(t)+"-plain", mapping(plain.name)))
	rows := x.agreed(t)
	requireSameLines(t, plain.agreed(t), rows, "a table that is never rescaled")
	var streamed []string
	for _, c := range x.changes(t) {
		streamed = append(streamed, string(c.Row))
	}
	requireSameLines(t, rows, sorted(streamed), "each row once in the changelog")
	sink(t, x.cli("verify")...)
}
