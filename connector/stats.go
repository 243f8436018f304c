package connector

import (
	"maps"
	"sync"
	"time"
)

// TableState tells how a table is doing.
type TableState string

// The states of a table.
const (
	Running  TableState = "running"
	Degraded TableState = "degraded" // a checkpoint is being retried
	Waiting  TableState = "waiting"  // stopped, and to be tried again: `on-table-failure: retry`
	Stopped  TableState = "stopped"  // at a record or a fault that needs the user
)

// TableStats are the counters of one table since the start of the process.
type TableStats struct {
	Table   string
	State   TableState
	Problem string // why it is degraded, waiting or stopped
	Routes  bool   // no table, but a mapping that finds its tables by the source of each record

	Failures int64     // times that it stopped
	Again    time.Time // when a waiting table is tried again

	Records       int64            // Kafka records applied, skipped ones included
	Rows          map[string]int64 // changelog rows by kind: "+I", "-U", "+U", "-D"
	Skipped       map[string]int64 // records that gave no row, by reason
	DeadLetters   int64            // records put aside
	MissingBefore int64            // updates and deletes accepted without their before image
	Commits       int64            // snapshots of ours
	Attempts      int64            // snapshot creates tried; above Commits by the races lost
	Retries       int64            // checkpoints tried again after an error
	Fenced        int64            // checkpoints given up since another instance went on
	Files         int64            // data and changelog files committed
	Bytes         int64            // of those files
	Spills        int64            // early flushes since memory was full
	Buffered      int64            // bytes held now
	Snapshot      int64            // newest of ours; 0 before the first
	Committed     time.Time        // when that was committed; zero before the first
	EventTime     time.Time        // Kafka timestamp of the newest record in it
	Positions     map[string]Lag   // by "topic/partition", owned partitions
	Upkeep        Upkeep
}

// Upkeep tells how a table is compacted and expired by this process.
type Upkeep struct {
	Leads     bool  // this process looks after the table; else another does, and what is there now is not known
	Waiting   bool  // checkpoints wait for compaction
	Runs      int64 // sorted runs of the bucket that has most of them
	LiveFiles int64 // data files of the newest snapshot
	LiveBytes int64 // of those files

	Compactions  int64 // COMPACT snapshots made
	ReadBytes    int64 // of files that were rewritten
	WrittenBytes int64 // of files that came in their place
	Took         time.Duration
	Failures     int64 // rounds of compaction or expiry that ended with an error
	Snapshots    int64 // expired
	Orphans      int64 // files deleted that nothing named

	Compacted time.Time // when a round last found no bucket that needs compaction, or compacted; zero: not yet
	Expired   time.Time // when expiry last ended well; zero: not yet
}

// Lag is how far a partition has been read.
type Lag struct {
	Topic     string
	Partition int32
	Committed int64 // next offset that the newest snapshot does not cover
	Position  int64 // next offset to apply
	End       int64 // last stable offset when last fetched; -1 before the first fetch
}

// Stats is a copy of all counters at one moment.
type Stats struct {
	Tables       []TableStats
	MemoryLimit  int64 // bytes
	MemoryUsed   int64 // bytes
	MemoryPeak   int64 // bytes
	Pauses       int64 // times that the intake waited for memory
	Paused       bool  // it waits now
	Rebalances   int64
	Assigned     int       // partitions
	LastPoll     time.Time // when records were last polled
	BrokersReady bool      // the group has been joined once
}

// counters is a table's TableStats under a lock: the worker writes, anyone reads.
type counters struct {
	mu sync.Mutex
	s  TableStats
}

func newCounters(name string) *counters {
	return &counters{s: TableStats{
		Table: name, State: Running,
		Rows: map[string]int64{}, Skipped: map[string]int64{}, Positions: map[string]Lag{},
	}}
}

// update changes the counters under the lock.
func (c *counters) update(f func(*TableStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.s)
}

// read returns a copy that shares nothing.
func (c *counters) read() TableStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.s
	s.Rows, s.Skipped, s.Positions = maps.Clone(s.Rows), maps.Clone(s.Skipped), maps.Clone(s.Positions)
	return s
}
