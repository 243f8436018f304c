package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChangelogProducer(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
		want    string // in the error; empty: it is fine
	}{
		{"lookup", []string{"changelog-producer", "lookup"}, ""},
		{"in capitals", []string{"changelog-producer", "FULL-COMPACTION", "full-compaction.delta-commits", "10"}, ""},
		{"first-row", []string{"merge-engine", "first-row", "changelog-producer", "lookup", "ignore-delete", "true"}, ""},
		{"first-row without", []string{"merge-engine", "first-row", "changelog-producer", "none"}, ""},
		{"first-row and full-compaction", []string{"merge-engine", "first-row", "changelog-producer", "full-compaction"}, "first-row goes with none or lookup only: set it to lookup"},
		{"delta commits of lookup", []string{"changelog-producer", "lookup", "full-compaction.delta-commits", "5"},
			"option full-compaction.delta-commits is set, but changelog-producer is lookup, which Paimon refuses together: remove it"},
		{"no delta commits", []string{"full-compaction.delta-commits", "0"}, "option full-compaction.delta-commits is 0, but has to be at least 1"},
		{"overwrites read as changes", []string{"changelog-producer", "full-compaction", "streaming-read-overwrite", "true"}, "option streaming-read-overwrite is true"},
		{"unknown column", []string{"changelog-producer", "lookup", "changelog-producer.row-deduplicate-ignore-fields", "seq,x"},
			`option changelog-producer.row-deduplicate-ignore-fields names a column "x" that is not there`},
		{"row-deduplicate", []string{"changelog-producer.row-deduplicate", "yes"}, "true or false"},
		{"force-lookup", []string{"force-lookup", "often"}, "true or false"},
	} {
		s := writable(t)
		set(c.options...)(s)
		if c.want == "" {
			require.NoError(t, s.Validate(), c.name)
		} else {
			require.ErrorContains(t, s.Validate(), c.want, c.name)
		}
	}
}

func TestProducerOptions(t *testing.T) {
	for _, c := range []struct {
		options []string
		looksUp bool
		tells   bool
		every   int64
	}{
		{nil, false, false, 0},
		{[]string{"force-lookup", "true"}, true, false, 0},
		{[]string{"changelog-producer", "lookup"}, true, true, 0},
		{[]string{"changelog-producer", "full-compaction"}, false, true, 1},
		{[]string{"changelog-producer", "full-compaction", "full-compaction.delta-commits", "7"}, false, true, 7},
		{[]string{"full-compaction.delta-commits", "7"}, false, false, 7},
		{[]string{"merge-engine", "first-row", "changelog-producer", "none"}, true, false, 0},
	} {
		s := writable(t)
		set(c.options...)(s)
		every, err := s.FullCompactionEvery()
		require.NoError(t, err)
		require.Equal(t, []any{c.looksUp, c.tells, c.every}, []any{s.LooksUp(), s.CompactionTells(), every}, "%v", c.options)
	}
}

func TestComparedColumns(t *testing.T) {
	s := writable(t)
	compared, err := s.ComparedColumns()
	require.NoError(t, err)
	require.Nil(t, compared, "all changes are told")
	set("changelog-producer.row-deduplicate", "true", "changelog-producer.row-deduplicate-ignore-fields", "seq")(s)
	compared, err = s.ComparedColumns()
	require.NoError(t, err)
	require.Len(t, compared, len(s.Fields)-1)
	require.NotContains(t, compared, s.FieldIndex("seq"))
}

func TestPending(t *testing.T) {
	for _, c := range []struct {
		producer string
		levels   []int32
		want     bool
	}{
		{"input", []int32{0}, false},
		{"lookup", []int32{0, 5}, true}, {"lookup", []int32{3, 5}, false},
		{"full-compaction", []int32{5}, false}, {"full-compaction", []int32{4}, false}, {"full-compaction", []int32{0}, true}, {"full-compaction", []int32{5, 7}, true},
		{"full-compaction", nil, false},
	} {
		s := writable(t)
		set("changelog-producer", c.producer)(s)
		var files []File
		for _, level := range c.levels {
			files = append(files, File{Level: level})
		}
		require.Equal(t, c.want, s.Pending(files), "%s %v", c.producer, c.levels)
	}
}
