package floor

// Columns are rows by column, in the order of arrival.
type Columns struct {
	IDs, Seqs, Cents, Created, Updated             []int64
	Kinds, Customers, Products, Quantities, Region []int32
	Ends                                           []uint32 // of the descriptions, one more than there are rows
	Descriptions                                   []byte
	Status                                         []string
	Active                                         []bool
	Scores                                         []float64

	interned map[string]string
}

// Reset drops the rows and keeps the memory.
func (c *Columns) Reset() {
	c.IDs, c.Seqs, c.Cents, c.Created, c.Updated = c.IDs[:0], c.Seqs[:0], c.Cents[:0], c.Created[:0], c.Updated[:0]
	c.Kinds, c.Customers, c.Products, c.Quantities, c.Region = c.Kinds[:0], c.Customers[:0], c.Products[:0], c.Quantities[:0], c.Region[:0]
	c.Ends, c.Descriptions, c.Status, c.Active, c.Scores = append(c.Ends[:0], 0), c.Descriptions[:0], c.Status[:0], c.Active[:0], c.Scores[:0]
	if c.interned == nil {
		c.interned = map[string]string{}
	}
}

// Add copies a row in.
func (c *Columns) Add(seq int64, kind int32, r *Row) {
	status, ok := c.interned[r.Status]
	if !ok {
		status = string(append([]byte(nil), r.Status...))
		c.interned[status] = status
	}
	c.IDs, c.Seqs, c.Cents = append(c.IDs, r.ID), append(c.Seqs, seq), append(c.Cents, r.Cents)
	c.Created, c.Updated = append(c.Created, r.Created), append(c.Updated, r.Updated)
	c.Kinds, c.Customers, c.Products = append(c.Kinds, kind), append(c.Customers, r.Customer), append(c.Products, r.Product)
	c.Quantities, c.Region = append(c.Quantities, r.Quantity), append(c.Region, r.Region)
	c.Descriptions = append(c.Descriptions, r.Description...)
	c.Ends = append(c.Ends, uint32(len(c.Descriptions)))
	c.Status, c.Active, c.Scores = append(c.Status, status), append(c.Active, r.Active), append(c.Scores, r.Score)
}

// AddEvent adds the rows of an event, and returns the number of the next row.
func (c *Columns) AddEvent(seq int64, e *Event) int64 {
	switch e.Op {
	case 'u':
		c.Add(seq, 1, &e.Before)
		c.Add(seq+1, 2, &e.After)
		return seq + 2
	case 'd':
		c.Add(seq, 3, &e.Before)
	default:
		c.Add(seq, 0, &e.After)
	}
	return seq + 1
}

// Sort returns the rows by key, and by arrival within a key: an LSD radix sort that leaves out the bytes that all keys share.
func (c *Columns) Sort() []int32 {
	type item struct {
		key int64
		row int32
	}
	from, to := make([]item, len(c.IDs)), make([]item, len(c.IDs))
	var or, and int64 = 0, -1
	for i, k := range c.IDs {
		from[i] = item{k, int32(i)}
		or |= k
		and &= k
	}
	for shift := uint(0); shift < 64; shift += 8 {
		if byte((or^and)>>shift) == 0 {
			continue
		}
		var at [257]int
		for i := range from {
			at[int(byte(from[i].key>>shift))+1]++
		}
		for i := 1; i < len(at); i++ {
			at[i] += at[i-1]
		}
		for _, it := range from {
			digit := byte(it.key >> shift)
			to[at[digit]] = it
			at[digit]++
		}
		from, to = to, from
	}
	rows := make([]int32, len(from))
	for i := range from {
		rows[i] = from[i].row
	}
	return rows
}

// Last returns, of sorted rows, the last of each key.
func (c *Columns) Last(sorted []int32) []int32 {
	var last []int32
	for i, row := range sorted {
		if i+1 == len(sorted) || c.IDs[sorted[i+1]] != c.IDs[row] {
			last = append(last, row)
		}
	}
	return last
}

// BucketOf is Paimon's default bucket function for a key of one BIGINT: murmur3 (seed 42) over the 16 bytes of its BinaryRow.
func BucketOf(id int64, n int32) int {
	mix := func(h, k uint32) uint32 {
		k *= 0xcc9e2d51
		k = k<<15 | k>>17
		k *= 0x1b873593
		h ^= k
		h = h<<13 | h>>19
		return h*5 + 0xe6546b64
	}
	h := mix(mix(mix(mix(42, 0), 0), uint32(id)), uint32(id>>32))
	h ^= 16
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int(max(int32(h)%n, -(int32(h) % n)))
}
