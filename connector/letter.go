package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"sink/table"
)

// Letters is where records that are put aside go: a Kafka topic, or files in the store. One of the two is set.
//
// Letters are written before the checkpoint that covers their records. In files they are exactly once: each has
// a file of its own that is named for its record, so whoever repeats it, in whatever checkpoint, writes the same again. Each
// checkpoint with letters makes a snapshot. Before the table exists the group's offsets stand in for that. In a topic letters are at least once, and told
// apart by their key, which is their coordinates.
type Letters struct {
	Topic string
	Path  string // folder in the warehouse; one file a record below it
}

// letter is a record put aside, with its cause.
type letter struct {
	Table     string       `json:"table"`
	Topic     string       `json:"topic"`
	TopicID   string       `json:"topic_id,omitempty"` // hex; empty where brokers know none
	Partition int32        `json:"partition"`
	Offset    int64        `json:"offset"`
	Timestamp int64        `json:"timestamp"` // milliseconds since the epoch, of the Kafka record
	Reason    string       `json:"reason"`
	Cause     string       `json:"cause"`
	Key       []byte       `json:"key"`   // base64 in JSON; null where the record had none
	Value     []byte       `json:"value"` // as Key
	Headers   []headerText `json:"headers,omitempty"`
}

// headerText is a record header; its value is base64 in JSON.
type headerText struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// sizeBytes is about what the letter takes in memory.
func (l *letter) sizeBytes() int64 {
	size := int64(len(l.Key)+len(l.Value)) + recordOverhead
	for _, h := range l.Headers {
		size += int64(len(h.Key)+len(h.Value)) + headerOverhead
	}
	return size
}

// putAside keeps a bad record for the next checkpoint.
func (w *worker) putAside(rec *kgo.Record, reason string, cause error) {
	l := letter{
		Table: w.name, Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset, Timestamp: rec.Timestamp.UnixMilli(),
		Reason: reason, Cause: cause.Error(), Key: slices.Clone(rec.Key), Value: slices.Clone(rec.Value),
	}
	for _, h := range rec.Headers {
		l.Headers = append(l.Headers, headerText{Key: h.Key, Value: slices.Clone(h.Value)})
	}
	if p := w.partitions[table.TopicPartition{Topic: rec.Topic, Partition: rec.Partition}]; p != nil {
		l.TopicID = p.log.topicID
	}
	w.intake.letters = append(w.intake.letters, l)
	w.intake.letterBytes += l.sizeBytes()
	w.counters.update(func(s *TableStats) { s.DeadLetters++ })
}

// takeLetters hands over what was put aside since the last time.
func (w *worker) takeLetters() []letter {
	letters := w.intake.letters
	w.intake.letters, w.intake.letterBytes = nil, 0
	return letters
}

// deliver writes the letters of a checkpoint.
func (w *worker) deliver(ctx context.Context, letters []letter) error {
	if len(letters) == 0 {
		return nil
	}
	if w.cfg.Letters.Topic != "" {
		return w.produce(ctx, letters)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(letterWriters)
	for _, l := range letters {
		group.Go(func() error { return w.file(ctx, &l) })
	}
	return group.Wait()
}

// file writes a letter to a file of its own. It takes its part of the memory for files in the making.
func (w *worker) file(ctx context.Context, l *letter) error {
	name := fmt.Sprintf("%s/%s/%s.json", strings.Trim(w.cfg.Letters.Path, "/"), w.name, l.name())
	release, err := w.c.encoders.Take(ctx, letterTexts*l.sizeBytes())
	if err != nil {
		return err
	}
	defer release()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("dead letter %s: %w", name, err)
	}
	if err := w.c.cfg.Store.Put(ctx, name, append(text, '\n')); err != nil {
		return fmt.Errorf("write dead letter %s: %w", name, err)
	}
	return nil
}

// name is the record's: of one in a topic that was made anew, too, which has the offsets of the old one again. Brokers before Kafka 2.8 know
// no topic ids (KIP-516).
func (l *letter) name() string {
	topic := l.Topic
	if l.TopicID != "" {
		topic += "-" + l.TopicID
	}
	return fmt.Sprintf("%s-%d-%020d", topic, l.Partition, l.Offset)
}

// letterTexts is how often a letter's bytes are in memory while its file is made: JSON takes a third more, and is copied twice.
const letterTexts = 4

// letterWriters is how many letters of a table are written at the same time.
const letterWriters = 16

// produce sends letters to the dead-letter topic: the original bytes, the coordinates and the cause in headers.
func (w *worker) produce(ctx context.Context, letters []letter) error {
	records := make([]*kgo.Record, len(letters))
	for i, l := range letters {
		headers := []kgo.RecordHeader{
			{Key: "sink.table", Value: []byte(l.Table)},
			{Key: "sink.topic", Value: []byte(l.Topic)},
			{Key: "sink.partition", Value: strconv.AppendInt(nil, int64(l.Partition), 10)},
			{Key: "sink.offset", Value: strconv.AppendInt(nil, l.Offset, 10)},
			{Key: "sink.timestamp", Value: strconv.AppendInt(nil, l.Timestamp, 10)},
			{Key: "sink.reason", Value: []byte(l.Reason)},
			{Key: "sink.cause", Value: []byte(l.Cause)},
			{Key: "sink.key", Value: l.Key},
			{Key: "sink.topic-id", Value: []byte(l.TopicID)},
		}
		for _, h := range l.Headers {
			headers = append(headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		records[i] = &kgo.Record{
			Topic: w.cfg.Letters.Topic, Key: fmt.Appendf(nil, "%s/%d/%d", l.Topic, l.Partition, l.Offset), Value: l.Value,
			Headers: headers, Timestamp: time.Now(),
		}
	}
	err := w.c.outbox.send(ctx, w.cfg.Letters.Topic, records)
	if errors.Is(err, kerr.MessageTooLarge) {
		return fmt.Errorf("send dead letters to topic %s (dead-letter.topic): %w; raise max.message.bytes of that topic, or set dead-letter.path", w.cfg.Letters.Topic, err)
	}
	if err != nil {
		return fmt.Errorf("send dead letters to topic %s (dead-letter.topic): %w", w.cfg.Letters.Topic, err)
	}
	return nil
}
