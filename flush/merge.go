package flush

import "sink/table"

// group are sorted rows of some keys: by key and, within a key, oldest first.
type group struct {
	rows table.Rows
	ends []int // where the rows of each key end
}

// engine is a merge engine (org.apache.paimon.mergetree.compact.MergeFunction): it makes of the rows of each key the row
// of the data file.
type engine interface {
	// merge returns the rows of the data file, one or none a key, in key order. It may append to the slices of out, which are
	// empty but have room. An engine that makes new rows appends them to a batch of its own and that to out.Batches, which
	// has those of in.
	merge(in *group, out table.Rows) table.Rows
	// keepsSingles reports whether a row that is alone with its key stays as it is.
	keepsSingles() bool
}

// deduplicate keeps the newest row of a key, whatever its kind.
type deduplicate struct{}

func (deduplicate) merge(in *group, out table.Rows) table.Rows {
	for _, end := range in.ends {
		out.Refs = append(out.Refs, in.rows.Refs[end-1])
		out.Seqs = append(out.Seqs, in.rows.Seqs[end-1])
	}
	return out
}

func (deduplicate) keepsSingles() bool { return true }
