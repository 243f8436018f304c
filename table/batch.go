package table

import "slices"

// Vector is one column of a [Batch]: cells of one type, in row order. Its slices may be read directly; they change
// with the next append, so nobody keeps them longer than the batch.
type Vector struct {
	Layout Layout
	Words  []int64  // layout Words: one a cell, 0 for null
	Ends   []uint32 // layout Bytes: cell i is Data[Ends[i-1]:Ends[i]]
	Data   []byte
	Nulls  []bool // one a cell; nil while no cell is null
}

// Len returns the number of cells.
func (v *Vector) Len() int {
	if v.Layout == Words {
		return len(v.Words)
	}
	return len(v.Ends)
}

// IsNull reports whether cell i is null.
func (v *Vector) IsNull(i int) bool { return v.Nulls != nil && v.Nulls[i] }

// Bytes returns cell i of layout Bytes; empty for null. The slice belongs to the vector.
func (v *Vector) Bytes(i int) []byte {
	var start uint32
	if i > 0 {
		start = v.Ends[i-1]
	}
	return v.Data[start:v.Ends[i]]
}

// cell returns cell i in whichever layout it has.
func (v *Vector) cell(i int) (word int64, bytes []byte) {
	if v.Layout == Words {
		return v.Words[i], nil
	}
	return 0, v.Bytes(i)
}

// AppendWord appends a cell of layout Words.
func (v *Vector) AppendWord(w int64) {
	v.Words = append(v.Words, w)
	if v.Nulls != nil {
		v.Nulls = append(v.Nulls, false)
	}
}

// AppendBytes appends a cell of layout Bytes, copying b.
func (v *Vector) AppendBytes(b []byte) {
	v.Data = append(v.Data, b...)
	v.EndCell()
}

// EndCell makes a cell of layout Bytes of what was appended to Data since the last cell.
func (v *Vector) EndCell() {
	v.Ends = append(v.Ends, uint32(len(v.Data)))
	if v.Nulls != nil {
		v.Nulls = append(v.Nulls, false)
	}
}

// AppendNull appends a null.
func (v *Vector) AppendNull() {
	n := v.Len()
	if v.Nulls == nil {
		v.Nulls = make([]bool, n, max(cap(v.Words), cap(v.Ends), n+1))
	}
	if v.Layout == Words {
		v.Words = append(v.Words, 0)
	} else {
		v.Data = v.Data[:v.end(n)]
		v.Ends = append(v.Ends, uint32(len(v.Data)))
	}
	v.Nulls = append(v.Nulls, true)
}

// AppendCell appends cell i of another vector of the same layout.
func (v *Vector) AppendCell(from *Vector, i int) {
	switch {
	case from.IsNull(i):
		v.AppendNull()
	case v.Layout == Words:
		v.AppendWord(from.Words[i])
	default:
		v.AppendBytes(from.Bytes(i))
	}
}

// AppendCells appends cells i to j of another vector of the same layout.
func (v *Vector) AppendCells(from *Vector, i, j int) {
	n := v.Len()
	if v.Nulls == nil && from.Nulls != nil && slices.Contains(from.Nulls[i:j], true) {
		v.Nulls = make([]bool, n, n+j-i)
	}
	if v.Layout == Words {
		v.Words = append(v.Words, from.Words[i:j]...)
	} else {
		begin := from.end(i)
		shift := uint32(len(v.Data)) - begin
		v.Data = append(v.Data, from.Data[begin:from.end(j)]...)
		v.Ends = slices.Grow(v.Ends, j-i)
		for _, end := range from.Ends[i:j] {
			v.Ends = append(v.Ends, end+shift)
		}
	}
	switch {
	case v.Nulls == nil:
	case from.Nulls != nil:
		v.Nulls = append(v.Nulls, from.Nulls[i:j]...)
	default:
		v.Nulls = append(v.Nulls, make([]bool, j-i)...)
	}
}

// Truncate drops all cells from n on, and bytes of an unfinished cell.
func (v *Vector) Truncate(n int) {
	if v.Layout == Words {
		v.Words = v.Words[:n]
	} else {
		v.Data = v.Data[:v.end(n)]
		v.Ends = v.Ends[:n]
	}
	if v.Nulls != nil {
		v.Nulls = v.Nulls[:n]
		if n == 0 {
			v.Nulls = nil
		}
	}
}

// end is the length of Data after the first n cells.
func (v *Vector) end(n int) uint32 {
	if n == 0 {
		return 0
	}
	return v.Ends[n-1]
}

// sizeBytes is the memory held: capacities, not lengths.
func (v *Vector) sizeBytes() int64 {
	return int64(8*cap(v.Words) + 4*cap(v.Ends) + cap(v.Data) + cap(v.Nulls))
}

// MaxBatchRows is the most rows that a [Ref] can address in one batch.
const MaxBatchRows = 1 << 16

// Batch is a run of rows as columns, in schema order. All vectors and Kinds have the same length between appends of
// whole rows. A batch has one owner at a time.
type Batch struct {
	Columns []Vector
	Kinds   []Kind
}

// NewBatch returns an empty batch for rows of the given fields.
func NewBatch(fields []Field) *Batch {
	b := &Batch{Columns: make([]Vector, len(fields))}
	for i, f := range fields {
		b.Columns[i].Layout = f.Type.Layout()
	}
	return b
}

// Len returns the number of rows.
func (b *Batch) Len() int { return len(b.Kinds) }

// Truncate drops all rows from n on, and cells of an unfinished row.
func (b *Batch) Truncate(n int) {
	for i := range b.Columns {
		if b.Columns[i].Len() >= n {
			b.Columns[i].Truncate(n)
		}
	}
	b.Kinds = b.Kinds[:n]
}

// Reset drops all rows and keeps the memory.
func (b *Batch) Reset() { b.Truncate(0) }

// SizeBytes returns the memory that the batch holds, including room not yet used.
func (b *Batch) SizeBytes() int64 {
	n := int64(cap(b.Kinds))
	for i := range b.Columns {
		n += b.Columns[i].sizeBytes()
	}
	return n
}

// AppendRow appends row i of another batch of the same columns.
func (b *Batch) AppendRow(from *Batch, i int) {
	for c := range b.Columns {
		b.Columns[c].AppendCell(&from.Columns[c], i)
	}
	b.Kinds = append(b.Kinds, from.Kinds[i])
}

// AppendRows appends rows i to j of another batch of the same columns.
func (b *Batch) AppendRows(from *Batch, i, j int) {
	for c := range b.Columns {
		b.Columns[c].AppendCells(&from.Columns[c], i, j)
	}
	b.Kinds = append(b.Kinds, from.Kinds[i:j]...)
}

// Ref addresses one row among several batches: the batch in the high 16 bits, the row in the low 16.
type Ref uint32

// MakeRef returns the reference to a row of Batches[batch]. Both are below 1<<16.
func MakeRef(batch, row int) Ref { return Ref(batch)<<16 | Ref(row) }

// Batch returns the index of the batch.
func (r Ref) Batch() int { return int(r >> 16) }

// Row returns the index of the row in its batch.
func (r Ref) Row() int { return int(r & (MaxBatchRows - 1)) }

// Rows is a sequence of rows of several batches, in the order to write them, each with its sequence number. The kind
// of a row is the batch's.
type Rows struct {
	Batches []*Batch
	Refs    []Ref
	Seqs    []int64 // parallel to Refs
}

// Len returns the number of rows.
func (r Rows) Len() int { return len(r.Refs) }

// Kind returns the kind of row i.
func (r Rows) Kind(i int) Kind {
	ref := r.Refs[i]
	return r.Batches[ref.Batch()].Kinds[ref.Row()]
}

// Slice returns rows i to j, sharing memory.
func (r Rows) Slice(i, j int) Rows {
	return Rows{Batches: r.Batches, Refs: r.Refs[i:j], Seqs: r.Seqs[i:j]}
}

// AllOf returns all rows of one batch in their order; seqs are theirs.
func AllOf(b *Batch, seqs []int64) Rows {
	refs := make([]Ref, b.Len())
	for i := range refs {
		refs[i] = MakeRef(0, i)
	}
	return Rows{Batches: []*Batch{b}, Refs: refs, Seqs: slices.Clip(seqs)}
}
