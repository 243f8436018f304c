package manifest

import (
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestSnapshots: strays lie below EARLIEST, and nothing was built on them; a hint that is wrong hides nothing.
func TestSnapshots(t *testing.T) {
	for _, c := range []struct {
		have   string // each as id, or id:uuid, or id:uuid:parent; or id=records of one without uuid; each adds one record
		hint   string
		strays int // the first so many
	}{
		{have: ""},
		{have: "", hint: "5"},
		{have: "5=5", hint: "5"},
		{have: "1=1 2=2 3=3"},
		{have: "1=1 2=2 3=3", hint: "2"},
		{have: "2=2 5=5 6=6", hint: "5", strays: 1},
		{have: "2=2 3=3 5=5 6=6", hint: "5", strays: 2},
		{have: "2=2 5=5 6=6", hint: "6", strays: 1},
		{have: "4=9 5=5 6=6", hint: "5", strays: 1},
		{have: "3=3 4=4 5=5 6=6", hint: "6"},
		{have: "4:x 5:e:d 6:f:e", hint: "5", strays: 1},
		{have: "4:d 5:e:d 6:f:e", hint: "5"},
		{have: "4:d 5:e: 6:f:e", hint: "5", strays: 1},
		{have: "2=2 5=5 6=6", hint: "4"}, // nothing proves which of them are the table
		{have: "2=2 5=5 6=6", hint: "x"},
		{have: "1=1 2=2 7=7", hint: "1"}, // a rollback, and a sleeper above it
	} {
		t.Run(c.have+" "+c.hint, func(t *testing.T) {
			store := object.NewMem()
			var all []int64
			for _, word := range strings.Fields(c.have) {
				all = append(all, putLinked(t, store, word))
			}
			if c.hint != "" {
				require.NoError(t, store.Put(t.Context(), testPath.Earliest(), []byte(c.hint)))
			}
			ids, strays, err := Snapshots(t.Context(), store, testPath)
			require.NoError(t, err)
			require.ElementsMatch(t, all[:c.strays], strays)
			require.ElementsMatch(t, all[c.strays:], ids)
			for i, id := range all {
				_, err := ReadStanding(t.Context(), store, testPath, id)
				if i < c.strays {
					require.ErrorIs(t, err, fs.ErrNotExist)
					require.ErrorContains(t, err, "the table begins at snapshot")
				} else {
					require.NoError(t, err)
				}
			}
			first, ok, err := Earliest(t.Context(), store, testPath)
			require.NoError(t, err)
			require.Equal(t, len(all) > 0, ok)
			if ok {
				require.Equal(t, all[c.strays], first)
			}
		})
	}
}

// putLinked writes a snapshot as a case of TestSnapshots tells it, and returns its id.
func putLinked(t *testing.T, store object.Store, word string) int64 {
	s := &Snapshot{BaseList: "b", DeltaList: "d", CommitUser: "u", CommitKind: Append, DeltaRecords: 1}
	id, records, foreign := strings.Cut(word, "=")
	var err error
	if foreign {
		s.TotalRecords, err = strconv.ParseInt(records, 10, 64)
		require.NoError(t, err)
	} else {
		parts := strings.Split(word, ":")
		id, s.UUID = parts[0], parts[1]
		if len(parts) > 2 {
			s.Properties = map[string]string{table.PropertyParent: parts[2]}
		}
	}
	s.ID, err = strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	b, err := s.Encode()
	require.NoError(t, err)
	require.NoError(t, store.Put(t.Context(), testPath.Snapshot(s.ID), b))
	return s.ID
}
