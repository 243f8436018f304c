package connector

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxLetter is the largest batch that is sent, in bytes: that of a dead letter. The broker's limit of the topic counts.
const maxLetter = 96 << 20

// letterBatch is how many bytes of letters are sent at once: a batch stays below the million that topics take by default, unless
// one letter alone is larger.
const letterBatch = 512 << 10

// outbox sends dead letters to topics, in batches that it cuts itself: the client takes records of any size, so that a large one
// can be put aside, and would make one batch of all that wait. It is safe for concurrent use.
type outbox struct {
	client *kgo.Client
	memory *memory

	mu    sync.Mutex
	turns map[string]chan struct{} // by topic; full while a batch is under way
}

func newOutbox(client *kgo.Client, memory *memory) *outbox {
	return &outbox{client: client, memory: memory, turns: map[string]chan struct{}{}}
}

// turn returns the channel of a topic: tables that share it wait for each other, so that their batches stay apart.
func (o *outbox) turn(topic string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns[topic] == nil {
		o.turns[topic] = make(chan struct{}, 1)
	}
	return o.turns[topic]
}

// send produces records to a topic, and waits for the brokers no longer than the context lasts.
func (o *outbox) send(ctx context.Context, topic string, records []*kgo.Record) error {
	turn := o.turn(topic)
	for len(records) > 0 {
		n, size := firstBatch(records)
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := o.sendBatch(ctx, turn, records[:n], size); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// sendBatch produces records that are one batch, then gives the turn back, and counts the memory of their encoded form until then. The
// client is not told of the context's end: it cannot take back what may have been written, and would try again without a pause.
// Closing it ends that.
func (o *outbox) sendBatch(ctx context.Context, turn chan struct{}, records []*kgo.Record, size int64) error {
	o.memory.add(size)
	sent := make(chan error, 1)
	go func() {
		sent <- o.client.ProduceSync(context.WithoutCancel(ctx), records...).FirstErr()
		o.memory.add(-size)
		<-turn
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// firstBatch returns how many of the records are sent first, one at least, and about how many bytes they are.
func firstBatch(records []*kgo.Record) (n int, size int64) {
	for _, r := range records {
		more := sizeOf(r)
		if n > 0 && size+more > letterBatch {
			break
		}
		n, size = n+1, size+more
	}
	return n, size
}
