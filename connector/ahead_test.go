package connector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"

	"sink/table"
	"sink/table/object"
)

// outcome is what is left of a table's records when all are committed.
type outcome struct {
	changes, rows, letters []string
	learned                map[string]string
	skipped                map[string]int64
	records, poor, put     int64
	maxSequence            int64
}

// applyDirectly hands records of one partition to a table's worker, a few runs at a time, and commits. With ahead, all runs
// but the first of each lot have been read ahead when the worker comes to them; taken is how many records were.
func applyDirectly(t *testing.T, records []*kgo.Record, runSize int, ahead bool, mapping Table) (o outcome, taken int) {
	store := object.NewMem()
	c, err := New(Config{
		Kafka: []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}, Group: "g", Start: Earliest, Store: store, Memory: 1 << 30,
		Checkpoint: Checkpoint{Interval: time.Hour, Bytes: 1 << 40, Records: 1 << 40}, Tables: []Table{mapping}, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	defer c.client.Close()
	defer func() { c.endLife(nil); c.running.Wait() }()
	c.readers, c.maxAhead = semaphore.NewWeighted(0), 100
	if ahead {
		c.readers = semaphore.NewWeighted(2)
	}
	tp := table.TopicPartition{Topic: crateTopic}
	workers, err := c.route(crateTopic)
	require.NoError(t, err)
	w := workers[0]
	log := partitionLog{end: 1 << 40, partitions: 1}
	log.group.At = -1
	_, err = w.assign(t.Context(), map[table.TopicPartition]partitionLog{tp: log})
	require.NoError(t, err)
	w.accept(tp, 1)
	for from := 0; from < len(records); {
		held, release := make(chan struct{}), make(chan struct{})
		go func() { _ = w.do(t.Context(), func(context.Context) { close(held); <-release }) }()
		<-held
		for range 8 {
			to := min(from+runSize, len(records))
			w.enqueue(run{tp: tp, generation: 1, records: records[from:to], stable: 1 << 40})
			from = to
		}
		var queue []run
		for claimed := false; !claimed; time.Sleep(10 * time.Microsecond) {
			w.mu.Lock()
			queue, claimed = append(queue[:0], w.queue...), !ahead || w.claimable() < 0
			w.mu.Unlock()
		}
		for i := range queue {
			if a := queue[i].ahead; a != nil {
				<-a.done
				taken += len(a.readings)
			}
		}
		close(release)
		require.NoError(t, w.do(t.Context(), func(context.Context) {
			for w.applyNext() {
			}
		}))
	}
	require.NoError(t, w.do(t.Context(), func(context.Context) {
		w.cover()
		o.learned, o.maxSequence = w.state.Progress.Learned, w.state.Progress.MaxSequence
		require.Equal(t, w.intake.trust[identityPrefix+crateTopic], o.learned[identityPrefix+crateTopic], "what the snapshot tells")
	}))
	require.NoError(t, w.problem())
	used, _ := c.memory.inUse()
	require.Zero(t, used, "memory")
	_, o.changes = changesOf(t, store, "orchard.crate")
	o.rows, o.letters = rowsOf(t, store, "orchard.crate"), lettersIn(t, store, "letters")
	stats := w.counters.read()
	o.skipped, o.records, o.poor, o.put = stats.Skipped, stats.Records, stats.MissingBefore, stats.DeadLetters
	return o, taken
}

// mixture makes records of all that a topic may hold: with schema and without, which changes, rows that come and go, tombstones
// after their deletes and alone, deletes that tell only the key, records that are no event.
func mixture(rng *rand.Rand, n int) (records []*kgo.Record) {
	add := func(key, value string) {
		r := &kgo.Record{Topic: crateTopic, Offset: int64(len(records)), Timestamp: time.UnixMilli(int64(len(records)))}
		if r.Key = []byte(key); value != "" {
			r.Value = []byte(value)
		}
		records = append(records, r)
	}
	live := map[int64]*crate{}
	wide := false
	for len(records) < n {
		id, offset := rng.Int64N(50), int64(len(records))
		key, before, after := keyOf(id), live[id], row(id, fmt.Sprint("label ", rng.IntN(9)), rng.Int64N(1000))
		switch roll := rng.IntN(100); {
		case roll == 0:
			add(key, "{")
		case roll == 1:
			add(key, "")
		case roll == 2:
			add(key, envelope("d", &crate{ID: id}, nil, offset))
			delete(live, id)
		case roll == 3:
			add(key, envelope("u", nil, after, offset))
			live[id] = after
		case roll == 4:
			add(key, `{"op":"m","message":{"prefix":"x","content":""},"source":{"connector":"postgresql","name":"dock","db":"orchard"}}`)
		case roll < 8:
			wide = wide || rng.IntN(10) == 0
			columns := []string{"id int64!", "label string", "weight int32"}
			image := fmt.Sprintf(`{"id":%d,"label":%q,"weight":%d`, id, *after.Label, *after.Weight)
			if wide {
				columns, image = append(columns, "extra string"), image+`,"extra":"more"`
			}
			add(key, declared("c", "null", image+"}", columns...))
			live[id] = after
		case before == nil:
			add(key, envelope("c", nil, after, offset))
			live[id] = after
		case roll < 30:
			add(key, envelope("d", before, nil, offset))
			if delete(live, id); rng.IntN(5) > 0 {
				add(key, "")
			}
		default:
			add(key, envelope("u", before, after, offset))
			live[id] = after
		}
	}
	return records
}

// repeating sends stretches of records again, as Debezium does when it starts anew.
func repeating(rng *rand.Rand, records []*kgo.Record) (all []*kgo.Record) {
	for i, rec := range records {
		all = append(all, rec)
		if rng.IntN(100) == 0 {
			all = append(all, records[max(0, i-rng.IntN(40)):i+1]...)
		}
	}
	for i, rec := range all {
		again := *rec
		again.Offset, all[i] = int64(i), &again
	}
	return all
}

// What is read ahead of its turn comes out as what is not: the same rows in the same order with the same numbers, the same
// counts, the same records put aside.
func TestReadAhead(t *testing.T) {
	late := func(policy Policy) func(*Table) {
		return func(m *Table) { // those of the year 1500 are late, what is no year never is
			m.OnMissingBefore, m.LatePartition, m.PartitionBy = Accept, policy, []string{"year"}
			m.Shaping.Computed = []Computed{{"year", expression(t, "concat('1', cast(truncate(weight, 500), STRING))")}}
			m.Options["partition.expiration-time"], m.Options["partition.timestamp-formatter"] = "7 d", "yyyy"
		}
	}
	policies := map[string]func(*Table){
		"accept": func(m *Table) { m.OnMissingBefore, m.SchemaChange = Accept, Ignore },
		"put aside": func(m *Table) {
			m.OnMissingBefore, m.SchemaChange = DeadLetter, Evolve
		},
		"rename": func(m *Table) { m.OnMissingBefore, m.Shaping.Rename = Accept, map[string]string{"label": "name"} },
		"filtered": func(m *Table) {
			m.OnMissingBefore, m.Shaping.Computed = Accept, []Computed{{"loud", expression(t, "upper(label)")}}
			m.Shaping.Filter = filter(t, "weight < 700 and loud <> 'LABEL 3'")
		},
		"repeated": func(m *Table) { m.OnMissingBefore, m.Deduplicate = Accept, true },
		"repeated and refused": func(m *Table) {
			m.OnMissingBefore, m.Deduplicate = Accept, true
			m.Options["merge-engine"], m.Options["ignore-update-before"] = "partial-update", "true" // takes no deletes
		},
		"late": late(Skip), "late put aside": late(DeadLetter),
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			all, taken := 0, 0
			for seed := range uint64(2) {
				rng := rand.New(rand.NewPCG(seed, 7))
				mapping := crateTable()
				mapping.OnError, mapping.Letters = DeadLetter, Letters{Path: "letters"}
				policy(&mapping)
				if name == "rename" {
					mapping.Columns[1].Name = "name"
				}
				records := mixture(rng, 1500)
				if mapping.Deduplicate {
					records = repeating(rng, records)
				}
				size := 1 + rng.IntN(60)
				want, none := applyDirectly(t, records, size, false, mapping)
				require.Zero(t, none)
				require.Contains(t, []string{identityFull, identityPartial}, want.learned[identityPrefix+crateTopic])
				if reason := map[string]string{"filtered": reasonFiltered, "repeated": "repeated", "late": reasonLate}[name]; reason != "" {
					require.NotZero(t, want.skipped[reason], reason)
				}
				have, some := applyDirectly(t, records, size, true, mapping)
				require.Equal(t, want, have, "seed %d", seed)
				all, taken = all+len(records), taken+some
			}
			require.Greater(t, taken, all/4, "hardly anything was read ahead")
		})
	}
}
