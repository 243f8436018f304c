package connector

import (
	"fmt"
	"time"

	"sink/commit/expire"
	"sink/table"
)

// lateness tells rows that are for a partition that has expired, by the table options partition.expiration-time,
// -timestamp-pattern and -timestamp-formatter, as the expiry itself tells them (see package expire). It belongs to a plan.
type lateness struct {
	schema  *table.Schema
	policy  expire.PartitionPolicy
	refuses bool // such rows are refused, not dropped
	rows    *table.RowEncoder
	buffer  []byte
	until   map[string]time.Time // by partition, when it expires; zero: never, for its values are no time
}

// maxPartitions bounds what is remembered of partitions.
const maxPartitions = 1 << 14

// newLateness returns nil for a table whose partitions do not expire.
func newLateness(s *table.Schema, refuses bool) (*lateness, error) {
	policy, err := expire.PartitionPolicyOf(s)
	if err != nil || policy.After <= 0 {
		return nil, err
	}
	if policy.ByUpdate {
		return nil, fmt.Errorf("late-partition goes by the values of a partition, but partition.expiration-strategy is update-time: set late-partition to write")
	}
	columns := s.Indexes(s.PartitionKeys)
	return &lateness{schema: s, policy: policy, refuses: refuses, rows: table.NewRowEncoder(s.TypesOf(columns), columns), until: map[string]time.Time{}}, nil
}

// late reports whether the partition of a row has expired.
func (l *lateness) late(b *table.Batch, row int, now time.Time) bool {
	l.buffer = l.rows.Append(l.buffer[:0], b, row)
	until, known := l.until[string(l.buffer)]
	if !known {
		if at, err := l.policy.TimeOf(l.schema, string(l.buffer), now.Location()); err == nil {
			until = at.Add(l.policy.After)
		}
		if len(l.until) >= maxPartitions {
			clear(l.until)
		}
		l.until[string(l.buffer)] = until
	}
	return !until.IsZero() && now.After(until)
}
