package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sink/connector"
)

// metrics exports the connector's counters to Prometheus. It reads them anew for each scrape.
type metrics struct {
	stats func() connector.Stats
	now   func() time.Time
}

// newRegistry returns a registry of its own, with the metrics of the sink, of the Go runtime and of the process.
func newRegistry(stats func() connector.Stats, now func() time.Time) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(&metrics{stats, now}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// metric is one family of metrics: how it is called and how its value is found.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("sink_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("sink_"+name, help, labels, nil), prometheus.CounterValue}
}

// The metrics. Counters count since the start of the process.
var (
	metricBuild       = gauge("build_info", "1; the label tells the version.", "version")
	metricLimit       = gauge("memory_limit_bytes", "The budget of all buffers.")
	metricUsed        = gauge("memory_used_bytes", "What the buffers hold of the budget now.")
	metricPeak        = gauge("memory_peak_bytes", "The most that the buffers have held.")
	metricPauses      = counter("fetch_pauses_total", "Times that fetching waited since memory was full.")
	metricPaused      = gauge("fetch_paused", "1 while fetching waits since memory is full.")
	metricRebalances  = counter("rebalances_total", "Rebalances of the consumer group.")
	metricAssigned    = gauge("assigned_partitions", "Partitions that this process reads.")
	metricJoined      = gauge("group_joined", "1 once the consumer group has been joined.")
	metricState       = gauge("table_state", "1 for the state that the table is in.", "table", "state")
	metricFailures    = counter("table_failures_total", "Times that the table stopped, to be tried again or not.", "table")
	metricRecords     = counter("records_total", "Kafka records applied, skipped ones included.", "table")
	metricRows        = counter("rows_total", "Changelog rows by row kind.", "table", "kind")
	metricSkipped     = counter("skipped_records_total", "Records that gave no row, by reason.", "table", "reason")
	metricLetters     = counter("dead_letters_total", "Records put aside.", "table")
	metricNoBefore    = counter("missing_before_total", "Updates and deletes accepted without the row before them.", "table")
	metricSnapshots   = counter("snapshots_total", "Snapshots committed.", "table")
	metricConflicts   = counter("commit_conflicts_total", "Snapshot creates that another writer won.", "table")
	metricRetries     = counter("checkpoint_retries_total", "Checkpoints tried again after an error.", "table")
	metricFenced      = counter("fenced_total", "Checkpoints given up since another instance went on.", "table")
	metricFiles       = counter("files_total", "Data and changelog files committed.", "table")
	metricBytes       = counter("written_bytes_total", "Bytes of those files.", "table")
	metricSpills      = counter("spills_total", "Early flushes since memory was full.", "table")
	metricBuffered    = gauge("buffered_bytes", "Bytes that the table's buffers hold now.", "table")
	metricSnapshot    = gauge("snapshot_id", "The newest snapshot of this sink.", "table")
	metricSnapshotAge = gauge("snapshot_age_seconds", "Time since the newest snapshot of this sink.", "table")
	metricFreshness   = gauge("freshness_seconds", "How far the table is behind its topics: the age of the newest record in it, 0 where none was waiting when last fetched.", "table")
	metricLag         = gauge("lag_records", "Records on the topic, as of the last fetch, that the newest snapshot does not hold.", "table", "topic", "partition")
	metricLeads       = gauge("upkeep_leads", "1 where this process compacts and expires the table.", "table")
	metricWaiting     = gauge("checkpoints_waiting", "1 while checkpoints wait for compaction.", "table")
	metricRuns        = gauge("sorted_runs", "Sorted runs of the bucket that has most of them.", "table")
	metricLiveFiles   = gauge("live_files", "Data files of the newest snapshot.", "table")
	metricLiveBytes   = gauge("live_bytes", "Bytes of those files.", "table")
	metricCompactions = counter("compactions_total", "COMPACT snapshots made.", "table")
	metricCompactRead = counter("compaction_read_bytes_total", "Bytes of files that compaction has rewritten.", "table")
	metricCompactMade = counter("compaction_written_bytes_total", "Bytes of files that compaction has written.", "table")
	metricCompactTime = counter("compaction_seconds_total", "Time that compactions took.", "table")
	metricUpkeepFails = counter("upkeep_failures_total", "Rounds of compaction or expiry that ended with an error.", "table")
	metricExpired     = counter("expired_snapshots_total", "Snapshots that expiry has removed.", "table")
	metricOrphans     = counter("deleted_orphans_total", "Files deleted that nothing had named for a day.", "table")
	metricCompactAge  = gauge("compaction_age_seconds", "Time since a look at the table found it compacted, or compacted it.", "table")
	metricExpiryAge   = gauge("expiry_age_seconds", "Time since expiry last ended well.", "table")
	metricCommitted   = gauge("committed_offset", "Next offset that the newest snapshot does not hold.", "table", "topic", "partition")
)

// Describe sends nothing: the metrics are unchecked, since which there are depends on the tables.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the values of this moment.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	send := func(k metric, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(k.desc, k.kind, v, labels...)
	}
	s := m.stats()
	send(metricBuild, 1, versionOf())
	send(metricLimit, float64(s.MemoryLimit))
	send(metricUsed, float64(s.MemoryUsed))
	send(metricPeak, float64(s.MemoryPeak))
	send(metricPauses, float64(s.Pauses))
	send(metricPaused, one(s.Paused))
	send(metricRebalances, float64(s.Rebalances))
	send(metricAssigned, float64(s.Assigned))
	send(metricJoined, one(s.BrokersReady))
	for i := range s.Tables {
		m.table(send, &s.Tables[i])
	}
}

func (m *metrics) table(send func(metric, float64, ...string), t *connector.TableStats) {
	for _, state := range []connector.TableState{connector.Running, connector.Degraded, connector.Waiting, connector.Stopped} {
		send(metricState, one(t.State == state), t.Table, string(state))
	}
	send(metricFailures, float64(t.Failures), t.Table)
	send(metricRecords, float64(t.Records), t.Table)
	for kind, n := range t.Rows {
		send(metricRows, float64(n), t.Table, kind)
	}
	for reason, n := range t.Skipped {
		send(metricSkipped, float64(n), t.Table, reason)
	}
	send(metricLetters, float64(t.DeadLetters), t.Table)
	send(metricNoBefore, float64(t.MissingBefore), t.Table)
	send(metricSnapshots, float64(t.Commits), t.Table)
	send(metricConflicts, float64(max(t.Attempts-t.Commits, 0)), t.Table)
	send(metricRetries, float64(t.Retries), t.Table)
	send(metricFenced, float64(t.Fenced), t.Table)
	send(metricFiles, float64(t.Files), t.Table)
	send(metricBytes, float64(t.Bytes), t.Table)
	send(metricSpills, float64(t.Spills), t.Table)
	send(metricBuffered, float64(t.Buffered), t.Table)
	send(metricSnapshot, float64(t.Snapshot), t.Table)
	if !t.Committed.IsZero() {
		send(metricSnapshotAge, m.now().Sub(t.Committed).Seconds(), t.Table)
	}
	if f, ok := freshness(t, m.now()); ok {
		send(metricFreshness, f.Seconds(), t.Table)
	}
	m.upkeep(send, t)
	for _, l := range t.Positions {
		partition := text(l.Partition)
		send(metricCommitted, float64(l.Committed), t.Table, l.Topic, partition)
		if l.End >= 0 {
			send(metricLag, float64(lagOf(l)), t.Table, l.Topic, partition)
		}
	}
}

// upkeep sends how the table is looked after. What it is like is only known where it is.
func (m *metrics) upkeep(send func(metric, float64, ...string), t *connector.TableStats) {
	u := &t.Upkeep
	send(metricLeads, one(u.Leads), t.Table)
	send(metricCompactions, float64(u.Compactions), t.Table)
	send(metricCompactRead, float64(u.ReadBytes), t.Table)
	send(metricCompactMade, float64(u.WrittenBytes), t.Table)
	send(metricCompactTime, u.Took.Seconds(), t.Table)
	send(metricUpkeepFails, float64(u.Failures), t.Table)
	send(metricExpired, float64(u.Snapshots), t.Table)
	send(metricOrphans, float64(u.Orphans), t.Table)
	if !u.Leads {
		return
	}
	send(metricWaiting, one(u.Waiting), t.Table)
	send(metricRuns, float64(u.Runs), t.Table)
	send(metricLiveFiles, float64(u.LiveFiles), t.Table)
	send(metricLiveBytes, float64(u.LiveBytes), t.Table)
	if !u.Compacted.IsZero() {
		send(metricCompactAge, m.now().Sub(u.Compacted).Seconds(), t.Table)
	}
	if !u.Expired.IsZero() {
		send(metricExpiryAge, m.now().Sub(u.Expired).Seconds(), t.Table)
	}
}

// lagOf is how many offsets of a partition the newest snapshot does not hold; 0 where the end is not known.
func lagOf(l connector.Lag) int64 { return max(l.End-l.Committed, 0) }

// lagOfTable is the sum over its partitions.
func lagOfTable(t *connector.TableStats) int64 {
	var n int64
	for _, l := range t.Positions {
		n += lagOf(l)
	}
	return n
}

// freshness tells how far a table is behind its topics; false where that is not known yet.
func freshness(t *connector.TableStats, now time.Time) (time.Duration, bool) {
	if len(t.Positions) > 0 && lagOfTable(t) == 0 {
		return 0, true
	}
	if t.EventTime.IsZero() {
		return 0, false
	}
	return max(now.Sub(t.EventTime), 0), true
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
