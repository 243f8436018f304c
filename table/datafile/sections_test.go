package datafile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
)

func intKeySchema() *table.Schema {
	return table.NewSchema([]table.Field{{Name: "id", Type: table.Type{Root: table.Int}}}, []string{"id"}, nil, nil)
}

func intRow(v int64) []byte {
	return table.EncodeRow(nil, []table.Type{{Root: table.Int}}, []*table.Vector{{Layout: table.Words, Words: []int64{v}}}, 0)
}

func rangeFile(lo, hi int64) table.File {
	return table.File{Name: fmt.Sprintf("%d..%d", lo, hi), MinKey: intRow(lo), MaxKey: intRow(hi)}
}

// describeSections prints sections: files joined by " " in a run, " / " between runs, " | " between sections.
func describeSections(sections []Section) string {
	var parts []string
	for _, s := range sections {
		var runs []string
		for _, r := range s {
			var names []string
			for _, f := range r {
				names = append(names, f.Name)
			}
			runs = append(runs, strings.Join(names, " "))
		}
		slices.Sort(runs)
		parts = append(parts, strings.Join(runs, " / "))
	}
	return strings.Join(parts, " | ")
}

func TestSections(t *testing.T) {
	k := NewKeyRanges(intKeySchema())
	for _, c := range []struct {
		files []table.File
		want  string
	}{
		{nil, ""},
		{[]table.File{rangeFile(5, 5)}, "5..5"},
		{[]table.File{rangeFile(7, 9), rangeFile(-3, 6)}, "-3..6 | 7..9"},
		{[]table.File{rangeFile(1, 5), rangeFile(5, 9)}, "1..5 / 5..9"},
		{[]table.File{rangeFile(1, 9), rangeFile(2, 3), rangeFile(4, 5), rangeFile(9, 12), rangeFile(13, 14)}, "1..9 / 2..3 4..5 9..12 | 13..14"},
		{[]table.File{rangeFile(1, 1), rangeFile(1, 1), rangeFile(1, 1)}, "1..1 / 1..1 / 1..1"},
	} {
		got, err := k.Sections(c.files)
		require.NoError(t, err)
		require.Equal(t, c.want, describeSections(got))
	}
	_, err := k.Sections([]table.File{rangeFile(2, 1)})
	require.EqualError(t, err, "file 2..1: its first key is behind its last")
	_, err = k.Sections([]table.File{{Name: "x", MinKey: []byte{1}}})
	require.ErrorContains(t, err, "file x: first key: ")
	_, err = k.Sections([]table.File{{Name: "x", MinKey: intRow(1)}})
	require.ErrorContains(t, err, "file x: last key: ")
}

// TestSectionsRandom checks what sections and runs are for, and that there are as few runs as can be.
func TestSectionsRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	k := NewKeyRanges(intKeySchema())
	for range 300 {
		var files []table.File
		for range rnd.IntN(30) {
			lo := rnd.Int64N(200) - 100
			files = append(files, rangeFile(lo, lo+rnd.Int64N(1+rnd.Int64N(40))))
		}
		sections, err := k.Sections(files)
		require.NoError(t, err)
		seen := 0
		before := int64(-1000)
		for _, s := range sections {
			var all []*table.File
			highest := before
			for _, r := range s {
				end := before
				for _, f := range r {
					lo, hi := rangeOf(t, f)
					require.Greater(t, lo, end, "files of a run overlap, or sections do")
					end = hi
					highest = max(highest, hi)
				}
				all = append(all, r...)
			}
			before = highest
			seen += len(all)
			deepest := 0
			for _, f := range all { // the most files that share a key is the least number of runs
				at, _ := rangeOf(t, f)
				n := 0
				for _, g := range all {
					if lo, hi := rangeOf(t, g); lo <= at && at <= hi {
						n++
					}
				}
				deepest = max(deepest, n)
			}
			require.Len(t, s, deepest)
		}
		require.Equal(t, len(files), seen)
	}
}

func rangeOf(t *testing.T, f *table.File) (lo, hi int64) {
	_, err := fmt.Sscanf(f.Name, "%d..%d", &lo, &hi)
	require.NoError(t, err)
	return lo, hi
}
