package datafile

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/merge"
)

// memorySource is rows in memory as a source.
type memorySource struct {
	rows   table.Rows
	at     int
	closed bool
}

func (s *memorySource) Next(dst *table.Batch, seqs *[]int64, max int) (int, error) {
	n := min(max, s.rows.Len()-s.at)
	if n == 0 {
		return 0, io.EOF
	}
	part := s.rows.Slice(s.at, s.at+n)
	AppendRows(dst, part)
	*seqs = append(*seqs, part.Seqs...)
	s.at += n
	return n, nil
}

func (s *memorySource) Close() error { s.closed = true; return nil }

// mergeRow is a row of the merge tests.
type mergeRow struct {
	key  []int64 // one or two
	text string
	ver  *int64
	seq  int64
	kind table.Kind
}

func mergeFields(two bool) []table.Field {
	text := str()
	text.NotNull = two
	return []table.Field{
		{Name: "k", Type: table.Type{Root: table.BigInt, NotNull: true}}, {Name: "s", Type: text},
		{Name: "ver", Type: table.Type{Root: table.Int}},
	}
}

func (r mergeRow) appendTo(b *table.Batch, two bool) {
	b.Columns[0].AppendWord(r.key[0])
	if two {
		b.Columns[1].AppendBytes(fmt.Appendf(nil, "key-%08d", r.key[1]))
	} else {
		b.Columns[1].AppendBytes([]byte(r.text))
	}
	if r.ver == nil {
		b.Columns[2].AppendNull()
	} else {
		b.Columns[2].AppendWord(*r.ver)
	}
	b.Kinds = append(b.Kinds, r.kind)
}

func compareMergeRows(a, b mergeRow) int { return slices.Compare(a.key, b.key) }

// TestMerge compares with sorting all rows, for all kinds of keys and orders.
func TestMerge(t *testing.T) {
	r := newRand(t)
	for _, two := range []bool{false, true} {
		for _, order := range []string{"", "ascending", "descending"} {
			for _, ignoreDelete := range []bool{false, true} {
				t.Run(fmt.Sprintf("two=%t,order=%s,ignoreDelete=%t", two, order, ignoreDelete), func(t *testing.T) {
					for range 2 {
						testMerge(t, r, two, order, ignoreDelete)
					}
				})
			}
		}
	}
}

func testMerge(t *testing.T, r *rand.Rand, two bool, order string, ignoreDelete bool) {
	fields := mergeFields(two)
	cfg := MergeConfig{Fields: fields, Key: []int{0}, Descending: order == "descending"}
	if two {
		cfg.Key = []int{0, 1}
	}
	if order != "" {
		cfg.SequenceFields = []int{2}
	}
	if ignoreDelete {
		s := &table.Schema{Fields: fields, Options: map[string]string{"ignore-delete": "true"}}
		var err error
		cfg.Engine, err = merge.New(s, []int{0, 1, 2, 3}[:len(fields)])
		require.NoError(t, err)
	}
	all := map[string][]mergeRow{}
	var sources []Source
	seq := int64(0)
	keys := 1 + r.Int64N(2500)
	for range r.IntN(9) {
		var rows []mergeRow
		for k := range keys {
			if r.IntN(3) > 0 {
				continue
			}
			row := mergeRow{key: []int64{k - keys/2}, seq: seq, kind: table.Kind(r.IntN(4)), text: fmt.Sprint("v", seq)}
			if two {
				row.key = []int64{k % 3, k}
			}
			if r.IntN(4) > 0 {
				v := r.Int64N(5)
				row.ver = &v
			}
			seq++
			rows = append(rows, row)
			all[fmt.Sprint(row.key)] = append(all[fmt.Sprint(row.key)], row)
		}
		slices.SortFunc(rows, compareMergeRows)
		sources = append(sources, memoryOf(rows, two))
	}
	var want []mergeRow
	for _, rows := range all {
		slices.SortFunc(rows, func(a, b mergeRow) int { return cmp.Or(compareVersions(a, b, order), cmp.Compare(a.seq, b.seq)) })
		for i := len(rows) - 1; i >= 0; i-- {
			if !ignoreDelete || !rows[i].kind.Retracts() || len(rows) == 1 {
				want = append(want, rows[i])
				break
			}
		}
	}
	slices.SortFunc(want, compareMergeRows)
	m, err := NewMerger(cfg, sources)
	require.NoError(t, err)
	require.Equal(t, drain(t, memoryOf(want, two), fields, 1000), drain(t, m, fields, 1+r.IntN(3000)))
	require.NoError(t, m.Close())
	for _, s := range sources {
		require.True(t, s.(*memorySource).closed)
	}
	_, err = m.NextRows(1)
	require.Error(t, err)
}

func compareVersions(a, b mergeRow, order string) int {
	switch {
	case order == "" || a.ver == nil && b.ver == nil:
		return 0
	case a.ver == nil:
		return -1
	case b.ver == nil:
		return 1
	case order == "descending":
		return cmp.Compare(*b.ver, *a.ver)
	}
	return cmp.Compare(*a.ver, *b.ver)
}

func memoryOf(rows []mergeRow, two bool) *memorySource {
	b := table.NewBatch(mergeFields(two))
	var seqs []int64
	for _, r := range rows {
		r.appendTo(b, two)
		seqs = append(seqs, r.seq)
	}
	return &memorySource{rows: table.AllOf(b, seqs)}
}

func TestMergeRefusesUnsorted(t *testing.T) {
	var rows []mergeRow
	for _, k := range []int64{1, 3, 2} {
		rows = append(rows, mergeRow{key: []int64{k}})
	}
	m, err := NewMerger(MergeConfig{Fields: mergeFields(false), Key: []int{0}}, []Source{memoryOf(rows, false)})
	require.NoError(t, err)
	_, err = m.NextRows(100)
	require.ErrorIs(t, err, errUnsorted)
}

func TestChain(t *testing.T) {
	var opened []int
	var parts []*memorySource
	c := Chain(3, func(i int) (Source, error) {
		opened = append(opened, i)
		var rows []mergeRow
		for k := range int64(i * 10) {
			rows = append(rows, mergeRow{key: []int64{int64(100*i) + k}, seq: k})
		}
		parts = append(parts, memoryOf(rows, false))
		return parts[len(parts)-1], nil
	})
	require.Len(t, drain(t, c, mergeFields(false), 7), 30)
	require.Equal(t, []int{0, 1, 2}, opened)
	for _, p := range parts {
		require.True(t, p.closed)
	}
	require.NoError(t, c.Close())
}
