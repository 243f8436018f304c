package upkeep

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/flush"
	"sink/table"
	"sink/table/object"
	"sink/table/scan"
)

// TestAppendTable: the files of an append table stay few, its rows and changes stay all, equal ones apart, and what expires goes.
func TestAppendTable(t *testing.T) {
	l := &life{t: t, store: object.NewMem(), path: table.NewPath("db", "t"), now: time.Now().Add(-90 * 24 * time.Hour).UTC()}
	s := table.NewSchema([]table.Field{{Name: "id", Type: bigint}, {Name: "v", Type: text}}, nil, nil, map[string]string{"snapshot.num-retained.min": "5"})
	_, _, err := commit.CreateTable(t.Context(), l.commitConfig(), s)
	require.NoError(t, err)
	l.committer, err = commit.Open(t.Context(), l.commitConfig())
	require.NoError(t, err)
	l.schema = l.committer.Schema()
	l.writer, err = flush.New(flush.Config{Schema: l.schema, Store: l.store, Path: l.path, Now: l.clock})
	require.NoError(t, err)
	k := l.keeper()
	var want []string
	for i := range 60 {
		for _, id := range []int64{int64(i), 7} {
			l.add(table.Insert, id, "v")
			require.NoError(t, l.writer.Add())
			want = append(want, fmt.Sprint(id))
		}
		d, err := l.writer.Seal().Flush(t.Context())
		require.NoError(t, err)
		require.Empty(t, d.Changelog)
		result, err := l.committer.Commit(t.Context(), d)
		require.NoError(t, err)

		tab, err := scan.Open(t.Context(), l.store, l.path)
		require.NoError(t, err)
		var changed []string
		for c, err := range tab.Changes(t.Context(), scan.Start(result.SnapshotID), scan.ChangeOptions{}) {
			require.NoError(t, err)
			for j := range c.Batch.Len() {
				changed = append(changed, fmt.Sprint(c.Batch.Columns[0].Words[j]))
			}
		}
		require.Equal(t, want[len(want)-2:], changed)
		_, err = k.Compact(t.Context(), Scope{})
		require.NoError(t, err)
		l.pass(time.Hour)
		_, err = k.Expire(t.Context())
		require.NoError(t, err)
		runs, err := k.MostRuns(t.Context())
		require.NoError(t, err)
		require.Zero(t, runs, "nobody has to merge, so no writer has to wait")
		files, _ := l.live()
		require.Less(t, files, 6)
	}
	_, err = k.Compact(t.Context(), Scope{Full: true})
	require.NoError(t, err)
	files, newest := l.live()
	require.Equal(t, 1, files)
	require.EqualValues(t, len(want), newest.TotalRecords)
	tab, err := scan.Open(t.Context(), l.store, l.path)
	require.NoError(t, err)
	plan, err := tab.Plan(t.Context(), scan.At{}, nil)
	require.NoError(t, err)
	var got []string
	for b, err := range plan.Rows(t.Context(), scan.Options{}) {
		require.NoError(t, err)
		for i := range b.Len() {
			got = append(got, fmt.Sprint(b.Columns[0].Words[i]))
		}
	}
	require.Equal(t, want, got, "in the order of arrival")
	l.verify()
}
