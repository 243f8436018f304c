package debezium

import (
	"sink/table"
)

// images is what the pass over an envelope has met.
type images struct {
	before, after bool // a row was appended
	keyOnly       bool // before had nothing but the key
	settled       bool // before came by, if only as null
	late          int  // where after begins, when it came first
}

// The members of an envelope that matter.
const (
	memberOther uint8 = iota
	memberBefore
	memberAfter
	memberSource
	memberTransaction
)

func memberID(name []byte) uint8 {
	switch string(name) {
	case "before":
		return memberBefore
	case "after":
		return memberAfter
	case "source":
		return memberSource
	case "transaction":
		return memberTransaction
	}
	return memberOther
}

// appendEnvelope reads a JSON envelope in one pass, in whatever order its members are.
func (p *Plan) appendEnvelope(f *Frame, dst *table.Batch, ev *Event) error {
	r := &p.reader
	r.b, r.i = f.value.b, 0
	var im images
	more, err := r.open('{')
	for k := 0; more && err == nil; k++ {
		if err = p.member(k, f, dst, ev, &im); err == nil {
			more, err = r.next('}')
		}
	}
	if err := f.value.finish(&r.scanner, err); err != nil {
		return err
	}
	if im.late > 0 {
		im.settled, r.i = true, im.late
		if err := p.after(f, dst, ev, &im); err != nil {
			return err
		}
	}
	return p.settleImages(f, dst, ev, &im)
}

// member reads member k of an envelope.
func (p *Plan) member(k int, f *Frame, dst *table.Batch, ev *Event, im *images) error {
	r := &p.reader
	id, err := p.members.next(&r.scanner, k, memberID)
	if err != nil {
		return err
	}
	switch id {
	case memberBefore:
		return p.before(f, dst, ev, im)
	case memberAfter:
		return p.after(f, dst, ev, im)
	case memberSource:
		r.peek()
		f.sourceAt = r.i
		return r.skipObject(&p.sources)
	case memberTransaction:
		r.peek()
		f.transactionAt = r.i
	}
	return r.skip()
}

// image passes over a null or over what the op does not need, and reports whether there is a row to read.
func (r *reader) image(wanted bool, name string) (bool, error) {
	c := r.peek()
	if c == 'n' {
		return false, r.literal("null")
	}
	if c != '{' {
		if err := r.skip(); err != nil {
			return false, err
		}
		return false, bad(ReasonNotARow, "%s is no object", name)
	}
	if !wanted {
		return false, r.skip()
	}
	return true, nil
}

func (p *Plan) before(f *Frame, dst *table.Batch, ev *Event, im *images) error {
	wanted := f.Op == OpUpdate || f.Op == OpDelete
	if wanted { // of a member that occurs twice the last one counts
		dst.Truncate(ev.First)
		im.before, im.after, im.keyOnly, im.settled = false, false, false, true
	}
	row, err := p.reader.image(wanted, "before")
	if !row || err != nil {
		return err
	}
	p.unavailable = p.unavailable[:0]
	if err := p.read(p, f, &p.reader, dst, ev.First, false); err != nil {
		return err
	}
	p.unavailableBefore = append(p.unavailableBefore[:0], p.unavailable...)
	p.unavailable = p.unavailable[:0]
	if p.hits < p.bound && p.onlyKey(dst, ev.First) {
		im.keyOnly = true
		dst.Truncate(ev.First)
		return nil
	}
	im.before = true
	p.partial = p.lacking(p.partial[:0], dst, ev.First)
	return p.fill(f, dst, ev.First)
}

// lacking appends the columns whose fields an unfinished row does not have.
func (p *Plan) lacking(cols []int, dst *table.Batch, row int) []int {
	if p.hits == p.bound {
		return cols
	}
	for i := range p.fields {
		if col := p.fields[i].col; col >= 0 && dst.Columns[col].Len() <= row {
			cols = append(cols, col)
		}
	}
	return cols
}

func (p *Plan) after(f *Frame, dst *table.Batch, ev *Event, im *images) error {
	r := &p.reader
	row, err := r.image(f.Op != OpDelete, "after")
	if !row || err != nil {
		im.late = 0
		return err
	}
	if f.Op == OpUpdate && !im.settled {
		im.late = r.i
		return r.skip()
	}
	if im.after {
		return bad(ReasonNotARow, "after occurs twice")
	}
	start, at := r.i, ev.First+bit(im.before)
	p.unavailable = p.unavailable[:0]
	if err := p.read(p, f, r, dst, at, false); err != nil {
		return err
	}
	if im.before && p.hasMore(dst, at) { // then the before image is not whole, and no row to take back
		dst.Truncate(ev.First)
		im.before, im.keyOnly = false, true
		at, r.i, p.unavailable = ev.First, start, p.unavailable[:0]
		if err := p.read(p, f, r, dst, at, false); err != nil {
			return err
		}
	}
	im.after = true
	if im.before && p.hits < p.bound { // what an update does not mention has not changed
		for i := range p.fields {
			if col := p.fields[i].col; col >= 0 && dst.Columns[col].Len() <= at && !hasColumn(p.partial, col) {
				dst.Columns[col].AppendCell(&dst.Columns[col], at-1)
			}
		}
	}
	return p.fill(f, dst, at)
}

// hasMore reports whether an unfinished after image has a field that the before image lacks.
func (p *Plan) hasMore(dst *table.Batch, row int) bool {
	for _, col := range p.partial {
		if dst.Columns[col].Len() > row {
			return true
		}
	}
	return false
}

// settleImages turns images into row kinds.
func (p *Plan) settleImages(f *Frame, dst *table.Batch, ev *Event, im *images) error {
	switch {
	case im.keyOnly:
		ev.Before = BeforeKeyOnly
	case !im.before && (f.Op == OpUpdate || f.Op == OpDelete):
		ev.Before = BeforeMissing
	}
	if f.Op == OpDelete {
		return p.settleDelete(f, dst, ev, im.before)
	}
	if !im.after {
		return bad(ReasonNotARow, "op %c without after", f.Op)
	}
	if f.Op != OpUpdate {
		ev.Unavailable = p.unavailable
		return p.conclude(f, dst, ev, table.Insert)
	}
	if !im.before {
		ev.Unavailable = p.unavailable
		return p.conclude(f, dst, ev, table.UpdateAfter)
	}
	ev.Unavailable = p.takeFromBefore(dst, ev.First)
	return p.conclude(f, dst, ev, table.UpdateBefore, table.UpdateAfter)
}

func (p *Plan) settleDelete(f *Frame, dst *table.Batch, ev *Event, before bool) error {
	switch {
	case before && p.suspect(f, dst, ev.First):
		ev.Before = BeforeSuspect
	case !before:
		if f.key.null {
			return bad(ReasonUnavailable, "a delete without before image and without record key tells of no row")
		}
		p.unavailableBefore = p.unavailableBefore[:0]
		if err := p.appendKey(f, dst, ev.First); err != nil {
			return err
		}
	}
	ev.Unavailable = p.unavailableBefore
	return p.conclude(f, dst, ev, table.Delete)
}

// takeFromBefore gives an after image the values that were not sent again because they did not change, where the before
// image has them, and returns the columns where it has not.
func (p *Plan) takeFromBefore(dst *table.Batch, before int) []int {
	missing := p.unavailableBefore
	for _, col := range p.unavailable {
		if hasColumn(p.unavailableBefore, col) {
			continue
		}
		v := &dst.Columns[col]
		v.Truncate(before + 1)
		v.AppendCell(v, before)
	}
	return missing
}

func hasColumn(cols []int, col int) bool {
	for _, c := range cols {
		if c == col {
			return true
		}
	}
	return false
}

// appendFlat reads a row without envelope. It is a create or read when it says so, a delete when it says that, else it may
// be an insert or an update, whose before image is missing.
func (p *Plan) appendFlat(f *Frame, dst *table.Batch, ev *Event) error {
	r := &p.reader
	r.b, r.i = f.value.b, 0
	p.unavailable = p.unavailable[:0]
	if err := p.read(p, f, r, dst, ev.First, false); err != nil {
		return err
	}
	if err := f.value.finish(&r.scanner, nil); err != nil {
		return err
	}
	deleted, op := r.specialText(p.special[specialDeleted]), r.specialText(p.special[specialOp])
	return p.settleFlat(f, dst, ev, deleted, op)
}

// specialText reads the text of a member again; empty for null and for none.
func (r *reader) specialText(at int) string {
	if at == 0 {
		return ""
	}
	s := scanner{b: r.b, i: at}
	switch s.peek() {
	case '"':
		text, _ := s.str()
		return specialValue(text)
	case 't':
		return "true"
	}
	return ""
}

// specialValue returns the values that mean something, without allocating them.
func specialValue(b []byte) string {
	for _, s := range [...]string{"true", "c", "r", "u", "d"} {
		if string(b) == s {
			return s
		}
	}
	return ""
}

// settleFlat turns a row without envelope into a row kind.
func (p *Plan) settleFlat(f *Frame, dst *table.Batch, ev *Event, deleted, op string) error {
	if op == "" {
		op = headerOp(f.Record.Headers)
	}
	kind := table.UpdateAfter
	switch {
	case deleted == "true" || op == "d":
		f.Op, kind = OpDelete, table.Delete
	case op == "c", op == "r":
		f.Op, kind = Op(op[0]), table.Insert
	case op == "u":
		f.Op, ev.Before = OpUpdate, BeforeMissing
	default:
		f.Op, ev.Before = OpUpsert, BeforeMissing
	}
	ev.Op = f.Op
	if kind == table.Delete && p.hits < p.bound && p.onlyKey(dst, ev.First) {
		dst.Truncate(ev.First)
		ev.Before = BeforeMissing
		return p.settleDelete(f, dst, ev, false)
	}
	if err := p.fill(f, dst, ev.First); err != nil {
		return err
	}
	if kind == table.Delete {
		p.unavailableBefore = append(p.unavailableBefore[:0], p.unavailable...)
		return p.settleDelete(f, dst, ev, true)
	}
	ev.Unavailable = p.unavailable
	return p.conclude(f, dst, ev, kind)
}

// headerOp returns the op that add.headers put into the header __op, as text or as JSON.
func headerOp(headers []Header) string {
	for i := range headers {
		if headers[i].Key != "__op" {
			continue
		}
		switch string(headers[i].Value) {
		case "c", `"c"`:
			return "c"
		case "r", `"r"`:
			return "r"
		case "u", `"u"`:
			return "u"
		case "d", `"d"`:
			return "d"
		}
	}
	return ""
}
