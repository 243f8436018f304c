package flush

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sink/table"
	"sink/table/datafile"
	"sink/table/merge"
)

// cleanTimeout bounds the removal of files that nobody will refer to. What it leaves behind, orphan cleaning finds.
const cleanTimeout = 30 * time.Second

// plan is what is known of a table and schema before its rows: a Writer and its checkpoints share it.
type plan struct {
	cfg     Config
	buckets int32 // as entries of manifests state it
	primary []int // columns of the primary key; none in an append table

	data      *datafile.Format
	changelog *datafile.Format // nil: the table has none
	copies    bool             // both are written alike, so that a file can be copied

	order        order
	engine       *merge.Engine // nil: deduplicate
	refuses      [4]error      // by kind: why the table takes no such row
	ignoreDelete bool          // drop -U and -D
	ignoreBefore bool          // drop -U

	chunks   sync.Pool // of *table.Batch
	scratch  sync.Pool // of *sorter
	encoders *Encoders
	density  density
}

func newPlan(cfg Config, buckets int32) (*plan, error) {
	s := cfg.Schema
	p := &plan{cfg: cfg, buckets: buckets, primary: s.Indexes(s.PrimaryKeys), encoders: cfg.Encoders}
	if p.encoders == nil {
		p.encoders = perCore()
	}
	var err error
	if p.data, err = newFormat(cfg, datafile.Data); err != nil {
		return nil, err
	}
	if s.Option("changelog-producer") == "input" {
		if p.changelog, err = newFormat(cfg, datafile.Changelog); err != nil {
			return nil, err
		}
		p.copies = p.data.Config().Alike(p.changelog.Config())
	}
	if p.ignoreDelete, err = s.OptionBool("ignore-delete"); err != nil {
		return nil, err
	}
	if p.ignoreBefore, err = s.OptionBool("ignore-update-before"); err != nil {
		return nil, err
	}
	all := make([]int, len(s.Fields))
	for i := range all {
		all[i] = i
	}
	if p.engine, err = merge.New(s, all); err != nil {
		return nil, err
	}
	for k := range p.refuses {
		if err := p.engine.Refuses(table.Kind(k)); err != nil {
			p.refuses[k] = fmt.Errorf("%w: %w", ErrKind, err)
		}
	}
	p.order = newOrder(s)
	p.scratch.New = func() any { return &sorter{merger: newMerger(p.engine, s.Fields)} }
	return p, nil
}

func newFormat(cfg Config, kind datafile.Kind) (*datafile.Format, error) {
	c, err := datafile.NewConfig(cfg.Schema, cfg.Store, cfg.Path, kind)
	if err != nil {
		return nil, err
	}
	c.Now = cfg.Now
	return datafile.NewFormat(c)
}

// drops reports whether the table's options keep rows of a kind out of both files.
func (p *plan) drops(k table.Kind) bool {
	return p.ignoreDelete && k.Retracts() || p.ignoreBefore && k == table.UpdateBefore
}

// newChunk returns an empty batch. The first one of a buffer is small, so that a table with few rows holds little; a
// later one has room for as much as the one before it.
func (p *plan) newChunk(before []*table.Batch) *table.Batch {
	if len(before) == 0 {
		return table.NewBatch(p.cfg.Schema.Fields)
	}
	if b, ok := p.chunks.Get().(*table.Batch); ok {
		return b
	}
	last := before[len(before)-1]
	b := table.NewBatch(p.cfg.Schema.Fields)
	rows := last.Len() + last.Len()/16 + 2
	for i := range b.Columns {
		v := &b.Columns[i]
		if v.Layout == table.Words {
			v.Words = make([]int64, 0, rows)
		} else {
			v.Ends = make([]uint32, 0, rows)
			v.Data = make([]byte, 0, len(last.Columns[i].Data)+len(last.Columns[i].Data)/16)
		}
	}
	b.Kinds = make([]table.Kind, 0, rows)
	return b
}

// recycle takes chunks that nobody reads any more.
func (p *plan) recycle(chunks []*table.Batch) {
	for _, b := range chunks {
		if b.SizeBytes() <= 4*int64(p.cfg.ChunkBytes) { // not what one huge row has left behind
			b.Reset()
			p.chunks.Put(b)
		}
	}
}

// cellBytes returns the bytes that the cells of a batch take, without room to grow.
func cellBytes(b *table.Batch) int64 {
	var n int
	for i := range b.Columns {
		v := &b.Columns[i]
		n += 8*len(v.Words) + 4*len(v.Ends) + len(v.Data)
	}
	return int64(n)
}

// where names a bucket in an error.
func (p *plan) where(id table.Bucket) string {
	partition, err := table.PartitionPath(p.cfg.Schema, id.Partition)
	if err != nil {
		partition = fmt.Sprintf("%x", id.Partition)
	}
	if partition != "" {
		partition = "partition " + strings.TrimSuffix(partition, "/") + " "
	}
	return fmt.Sprintf("table %s %sbucket %d", p.cfg.Path, partition, id.Number)
}

// remove deletes files that are in no snapshot, as well as it can.
func (p *plan) remove(ctx context.Context, id table.Bucket, files spilled) {
	if files.len() == 0 {
		return
	}
	partition, err := table.PartitionPath(p.cfg.Schema, id.Partition)
	if err != nil {
		return
	}
	var names []string
	for _, list := range [][]table.File{files.data, files.changelog} {
		for i := range list {
			names = append(names, p.cfg.Path.DataFile(partition, id.Number, list[i].Name))
		}
	}
	ctx, cancel := cleaning(ctx)
	defer cancel()
	_ = p.cfg.Store.Delete(ctx, names...)
}

// cleaning returns a context to clean up with, whatever has become of the one given.
func cleaning(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
}
