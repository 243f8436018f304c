package connector

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/table/object"
)

// emitLarge sends values that may be larger than what a producer takes by default.
func (s *stage) emitLarge(values ...string) {
	s.t.Helper()
	big, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.Dialer(s.network.DialContext), kgo.ProducerBatchMaxBytes(4<<20),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	require.NoError(s.t, err)
	defer big.Close()
	for i, v := range values {
		require.NoError(s.t, big.ProduceSync(s.t.Context(), &kgo.Record{Topic: crateTopic, Key: []byte(keyOf(int64(i))), Value: []byte(v)}).FirstErr())
	}
}

// puttingAside is a configuration whose dead letters go to a topic, uncompressed.
func (s *stage) puttingAside(store object.Store) Config {
	cfg := s.quickly(store)
	cfg.Kafka = append(cfg.Kafka, kgo.ProducerBatchCompression(kgo.NoCompression()))
	cfg.Tables[0].OnError, cfg.Tables[0].Letters = DeadLetter, Letters{Topic: "sink.dead"}
	return cfg
}

// TestHugeLetter is the third bad record of case U35 on its way into a topic: what a topic took in can be put aside, whatever the
// default limit of a producer; and many small letters do not become a batch that the topic refuses.
func TestHugeLetter(t *testing.T) {
	huge := strings.Repeat("not JSON", 2<<20/8)
	for name, c := range map[string]struct {
		limit  string
		values []string
	}{
		"one of 2 MiB":    {limit: "4194304", values: []string{"not JSON", huge, "not JSON"}},
		"many of 100 KiB": {limit: "1048588", values: strings.SplitAfter(strings.Repeat(strings.Repeat("x", 100<<10)+"|", 30), "|")[:30]},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, "other"), object.NewMem()
				require.NoError(t, s.cluster.CreateTopic(crateTopic, 1, map[string]string{"max.message.bytes": "4194304"}))
				require.NoError(t, s.cluster.CreateTopic("sink.dead", 1, map[string]string{"max.message.bytes": c.limit}))
				s.emitLarge(c.values...)
				_, err := s.drain(s.puttingAside(store))
				require.NoError(t, err)
				records := s.read("sink.dead")
				require.Len(t, records, len(c.values))
				for i, r := range records {
					require.Equal(t, fmt.Sprintf("%s/0/%d", crateTopic, i), string(r.Key))
					require.True(t, c.values[i] == string(r.Value))
				}
			})
		})
	}
}

// TestLetterRefused: a letter that its topic does not take is told with what can be done, and is not passed over; once the topic takes
// it, the table goes on.
func TestLetterRefused(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, "other"), object.NewMem()
		require.NoError(t, s.cluster.CreateTopic(crateTopic, 1, map[string]string{"max.message.bytes": "4194304"}))
		require.NoError(t, s.cluster.CreateTopic("sink.dead", 1, map[string]string{"max.message.bytes": "1048588"}))
		s.emitLarge(envelope("c", nil, row(0, "fig", 1), 0), strings.Repeat("not JSON", 2<<20/8), "not JSON")
		cfg := s.puttingAside(store)
		cfg.UntilEnd, cfg.Checkpoint.Interval = false, time.Second
		p := s.start(cfg)
		time.Sleep(time.Minute)
		stats := p.c.Stats().Tables[0]
		require.Equal(t, Degraded, stats.State)
		for _, part := range []string{"sink.dead (dead-letter.topic)", kerr.MessageTooLarge.Message, "raise max.message.bytes of that topic, or set dead-letter.path"} {
			require.Contains(t, stats.Problem, part)
		}
		require.Zero(t, stats.Commits)
		require.Empty(t, s.read("sink.dead"))
		higher := "4194304"
		altered, err := s.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "max.message.bytes", Value: &higher}}, "sink.dead")
		require.NoError(t, err)
		require.NoError(t, altered[0].Err)
		time.Sleep(time.Minute)
		require.NoError(t, p.end())
		require.Len(t, s.read("sink.dead"), 2)
		require.Len(t, rowsOf(t, store, "orchard.crate"), 1)
		require.EqualValues(t, 3, s.group(cfg.Group, crateTopic, 0))
	})
}

// TestLettersWaitApart: a dead-letter topic that does not answer keeps no table waiting whose letters go elsewhere, and none past its time.
func TestLettersWaitApart(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s := newStage(t, 1, "sink.dead", "stuck")
		o := newOutbox(s.client, newMemory(1<<20))
		o.turn("stuck") <- struct{}{} // another table's, for ever
		require.NoError(t, o.send(t.Context(), "sink.dead", []*kgo.Record{{Topic: "sink.dead"}}))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errEnded)
		defer cancel()
		require.ErrorIs(t, o.send(ctx, "stuck", []*kgo.Record{{Topic: "stuck"}}), errEnded)
		require.Len(t, s.read("sink.dead"), 1)
		require.Empty(t, s.read("stuck"))
		used, peak := o.memory.inUse()
		require.Zero(t, used)
		require.EqualValues(t, recordOverhead, peak, "what is encoded counts")
	})
}

// filing is a store that tells how many bytes of letters were on their way at the same time.
type filing struct {
	object.Store
	now, most atomic.Int64
}

func (s *filing) Put(ctx context.Context, name string, b []byte) error {
	now := s.now.Add(int64(len(b)))
	defer s.now.Add(-int64(len(b)))
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	time.Sleep(time.Second)
	return s.Store.Put(ctx, name, b)
}

// TestLetterFilesAreMemory: however many large letters a checkpoint has, only so many become files at the same time that the memory for
// files in the making is enough.
func TestLetterFilesAreMemory(t *testing.T) {
	onStage(t, func(t *testing.T) {
		const letters, size = 12, 2 << 20
		store := &filing{Store: object.NewMem()}
		w := &worker{c: newConnector(t.Context(), Config{Store: store, Memory: 64 << 20}), cfg: &Table{Letters: Letters{Path: "_dead"}}, name: "d.t"}
		var all []letter
		for i := range letters {
			all = append(all, letter{Table: "d.t", Topic: "t", Offset: int64(i), Reason: "r", Cause: "c", Value: make([]byte, size)})
		}
		require.NoError(t, w.deliver(t.Context(), all))
		require.Len(t, lettersIn(t, store, "_dead"), letters)
		require.Less(t, letterTexts*store.most.Load(), int64(minEncoding)*3/2) // what is put is a third larger than the letter
		require.Greater(t, store.most.Load(), int64(2*size))
	})
}
