// Command prototype is what a sink in Go cannot go below on a real topic: it knows one table beforehand, commits nothing and forgets
// nothing. Modes: consume (fetch only), decode (and decode), full (and bucket, sort, write a changelog and a data file for each of 4
// buckets, synced, every -commit events).
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/floor"
)

const buckets = 4

// batch is what is buffered for one round of files.
type batch struct {
	buckets [buckets]floor.Columns
	events  int
	round   int
}

type prototype struct {
	broker, topic, mode, dir string
	events, commit           int

	seq    int64
	event  floor.Event
	parts  floor.Wrapper
	batch  *batch
	rounds int
	full   chan *batch
	free   chan *batch
}

func main() {
	log.SetFlags(0)
	p := prototype{full: make(chan *batch, 1), free: make(chan *batch, 2)}
	flag.StringVar(&p.broker, "broker", "127.0.0.1:9092", "bootstrap address")
	flag.StringVar(&p.topic, "topic", "", "topic")
	flag.IntVar(&p.events, "n", 1_000_000, "events to read")
	flag.StringVar(&p.mode, "mode", "full", "consume, decode or full")
	flag.IntVar(&p.commit, "commit", 100_000, "events of a round of files")
	flag.StringVar(&p.dir, "dir", "", "folder of the files")
	flag.Parse()
	debug.SetMemoryLimit(512 << 20)
	debug.SetGCPercent(400)
	if err := p.run(); err != nil {
		log.Fatal(err)
	}
}

func (p *prototype) run() error {
	for range cap(p.free) {
		b := new(batch)
		for i := range b.buckets {
			b.buckets[i].Reset()
		}
		p.free <- b
	}
	written := make(chan error, 1)
	go func() { written <- p.write() }()
	err := p.consume()
	close(p.full)
	return errors.Join(err, <-written)
}

func (p *prototype) consume() error {
	client, err := kgo.NewClient(kgo.SeedBrokers(p.broker), kgo.ConsumeTopics(p.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchMaxBytes(16<<20), kgo.FetchMinBytes(1<<16))
	if err != nil {
		return err
	}
	defer client.Close()
	for read := 0; read < p.events; {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		for it := fetches.RecordIter(); !it.Done(); read++ {
			if err := p.take(it.Next().Value); err != nil {
				return err
			}
		}
	}
	if p.batch != nil {
		p.full <- p.batch
	}
	return nil
}

// take buffers the rows of an event.
func (p *prototype) take(value []byte) error {
	if p.mode == "consume" {
		return nil
	}
	if err := floor.Decode(p.parts.Payload(value), &p.event); err != nil || p.mode == "decode" {
		return err
	}
	if p.batch == nil {
		p.batch = <-p.free
		p.batch.events, p.batch.round = 0, p.rounds
		p.rounds++
	}
	row := &p.event.After
	if !p.event.HasAfter {
		row = &p.event.Before
	}
	p.seq = p.batch.buckets[floor.BucketOf(row.ID, buckets)].AddEvent(p.seq, &p.event)
	if p.batch.events++; p.batch.events == p.commit {
		p.full <- p.batch
		p.batch = nil
	}
	return nil
}

// write makes files of batches until there are no more.
func (p *prototype) write() error {
	w := floor.NewWriter(1)
	var failed error
	for b := range p.full {
		for i := range b.buckets {
			c := &b.buckets[i]
			sorted := c.Sort()
			failed = errors.Join(failed, p.writeFile(w, c, sorted, fmt.Sprintf("changelog-%d-%d.parquet", b.round, i)),
				p.writeFile(w, c, c.Last(sorted), fmt.Sprintf("data-%d-%d.parquet", b.round, i)))
			c.Reset()
		}
		p.free <- b
	}
	return failed
}

func (p *prototype) writeFile(w *floor.Writer, c *floor.Columns, rows []int32, name string) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<18)
	return errors.Join(w.Write(buffered, c, rows), buffered.Flush(), f.Sync(), f.Close())
}
