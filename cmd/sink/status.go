package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sink/connector"
)

// status is what /status tells, as JSON or as a page.
type status struct {
	Version    string        `json:"version"`
	Started    time.Time     `json:"started"`
	Ready      bool          `json:"ready"`
	Problems   []string      `json:"problems"` // why it is not ready, or not well
	Memory     memoryStatus  `json:"memory"`
	Partitions int           `json:"partitions"`
	Rebalances int64         `json:"rebalances"`
	Tables     []tableStatus `json:"tables"`
}

type memoryStatus struct {
	LimitBytes int64 `json:"limitBytes"`
	UsedBytes  int64 `json:"usedBytes"`
	PeakBytes  int64 `json:"peakBytes"`
	Pauses     int64 `json:"pauses"`
}

type tableStatus struct {
	Table            string            `json:"table"`
	State            string            `json:"state"`
	Problem          string            `json:"problem,omitempty"`
	Failures         int64             `json:"failures"`
	Again            *time.Time        `json:"again,omitempty"` // when a waiting table is tried again
	Snapshot         int64             `json:"snapshot"`
	Committed        *time.Time        `json:"committed"` // null before the first snapshot
	LagRecords       int64             `json:"lagRecords"`
	FreshnessSeconds *float64          `json:"freshnessSeconds"` // null where not known
	Records          int64             `json:"records"`
	Rows             map[string]int64  `json:"rows"`
	Skipped          map[string]int64  `json:"skipped"`
	DeadLetters      int64             `json:"deadLetters"`
	MissingBefore    int64             `json:"missingBefore"`
	Snapshots        int64             `json:"snapshots"`
	Conflicts        int64             `json:"conflicts"`
	Retries          int64             `json:"retries"`
	Fenced           int64             `json:"fenced"`
	Files            int64             `json:"files"`
	Bytes            int64             `json:"bytes"`
	BufferedBytes    int64             `json:"bufferedBytes"`
	Upkeep           *upkeepStatus     `json:"upkeep"` // null where another process looks after the table
	Offsets          []partitionStatus `json:"offsets"`
}

// upkeepStatus tells how a table is compacted and expired.
type upkeepStatus struct {
	Waiting     bool       `json:"checkpointsWait"`
	Runs        int64      `json:"sortedRuns"`
	LiveFiles   int64      `json:"liveFiles"`
	LiveBytes   int64      `json:"liveBytes"`
	Compactions int64      `json:"compactions"`
	Failures    int64      `json:"failures"`
	Compacted   *time.Time `json:"compacted"` // null: not yet
	Expired     *time.Time `json:"expired"`   // null: not yet
}

type partitionStatus struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"` // next offset that the newest snapshot does not hold
	Position  int64  `json:"position"`  // next offset to apply
	End       int64  `json:"end"`       // -1 where not known
	Lag       int64  `json:"lag"`
}

// statusOf makes the status of the counters.
func statusOf(s connector.Stats, started, now time.Time) status {
	out := status{
		Version: versionOf(), Started: started, Problems: []string{}, Partitions: s.Assigned, Rebalances: s.Rebalances,
		Memory: memoryStatus{LimitBytes: s.MemoryLimit, UsedBytes: s.MemoryUsed, PeakBytes: s.MemoryPeak, Pauses: s.Pauses},
		Tables: []tableStatus{},
	}
	out.Ready, out.Problems = readiness(s)
	for i := range s.Tables {
		out.Tables = append(out.Tables, tableStatusOf(&s.Tables[i], now))
	}
	return out
}

// readiness says whether the sink does its work, and everything that is not well. A degraded table is no reason to be not
// ready: it is being tried again.
func readiness(s connector.Stats) (ready bool, problems []string) {
	ready, problems = true, []string{}
	if !s.BrokersReady {
		ready, problems = false, append(problems, "the consumer group has not been joined yet")
	}
	for _, t := range s.Tables {
		if t.State == connector.Running {
			continue
		}
		ready = ready && t.State != connector.Stopped && t.State != connector.Waiting
		problems = append(problems, fmt.Sprintf("table %s is %s: %s", t.Table, t.State, t.Problem))
	}
	return ready, problems
}

func tableStatusOf(t *connector.TableStats, now time.Time) tableStatus {
	out := tableStatus{
		Table: t.Table, State: string(t.State), Problem: t.Problem, Failures: t.Failures, Again: timeOrNull(t.Again), Snapshot: t.Snapshot, LagRecords: lagOfTable(t),
		Records: t.Records, Rows: t.Rows, Skipped: t.Skipped, DeadLetters: t.DeadLetters, MissingBefore: t.MissingBefore,
		Snapshots: t.Commits, Conflicts: max(t.Attempts-t.Commits, 0), Retries: t.Retries, Fenced: t.Fenced, Files: t.Files,
		Bytes: t.Bytes, BufferedBytes: t.Buffered, Offsets: []partitionStatus{},
	}
	out.Committed = timeOrNull(t.Committed)
	if u := &t.Upkeep; u.Leads {
		out.Upkeep = &upkeepStatus{
			Waiting: u.Waiting, Runs: u.Runs, LiveFiles: u.LiveFiles, LiveBytes: u.LiveBytes, Compactions: u.Compactions, Failures: u.Failures,
			Compacted: timeOrNull(u.Compacted), Expired: timeOrNull(u.Expired),
		}
	}
	if f, ok := freshness(t, now); ok {
		seconds := f.Seconds()
		out.FreshnessSeconds = &seconds
	}
	for _, l := range t.Positions {
		out.Offsets = append(out.Offsets, partitionStatus{
			Topic: l.Topic, Partition: l.Partition, Committed: l.Committed, Position: l.Position, End: l.End, Lag: lagOf(l),
		})
	}
	slices.SortFunc(out.Offsets, func(a, b partitionStatus) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
	return out
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func text[T ~int32 | ~int64 | ~int](n T) string { return strconv.FormatInt(int64(n), 10) }
