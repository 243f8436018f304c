package scan

import (
	"bytes"
	"slices"

	"sink/table"
	"sink/table/datafile"
)

// looksUp reports whether compactions of a table take what a key has in higher levels into each row that they write, without taking it
// out there: then only the row of the lowest level counts (org.apache.paimon.mergetree.compact.LookupMergeFunction). With
// deduplicate and first-row it does so anyway.
func looksUp(s *table.Schema) bool {
	e := s.MergeEngine()
	return s.LooksUp() && e != table.Deduplicate && e != table.FirstRow
}

// level is the files of a section that are of one level from 1 on, in key order.
type level struct {
	number int32
	files  datafile.Run
}

// splitLevels takes the files from level 1 on out of a section.
func splitLevels(s datafile.Section, keys *datafile.KeyRanges) (fresh datafile.Section, above []level, err error) {
	first := map[string][]byte{} // key by file name
	for _, run := range s {
		var left datafile.Run
		for _, f := range run {
			if f.Level == 0 {
				left = append(left, f)
				continue
			}
			r, err := keys.Of(f)
			if err != nil {
				return nil, nil, err
			}
			first[f.Name] = r.Min
			at := slices.IndexFunc(above, func(l level) bool { return l.number == f.Level })
			if at < 0 {
				at = len(above)
				above = append(above, level{number: f.Level})
			}
			above[at].files = append(above[at].files, f)
		}
		if left != nil {
			fresh = append(fresh, left)
		}
	}
	for _, l := range above {
		slices.SortFunc(l.files, func(a, b *table.File) int { return bytes.Compare(first[a.Name], first[b.Name]) })
	}
	return fresh, above, nil
}

// openLevels returns the rows of a section of a table that looks up: those of level 0, and of each key the one of the lowest level above.
func (p *Plan) openLevels(s datafile.Section, c *columns, open func(datafile.Run) datafile.Source) (datafile.Source, error) {
	fresh, above, err := splitLevels(s, datafile.NewKeyRanges(p.Schema))
	if err != nil {
		return nil, err
	}
	var sources []datafile.Source
	for _, l := range above {
		sources = append(sources, &atLevel{open(l.files), l.number})
	}
	if len(sources) > 1 {
		lowest, err := datafile.NewMerger(datafile.MergeConfig{Fields: c.merge.Fields, Key: c.merge.Key}, sources)
		if err != nil {
			return nil, err
		}
		sources = []datafile.Source{lowest}
	}
	for _, run := range fresh {
		sources = append(sources, open(run))
	}
	if len(sources) == 1 {
		return sources[0], nil
	}
	return datafile.NewMerger(c.merge, sources)
}

// atLevel gives rows sequence numbers by their level: the lowest level is the newest, and all are older than level 0.
type atLevel struct {
	datafile.Source
	level int32
}

// Next implements datafile.Source.
func (a *atLevel) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	from := len(*seqs)
	n, err := a.Source.Next(dst, seqs, max)
	for i := from; i < len(*seqs); i++ {
		(*seqs)[i] = -int64(a.level)
	}
	return n, err
}
