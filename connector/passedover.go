package connector

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tellEvery bounds how often a table tells of records that a policy leaves out or puts aside: a topic may be full of them.
const tellEvery = 10 * time.Second

// passedOver is what a table has left out or put aside.
type passedOver struct {
	count  int64 // since the start
	first  error
	told   time.Time
	untold int64 // since then
}

// passOver counts and tells of a bad record that a policy passes over. All are counted; of many, some are told of.
func (w *worker) passOver(rec *kgo.Record, policy Policy, reason string, cause error) {
	l := &w.intake.passed
	if l.count++; l.first == nil {
		l.first = cause
	}
	now := time.Now()
	if !l.told.IsZero() && now.Sub(l.told) < tellEvery {
		l.untold++
		return
	}
	e := w.log.Warn().Str("topic", rec.Topic).Int32("partition", rec.Partition).Int64("offset", rec.Offset).Str("reason", reason).Err(cause)
	if l.untold > 0 {
		e = e.Int64("more_since_last_told", l.untold)
	}
	l.told, l.untold = now, 0
	e.Msg(map[Policy]string{DeadLetter: "record put aside", Skip: "record left out"}[policy])
}
