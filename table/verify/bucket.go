package verify

import (
	"context"
	"errors"
	"hash/maphash"

	"sink/table"
	"sink/table/scan"
)

// share is a part of the keys: those whose hash ends with some bits.
type share struct {
	bits   uint
	suffix uint64
}

// maxShareBits is where keys are not told apart any more: what is left has to fit.
const maxShareBits = 20

var shareSeed = maphash.MakeSeed()

func (s share) has(key []byte) bool {
	return s.bits == 0 || maphash.Bytes(shareSeed, key)&(1<<s.bits-1) == s.suffix
}

// halves returns the two halves of a share.
func (s share) halves() [2]share {
	return [2]share{{s.bits + 1, s.suffix | 1<<s.bits}, {s.bits + 1, s.suffix}}
}

// errTooLarge says that a share of a bucket takes more memory than a replay may.
var errTooLarge = errors.New("the rows do not fit into memory")

// entry is what the changes have made of a key.
type entry struct {
	text     string // the row as canonical JSON
	count    int64  // an append table: how many such rows there are
	met      int64  // how many the table holds
	round    int64  // of met
	row      int    // in remerge.held
	gone     bool   // the last row took the key away
	doubtful bool   // what is right depends on what was merged first
}

// Bytes of an entry in its map, beside its key and text, and of a change that waits to be merged.
const (
	entryBytes  = 192
	changeBytes = 128
)

// bucketReplay is the replay of a share of a bucket.
type bucketReplay struct {
	*replayer
	share    share
	rows     map[string]*entry
	updating map[string]struct{} // keys whose -U has come
	merge    *remerge            // nil: changes are rows before and after
	bytes    int64
	round    int64
	key      []byte
}

// replayBucket replays a bucket, in as many shares as it takes.
func (r *replayer) replayBucket(ctx context.Context, b table.Bucket, t *timeline) error {
	for todo := []share{{}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		p := &bucketReplay{replayer: r, share: s}
		if err := p.reset(); err != nil {
			r.fault("replay", r.bucketName(b), "%v", err)
			return nil
		}
		id, err := p.run(ctx, t)
		switch {
		case errors.Is(err, errTooLarge):
			halves := s.halves()
			todo = append(todo, halves[:]...)
		case err != nil:
			return r.unreadable(ctx, id, err)
		}
	}
	return nil
}

// reset forgets all rows.
func (p *bucketReplay) reset() (err error) {
	p.rows, p.updating, p.bytes = map[string]*entry{}, map[string]struct{}{}, 0
	if p.engine {
		p.merge, err = newRemerge(p.schema)
	}
	return err
}

// run replays the share, up to the first fault. With an error it returns the snapshot at which it came.
func (p *bucketReplay) run(ctx context.Context, t *timeline) (int64, error) {
	live := t.start
	if err := p.load(ctx, live); err != nil || len(t.events) == 0 {
		return p.options.From, err
	}
	for i := range t.events {
		e := &t.events[i]
		live = e.after(live)
		if e.overwrite {
			if err := p.reset(); err != nil {
				return e.snapshot, err
			}
			if err := p.load(ctx, live); err != nil {
				return e.snapshot, err
			}
			continue
		}
		if err := p.apply(ctx, e); err != nil {
			return e.snapshot, err
		}
		if e.compared > 0 {
			same, err := p.compare(ctx, e.compared, live)
			if err != nil || !same {
				return e.compared, err
			}
		}
	}
	return 0, nil
}

// grow accounts for memory.
func (p *bucketReplay) grow(n int64) error {
	p.bytes += n
	limit := p.options.MemoryBytes
	if limit <= 0 {
		limit = defaultReplayBytes
	}
	if p.bytes > limit && p.share.bits < maxShareBits {
		return errTooLarge
	}
	return nil
}

// load takes the rows of files for what the changes have given up to there. Keys that a row has taken away are among them.
func (p *bucketReplay) load(ctx context.Context, files []table.File) error {
	if len(files) == 0 {
		return nil
	}
	shown, _ := p.visible(files)
	plan, err := p.table.PlanFiles(shown)
	if err != nil {
		return err
	}
	for b, err := range plan.Rows(ctx, scan.Options{Retractions: p.engine}) {
		if err != nil {
			return err
		}
		for i := range b.Len() {
			if p.key = p.keyOf(p.key[:0], b, i); !p.share.has(p.key) {
				continue
			}
			if err := p.put(string(p.key), p.textOf(b, i)); err != nil {
				return err
			}
			if p.merge != nil {
				p.merge.put(p.rows[string(p.key)], b, i)
			}
		}
	}
	return nil
}

// put sets the row of a key, or adds one in an append table.
func (p *bucketReplay) put(key, text string) error {
	e := p.rows[key]
	if e == nil {
		e = &entry{}
		p.rows[key] = e
		if err := p.grow(entryBytes + int64(len(key))); err != nil {
			return err
		}
	}
	e.count++
	if p.schema.Append() {
		return nil // the key is the text
	}
	n := p.textBytes(text) - p.textBytes(e.text)
	e.text, e.gone = text, false
	return p.grow(n)
}

// textBytes is what an entry takes for its row.
func (p *bucketReplay) textBytes(text string) int64 {
	if p.merge != nil {
		return 2 * int64(len(text)) // the row itself is held, too
	}
	return int64(len(text))
}

func (p *bucketReplay) remove(key string) {
	if e := p.rows[key]; e != nil {
		p.bytes -= entryBytes + int64(len(key)) + p.textBytes(e.text)
		delete(p.rows, key)
	}
}

// apply applies the changes of a snapshot. Images that do not fit the rows are legal input, so they only warn.
func (p *bucketReplay) apply(ctx context.Context, e *event) error {
	if len(e.changes) == 0 {
		return nil
	}
	for s, err := range p.table.StoredRows(ctx, e.changes) {
		if err != nil {
			return err
		}
		for i := range s.Batch.Len() {
			if p.key = p.keyOf(p.key[:0], s.Batch, i); !p.share.has(p.key) {
				continue
			}
			if p.merge != nil {
				before := p.merge.waitingBytes()
				p.merge.add(string(p.key), s.Batch, i, s.Seqs[i])
				err = p.grow(p.merge.waitingBytes() - before)
			} else {
				err = p.applyRow(e.snapshot, s.Batch.Kinds[i], string(p.key), s.Batch, i)
			}
			if err != nil {
				return err
			}
		}
	}
	if p.merge == nil {
		return nil
	}
	waiting := p.merge.waitingBytes()
	if err := p.merge.finish(p); err != nil {
		return err
	}
	return p.grow(p.merge.waitingBytes() - waiting)
}

func (p *bucketReplay) applyRow(id int64, kind table.Kind, key string, b *table.Batch, i int) error {
	if p.schema.Append() {
		return p.put(key, "")
	}
	text, e := p.textOf(b, i), p.rows[key]
	if kind.Retracts() {
		if p.skips {
			return nil
		}
		if p.images && (e == nil || e.text != text) {
			old := ""
			if e != nil {
				old = e.text
			}
			p.warnOnce("changelog-before", id, "%s says %s, but the row was %s", kind, text, old)
		}
		p.remove(key)
		if kind == table.UpdateBefore && p.images {
			p.updating[key] = struct{}{}
		}
		return nil
	}
	if p.images {
		_, updates := p.updating[key]
		delete(p.updating, key)
		if kind == table.Insert && (e != nil || updates) {
			p.warnOnce("changelog-insert", id, "+I of a key that is there: %s", text)
		}
		if kind == table.UpdateAfter && !updates {
			p.warnOnce("changelog-update", id, "+U without its -U: %s", text)
		}
	}
	return p.put(key, text)
}
