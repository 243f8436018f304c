package datafile

import "sink/table"

// keyStats returns the statistics of the trimmed primary key.
func (f *Format) keyStats(e *encoder) table.Stats {
	collectors := make([]*table.StatsCollector, len(f.keyCols))
	nulls := make([]int64, len(f.keyCols))
	for i, c := range f.keyCols {
		collectors[i], nulls[i] = f.collect(e, c, table.KeyStatsMode)
	}
	s := table.BuildStats(collectors)
	s.Nulls = nulls
	return s
}

// valueStats returns the statistics of the schema's columns, and the names of those that have any; nil means all.
func (f *Format) valueStats(e *encoder) (table.Stats, []string) {
	names := []string{}
	var collectors []*table.StatsCollector
	var nulls []int64
	for c, field := range f.cfg.Schema.Fields {
		mode := table.StatsMode{Level: table.StatsNone}
		if f.cfg.Stats != nil {
			mode = f.cfg.Stats[c]
		}
		if mode.Level == table.StatsNone && f.cfg.DenseStats {
			continue
		}
		collector, n := f.collect(e, c, mode)
		collectors, nulls, names = append(collectors, collector), append(nulls, n), append(names, field.Name)
	}
	s := table.BuildStats(collectors)
	s.Nulls = nulls
	if len(collectors) == len(f.cfg.Schema.Fields) {
		names = nil
	}
	return s, names
}

// collect shows the bounds of a column, as the encoder found them, to a collector of the table's statistics. It also
// returns the null count, -1 if the mode keeps none.
func (f *Format) collect(e *encoder, column int, mode table.StatsMode) (*table.StatsCollector, int64) {
	t := f.cfg.Schema.Fields[column].Type
	collector := table.NewStatsCollector(t, mode)
	c := e.columns[f.leafOf(column)]
	if mode.Level == table.StatsNone {
		return collector, -1
	}
	if t.Nested() {
		return collector, -1
	}
	if mode.Level >= table.StatsTruncate && c.file.set {
		v := table.Vector{Layout: t.Layout()}
		c.file.appendTo(&v, &v, c.leaf.physical)
		collector.UpdateVector(&v, 0, v.Len())
	}
	return collector, c.nulls
}

// leafOf returns the first leaf of a column of the schema.
func (f *Format) leafOf(column int) int {
	roots := f.layout.roots
	return roots[len(roots)-len(f.cfg.Schema.Fields)+column].first
}
