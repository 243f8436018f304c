package main

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// firstFetch notes when the first records came from the broker: joining the group comes before and is no work.
type firstFetch struct{ nanos atomic.Int64 }

var _ kgo.HookBrokerRead = (*firstFetch)(nil)

const fetchKey = 1

// OnBrokerRead is called by the client when an answer has been read.
func (f *firstFetch) OnBrokerRead(_ kgo.BrokerMetadata, key int16, bytesRead int, _, timeToRead time.Duration, err error) {
	if key == fetchKey && err == nil && bytesRead > 1<<10 {
		f.nanos.CompareAndSwap(0, time.Now().Add(-timeToRead).UnixNano())
	}
}

func (f *firstFetch) at() time.Time { return time.Unix(0, f.nanos.Load()) }
