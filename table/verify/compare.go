package verify

import (
	"context"

	"sink/table"
	"sink/table/scan"
)

// compare reports whether the rows are those of the live files of a snapshot.
func (p *bucketReplay) compare(ctx context.Context, id int64, live []table.File) (bool, error) {
	shown, ok := p.visible(live)
	if !ok {
		return true, nil
	}
	plan, err := p.table.PlanFiles(shown)
	if err != nil {
		return false, err
	}
	p.round++
	for b, err := range plan.Rows(ctx, scan.Options{}) {
		if err != nil {
			return false, err
		}
		for i := range b.Len() {
			if p.key = p.keyOf(p.key[:0], b, i); p.share.has(p.key) && !p.meet(id, b, i) {
				return false, nil
			}
		}
	}
	for key, e := range p.rows {
		have := int64(1)
		switch {
		case p.schema.Append():
			have = e.count
		case e.gone:
			have = 0
		}
		if e.round == p.round && e.met == have || e.round != p.round && have == 0 {
			continue
		}
		text := e.text
		if p.schema.Append() {
			text = key
		}
		if !e.doubtful {
			p.failed(id, "the changelog gives %s, which the table does not hold", text)
			return false, nil
		}
		p.warnDoubt(id, text, "no such row")
		e.gone = true
	}
	return true, nil
}

// meet compares a row of the table, of the key p.key, with what the changes have given, and reports whether to go on.
func (p *bucketReplay) meet(id int64, b *table.Batch, i int) bool {
	e := p.rows[string(p.key)]
	if p.schema.Append() {
		if e == nil {
			p.failed(id, "the changelog lacks %s, which the table holds", p.key)
			return false
		}
		if e.round != p.round {
			e.round, e.met = p.round, 0
		}
		if e.met++; e.met > e.count {
			p.failed(id, "the table holds %s %d times, but the changelog gives it %d times", p.key, e.met, e.count)
			return false
		}
		return true
	}
	text := p.textOf(b, i)
	switch {
	case e == nil || e.gone && !e.doubtful:
		p.failed(id, "the changelog lacks %s, which the table holds", text)
		return false
	case (e.gone || e.text != text) && e.doubtful:
		given := e.text
		if e.gone {
			given = "no such row"
		}
		p.warnDoubt(id, given, text)
		p.bytes += p.textBytes(text) - p.textBytes(e.text)
		e.text, e.gone = text, false
		p.merge.put(e, b, i)
	case e.text != text:
		p.failed(id, "the changelog gives %s, but the table holds %s", e.text, text)
		return false
	}
	e.round, e.met = p.round, 1
	return true
}

// warnDoubt tells of a row that may be right.
func (p *bucketReplay) warnDoubt(id int64, given, held string) {
	p.warnOnce("replay-order", id, "the changelog gives %s, but the table holds %s: with this merge engine it depends on what was merged first "+
		"what a row of kind -U or -D leaves", given, held)
}
