package connector

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

// What `deduplicate: source-position` remembers of a source is of records that are handled, and of no other: one that stopped its table, or had
// the table change first, comes again and is no repeat.

// A record that no INT holds stops its table, behind a checkpoint of those before. When the column is wider the record is taken, by
// the process that tries the table again or by the next one.
func TestStoppingRecordIsNoRepeat(t *testing.T) {
	for _, policy := range []Policy{Retry, Park} {
		t.Run(string(policy), func(t *testing.T) {
			onStage(t, func(t *testing.T) {
				s, store := newStage(t, 1, crateTopic), object.NewMem()
				s.emit(crateTopic, good(0))
				s.emit(crateTopic, event{key: keyOf(1), value: envelope("c", nil, row(1, "x", 1<<40), 1)})
				s.emit(crateTopic, good(2))
				cfg := retrying(s.quickly(store))
				cfg.Tables[0].Deduplicate, cfg.Tables[0].OnTableFailure = true, policy
				p := s.start(cfg)
				time.Sleep(4 * time.Second)
				require.Contains(t, tableStats(p.c, "orchard.crate").Problem, "partition 0 offset 1")
				oneEach(t, store, "orchard.crate", 0)
				widen(t, store, "orchard.crate")
				if policy == Park {
					require.ErrorContains(t, p.end(), "offset 1")
					p = s.start(cfg)
				}
				time.Sleep(10 * time.Minute)
				stats := tableStats(p.c, "orchard.crate")
				require.Equal(t, Running, stats.State, stats.Problem)
				require.NoError(t, p.end())
				require.Zero(t, stats.Skipped["repeated"])
				_, changes := changesOf(t, store, "orchard.crate")
				require.ElementsMatch(t, []string{line("+I", 0, "x", 1), line("+I", 1, "x", 1<<40), line("+I", 2, "x", 1)}, changes)
			})
		})
	}
}

// A record whose values ask for another column has what came before it committed first. When the process dies before the next commit, the
// record is there in the end all the same.
func TestGrowingRecordIsNoRepeat(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 1, crateTopic), object.NewMem()
		rows := []string{`{"id":1,"weight":3,"grade":null}`, `{"id":2,"weight":4,"grade":5}`, `{"id":3,"weight":4,"grade":6}`}
		for i, row := range []string{`{"id":1,"weight":3}`, rows[1], rows[2]} {
			id := int64(i + 1)
			s.emit(crateTopic, event{key: keyOf(id), value: strings.Replace(envelope("c", nil, nil, id), `"after":null`, `"after":`+row, 1)})
		}
		cfg := s.quickly(store)
		byValues(&cfg.Tables[0])
		cfg.Tables[0].Deduplicate = true
		fault := object.NewFault(store, object.Rule{Ops: []object.Op{object.OpCreate}, Path: "schema-1", Nth: 1, Effect: object.CrashAfter})
		cfg.Store = fault
		p := s.start(cfg)
		for fault.Fired() == 0 {
			time.Sleep(time.Millisecond)
		}
		p.kill()
		_, changes := changesOf(t, store, "orchard.crate")
		require.Len(t, changes, 1, "what came before is committed")
		cfg.Store = store
		stats, err := s.drain(cfg)
		require.NoError(t, err)
		require.Zero(t, stats.Skipped["repeated"])
		require.Equal(t, rows, rowsOf(t, store, "orchard.crate"))
	})
}

// TestRepeatedTruncate is case U05 for TRUNCATE: what came behind it the first time is not taken away by its repeat, which has it left out as
// a repeat, too.
func TestRepeatedTruncate(t *testing.T) {
	events := []event{good(1), {value: envelope("t", nil, nil, 2)}, good(3), good(4)}
	for from := range events {
		for to := from + 1; to <= len(events); to++ {
			all := append(append(append([]event{}, events[:to]...), events[from:to]...), events[to:]...)
			play(t, script{
				table:  func(m *Table) { m.Deduplicate, m.OnTruncate = true, Apply },
				events: all, skips: 12, offsets: []int64{int64(len(all))},
				rows:    []string{line("", 3, "x", 1), line("", 4, "x", 1)},
				changes: []string{line("+I", 1, "x", 1), line("-D", 1, "x", 1), line("+I", 3, "x", 1), line("+I", 4, "x", 1)},
				stats:   TableStats{Skipped: map[string]int64{"repeated": int64(to - from)}},
			})
		}
	}
}
