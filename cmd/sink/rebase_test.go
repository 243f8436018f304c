package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// TestRebase goes on where the log no longer has what is wanted, and shows what it would do.
func TestRebase(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	var out strings.Builder
	run := func(stdin string, args ...string) int {
		code, stdout, stderr := b.sink(stdin, args...)
		fmt.Fprintf(&out, "$ sink %s\n%s%s\n", strings.Join(args, " "), stdout, stderr)
		return code
	}
	require.Zero(t, run("", "offsets"), &out)
	require.Equal(t, 1, run("", "offsets", "rebase", "shop.orders"))
	code, _, stderr := b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	require.Zero(t, run("", "offsets"))
	require.Zero(t, run("", "offsets", "shop.customers", "-o", "json"))
	require.Equal(t, 2, run("", "offsets", "shop.nothing"))
	require.Equal(t, 2, run("", "offsets", "rebase", "shop.orders", "--to", "somewhere"))
	require.Equal(t, 2, run("", "offsets", "rebase", "shop.orders", "--to", "shop.public.orders/0=100000"))
	require.Equal(t, 2, run("", "offsets", "rebase", "shop.orders", "--to", "shop.public.orders/7=0"))
	require.Equal(t, 1, run("", "offsets", "rebase", "shop.orders"))
	require.Equal(t, 1, run("no\n", "offsets", "rebase", "shop.orders"))

	// Retention takes what the table wants.
	b.produce(400)
	end := b.cluster.PartitionInfo(ordersTopic, 0).HighWatermark
	require.NoError(t, b.cluster.DeleteRecords(ordersTopic, 0, end))
	require.Zero(t, run("", "offsets", "shop.orders"))
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "sink offsets rebase")
	require.Zero(t, run("yes\n", "offsets", "rebase", "shop.orders"))
	code, _, stderr = b.sink("", "run", "--until-end")
	require.Zero(t, code, stderr)
	require.Zero(t, run("", "offsets", "rebase", "shop.orders", "--to", "latest", "--to", "shop.public.orders/1=1", "--yes"))
	require.Zero(t, run("", "offsets", "shop.orders"))
	golden(t, "testdata/rebase.txt", out.String())
}

// TestRebaseRefuses asks for what makes no sense; nothing of it makes a snapshot.
func TestRebaseRefuses(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"shop.nothing"}, "no mapping of $D/sink.yaml feeds table shop.nothing"},
		{[]string{"--to", "2024-01-01T00:00:00Z"}, "--to $TIME is none of earliest, latest and TOPIC/PARTITION=OFFSET"},
		{[]string{"--to", "1704067200000"}, "is none of earliest, latest"},
		{[]string{"--to", "/0=5"}, "is none of earliest, latest"},
		{[]string{"--to", ordersTopic + "=5"}, "is none of earliest, latest"},
		{[]string{"--to", ordersTopic + "/0=-1"}, "is none of earliest, latest"},
		{[]string{"--to", ordersTopic + "/0=99999999999999999999"}, "is none of earliest, latest"},
		{[]string{"--to", ordersTopic + "/x=1"}, `"x" is no partition`},
		{[]string{"--to", ordersTopic + "/-1=1"}, `"-1" is no partition`},
		{[]string{"--to", ordersTopic + "/4294967296=1"}, `"4294967296" is no partition`},
		{[]string{"--to", ordersTopic + "/2=1"}, "the topics of table shop.orders have no such partition"},
		{[]string{"--to", customersTopic + "/0=1"}, "the topics of table shop.orders have no such partition"},
		{[]string{"--to", ordersTopic + "/0=100000"}, "is outside the log, which has 0 to"},
		{[]string{"--to", "earliest", "--to", "latest"}, "--to earliest and --to latest exclude each other"},
		{[]string{"--to", ordersTopic + "/1=1", "--to", ordersTopic + "/1=2"}, "partition 1 of topic " + ordersTopic + " has another offset already"},
	} {
		args := append([]string{"offsets", "rebase", "--yes"}, c.args...)
		if len(c.args) > 1 {
			args = append(args, "shop.orders")
		}
		code, stdout, stderr := b.sink("", args...)
		require.Equal(t, 2, code, "%q: %s", c.args, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
	require.EqualValues(t, 1, b.newest("shop.orders"))
}

// TestRebaseOnlyWhenStopped runs an instance beside it, of each group protocol, and asks brokers that do not tell.
func TestRebaseOnlyWhenStopped(t *testing.T) {
	for _, protocol := range []string{"classic", "eager", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			b := newBroker(t)
			b.produce(400)
			b.runToEnd()
			b.edit("group: g", "group: g, group-protocol: "+protocol)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan int, 1)
			var log lines
			go func() {
				ended <- Run(ctx, []string{"run", "-c", filepath.Join(b.dir, "sink.yaml")}, strings.NewReader(""), io.Discard, &log)
			}()
			require.Eventually(t, func() bool {
				info := b.cluster.GroupInfo("g")
				return info != nil && len(info.Members) == 1
			}, 60*time.Second, 10*time.Millisecond, "no member")
			code, stdout, stderr := b.sink("", "offsets", "rebase", "shop.orders", "--to", "earliest", "--yes")
			require.Equal(t, 1, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "group g has 1 member: stop every instance of the sink first")
			stop()
			require.Zero(t, <-ended, log.String())
			before := b.newest("shop.orders")
			code, _, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--yes")
			require.Zero(t, code, stderr)
			require.Equal(t, before+1, b.newest("shop.orders"))
		})
	}
	t.Run("not told", func(t *testing.T) {
		b := newBroker(t)
		b.produce(400)
		b.runToEnd()
		for _, c := range []struct {
			key  kmsg.Key
			code *kerr.Error
		}{
			{kmsg.DescribeGroups, kerr.GroupAuthorizationFailed}, {kmsg.DescribeGroups, kerr.UnknownServerError}, {kmsg.ConsumerGroupDescribe, kerr.UnknownServerError},
		} {
			b.answer(c.key, c.code)
			code, stdout, stderr := b.sink("", "offsets", "rebase", "shop.orders", "--to", "earliest", "--yes")
			require.Equal(t, 1, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "kafka: whether group g has members is not known: "+c.code.Message)
		}
		require.EqualValues(t, 1, b.newest("shop.orders"))

		// Where the feature is off, there are no such groups.
		b.answer(kmsg.ConsumerGroupDescribe, kerr.UnsupportedVersion)
		code, _, stderr := b.sink("", "offsets", "rebase", "shop.orders", "--yes")
		require.Zero(t, code, stderr)
	})
}

// TestRebaseWhereGroupKeepsOffsets: the snapshot counts, and what is left to do is said.
func TestRebaseWhereGroupKeepsOffsets(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	b.answer(kmsg.OffsetDelete, kerr.GroupAuthorizationFailed)
	code, stdout, stderr := b.sink("", "offsets", "rebase", "shop.orders", "--to", "earliest", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "table shop.orders goes on from snapshot 2")
	require.Contains(t, stderr, "the snapshot is made, but the offsets of group g could not be deleted")
	_, stdout, _ = b.sink("", "offsets", "shop.orders")
	require.Contains(t, stdout, "the group's offset is ignored")
	b.runToEnd()
	b.requireTrue()
}

// TestRebaseOfAnotherGroup begins in the middle of a table that another group has made; then that group has no snapshot left.
func TestRebaseOfAnotherGroup(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	b.edit("group: g", "group: h")
	code, stdout, stderr := b.sink("", "offsets", "shop.orders")
	require.Zero(t, code, stderr)
	require.Equal(t, 2, strings.Count(stdout, "begins at kafka.start, earliest"), stdout)
	code, stdout, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--to", "latest", "--yes")
	require.Zero(t, code, stderr)
	require.Equal(t, 2, strings.Count(stdout, "begins here"), stdout)
	b.produce(400)
	b.runToEnd()
	b.requireTrue()

	b.remove("shop.orders", 1)
	b.edit("group: h", "group: g")
	code, stdout, stderr = b.sink("", "offsets", "shop.orders")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "no snapshot of this group is left")
	require.Equal(t, 2, strings.Count(stdout, "no map"), stdout)
	code, _, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--yes")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "nothing tells how far table shop.orders is")
	code, _, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--to", "latest", "--yes")
	require.Zero(t, code, stderr)
	b.runToEnd()
	b.requireTrue()
}

// TestRebaseOfRolledBackTable takes the newest snapshot away, as rollback_to does.
func TestRebaseOfRolledBackTable(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	b.produce(400)
	b.runToEnd()
	b.remove("shop.orders", b.newest("shop.orders"))
	_, stdout, _ := b.sink("", "offsets", "shop.orders")
	require.Equal(t, 2, strings.Count(stdout, "the group is ahead of the table, which was rolled back: rebase"), stdout)
	code, _, _ := b.sink("", "run", "--until-end")
	require.Equal(t, 1, code)
	code, stdout, stderr := b.sink("", "offsets", "rebase", "shop.orders", "--yes")
	require.Zero(t, code, stderr)
	require.Equal(t, 2, strings.Count(stdout, "unchanged"), stdout)
	b.runToEnd()
	b.requireTrue()
}

// TestRebaseOfUnreadableProgress: what a snapshot of ours says is no longer readable.
func TestRebaseOfUnreadableProgress(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	b.spoil("shop.orders", `"sink.offsets": "`, `"sink.offsets": "?`)
	code, stdout, stderr := b.sink("", "offsets")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the progress in a snapshot cannot be read")
	require.Contains(t, stdout, customersTopic)
	code, _, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--yes")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "say where to go on with --to")
	code, _, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--to", "latest", "--yes")
	require.Zero(t, code, stderr)
	b.produce(400)
	b.runToEnd()
	b.requireTrue()
}

// TestRebaseOfOtherTopic: a topic that was made anew, one that is gone, and a log that lost its end, where brokers give topics no ids.
func TestRebaseOfOtherTopic(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []kfake.Opt
		note string
		plan string
	}{
		{"ids", nil, "the topic was deleted and made anew: rebase", "another topic of the same name"},
		{"no ids", []kfake.Opt{kfake.MaxVersions(kversion.V2_7_0())}, "offsets before it: rebase", "offsets read again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBroker(t, c.opts...)
			b.produce(400)
			b.runToEnd()
			b.deleteTopic(customersTopic)
			_, stdout, _ := b.sink("", "offsets", "shop.customers")
			require.Contains(t, stdout, "the topic or partition is gone")
			require.NoError(t, b.cluster.CreateTopic(customersTopic, 1, nil))
			b.produce(400)
			code, stdout, stderr := b.sink("", "offsets", "shop.customers")
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, c.note)
			_, stdout, _ = b.sink("", "check")
			require.Contains(t, stdout, strings.TrimSuffix(c.note, ": rebase"))
			code, stdout, stderr = b.sink("", "offsets", "rebase", "shop.customers", "--yes")
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, c.plan)
			b.runToEnd()
			b.requireTrue()

			b.deleteTopic(customersTopic)
			code, stdout, stderr = b.sink("", "offsets", "rebase", "shop.customers", "--yes")
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, "leaves the map: the topic or partition is gone")
		})
	}
}

// TestRebaseWhileAsked has an instance start, and go on, while the question waits for its answer: what it commits is not taken back.
func TestRebaseWhileAsked(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	b.produce(400)
	answer := answerFunc(func() string {
		b.runToEnd()
		return "yes\n"
	})
	var stdout, stderr strings.Builder
	code := Run(t.Context(), []string{"offsets", "rebase", "shop.orders", "-c", filepath.Join(b.dir, "sink.yaml")}, answer, &stdout, &stderr)
	require.Equal(t, 1, code)
	require.Contains(t, stderr.String(), "the table has moved since it was looked at")
	require.Contains(t, stderr.String(), "nothing was changed: stop every instance of the sink, then look again")
	before := b.newest("shop.orders")
	b.runToEnd()
	require.Equal(t, before, b.newest("shop.orders"), "nothing is read again")
	b.requireTrue()
}

// answerFunc is a terminal at which somebody answers.
type answerFunc func() string

func (f answerFunc) Read(p []byte) (int, error) { return copy(p, f()), nil }
