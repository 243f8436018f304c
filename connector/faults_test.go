package connector

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/commit"
	"sink/table"
	"sink/table/object"
)

// What integration/simulation has found, each as small as it gets.

// A transaction may end between a delete and its tombstone.
func TestMarkerBeforeTombstone(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		c, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.Dialer(s.network.DialContext), kgo.TransactionalID("source"),
			kgo.ProducerBatchCompression(kgo.NoCompression()))
		require.NoError(t, err)
		defer c.Close()
		for _, value := range []string{envelope("c", nil, row(1, "x", 1), 0), envelope("d", row(1, "x", 1), nil, 1), ""} {
			require.NoError(t, c.BeginTransaction())
			r := &kgo.Record{Topic: crateTopic, Key: []byte(keyOf(1))}
			if value != "" {
				r.Value = []byte(value)
			}
			require.NoError(t, c.ProduceSync(t.Context(), r).FirstErr())
			require.NoError(t, c.EndTransaction(t.Context(), kgo.TryCommit))
		}
		stats, err := s.drain(s.quickly(store))
		require.NoError(t, err)
		require.EqualValues(t, 1, stats.Skipped["tombstone"])
	})
}

// A delete waits for its tombstone until the next record, and no longer: not in the snapshots that follow either.
func TestDeletedIsForgotten(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
		p := s.start(cfg)
		for i, value := range []string{envelope("c", nil, row(1, "x", 1), 0), envelope("d", row(1, "x", 1), nil, 1), envelope("c", nil, row(2, "x", 1), 2)} {
			id := int64(1 + i/2)
			s.emit(crateTopic, event{key: keyOf(id), value: value})
			time.Sleep(5 * time.Second)
		}
		require.NoError(t, p.end())
		s.emit(crateTopic, event{key: keyOf(1)})
		_, err := s.drain(s.quickly(store))
		require.ErrorContains(t, err, "a tombstone (a key without a value) whose delete event does not come right before it")
	})
}

// A failed commit of the group's offsets is tried again though no other checkpoint follows.
func TestOffsetsAgain(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownServerError, Count: 3})
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
		p := s.start(cfg)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, s.group("ucase", crateTopic, 0))
		require.NoError(t, p.end())
	})
}

// A process that asks before a partition has found its new leader asks again.
func TestStartAsksAgain(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.UnknownServerError, Count: 2})
		_, err := s.drain(s.quickly(store))
		require.NoError(t, err)
	})
}

// A process whose first connections break goes on to the next, as it does later: one that starts amid the trouble of a network is
// worth no less than one that ran before.
func TestStartThroughBrokenConnections(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		var dialled atomic.Int64
		s.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dialled.Add(1)%3 > 0 {
				near, far := net.Pipe()
				return near, far.Close()
			}
			return s.network.DialContext(ctx, network, address)
		}
		_, err := s.drain(s.quickly(store))
		require.NoError(t, err)
		require.Greater(t, dialled.Load(), int64(3))
		require.Equal(t, []string{`{"id":1,"label":"x","weight":1}`}, rowsOf(t, store, "orchard.crate"))
	})
}

// An instance that was taken for dead gives up what it holds, and says so: neither the log nor the metrics are silent about it.
func TestLossIsTold(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
		cfg := s.quickly(store)
		cfg.UntilEnd = false
		p := s.start(cfg)
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 1, p.c.Stats().Tables[0].Records)
		require.Zero(t, p.c.Stats().Tables[0].Fenced)
		s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID, Count: 1})
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 1, p.c.Stats().Tables[0].Fenced)
		require.NoError(t, p.end())
		require.Equal(t, []string{`{"id":1,"label":"x","weight":1}`}, rowsOf(t, store, "orchard.crate"))
	})
}

// A process that is told to stop while it looks for brokers has not failed; only it has not reached the end that it was to reach.
func TestStopBeforeStart(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s := newStage(t, 1, crateTopic)
		cfg := s.quickly(object.NewMem())
		require.ErrorIs(t, s.start(cfg).end(), ErrInterrupted)
		cfg.UntilEnd = false
		require.NoError(t, s.start(cfg).end())
	})
}

// When the last checkpoint does not end in time its rows are lost to this process, and so is everything behind them: the group
// must not hear of the records without rows that follow.
func TestStopWithoutCheckpoint(t *testing.T) {
	for _, never := range []string{"snapshot-*", "schema-*"} { // the checkpoint does not end; the record is still being applied
		t.Run(never, func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, crateTopic), object.NewMem()
				fault := object.NewFault(store, object.Rule{Ops: []object.Op{object.OpCreate}, Path: never, Effect: object.FailBefore})
				cfg := s.quickly(fault)
				cfg.UntilEnd, cfg.Checkpoint.Records, cfg.StopWithin = false, 1, 3*time.Second
				var log bytes.Buffer
				cfg.Log = zerolog.New(zerolog.SyncWriter(&log))
				p := s.start(cfg)
				s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
				time.Sleep(10 * time.Second)
				s.emit(crateTopic, event{key: keyOf(2), value: `{"op":"m","ts_ms":1,"source":{"connector":"postgresql","name":"dock","lsn":9},"message":{"prefix":"x","content":""}}`})
				time.Sleep(10 * time.Second)
				require.NoError(t, p.end())
				if never == "snapshot-*" {
					require.Contains(t, log.String(), `"records":2,"cause":"the last checkpoint took longer than shutdown-timeout"`)
				}
				log.Reset()
				require.LessOrEqual(t, s.group("ucase", crateTopic, 0), int64(0), "nothing is in a snapshot")
				cfg = s.quickly(store)
				cfg.Log = zerolog.New(zerolog.SyncWriter(&log))
				_, err := s.drain(cfg)
				require.NoError(t, err)
				require.NotContains(t, log.String(), "ended before the last checkpoint")
				require.Equal(t, []string{`{"id":1,"label":"x","weight":1}`}, rowsOf(t, store, "orchard.crate"))
			})
		})
	}
}

// A record that changes the schema has what came before it committed first. When that is in vain the record comes again, and
// must not have left its rows behind.
func TestFencedBySchemaChange(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		narrow := []declaredColumn{labelColumn}
		wide := []declaredColumn{labelColumn, {name: "weight", connect: `"type":"int32"`}}
		s.emit(crateTopic, declaredEvent("c", 1, narrow, "", `{"id":1,"label":"a"}`))
		mapping := func(cfg Config) Config {
			cfg.Tables[0].Columns = nil
			return cfg
		}
		_, err := s.drain(mapping(s.quickly(store)))
		require.NoError(t, err)

		cfg := mapping(s.quickly(store))
		cfg.UntilEnd = false
		p := s.start(cfg)
		s.emit(crateTopic, declaredEvent("c", 2, narrow, "", `{"id":2,"label":"b"}`))
		time.Sleep(10 * time.Second)
		ctx := context.Background()
		other, err := commit.Open(ctx, commit.Config{Store: store, Path: pathOf("orchard.crate"), User: "ucase"})
		require.NoError(t, err)
		state, err := other.Resume(ctx)
		require.NoError(t, err)
		to := table.Offsets{}
		for tp, cursor := range state.Progress.Offsets {
			cursor.Offset++ // somebody else has read record 1
			to[tp] = cursor
		}
		_, err = other.Commit(ctx, table.Delta{From: state.Progress.Offsets, Progress: table.Progress{Offsets: to, MaxSequence: state.MaxSequence}})
		require.NoError(t, err)
		s.emit(crateTopic, declaredEvent("c", 3, wide, "", `{"id":3,"label":"c","weight":1}`))
		time.Sleep(10 * time.Second)
		require.NoError(t, p.end())
		_, changes := changesOf(t, store, "orchard.crate")
		require.Len(t, changes, 2, "each record once: %v", changes)
	})
}

// Two processes may have the same record to put aside, in checkpoints that are cut in another way; one may sleep before it
// writes. No letter replaces another.
func TestLettersAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := object.NewMem()
		cfg := Table{Letters: Letters{Path: "_dead"}}
		w := &worker{c: newConnector(t.Context(), Config{Store: store}), cfg: &cfg, name: "d.t"}
		first, second := letter{Table: "d.t", Topic: "t", Offset: 64, Reason: "r", Cause: "c", Value: []byte("v")}, letter{Table: "d.t", Topic: "t", Offset: 92, Reason: "r", Cause: "c", Value: []byte("v")}
		require.NoError(t, w.deliver(t.Context(), []letter{first, second}))
		require.NoError(t, w.deliver(t.Context(), []letter{first}))
		require.Equal(t, []string{"0/64", "0/92"}, lettersIn(t, store, "_dead"))
	})
}

// A topic that feeds two tables is read for both. When one of them has been brought further by another instance, the poll loop
// does not jump over what the other one still wants.
func TestRewindOnlyGoesBack(t *testing.T) {
	c, err := New(Config{Kafka: []kgo.Opt{kgo.SeedBrokers("localhost:1")}, Group: "g", Memory: 1 << 20, Tables: []Table{crateTable()}})
	require.NoError(t, err)
	defer c.client.Close()
	tp := table.TopicPartition{Topic: crateTopic}
	w := &worker{accepts: map[table.TopicPartition]int{}}
	c.listen(w, tp, table.Cursor{Offset: 60})
	c.polled[tp] = 60
	c.rewinds = []rewind{{w, table.Offsets{tp: {Offset: 100}}}}
	c.rewind()
	require.EqualValues(t, 60, c.polled[tp])
	require.Equal(t, c.generation, w.accepts[tp], "what is polled from now on is taken")
	c.rewinds = []rewind{{w, table.Offsets{tp: {Offset: 40}}}}
	c.rewind()
	require.EqualValues(t, 40, c.polled[tp])
}

// A process that is asked to stop in the middle of a rebalance, with a store that does not answer, ends in time: the poll loop
// waits for the rebalance, and that for the store.
func TestStopInRebalance(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s := newStage(t, 2, crateTopic)
		store := object.NewFault(object.NewMem(), object.Rule{Ops: []object.Op{object.OpCreate}, Effect: object.FailBefore})
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.StopWithin = false, 3*time.Second
		for partition := range int32(2) {
			s.emit(crateTopic, event{partition: partition, key: keyOf(int64(partition)), value: envelope("c", nil, row(int64(partition), "x", 1), 0)})
		}
		first := s.start(cfg)
		time.Sleep(10 * time.Second)
		second := s.start(cfg)
		time.Sleep(10 * time.Second)
		for _, p := range []*process{first, second} {
			p.stop()
			time.Sleep(20 * time.Second)
			require.False(t, p.running())
		}
	})
}

// A process that is told to stop while its brokers go away leaves no goroutine behind: when it closes, its client finds the error
// of the group, and one of its goroutines waited for ever for somebody to say that it was seen.
func TestStopWithoutBrokers(t *testing.T) {
	for range 20 { // who of the client's goroutines is first is up to the scheduler
		onStage(t, func(t *testing.T) {
			s := newStage(t, 1, crateTopic)
			s.cluster.ControlKey(int16(kmsg.DescribeConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
				s.cluster.SleepControl(func() { time.Sleep(time.Minute) }) // it is in the group, and polls not yet
				return nil, nil, false
			})
			cfg := s.quickly(object.NewMem())
			cfg.UntilEnd = false
			p := s.start(cfg)
			time.Sleep(10 * time.Second)
			p.cut()
			require.NoError(t, p.end())
			time.Sleep(time.Minute) // the broker's own wait ends
		})
	}
}

// A process whose brokers go away when they have a dead letter, and not yet answered, ends in time when it is told to stop.
func TestStopWithLetterUnderway(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic, "letters"), object.NewMem()
		s.emit(crateTopic, event{key: keyOf(1), value: `{"op":`})
		cfg := s.quickly(store)
		cfg.UntilEnd, cfg.StopWithin = false, 3*time.Second
		cfg.Tables[0].OnError, cfg.Tables[0].Letters = DeadLetter, Letters{Topic: "letters"}
		cut := make(chan func(), 1)
		s.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			select {
			case f := <-cut:
				f()
			default:
			}
			return nil, nil, false
		})
		p := s.start(cfg)
		cut <- p.cut
		time.Sleep(10 * time.Second)
		require.NoError(t, p.end())
		cfg.UntilEnd = true
		stats, err := s.drain(cfg)
		require.NoError(t, err)
		require.EqualValues(t, 1, stats.DeadLetters)
		require.NotEmpty(t, s.read("letters"))
	})
}

// A store that fails while the rows of a truncated table are read does not stop the table: they are read again.
func TestTruncateReadsAgain(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		for id := range int64(3) {
			s.emit(crateTopic, event{key: keyOf(id), value: envelope("c", nil, row(id, "x", 1), id)})
		}
		s.emit(crateTopic, event{value: envelope("t", nil, nil, 3)})
		fault := object.NewFault(store, object.Rule{Ops: []object.Op{object.OpRead}, Path: "data-*", Nth: 2, Effect: object.FailBefore})
		cfg := s.quickly(fault)
		cfg.Tables[0].OnTruncate = Apply
		_, err := s.drain(cfg)
		require.NoError(t, err)
		require.Equal(t, 1, fault.Fired())
		require.Empty(t, rowsOf(t, store, "orchard.crate"))
		_, changes := changesOf(t, store, "orchard.crate")
		require.Len(t, changes, 6, "each row comes and goes once: %v", changes)
	})
}

// A store that takes no snapshot, and does not say so either, has the table's records read again: that is seen, and has an end.
func TestNeverSettled(t *testing.T) {
	for policy, state := range map[Policy]TableState{Park: Stopped, Retry: Waiting} {
		t.Run(string(policy), func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, inner := newStage(t, 1, crateTopic), object.NewMem()
				fault := object.NewFault(inner, object.Rule{Ops: []object.Op{object.OpCreate}, Path: "snapshot-*", Effect: object.FailBefore})
				cfg := s.quickly(fault)
				cfg.UntilEnd, cfg.Checkpoint.Records, cfg.TableRetry = false, 1, TableRetry{Initial: time.Hour, Max: time.Hour}
				cfg.Tables[0].OnTableFailure = policy
				p := s.start(cfg)
				s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1), 0)})
				table := func() TableStats { return p.c.Stats().Tables[0] }
				require.Eventually(t, func() bool { return table().Fenced >= 2 }, time.Hour, time.Second)
				require.Equal(t, Degraded, table().State)
				require.NotEmpty(t, table().Problem)
				require.Eventually(t, func() bool { return table().Failures > 0 }, time.Hour, time.Second)
				require.Equal(t, state, table().State)
				require.Contains(t, table().Problem, "orchard.crate")
				require.Less(t, table().Fenced, int64(100))
				p.kill()
				_, err := s.drain(s.quickly(inner))
				require.NoError(t, err)
				require.Equal(t, []string{`{"id":1,"label":"x","weight":1}`}, rowsOf(t, inner, "orchard.crate"))
			})
		})
	}
}

// A process whose brokers refuse connections asks again in measure, whatever it was about to ask: the client would dial as fast as it
// can where the group's offsets are what it wants, under KIP-848.
func TestRefusedConnections(t *testing.T) {
	for _, protocol := range []Protocol{Classic, Consumer} {
		t.Run(string(protocol), func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s := newStage(t, 1, crateTopic)
				var down atomic.Bool
				var dialled atomic.Int64
				var p *process
				started := make(chan struct{})
				goAway := func() {
					<-started
					if !down.Swap(true) {
						p.hangUp()
					}
				}
				s.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if down.Load() {
						dialled.Add(1)
						time.Sleep(time.Millisecond)
						return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
					}
					conn, err := s.network.DialContext(ctx, network, address)
					return &listened{conn, kmsg.OffsetFetch, goAway}, err
				}
				cfg := s.quickly(object.NewMem())
				cfg.UntilEnd, cfg.Protocol = false, protocol
				p = s.start(cfg)
				close(started)
				time.Sleep(30 * time.Second)
				require.Positive(t, dialled.Load())
				require.Less(t, dialled.Load(), int64(1000))
				p.kill()
			})
		})
	}
}

// listened is a connection that says when a request of a kind is about to be sent.
type listened struct {
	net.Conn
	kind  kmsg.Key
	hears func()
}

func (l *listened) Write(p []byte) (int, error) {
	if len(p) > 6 && binary.BigEndian.Uint16(p[4:]) == uint16(l.kind) {
		l.hears()
	}
	return l.Conn.Write(p)
}
