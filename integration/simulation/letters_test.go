//go:build synctests

package simulation

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/connector"
)

// letterOf is the record that a dead letter is about.
type letterOf struct {
	Table, Topic string
	Partition    int32
	Offset       int64
}

// letters checks that every poison record is in a dead letter, and nothing else is.
func (w *world) letters() {
	found := w.filedLetters()
	for l := range w.sentLetters() {
		found[l] = true
	}
	for i := range w.targets {
		t := &w.targets[i]
		for _, s := range w.source.log {
			if poisons(&s, t.Deduplicate) && t.OnError == connector.DeadLetter && slices.Contains(t.Topics, s.tp.Topic) {
				l := letterOf{t.Name, s.tp.Topic, s.tp.Partition, s.offset}
				require.True(w.t, found[l], "no dead letter of %+v", l)
				delete(found, l)
			}
		}
	}
	require.Empty(w.t, found, "letters of records that are not poison")
}

// poisons reports whether a record is one that a table refuses: it may know by its place that it has done so before.
func poisons(s *sent, deduplicates bool) bool {
	return s.op == 'x' || s.op == 'y' && !(s.again && deduplicates)
}

// filedLetters reads the letters in the store: one file each.
func (w *world) filedLetters() map[letterOf]bool {
	found := map[letterOf]bool{}
	for info, err := range w.objects.List(context.Background(), "_dead/") {
		require.NoError(w.t, err)
		text, err := w.objects.Get(context.Background(), info.Name)
		require.NoError(w.t, err)
		for line := range strings.Lines(string(text)) {
			var l letterOf
			require.NoError(w.t, json.Unmarshal([]byte(line), &l))
			require.False(w.t, found[l], "%+v is in two files", l)
			found[l] = true
		}
	}
	return found
}

// sentLetters reads the letters in the topic, where one may be twice.
func (w *world) sentLetters() map[letterOf]bool {
	ctx := context.Background()
	ends, err := kadm.NewClient(w.source.plain).ListEndOffsets(ctx, letterTopic)
	require.NoError(w.t, err)
	end, _ := ends.Lookup(letterTopic, 0)
	client, err := kgo.NewClient(kgo.SeedBrokers(w.brokers.ListenAddrs()...), kgo.Dialer(w.network.DialContext), kgo.ConsumeTopics(letterTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(w.t, err)
	defer client.Close()
	found := map[letterOf]bool{}
	for next := int64(0); next < end.Offset; {
		for _, r := range client.PollFetches(ctx).Records() {
			l, headers := letterOf{}, map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			l.Table, l.Topic = headers["sink.table"], headers["sink.topic"]
			partition, err := strconv.ParseInt(headers["sink.partition"], 10, 32)
			require.NoError(w.t, err)
			l.Partition = int32(partition)
			l.Offset, err = strconv.ParseInt(headers["sink.offset"], 10, 64)
			require.NoError(w.t, err)
			found[l], next = true, r.Offset+1
		}
	}
	return found
}
