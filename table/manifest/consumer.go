package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sink/table"
	"sink/table/object"
)

// Consumer is the file consumer/consumer-ID: a streaming reader's progress. Expiry keeps all snapshots from NextSnapshot
// on (org.apache.paimon.consumer.Consumer).
type Consumer struct {
	ID           string
	NextSnapshot int64
	Modified     time.Time // of the file; set by Consumers only
}

type consumerJSON struct {
	NextSnapshot *int64 `json:"nextSnapshot"`
}

// Consumer files are overwritten in place, and not every store does that at once: a reader may meet half a file.
const (
	consumerReads = 10
	consumerWait  = 100 * time.Millisecond
)

// ReadConsumer returns a consumer; fs.ErrNotExist if there is none. What cannot be parsed is read again for a second.
func ReadConsumer(ctx context.Context, store object.Store, path table.Path, id string) (*Consumer, error) {
	if err := checkName("consumer", id); err != nil {
		return nil, err
	}
	var parseErr error
	for i := range consumerReads {
		if i > 0 {
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("read consumer %s: %w", id, ctx.Err())
			case <-time.After(consumerWait):
			}
		}
		b, err := store.Get(ctx, path.Consumer(id))
		if err != nil {
			return nil, fmt.Errorf("read consumer %s: %w", id, err)
		}
		var j consumerJSON
		if parseErr = json.Unmarshal(b, &j); parseErr == nil && j.NextSnapshot == nil {
			parseErr = errors.New("no nextSnapshot")
		}
		if parseErr == nil {
			return &Consumer{ID: id, NextSnapshot: *j.NextSnapshot}, nil
		}
	}
	return nil, fmt.Errorf("read consumer %s: %w", id, parseErr)
}

// WriteConsumer writes or overwrites a consumer.
func WriteConsumer(ctx context.Context, store object.Store, path table.Path, id string, nextSnapshot int64) error {
	if err := checkName("consumer", id); err != nil {
		return err
	}
	if err := store.Put(ctx, path.Consumer(id), fmt.Appendf(nil, "{\n  \"nextSnapshot\" : %d\n}", nextSnapshot)); err != nil {
		return fmt.Errorf("write consumer %s: %w", id, err)
	}
	return nil
}

// Consumers returns all consumers with the times of their last writing, in id order.
func Consumers(ctx context.Context, store object.Store, path table.Path) ([]Consumer, error) {
	prefix := path.ConsumerDir() + "consumer-"
	ids, err := listNames(ctx, store, prefix)
	if err != nil {
		return nil, err
	}
	modified := make(map[string]time.Time, len(ids))
	for info, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		modified[info.Name] = info.Modified
	}
	var all []Consumer
	for _, id := range ids {
		c, err := ReadConsumer(ctx, store, path, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the listing
		}
		if err != nil {
			return nil, err
		}
		c.Modified = modified[path.Consumer(id)]
		all = append(all, *c)
	}
	return all, nil
}
